"""Substitutes of a word as a table and as a picture."""

import math

from elmokit.analysis.output.pictures import Picture, ranked_words
from elmokit.analysis.output.tables import Table
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.pretrain.substitutes import Substitutes


def unknown_note(word: str) -> str:
    """What substitutes of a word outside the vocabulary are worth."""
    return (
        f"“{word}” is outside the model's vocabulary, so it cannot be evidence: the context alone "
        f"decides."
    )


def substitutes_table(result: Substitutes) -> Table:
    """Two lists side by side: with the word as evidence, and by its context alone."""
    with_word = result.with_word or []
    rows = []
    for rank, alone in enumerate(result.by_context):
        cells = [str(rank + 1)]
        for guess in ([with_word[rank]] if with_word else []) + [alone]:
            cells += [guess.word, f"{100 * math.exp(guess.log_probability):.2f}"]
        rows.append(tuple(cells))
    header = ("", "with the word", "%") if with_word else ("",)
    if result.own_log_probability is None:
        note = unknown_note(result.word)
    else:
        own = 100 * math.exp(result.own_log_probability)
        note = f"The context gives “{result.word}” itself {own:.2f} %."
    text = Occurrence(result.tokens, result.place).text()
    return Table(f"Substitutes: {text}", (*header, "by the context alone", "%"), tuple(rows), note)


def substitutes_picture(result: Substitutes) -> Picture:
    """The same two lists, by probability."""
    guesses = {"with the word": result.with_word, "by the context alone": result.by_context}
    lists = {
        title: [(guess.word, 100 * math.exp(guess.log_probability)) for guess in found]
        for title, found in guesses.items()
        if found
    }
    text = Occurrence(result.tokens, result.place).text()
    return ranked_words("substitutes", f"Substitutes: {text}", lists, "probability, %")
