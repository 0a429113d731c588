"""The layer cache is exact, bounded, shared, and survives kills."""

import multiprocessing
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_model import tiny_pretrained

from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.tasks.inputs import layer_cache
from elmokit.tasks.inputs.layer_cache import ComputedLayers, LayerCache

SENTENCES = [["a", "rose", "is", "a", "rose"], ["hi"], [], ["so", "it", "goes"]]
TOKEN_BYTES = 4 * (6 + 2 * 12)  # the token layer once (P = 6), two layers of D = 12


class CountingEmbedder(Embedder):
    """Knows how many sentences it was asked for."""

    count = 0

    def stream_layers(self, sentences, **options):  # type: ignore[no-untyped-def]
        self.count += len(sentences)
        return super().stream_layers(sentences, **options)

    def padded_layers(self, sentences, **options):  # type: ignore[no-untyped-def]
        self.count += len(sentences)
        return super().padded_layers(sentences, **options)


@pytest.fixture
def counting() -> CountingEmbedder:
    return CountingEmbedder(tiny_pretrained())


def test_cached_layers_are_bit_for_bit_those_of_the_bilm(
    tiny_elmo: Embedder, tmp_path: Path
) -> None:
    cache = LayerCache(tiny_elmo, tmp_path)
    cache.prepare(SENTENCES, quiet=True)
    # What is stored is what stream_layers gave, whatever batch is asked for later.
    stored = list(tiny_elmo.stream_layers([s for s in SENTENCES if s]))
    alone = cache.layers([SENTENCES[3]])
    assert torch.equal(alone[0], torch.from_numpy(stored[2]))
    together = cache.layers(SENTENCES)
    assert together.shape == (4, 3, 5, 12)
    assert torch.equal(together[0], torch.from_numpy(stored[0]))
    assert torch.equal(together[3, :, :3], alone[0])


