"""A plot of the surprisal of the first words of a text: forward, backward and combined."""

from collections.abc import Sequence

from elmokit.analysis.output.pictures import Picture, panels
from elmokit.embed.load import AnyModel
from elmokit.pretrain.surprisal.measure import surprisal
from elmokit.pretrain.surprisal.to_file import WAYS, SurprisalOptions, read_line_sentences
from elmokit.pretrain.surprisal.words import each_token, whole_words

MOST_WORDS = 14
"""More words would make the labels illegible."""


def draw_surprisal(
    model: AnyModel,
    texts: Sequence[str],
    options: SurprisalOptions = SurprisalOptions(),  # noqa: B008  frozen
) -> Picture:
    """Three lines over the first words of the first sentence, with gaps at unknown words."""
    sentence = next(iter(read_line_sentences(texts, options.pretokenized)))
    tokens = [token.text for token in sentence.tokens]
    (found,) = surprisal(model, [tokens], keep_unknown=options.keep_unknown)
    split = whole_words if options.whole_words else each_token
    words = split(sentence.tokens, found)[:MOST_WORDS]
    title = " ".join(word.word for word in words)
    series = {way: [word.bits[number] for word in words] for number, way in enumerate(WAYS)}
    groups = [word.word for word in words]
    longest = max(map(len, groups))
    width = max(5.2, 1 + len(groups) * min(0.12 * longest + 0.1, 1.1))  # inches; names are wrapped
    return panels("surprisal", title, [title], groups, [series], "surprisal, bits", width)
