"""What does ELMo cost a task model? Epochs with cached layers against a fixed random vector.

    python benchmarks/speed/tasks.py DATA                          # all six
    python benchmarks/speed/tasks.py DATA --tasks ner --examples 300 --repeats 3

DATA is the folder with wnut17, sst, nli ... unpacked. Both models have the `cpu` recipe and read
vectors of the same width at the same places, with the same dropout; they differ in where the
vectors come from: layers on disk, mixed, or a table of random vectors. The epochs are timed in
turns, in one process. The biLM has random weights: its layers cost the same to read.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.embed.chunks import shuffled_batches
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm
from elmokit.tasks.data.benchmark_sets import FOLDERS, benchmark_splits
from elmokit.tasks.inputs.layer_cache import LayerCache
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import build_word_table
from elmokit.tasks.run import configured
from elmokit.tasks.task import find_task
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.pretrained import PretrainedModel

LIMIT = 1.15
"""Issue 5: an epoch with ELMo costs at most this much of the other."""


class Cost(NamedTuple):
    """Seconds. On a machine shared with others, the CPU's are the ones to trust."""

    wall: float
    cpu: float


class RandomLayer:
    """A LayerSource of one layer: a fixed random vector per word, whatever its context."""

    num_layers = 1
    fingerprint = ""

    def __init__(self, dim: int) -> None:
        self.dim = dim
        self.table = torch.randn(10_000, dim)
        self.table[0] = 0  # where there is no token

    def layers(self, sentences: Sequence[Sequence[str]]) -> Tensor:
        """(B, 1, T, D)."""
        rows = [[1 + hash(t) % (len(self.table) - 1) for t in sentence] for sentence in sentences]
        ids = pad_sequence([torch.tensor(row, dtype=torch.long) for row in rows], True)
        return self.table[ids][:, None]


class TheLayer(nn.Module):
    """In the place of a mix, where there is one layer and nothing to be mixed."""

    def forward(self, layers: Tensor) -> Tensor:
        return layers[:, 0]

    def penalty(self) -> Tensor:
        return torch.zeros(())


class Trainer:
    """A task model and one epoch of its training."""

    def __init__(self, name: str, settings: list[str], source: Any, examples: list[Any]) -> None:
        self.examples = examples
        self.task = find_task(name)
        config = configured(name, "cpu", settings)
        torch.manual_seed(1)
        tokens = [t for e in examples for s in self.task.sentences(e) for t in s]
        vectors: Any = TokenVectors(config, build_word_table(config.words, tokens), source)
        for place in ("input_mix", "output_mix"):
            if source.num_layers == 1 and getattr(vectors, place) is not None:
                setattr(vectors, place, TheLayer())
        self.model: Any = self.task.build(config.model, vectors, self.task.labels(examples))
        self.optimiser = torch.optim.Adam(self.model.parameters())
        lengths = [self.task.num_tokens(example) for example in examples]
        fit = config.fit
        self.batches = shuffled_batches(lengths, fit.batch_size, fit.max_batch_tokens, 1, 0)

    def epoch(self) -> Cost:
        """One pass; the same batches every time."""
        self.model.train()
        wall, cpu = time.perf_counter(), time.process_time()
        for batch in self.batches:
            loss = self.model.loss([self.examples[number] for number in batch])
            self.optimiser.zero_grad()
            (loss + self.model.vectors.penalty()).backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimiser.step()
        return Cost(time.perf_counter() - wall, time.process_time() - cpu)


def random_elmo(projection_dim: int) -> Embedder:
    torch.manual_seed(0)
    config = ModelConfig(
        lstm=LstmConfig(dim=2 * projection_dim, projection_dim=projection_dim),
        char_cnn=CharCnnConfig(filters=((1, 16), (2, 16), (3, 32)), num_highway=1),
    )
    return Embedder(PretrainedModel(BiLm(config), TokenIndexer.utf8(), "native", "random"))


def compare(name: str, options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    num_examples = options.examples // 50 if name == "coref" else options.examples
    examples = benchmark_splits(name, options.data).train[:num_examples]
    elmo = random_elmo(options.projection)
    cache = LayerCache(elmo, folder)
    task = find_task(name)
    cache.prepare([s for e in examples for s in task.sentences(e)])
    settings = [f"words.vectors={options.data / 'glove'}"]
    trainers = {
        "elmo": Trainer(name, settings, cache, examples),
        "random": Trainer(name, settings, RandomLayer(elmo.dim), examples),
    }
    costs: dict[str, list[Cost]] = {kind: [] for kind in trainers}
    for turn in range(options.repeats + 1):
        for kind, trainer in trainers.items():
            cost = trainer.epoch()
            if turn:  # the first is a rehearsal
                costs[kind].append(cost)
    pairs = list(zip(costs["elmo"], costs["random"], strict=True))
    return {
        "task": name,
        "examples": len(examples),
        "where": configured(name, "cpu", settings).elmo.where,
        "elmo_dim": elmo.dim,
        "elmo_seconds": round(statistics.median(cost.wall for cost in costs["elmo"]), 3),
        "random_seconds": round(statistics.median(cost.wall for cost in costs["random"]), 3),
        "elmo_cpu_seconds": round(statistics.median(cost.cpu for cost in costs["elmo"]), 3),
        "ratio": round(statistics.median(a.wall / b.wall for a, b in pairs), 3),
        "cpu_ratio": round(statistics.median(a.cpu / b.cpu for a, b in pairs), 3),
        "limit": LIMIT,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--tasks", nargs="+", default=list(FOLDERS))
    parser.add_argument("--examples", type=int, default=1000, help="documents: a fiftieth")
    parser.add_argument("--projection", type=int, default=256, help="P of the biLM; D = 2P")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tasks:
            print(json.dumps(compare(name, options, Path(folder))), flush=True)


if __name__ == "__main__":
    main()
