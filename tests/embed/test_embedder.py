import copy
import pickle
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_config import TINY

from elmokit.config import LstmConfig
from elmokit.embed.embedder import Embedder
from elmokit.embed.familiar_calls import FAMILIAR_CALLS
from elmokit.embed.load import load
from elmokit.embed.mix import Mix
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.load import load_pretrained

SENTENCES = [["The", "cat", "sat", "."], ["Yes"], [], ["a", "rose", "is", "a", "rose"]]
tokens = st.text(alphabet="abcé\U0001f600", max_size=9)
sentences = st.lists(st.lists(tokens, max_size=7), max_size=9)


def assert_same(left: list[np.ndarray], right: list[np.ndarray]) -> None:
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-5)


def test_layers_have_the_promised_shape_and_type(elmo: Embedder) -> None:
    layers = elmo.layers(SENTENCES)
    assert [array.shape for array in layers] == [(3, 4, 10), (3, 1, 10), (3, 0, 10), (3, 5, 10)]
    assert all(array.dtype == np.float32 for array in layers)


def test_padded_layers_are_the_layers_and_zeros(elmo: Embedder) -> None:
    padded = elmo.padded_layers(SENTENCES, batch_tokens=6)
    assert padded.shape == (4, 3, 5, 10)
    for row, array in zip(padded.numpy(), elmo.layers(SENTENCES), strict=True):
        np.testing.assert_allclose(row[:, : array.shape[1]], array, atol=1e-5)
        assert not row[:, array.shape[1] :].any()
    assert elmo.padded_layers([[]]).shape == (1, 3, 0, 10)


@settings(max_examples=30, deadline=None)
@given(batch=sentences, batch_tokens=st.integers(1, 40), order=st.randoms())
def test_a_sentence_alone_has_the_vectors_it_has_in_any_batch(
    elmo: Embedder, batch: list[list[str]], batch_tokens: int, order: object
) -> None:
    alone = [elmo.layers([sentence])[0] for sentence in batch]
    places = list(range(len(batch)))
    order.shuffle(places)  # type: ignore[attr-defined]
    together = elmo.layers([batch[place] for place in places], batch_tokens=batch_tokens)
    assert_same([alone[place] for place in places], together)


@settings(max_examples=20, deadline=None)
@given(batch=sentences, window=st.integers(1, 30))
def test_a_stream_gives_what_embed_gives_in_order(
    elmo: Embedder, batch: list[list[str]], window: int
) -> None:
    assert_same(list(elmo.stream(iter(batch), window_tokens=window)), elmo.embed(batch))
    streamed = list(elmo.stream_layers(iter(batch), window_tokens=window))
    assert_same(streamed, elmo.layers(batch))


def test_a_stream_reads_no_further_than_its_window(elmo: Embedder) -> None:
    taken = 0

    def endless() -> Iterator[list[str]]:
        nonlocal taken
        while True:
            taken += 1
            yield ["word", str(taken)]

    stream = elmo.stream(endless(), window_tokens=12)
    assert next(stream).shape == (2, 10)
    assert taken == 4


def test_the_number_of_threads_does_not_change_vectors(elmo: Embedder) -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        one = elmo.layers(SENTENCES)
        torch.set_num_threads(2)
        assert_same(one, elmo.layers(SENTENCES))
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_mixes_are_what_their_names_say(elmo: Embedder) -> None:
    layers = elmo.layers(SENTENCES)
    assert_same(elmo.embed(SENTENCES), [array.mean(0) for array in layers])
    assert_same(elmo.embed(SENTENCES, "sum"), [array.sum(0) for array in layers])
    assert_same(elmo.embed(SENTENCES, "top"), [array[-1] for array in layers])
    assert_same(elmo.embed(SENTENCES, 1), [array[1] for array in layers])
    assert_same(elmo.embed(SENTENCES, -1), [array[-1] for array in layers])
    assert_same(elmo.embed(SENTENCES, np.int64(-3)), [array[0] for array in layers])
    joined = [np.concatenate(list(array), axis=1) for array in layers]
    assert_same(elmo.embed(SENTENCES, "concat"), joined)
    mix = Mix((0.5, 0.2, 0.3), gamma=2.0)
    weighed = [2 * np.einsum("l,ltd->td", np.float32([0.5, 0.2, 0.3]), array) for array in layers]
    assert_same(elmo.embed(SENTENCES, mix), weighed)


