"""The mean of two models of one history: weights of SECOND by SHARE, of FIRST by the rest.

    python training/average_models.py FIRST SECOND --share 0.6 --data CORPUS --out MODEL

SECOND was trained on from FIRST (``train.start_from``). Between two such models the mean is often
better than either: see "A mean of two exports" in docs/reference/en-small.md. Cards are SECOND's;
the settled state is made anew from the first held-out sentences of CORPUS. Stored in float16.
"""

import argparse
from pathlib import Path

import torch
from torch import nn

from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import settle_on
from elmokit.weights.load import load_pretrained
from elmokit.weights.native import write_native


@torch.no_grad()
def lean(first: nn.Module, second: nn.Module, share: float) -> None:
    """Make ``second`` the mean; both have the same parameters."""
    for one, other in zip(first.parameters(), second.parameters(), strict=True):
        other.copy_(torch.lerp(one.float(), other.float(), share))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--share", type=float, default=0.5, help="of SECOND")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    first, model = load_pretrained(options.first), load_pretrained(options.second)
    if first.config != model.config:
        raise SystemExit(f"{options.first} and {options.second}: differ in size; there is no mean")
    assert first.output_words is not None and model.output_words is not None
    lean(first.bilm, model.bilm, options.share)
    lean(first.output_words.softmax, model.output_words.softmax, options.share)
    settle_on(model, Corpus.open(options.data))
    write_native(model, options.out, "float16")
    print(f"wrote {options.out}")


if __name__ == "__main__":
    main()
