"""Checks for users who migrate: statistics, a checksum, and a comparison with the old vectors.

The old programs silently carried their state from batch to batch, so the comparison tries a fresh
state and several ways of carrying it, and reports the one that agrees.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt

from elmokit.embed.embedder import Embedder
from elmokit.embed.fingerprint import checksum
from elmokit.embed.sample_sentences import SAMPLE_SENTENCES
from elmokit.embed.sentences import Vectors
from elmokit.embed.verify.reference_vectors import ExpectedSentence, read_expected
from elmokit.errors import InputError
from elmokit.weights.info import ModelInfo, info

BATCH_SIZES = (64, 32, 16, 128, 1)
"""Batch sizes of the old programs: AllenNLP, simple_elmo, bilm-tf's examples, one by one."""
MAX_SENTENCES = 256
MAX_BATCH_TOKENS = 50_000
"""A batch padded to more than this is not tried: proteins can be thousands of tokens long."""
AGREES = 1e-4
"""Relative RMS below which two float32 programs compute the same thing."""


@dataclass(frozen=True)
class LayerStatistics:
    """The distribution of one layer's values over the built-in sentences."""

    name: str
    mean: float
    std: float
    min: float
    max: float


@dataclass(frozen=True)
class Agreement:
    """How well the expected vectors match one way of computing them."""

    state: str
    layer: str
    max_difference: float
    relative_rms: float

    @property
    def is_agreement(self) -> bool:
        """Whether the difference is no more than float32 rounding explains."""
        return self.relative_rms <= AGREES


@dataclass(frozen=True)
class VerifyReport:
    """What ``verify`` found: the model, its layers, and how expected vectors compare."""

    info: ModelInfo
    checksum: str
    layers: tuple[LayerStatistics, ...]
    expected: Path | None
    num_sentences: int
    """Sentences compared, if there were expected vectors."""
    agreements: tuple[Agreement, ...]
    """One for each way of keeping state that was tried, best first."""

    @property
    def is_good(self) -> bool:
        """Whether the expected vectors, if any, agree with ours."""
        return self.expected is None or self.agreements[0].is_agreement

    def lines(self) -> list[str]:
        """Return the report as lines of text."""
        text = [
            f"model      {self.info.source} ({self.info.format})",
            f"parameters {self.info.num_parameters:,}; every shape is as the options say",
            f"checksum   sha256 {self.checksum}",
            f"layers on {len(SAMPLE_SENTENCES)} built-in sentences, each from a fresh state:",
            f"  {'':<12}{'mean':>10}{'std':>10}{'min':>10}{'max':>10}",
        ]
        for layer in self.layers:
            numbers = (layer.mean, layer.std, layer.min, layer.max)
            text.append(f"  {layer.name:<12}" + "".join(f"{number:>10.4f}" for number in numbers))
        if self.expected is not None:
            text.append(f"{self.num_sentences} sentences of {self.expected}:")
            text += [_agreement_line(one) for one in self.agreements]
            text.append(self._verdict())
        return text

    def _verdict(self) -> str:
        best = self.agreements[0]
        if best.is_agreement:
            return f"These vectors are ours: {best.layer}, {best.state}."
        return (
            f"These vectors are not ours (nearest: {best.layer}, {best.state}); check that model, "
            f"tokens and their order are the same."
        )


def _agreement_line(one: Agreement) -> str:
    verdict = "agrees" if one.is_agreement else "differs"
    return (
        f"  {verdict:<8}{one.state}, {one.layer}: largest difference {one.max_difference:.1e}, "
        f"relative RMS {one.relative_rms:.1e}"
    )


def verify(
    elmo: Embedder,
    expected: Path | None = None,
    sentences: Path | None = None,
    max_sentences: int = MAX_SENTENCES,
) -> VerifyReport:
    """Check a model, and compare it with vectors that another program computed with it.

    Args:
        elmo: the model.
        expected: a file of vectors; see docs/reference/formats.md for what can be read.
        sentences: the text of these vectors, if their file does not contain it.
        max_sentences: how many sentences to compare.
    """
    recorded = [] if expected is None else read_expected(expected, sentences, max_sentences)
    return VerifyReport(
        info=info(elmo.pretrained),
        checksum=checksum(elmo.pretrained),
        layers=_statistics(elmo.layers(SAMPLE_SENTENCES)),
        expected=expected,
        num_sentences=len(recorded),
        agreements=tuple(_compare(elmo, recorded)) if recorded else (),
    )


