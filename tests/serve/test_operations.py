"""What a server tells those who run it."""

import re
import subprocess
import sys

from fastapi.testclient import TestClient

from elmokit.embed.embedder import Embedder
from elmokit.serve.app import create_app
from elmokit.serve.models import ServedModels


def test_models_are_listed_with_the_default_first(client: TestClient, elmo: Embedder) -> None:
    first, second = client.get("/v1/models").json()["data"]
    assert (first["id"], second["id"]) == ("tiny", "other")
    assert first["dim"] == elmo.dim
    assert first["num_layers"] == elmo.num_layers
    assert first["fingerprint"] == elmo.fingerprint != second["fingerprint"]
    assert client.get("/v1/models/other").json() == second
    assert client.get("/v1/models/none").status_code == 404


def test_it_is_ready_when_the_models_are_warm_until_it_drains(models: ServedModels) -> None:
    app = create_app(models)
    cold = TestClient(app)
    assert cold.get("/live").status_code == 200
    assert cold.get("/ready").status_code == 503
    with TestClient(app) as warm:
        assert warm.get("/ready").status_code == 200
        app.state.service.readiness.is_draining = True
        assert warm.get("/ready").status_code == 503
        answer = warm.post("/v1/embed", json={"input": "a"})
        assert answer.status_code == 200
        assert answer.headers["connection"] == "close"


def test_metrics_count_requests_and_tokens(models: ServedModels) -> None:
    with TestClient(create_app(models)) as client:
        client.post("/v1/embed", json={"input": "a b c"})
        client.post("/v1/embed", json={"input": 5})
        client.get("/no/such/path")
        text = client.get("/metrics").text
    assert 'elmokit_requests_total{route="/v1/embed",status="200"} 1.0' in text
    assert 'elmokit_requests_total{route="/v1/embed",status="422"} 1.0' in text
    assert 'elmokit_requests_total{route="other",status="404"} 1.0' in text
    assert "elmokit_tokens_total 7.0" in text  # three, and two for each model to warm it
    assert "elmokit_queued_tokens 0.0" in text


def test_the_page_is_the_explorer_and_leads_to_the_documentation(client: TestClient) -> None:
    page = client.get("/").text
    assert "<title>elmokit explorer</title>" in page
    assert 'href: "docs"' in page


def test_the_documentation_loads_nothing_from_elsewhere(client: TestClient) -> None:
    page = client.get("/docs").text
    addresses = re.findall(r"""(?:src|href)=["']([^"']+)""", page)
    assert len(addresses) >= 3
    for address in addresses:
        assert address.startswith("/"), address
        assert client.get(address).status_code == 200


def test_without_the_extra_the_command_names_it() -> None:
    program = "import sys; sys.modules['fastapi'] = None; from elmokit.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "serve"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "elmokit: elmokit serve needs fastapi: install it with  pip install 'elmokit[serve]'"
    ]
