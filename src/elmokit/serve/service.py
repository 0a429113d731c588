"""What the endpoints do, without HTTP: texts in, results out, all models behind one queue."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.encoders.encoder import Floats, Sentences
from elmokit.analysis.words.neighbours import ContextNeighbours, context_neighbours
from elmokit.analysis.words.occurrences import find_marked
from elmokit.embed.sentences import Sentence, SplitText, token_spans
from elmokit.errors import InputError
from elmokit.pretrain.predict import Predictions, predict
from elmokit.pretrain.surprisal.measure import surprisal
from elmokit.serve.answers import AnsweredText, MeasuredText
from elmokit.serve.batcher import OverloadedError, RequestBatcher, cost_of
from elmokit.serve.gate import Readiness, Refusal
from elmokit.serve.limits import Limits
from elmokit.serve.metrics import Metrics
from elmokit.serve.models import ServedIndex, ServedModel, ServedModels
from elmokit.serve.texts import EmbedQuery, split_texts, split_within_limits

Result = TypeVar("Result")

INLINE_CHARACTERS = 20_000
"""Longer text is tokenised in a thread, so as not to block the event loop."""
RETRY_SECONDS = 0.05
"""Interval at which a streamed answer retries to enter a full queue."""
MOST_SEARCHES = 16
"""The maximum number of waiting searches of the index; beyond it, clients get 429."""


class Service:
    """The models, the queue in front of them and its limits."""

    def __init__(self, models: ServedModels, limits: Limits) -> None:
        self.models = models
        self.limits = limits
        self.metrics = Metrics()
        self.readiness = Readiness()
        self._batcher = RequestBatcher(limits, self.metrics)
        self.metrics.watch_queue(lambda: self._batcher.queued_tokens)
        self._splitting = ThreadPoolExecutor(1, "elmokit-text")
        self._searching = ThreadPoolExecutor(1, "elmokit-search")
        self._num_searches = 0

    async def start(self) -> None:
        """Start the model thread; ready once every model has run."""
        self._batcher.start()
        for model in self.models:
            sentence = ["Ready", "?"]
            await asyncio.wrap_future(
                self._batcher.embed(model.embedder, [sentence], lambda layers: layers)
            )
        self.readiness.is_warm = True

    async def stop(self) -> None:
        """Answer what is queued, then let go of the threads."""
        await asyncio.to_thread(self._batcher.close)
        self._splitting.shutdown()
        self._searching.shutdown()

    def model(self, name: str | None) -> ServedModel:
        """The model that a request names."""
        model = self.models.get(name)
        if model is None:
            known = ", ".join(self.models.names)
            raise Refusal(404, f"there is no model of this name; the models are {known}")
        return model

    async def embed(
        self, query: EmbedQuery, texts: Sequence[Sentence], split_sentences: bool = False
    ) -> list[AnsweredText]:
        """The vectors of all texts."""
        pieces = await self._split(texts, lambda: split_texts(texts, split_sentences, self.limits))
        return await self._run(query, pieces, self._submit(query, pieces))

    async def stream(
        self, query: EmbedQuery, texts: Sequence[Sentence], split_sentences: bool = False
    ) -> AsyncIterator[AnsweredText]:
        """The same for any number of texts, one by one, as fast as the client reads.

        The first texts are rejected if the queue is full, as in ``embed``; later ones wait.
        """
        begin = 0
        while begin < len(texts):
            end, pieces = await self._next_group(texts, begin, split_sentences)
            for text in await self._run(query, pieces, await self._find_room(query, pieces, begin)):
                yield text
            begin = end

    async def predict(self, model: ServedModel, text: Sentence, top: int) -> Predictions:
        """The most likely words for a blank."""
        _require_softmax(model)
        num_tokens = self._count(text)
        pretrained = model.embedder.pretrained
        return await asyncio.wrap_future(
            self._batcher.call(lambda: predict(pretrained, text, top), num_tokens)
        )

    async def surprisal(
        self, model: ServedModel, texts: Sequence[Sentence], split_sentences: bool
    ) -> list[MeasuredText]:
        """The surprisal of each token of some texts."""
        _require_softmax(model)
        pieces = await self._split(texts, lambda: split_texts(texts, split_sentences, self.limits))
        sentences = [sentence for piece in pieces for sentence in piece.sentences]
        found = await asyncio.wrap_future(
            self._batcher.call(
                lambda: surprisal(model.embedder.pretrained, sentences),
                sum(map(cost_of, sentences)),
            )
        )
        measured = iter(found)
        return [
            MeasuredText(
                piece.offsets,
                token_spans(piece.sentences),
                [next(measured) for _ in piece.sentences],
            )
            for piece in pieces
        ]

    async def neighbours(self, sentence: str, layer: int | None, top: int) -> ContextNeighbours:
        """The nearest occurrences in the index; the search runs beside the model thread."""
        served = self.models.index
        if served is None:
            raise Refusal(404, "this server has no index; start it with  elmokit serve --index")
        self._count(sentence)
        tokens = find_marked(sentence).tokens
        (layers,) = await asyncio.wrap_future(
            self._batcher.embed(served.model.embedder, [tokens], lambda layers: layers)
        )
        if self._num_searches >= MOST_SEARCHES:
            raise OverloadedError("the server is overloaded: many searches are waiting", 1)
        self._num_searches += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(
                self._searching, _search, served, layers, sentence, layer, top
            )
        finally:
            self._num_searches -= 1

    def submit_layers(self, model: ServedModel, sentences: Sentences) -> "Future[list[Floats]]":
        """Queue some sentences and return a future of their layers; for threads that can wait."""
        given = [list(sentence) for sentence in sentences]
        return self._batcher.embed(model.embedder, given, lambda layers: layers)

    def _count(self, text: Sentence) -> int:
        """Tokens of a text that is within the limits."""
        return sum(map(len, split_within_limits(text, False, 0, self.limits).sentences))

    async def _split(self, texts: Sequence[Sentence], split: Callable[[], Result]) -> Result:
        if sum(len(text) for text in texts if isinstance(text, str)) <= INLINE_CHARACTERS:
            return split()
        return await asyncio.get_running_loop().run_in_executor(self._splitting, split)

    async def _next_group(
        self, texts: Sequence[Sentence], begin: int, split_sentences: bool
    ) -> tuple[int, list[SplitText]]:
        """Texts from ``begin`` on that fill a batch, and where the next group begins."""

        def split() -> tuple[int, list[SplitText]]:
            found: list[SplitText] = []
            num_tokens = 0
            for number in range(begin, len(texts)):
                piece = split_within_limits(texts[number], split_sentences, number, self.limits)
                found.append(piece)
                num_tokens += 1 + sum(map(len, piece.sentences))
                if num_tokens >= self.limits.batch_tokens // 4:
                    break
            return begin + len(found), found

        return await asyncio.get_running_loop().run_in_executor(self._splitting, split)

    async def _find_room(
        self, query: EmbedQuery, pieces: Sequence[SplitText], begin: int
    ) -> "Future[list[Floats]]":
        while True:
            try:
                return self._submit(query, pieces)
            except OverloadedError:
                if begin == 0:
                    raise
                await asyncio.sleep(RETRY_SECONDS)

    def _submit(self, query: EmbedQuery, pieces: Sequence[SplitText]) -> "Future[list[Floats]]":
        sentences = [sentence for piece in pieces for sentence in piece.sentences]
        return self._batcher.embed(query.model.embedder, sentences, query.finish(), query.start)

    async def _run(
        self, query: EmbedQuery, pieces: Sequence[SplitText], future: "Future[list[Floats]]"
    ) -> list[AnsweredText]:
        found = await asyncio.wrap_future(future)
        vectors = iter(found)
        return [
            AnsweredText(
                [token for sentence in piece.sentences for token in sentence],
                piece.offsets,
                token_spans(piece.sentences),
                query.join([next(vectors) for _ in piece.sentences]),
            )
            for piece in pieces
        ]


def _require_softmax(model: ServedModel) -> None:
    if not model.can_predict:
        raise InputError(f"{model.name}: this model has no softmax, so it cannot predict words")


class _Computed(BiLmEncoder):
    """An encoder for a single sentence whose layers have been computed already."""

    def __init__(self, model: ServedModel, layers: Floats) -> None:
        super().__init__(model.embedder)
        self._layers = layers

    def layers(self, sentences: Sentences) -> list[Floats]:
        return [self._layers]


def _search(
    served: ServedIndex, layers: Floats, sentence: str, layer: int | None, top: int
) -> ContextNeighbours:
    try:
        return context_neighbours(
            served.index, _Computed(served.model, layers), sentence, layer, top
        )
    except InputError as error:  # which may name the index: a path of this machine
        raise InputError(str(error).replace(str(served.index.path), "the index")) from None
