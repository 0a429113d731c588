"""What a server refuses, and in which words; no request may be answered with a 500."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.serve.app import create_app
from elmokit.serve.limits import Limits
from elmokit.serve.models import ServedModels, open_models


def refused(client: TestClient, status: int, path: str = "/v1/embed", **request: Any) -> str:
    response = client.post(path, **request)
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["code"] == status
    return str(error["message"])


@pytest.mark.parametrize(
    "body",
    [
        {"input": 5},
        {"input": ["a", 5]},
        {"input": [["a", None]]},
        {"input": "a", "mix": "median"},
        {"input": "a", "mix": 9},
        {"input": "a", "mix": True},
        {"input": "a", "mix": {"weights": [1]}},
        {"input": "a", "mix": {"weights": [1, 2, 1e300]}},
        {"input": "a", "mix": {"weights": "abc"}},
        {"input": "a", "layers": [3]},
        {"input": "a", "layers": []},
        {"input": "a", "layers": [0], "mix": "sum"},
        {"input": "a", "pooling": "median"},
        {"input": "a", "pooling": ["mean"]},
        {"input": "a", "start": "warm"},
        {"input": "a", "start": {"a": 1}},
        {"input": "a", "misspelt": 1},
        {"input": "a", "model": 3},
        {},
        [],
    ],
)
def test_bad_input_is_422(client: TestClient, body: Any) -> None:
    refused(client, 422, json=body)


def test_the_sentence_is_that_of_the_library(client: TestClient, elmo: Embedder) -> None:
    with pytest.raises(InputError) as caught:
        elmo.embed(["a"], "median")  # type: ignore[arg-type]
    assert refused(client, 422, json={"input": "a", "mix": "median"}) == str(caught.value)
    with pytest.raises(InputError) as caught:
        elmo.embed(["a", 5])  # type: ignore[list-item]
    assert refused(client, 422, json={"input": ["a", 5]}) == str(caught.value)


def test_ids_of_tokens_are_refused_with_the_cure(client: TestClient) -> None:
    for given in ([1, 2], [[1, 2], [3]]):
        message = refused(client, 422, "/v1/embeddings", json={"input": given})
        assert "check_embedding_ctx_length=False" in message


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe{}", b'{"input": "\xff"}', b"{", b"[" * 5000, b'{"input": ' + b"9" * 5000 + b"}"],
)
def test_what_is_not_json_is_refused(client: TestClient, content: bytes) -> None:
    headers = {"content-type": "application/json"}
    response = client.post("/v1/embed", content=content, headers=headers)
    assert response.status_code in (400, 422), response.text
    assert response.json()["error"]["message"]


def test_half_a_surrogate_pair_is_no_text(client: TestClient) -> None:
    headers = {"content-type": "application/json"}
    for content in (b'{"input": "a \\ud800"}', b'{"input": [["\\udfff"]]}'):
        message = refused(client, 422, content=content, headers=headers)
        assert "not valid Unicode" in message
    content = b'{"sentence": "a *\\ud800*"}'
    assert client.post("/v1/neighbours", content=content, headers=headers).status_code == 404
    content = b'{"input": "a", "model": "\\ud800"}'
    assert refused(client, 404, content=content, headers=headers)


def test_too_many_tokens_are_413(client: TestClient) -> None:
    assert "tokens" in refused(client, 413, json={"input": ["a"] * 101})
    assert "tokens" in refused(client, 413, json={"input": ["a b c d e f"] * 20})
    message = refused(client, 413, json={"input": "a " * 41})
    assert "a sentence may have at most 40 tokens" in message


def test_ten_thousand_tiny_sentences_are_answered_within_the_default_limits(
    make_client: Callable[..., TestClient],
) -> None:
    with make_client(Limits()) as client:
        body = {"input": ["a"] * 10_000, "pooling": "mean"}
        response = client.post("/v1/embed", json=body, headers={"accept": "application/x-npy"})
    assert response.status_code == 200


def test_a_large_body_is_refused_unread(client: TestClient) -> None:
    assert "bytes" in refused(client, 413, content=b" " * 20_001)

    app: Any = client.app
    sent = 0

    async def ask() -> int:
        async def receive() -> Any:
            nonlocal sent
            sent += 1000
            return {"type": "http.request", "body": b" " * 1000, "more_body": True}

        statuses = []

        async def send(message: Any) -> None:
            statuses.append(message.get("status"))

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/v1/embed",
            "raw_path": b"/v1/embed",
            "query_string": b"",
            "headers": [(b"content-type", b"application/json")],
        }
        await app(scope, receive, send)
        return int(statuses[0])

    assert asyncio.run(ask()) == 413
    assert sent <= 21_000


def test_a_client_that_dawdles_is_given_up(models: ServedModels) -> None:
    app = create_app(models, Limits(body_seconds=1))

    async def drip() -> Any:
        yield b'{"input"'
        await asyncio.sleep(60)

    async def ask() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            headers = {"content-type": "application/json"}
            return await client.post("/v1/embed", content=drip(), headers=headers)

    assert asyncio.run(ask()).status_code == 408


def test_without_the_key_nothing_is_answered(make_client: Callable[..., TestClient]) -> None:
    with make_client(api_key="s3cret") as client:
        for given in (None, "Bearer wrong", "s3cret", "Bearer ", "Basic s3cret"):
            headers = {} if given is None else {"authorization": given}
            response = client.post("/v1/embed", json={"input": "a"}, headers=headers)
            assert response.status_code == 401
            assert response.headers["www-authenticate"] == "Bearer"
            assert client.get("/v1/models", headers=headers).status_code == 401
        key = {"authorization": "Bearer s3cret"}
        assert client.post("/v1/embed", json={"input": "a"}, headers=key).status_code == 200
        for path in ("/live", "/ready", "/metrics", "/docs", "/"):
            assert client.get(path).status_code == 200
        assert "tiny" not in client.get("/").text


def test_browsers_of_other_origins_are_let_in_only_if_asked(
    client: TestClient, make_client: Callable[..., TestClient]
) -> None:
    headers = {"origin": "https://page.example"}
    assert "access-control-allow-origin" not in client.get("/live", headers=headers).headers
    with make_client(cors_origins=["https://page.example"], api_key="k") as open_client:
        allowed = open_client.get("/live", headers=headers).headers
        assert allowed["access-control-allow-origin"] == "https://page.example"
        preflight = {
            **headers,
            "access-control-request-method": "POST",
            "access-control-request-headers": "authorization,content-type",
        }
        assert open_client.options("/v1/embed", headers=preflight).status_code == 200


@pytest.mark.parametrize(
    "name", ["../tiny", "/etc/passwd", "..%2f..%2fetc", "tiny/../other", "", "TINY", "tiny\x00"]
)
def test_only_served_models_can_be_asked_for(client: TestClient, name: str) -> None:
    message = refused(client, 404, json={"input": "a", "model": name})
    assert message == "there is no model of this name; the models are tiny, other"


def test_no_answer_names_a_path_of_the_server(model: Path) -> None:
    with TestClient(create_app(open_models([str(model)]))) as client:
        answers = [
            client.get("/v1/models"),
            client.get("/"),
            client.get("/metrics"),
            client.get(f"/v1/models/{model}"),
            client.post("/v1/predict", json={"text": "a ___"}),
            client.post("/v1/embed", json={"input": "a", "mix": 9}),
        ]
    assert answers[0].json()["data"][0]["id"] == "tiny"
    for answer in answers:
        assert str(model.parent) not in answer.text


def test_two_models_of_one_name_are_refused_at_the_start(model: Path) -> None:
    with pytest.raises(InputError, match="two models are called tiny; give one of them as  NAME="):
        open_models([str(model), str(model)])
    assert open_models([str(model), f"again={model}"]).names == ["tiny", "again"]


def test_an_overloaded_server_says_when_to_come_back(
    models: ServedModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = create_app(models, Limits(request_tokens=20, queue_tokens=20))

    async def ask_all() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://test") as client,
        ):
            asks = [client.post("/v1/embed", json={"input": "a b c d e f"}) for _ in range(40)]
            return await asyncio.gather(*asks)

    responses = asyncio.run(ask_all())
    statuses = {response.status_code for response in responses}
    assert statuses == {200, 429}
    for response in responses:
        if response.status_code == 429:
            assert int(response.headers["retry-after"]) >= 1
            assert "overloaded" in response.json()["error"]["message"]


def test_limits_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InputError, match="would never fit into a queue"):
        Limits(request_tokens=100, queue_tokens=50)
    with pytest.raises(InputError, match="batch_tokens must be positive"):
        Limits(batch_tokens=0)


def test_a_defect_is_a_500_that_tells_nothing(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: Any) -> Any:
        raise RuntimeError("/secret/path")

    monkeypatch.setattr("elmokit.serve.app.read_query", fail)
    response = client.post("/v1/embed", json={"input": "a"})
    assert response.status_code == 500
    assert "secret" not in response.text
    assert json.loads(response.text)["error"]["type"] == "server_error"
