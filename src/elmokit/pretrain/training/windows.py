"""CORPUS -> WINDOWS: the two streams, cut into pieces the trainer reads one after the other.

The corpus is one long row of tokens with ``<S>`` before every sentence. B lanes read it side by
side, each its own part, aligned with sentences. A window is a pure function of (epoch, step), so a
run can be resumed anywhere; nothing is made token by token.

    sentence            w1 w2 w3
    forward   reads     <S>  w1 w2 w3      predicts  w1 w2 w3 </S>
    backward  reads     </S> w3 w2 w1      predicts  w3 w2 w1 <S>
"""

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.corpus.corpus import Split

Ints = npt.NDArray[np.int64]

BEGIN, END, UNKNOWN = 0, 1, 2
"""Ids of the markers, in the vocabulary and in the lexicon of word types."""


class DirectionStream(NamedTuple):
    """What one direction reads and predicts, step by step: each (T, B)."""

    inputs: Ints  # word types
    targets: Ints  # vocabulary ids


class Window(NamedTuple):
    """T steps of B lanes, for both directions."""

    forward: DirectionStream
    backward: DirectionStream
    is_start: npt.NDArray[np.bool_]  # (T, B): a sentence begins here (in both streams)
    is_real: npt.NDArray[np.bool_]  # (T, B): False beyond the end of a lane
    sentence: Ints  # (T, B): the number of the sentence that is read


@dataclass(frozen=True)
class Lanes:
    """Which lanes of how many this process reads."""

    total: int
    first: int
    count: int


class Windows:
    """Windows of ``window`` tokens in ``lanes``; targets beyond ``num_words`` are ``<UNK>``."""

    def __init__(self, split: Split, num_words: int, lanes: Lanes, window: int, seed: int) -> None:
        self.tokens = split.tokens
        self.starts = np.asarray(split.starts, dtype=np.int64)
        self.num_words = num_words
        self.lanes = lanes
        self.window = window
        self.seed = seed
        if len(self.starts) < lanes.total:
            raise InputError(
                f"{len(self.starts):,} sentences are too few for {lanes.total} parallel "
                f"streams: lower train.batch_size (or prepare more text)"
            )

    @property
    def num_positions(self) -> int:
        """Predictions per direction in one epoch: every word and one marker per sentence."""
        return len(self.tokens)

    def full_steps(self, epoch: int) -> int:
        """Steps in which every lane still has a whole window."""
        begins, ends = self._bounds(epoch)
        return int((ends - begins).min()) // self.window

    def all_steps(self) -> int:
        """Steps until the longest lane of the first epoch is read to its end."""
        begins, ends = self._bounds(0)
        return -(-int((ends - begins).max()) // self.window)

    def at(self, epoch: int, step: int) -> Window:
        """The window that step ``step`` of epoch ``epoch`` reads."""
        begins, ends = self._bounds(epoch)
        mine = slice(self.lanes.first, self.lanes.first + self.lanes.count)
        offsets = step * self.window + np.arange(self.window)[:, None]
        unwrapped = begins[mine] + offsets  # (T, B)
        is_real = unwrapped < ends[mine]
        return self._streams(np.where(is_real, unwrapped % self.num_positions, 0), is_real)

    def _bounds(self, epoch: int) -> tuple[Ints, Ints]:
        """(lanes,) where each lane begins and ends; each epoch starts at a different sentence."""
        size = self.num_positions
        shift = 0
        if epoch > 0:
            shift = int(np.random.default_rng([self.seed, epoch]).integers(size))
        wanted = shift + size * np.arange(self.lanes.total, dtype=np.int64) // self.lanes.total
        rounds, inside = np.divmod(wanted, size)
        number = np.searchsorted(self.starts, inside)  # the next sentence start
        past_end = number == len(self.starts)
        begins = self.starts[np.where(past_end, 0, number)] + size * (rounds + past_end)
        return begins, np.append(begins[1:], begins[0] + size)

    def _streams(self, at: Ints, is_real: npt.NDArray[np.bool_]) -> Window:
        size = self.num_positions
        sentence = np.searchsorted(self.starts, at, side="right") - 1
        start = self.starts[sentence]
        is_final = sentence + 1 == len(self.starts)
        end = np.where(is_final, size, self.starts[np.where(is_final, 0, sentence + 1)])
        step = at - start  # 0 at the marker that opens the sentence
        is_last = at + 1 == end

        def token(positions: Ints) -> Ints:
            found: Ints = self.tokens[np.minimum(positions, size - 1)].astype(np.int64)
            return found

        following = np.where(is_last, END, token(at + 1))
        preceding = np.where(is_last, BEGIN, token(end - step - 1))
        return Window(
            DirectionStream(token(at), self.as_target(following)),
            DirectionStream(np.where(step == 0, END, token(end - step)), self.as_target(preceding)),
            step == 0,
            is_real,
            sentence,
        )

    def as_target(self, types: Ints) -> Ints:
        """Vocabulary ids of word types; ``<UNK>`` for those outside the vocabulary."""
        return np.where(types < self.num_words, types, UNKNOWN)


class Budget:
    """How many steps a run may take, and which window each one reads.

    As ``num_epochs``, ``max_tokens`` and ``skip_tokens`` say.
    """

    def __init__(self, windows: Windows, config: TrainConfig) -> None:
        self.tokens_per_step = config.batch_size * config.window
        self.skipped_steps = config.skip_tokens // self.tokens_per_step
        num_epochs = math.ceil(config.num_epochs)
        self.epoch_steps = [windows.full_steps(epoch) for epoch in range(num_epochs)]
        if min(self.epoch_steps) == 0:
            raise InputError(
                f"the training text is too short for {config.batch_size} streams of windows of "
                f"{config.window} tokens: lower train.batch_size or train.window"
            )
        unused = num_epochs - config.num_epochs
        total = sum(self.epoch_steps) - int(unused * self.epoch_steps[-1]) - self.skipped_steps
        if self.skipped_steps and total < 1:
            raise InputError(
                f"train.skip_tokens = {config.skip_tokens:,} leaves nothing of the "
                f"{config.num_epochs:g} epochs to train on; lower it or raise train.num_epochs"
            )
        if config.max_tokens is not None:
            total = min(total, -(-config.max_tokens // self.tokens_per_step))
        self.total_steps = max(1, total)

    def positions(self, done: int) -> Iterator[tuple[int, int]]:
        """(epoch, step in it) of every step that is left after ``done`` steps."""
        every = (
            (epoch, step) for epoch, steps in enumerate(self.epoch_steps) for step in range(steps)
        )
        return itertools.islice(
            every, self.skipped_steps + done, self.skipped_steps + max(done, self.total_steps)
        )

    def epoch(self, step: int) -> float:
        """The number of epochs after ``step`` steps."""
        return (self.skipped_steps + step) / self.epoch_steps[0]
