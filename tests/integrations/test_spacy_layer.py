"""spaCy's entity recogniser and text classifier trained on frozen ELMo vectors."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from random_files import BilmTfSpec, write_bilm_tf_files
from spacy.cli.train import train
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Example
from spacy.util import fix_random_seed
from thinc.api import Config

from elmokit import InputError
from elmokit.integrations.spacy_layer import make_tok2vec

TEXTS = {
    "Olivia went to Paris .": [(0, 6, "PERSON"), (15, 20, "PLACE")],
    "the train left Rome late": [(15, 19, "PLACE")],
    "nobody saw Peter": [(11, 16, "PERSON")],
    "they all left": [],
}


def examples(nlp: Language) -> list[Example]:
    return [
        Example.from_dict(nlp.make_doc(text), {"entities": entities})
        for text, entities in TEXTS.items()
    ]


def tok2vec(model: Path) -> dict[str, Any]:
    return {
        "@architectures": "elmokit.Tok2Vec.v1",
        "width": 16,
        "model": str(model),
        "mix": "concat",
        "dropout": 0.0,
    }


def recogniser(model: Path) -> Language:
    nlp = spacy.blank("en")
    nlp.add_pipe("elmokit", config={"model": str(model), "mix": "concat"})
    settings = {
        "@architectures": "spacy.TransitionBasedParser.v2",
        "state_type": "ner",
        "extra_state_tokens": False,
        "hidden_width": 16,
        "maxout_pieces": 2,
        "use_upper": True,
        "tok2vec": tok2vec(model),
    }
    nlp.add_pipe("ner", config={"model": settings})
    return nlp


def entities(nlp: Language) -> dict[str, list[tuple[int, int, str]]]:
    return {
        doc.text: [(ent.start_char, ent.end_char, ent.label_) for ent in doc.ents]
        for doc in nlp.pipe(TEXTS)
    }


@pytest.fixture(scope="module")
def trained(model: Path) -> Language:
    fix_random_seed(1)
    nlp = recogniser(model)
    nlp.initialize(lambda: examples(nlp))
    data = examples(nlp)
    optimizer = nlp.create_optimizer()
    optimizer.learn_rate = 0.02
    for _ in range(60):
        nlp.update(data, sgd=optimizer, annotates=["elmokit"])
    return nlp


def test_a_recogniser_learns_its_training_sentences(trained: Language) -> None:
    assert entities(trained) == TEXTS


def test_a_trained_recogniser_is_the_same_when_reloaded(trained: Language, tmp_path: Path) -> None:
    trained.to_disk(tmp_path / "ner")
    assert entities(spacy.load(tmp_path / "ner")) == TEXTS


def test_the_layer_listens_to_the_component(trained: Language, model: Path) -> None:
    layer = make_tok2vec(8, str(model), "concat")
    doc = trained.make_doc("Olivia went to Paris .")
    layer.initialize(X=[doc])
    (computed,) = layer.predict([doc])
    trained.get_pipe("elmokit")(doc)
    (heard,) = layer.predict([doc])
    assert np.allclose(computed, heard, atol=1e-5)
    doc._.elmo = np.zeros_like(doc._.elmo)
    (silence,) = layer.predict([doc])
    assert not np.allclose(silence, heard)


def test_a_text_classifier_trains_on_the_layer_alone(model: Path) -> None:
    fix_random_seed(2)
    nlp = spacy.blank("en")
    settings = {
        "@architectures": "spacy.TextCatReduce.v1",
        "exclusive_classes": True,
        "use_reduce_first": False,
        "use_reduce_last": False,
        "use_reduce_max": False,
        "use_reduce_mean": True,
        "tok2vec": tok2vec(model),
    }
    nlp.add_pipe("textcat", config={"model": settings})
    data = [
        Example.from_dict(nlp.make_doc(text), {"cats": {"yes": label, "no": 1 - label}})
        for text, label in (("a good film", 1.0), ("a bad film", 0.0))
    ]
    nlp.initialize(lambda: data)
    optimizer = nlp.create_optimizer()
    optimizer.learn_rate = 0.02
    losses = [nlp.update(data, sgd=optimizer)["textcat"] for _ in range(40)]
    assert losses[-1] < losses[0] / 4


def test_other_weights_than_those_of_training_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_bilm_tf_files(folder, BilmTfSpec(seed=1))
    layer = make_tok2vec(8, str(folder))
    doc = spacy.blank("en")("a cat")
    layer.initialize(X=[doc])
    data = layer.to_bytes()
    folder.rename(tmp_path / "old")
    write_bilm_tf_files(folder, BilmTfSpec(seed=2))
    copy = make_tok2vec(8, str(folder)).from_bytes(data)
    with pytest.raises(InputError, match="not those that this layer was trained with"):
        copy.predict([doc])


def documented_config() -> Config:
    """The settings of docs/guide/integrations.md over spaCy's own for an entity recogniser."""
    page = Path(__file__).parents[2] / "docs" / "guide" / "integrations.md"
    (shown,) = re.findall(r"```ini\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    sections = "[components]\n[components.ner]\n[components.ner.model]\n"  # a file has these
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    return nlp.config.merge(Config().from_str(sections + shown))


def test_spacy_train_runs_with_the_documented_config(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    docs = []
    for text, found in TEXTS.items():
        doc = nlp.make_doc(text)
        doc.ents = [doc.char_span(*span[:2], label=span[2]) for span in found]
        docs.append(doc)
    DocBin(docs=8 * docs).to_disk(tmp_path / "train.spacy")
    documented_config().to_disk(tmp_path / "config.cfg")
    train(
        tmp_path / "config.cfg",
        tmp_path / "out",
        overrides={
            "paths.train": str(tmp_path / "train.spacy"),
            "paths.dev": str(tmp_path / "train.spacy"),
            "training.max_steps": 30,
            "training.eval_frequency": 30,
        },
    )
    trained = spacy.load(tmp_path / "out" / "model-last")
    assert trained.meta["performance"]["ents_f"] == 1.0
    assert entities(trained) == TEXTS
