"""/v1/embed: the vectors of the library, in every form."""

import base64
import io
import json
from typing import Any

import numpy as np
import pyarrow
import pytest
from fastapi.testclient import TestClient

from elmokit.embed.embedder import Embedder
from elmokit.embed.mix import Mix

TEXTS = ["I like apples.", ["So", "do", "I"], ""]


def embed(client: TestClient, accept: str | None = None, **body: Any) -> Any:
    headers = {"accept": accept} if accept else {}
    response = client.post("/v1/embed", json=body, headers=headers)
    assert response.status_code == 200, response.text
    return response


def test_tokens_offsets_and_vectors_are_those_of_embed_text(
    client: TestClient, elmo: Embedder
) -> None:
    answer = embed(client, input=TEXTS).json()
    assert answer["model"] == "tiny"
    assert answer["usage"] == {"tokens": 7}
    for result, text in zip(answer["results"], elmo.embed_text(TEXTS), strict=True):
        assert result["tokens"] == text.tokens
        offsets = None if text.offsets is None else [list(pair) for pair in text.offsets]
        assert result["offsets"] == offsets
        vectors = np.array(result["vectors"], dtype=np.float32).reshape(text.vectors.shape)
        np.testing.assert_allclose(vectors, text.vectors, atol=1e-5)


def test_one_string_is_one_text(client: TestClient) -> None:
    (result,) = embed(client, input="I like it").json()["results"]
    assert result["tokens"] == ["I", "like", "it"]


def test_sentences_of_a_text_can_be_read_on_their_own(client: TestClient, elmo: Embedder) -> None:
    text = "It rained. We stayed in."
    (result,) = embed(client, input=[text], split_sentences=True).json()["results"]
    (expected,) = elmo.embed_text([text], split_sentences=True)
    assert result["sentences"] == [[0, 3], [3, 7]]
    np.testing.assert_allclose(result["vectors"], expected.vectors, atol=1e-5)


@pytest.mark.parametrize(
    ("given", "mix"),
    [
        ("sum", "sum"),
        ("concat", "concat"),
        (-1, -1),
        ({"weights": [1, 2, 3], "gamma": 0.5}, Mix((1, 2, 3), 0.5)),
    ],
)
def test_mixes_are_those_of_the_library(
    client: TestClient, elmo: Embedder, given: Any, mix: Any
) -> None:
    (result,) = embed(client, input="a b", mix=given).json()["results"]
    np.testing.assert_allclose(result["vectors"], elmo.embed(["a b"], mix)[0], atol=1e-5)


def test_layers_come_side_by_side(client: TestClient, elmo: Embedder) -> None:
    (result,) = embed(client, input="a b", layers=[0, -1]).json()["results"]
    np.testing.assert_allclose(result["vectors"], elmo.layers(["a b"])[0][[0, 2]], atol=1e-5)


@pytest.mark.parametrize("how", ["mean", "max", "ends"])
def test_pooling_gives_one_vector_per_text(client: TestClient, elmo: Embedder, how: Any) -> None:
    results = embed(client, input=TEXTS, pooling=how).json()["results"]
    vectors = [result["vectors"] for result in results]
    np.testing.assert_allclose(vectors, elmo.pool(TEXTS, how), atol=1e-5)


def test_layers_can_be_pooled(client: TestClient, elmo: Embedder) -> None:
    (result,) = embed(client, input="a b", layers="all", pooling="mean").json()["results"]
    np.testing.assert_allclose(result["vectors"], elmo.layers(["a b"])[0].mean(axis=1), atol=1e-5)


def test_the_model_is_chosen_by_name(client: TestClient) -> None:
    one = embed(client, input="a", model="tiny").json()["results"][0]["vectors"]
    other = embed(client, input="a", model="other").json()["results"][0]["vectors"]
    assert one != other


def test_base64_holds_the_same_numbers(client: TestClient, elmo: Embedder) -> None:
    answer = embed(client, "application/json; encoding=base64", input=["a b c", ""]).json()
    assert answer["results"][1]["vectors"]["shape"] == [0, elmo.dim]
    array = answer["results"][0]["vectors"]
    flat = np.frombuffer(base64.b64decode(array["base64"]), dtype="<f4")
    expected = elmo.embed(["a b c"])[0]
    assert array["dtype"] == "float32"
    np.testing.assert_allclose(flat.reshape(array["shape"]), expected, atol=1e-5)


