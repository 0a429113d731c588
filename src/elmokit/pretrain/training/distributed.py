"""MANY PROCESSES: what each one reads, and how the softmax rows they touched are shared."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from elmokit.device import AUTO, usable_device
from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.model.lstm import LstmState
from elmokit.pretrain.training.objective import SoftmaxGradient
from elmokit.pretrain.training.rendezvous import join_round
from elmokit.pretrain.training.windows import Lanes


@dataclass(frozen=True)
class World:
    """This process among all of a run."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    """The device of this process; tensors must be on it to be sent by nccl."""
    is_restart: bool = False
    """Whether torchrun has restarted the processes after losing or adding one."""
    is_main: bool = field(init=False)
    """Whether this is the process that logs, measures and writes."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_main", self.rank == 0)

    def lanes(self, batch_size: int) -> Lanes:
        """This process's part of ``batch_size`` lanes."""
        if batch_size % self.size:
            raise InputError(
                f"train.batch_size = {batch_size} cannot be split over {self.size} processes: "
                f"choose a multiple of {self.size}"
            )
        count = batch_size // self.size
        return Lanes(batch_size, self.rank * count, count)

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.size > 1:
            dist.barrier()

    def agree(self, value: bool) -> bool:
        """Return the main process's value in all processes."""
        if self.size == 1:
            return value
        answer = torch.tensor([int(value)], device=self.device)
        dist.broadcast(answer, src=0)
        return bool(answer.item())

    def values(self, value: int) -> list[int]:
        """Every process's ``value``."""
        if self.size == 1:
            return [value]
        return [int(n) for n in self._gather_equal(torch.tensor([value], device=self.device))]

    def average(self, gradient: SoftmaxGradient) -> SoftmaxGradient:
        """The mean over all processes; only rows that some process has changed are sent."""
        if self.size == 1:
            return gradient
        if gradient.rows is None:
            for part in (gradient.weight, gradient.bias):
                dist.all_reduce(part)
                part /= self.size
            return gradient
        rows = torch.cat(self._gather(gradient.rows))
        weight = torch.cat(self._gather(gradient.weight))
        bias = torch.cat(self._gather(gradient.bias))
        distinct, place = torch.unique(rows, return_inverse=True)
        return SoftmaxGradient(
            distinct,
            weight.new_zeros(len(distinct), weight.shape[1]).index_add_(
                0, place, weight / self.size
            ),
            bias.new_zeros(len(distinct)).index_add_(0, place, bias / self.size),
        )

    def gather_state(self, state: BiLmState) -> BiLmState:
        """The state of all lanes, in the order of the lanes."""
        if self.size == 1:
            return state
        return BiLmState(
            *(
                LstmState(
                    *(torch.cat(self._gather_equal(part.contiguous()), dim=1) for part in side)
                )
                for side in state
            )
        )

    def _gather_equal(self, part: Tensor) -> list[Tensor]:
        parts = [torch.empty_like(part) for _ in range(self.size)]
        dist.all_gather(parts, part)
        return parts

    def _gather(self, part: Tensor) -> list[Tensor]:
        """Gather parts of different lengths, padded to the longest for sending."""
        lengths = self.values(len(part))
        padded = part.new_zeros(max(lengths), *part.shape[1:])
        padded[: len(part)] = part
        return [got[:n] for got, n in zip(self._gather_equal(padded), lengths, strict=True)]


_ended: list[object] = []
"""Finished process groups, kept alive until the process ends.

Freeing the last reference to a group (as DistributedDataParallel does at the end of a run) waits
for gloo's thread while holding Python's lock. That thread may need the lock to free its last
tensor, which is a deadlock. When the process ends, the thread has nothing left to free.
"""


@contextmanager
def joined_world(name: str) -> Iterator[World]:
    """Join the processes that ``torchrun`` started, if any; ``name``: the name of a device."""
    has_restarted = int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield World(device=usable_device(name), is_restart=has_restarted)
        return
    device = usable_device(name) if name == AUTO else torch.device(name)
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    store, rank, size = next(rendezvous("env://"))
    number, own_store = join_round(store, rank, size)
    backend = "nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, store=own_store, rank=rank, world_size=size)
    world = World(rank, size, device)
    # torchrun counts restarts per machine, and not for a machine that joined later.
    restarts = world.values(int(has_restarted or number > 1))
    yield replace(world, is_restart=any(restarts))
    _ended.append(dist.group.WORLD)
    dist.destroy_process_group()  # not after an error: the others may be gone


def local_lanes(state: BiLmState, lanes: Lanes) -> BiLmState:
    """This process's part of the state of all lanes."""
    mine = slice(lanes.first, lanes.first + lanes.count)
    return BiLmState(
        *(LstmState(side.hidden[:, mine].clone(), side.cell[:, mine].clone()) for side in state)
    )
