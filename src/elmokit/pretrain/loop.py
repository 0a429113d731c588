"""THE TRAINING LOOP: read a batch, step, log, measure, checkpoint; stop and go on anywhere."""

import itertools
import json
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import torch
from torch import nn

from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.lstm import LstmState
from elmokit.model.softmax import Softmax
from elmokit.pretrain.batches import Batch, BatchMaker, ahead
from elmokit.pretrain.checkpoint import Checkpoints, read_checkpoint
from elmokit.pretrain.corpus import Corpus
from elmokit.pretrain.distributed import World, joined_world, local_lanes
from elmokit.pretrain.objective import Objective, StepResult
from elmokit.pretrain.optimizers import Optimizers, learning_rate
from elmokit.pretrain.perplexity import Perplexity, measure_perplexity
from elmokit.pretrain.recipe import PRECISIONS, Recipe, apply_change, read_recipe, recipe_from_dict
from elmokit.pretrain.run_log import RunLog
from elmokit.pretrain.start import first_weights, random_start
from elmokit.pretrain.windows import Windows

LOG_EVERY = 50


class TrainResult(NamedTuple):
    bilm: BiLm
    softmax: Softmax
    perplexity: Perplexity | None  # None: stopped before the end
    steps: int
    tokens: int


def train(
    recipe: Recipe,
    data: Path,
    out: Path,
    *,
    resume: bool = False,
    start_from: tuple[BiLm, Softmax] | None = None,
    device: str = "cpu",
) -> TrainResult:
    """Train (or go on training) the run in folder ``out`` on prepared ``data``."""
    with joined_world(device) as world:
        resume = resume or world.is_restart
        checkpoints = Checkpoints(out, recipe.train.keep_checkpoints)
        if checkpoints.latest() is not None and not resume:
            raise InputError(f"{out}: holds a run already; go on with --resume, or choose another")
        world.wait()
        if world.is_main and not (out / "run.json").is_file():
            write_json(out / "run.json", {"recipe": recipe.to_dict(), "data": str(data.resolve())})
        torch.manual_seed(recipe.train.seed)
        corpus = Corpus.open(data)
        begin = first_weights if checkpoints.latest() is None else random_start  # to be restored
        bilm, softmax = start_from or begin(recipe, corpus)
        trainer = Trainer(
            recipe, corpus, out, world, bilm.to(world.device), softmax.to(world.device)
        )
        if resume:
            trainer.restore()
        return trainer.run()


def train_or_resume(
    recipe: str | None,
    data: Path | None,
    out: Path | None,
    resume: Path | None,
    changes: Sequence[str],
    device: str,
) -> TrainResult:
    """What ``elmokit train`` was asked for: a new run, or an old one to go on with."""
    if resume is None:
        if recipe is None or data is None or out is None:
            raise InputError("give RECIPE --data DATA --out RUN, or --resume RUN")
        return train(read_recipe(recipe, changes), data, out, device=device)
    old, its_data = read_run(resume)
    values = old.to_dict()
    for change in changes:
        apply_change(values, change)
    changed = recipe_from_dict(values, "--set")
    return train(changed, data or its_data, resume, resume=True, device=device)


