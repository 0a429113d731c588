"""Forward perplexity of biLMs and an n-gram model on the same words, vocabulary and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis import paper
from elmokit.analysis.encoders.opening import Models
from elmokit.analysis.lm.kneser_ney import Seen, row_of, train_kneser_ney
from elmokit.analysis.output.tables import Table, count
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.perplexity import StateMode, perplexity_of

STARTS: tuple[StateMode, ...] = ("fresh", "carried")


class ModelPerplexity(NamedTuple):
    """One row: a model with one kind of initial state."""

    name: str
    forward: float
    backward: float | None
    """None for an n-gram model."""
    start: str


@dataclass(frozen=True)
class PerplexityResult:
    """The n-gram model first, then each model with each initial state."""

    rows: tuple[ModelPerplexity, ...]
    num_predictions: int
    num_training_predictions: int
    """The number of predictions that the n-gram model was counted on."""
    vocabulary_size: int
    unknown_rate: float


def perplexities(
    models: Sequence[str],
    data: Path,
    order: int = 5,
    seen: Sequence[Seen] = (),
    quiet: bool = False,
    opened: Models | None = None,
) -> PerplexityResult:
    """Perplexity of models, by name, and of an n-gram on the held-out part of a prepared corpus.

    ``seen``: what a model in its first epoch has read, run by run; the n-gram model is counted on
    the same text. ``opened``: opens the models, with their softmax. Like a biLM with a fresh
    start, the n-gram model knows nothing of the preceding sentences; carried state, which does,
    is reported as well.
    """
    opened = opened or Models(need_softmax=True)
    corpus = Corpus.open(data)
    rows = []
    for name in models:  # first of all, so that a model without a softmax is rejected at once
        model = opened.pretrained(name or None)
        for start in STARTS:
            found = perplexity_of(model, data, "heldout", start)
            title = Path(model.source).name
            rows.append(ModelPerplexity(title, found.forward, found.backward, start))
    train = row_of(corpus.train, corpus.vocabulary, seen)
    heldout = row_of(corpus.heldout, corpus.vocabulary)
    ngram = train_kneser_ney(train, corpus.num_words, order, quiet)
    title = f"{order}-gram, Kneser-Ney"
    rows.insert(0, ModelPerplexity(title, ngram.perplexity(heldout), None, "fresh"))
    unknown = float((heldout.words == corpus.vocabulary.unknown).sum()) / heldout.num_predictions
    return PerplexityResult(
        tuple(rows),
        heldout.num_predictions,
        train.num_predictions,
        corpus.num_words,
        unknown,
    )


def perplexity_table(result: PerplexityResult) -> Table:
    """Our rows, then the paper's, which is for another vocabulary."""
    rows = [
        (
            f"{row.name}, {row.start} start",
            f"{row.forward:.1f}",
            "" if row.backward is None else f"{row.backward:.1f}",
        )
        for row in result.rows
    ]
    rows.append(("paper (1 Billion Word, 793,471 words): mean", f"{paper.PERPLEXITY}", ""))
    return Table(
        "Perplexity on held-out text",
        ("", "forward", "backward"),
        tuple(rows),
        f"{count(result.num_predictions)} predictions per direction (every word and every end of a "
        f"sentence; {result.unknown_rate:.1%} are <UNK>), out of {count(result.vocabulary_size)} "
        f"words. The n-gram was counted on {count(result.num_training_predictions)} predictions. "
        "Perplexities over other vocabularies cannot be compared with these.",
    )
