"""The explorer's endpoint: the same document as offline, and one sentence where there is none."""

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from fastapi.testclient import TestClient
from tiny_explorer import tiny_corpus_of_banks

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.explore.explorer import Explorer
from elmokit.recipe import to_plain
from elmokit.serve.app import create_app
from elmokit.serve.models import ServedModels


@pytest.fixture(scope="module")
def banks(models: ServedModels) -> Iterator[TestClient]:
    with TestClient(create_app(models, corpus=tiny_corpus_of_banks())) as client:
        yield client


def test_an_empty_request_is_answered_with_what_the_page_opens_on(banks: TestClient) -> None:
    answer = banks.post("/v1/explore", json={}).json()
    assert answer["format"] == "elmokit-exploration" and answer["is_live"]
    first, second = answer["explorations"]
    assert (first["model"]["name"], second["model"]["name"]) == ("tiny", "other")
    assert "bank" in [words["word"] for words in first["words"]]


def test_a_word_is_explored_as_offline(banks: TestClient, models: ServedModels) -> None:
    found = banks.post("/v1/explore", json={"words": ["bank"]}).json()["explorations"][0]
    encoder = BiLmEncoder(models.default.embedder)
    offline = Explorer(encoder, tiny_corpus_of_banks(), max_occurrences=300).explore(
        ["bank"], occurrences_with_neighbours=0
    )
    assert found["sentences"] == to_plain(offline.sentences)
    (ours,), (theirs,) = found["words"], to_plain(offline.words)
    for layer, other in zip(ours.pop("layers"), theirs.pop("layers"), strict=True):
        # Batches change the last digits of vectors, and so of points.
        np.testing.assert_allclose(layer["points"], other["points"], atol=2e-3)
        np.testing.assert_allclose(layer["variance"], other["variance"], atol=2e-3)
    np.testing.assert_allclose(ours.pop("similarity"), theirs.pop("similarity"), atol=1e-3)
    assert ours == theirs


def test_neighbours_of_a_token_are_found(banks: TestClient) -> None:
    near = [{"tokens": ["the", "bank", "of", "cats"], "place": 1}]
    found = banks.post("/v1/explore", json={"near": near}).json()["explorations"][0]
    assert [len(layer or []) for layer in found["neighbours"][0]["layers"]] == [0, 8, 8]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"words": ["zebra"]}, "'zebra' is not a token of a small text"),
        ({"sentences": ["a " * 101]}, "101 tokens is too long"),
        ({"near": [{"tokens": ["a"], "place": 1}]}, "no token 1 in a sentence of 1"),
        ({"sentences": ["\ud800"]}, "half of a surrogate pair"),
        ({"wrods": []}, "Extra inputs"),
    ],
)
def test_what_cannot_be_explored_is_refused(
    banks: TestClient, body: dict[str, Any], message: str
) -> None:
    answer = banks.post(
        "/v1/explore", content=json.dumps(body), headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert message in answer.json()["error"]["message"]


def test_the_page_itself_holds_no_data_and_the_key_guards_them(
    make_client: Callable[..., TestClient],
) -> None:
    with make_client(api_key="k", corpus=tiny_corpus_of_banks()) as client:
        page = client.get("/")
        assert page.status_code == 200 and '"explorations":[]' in page.text
        assert client.post("/v1/explore", json={}).status_code == 401
