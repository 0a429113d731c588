"""Is the sampled softmax a good stand-in? Train with it and with the full one, compare perplexity.

    python benchmarks/quality/negatives.py --data DATA [--negatives 500] [--tokens 1500000]

DATA is prepared with a vocabulary of 5,000 words (`elmokit prepare ... --vocabulary-size 5000`).
Both runs see the same tokens from the same start; perplexity is by the full softmax on all
held-out text.
"""

import argparse
import tempfile
from pathlib import Path

from elmokit.pretrain.config import read_recipe
from elmokit.pretrain.training.run import train


def perplexity(data: Path, out: Path, negatives: int, tokens: int) -> float:
    settings = [f"train.num_negatives={negatives}", f"train.max_tokens={tokens}",
                "train.num_epochs=50.0", "train.evaluate_every=1000000"]  # fmt: skip
    result = train(read_recipe("tiny", settings), data, out)
    assert result.perplexity is not None
    return result.perplexity.mean


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--negatives", type=int, default=500)
    parser.add_argument("--tokens", type=int, default=1_500_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        full = perplexity(options.data, Path(folder, "full"), 0, options.tokens)
        sampled = perplexity(
            options.data, Path(folder, "sampled"), options.negatives, options.tokens
        )
    print(
        f"held-out perplexity after {options.tokens:,} tokens: full softmax {full:.2f}, "
        f"{options.negatives} negatives {sampled:.2f} ({sampled / full - 1:+.1%})"
    )


if __name__ == "__main__":
    main()
