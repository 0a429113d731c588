"""MANY PROCESSES: what each one reads, and how the softmax rows they touched are shared."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.model.lstm import LstmState
from elmokit.pretrain.objective import SoftmaxGradient
from elmokit.pretrain.windows import Lanes


@dataclass(frozen=True)
class World:
    """This process among all of a run."""

    rank: int = 0
    size: int = 1
    restarts: int = 0
    """How often torchrun has started the workers again after a loss."""

    @property
    def is_main(self) -> bool:
        return self.rank == 0

    def lanes(self, batch_size: int) -> Lanes:
        if batch_size % self.size:
            raise InputError(
                f"train.batch_size = {batch_size} cannot be split over {self.size} processes: "
                f"choose a multiple of {self.size}"
            )
        count = batch_size // self.size
        return Lanes(batch_size, self.rank * count, count)

    def wait(self) -> None:
        if self.size > 1:
            dist.barrier()

    def agree(self, value: bool) -> bool:
        """The main process's answer, for all."""
        if self.size == 1:
            return value
        answer = torch.tensor([int(value)])
        dist.broadcast(answer, src=0)
        return bool(answer.item())

    def average(self, gradient: SoftmaxGradient) -> SoftmaxGradient:
        """The mean over all processes; only rows that some process touched travel."""
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
        """Parts of different lengths: padded to the longest for the journey."""
        lengths = [
            int(n) for n in self._gather_equal(torch.tensor([len(part)], device=part.device))
        ]
        padded = part.new_zeros(max(lengths), *part.shape[1:])
        padded[: len(part)] = part
        return [got[:n] for got, n in zip(self._gather_equal(padded), lengths, strict=True)]


@contextmanager
def joined_world(device: torch.device) -> Iterator[World]:
    """Join the processes ``torchrun`` started; alone otherwise."""
    if "RANK" not in os.environ or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield World(restarts=int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")))
        return
    dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield World(
            dist.get_rank(),
            dist.get_world_size(),
            int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")),
        )
    finally:
        dist.destroy_process_group()


def local_lanes(state: BiLmState, lanes: Lanes) -> BiLmState:
    """This process's part of the state of all lanes."""
    mine = slice(lanes.first, lanes.first + lanes.count)
    return BiLmState(
        *(LstmState(side.hidden[:, mine].clone(), side.cell[:, mine].clone()) for side in state)
    )
