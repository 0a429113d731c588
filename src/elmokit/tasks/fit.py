"""The one fit loop: epochs of shuffled batches, early stopping on the development score.

    FOLDER/best.safetensors   weights of the best epoch so far (averaged, where EMA is on)
           training.pt        all that is needed to go on exactly after a kill
           log.jsonl          one line an epoch

A run that is started again in the same folder goes on where the last checkpoint stood and ends
with the same weights as one that was never interrupted: the batches follow from seed and epoch,
and the checkpoint holds weights, optimiser, average and torch's random state.
"""

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.progress import Meter, meter
from elmokit.tasks.batches import shuffled_batches, sorted_batches
from elmokit.tasks.config import FitConfig
from elmokit.tasks.task import Scores, Task, TaskModel

CHECKPOINT_SECONDS = 120.0
"""A checkpoint is due at the end of every epoch and this often inside one."""


@dataclass
class FitState:
    """How far a run has come; everything but the tensors."""

    epoch: int = 0
    """Epochs finished."""
    batch: int = 0
    """Batches done of the epoch under way."""
    num_steps: int = 0
    """Steps of the optimiser, in all."""
    loss_sum: float = 0.0
    best_score: float = -1.0
    best_epoch: int = 0
    epochs_since_best: int = 0
    halved_at: int = 0
    """``epochs_since_best`` when the learning rate was last halved."""
    seconds: float = 0.0
    """Spent training and scoring, over all starts."""
    cpu_seconds: float = 0.0
    """The same of the processor, whatever else the machine was doing."""
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
    """Train until the score stops rising, the epochs or the minutes are used up.

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
    """A model, its optimiser and its average while they train."""

    def __init__(
        self, task: Task[Any, Any], model: TaskModel[Any, Any], config: FitConfig, folder: Path
    ) -> None:
        assert isinstance(model, nn.Module)
        self.task, self.model, self.config, self.folder = task, model, config, folder
        self.module: nn.Module = model
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.optimiser = _optimiser(self.parameters, config)
        self.average = [p.detach().clone() for p in self.parameters] if config.ema else None
        self.state = FitState()
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
        self.optimiser.zero_grad(set_to_none=True)
        (loss + self.model.vectors.penalty()).backward()  # type: ignore[no-untyped-call]
        if self.config.gradient_norm:
            nn.utils.clip_grad_norm_(self.parameters, self.config.gradient_norm)
        self.optimiser.step()
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
        """Score, log, keep the best, and decide whether to go on."""
        state = self.state
        self._swap_average()
        scores = evaluate(self.task, self.model, dev, self.config, quiet=quiet)
        state.epoch += 1
        state.epochs_since_best += 1
        if scores.main > state.best_score:
            state.best_score, state.best_epoch = scores.main, state.epoch
            state.epochs_since_best = state.halved_at = 0
            _save_weights(self.module, self.folder / "best.safetensors")
        self._swap_average()
        mean_loss = state.loss_sum / num_batches
        state.batch, state.loss_sum = 0, 0.0
        self._tick()
        self._maybe_halve()
        self._maybe_stop()
        line = {
            "epoch": state.epoch,
            "loss": round(mean_loss, 5),
            "dev": {name: round(value, 3) for name, value in scores.every.items()},
            "best": round(state.best_score, 3),
            "learning_rate": self.optimiser.param_groups[0]["lr"],
            "seconds": round(state.seconds, 1),
            "stopped": state.stopped,
        }
        self._log(line)

    def _log(self, line: dict[str, Any]) -> None:
        """Append; after a kill between log and checkpoint the epoch is logged again, once."""
        path = self.folder / "log.jsonl"
        old = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        kept = [text for text in old if json.loads(text)["epoch"] < line["epoch"]]
        with replacing_file(path) as aside:
            aside.write_text("\n".join([*kept, json.dumps(line)]) + "\n", encoding="utf-8")

    def _maybe_halve(self) -> None:
        patience, state = self.config.halve_after, self.state
        if patience and state.epochs_since_best - state.halved_at >= patience:
            state.halved_at = state.epochs_since_best
            for group in self.optimiser.param_groups:
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
        """The averaged weights into the model, the trained ones aside; and back."""
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
                    "optimiser": self.optimiser.state_dict(),
                    "average": self.average,
                    "random": torch.get_rng_state(),
                    "cuda_random": torch.cuda.get_rng_state_all(),  # none without a GPU
                },
                aside,
            )

    def resume(self) -> None:
        path = self.folder / "training.pt"
        if not path.exists():
            return
        device = self.model.vectors.device
        saved = torch.load(path, map_location=device, weights_only=True)
        self.module.load_state_dict(saved["model"])
        self.optimiser.load_state_dict(saved["optimiser"])
        self.average = saved["average"]
        known = {field.name for field in fields(FitState)}
        if saved["state"].keys() != known:
            raise InputError(
                f"{path}: was left by another version of elmokit, which counted other things; "
                f"train into a new folder"
            )
        self.state = FitState(**saved["state"])
        self.state.stopped = ""
        self._maybe_stop()  # a finished run goes on if it was given more epochs or minutes
        torch.set_rng_state(saved["random"].cpu())
        torch.cuda.set_rng_state_all([state.cpu() for state in saved.get("cuda_random", ())])

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
    """One prediction an example, in their order; the model's mode is restored."""
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


def load_weights(module: nn.Module, path: Path) -> None:
    module.load_state_dict(load_file(path, device=str(next(module.parameters()).device)))


def _save_weights(module: nn.Module, path: Path) -> None:
    weights = {name: value.contiguous() for name, value in module.state_dict().items()}
    with replacing_file(path) as aside:
        save_file(weights, aside)
        aside.chmod(0o644)


def _optimiser(parameters: list[nn.Parameter], config: FitConfig) -> torch.optim.Optimizer:
    rate, decay = config.learning_rate, config.weight_decay
    if config.optimiser == "adam":
        return torch.optim.Adam(parameters, lr=rate, weight_decay=decay, fused=True)
    if config.optimiser == "adadelta":
        return torch.optim.Adadelta(parameters, lr=rate, rho=config.rho, weight_decay=decay)
    if config.optimiser == "adagrad":
        return torch.optim.Adagrad(parameters, lr=rate, weight_decay=decay)
    return torch.optim.SGD(parameters, lr=rate, weight_decay=decay)
