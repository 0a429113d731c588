"""Chooses which words and sentences of a corpus to show when the user has named none."""

from collections import Counter
from collections.abc import Sequence

from elmokit.analysis.explore.builtin import FEATURED, SENSES
from elmokit.analysis.explore.corpus import BUILTIN, ExploredCorpus
from elmokit.embed.sentences import Sentence

FUNCTION_WORDS = 300
"""This many of the most common words (of, the, which) are never chosen: they have no senses."""
FEWEST_USES = 8
EXAMPLE_LENGTHS = range(6, 19)
NUM_EXAMPLES = 4


def promising_words(corpus: ExploredCorpus, common: Sequence[str], count: int) -> list[str]:
    """Words with several known senses first, then frequent content words.

    Args:
        corpus: with or without senses.
        common: a vocabulary, most common words first.
        count: how many words to return.
    """
    if corpus.name == BUILTIN:
        return list(SENSES)[:count]
    senses: dict[str, Counter[str]] = {}
    for sentence in corpus.sentences:
        for place, sense in sentence.senses.items():
            senses.setdefault(sentence.tokens[place].casefold(), Counter())[sense] += 1
    # Count the occurrences in other than the main sense: one dominant sense shows little.
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


def example_sentences(corpus: ExploredCorpus, words: Sequence[str]) -> list[Sentence]:
    """The built-in examples; for other text, two of them and short sentences with ``words``."""
    if corpus.name == BUILTIN:
        return list(FEATURED)
    found: list[Sentence] = list(FEATURED[:2])
    for word in words:
        tokens = (corpus.sentences[number].tokens for number, _ in corpus.find(word))
        found += next(([one] for one in tokens if len(one) in EXAMPLE_LENGTHS), [])
        if len(found) == 2 + NUM_EXAMPLES:
            break
    return found
