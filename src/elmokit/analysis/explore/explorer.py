"""``Explorer``: explores one corpus with one model."""

from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement

import numpy as np

from elmokit.analysis.encoders.encoder import Encoder, unit
from elmokit.analysis.explore.choice import promising_words
from elmokit.analysis.explore.corpus import ExploredCorpus
from elmokit.analysis.explore.expectations import ExpectationReader
from elmokit.analysis.explore.exploration import (
    CorpusFacts,
    Exploration,
    ModelFacts,
    Near,
    NearWord,
    Neighbours,
    Projection,
    SentenceExpectations,
    SentenceSimilarity,
    Spot,
    TableSentence,
    WordOccurrences,
)
from elmokit.analysis.explore.induced import Inducer
from elmokit.analysis.explore.neighbours import IndexSearch, NeighbourSearch, SampleSearch
from elmokit.analysis.explore.occurrences import (
    FoundOccurrences,
    mean_similarity,
    sample_occurrences,
)
from elmokit.analysis.explore.projection import project_layers
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.embed.sentences import Sentence, tokens_of
from elmokit.errors import InputError
from elmokit.pretrain.substitutes import SubstituteReader
from elmokit.progress import Meter, meter
from elmokit.text.static_vectors import StaticVectors
from elmokit.weights.pretrained import PretrainedModel

MAX_OCCURRENCES = 1000
MOST_SENTENCE_TOKENS = 100
"""The maximum length of a sentence that is shown token by token: more would not fit a screen."""
OCCURRENCES_WITH_NEIGHBOURS = 20
"""Occurrences of each word whose neighbours a page holds; a server finds those of any."""
NUM_NEIGHBOURS = 8
KEPT_WORDS = 16
LISTED_WORDS = 500


