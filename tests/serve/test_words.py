"""/v1/predict, /v1/surprisal and /v1/neighbours."""

from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from elmokit.analysis.words.index import open_index
from elmokit.errors import InputError
from elmokit.pretrain.predict import predict
from elmokit.pretrain.surprisal.measure import surprisal
from elmokit.serve.app import create_app
from elmokit.serve.models import ServedModels, open_models
from elmokit.weights.load import load_pretrained


def test_predictions_are_those_of_the_library(bilm_tf: Path) -> None:
    with TestClient(create_app(open_models([f"words={bilm_tf}"]))) as client:
        answer = client.post("/v1/predict", json={"text": "the ___ sat", "top": 2}).json()
    expected = predict(load_pretrained(bilm_tf), "the ___ sat", 2)
    assert answer["model"] == "words"
    assert (answer["left"], answer["right"]) == (["the"], ["sat"])
    for side in ("forward", "backward", "combined"):
        words, scores = zip(*getattr(expected, side), strict=True)
        assert [guess["word"] for guess in answer[side]] == list(words)
        found = [guess["log_probability"] for guess in answer[side]]
        assert found == pytest.approx(scores, abs=1e-5)


def test_surprisal_is_that_of_the_library(bilm_tf: Path) -> None:
    texts = ["The cat sat. The zebra sat.", ["the", "cat"], ""]
    body = {"input": texts, "split_sentences": True}
    with TestClient(create_app(open_models([f"words={bilm_tf}"]))) as client:
        answer = client.post("/v1/surprisal", json=body).json()
    first, second, empty = answer["results"]
    sentences = [["The", "cat", "sat", "."], ["The", "zebra", "sat", "."]]
    assert first["tokens"] == [*sentences[0], *sentences[1]]
    assert first["sentences"] == [[0, 4], [4, 8]]
    assert second["offsets"] is None and empty["tokens"] == []
    *expected, last = surprisal(load_pretrained(bilm_tf), [*sentences, ["the", "cat"]])
    for side in ("forward", "backward", "combined"):
        bits = [bit for each in expected for bit in getattr(each, side).bits.tolist()]
        found = [float("nan") if bit is None else bit for bit in first[side]["bits"]]
        assert found == pytest.approx(bits, abs=1e-5, nan_ok=True)
        assert second[side]["rank"] == getattr(last, side).rank.tolist()
    assert first["is_unknown"] == [flag for each in expected for flag in each.is_unknown.tolist()]


def test_a_text_without_a_blank_is_refused_in_the_words_of_the_library(bilm_tf: Path) -> None:
    with TestClient(create_app(open_models([str(bilm_tf)]))) as client:
        response = client.post("/v1/predict", json={"text": "the cat"})
    assert response.status_code == 422
    assert response.json()["error"]["message"].startswith("there is no blank in 'the cat'")


def test_a_model_without_a_softmax_says_so(client: TestClient) -> None:
    response = client.post("/v1/predict", json={"text": "the ___"})
    assert response.status_code == 422
    assert response.json()["error"]["message"].startswith("tiny: this model has no softmax")


def test_neighbours_come_from_the_index(models: ServedModels, tiny_index: Path) -> None:
    served = ServedModels(list(models), open_index(tiny_index))
    with TestClient(create_app(served)) as client:
        body = {"sentence": "the *cat* sat", "top": 2}
        answer = client.post("/v1/neighbours", json=body).json()
        wrong = client.post("/v1/neighbours", json={**body, "layer": 7})
    assert answer["place"] == 1
    assert len(answer["neighbours"]) == 2
    assert answer["neighbours"][0]["tokens"] != ["the", "cat", "sat"]
    assert len({word["word"] for word in answer["static"]} - {"cat"}) == 2
    assert wrong.status_code == 422
    assert "the index: holds layers 1, 2, not 7" in wrong.text
    assert "secret" not in wrong.text


def test_without_an_index_there_are_no_neighbours(client: TestClient) -> None:
    response = client.post("/v1/neighbours", json={"sentence": "a *b*"})
    assert response.status_code == 404
    assert "--index" in response.json()["error"]["message"]


def test_an_index_of_another_model_is_refused_at_the_start(
    models: ServedModels, tiny_index: Path
) -> None:
    others = [model for model in models if model.name == "other"]
    with pytest.raises(InputError, match="was made with another model"):
        ServedModels(others, open_index(tiny_index))
