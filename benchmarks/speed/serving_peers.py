"""What `elmokit serve` is measured against: the same model in a plain FastAPI handler.

One request is one call of ``embed`` in FastAPI's thread pool: no batching, no queue, no limits.

    python benchmarks/speed/serving_peers.py PORT MODEL
"""

import base64
import sys
from typing import Any

import orjson
import uvicorn
from fastapi import FastAPI, Response

import elmokit


def plain_app(model: str) -> FastAPI:
    elmo = elmokit.load(model)
    app = FastAPI()

    @app.get("/ready")
    def ready() -> dict[str, str]:
        return {"status": "ready"}

    @app.post("/v1/embed")
    def embed(body: dict[str, Any]) -> Response:
        results = [
            {
                "tokens": text.tokens,
                "offsets": text.offsets,
                "vectors": {
                    "shape": text.vectors.shape,
                    "base64": base64.b64encode(text.vectors.data.cast("B")).decode(),
                },
            }
            for text in elmo.embed_text(body["input"])
        ]
        return Response(orjson.dumps({"results": results}), media_type="application/json")

    return app


if __name__ == "__main__":
    uvicorn.run(plain_app(sys.argv[2]), port=int(sys.argv[1]), log_level="warning")
