"""Which words of a corpus are worth a look, where nobody has named any."""

from collections import Counter
from collections.abc import Sequence

from elmokit.analysis.explore.corpus import Corpus

FUNCTION_WORDS = 300
"""The commonest words of a model's vocabulary: of, the, which. They have uses, but no senses."""
FEWEST_USES = 8


def promising_words(corpus: Corpus, common: Sequence[str], count: int) -> list[str]:
    """Words with several known senses first, then frequent words of some content.

    Args:
        corpus: with senses or without.
        common: a vocabulary, the commonest words first.
        count: how many.
    """
    senses: dict[str, Counter[str]] = {}
    for sentence in corpus.sentences:
        for place, sense in sentence.senses.items():
            senses.setdefault(sentence.tokens[place].casefold(), Counter())[sense] += 1
    # A word of one sense, or nearly so, shows nothing: count the uses in its other senses.
    others = {word: found.total() - max(found.values()) for word, found in senses.items()}
    sensed = sorted((w for w in others if others[w] > 1), key=lambda word: (-others[word], word))
    if len(sensed) >= count:
        return sensed[:count]
    is_common = {word.casefold() for word in common[:FUNCTION_WORDS]}
    counts: Counter[str] = Counter()
    for token, number in corpus.counts.items():
        if len(token) > 2 and token.isalpha():
            counts[token.casefold()] += number
    frequent = [
        word
        for word, number in counts.most_common()
        if number >= FEWEST_USES and word not in is_common and word not in others
    ]
    return [*sensed, *frequent][:count]
