"""Whatever fits the OpenAPI schema, and much that does not, is answered without a 500.

Ten thousand cases:  ELMOKIT_SCHEMA_CASES=10000 pytest tests/serve/test_schema.py
"""

import json
import os
from typing import Any

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

CASES = int(os.environ.get("ELMOKIT_SCHEMA_CASES", "120"))


@pytest.mark.parametrize("has_all", [True, False], ids=["all", "vectors alone"])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/embed"),
        ("POST", "/v1/embeddings"),
        ("POST", "/v1/predict"),
        ("POST", "/v1/surprisal"),
        ("POST", "/v1/neighbours"),
        ("POST", "/v1/explore"),
        ("GET", "/v1/models/{name}"),
    ],
)
def test_no_request_is_answered_with_a_500(
    client: TestClient, complete_client: TestClient, has_all: bool, method: str, path: str
) -> None:
    client = complete_client if has_all else client
    schema = schemathesis.openapi.from_dict(client.get("/openapi.json").json())
    operation = schema[path][method]
    strategies = st.one_of(
        *(
            operation.as_strategy(generation_mode=mode)
            for mode in (
                schemathesis.GenerationMode.POSITIVE,
                schemathesis.GenerationMode.NEGATIVE,
            )
        )
    )

    @settings(
        max_examples=max(CASES // 7, 1),
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategies)
    def check(case: schemathesis.Case) -> None:
        arguments = case.as_transport_kwargs(base_url="http://testserver")
        response = client.request(
            arguments["method"],
            arguments["url"],
            params=arguments.get("params"),
            headers=arguments.get("headers"),
            content=_content(arguments),
        )
        assert response.status_code < 500, (arguments, response.text)

    check()


def _content(arguments: dict[str, Any]) -> bytes | None:
    if "json" in arguments:
        return json.dumps(arguments["json"]).encode()
    data: str | bytes | None = arguments.get("data")
    return data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