@pytest.mark.parametrize("mix", ["mean", 3, -4, True, Mix((1.0, 1.0)), None])
def test_a_mix_the_model_cannot_make_is_refused(elmo: Embedder, mix: object) -> None:
    with pytest.raises(InputError):
        elmo.embed(SENTENCES, mix)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        next(elmo.stream(SENTENCES, mix))  # type: ignore[arg-type]


def test_pooling_never_counts_padding(elmo: Embedder) -> None:
    vectors = elmo.embed(SENTENCES)
    mean, best, ends = (elmo.pool(SENTENCES, how) for how in ("mean", "max", "ends"))
    assert mean.shape == (4, 10)
    np.testing.assert_allclose(mean[0], vectors[0].mean(0), atol=1e-5)
    np.testing.assert_allclose(best[3], vectors[3].max(0), atol=1e-5)
    np.testing.assert_allclose(ends[0, :5], vectors[0][-1, :5], atol=1e-5)
    np.testing.assert_allclose(ends[0, 5:], vectors[0][0, 5:], atol=1e-5)
    assert not mean[2].any() and not best[2].any() and not ends[2].any()


def test_pooling_nothing_gives_no_rows(elmo: Embedder) -> None:
    assert elmo.pool([]).shape == (0, 10)
    assert elmo.pool([], mix="concat").shape == (0, 30)


def test_an_empty_list_gives_an_empty_list(elmo: Embedder) -> None:
    assert elmo.embed([]) == []
    assert elmo.layers([]) == []
    assert list(elmo.stream([])) == []


@pytest.mark.parametrize(
    "token", ["", "x" * 10_000, "a\0b", "\ud800", "\U0001f469\u200d\U0001f680", "مرحبا", "\n", " "]
)
def test_any_token_has_finite_vectors(elmo: Embedder, token: str) -> None:
    (layers,) = elmo.layers([["odd", token, "one"]])
    assert layers.shape == (3, 3, 10)
    assert np.isfinite(layers).all()


@pytest.mark.slow
def test_a_very_long_sentence_works(make_embedder: Callable[..., Embedder]) -> None:
    elmo = make_embedder(replace(TINY, lstm=LstmConfig(dim=7, projection_dim=5, num_layers=1)))
    words = [f"w{number % 977}" for number in range(50_000)]
    (long,), (start,) = elmo.layers([words]), elmo.layers([words[:50]])
    assert long.shape == (2, 50_000, 10)
    forward = long[:, :50, :5]
    np.testing.assert_allclose(forward, start[..., :5], atol=1e-5)


def test_one_string_instead_of_a_list_is_refused(elmo: Embedder) -> None:
    with pytest.raises(InputError, match="one string"):
        elmo.embed("a sentence")


def test_tokens_must_be_strings(elmo: Embedder) -> None:
    with pytest.raises(InputError, match="list of strings, got 3"):
        elmo.embed([["a", 3]])  # type: ignore[list-item]


@pytest.mark.parametrize("sentence", [None, 3, b"bytes"])
def test_what_is_no_sentence_is_refused(elmo: Embedder, sentence: object) -> None:
    with pytest.raises(InputError, match="a string or a list of strings, got"):
        elmo.layers([["fine"], sentence])  # type: ignore[list-item]
    with pytest.raises(InputError, match="expected a list of sentences, got None"):
        elmo.embed(None)  # type: ignore[arg-type]


def test_a_device_that_is_not_there_is_refused(make_embedder: Callable[..., Embedder]) -> None:
    with pytest.raises(InputError, match="device abacus: cannot be used here"):
        make_embedder().to("abacus")


def test_inference_mode_may_come_and_go(make_embedder: Callable[..., Embedder]) -> None:
    expected = make_embedder().layers(SENTENCES)
    with torch.inference_mode():
        elmo = make_embedder()
        assert_same(elmo.layers(SENTENCES[:1]), expected[:1])
    assert_same(elmo.layers(SENTENCES), expected)


