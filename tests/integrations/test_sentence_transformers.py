"""ElmoModule inside a real SentenceTransformer: encode, train a head, save."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

pytest.importorskip("sentence_transformers", reason="needs elmokit[sentence-transformers]")

from sentence_transformers import SentenceTransformer
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.modules import Pooling
from torch import nn

import elmokit
from elmokit import InputError
from elmokit.integrations.sentence_transformers import ElmoModule

TEXTS = ["The cat sat on the mat.", "", "Yes", "It can't be here!"]


def encoder(*modules: nn.Module) -> SentenceTransformer:
    return SentenceTransformer(modules=list(modules), device="cpu")


@pytest.mark.parametrize("mix", ["learned", "average", "concat", -1])
@pytest.mark.parametrize("pooling", ["mean", "max", "ends"])
def test_sentences_are_those_of_pool(model: Path, mix: Any, pooling: Any) -> None:
    module = ElmoModule(model, mix=mix, pooling=pooling)
    vectors = encoder(module).encode(TEXTS)
    wanted = "average" if mix == "learned" else mix
    assert np.allclose(vectors, elmokit.load(model).pool(TEXTS, pooling, wanted), atol=1e-5)
    assert vectors.shape[1] == module.get_embedding_dimension()


def test_token_vectors_are_those_of_embed(model: Path) -> None:
    tokens = encoder(ElmoModule(model)).encode(TEXTS[:1], output_value="token_embeddings")
    (expected,) = elmokit.load(model).embed(TEXTS[:1])
    assert np.allclose(tokens[0].numpy(), expected, atol=1e-5)


def test_nothing_but_empty_texts_gives_zeros(model: Path) -> None:
    assert not encoder(ElmoModule(model, pooling="max")).encode(["", ""]).any()


def test_sentence_transformers_own_pooling_may_follow(model: Path) -> None:
    vectors = encoder(ElmoModule(model, pooling="max"), Pooling(8, "mean")).encode(TEXTS[:1])
    assert np.allclose(vectors, elmokit.load(model).pool(TEXTS[:1]), atol=1e-5)


def steps(model: SentenceTransformer, number: int) -> list[float]:
    """Towards a vector of constants; the losses."""
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=0.05)
    losses = []
    for _ in range(number):
        features = model.preprocess(["a good film", "a bad film"])
        loss = (model(features)["sentence_embedding"] - 0.5).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_head_and_the_mix_train_and_the_bilm_stays(model: Path) -> None:
    module = ElmoModule(model)
    before = {name: value.clone() for name, value in module.elmo.bilm.state_dict().items()}
    losses = steps(encoder(module, Dense(8, 4)), 30)
    assert losses[-1] < losses[0] / 4
    assert len(set(module.mix_weights)) == 3
    after = module.elmo.bilm.state_dict()
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_a_trainable_bilm_trains_and_encodes_with_its_new_weights(model: Path) -> None:
    module = ElmoModule(model, trainable=True, mix="average")
    old = encoder(module).encode(TEXTS[:1])
    losses = steps(encoder(module), 5)
    assert losses[-1] < losses[0]
    new = encoder(module).encode(TEXTS[:1])
    assert not np.allclose(new, old, atol=1e-3)
    with torch.enable_grad():
        features = module(module.preprocess(TEXTS[:1]))
    assert np.allclose(features["sentence_embedding"].detach().numpy(), new, atol=1e-5)


@pytest.mark.parametrize("is_trained", [False, True])
def test_a_saved_encoder_gives_the_same_vectors(
    model: Path, tmp_path: Path, is_trained: bool
) -> None:
    original = encoder(ElmoModule(model, trainable=True, pooling="ends"), Dense(8, 4))
    if is_trained:
        steps(original, 5)
    original.save(str(tmp_path / "encoder"))
    copy = SentenceTransformer(str(tmp_path / "encoder"), device="cpu", trust_remote_code=True)
    assert np.allclose(copy.encode(TEXTS), original.encode(TEXTS), atol=1e-6)
    assert copy[0].trainable
    assert elmokit.load(tmp_path / "encoder" / "elmo").num_layers == 3


def test_the_trainer_trains_it(model: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets", reason="the Trainer needs datasets")
    pytest.importorskip("accelerate", reason="the Trainer needs accelerate")
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.sentence_transformer.losses import CosineSimilarityLoss

    student = encoder(ElmoModule(model), Dense(8, 4))
    before = student[1].linear.weight.clone()
    data = datasets.Dataset.from_dict(
        {"first": ["a cat", "a film"], "second": ["a dog", "a rock"], "label": [1.0, 0.0]}
    )
    arguments = SentenceTransformerTrainingArguments(
        str(tmp_path), max_steps=2, report_to=[], save_strategy="no", learning_rate=0.1
    )
    SentenceTransformerTrainer(
        student, arguments, train_dataset=data, loss=CosineSimilarityLoss(student)
    ).train()
    assert not torch.equal(before, student[1].linear.weight)


def test_pairs_and_bad_settings_are_refused(model: Path) -> None:
    with pytest.raises(InputError, match="single texts, not pairs"):
        ElmoModule(model).preprocess([("a", "b")])
    with pytest.raises(InputError, match="pooling must be mean, max or ends"):
        ElmoModule(model, pooling="cls")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="mix asks for layer 3"):
        ElmoModule(model, mix=3)
