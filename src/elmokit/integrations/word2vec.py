"""``elmokit static``: one vector per word, in the formats that gensim, spaCy and GloVe tools read.

A word's vector is the mean of its vectors in context over a text, or its token layer.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from elmokit.analysis.words.texts import read_sentences
from elmokit.embed.embedder import Embedder
from elmokit.embed.files.to_file import parse_selection
from elmokit.embed.load import load
from elmokit.embed.mix import AnyMix, mixed_dim
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.progress import meter
from elmokit.text.sources import can_be_read_twice
from elmokit.text.static_vectors import StaticVectors, write_static_vectors
from elmokit.weights.names import ModelName

SUFFIXES = (".txt", ".vec", ".bin")


@dataclass(frozen=True)
class StaticOptions:
    """See ``elmokit static --help``."""

    layers: str = "average"
    min_count: int = 5
    max_words: int | None = None
    occurrences: int | None = None
    lowercase: bool = False
    pretokenized: bool = False
    has_header: bool = True
    device: str = "cpu"
    precision: PrecisionName = "float32"
    quiet: bool = False


class WordRows(NamedTuple):
    """The words that get a vector, most common first, and the number of tokens of the text."""

    row_of: dict[str, int]
    num_tokens: int

    def rows(self, sentence: Sequence[str]) -> list[int]:
        """The row of each token; -1 if it is not one of the words."""
        return [self.row_of.get(token, -1) for token in sentence]


def run_static(model: ModelName, texts: Sequence[str], out: Path, options: StaticOptions) -> str:
    """Write the vectors of the words of ``texts`` to ``out``; return a summary line."""
    if out.suffix not in SUFFIXES:
        raise InputError(f"{out}: the name must end in one of {', '.join(SUFFIXES)}")
    files = [name for name in texts if not Path(name).is_dir()]
    if not can_be_read_twice(files) and all(name == "-" or Path(name).exists() for name in files):
        raise InputError("the text is read twice, which a pipe cannot do; write it to a file")
    elmo = load(model, device=options.device, precision=options.precision)
    mix = parse_selection(options.layers, elmo.num_layers).mix
    if mix is None:
        raise InputError(f"--layers must name one layer or a mix of them, got {options.layers!r}")
    found = static_vectors(elmo, texts, mix, options)
    write_static_vectors(out, found.words, found.vectors, has_header=options.has_header)
    return f"{out}: {len(found.words):,} words, {found.dim} dimensions"


def static_vectors(
    elmo: Embedder, texts: Sequence[str], mix: AnyMix, options: StaticOptions
) -> StaticVectors:
    """The mean vector of every word that is common enough in the texts."""

    def sentences() -> Iterator[list[str]]:
        return read_sentences(texts, options.pretokenized)

    lexicon = count_words(sentences(), options)
    if not lexicon.row_of:
        raise InputError(
            f"{', '.join(texts)}: no word occurs {options.min_count} times; lower --min-count"
        )
    words = list(lexicon.row_of)
    if mix == 0:  # the token layer is the same in every sentence
        vectors = np.concatenate(elmo.embed([[word] for word in words], mix))
    else:
        vectors = mean_vectors(elmo, sentences(), mix, lexicon, options)
    return StaticVectors(words, vectors, elmo.source)


def count_words(sentences: Iterable[Sequence[str]], options: StaticOptions) -> WordRows:
    """Words with at least ``min_count`` occurrences; ties are in alphabetical order."""
    counts: Counter[str] = Counter()
    with meter("count", "tokens", quiet=options.quiet) as progress:
        for sentence in sentences:
            counts.update(_keys(sentence, options.lowercase))
            progress.advance(len(sentence))
    words = [
        word
        for word, count in counts.items()
        if count >= options.min_count and not any(map(str.isspace, word))  # spaces end a word there
    ]
    words.sort(key=lambda word: (-counts[word], word))
    chosen = words[: options.max_words]
    return WordRows({word: row for row, word in enumerate(chosen)}, progress.done)


def mean_vectors(
    elmo: Embedder,
    sentences: Iterable[list[str]],
    mix: AnyMix,
    lexicon: WordRows,
    options: StaticOptions,
) -> Vectors:
    """(V, D): the mean over the occurrences of each word."""
    dim = mixed_dim(mix, elmo.num_layers, elmo.dim)
    sums = torch.zeros(len(lexicon.row_of), dim, dtype=torch.float64)
    counts = np.zeros(len(lexicon.row_of), dtype=np.int64)
    waiting: deque[torch.Tensor] = deque()  # rows of sentences on their way through the model

    with meter("embed", "tokens", lexicon.num_tokens, options.quiet) as progress:

        def wanted() -> Iterator[list[str]]:
            for sentence in sentences:
                rows = np.array(lexicon.rows(_keys(sentence, options.lowercase)), dtype=np.int64)
                known = rows[rows >= 0]
                most = options.occurrences
                if known.size and (most is None or (counts[known] < most).any()):
                    np.add.at(counts, known, 1)
                    waiting.append(torch.from_numpy(rows))
                    yield sentence
                else:
                    progress.advance(len(sentence))

        for vectors in elmo.stream(wanted(), mix):
            rows = waiting.popleft()
            is_known = rows >= 0
            sums.index_add_(0, rows[is_known], torch.from_numpy(vectors).double()[is_known])
            progress.advance(len(vectors))
    return (sums / torch.from_numpy(counts)[:, None]).float().numpy()


def _keys(sentence: Sequence[str], lowercase: bool) -> Sequence[str]:
    return [token.lower() for token in sentence] if lowercase else sentence