def test_npy_holds_one_array(client: TestClient, elmo: Embedder) -> None:
    body = embed(client, "application/x-npy", input=["a b c"]).content
    np.testing.assert_allclose(np.load(io.BytesIO(body)), elmo.embed(["a b c"])[0], atol=1e-5)
    body = embed(client, "application/x-npy", input=["a", "b"], pooling="mean").content
    assert np.load(io.BytesIO(body)).shape == (2, elmo.dim)
    for texts in (["a", "b"], []):
        accept = {"accept": "application/x-npy"}
        refused = client.post("/v1/embed", json={"input": texts}, headers=accept)
        assert refused.status_code == 422
        assert "accept application/x-npz" in refused.json()["error"]["message"]


def test_npz_holds_an_array_for_each_text_and_their_tokens(
    client: TestClient, elmo: Embedder
) -> None:
    arrays = np.load(io.BytesIO(embed(client, "application/x-npz", input=TEXTS).content))
    for number, vectors in enumerate(elmo.embed(TEXTS)):
        np.testing.assert_allclose(arrays[str(number)], vectors, atol=1e-5)
    assert json.loads(arrays["tokens"][0])["1"] == ["So", "do", "I"]


def test_arrow_has_one_row_per_token(client: TestClient, elmo: Embedder) -> None:
    body = embed(client, "application/vnd.apache.arrow.stream", input=TEXTS).content
    table = pyarrow.ipc.open_stream(body).read_all()
    assert table["token"].to_pylist() == ["I", "like", "apples", ".", "So", "do", "I"]
    assert table["start"].to_pylist() == [0, 2, 7, 13, None, None, None]
    vectors = np.array(table["vector"].to_pylist(), dtype=np.float32)
    np.testing.assert_allclose(vectors, np.concatenate(elmo.embed(TEXTS)), atol=1e-5)


def test_a_stream_has_one_line_per_text_and_no_limit_of_tokens(
    client: TestClient, elmo: Embedder
) -> None:
    texts = [f"word number {number}" for number in range(60)]  # 180 tokens, 100 are allowed
    lines = embed(client, "application/x-ndjson", input=texts).text.splitlines()
    answers = [json.loads(line) for line in lines]
    assert [answer["index"] for answer in answers] == list(range(60))
    for answer, vectors in zip(answers, elmo.embed(texts), strict=True):
        np.testing.assert_allclose(answer["vectors"], vectors, atol=1e-5)


def test_a_stream_that_fails_midway_ends_with_the_error(client: TestClient) -> None:
    texts = ["a b c"] * 20 + ["too long " * 40]
    lines = embed(client, "application/x-ndjson", input=texts).text.splitlines()
    assert json.loads(lines[-1])["error"]["code"] == 413
    assert len(lines) < 22


@pytest.mark.parametrize(
    "accept",
    ["json", "json; encoding=base64", "x-npz", "vnd.apache.arrow.stream", "x-ndjson"],
)
def test_every_form_holds_nothing_at_all_and_empty_texts(client: TestClient, accept: str) -> None:
    for texts in ([], [""], [[]], ["", "a"]):
        for pooling in (None, "mean"):
            for layers in (None, "all"):
                body = {"input": texts, "pooling": pooling, "layers": layers}
                embed(client, f"application/{accept}", split_sentences=True, **body)


def test_a_large_answer_is_written_in_pieces(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, elmo: Embedder
) -> None:
    monkeypatch.setattr("elmokit.serve.app.STREAMED_BYTES", 10)
    response = embed(client, input=["a b", "c"])
    assert "content-length" not in response.headers
    results = response.json()["results"]
    np.testing.assert_allclose(results[1]["vectors"], elmo.embed(["c"])[0], atol=1e-5)


def test_the_client_may_weigh_what_it_accepts(client: TestClient) -> None:
    response = embed(client, "text/html, application/x-npz;q=0.9, */*;q=0.1", input=["a"])
    assert response.headers["content-type"] == "application/x-npz"
    refused = client.post("/v1/embed", json={"input": "a"}, headers={"accept": "text/html"})
    assert refused.status_code == 406
    assert "application/x-ndjson" in refused.json()["error"]["message"]