def test_carried_state_equals_one_long_run(elmo: Embedder) -> None:
    first = elmo.carry([["one", "two"], ["three"]])
    second = elmo.carry([["four"], ["five", "six"]], first.state)
    again = elmo.carry([["four"], ["five", "six"]])
    assert np.abs(second.layers[0][1:] - again.layers[0][1:]).max() > 1e-4
    np.testing.assert_allclose(second.layers[0][0], again.layers[0][0], atol=1e-6)
    other_way = elmo.carry([["five", "six"]], first.state.rows(1, 2))
    assert_same(second.layers[1:], other_way.layers)


def test_a_first_carried_call_equals_a_fresh_start(elmo: Embedder) -> None:
    assert_same(elmo.carry(SENTENCES).layers, elmo.layers(SENTENCES))


def test_fewer_sentences_leave_the_other_rows_alone(elmo: Embedder) -> None:
    three = elmo.carry([["a"], ["b"], ["c"]]).state
    after = elmo.carry([["d"]], three).state
    assert after.num_rows == 3
    torch.testing.assert_close(after.forward.cell[:, 1:], three.forward.cell[:, 1:])
    assert not torch.equal(after.forward.cell[:, 0], three.forward.cell[:, 0])


def test_more_sentences_than_rows_start_from_zeros(elmo: Embedder) -> None:
    one = elmo.carry([["a"]]).state
    two = elmo.carry([["b"], ["c", "d"]], one)
    assert two.state.num_rows == 2
    assert_same(two.layers[1:], elmo.layers([["c", "d"]]))


def test_a_start_of_ones_own_is_used_for_every_sentence(elmo: Embedder) -> None:
    state = elmo.carry([["warm", "up"]]).state.rows(0, 1)
    warmed = elmo.layers([["a"], ["b", "c"]], start=state)
    assert_same(warmed, elmo.carry([["a"], ["b", "c"]], state.join(state)).layers)
    with pytest.raises(InputError, match="one row"):
        elmo.layers([["a"]], start=state.join(state))


def test_a_model_settles_on_ones_own_sentences(make_embedder: Callable[..., Embedder]) -> None:
    elmo = make_embedder()
    built_in = elmo.layers(SENTENCES, start="settled")[0]
    elmo.settle([["un", "deux"], ["trois"], ["quatre", "cinq"], ["six"]])
    own = elmo.layers(SENTENCES, start="settled")[0]
    assert np.abs(own - built_in).max() > 1e-5
    assert_same(elmo.layers(SENTENCES, start=elmo.pretrained.settled)[:1], [own])


def test_an_unknown_start_is_refused(elmo: Embedder) -> None:
    with pytest.raises(InputError, match="fresh, settled"):
        elmo.embed([["a"]], start="warm")  # type: ignore[arg-type]


def test_changed_weights_change_vectors_at_once(make_embedder: Callable[..., Embedder]) -> None:
    elmo = make_embedder(seed=4)
    before = elmo.layers([["same", "words"]])[0]
    with torch.no_grad():
        for weight in elmo.bilm.parameters():
            weight.mul_(1.1)
    after = elmo.layers([["same", "words"]])[0]
    assert (np.abs(after - before).max(axis=(1, 2)) > 1e-5).all()
    assert_same([after], Embedder(elmo.pretrained).layers([["same", "words"]]))


def test_fingerprints_tell_models_apart(make_embedder: Callable[..., Embedder]) -> None:
    assert make_embedder(seed=1).fingerprint == make_embedder(seed=1).fingerprint
    assert make_embedder(seed=1).fingerprint != make_embedder(seed=2).fingerprint