class Explorer:
    """Makes explorations of one corpus with one model.

    Args:
        encoder: gives the vectors.
        corpus: what ``open_corpus`` returns.
        model: the biLM itself; where it has a softmax, there are expectations and substitutes.
        static: static vectors to compare with; default: the model's token layer.
        max_occurrences: if a word has more occurrences, a sample of this size is shown.
        seed: seed of the samples.
        has_index: search the corpus's index, if it has one; it must be of this model.

    >>> from elmokit.analysis.encoders.opening import open_encoder
    >>> from elmokit.analysis.explore.corpus import builtin_corpus
    >>> explorer = Explorer(open_encoder("en-small"), builtin_corpus())
    >>> explorer.explore(["bank"], occurrences_with_neighbours=0).words[0].num_found
    12
    """

    def __init__(
        self,
        encoder: Encoder,
        corpus: ExploredCorpus,
        *,
        model: PretrainedModel | None = None,
        static: StaticVectors | None = None,
        max_occurrences: int = MAX_OCCURRENCES,
        seed: int = 1,
        has_index: bool = True,
    ) -> None:
        if max_occurrences < 2:
            raise InputError(f"max_occurrences must be at least 2, got {max_occurrences}")
        self.encoder, self.corpus = encoder, corpus
        self.max_occurrences, self.seed = max_occurrences, seed
        self._static = static
        self._search: NeighbourSearch = (
            SampleSearch(corpus, encoder, seed)
            if corpus.index is None or not has_index
            else IndexSearch(corpus.index, encoder)
        )
        self._common: Sequence[str] = ()
        self._expectations: ExpectationReader | None = None
        substitutes: SubstituteReader | None = None
        if model is not None and model.output_words is not None:
            self._common = model.output_words.vocabulary.words
            substitutes = SubstituteReader(model)
            self._expectations = ExpectationReader(substitutes.contexts)
        self._induce = Inducer(substitutes, seed)
        self._found: dict[str, FoundOccurrences] = {}

    def promising_words(self, count: int) -> list[str]:
        """Words worth exploring, most promising first."""
        return promising_words(self.corpus, self._common, count)

    def occurrences(self, word: str) -> FoundOccurrences:
        """The occurrences of a word with their vectors; the last few words are cached."""
        if word not in self._found:
            while len(self._found) >= KEPT_WORDS:
                self._found.pop(next(iter(self._found)))
            self._found[word] = sample_occurrences(
                self.encoder, self.corpus, word, self.max_occurrences, self.seed, self._induce
            )
        return self._found[word]

    def explore(
        self,
        words: Sequence[str] = (),
        sentences: Sequence[Sentence] = (),
        *,
        near: Sequence[Occurrence] = (),
        projections: Mapping[str, Sequence[Projection]] | None = None,
        occurrences_with_neighbours: int = OCCURRENCES_WITH_NEIGHBOURS,
        quiet: bool = True,
    ) -> Exploration:
        """Compute what the page shows for these words and sentences.

        Args:
            words: their occurrences are projected, and the neighbours of some are found.
            sentences: their expectations and pairwise similarities are shown.
            near: further tokens whose neighbours are wanted.
            projections: projections that were computed together with another corpus or model.
            occurrences_with_neighbours: for how many occurrences of each word to find neighbours.
        """
        table = _Table()
        texts = [self._checked(sentence) for sentence in sentences]
        with meter("exploring", "parts", len(words) + len(texts) + len(near), quiet) as progress:
            shown = [self._word(word, table, projections or {}, progress) for word in words]
            return Exploration(
                model=ModelFacts(
                    self.encoder.name, self.encoder.layer_names, self._expectations is not None
                ),
                corpus=self._facts(),
                words=tuple(shown),
                expectations=self._expect(texts, table, progress),
                similarities=self._similarities(texts, table),
                neighbours=tuple(
                    self._near(occurrence, table)
                    for occurrence in self._asked(words, occurrences_with_neighbours, near)
                ),
                sentences=table.finished(),
            )

    def _facts(self) -> CorpusFacts:
        return CorpusFacts(
            self.corpus.name,
            len(self.corpus.sentences),
            self.corpus.num_tokens,
            self.corpus.is_cut,
            self.max_occurrences,
            self.seed,
            self._search.describe(),
            tuple(self.promising_words(LISTED_WORDS)),
        )

    def _checked(self, sentence: Sentence) -> list[str]:
        tokens = tokens_of(sentence)
        if not tokens:
            raise InputError(f"the sentence {sentence!r} has no tokens; give a sentence with words")
        if len(tokens) > MOST_SENTENCE_TOKENS:
            raise InputError(
                f"a sentence of {len(tokens)} tokens is too long to be shown; give at most "
                f"{MOST_SENTENCE_TOKENS} (it begins with {' '.join(tokens[:5])!r})"
            )
        return tokens

    def _word(
        self,
        word: str,
        table: "_Table",
        projections: Mapping[str, Sequence[Projection]],
        progress: Meter,
    ) -> WordOccurrences:
        found = self.occurrences(word)
        spots = []
        for number, place in found.places:
            sentence = self.corpus.sentences[number]
            spots.append(Spot(table.add(sentence.tokens, sentence.document), place))
        progress.advance(1, word)
        return WordOccurrences(
            word,
            found.num_found,
            tuple(spots),
            tuple(projections.get(word) or project_layers(found.vectors)),
            found.labels,
            mean_similarity(found.vectors, found.labels[0] if found.labels else None),
        )

    def _expect(
        self, texts: Sequence[list[str]], table: "_Table", progress: Meter
    ) -> tuple[SentenceExpectations, ...]:
        if self._expectations is None:
            return ()
        found = []
        for tokens in texts:
            found.append(SentenceExpectations(table.add(tokens), self._expectations.read(tokens)))
            progress.advance(1)
        return tuple(found)

    def _similarities(
        self, texts: Sequence[list[str]], table: "_Table"
    ) -> tuple[SentenceSimilarity, ...]:
        layers = [unit(array) for array in self.encoder.layers(texts)] if texts else []
        found = []
        for one, other in combinations_with_replacement(range(len(texts)), 2):
            cosines = layers[one] @ layers[other].transpose(0, 2, 1)  # (num_layers, T, T')
            rounded = np.asarray(cosines, dtype=np.float64).round(3) + 0.0  # no -0.0
            found.append(
                SentenceSimilarity(
                    table.add(texts[one]),
                    table.add(texts[other]),
                    tuple(tuple(tuple(row) for row in layer) for layer in rounded.tolist()),
                )
            )
        return tuple(found)

    def _asked(
        self, words: Sequence[str], count: int, near: Sequence[Occurrence]
    ) -> list[Occurrence]:
        """Evenly spaced occurrences of each word, and the tokens that were asked for."""
        asked = []
        for word in words if count else ():
            places = self.occurrences(word).places
            step = max(len(places) // count, 1)
            asked += [
                Occurrence(self.corpus.sentences[number].tokens, place)
                for number, place in places[::step][:count]
            ]
        return [*asked, *near]

    def _near(self, occurrence: Occurrence, table: "_Table") -> Neighbours:
        static = self._static or self._search.words
        words = None
        if static.row(occurrence.word) is not None:
            pairs = static.neighbours(occurrence.word, NUM_NEIGHBOURS)
            words = tuple(NearWord(word, round(value, 3)) for word, value in pairs)
        return Neighbours(
            table.add(occurrence.tokens),
            occurrence.place,
            tuple(
                None
                if found is None
                else tuple(
                    Near(
                        table.add(one.occurrence.tokens),
                        one.occurrence.place,
                        round(one.similarity, 3),
                    )
                    for one in found
                )
                for found in self._search.layers(occurrence, NUM_NEIGHBOURS)
            ),
            words,
            static.source if self._static else "the token layer",
        )


class _Table:
    """Sentences, each once."""

    def __init__(self) -> None:
        self._number_of: dict[tuple[str, ...], int] = {}
        self._documents: list[str] = []

    def add(self, tokens: Sequence[str], document: str = "") -> int:
        """Add a sentence if it is new; return its number."""
        key = tuple(tokens)
        number = self._number_of.setdefault(key, len(self._documents))
        if number == len(self._documents):
            self._documents.append(document)
        self._documents[number] = self._documents[number] or document
        return number

    def finished(self) -> tuple[TableSentence, ...]:
        """All sentences, in order."""
        pairs = zip(self._number_of, self._documents, strict=True)
        return tuple(TableSentence(list(tokens), document) for tokens, document in pairs)
