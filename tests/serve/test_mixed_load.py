"""A response is that of the offline ``embed``, whatever it was batched with."""

import asyncio
import random

import httpx
import numpy as np

from elmokit.embed.embedder import Embedder
from elmokit.serve.app import create_app
from elmokit.serve.limits import Limits
from elmokit.serve.models import ServedModel, ServedModels

LIMITS = Limits(batch_tokens=128, wait_ms=1)


def test_answers_do_not_depend_on_batch_mates(elmo: Embedder, models: ServedModels) -> None:
    draw = random.Random(5)
    vocabulary = [f"w{number}" for number in range(40)]
    requests = []
    for number in range(100):
        sizes = [draw.randint(0, 30) for _ in range(draw.choice((1, 1, 4, 9)))]
        texts = [draw.choices(vocabulary, k=size) for size in sizes]
        requests.append((texts, ("average", "concat", 0, "top")[number % 4], number % 3 == 0))
    app = create_app(models, LIMITS)

    async def ask_all() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with (
            app.router.lifespan_context(app),
            httpx.AsyncClient(transport=transport, base_url="http://test") as client,
        ):
            return await asyncio.gather(
                *(
                    client.post(
                        "/v1/embed",
                        json={
                            "input": texts,
                            "mix": mix,
                            "start": "settled" if is_settled else "fresh",
                            "model": "tiny" if number % 5 else "other",
                        },
                    )
                    for number, (texts, mix, is_settled) in enumerate(requests)
                )
            )

    by_name: dict[str, ServedModel] = {model.name: model for model in models}
    for response, (texts, mix, is_settled) in zip(asyncio.run(ask_all()), requests, strict=True):
        assert response.status_code == 200, response.text
        answer = response.json()
        offline = by_name[answer["model"]].embedder
        start = "settled" if is_settled else "fresh"
        vectors_of_all = offline.embed(texts, mix, start=start)  # type: ignore[arg-type]
        for result, expected in zip(answer["results"], vectors_of_all, strict=True):
            vectors = np.array(result["vectors"], dtype=np.float32).reshape(expected.shape)
            np.testing.assert_allclose(vectors, expected, atol=1e-5, rtol=0)
