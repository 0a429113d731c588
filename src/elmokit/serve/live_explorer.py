"""The explorer's part of the server: answers the page's requests in a separate thread.

Vectors come out of the same queue as those of all other requests, a few sentences at a time, so
that a word with hundreds of occurrences delays nobody for long.
"""

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.encoders.encoder import Floats, Sentences
from elmokit.analysis.explore.choice import example_sentences
from elmokit.analysis.explore.corpus import ExploredCorpus, builtin_corpus, open_corpus
from elmokit.analysis.explore.exploration import ExplorerData
from elmokit.analysis.explore.explorer import Explorer
from elmokit.analysis.explore.sides import explore_sides
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.embed.sentences import tokens_of
from elmokit.errors import InputError
from elmokit.serve.answers import to_json
from elmokit.serve.batcher import OverloadedError
from elmokit.serve.models import ServedModel
from elmokit.serve.page.document import ExplorerPage
from elmokit.serve.schemas import ExploreRequest
from elmokit.serve.service import Service
from elmokit.serve.texts import require_unicode

MAX_OCCURRENCES = 300
"""The maximum number of occurrences of a word; each costs a sentence."""
MOST_WAITING = 8
"""The maximum number of waiting requests of pages; beyond it, clients get 429."""
FIRST_WORDS = 8
TITLE = "elmokit explorer"


class _QueuedEncoder(BiLmEncoder):
    """A model of the server, asked through its queue."""

    def __init__(self, service: Service, model: ServedModel) -> None:
        super().__init__(model.embedder)
        self.name = model.name
        self._service, self._model = service, model

    def layers(self, sentences: Sentences) -> list[Floats]:
        return [
            layers
            for group in _groups(sentences, self._service.limits.batch_tokens // 2)
            for layers in self._service.submit_layers(self._model, group).result()
        ]


def _groups(sentences: Sentences, most_tokens: int) -> Iterator[list[list[str]]]:
    group: list[list[str]] = []
    room = most_tokens
    for sentence in sentences:
        if group and len(sentence) > room:
            yield group
            group, room = [], most_tokens
        group.append(list(sentence))
        room -= len(sentence) + 1
    if group:
        yield group


class LiveExplorer:
    """Answers the explorer's page.

    Args:
        service: whose models are shown; the first two, where there are several.
        corpus: the text that is looked at; default: the index, or else built-in sentences.
    """

    def __init__(self, service: Service, corpus: ExploredCorpus | None = None) -> None:
        self._service = service
        self._corpus = corpus
        self._thread = ThreadPoolExecutor(1, "elmokit-explore")
        self._num_waiting = 0
        self._first: bytes | None = None

    @cached_property
    def page(self) -> str:
        """The page without data: it asks for them, with the key where there is one."""
        return ExplorerPage(ExplorerData((), title=TITLE, is_live=True).to_json_value()).html

    def stop(self) -> None:
        """Let go of the thread."""
        self._thread.shutdown(cancel_futures=True)

    async def explore(self, request: ExploreRequest) -> bytes:
        """An exploration as JSON; for an empty request, the initial view of the page."""
        near = [_occurrence(spot.tokens, spot.place) for spot in request.near]
        for text in (*request.words, *request.sentences):
            require_unicode(text)
        if self._num_waiting >= MOST_WAITING:
            raise OverloadedError("the server is overloaded: many pages are waiting", 2)
        self._num_waiting += 1
        try:
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._answer, request, near)
        finally:
            self._num_waiting -= 1

    def _answer(self, request: ExploreRequest, near: Sequence[Occurrence]) -> bytes:
        if not (request.words or request.sentences or near):
            if self._first is None:
                self._first = self._to_json(self._open())
            return self._first
        first = self._explorers[0]
        if request.both_sides and len(self._explorers) > 1:
            data = explore_sides(first, self._explorers[1], request.words, request.sentences)
            return self._to_json(data)
        exploration = first.explore(
            request.words, request.sentences, near=near, occurrences_with_neighbours=0
        )
        return self._to_json(ExplorerData((exploration,)))

    def _open(self) -> ExplorerData:
        first = self._explorers[0]
        words = first.promising_words(FIRST_WORDS)
        sentences = example_sentences(first.corpus, words)
        if len(self._explorers) > 1:
            return explore_sides(first, self._explorers[1], words, sentences)
        return ExplorerData((first.explore(words, sentences, occurrences_with_neighbours=0),))

    def _to_json(self, data: ExplorerData) -> bytes:
        return to_json({**data.to_json_value(), "title": TITLE, "is_live": True})

    @cached_property
    def _explorers(self) -> list[Explorer]:
        """Made when the first page is opened: an index may hold much text."""
        models, index = list(self._service.models), self._service.models.index
        if self._corpus is None:
            self._corpus = (
                builtin_corpus() if index is None else open_corpus([str(index.index.path)])
            )
        if index is not None:  # it belongs to its model
            models.sort(key=lambda model: model is not index.model)
        return [
            Explorer(
                _QueuedEncoder(self._service, model),
                self._corpus,
                model=model.embedder.pretrained,
                max_occurrences=MAX_OCCURRENCES,
                has_index=number == 0,
            )
            for number, model in enumerate(models[:2])
        ]


def _occurrence(tokens: list[str], place: int) -> Occurrence:
    found = tokens_of(tokens)
    require_unicode(" ".join(found))
    if not 0 <= place < len(found):
        raise InputError(f"there is no token {place} in a sentence of {len(found)}")
    return Occurrence(found, place)
