import os
from collections.abc import Callable

import numpy as np
import pytest
import torch

from elmokit.embed import word_cache
from elmokit.embed.embedder import Embedder
from elmokit.embed.word_cache import WordCache
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer

WORDS = ["<S>", "</S>", "one", "two", "three", "a-much-longer-word", ""]


def plain(bilm: BiLm, indexer: TokenIndexer, words: list[str]) -> torch.Tensor:
    with torch.no_grad():
        return bilm.encoder(indexer.encode(words))


def test_cached_vectors_are_the_encoders(elmo: Embedder) -> None:
    cache = WordCache(elmo.bilm.encoder, elmo.indexer)
    expected = plain(elmo.bilm, elmo.indexer, WORDS)
    torch.testing.assert_close(cache.vectors(WORDS), expected)
    torch.testing.assert_close(cache.vectors(WORDS[::-1]), expected.flip(0))
    assert len(cache) == len(WORDS)


def test_the_encoder_runs_once_a_distinct_word(elmo: Embedder) -> None:
    cache = WordCache(elmo.bilm.encoder, elmo.indexer)
    seen: list[int] = []
    handle = elmo.bilm.encoder.register_forward_hook(
        lambda _module, inputs, _output: seen.append(len(inputs[0].characters))
    )
    cache.vectors(["a", "b", "c"])
    cache.vectors(["c", "d", "a"])
    handle.remove()
    assert seen == [3, 1]


def test_a_full_cache_forgets_and_stays_right(make_embedder: Callable[..., Embedder]) -> None:
    elmo = make_embedder()
    cache = WordCache(elmo.bilm.encoder, elmo.indexer, max_bytes=4 * 5 * 8)  # 8 words of P = 5
    for start in range(0, 60, 5):
        words = [f"w{number}" for number in range(start, start + 5)]
        torch.testing.assert_close(cache.vectors(words), plain(elmo.bilm, elmo.indexer, words))
        assert len(cache) <= 8


def test_more_words_than_fit_are_encoded_without_being_kept(
    make_embedder: Callable[..., Embedder],
) -> None:
    elmo = make_embedder()
    cache = WordCache(elmo.bilm.encoder, elmo.indexer, max_bytes=4 * 5 * 3)
    torch.testing.assert_close(cache.vectors(WORDS), plain(elmo.bilm, elmo.indexer, WORDS))
    assert len(cache) == 0


def test_kept_words_survive_a_full_cache(make_embedder: Callable[..., Embedder]) -> None:
    elmo = make_embedder()
    cache = WordCache(elmo.bilm.encoder, elmo.indexer, max_bytes=4 * 5 * 8)
    cache.keep(["one", "two"])
    for number in range(20):
        cache.vectors([f"w{number}", f"v{number}"])
    seen: list[int] = []
    handle = elmo.bilm.encoder.register_forward_hook(lambda *_: seen.append(1))
    vectors = cache.vectors(["two", "one"])
    handle.remove()
    assert not seen
    torch.testing.assert_close(vectors, plain(elmo.bilm, elmo.indexer, ["two", "one"]))


def test_words_are_encoded_a_bounded_number_at_a_time(elmo: Embedder, monkeypatch: object) -> None:
    monkeypatch.setattr(word_cache, "WORDS_AT_ONCE", 3)  # type: ignore[attr-defined]
    cache = WordCache(elmo.bilm.encoder, elmo.indexer)
    torch.testing.assert_close(cache.vectors(WORDS), plain(elmo.bilm, elmo.indexer, WORDS))


def test_embedders_take_a_vocabulary_in_advance(make_embedder: Callable[..., Embedder]) -> None:
    elmo = make_embedder()
    elmo.cache_words(["known", "words", "known"])
    layers = elmo.layers([["known", "unknown"]])[0]
    np.testing.assert_allclose(layers, make_embedder().layers([["known", "unknown"]])[0], atol=1e-6)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_forked_while_the_cache_is_in_use_can_use_its_own(elmo: Embedder) -> None:
    torch.set_num_threads(1)
    cache = WordCache(elmo.bilm.encoder, elmo.indexer)
    with cache._lock:  # another thread is at work
        child = os.fork()
        if child == 0:
            os._exit(0 if len(cache.vectors(["one", "two"])) == 2 else 1)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_very_long_words_are_not_kept(elmo: Embedder) -> None:
    cache = WordCache(elmo.bilm.encoder, elmo.indexer)
    assert len(cache.vectors(["a", "b" * 5000])) == 2
    assert len(cache) == 0
