"""THE TRAINING LOOP: batch, step, log, measure, checkpoint; interrupt and resume anywhere."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from torch import nn

from elmokit.errors import InputError
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.lstm import LstmState
from elmokit.model.softmax import Softmax
from elmokit.pretrain.config import PRECISIONS, Recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.perplexity import Perplexity, PerplexityByKind, measure_by_kind
from elmokit.pretrain.training.averaging import AveragedWeights
from elmokit.pretrain.training.batches import Batch, BatchMaker, prefetch
from elmokit.pretrain.training.distributed import World, local_lanes
from elmokit.pretrain.training.initial_weights import first_context_loss, first_meaning_loss
from elmokit.pretrain.training.objective import Objective, StepResult
from elmokit.pretrain.training.optimizers import Optimizers, learning_rate
from elmokit.pretrain.training.run_folder import (
    Checkpoints,
    RunLog,
    load_weights,
    read_checkpoint,
)
from elmokit.pretrain.training.windows import Budget, Windows

LOG_EVERY = 50


class TrainResult(NamedTuple):
    """What a call of ``train`` ended with."""

    bilm: BiLm
    softmax: Softmax
    perplexity: Perplexity | None  # None: interrupted before the end, or not the main process
    steps: int
    tokens: int
    is_main: bool = True  # False: another process reports


class Trainer:
    """One run: its model, its place in the data, its files."""

    def __init__(
        self,
        recipe: Recipe,
        corpus: Corpus,
        run: Path,
        world: World,
        bilm: BiLm,
        softmax: Softmax,
    ) -> None:
        self.recipe, self.corpus, self.world = recipe, corpus, world
        self.run_folder = run
        self.bilm, self.softmax = bilm, softmax
        config = recipe.train
        self.lanes = world.lanes(config.batch_size)
        windows = Windows(corpus.train, corpus.num_words, self.lanes, config.window, config.seed)
        self.budget = Budget(windows, config)
        self.maker = BatchMaker(corpus, windows, recipe.model, config, world.rank)
        context_loss = first_context_loss(recipe, corpus)
        meaning_loss = first_meaning_loss(recipe, corpus, bilm)
        found = {"context_loss": context_loss, "meaning_loss": meaning_loss}
        self.other_losses = {name: loss for name, loss in found.items() if loss is not None}
        for loss in self.other_losses.values():
            loss.to(world.device)
        self.objective: nn.Module = Objective(
            bilm,
            softmax,
            config.dropout,
            PRECISIONS[config.precision],
            context_loss,
            meaning_loss,
        )
        self.kernel = self.objective.kernel
        if world.size > 1:
            self.objective = nn.parallel.DistributedDataParallel(self.objective)
        of_losses = [each for loss in self.other_losses.values() for each in loss.parameters()]
        self.optimizers = Optimizers(
            [*bilm.parameters(), *of_losses],
            softmax,
            config,
            is_sampled=self.maker.sampler is not None,
        )
        self.average = AveragedWeights(bilm, softmax, config.average) if config.average else None
        self.checkpoints = Checkpoints(run, config.keep_checkpoints)
        self.state = bilm.zero_state(self.lanes.count)
        self.step = 0
        self.saved_step = 0
        self.losses: list[tuple[float, float]] = []  # forward, backward: since the last log line
        self.best: float | None = None
        self.best_step = 0
        self.evaluations_since_best = 0
        self.is_asked_to_stop = False

    @property
    def is_early(self) -> bool:
        """Whether the run stops early because it no longer improves."""
        return 0 < self.recipe.train.patience <= self.evaluations_since_best

    def run(self) -> TrainResult:
        """Train to the end of the budget, or until interrupted."""
        config, total_steps = self.recipe.train, self.budget.total_steps
        is_over = self.step >= total_steps or self.is_early
        log = RunLog(self.run_folder, self.step, self.world.is_main, is_over)
        started, steps_before = time.monotonic(), self.step
        positions = self.budget.positions(total_steps if is_over else self.step)
        with self._stopping_gently():
            for batch in prefetch(self.maker, positions):
                result = self._advance(batch)
                self.losses.append((result.forward_loss, result.backward_loss))
                if self.step % LOG_EVERY == 0:
                    rate = (self.step - steps_before) / (time.monotonic() - started)
                    self._log_step(log, rate)
                    started, steps_before = time.monotonic(), self.step
                if self.step % config.evaluate_every == 0 and self.step < total_steps:
                    self._evaluate(log)
                    started, steps_before = time.monotonic(), self.step
                is_stopping = self.is_asked_to_stop or self.is_early
                if is_stopping or self.step % config.checkpoint_every == 0:
                    self.save()
                if self.is_asked_to_stop:
                    command = f"elmokit train --resume {self.run_folder}"
                    log.write("stopped", self.step, f"stopped at step {self.step}: {command}")
                    return self._result(None)
                if self.is_early:
                    break
        return self._result(self._finish(log))

    def _advance(self, batch: Batch) -> StepResult:
        config = self.recipe.train
        self.objective.train()
        scale = float(config.window) if config.scale_loss_by_window else 1.0
        seed = (config.seed * 1_000_003 + self.step) * self.world.size + self.world.rank
        result: StepResult = self.objective(batch.to(self.bilm.device), self.state, seed, scale)
        if result.loss.requires_grad:  # not while only the softmax is fitted
            result.loss.backward()  # type: ignore[no-untyped-call]
        gradient = self.world.average(result.softmax)
        try:
            self.optimizers.step(gradient, self._learning_rate())
        except FloatingPointError as error:
            raise InputError(
                f"{self.run_folder}: training diverged at step {self.step} ({error}); lower "
                f"train.learning_rate and continue from the last checkpoint with --resume"
            ) from None
        self.state = result.state
        self.step += 1
        if self.average is not None:
            self.average.update(self.step)
        return result

    def _learning_rate(self) -> float:
        return learning_rate(self.recipe.train, self.step / self.budget.total_steps)

    def _log_step(self, log: RunLog, rate: float) -> None:
        forward, backward = (
            sum(side) / len(self.losses) for side in zip(*self.losses, strict=True)
        )
        self.losses.clear()
        values = {
            "epoch": self.budget.epoch(self.step),
            "tokens": self._tokens(),
            "tokens_per_second": rate * self.budget.tokens_per_step,
            "seconds_left": (self.budget.total_steps - self.step) / rate,
            "loss_kind": "sampled" if self.maker.sampler else "full-softmax",
            "forward_loss": forward,
            "backward_loss": backward,
            "learning_rate": self._learning_rate(),
            "precision": self.recipe.train.precision,
            "kernel": self.kernel,
        }
        line = step_line(self.step, self.budget.total_steps, values)
        log.write("train", self.step, line, **values)

    def _evaluate(self, log: RunLog) -> None:
        """Measure, and save the checkpoint if it is the best so far."""
        is_best = False
        if self.world.is_main:
            result = self._measure(log, self.recipe.train.evaluate_tokens)
            is_best = self.best is None or result.mean < self.best
            if is_best:
                self.best = result.mean
        is_best = self.world.agree(is_best)
        self.evaluations_since_best = 0 if is_best else self.evaluations_since_best + 1
        if is_best:
            self.best_step = self.step
            self.save()

    def _measure(self, log: RunLog, max_tokens: int, is_final: bool = False) -> Perplexity:
        weights = self.average or self
        sample = self.corpus.sample(self.corpus.heldout, max_tokens or None)
        found = measure_by_kind(
            weights.bilm, weights.softmax, self.corpus, sample, "fresh", quiet=not is_final
        )
        log.write(
            "heldout",
            self.step,
            f"step {self.step:,}  {found.overall.line()}",
            **found.overall.to_log(),
            tokens=self._tokens(),
            **_kinds_to_log(found),
            **({"is_final": True} if is_final else {}),
        )
        return found.overall

    def _finish(self, log: RunLog) -> Perplexity | None:
        """Save, then measure on more text; the end of training counts as the best of the run."""
        self.save()
        final = None
        if self.world.is_main:
            final = self._measure(log, self.recipe.train.final_evaluate_tokens, is_final=True)
            self.checkpoints.mark_best(self.checkpoints.path(self.step), final.mean)
        self.world.wait()
        return final

    def save(self) -> None:
        """A checkpoint of all processes, written by the main one; once per step."""
        if self.saved_step == self.step:
            return
        self.saved_step = self.step
        state = self.world.gather_state(self.state)
        if not self.world.is_main:
            return
        content = {
            "step": self.step,
            "bilm": self.bilm.state_dict(),
            "softmax": self.softmax.state_dict(),
            "optimizers": self.optimizers.state_dict(),
            "state": [[side.hidden, side.cell] for side in state],
            "losses": self.losses,
            "best": self.best,
            "best_step": self.best_step,
            "evaluations_since_best": self.evaluations_since_best,
        }
        if self.average is not None:
            content["average"] = self.average.state_dict()
        content.update((name, loss.state_dict()) for name, loss in self.other_losses.items())
        path = self.checkpoints.save(self.step, content)
        self._mark_if_best(path)

    def restore(self) -> None:
        """Resume from the latest intact checkpoint; without one, start from the beginning."""
        latest = self.checkpoints.latest()
        steps = self.world.values(0 if latest is None else int(latest.stem))
        if len(set(steps)) > 1:
            raise InputError(
                f"{self.run_folder}: the processes see different checkpoints (steps {steps}): "
                f"put the run where all machines read the same files"
            )
        if latest is None:
            return
        if self.world.is_main:
            self.checkpoints.best()  # raises now, not hours later, if best.json is damaged
            latest = self.checkpoints.latest_intact() or latest
        path = self.checkpoints.path(self.world.values(int(latest.stem))[0])
        content = read_checkpoint(path)
        load_weights(path, content, self.bilm, self.softmax)
        if self.average is not None:
            # If the checkpoint has no average, averaging was switched on later and starts here.
            average = content.get("average", content)
            load_weights(path, average, self.average.bilm, self.average.softmax)
        for setting in ("context", "meaning"):
            name = f"{setting}_loss"
            if (name in content) != (name in self.other_losses):
                raise InputError(
                    f"{path}: train.{setting} cannot be switched on or off within a run; start "
                    f"another one with train.start_from"
                )
        for name, loss in self.other_losses.items():
            loss.load_state_dict(content[name])
        self.optimizers.load_state_dict(content["optimizers"])
        self.step = self.saved_step = content["step"]
        device = self.bilm.device
        sides = (LstmState(*(part.to(device) for part in side)) for side in content["state"])
        self.state = local_lanes(BiLmState(*sides), self.lanes)
        self.losses = [(forward, backward) for forward, backward in content.get("losses", [])]
        self.best, self.best_step = content["best"], content["best_step"]
        self.evaluations_since_best = content["evaluations_since_best"]
        if self.world.is_main:
            self._mark_if_best(path)

    def _mark_if_best(self, path: Path) -> None:
        if self.best is not None and self.best_step == self.step:
            self.checkpoints.mark_best(path, self.best)

    def _tokens(self) -> int:
        return self.step * self.budget.tokens_per_step

    def _result(self, perplexity: Perplexity | None) -> TrainResult:
        weights = self.average or self
        return TrainResult(
            weights.bilm, weights.softmax, perplexity, self.step, self._tokens(), self.world.is_main
        )

    @contextmanager
    def _stopping_gently(self) -> Iterator[None]:
        """Ctrl-C, SIGTERM and SIGHUP finish the step, save and stop; a second Ctrl-C stops at once.

        This does not apply under torchrun, which ends all workers when one is lost: they must end
        at once, and restart from the last checkpoint.
        """

        def ask(number: int, frame: FrameType | None) -> None:
            if self.is_asked_to_stop:
                raise KeyboardInterrupt
            self.is_asked_to_stop = True

        if self.world.size > 1 or threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = [getattr(signal, name, None) for name in ("SIGINT", "SIGTERM", "SIGHUP")]
        before = {
            number: signal.signal(number, ask)
            for number in numbers
            if number is not None and signal.getsignal(number) is not signal.SIG_IGN  # nohup
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def step_line(step: int, total_steps: int, values: dict[str, Any]) -> str:
    """The line shown for a training step, at most 100 columns. The loss is not a perplexity."""
    minutes = round(values["seconds_left"] / 60)
    left = f"{minutes} min" if minutes < 100 else f"{minutes / 60:,.1f} h"
    return (
        f"step {step:,}/{total_steps:,}  epoch {values['epoch']:.2f}  "
        f"{values['tokens_per_second']:,.0f} tokens/s  {left} left  "
        f"{values['loss_kind']} loss {values['forward_loss']:.3f} {values['backward_loss']:.3f}"
    )


def _kinds_to_log(found: PerplexityByKind) -> dict[str, Any]:
    """Perplexities of the kinds of text, where there are several; for log.jsonl alone."""
    if len(found.kinds) < 2:
        return {}
    return {"kinds": {name: each.to_log() for name, each in found.kinds.items()}}
