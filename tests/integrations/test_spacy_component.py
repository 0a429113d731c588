"""The pipeline component in a real spaCy: its tokens, its sentences, its ways to keep docs."""

import pickle
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin

import elmokit
from elmokit import InputError, Mix
from elmokit.integrations.spacy import ElmoComponent

TEXT = "The cat sat. It can't   be\n\nhere!"
TEXTS = [TEXT, "", "One word", " \n ", "Dr. No left. Nobody cared."]


def pipeline(model: Path, **config: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("elmokit", config={"model": str(model), **config})
    return nlp


def test_vectors_are_those_of_embed_on_spacys_tokens_and_sentences(model: Path) -> None:
    doc = pipeline(model)(TEXT)
    sentences = [[token.text for token in sent if not token.is_space] for sent in doc.sents]
    assert sentences == [["The", "cat", "sat", "."], ["It", "ca", "n't", "be", "here", "!"]]
    expected = np.concatenate(elmokit.load(model).embed(sentences))
    words = [token for token in doc if not token.is_space]
    assert np.allclose(np.stack([token._.elmo for token in words]), expected, atol=1e-6)
    assert np.array_equal(doc.tensor, doc._.elmo)
    assert np.array_equal(doc[1:3]._.elmo, doc.tensor[1:3])


def test_whitespace_is_not_read_and_has_zeros(model: Path) -> None:
    doc = pipeline(model)(TEXT)
    spaces = [token for token in doc if token.is_space]
    assert len(spaces) == 2
    assert not any(token._.elmo.any() for token in spaces)


def test_without_boundaries_a_doc_is_one_sentence(model: Path) -> None:
    nlp = pipeline(model)
    nlp.remove_pipe("sentencizer")
    doc = nlp("The cat sat. It left.")
    (expected,) = elmokit.load(model).embed([[token.text for token in doc]])
    assert np.allclose(doc.tensor, expected, atol=1e-6)


@pytest.mark.parametrize("mix", ["top", "concat", 0, -1, [0.5, 0.25, 0.25]])
def test_a_mix_is_set_in_the_config(model: Path, mix: Any) -> None:
    nlp = pipeline(model, mix=mix)
    doc = nlp("The cat sat.")
    wanted = Mix(tuple(mix)) if isinstance(mix, list) else mix
    (expected,) = elmokit.load(model).embed([[token.text for token in doc]], wanted)
    assert np.allclose(doc.tensor, expected, atol=1e-6)
    assert np.allclose(pipeline(model, mix=mix, layers=True)("The cat sat.").tensor, expected)


def test_layers_on_request(model: Path) -> None:
    doc = pipeline(model, layers=True)(TEXT)
    assert doc._.elmo_layers.shape == (3, len(doc), 8)
    assert np.array_equal(doc[1]._.elmo_layers, doc._.elmo_layers[:, 1])
    assert doc[1:4]._.elmo_layers.shape == (3, 3, 8)
    assert np.allclose(doc._.elmo_layers.mean(axis=0), doc.tensor, atol=1e-6)


def test_pipe_gives_what_single_calls_give(model: Path) -> None:
    nlp = pipeline(model)
    for doc, text in zip(nlp.pipe(TEXTS, batch_size=2), TEXTS, strict=True):
        alone = nlp(text)
        assert doc.text == text
        assert doc.tensor.shape == (len(doc), 8)
        assert np.allclose(doc.tensor, alone.tensor, atol=1e-6)


def remembered(texts: Iterable[str], read: list[str]) -> Iterator[str]:
    for text in texts:
        read.append(text)
        yield text


def test_pipe_reads_no_more_docs_than_a_batch_before_the_first_comes_out(model: Path) -> None:
    read: list[str] = []
    docs = pipeline(model).pipe(remembered(60 * ["The cat sat."], read), batch_size=5)
    assert next(docs)._.elmo is not None
    assert len(read) == 5
    assert len(list(docs)) == 59


def test_pipe_cuts_a_large_batch_by_its_tokens(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("elmokit.integrations.spacy.WINDOW_TOKENS", 12)
    read: list[str] = []
    next(pipeline(model).pipe(remembered(9 * ["The cat sat."], read), batch_size=100))
    assert len(read) == 3  # each counts as its four tokens and one more


def test_two_processes_give_what_one_gives(model: Path) -> None:
    nlp = pipeline(model)
    for doc, text in zip(nlp.pipe(TEXTS, n_process=2, batch_size=2), TEXTS, strict=True):
        assert np.allclose(doc._.elmo, nlp(text)._.elmo, atol=1e-6)
        assert np.allclose(doc.tensor, nlp(text).tensor, atol=1e-6)


def test_docs_keep_their_vectors_in_bytes_and_in_a_docbin(model: Path, tmp_path: Path) -> None:
    nlp = pipeline(model, layers=True)
    doc = nlp(TEXT)
    copy = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    DocBin(docs=[doc], store_user_data=True).to_disk(tmp_path / "docs.spacy")
    (binned,) = DocBin().from_disk(tmp_path / "docs.spacy").get_docs(nlp.vocab)
    for other in (copy, binned):
        assert np.array_equal(other[1]._.elmo, doc[1]._.elmo)
        assert np.array_equal(other[1]._.elmo_layers, doc[1]._.elmo_layers)


def test_a_pipeline_takes_its_weights_along(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    elmokit.load(model).save(folder)
    nlp = pipeline(folder)
    expected = nlp(TEXT).tensor
    data = nlp.to_bytes()
    nlp.to_disk(tmp_path / "pipeline")
    nlp.to_disk(tmp_path / "pipeline")  # over itself
    folder.rename(tmp_path / "away")
    copies = [spacy.load(tmp_path / "pipeline"), pipeline(folder).from_bytes(data)]
    for copy in copies:
        assert np.array_equal(copy(TEXT).tensor, expected)
    assert np.array_equal(
        elmokit.load(tmp_path / "pipeline" / "elmokit").embed([["cat"]])[0],
        elmokit.load(model).embed([["cat"]])[0],
    )


def test_the_component_can_be_pickled(model: Path) -> None:
    component = ElmoComponent(model=str(model), mix=1)
    copy = pickle.loads(pickle.dumps(component))
    doc = spacy.blank("en")("The cat sat.")
    assert np.array_equal(copy(doc).tensor, component(doc).tensor)


def test_docs_whose_tokens_have_changed_are_refused(model: Path) -> None:
    doc = pipeline(model)("The cat sat.")
    with doc.retokenize() as retokenizer:
        retokenizer.merge(doc[0:2])
    with pytest.raises(InputError, match=r"have changed since 'elmokit' ran \(now 3, then 4\)"):
        _ = doc[0]._.elmo


@pytest.mark.filterwarnings("ignore:.*W101")  # spaCy says which attribute it leaves out
def test_parts_and_unions_of_docs_keep_the_tensor_but_not_the_attribute(model: Path) -> None:
    nlp = pipeline(model)
    first, second = nlp(TEXT), nlp("One word")
    part, union = first[1:3].as_doc(), Doc.from_docs([first, second], ensure_whitespace=False)
    assert np.array_equal(part.tensor, first.tensor[1:3])
    assert np.array_equal(union.tensor, np.concatenate([first.tensor, second.tensor]))
    for doc in (part, union):
        with pytest.raises(InputError, match="run the component 'elmokit' on it"):
            _ = doc[0]._.elmo


def test_what_has_not_run_is_named(model: Path) -> None:
    doc = pipeline(model)("The cat sat.")
    with pytest.raises(InputError, match="run the component 'elmokit' with layers=True"):
        _ = doc[0]._.elmo_layers
    with pytest.raises(InputError, match="run the component 'elmokit' on it"):
        _ = spacy.blank("en")("The cat sat.")[0]._.elmo


def test_an_error_handler_may_skip_a_batch(tmp_path: Path) -> None:
    nlp = pipeline(tmp_path / "missing")
    failed: list[str] = []
    nlp.set_error_handler(lambda name, proc, docs, error: failed.extend(doc.text for doc in docs))
    assert list(nlp.pipe(["a b", "c"])) == []
    assert failed == ["a b", "c"]
    with pytest.raises(InputError, match="missing: there is no such file"):
        pipeline(tmp_path / "missing")("a b")
