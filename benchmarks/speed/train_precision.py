"""Training steps of en-small's sizes by precision, in turns, and how far their losses are apart.

    python benchmarks/speed/train_precision.py CORPUS [--steps 8] [--precisions float32 int16]

Every precision trains its own copy of the same model on the same batches, one step of each in
turn, with the second loss if --vectors names a folder of GloVe. CORPUS: a folder made by
`elmokit prepare` with a vocabulary of at least 2,048 words.
"""

import argparse
import copy
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.pretrain.config import PRECISIONS, read_recipe
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.distributed import World
from elmokit.pretrain.training.initial_weights import first_weights
from elmokit.pretrain.training.loop import Trainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--precisions", nargs="+", default=["float32", "int16"], choices=PRECISIONS)
    parser.add_argument("--start-from", default="", help="a model, such as en-small")
    parser.add_argument("--vectors", default="")
    options = parser.parse_args()
    corpus = Corpus.open(options.corpus)
    recipe = read_recipe("small")
    train = replace(
        recipe.train,
        start_from=options.start_from,
        vectors=options.vectors,
        context=0.3 if options.vectors else 0.0,
    )
    torch.manual_seed(train.seed)
    bilm, softmax = first_weights(replace(recipe, train=train), corpus)
    with tempfile.TemporaryDirectory() as folder:
        trainers = {
            precision: Trainer(
                replace(recipe, train=replace(train, precision=precision)),
                corpus, Path(folder), World(), copy.deepcopy(bilm), copy.deepcopy(softmax),
            )
            for precision in options.precisions
        }  # fmt: skip
        seconds: dict[str, list[float]] = {precision: [] for precision in trainers}
        losses: dict[str, float] = {}
        for step in range(options.steps + 1):
            for precision, trainer in trainers.items():
                batch = trainer.maker.at(*next(iter(trainer.budget.positions(step))))
                started = time.perf_counter()
                result = trainer._advance(batch)
                if step > 0:  # the first step warms up
                    seconds[precision].append(time.perf_counter() - started)
                losses[precision] = (result.forward_loss + result.backward_loss) / 2
    tokens = train.batch_size * train.window
    medians = {precision: statistics.median(times) for precision, times in seconds.items()}
    first = medians[options.precisions[0]]
    print(f"{torch.get_num_threads()} threads, {options.steps} steps of {tokens:,} tokens")
    for precision, median in medians.items():
        print(
            f"{precision}: {tokens / median:,.0f} tokens/s, {first / median:.2f} x "
            f"{options.precisions[0]}; loss of the last step {losses[precision]:.5f}"
        )


if __name__ == "__main__":
    main()
