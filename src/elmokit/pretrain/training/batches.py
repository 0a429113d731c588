"""WINDOWS -> TENSORS: distinct tokens, where they occur, targets and negatives, prefetched."""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.model.softmax import LogUniformSampler, Negatives, SampledCandidates
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.windows import DirectionStream, Ints, Window, Windows
from elmokit.text.token_ids import TokenIds, Utf8Characters, word_table_rows

FORWARD, BACKWARD = 0, 1


class DirectionBatch(NamedTuple):
    """One direction's part of a window; S = T * B rows, step by step."""

    rows: Tensor  # (S,): each input's row among the distinct tokens
    targets: Tensor  # (S,): each target's row among the softmax rows in play
    candidates: SampledCandidates | None  # None: the full softmax


class Batch(NamedTuple):
    """One step's inputs and targets, for both directions."""

    ids: TokenIds  # of N distinct tokens
    words: Tensor  # (N,): their vocabulary ids
    keep: Tensor | None  # (S, 1): 0 where the state is reset
    softmax_rows: Tensor | None  # (R,): vocabulary ids of the rows in play; None: all of them
    directions: tuple[DirectionBatch, DirectionBatch]

    def to(self, device: torch.device) -> "Batch":
        """The same batch on another device."""
        if device.type == "cpu":
            return self
        moved: Batch = _moved(self, device)
        return moved


def _moved(part: Any, device: torch.device) -> Any:
    if isinstance(part, Tensor):
        return part.to(device, non_blocking=True)
    if isinstance(part, tuple):
        values = (_moved(value, device) for value in part)
        return type(part)(*values) if hasattr(part, "_fields") else tuple(values)
    return part


class BatchMaker:
    """Batches of a run, each a pure function of (epoch, step)."""

    def __init__(
        self, corpus: Corpus, windows: Windows, model: ModelConfig, train: TrainConfig, rank: int
    ) -> None:
        self.corpus = corpus
        self.windows = windows
        self.train = train
        self.rank = rank
        self.characters = Utf8Characters(model.char_cnn.max_characters) if model.char_cnn else None
        self.has_words = model.words is not None
        self.sampler = (
            LogUniformSampler(corpus.num_words, train.num_negatives)
            if 0 < train.num_negatives < corpus.num_words
            else None
        )

    def at(self, epoch: int, step: int) -> Batch:
        """The batch of step ``step`` of epoch ``epoch``."""
        random = np.random.default_rng([self.train.seed, self.rank, epoch, step])
        window = self.windows.at(epoch, step)
        keep = None
        if self.train.reset_share > 0:
            is_reset = window.is_start & (
                random.random(window.is_start.shape) < self.train.reset_share
            )
            keep = torch.from_numpy(~is_reset).float().reshape(-1, 1)
        types, rows = distinct_types(window)
        softmax_rows, directions = self._targets(window, rows, random)
        words = torch.from_numpy(self.windows.as_target(types))
        return Batch(self.token_ids(types), words, keep, softmax_rows, directions)

    def token_ids(self, types: Ints) -> TokenIds:
        """The ids that the model reads for N word types."""
        characters = words = None
        if self.characters is not None:
            array = self.corpus.lexicon.characters(types, self.characters)
            characters = torch.from_numpy(array)
        if self.has_words:
            words = torch.from_numpy(word_table_rows(self.windows.as_target(types)))
        return TokenIds(characters, words)

    def _targets(
        self, window: Window, rows: tuple[Tensor, Tensor], random: np.random.Generator
    ) -> tuple[Tensor | None, tuple[DirectionBatch, DirectionBatch]]:
        streams = window.forward, window.backward
        if self.sampler is None:
            full = [
                DirectionBatch(row, torch.from_numpy(stream.targets.reshape(-1)), None)
                for row, stream in zip(rows, streams, strict=True)
            ]
            return None, (full[FORWARD], full[BACKWARD])
        negatives = self.sampler.draw(random)
        targets = np.concatenate([stream.targets.reshape(-1) for stream in streams])
        in_play = np.union1d(targets, negatives.words)
        sampled = [
            _sampled(row, stream, negatives, in_play)
            for row, stream in zip(rows, streams, strict=True)
        ]
        return torch.from_numpy(in_play), (sampled[FORWARD], sampled[BACKWARD])


def distinct_types(window: Window) -> tuple[Ints, tuple[Tensor, Tensor]]:
    """The word types both directions read, and each direction's rows (S,) among them."""
    streams = np.stack([window.forward.inputs.reshape(-1), window.backward.inputs.reshape(-1)])
    types, rows = np.unique(streams, return_inverse=True)
    rows = rows.reshape(streams.shape)
    return types, (torch.from_numpy(rows[FORWARD]), torch.from_numpy(rows[BACKWARD]))


def _sampled(
    rows: Tensor, stream: DirectionStream, negatives: Negatives, in_play: Ints
) -> DirectionBatch:
    targets = stream.targets.reshape(-1)  # (S,)
    nearest = np.minimum(np.searchsorted(negatives.words, targets), len(negatives.words) - 1)
    hit_row = np.flatnonzero(negatives.words[nearest] == targets)
    candidates = SampledCandidates(
        torch.from_numpy(np.searchsorted(in_play, negatives.words)),
        torch.from_numpy(-negatives.log_expected[negatives.words]),
        torch.from_numpy(-negatives.log_expected[targets]),
        torch.from_numpy(hit_row),
        torch.from_numpy(nearest[hit_row]),
    )
    return DirectionBatch(rows, torch.from_numpy(np.searchsorted(in_play, targets)), candidates)


def prefetch(
    maker: BatchMaker, positions: Iterator[tuple[int, int]], depth: int = 2
) -> Iterator[Batch]:
    """The batches at ``positions``, prepared in a thread while the model runs on earlier ones."""
    with ThreadPoolExecutor(1, thread_name_prefix="elmokit-batches") as pool:
        pending = deque(pool.submit(maker.at, *position) for position in islice(positions, depth))
        while pending:
            batch = pending.popleft().result()
            pending.extend(pool.submit(maker.at, *position) for position in islice(positions, 1))
            yield batch
