"""``surprisal``: the surprisal of each token of a text in bits, forward and backward."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from elmokit.embed.chunks import chunks_of
from elmokit.embed.embedder import BATCH_TOKENS
from elmokit.embed.load import AnyModel
from elmokit.embed.sentences import Sentence, all_tokens
from elmokit.errors import InputError
from elmokit.model.bilm import BiLmState
from elmokit.pretrain.perplexity import StateMode
from elmokit.pretrain.surprisal.contexts import ContextReader, Contexts
from elmokit.pretrain.surprisal.statistics import prediction_statistics
from elmokit.progress import Meter, meter

Doubles = npt.NDArray[np.float64]
Tokens = Sequence[str]


@dataclass(frozen=True)
class TokenPredictions:
    """The predictions of T tokens by one direction, or by both combined."""

    bits: Doubles
    """(T,) surprisal, -log2 p(token); NaN for ``<UNK>``, unless ``keep_unknown`` is set."""
    entropy: Doubles
    """(T,) entropy of the prediction in bits, which is its expected surprisal."""
    rank: npt.NDArray[np.int64]
    """(T,) rank of the token among all words, counted from 1; 0 for ``<UNK>``."""


@dataclass(frozen=True)
class SentenceSurprisal:
    """The surprisal of each of a sentence's T tokens."""

    tokens: list[str]
    forward: TokenPredictions
    """Predicted from the tokens before it."""
    backward: TokenPredictions
    """Predicted from the tokens after it."""
    combined: TokenPredictions
    """Predicted from both: the renormalised geometric mean of their probabilities."""
    is_unknown: npt.NDArray[np.bool_]
    """(T,) whether the token is outside the vocabulary, so that ``<UNK>`` is predicted instead."""
    end_bits: tuple[float, float]
    """The last prediction of each direction: of ``</S>`` forward, of ``<S>`` backward."""
    total_bits: tuple[float, float]
    """Forward and backward: the sum over all T + 1 predictions, including ``<UNK>`` and the end of
    the sentence, as in ``elmokit perplexity``."""


def surprisal(
    model: AnyModel,
    sentences: Iterable[Sentence],
    *,
    start: StateMode = "fresh",
    keep_unknown: bool = False,
    batch_tokens: int = BATCH_TOKENS,
    show_progress: bool = False,
) -> list[SentenceSurprisal]:
    """Compute surprisal, entropy and rank of every token, by the full softmax.

    Args:
        model: what ``elmokit.load`` returns, or a name or path; it needs a softmax.
        sentences: strings, tokenised by elmokit, or lists of tokens, used as given.
        start: ``"fresh"``: every sentence on its own; ``"carried"``: the sentences are one
            document, and each starts from the final state of the previous one.
        keep_unknown: give tokens outside the vocabulary the surprisal of ``<UNK>``, instead of
            NaN.
        batch_tokens: tokens per batch; limits the memory.
        show_progress: show a progress bar on a terminal, plain lines elsewhere.

    >>> import elmokit
    >>> found = elmokit.surprisal(elmokit.load("en-small"), ["The cat sat on the mat."])[0]
    >>> found.tokens[1], found.forward.bits.shape
    ('cat', (7,))
    """
    reader = SurprisalReader(model, keep_unknown, batch_tokens)
    given = list(all_tokens(sentences))
    total = sum(map(len, given))
    with meter("surprisal", "tokens", total, quiet=not show_progress) as progress:
        if start == "fresh":
            return reader.fresh(given, progress)
        if start == "carried":
            return reader.carried([given], None, progress)[0][0] if given else []
    raise InputError(f"start must be fresh or carried, got {start!r}")


