"""The one fit loop: epochs of shuffled batches, early stopping on the development score.

    FOLDER/best.safetensors   weights of the best epoch so far (averaged, where EMA is on)
           training.pt        the checkpoint: all that is needed to resume exactly after a kill
           log.jsonl          one line per epoch

A run that is started again in the same folder resumes from its last checkpoint and ends with the
same weights as one that was never interrupted: the batches follow from seed and epoch, and the
checkpoint holds weights, optimizer, average and torch's random state.
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from torch import nn

from elmokit.embed.chunks import shuffled_batches, sorted_batches
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.files.checksums import zip_damage
from elmokit.progress import Meter, meter
from elmokit.tasks.config import FitConfig
from elmokit.tasks.run_folder import (
    checked_reading,
    load_state,
    load_weights,
    read_log,
    save_weights,
)
from elmokit.tasks.task import Scores, Task, TaskModel

CHECKPOINT_SECONDS = 120.0
"""A checkpoint is due at the end of every epoch and this often inside one."""
RESTART = "delete it to train from the beginning, or train into a new folder"


@dataclass
class FitState:
    """The progress of a run; everything but the tensors."""

    epoch: int = 0
    """Epochs finished."""
    batch: int = 0
    """Batches done of the epoch under way."""
    num_steps: int = 0
    """Steps of the optimizer, in all."""
    loss_sum: float = 0.0
    best_score: float = -1.0
    best_epoch: int = 0
    epochs_since_best: int = 0
    halved_at: int = 0
    """``epochs_since_best`` when the learning rate was last halved."""
    seconds: float = 0.0
    """Spent training and scoring, over all starts."""
    cpu_seconds: float = 0.0
    """CPU time spent training and scoring."""
    stopped: str = ""
    """Why it ended; empty while it runs."""


def fit(
    task: Task[Any, Any],
    model: TaskModel[Any, Any],
    train: Sequence[Any],
    dev: Sequence[Any],
    config: FitConfig,
    folder: Path,
    *,
    quiet: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
) -> FitState:
    """Train until the score stops rising or the epochs or minutes are used up.

    After every epoch the development score is printed on standard error, unless ``quiet``.
    Afterwards the model holds the weights of its best epoch. Seed torch before building the model;
    the loop draws from the same generator.
    """
    if not train or not dev:
        raise InputError("training needs at least one training and one development example")
    run = _Run(task, model, config, folder)
    run.resume()
    lengths = [task.num_tokens(example) for example in train]
    while not run.state.stopped:
        batches = shuffled_batches(
            lengths, config.batch_size, config.max_batch_tokens, config.seed, run.state.epoch
        )
        title = f"{task.name} epoch {run.state.epoch + 1}"
        with meter(title, task.unit, len(train), quiet) as progress:
            progress.advance(sum(len(batch) for batch in batches[: run.state.batch]))
            run.epoch(train, batches, progress, checkpoint_seconds)
        run.end_epoch(dev, len(batches), quiet)
        run.save()
    run.use_best()
    return run.state


class _Run:
    """A model, its optimizer and its average while they train."""

    def __init__(
        self, task: Task[Any, Any], model: TaskModel[Any, Any], config: FitConfig, folder: Path
    ) -> None:
        assert isinstance(model, nn.Module)
        self.task, self.model, self.config, self.folder = task, model, config, folder
        self.module: nn.Module = model
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.optimizer = _optimizer(self.parameters, config)
        self.average = [p.detach().clone() for p in self.parameters] if config.ema else None
        self.state = FitState()
        self.log = read_log(folder / "log.jsonl")
        self.started, self.cpu_started = time.monotonic(), time.process_time()
        folder.mkdir(parents=True, exist_ok=True)

    def epoch(
        self,
        train: Sequence[Any],
        batches: Sequence[Sequence[int]],
        progress: Meter,
        checkpoint_seconds: float,
    ) -> None:
        self.module.train()
        saved = time.monotonic()
        for batch in batches[self.state.batch :]:
            loss = self.step([train[number] for number in batch])
            self.state.batch += 1
            self.state.loss_sum += loss
            progress.advance(len(batch), f"loss {self.state.loss_sum / self.state.batch:.3f}")
            if time.monotonic() - saved >= checkpoint_seconds:
                self.save()
                saved = time.monotonic()

    def step(self, examples: list[Any]) -> float:
        loss = self.model.loss(examples)
        if not bool(torch.isfinite(loss)):
            raise InputError(
                f"{self.folder}: the loss became {loss.item()} in epoch {self.state.epoch + 1}; "
                "lower fit.learning_rate"
            )
        self.optimizer.zero_grad(set_to_none=True)
        (loss + self.model.vectors.penalty()).backward()  # type: ignore[no-untyped-call]
        if self.config.gradient_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.config.gradient_norm)
        self.optimizer.step()
        self._update_average()
        self.state.num_steps += 1
        return float(loss.detach())

    def _update_average(self) -> None:
        if self.average is None:
            return
        steps = self.state.num_steps
        decay = min(self.config.ema, (1 + steps) / (10 + steps))  # soon forgets the random start
        with torch.no_grad():
            for mean, weight in zip(self.average, self.parameters, strict=True):
                mean.lerp_(weight, 1 - decay)

    def end_epoch(self, dev: Sequence[Any], num_batches: int, quiet: bool) -> None:
        """Score, log, keep the best, and decide whether to stop."""
        state = self.state
        self._swap_average()
        scores = evaluate(self.task, self.model, dev, self.config, quiet=quiet)
        state.epoch += 1
        state.epochs_since_best += 1
        if scores.main > state.best_score:
            state.best_score, state.best_epoch = scores.main, state.epoch
            state.epochs_since_best = state.halved_at = 0
            save_weights(self.module, self.folder / "best.safetensors")
        self._swap_average()
        mean_loss = state.loss_sum / num_batches
        state.batch, state.loss_sum = 0, 0.0
        self._tick()
        if not quiet:
            print(self._epoch_line(mean_loss, scores), file=sys.stderr)
        self._maybe_halve()
        self._maybe_stop()
        self._write_log(
            {
                "epoch": state.epoch,
                "loss": round(mean_loss, 5),
                "dev": {name: round(value, 3) for name, value in scores.every.items()},
                "best": round(state.best_score, 3),
                "learning_rate": self.optimizer.param_groups[0]["lr"],
                "seconds": round(state.seconds, 1),
                "stopped": state.stopped,
            }
        )

    def _epoch_line(self, mean_loss: float, scores: Scores) -> str:
        """What is shown of an epoch, in at most 100 columns."""
        state = self.state
        is_best = state.best_epoch == state.epoch
        best = (
            "the best so far"
            if is_best
            else f"best {state.best_score:.2f} (epoch {state.best_epoch})"
        )
        return (
            f"{self.task.name} epoch {state.epoch}/{self.config.max_epochs}: loss {mean_loss:.4g}, "
            f"development {self.task.measure} {scores.main:.2f}, {best}, {state.seconds:.0f} s"
        )

    def _write_log(self, line: dict[str, Any]) -> None:
        """Append; after a kill between log and checkpoint the epoch is logged again, once."""
        self.log = [*(old for old in self.log if old["epoch"] < line["epoch"]), line]
        with replacing_file(self.folder / "log.jsonl") as aside:
            aside.write_text(
                "".join(json.dumps(line) + "\n" for line in self.log), encoding="utf-8"
            )

    def _maybe_halve(self) -> None:
        patience, state = self.config.halve_after, self.state
        if patience and state.epochs_since_best - state.halved_at >= patience:
            state.halved_at = state.epochs_since_best
            for group in self.optimizer.param_groups:
                group["lr"] /= 2

    def _maybe_stop(self) -> None:
        state, config = self.state, self.config
        if state.batch:  # resumed inside an epoch
            return
        if state.epochs_since_best >= config.patience:
            state.stopped = "patience"
        elif state.epoch >= config.max_epochs:
            state.stopped = "epochs"
        elif config.max_minutes and state.seconds >= 60 * config.max_minutes:
            state.stopped = "minutes"
        elif state.best_score >= 100:
            state.stopped = "perfect"

    def _swap_average(self) -> None:
        """Swap the averaged and the trained weights of the model."""
        if self.average is None:
            return
        with torch.no_grad():
            for mean, weight in zip(self.average, self.parameters, strict=True):
                trained = weight.clone()
                weight.copy_(mean)
                mean.copy_(trained)

    def _tick(self) -> None:
        now, cpu_now = time.monotonic(), time.process_time()
        self.state.seconds += now - self.started
        self.state.cpu_seconds += cpu_now - self.cpu_started
        self.started, self.cpu_started = now, cpu_now

    def save(self) -> None:
        self._tick()
        with replacing_file(self.folder / "training.pt") as aside:
            torch.save(
                {
                    "state": asdict(self.state),
                    "model": self.module.state_dict(),
                    "optimizer": self.optimizer.state_dict(),
                    "average": self.average,
                    "random": torch.get_rng_state(),
                    "cuda_random": torch.cuda.get_rng_state_all(),  # none without a GPU
                },
                aside,
            )

    def resume(self) -> None:
        """Take up the checkpoint in the folder, if there is one."""
        path = self.folder / "training.pt"
        if not path.exists():
            return
        problem = zip_damage(path)
        if problem is not None:
            raise InputError(f"{path}: not a checkpoint of this run ({problem}); {RESTART}")
        with checked_reading(path, "a checkpoint of this run", RESTART):
            saved = torch.load(path, map_location=self.model.vectors.device, weights_only=True)
            state = saved["state"].copy()
        if state.keys() != {field.name for field in fields(FitState)}:
            raise InputError(
                f"{path}: was written by an incompatible version of elmokit; train into a new "
                f"folder"
            )
        with checked_reading(path, "a checkpoint of this run", RESTART):
            load_state(self.module, saved["model"])
            # until the setting fit.optimizer was renamed, the key was spelled as the setting
            self.optimizer.load_state_dict(saved.get("optimizer") or saved["optimiser"])
            self.average = saved["average"]
            torch.set_rng_state(saved["random"].cpu())
            torch.cuda.set_rng_state_all([one.cpu() for one in saved.get("cuda_random", ())])
        self.state = FitState(**state)
        self.state.stopped = ""
        self._maybe_stop()  # a finished run resumes if it was given more epochs or minutes

    def use_best(self) -> None:
        load_weights(self.module, self.folder / "best.safetensors")


def evaluate(
    task: Task[Any, Any],
    model: TaskModel[Any, Any],
    examples: Sequence[Any],
    config: FitConfig,
    *,
    quiet: bool = False,
) -> Scores:
    """The official score of a model on labelled examples."""
    return task.score(examples, predict_all(task, model, examples, config, quiet=quiet))


def predict_all(
    task: Task[Any, Any],
    model: TaskModel[Any, Any],
    examples: Sequence[Any],
    config: FitConfig,
    *,
    quiet: bool = False,
) -> list[Any]:
    """One prediction per example, in their order; the model's mode is restored."""
    assert isinstance(model, nn.Module)
    was_training = model.training
    model.eval()
    lengths = [task.num_tokens(example) for example in examples]
    found: dict[int, Any] = {}
    with (
        torch.no_grad(),
        meter(f"{task.name} scoring", task.unit, len(examples), quiet) as progress,
    ):
        for batch in sorted_batches(lengths, config.batch_size, config.max_batch_tokens):
            predictions = model.predict([examples[number] for number in batch])
            found.update(zip(batch, predictions, strict=True))
            progress.advance(len(batch))
    model.train(was_training)
    return [found[number] for number in range(len(examples))]


def _optimizer(parameters: list[nn.Parameter], config: FitConfig) -> torch.optim.Optimizer:
    rate, decay = config.learning_rate, config.weight_decay
    if config.optimizer == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
    if config.optimizer == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=config.rho, weight_decay=decay)
    if config.optimizer == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate, weight_decay=decay)
    return torch.optim.SGD(parameters, lr=rate, weight_decay=decay)