def test_attributes_describe_the_model(elmo: Embedder) -> None:
    assert (elmo.num_layers, elmo.dim, elmo.name, elmo.source) == (3, 10, "tiny", "a/tiny")
    assert isinstance(elmo.bilm, BiLm) and isinstance(elmo.indexer, TokenIndexer)
    assert repr(elmo) == "Embedder('a/tiny', layers=3, dim=10)"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"a": "b"}, r"got a dictionary: use its \.values\(\)"),
        (["fine", float("nan")], r"got nan \(sentence 1, counted from 0\); fill in"),
        (["fine", {"a": 1}], "a string or a list of strings, got {'a': 1}"),
        (b"bytes", r"got bytes: use \[text\.decode"),
    ],
)
def test_what_would_be_embedded_as_nonsense_is_refused(
    elmo: Embedder, given: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        elmo.embed(given)  # type: ignore[arg-type]


def test_tables_and_documents_of_other_libraries_are_refused_by_name(elmo: Embedder) -> None:
    class DataFrame(dict):  # type: ignore[type-arg]
        pass

    class Doc(list):  # type: ignore[type-arg]
        sents = ()

    class Span(Doc):
        vocab = ()

    with pytest.raises(InputError, match="got a DataFrame: give one of its columns"):
        elmo.embed(DataFrame())
    with pytest.raises(InputError, match="got a spaCy Doc: use"):
        elmo.embed(Doc())
    with pytest.raises(InputError, match=r"got a spaCy Span \(sentence 1, .* in span\]"):
        elmo.embed([["fine"], Span()])


def test_the_words_to_cache_are_not_the_letters_of_a_string(elmo: Embedder) -> None:
    with pytest.raises(InputError, match=r"a list of words, got one string: use \['hello'\]"):
        elmo.cache_words("hello")


def test_an_embedder_is_not_made_from_a_name() -> None:
    with pytest.raises(InputError, match=r"got 'en-small'; use elmokit\.load"):
        Embedder("en-small")  # type: ignore[arg-type]


def test_missing_values_of_pandas_are_named_with_their_cure(elmo: Embedder) -> None:
    pd = pytest.importorskip("pandas")
    column = pd.Series(["fine", pd.NA], dtype="string")
    with pytest.raises(InputError, match=r"got <NA> \(sentence 1, counted from 0\); fill in"):
        elmo.embed(column)


@pytest.mark.parametrize("values", [["a b", "c"], [["a", "b"], ["c"]]])
def test_a_column_of_pyarrow_is_refused_with_its_cure(elmo: Embedder, values: list[object]) -> None:
    column = pytest.importorskip("pyarrow").chunked_array([values])
    with pytest.raises(InputError, match=r"give the \.to_pylist\(\) of a pyarrow column"):
        elmo.embed(column)
    assert len(elmo.embed(column.to_pylist())) == 2


def test_calls_of_other_libraries_name_ours(elmo: Embedder) -> None:
    with pytest.raises(AttributeError, match="has no 'encode'; here it is embed"):
        elmo.encode(["a"])
    with pytest.raises(AttributeError, match=r"has no 'cuda'; here it is to\(\"cuda\"\)"):
        elmo.cuda()
    with pytest.raises(AttributeError, match=r"has no 'nonsense'$"):
        _ = elmo.nonsense
    with pytest.raises(InputError, match="an Embedder is not callable: use embed"):
        elmo(["a"])


def test_no_tokens_at_once_is_refused(elmo: Embedder) -> None:
    with pytest.raises(InputError, match="batch_tokens must be at least 1, got 0"):
        elmo.embed(SENTENCES, batch_tokens=0)


def test_a_mix_of_numbers_that_are_none_is_refused() -> None:
    with pytest.raises(InputError, match="must be finite"):
        Mix((0.5, float("nan"), 0.5))


@pytest.mark.parametrize("copied", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy])
def test_a_copy_gives_the_same_vectors(
    make_embedder: Callable[..., Embedder], copied: Callable[[Embedder], Embedder]
) -> None:
    elmo = make_embedder()
    elmo.cache_words(["cat", "dog"])
    wanted = elmo.embed(SENTENCES)
    other = copied(elmo)
    assert_same(other.embed(SENTENCES), wanted)
    with torch.no_grad():
        other.bilm.encoder.projection.bias += 1.0
    assert np.abs(other.embed(SENTENCES)[0] - wanted[0]).max() > 0.1
    assert_same(elmo.embed(SENTENCES), wanted)


def test_a_saved_model_is_loaded_again(
    make_embedder: Callable[..., Embedder], tmp_path: Path
) -> None:
    elmo = make_embedder()
    elmo.save(tmp_path / "model")
    assert_same(load(tmp_path / "model").embed(SENTENCES), elmo.embed(SENTENCES))
    assert elmo.device == torch.device("cpu")


def words_of_softmax(folder: Path) -> list[str]:
    found = load_pretrained(folder).output_words
    assert found is not None
    return list(found.vocabulary.words)