class SurprisalReader:
    """Measures several lists of sentences or documents with the same model."""

    def __init__(
        self,
        model: AnyModel,
        keep_unknown: bool = False,
        batch_tokens: int = BATCH_TOKENS,
    ) -> None:
        """The arguments are those of ``surprisal``."""
        if batch_tokens < 1:
            raise InputError(f"batch_tokens must be at least 1, got {batch_tokens}")
        self.contexts = ContextReader(model, "measure surprisal")
        self.keep_unknown = keep_unknown
        self.batch_tokens = batch_tokens

    def fresh(
        self, sentences: Sequence[Tokens], progress: Meter | None = None
    ) -> list[SentenceSurprisal]:
        """Every sentence on its own."""
        found: dict[int, SentenceSurprisal] = {}
        for chunk in chunks_of([len(sentence) for sentence in sentences], self.batch_tokens):
            some = [sentences[number] for number in chunk]
            contexts = self.contexts.read(some)
            found.update(zip(chunk, self._measure(some, [contexts], progress), strict=True))
        return [found[number] for number in range(len(sentences))]

    def carried(
        self,
        documents: Sequence[Sequence[Tokens]],
        state: BiLmState | None = None,
        progress: Meter | None = None,
    ) -> tuple[list[list[SentenceSurprisal]], BiLmState]:
        """Every sentence starts from the final state of the previous one.

        Documents run in parallel. ``state`` (one row) is the initial state of the first document;
        the final state of the last document is returned.
        """
        # The longest first, so that finished documents drop out at the end.
        order = sorted(range(len(documents)), key=lambda number: -len(documents[number]))
        states = self.contexts.bilm.zero_state(len(documents))
        if state is not None:
            row = torch.tensor([order.index(0)], device=self.contexts.bilm.device)
            states = BiLmState(
                *(
                    zeros.replace_rows(row, given)
                    for zeros, given in zip(states, state, strict=True)
                )
            )
        found: list[list[SentenceSurprisal]] = [[] for _ in documents]
        waiting: list[tuple[list[int], Contexts]] = []
        num_waiting = 0
        for place in range(max(map(len, documents), default=0)):
            active = [number for number in order if place < len(documents[number])]
            some = [documents[number][place] for number in active]
            contexts = self.contexts.read(some, states.rows(0, len(active)))
            states = contexts.state.join(states.rows(len(active), len(documents)))
            waiting.append((active, contexts))
            num_waiting += sum(map(len, some))
            # The softmax is fast only on many rows, and one step of the documents has few.
            if num_waiting >= self.batch_tokens:
                self._flush(documents, waiting, found, progress)
                waiting, num_waiting = [], 0
        self._flush(documents, waiting, found, progress)
        last = order.index(len(documents) - 1)
        return found, states.rows(last, last + 1)

    def _flush(
        self,
        documents: Sequence[Sequence[Tokens]],
        waiting: list[tuple[list[int], Contexts]],
        found: list[list[SentenceSurprisal]],
        progress: Meter | None,
    ) -> None:
        """Measure the pending steps; each holds the next sentence of its documents."""
        next_place = [len(measured) for measured in found]
        sentences, owners = [], []
        for active, _ in waiting:
            for number in active:
                sentences.append(documents[number][next_place[number]])
                owners.append(number)
                next_place[number] += 1
        measured = self._measure(sentences, [contexts for _, contexts in waiting], progress)
        for number, one in zip(owners, measured, strict=True):
            found[number].append(one)

    @torch.no_grad()
    def _measure(
        self, sentences: Sequence[Tokens], contexts: Sequence[Contexts], progress: Meter | None
    ) -> list[SentenceSurprisal]:
        """The sentences of several batches, in the order of their contexts."""
        if not sentences:
            return []
        softmax, vocabulary = self.contexts.output_words
        lengths = [len(sentence) for sentence in sentences]
        ids = vocabulary.ids(token for sentence in sentences for token in sentence)
        forward, backward = _rows(contexts, lengths)
        # The ends of the sentences, each direction's own, are predicted after all tokens.
        targets = np.stack(
            [np.append(ids, [end] * len(lengths)) for end in (vocabulary.end, vocabulary.begin)]
        )
        found = prediction_statistics(
            softmax,
            torch.cat([forward, *(each.last for each in contexts)]),
            torch.cat([backward, *(each.first for each in contexts)]),
            torch.from_numpy(targets).to(forward.device),
        )
        bits, entropy, rank = (each.cpu().numpy() for each in found)  # (3, N + B)
        end_bits = bits[:2, len(ids) :]
        bits, entropy, rank = (each[:, : len(ids)] for each in (bits, entropy, rank))
        is_unknown = ids == vocabulary.unknown
        shown_bits = bits if self.keep_unknown else np.where(is_unknown, np.nan, bits)
        shown_rank = rank if self.keep_unknown else np.where(is_unknown, 0, rank)

        def predictions(way: int, part: slice) -> TokenPredictions:
            return TokenPredictions(
                shown_bits[way, part], entropy[way, part], shown_rank[way, part]
            )

        results, start = [], 0
        for number, tokens in enumerate(sentences):
            part = slice(start, start + lengths[number])
            start = part.stop
            totals = bits[:2, part].sum(axis=1) + end_bits[:, number]
            results.append(
                SentenceSurprisal(
                    list(tokens),
                    predictions(0, part),
                    predictions(1, part),
                    predictions(2, part),
                    is_unknown[part],
                    (float(end_bits[0, number]), float(end_bits[1, number])),
                    (float(totals[0]), float(totals[1])),
                )
            )
        if progress is not None:
            progress.advance(len(ids))
        return results


def _rows(contexts: Sequence[Contexts], lengths: Sequence[int]) -> tuple[Tensor, Tensor]:
    """The states (N, P) of all tokens, sentence by sentence, for each direction."""
    forward, backward, first = [], [], 0
    for each in contexts:
        batch, longest, _ = each.forward.shape
        inside = torch.tensor(lengths[first : first + batch], device=each.forward.device)
        mask = torch.arange(longest, device=each.forward.device) < inside[:, None]  # (B, T)
        forward.append(each.forward[mask])
        backward.append(each.backward[mask])
        first += batch
    return torch.cat(forward), torch.cat(backward)
