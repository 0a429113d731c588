"""Forward perplexity of biLMs beside a 5-gram: the same words, vocabulary and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from elmokit.analysis import paper
from elmokit.analysis.kneser_ney import Seen, row_of, train_kneser_ney
from elmokit.analysis.tables import Table, count
from elmokit.pretrain.corpus import Corpus
from elmokit.pretrain.perplexity import Start, perplexity_of
from elmokit.weights.load import load_pretrained

STARTS: tuple[Start, ...] = ("fresh", "carried")


class ModelPerplexity(NamedTuple):
    name: str
    forward: float
    backward: float | None
    """An n-gram has none."""
    start: str


@dataclass(frozen=True)
class PerplexityResult:
    rows: tuple[ModelPerplexity, ...]
    num_predictions: int
    num_training_predictions: int
    """Of the n-gram."""
    vocabulary_size: int
    unknown_rate: float


def perplexities(
    models: Sequence[str],
    data: Path,
    order: int = 5,
    seen: Sequence[Seen] = (),
    quiet: bool = False,
) -> PerplexityResult:
    """On the held-out part of a prepared corpus; '' is the model that ships.

    ``seen`` says what a model in its first epoch has read, run by run; the n-gram counts just that.
    The n-gram starts each sentence anew, as a biLM does from a fresh start; carried state, which
    also knows the sentences before, stands beside it.
    """
    corpus = Corpus.open(data)
    rows = []
    for name in models:  # before the n-gram: a model without a softmax is refused at once
        model = load_pretrained(name or None)
        for start in STARTS:
            found = perplexity_of(model, data, "heldout", start)
            title = Path(model.source).name
            rows.append(ModelPerplexity(title, found.forward, found.backward, start))
    train = row_of(corpus.train, corpus.vocabulary, seen)
    heldout = row_of(corpus.heldout, corpus.vocabulary)
    ngram = train_kneser_ney(train, len(corpus.vocabulary), order, quiet)
    title = f"{order}-gram, Kneser-Ney"
    rows.insert(0, ModelPerplexity(title, ngram.perplexity(heldout), None, "fresh"))
    unknown = float((heldout.words == corpus.vocabulary.unknown).sum()) / heldout.num_predictions
    return PerplexityResult(
        tuple(rows),
        heldout.num_predictions,
        train.num_predictions,
        len(corpus.vocabulary),
        unknown,
    )


def perplexity_table(result: PerplexityResult) -> Table:
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
        f"{count(result.num_predictions)} predictions a direction (every word and the end of every "
        f"sentence; {result.unknown_rate:.1%} are <UNK>), out of {count(result.vocabulary_size)} "
        f"words. The n-gram was counted on {count(result.num_training_predictions)} predictions. "
        "Perplexities over other vocabularies cannot be compared with these.",
    )