def read_run(run: Path) -> tuple[Recipe, Path]:
    """The recipe and the data of a run folder."""
    path = run / "run.json"
    if not path.is_file():
        raise InputError(f"{run}: not a training run (there is no run.json)")
    content = json.loads(path.read_text(encoding="utf-8"))
    return recipe_from_dict(content["recipe"], str(path)), Path(content["data"])


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
        self.windows = Windows(
            corpus.train, len(corpus.vocabulary), self.lanes, config.window, config.seed
        )
        self.maker = BatchMaker(corpus, self.windows, recipe.model, config, world.rank)
        self.objective: nn.Module = Objective(
            bilm, softmax, config.dropout, PRECISIONS[config.precision]
        )
        if world.size > 1:
            self.objective = nn.parallel.DistributedDataParallel(self.objective)
        self.optimizers = Optimizers(
            bilm.parameters(), softmax, config, is_sampled=self.maker.sampler is not None
        )
        self.checkpoints = Checkpoints(run, config.keep_checkpoints)
        self.state = bilm.zero_state(self.lanes.count)
        self.step = 0
        self.best: float | None = None
        self.best_step = 0
        self.evaluations_since_best = 0
        self.is_asked_to_stop = False
        self.tokens_a_step = config.batch_size * config.window
        self.skipped_steps = config.skip_tokens // self.tokens_a_step
        self.epoch_steps, self.total_steps = self._budget()

    def _budget(self) -> tuple[list[int], int]:
        """Steps of each epoch, and how many the run may take."""
        config = self.recipe.train
        num_epochs = int(-(-config.num_epochs // 1))
        steps = [self.windows.full_steps(epoch) for epoch in range(num_epochs)]
        if min(steps) == 0:
            raise InputError(
                f"the training text is too short for {config.batch_size} streams of windows of "
                f"{config.window} tokens: lower train.batch_size or train.window"
            )
        unused = num_epochs - config.num_epochs
        total = sum(steps) - int(unused * steps[-1]) - self.skipped_steps
        if self.skipped_steps and total < 1:
            raise InputError(
                f"train.skip_tokens = {config.skip_tokens:,} leaves nothing of the "
                f"{config.num_epochs:g} epochs to train on"
            )
        if config.max_tokens is not None:
            total = min(total, -(-config.max_tokens // self.tokens_a_step))
        return steps, max(1, total)

    def _positions(self) -> Iterator[tuple[int, int]]:
        """(epoch, step in it) of every step still to do."""
        every = (
            (epoch, step) for epoch, steps in enumerate(self.epoch_steps) for step in range(steps)
        )
        return itertools.islice(
            every, self.skipped_steps + self.step, self.skipped_steps + self.total_steps
        )

    def run(self) -> TrainResult:
        config = self.recipe.train
        log = RunLog(self.run_folder, self.step, self.world.is_main)
        losses: list[tuple[float, float]] = []
        started, steps_before = time.monotonic(), self.step
        is_early = False
        with self._stopping_gently():
            for batch in ahead(self.maker, self._positions()):
                result = self._advance(batch)
                losses.append((result.forward_loss, result.backward_loss))
                if self.step % LOG_EVERY == 0:
                    rate = (self.step - steps_before) / (time.monotonic() - started)
                    self._log_step(log, losses, rate)
                    losses.clear()
                    started, steps_before = time.monotonic(), self.step
                is_last = self.step == self.total_steps
                if self.step % config.evaluate_every == 0 and not is_last:
                    is_early = self._evaluate(log)
                    started, steps_before = time.monotonic(), self.step
                if self.is_asked_to_stop or is_early or self.step % config.checkpoint_every == 0:
                    self.save()
                if self.is_asked_to_stop:
                    log.write("stopped", self.step, f"stopped at step {self.step}; use --resume")
                    return self._result(None)
                if is_early:
                    break
        final = self._finish(log)
        return self._result(final)

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
            self.optimizers.step(gradient, learning_rate(config, self.step / self.total_steps))
        except FloatingPointError as error:
            raise InputError(
                f"{self.run_folder}: training diverged at step {self.step} ({error}); lower "
                f"train.learning_rate and go on from the last checkpoint with --resume"
            ) from None
        self.state = result.state
        self.step += 1
        return result

    def _log_step(self, log: RunLog, losses: list[tuple[float, float]], rate: float) -> None:
        forward, backward = (sum(side) / len(losses) for side in zip(*losses, strict=True))
        kind = "sampled" if self.maker.sampler else "full-softmax"
        seconds_left = (self.total_steps - self.step) / rate
        epoch = (self.skipped_steps + self.step) / self.epoch_steps[0]
        log.write(
            "train",
            self.step,
            f"step {self.step:,}/{self.total_steps:,}  epoch {epoch:.3f}  "
            f"{rate * self.tokens_a_step:,.0f} tokens/s  {seconds_left / 60:.0f} min left  "
            f"training loss ({kind}, not a perplexity) forward {forward:.3f} "
            f"backward {backward:.3f}",
            epoch=epoch,
            tokens=self.step * self.tokens_a_step,
            tokens_per_second=rate * self.tokens_a_step,
            seconds_left=seconds_left,
            loss_kind=kind,
            forward_loss=forward,
            backward_loss=backward,
            learning_rate=learning_rate(self.recipe.train, self.step / self.total_steps),
        )

    def _evaluate(self, log: RunLog) -> bool:
        """Measure, keep the best; True when it has stopped getting better."""
        is_best = is_done = False
        if self.world.is_main:
            result = self._measure(log, self.recipe.train.evaluate_tokens)
            is_best = self.best is None or result.mean < self.best
            self.evaluations_since_best = 0 if is_best else self.evaluations_since_best + 1
            if is_best:
                self.best, self.best_step = result.mean, self.step
            is_done = 0 < self.recipe.train.patience <= self.evaluations_since_best
        if self.world.agree(is_best):
            self.save()
        return self.world.agree(is_done)

    def _measure(self, log: RunLog, max_tokens: int | None) -> Perplexity:
        result = measure_perplexity(
            self.bilm, self.softmax, self.corpus, self.corpus.heldout, "fresh", max_tokens, True
        )
        log.write(
            "heldout",
            self.step,
            f"step {self.step:,}  held-out {result}",
            forward_perplexity=result.forward,
            backward_perplexity=result.backward,
            mean_perplexity=result.mean,
            start=result.start,
            predictions=result.num_predictions,
            unknown_rate=result.unknown_rate,
            tokens=self.step * self.tokens_a_step,
        )
        return result

    def _finish(self, log: RunLog) -> Perplexity | None:
        """The last measurement, on all held-out text; the end of training counts as its best."""
        final = None
        if self.world.is_main:
            final = self._measure(log, None)
            self.best, self.best_step = final.mean, self.step
        self.save()
        self.world.wait()
        return final

    def save(self) -> None:
        """A checkpoint of all processes, written by the main one."""
        state = self.world.gather_state(self.state)
        if not self.world.is_main:
            return
        content = {
            "step": self.step,
            "bilm": self.bilm.state_dict(),
            "softmax": self.softmax.state_dict(),
            "optimizers": self.optimizers.state_dict(),
            "state": [[side.hidden, side.cell] for side in state],
            "best": self.best,
            "best_step": self.best_step,
            "evaluations_since_best": self.evaluations_since_best,
        }
        path = self.checkpoints.save(self.step, content)
        if self.best is not None and self.best_step == self.step:
            self.checkpoints.mark_best(path, self.best)

    def restore(self) -> None:
        """Go on from the latest checkpoint; a run killed before its first starts anew."""
        path = self.checkpoints.latest()
        steps = self.world.values(0 if path is None else int(path.stem))
        if len(set(steps)) > 1:
            raise InputError(
                f"{self.run_folder}: the processes see different checkpoints (steps {steps}): "
                f"put the run where all machines read the same files"
            )
        if path is None:
            return
        content = read_checkpoint(path)
        self.step = content["step"]
        self.bilm.load_state_dict(content["bilm"])
        self.softmax.load_state_dict(content["softmax"])
        self.optimizers.load_state_dict(content["optimizers"])
        device = self.bilm.device
        sides = (LstmState(*(part.to(device) for part in side)) for side in content["state"])
        self.state = local_lanes(BiLmState(*sides), self.lanes)
        self.best, self.best_step = content["best"], content["best_step"]
        self.evaluations_since_best = content["evaluations_since_best"]
        if self.world.is_main and self.best is not None and self.best_step == self.step:
            self.checkpoints.mark_best(path, self.best)

    def _result(self, perplexity: Perplexity | None) -> TrainResult:
        return TrainResult(
            self.bilm, self.softmax, perplexity, self.step, self.step * self.tokens_a_step
        )

    @contextmanager
    def _stopping_gently(self) -> Iterator[None]:
        """Ctrl-C and SIGTERM finish the step, save and stop; a second Ctrl-C stops at once.

        Not so under torchrun, which ends all workers when one is lost: they must go at once, and
        start again from the last checkpoint.
        """

        def ask(number: int, frame: FrameType | None) -> None:
            if self.is_asked_to_stop:
                raise KeyboardInterrupt
            self.is_asked_to_stop = True

        if self.world.size > 1 or threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {number: signal.signal(number, ask) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