def test_options_and_weights_of_two_folders_are_saved_with_the_softmax(
    bilm_tf: Path, tmp_path: Path
) -> None:
    options = (bilm_tf / "options.json").rename(tmp_path / "options.json")
    elmo = load((options, bilm_tf / "weights.hdf5"))
    elmo.save(tmp_path / "saved")
    assert_same(load(tmp_path / "saved").embed(SENTENCES), elmo.embed(SENTENCES))
    assert "naïve" in words_of_softmax(tmp_path / "saved")


def test_a_relative_path_is_saved_with_the_softmax_from_any_folder(
    bilm_tf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(bilm_tf).save(tmp_path / "first" / "saved")
    monkeypatch.chdir(tmp_path / "first")
    elmo = load("saved")
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(elmo)).save("second")
    assert words_of_softmax(tmp_path / "second") == words_of_softmax(bilm_tf)


def test_a_softmax_that_has_gone_is_not_lost_in_silence(
    bilm_tf: Path, model: Path, tmp_path: Path
) -> None:
    load(bilm_tf).save(tmp_path / "whole")
    elmo = load(tmp_path / "whole")
    (tmp_path / "whole").rename(tmp_path / "moved")
    with pytest.raises(InputError, match="whole: the softmax of this model was left here"):
        elmo.save(tmp_path / "new")
    (tmp_path / "moved").rename(tmp_path / "whole")
    (tmp_path / "whole" / "softmax.safetensors").unlink()
    with pytest.raises(InputError, match="whole: the softmax of this model was left here"):
        elmo.save(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    without_softmax = load(shutil.copytree(model, tmp_path / "copy"))
    shutil.rmtree(tmp_path / "copy")
    without_softmax.save(tmp_path / "new")


def test_tokens_offsets_and_vectors_come_together(elmo: Embedder) -> None:
    text = "It can't be.  Mr. Doe left."
    whole, given, empty = elmo.embed_text([text, ["two", "tokens"], ""])
    assert [text[start:end] for start, end in whole.offsets or ()] == whole.tokens
    assert whole.tokens[:4] == ["It", "ca", "n't", "be"]
    assert_same([whole.vectors, given.vectors], elmo.embed([text, ["two", "tokens"]]))
    assert (given.offsets, given.sentences) == (None, [(0, 2)])
    assert empty.vectors.shape == (0, 10) and empty.tokens == []


def test_sentences_of_a_paragraph_are_read_one_by_one(elmo: Embedder) -> None:
    text = "It can't be.  Mr. Doe left."
    [found] = elmo.embed_text([text], split_sentences=True)
    first, second = (found.tokens[start:end] for start, end in found.sentences)
    assert (first[-2:], second) == (["be", "."], ["Mr.", "Doe", "left", "."])
    assert_same([found.vectors], [np.concatenate(elmo.embed([first, second]))])
    assert [text[start:end] for start, end in found.offsets or ()] == found.tokens


def test_progress_is_shown_when_asked_for(
    elmo: Embedder, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("elmokit.progress.LINE_EVERY_SECONDS", 0.0)
    elmo.embed(SENTENCES)
    assert capsys.readouterr().err == ""
    elmo.embed(SENTENCES, show_progress=True)
    assert "embed: 10 of 10 (100%) tokens" in capsys.readouterr().err
    for computed in (elmo.stream, elmo.stream_layers, elmo.pool):
        list(computed(SENTENCES, batch_tokens=6, show_progress=True))
        assert "embed: 10 tokens" in capsys.readouterr().err


def test_names_for_familiar_calls_exist(elmo: Embedder) -> None:
    for name, ours in FAMILIAR_CALLS.items():
        assert not hasattr(elmo, name)
        for dotted in re.findall(r"elmokit(?:\.\w+)+", ours):
            module, _, last = dotted.rpartition(".")
            assert hasattr(import_module(module), last), dotted
        first = re.match(r"(\w+)(?: \(|\(|,|;|$|\.\w+\()", ours)
        assert first is None or first[1] == "elmokit" or hasattr(elmo, first[1]), ours


@pytest.mark.parametrize("batch_tokens", [1, 6, 100])
def test_batches_do_not_change_pooled_vectors(elmo: Embedder, batch_tokens: int) -> None:
    pooled = elmo.pool(SENTENCES, batch_tokens=batch_tokens)
    np.testing.assert_allclose(pooled, elmo.pool(SENTENCES), atol=1e-5)
