"""Which words of a corpus are worth a look, where nobody has named any."""

from collections import Counter
from collections.abc import Sequence

from elmokit.analysis.explore.builtin import FEATURED, SENSES
from elmokit.analysis.explore.corpus import BUILTIN, Corpus
from elmokit.embed.sentences import Sentence

FUNCTION_WORDS = 300
"""The commonest words of a model's vocabulary: of, the, which. They have uses, but no senses."""
FEWEST_USES = 8
EXAMPLE_LENGTHS = range(6, 19)
NUM_EXAMPLES = 4


def promising_words(corpus: Corpus, common: Sequence[str], count: int) -> list[str]:
    """Words with several known senses first, then frequent words of some content.

    Args:
        corpus: with senses or without.
        common: a vocabulary, the commonest words first.
        count: how many.
    """
    if corpus.name == BUILTIN:
        return list(SENSES)[:count]
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


def example_sentences(corpus: Corpus, words: Sequence[str]) -> list[Sentence]:
    """The two apples and a few more; of other text, some short sentences with the chosen words."""
    if corpus.name == BUILTIN:
        return list(FEATURED)
    found: list[Sentence] = list(FEATURED[:2])
    for word in words:
        tokens = (corpus.sentences[number].tokens for number, _ in corpus.find(word))
        found += next(([one] for one in tokens if len(one) in EXAMPLE_LENGTHS), [])
        if len(found) == 2 + NUM_EXAMPLES:
            break
    return found