def test_a_run_whose_layers_are_there_waits_for_no_other(
    tiny_elmo: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert LayerCache(tiny_elmo, tmp_path).prepare(SENTENCES, quiet=True) == 3
    monkeypatch.setattr(layer_cache, "_one_at_a_time", None)
    assert LayerCache(tiny_elmo, tmp_path).prepare(SENTENCES, quiet=True) == 0


@settings(max_examples=15)
@given(st.lists(st.lists(st.sampled_from(["a", "b c", "", "é", "a\x00"]), max_size=4), max_size=5))
def test_any_sentences_come_back_padded_with_zeros(
    tiny_elmo: Embedder, tmp_path_factory: pytest.TempPathFactory, sentences: list[list[str]]
) -> None:
    cache = LayerCache(tiny_elmo, tmp_path_factory.mktemp("cache"))
    cache.prepare(sentences, quiet=True)
    expected = ComputedLayers(tiny_elmo).layers(sentences)
    torch.testing.assert_close(cache.layers(sentences), expected, rtol=1e-5, atol=1e-6)


def test_a_sentence_is_computed_once_for_all_runs(
    counting: CountingEmbedder, tmp_path: Path
) -> None:
    assert LayerCache(counting, tmp_path).prepare([*SENTENCES, ["hi"]], quiet=True) == 3
    later = LayerCache(counting, tmp_path)
    assert later.prepare(SENTENCES, quiet=True) == 0
    later.layers(SENTENCES)
    assert counting.count == 3


def test_what_was_not_prepared_is_computed(counting: CountingEmbedder, tmp_path: Path) -> None:
    cache = LayerCache(counting, tmp_path)
    cache.prepare([["hi"]], quiet=True)
    mixed = cache.layers([["hi"], ["new", "words"]])
    expected = ComputedLayers(counting).layers([["hi"], ["new", "words"]])
    torch.testing.assert_close(mixed, expected, rtol=1e-5, atol=1e-6)


def test_the_token_layer_is_stored_once(tiny_elmo: Embedder, tmp_path: Path) -> None:
    cache = LayerCache(tiny_elmo, tmp_path)
    cache.prepare(SENTENCES, quiet=True)
    assert cache.num_bytes == 9 * TOKEN_BYTES


def test_float16_halves_the_size_and_rounds(tiny_elmo: Embedder, tmp_path: Path) -> None:
    cache = LayerCache(tiny_elmo, tmp_path, precision="float16")
    cache.prepare(SENTENCES, quiet=True)
    assert cache.num_bytes == 9 * TOKEN_BYTES // 2
    found = cache.layers(SENTENCES)
    assert found.dtype == torch.float32
    exact = ComputedLayers(tiny_elmo).layers(SENTENCES)
    torch.testing.assert_close(found, exact, rtol=1e-3, atol=1e-3)


def test_models_do_not_see_each_others_layers(tiny_elmo: Embedder, tmp_path: Path) -> None:
    LayerCache(tiny_elmo, tmp_path).prepare(SENTENCES, quiet=True)
    other = LayerCache(Embedder(tiny_pretrained(seed=7)), tmp_path)
    assert other.prepare(SENTENCES, quiet=True) == 3


def test_the_oldest_files_make_room(
    tiny_elmo: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = 4 * TOKEN_BYTES / 1e9
    monkeypatch.setattr(layer_cache, "SHARD_BYTES", 1)  # a file a sentence
    LayerCache(tiny_elmo, tmp_path, max_gigabytes=room).prepare([["a"], ["b"]], quiet=True)
    cache = LayerCache(tiny_elmo, tmp_path, max_gigabytes=room)
    cache.prepare([["c", "d", "e"]], quiet=True)
    assert cache.num_bytes == 4 * TOKEN_BYTES
    assert LayerCache(tiny_elmo, tmp_path).prepare([["c", "d", "e"]], quiet=True) == 0


def test_what_a_killed_run_left_is_removed_when_room_is_made(
    tiny_elmo: Embedder, tmp_path: Path
) -> None:
    cache = LayerCache(tiny_elmo, tmp_path)
    folder = next(folder for folder in tmp_path.iterdir() if folder.is_dir())
    with replacing_file(folder / "x.layers") as ours:
        left = ours.with_name(ours.name.replace(f".{os.getpid()}.", ".4194999."))  # no such process
        left.symlink_to("nowhere")  # listed, but not there
        assert cache.prepare(SENTENCES, quiet=True) == 3
        assert ours.exists()
    assert not left.is_symlink()


def test_a_full_cache_says_so_and_still_answers(
    tiny_elmo: Embedder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(layer_cache, "SHARD_BYTES", 1)
    cache = LayerCache(tiny_elmo, tmp_path, max_gigabytes=4 * TOKEN_BYTES / 1e9)
    cache.prepare([["a"], ["b", "c"], ["d", "e"]], quiet=True)
    assert "1 sentences will be computed in every epoch" in capsys.readouterr().err
    assert cache.num_bytes <= 4 * TOKEN_BYTES
    expected = ComputedLayers(tiny_elmo).layers([["d", "e"]])
    torch.testing.assert_close(cache.layers([["d", "e"]]), expected)


def test_layers_in_use_outlive_their_files(tiny_elmo: Embedder, tmp_path: Path) -> None:
    cache = LayerCache(tiny_elmo, tmp_path)
    cache.prepare(SENTENCES, quiet=True)
    before = cache.layers(SENTENCES)
    for file in [*tmp_path.glob("*/*.index"), *tmp_path.glob("*/*.layers")]:
        file.unlink()
    assert torch.equal(cache.layers(SENTENCES), before)


def test_a_file_that_vanished_is_computed_again(counting: CountingEmbedder, tmp_path: Path) -> None:
    LayerCache(counting, tmp_path).prepare(SENTENCES, quiet=True)
    cache = LayerCache(counting, tmp_path)
    for file in tmp_path.glob("*/*.layers"):
        file.unlink()
    assert np.isfinite(cache.layers(SENTENCES).numpy()).all()
    assert counting.count > 3


def _prepare(folder: Path) -> None:
    LayerCache(Embedder(tiny_pretrained()), folder).prepare(SENTENCES, quiet=True)


def test_processes_share_one_folder(tiny_elmo: Embedder, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_prepare, args=(tmp_path,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    cache = LayerCache(tiny_elmo, tmp_path)
    assert cache.prepare(SENTENCES, quiet=True) == 0
    assert cache.num_bytes == 9 * TOKEN_BYTES  # nobody did it twice


@pytest.mark.parametrize("options", [{"precision": "int8"}, {"max_gigabytes": 0.0}])
def test_senseless_options_are_refused(
    tiny_elmo: Embedder, tmp_path: Path, options: dict[str, object]
) -> None:
    with pytest.raises(InputError, match="layer cache"):
        LayerCache(tiny_elmo, tmp_path, **options)  # type: ignore[arg-type]