def _statistics(sentences: Sequence[Vectors]) -> tuple[LayerStatistics, ...]:
    stacked = np.concatenate(sentences, axis=1).astype(np.float64)  # (L + 1, all tokens, D)
    if not np.isfinite(stacked).all():
        raise InputError("the model's vectors are not finite; its weights are damaged")
    return tuple(
        LayerStatistics(
            "token" if number == 0 else f"LSTM {number}",
            float(layer.mean()),
            float(layer.std()),
            float(layer.min()),
            float(layer.max()),
        )
        for number, layer in enumerate(stacked)
    )


def _compare(elmo: Embedder, recorded: Sequence[ExpectedSentence]) -> list[Agreement]:
    tokens = [one.tokens for one in recorded]
    candidates = _candidates(elmo, recorded)
    found = []
    for state, layers in _states(elmo, tokens):
        tried = [_difference(state, name, pick, layers, recorded) for name, pick in candidates]
        found.append(min(tried, key=lambda one: one.relative_rms))
        if found[-1].is_agreement:
            break
    return sorted(found, key=lambda one: one.relative_rms)


def _states(elmo: Embedder, tokens: Sequence[Sequence[str]]) -> Iterator[tuple[str, list[Vectors]]]:
    """Ways of keeping state, most likely first; those too large for memory are left out."""
    yield "fresh state", elmo.layers(tokens)
    if elmo.pretrained.settled is not None:
        yield "settled state", elmo.layers(tokens, start="settled")
    longest = max(len(sentence) for sentence in tokens)
    for size in BATCH_SIZES:
        if size < len(tokens) and (size == 1 or size * longest <= MAX_BATCH_TOKENS):
            yield f"carried, batches of {size}", _carried(elmo, tokens, size)
    size = min(32, len(tokens))
    if size * longest <= MAX_BATCH_TOKENS:
        name = f"batches of {size}"
        yield f"carried after a warm-up, {name}", _carried(elmo, tokens, size, warmed="first")
        if size < len(tokens):
            yield f"carried, {name} run twice", _carried(elmo, tokens, size, warmed="every")


def _carried(
    elmo: Embedder,
    tokens: Sequence[Sequence[str]],
    size: int,
    warmed: Literal["none", "first", "every"] = "none",
) -> list[Vectors]:
    """Carry state row by row; ``warmed``: batches that are run once before, as in simple_elmo."""
    state = elmo.bilm.zero_state(size)
    layers: list[Vectors] = []
    for start in range(0, len(tokens), size):
        batch = [*tokens[start : start + size]]
        padded = batch + [[]] * (size - len(batch))
        if warmed == "every" or (warmed == "first" and start == 0):
            state = elmo.carry(padded, state).state
        found, state = elmo.carry(padded, state)
        layers += found[: len(batch)]
    return layers


Pick = Callable[[Vectors], npt.NDArray[np.float32]]


def _candidates(elmo: Embedder, recorded: Sequence[ExpectedSentence]) -> list[tuple[str, Pick]]:
    """What the expected arrays may be, by their shape."""
    dim, num_layers = elmo.dim, elmo.num_layers
    shape = recorded[0].vectors.shape
    if len(shape) == 3 and shape[0] == num_layers and shape[2] == dim:
        return [("all layers", lambda layers: layers)]
    if len(shape) == 3 and shape[0] == 2 and 2 * shape[2] == dim:
        half = shape[2]
        return [
            ("top layer", lambda layers: np.stack([layers[-1, :, :half], layers[-1, :, half:]]))
        ]
    if len(shape) == 2 and shape[1] == dim:
        single: list[tuple[str, Pick]] = [
            ("average of the layers", lambda layers: layers.mean(axis=0)),
            ("sum of the layers", lambda layers: layers.sum(axis=0)),
        ]
        return single + [(f"layer {number}", _layer(number)) for number in range(num_layers)]
    raise InputError(
        f"{recorded[0].key!r} of the expected vectors has shape {shape}, but this model has "
        f"{num_layers} layers of (tokens, {dim}); compare with vectors of this model"
    )


def _layer(number: int) -> Pick:
    return lambda layers: layers[number]


def _difference(
    state: str,
    name: str,
    pick: Pick,
    layers: Sequence[Vectors],
    recorded: Sequence[ExpectedSentence],
) -> Agreement:
    largest, squares, total = 0.0, 0.0, 0.0
    for ours, one in zip(layers, recorded, strict=True):
        found = pick(ours)
        if found.shape != one.vectors.shape:
            raise InputError(
                f"{one.key!r} of the expected vectors has shape {one.vectors.shape}, "
                f"but {found.shape} was expected; compare with vectors of this model"
            )
        if found.size:
            apart = found.astype(np.float64) - one.vectors
            largest = max(largest, float(np.abs(apart).max()))
            squares += float((apart**2).sum())
            total += float((one.vectors.astype(np.float64) ** 2).sum())
    return Agreement(state, name, largest, (squares / max(total, 1e-30)) ** 0.5)
