"""How fast a training step is: against plain autograd, and against the machine's GEMM limit.

    python benchmarks/speed/train.py [--steps 6] [--data DATA]

All ways train the same model on the same batches in the same run, a step of one after a step of
the others, so that a noisy machine disturbs them alike. The peer is what one would write first:
the character CNN on every token, autograd through every step, all logits at once. DATA is a folder
made by `elmokit prepare`; without it, words are drawn by Zipf's law from a made-up lexicon.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.lstm import LstmStack, LstmState, ProjectedLstm
from elmokit.model.softmax import Softmax
from elmokit.pretrain.config import TrainConfig
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.training.batches import Batch, BatchMaker, DirectionBatch
from elmokit.pretrain.training.objective import Objective
from elmokit.pretrain.training.optimizers import Optimizers
from elmokit.pretrain.training.windows import Lanes, Windows
from elmokit.text.token_ids import TokenIds

BATCH, WINDOW, NEGATIVES, NUM_WORDS = 128, 20, 8192, 50_000
NARROW = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256))
PUBLISHED = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))
SIZES = {
    "cell 512, projection 128, 512 filters": ModelConfig(
        lstm=LstmConfig(dim=512, projection_dim=128),
        char_cnn=CharCnnConfig(filters=NARROW, num_highway=1),
    ),
    "published small (1024 / 128, 2048 filters)": ModelConfig(
        lstm=LstmConfig(dim=1024, projection_dim=128),
        char_cnn=CharCnnConfig(filters=PUBLISHED, num_highway=1),
    ),
}


def made_up_corpus(folder: Path) -> Path:
    """500,000 tokens in sentences of 25, by Zipf's law over 400,000 words of 1 to 15 letters."""
    random = np.random.default_rng(1)
    letters = random.integers(97, 123, size=(400_000, 15), dtype=np.uint8)
    lengths = np.clip(random.poisson(6, 400_000), 1, 15)
    words = [bytes(row[:n]).decode() for row, n in zip(letters, lengths, strict=True)]
    ranks = np.exp(random.random(500_000) * np.log(400_000)).astype(np.int64) - 1
    lines = [" ".join(words[k] for k in ranks[i : i + 25]) for i in range(0, len(ranks), 25)]
    (folder / "text.txt").write_text("\n".join(lines))
    config = PrepareConfig(pretokenized=True, vocabulary_size=NUM_WORDS)
    prepare([str(folder / "text.txt")], folder / "data", config)
    return folder / "data"


def plain_step(bilm: BiLm, softmax: Softmax, batch: Batch, state: BiLmState) -> BiLmState:
    """One forward and backward pass as one would write it first."""
    losses, states = [], []
    assert batch.softmax_rows is not None
    weight, bias = softmax.weight[batch.softmax_rows], softmax.bias[batch.softmax_rows]
    for stack, part, before in zip(
        (bilm.forward_lstm, bilm.backward_lstm), batch.directions, state, strict=True
    ):
        assert batch.ids.characters is not None
        every_token = TokenIds(batch.ids.characters[part.rows], None)  # (S, C)
        assert bilm.encoder.char_cnn is not None
        assert bilm.encoder.projection is not None
        inputs = bilm.encoder.projection(bilm.encoder.char_cnn(every_token.characters))
        top, after = plain_lstm(stack, inputs.view(WINDOW, BATCH, -1), before)
        losses.append(plain_loss(top.flatten(0, 1), weight, bias, part))
        states.append(after)
    ((losses[0] + losses[1]) / 2).backward()
    return BiLmState(*states)


def plain_lstm(stack: LstmStack, inputs: Tensor, state: LstmState) -> tuple[Tensor, LstmState]:
    hiddens, cells = [], []
    for number, layer in enumerate(stack.layers):
        assert isinstance(layer, ProjectedLstm)
        assert layer.projection is not None
        joint = torch.cat([layer.input_weight, layer.hidden_weight])  # (2P, 4H)
        hidden, cell, outputs = state.hidden[number], state.cell[number], []
        for now in inputs:
            gates = torch.cat([now, hidden], dim=1) @ joint + layer.bias
            i, f, o, j = gates.chunk(4, dim=1)
            cell = torch.sigmoid(f + 1) * cell + torch.sigmoid(i) * torch.tanh(j)
            cell = cell.clamp(-3, 3)
            hidden = ((torch.sigmoid(o) * torch.tanh(cell)) @ layer.projection).clamp(-3, 3)
            outputs.append(hidden)
        stacked = torch.stack(outputs)
        inputs = stacked + inputs if number else stacked
        hiddens.append(hidden.detach())
        cells.append(cell.detach())
    return inputs, LstmState(torch.stack(hiddens), torch.stack(cells))


def plain_loss(top: Tensor, weight: Tensor, bias: Tensor, part: DirectionBatch) -> Tensor:
    given = part.candidates
    assert given is not None
    logits = top @ weight[given.negatives].T + bias[given.negatives] + given.negative_offset
    hits = given.negatives[None, :] == part.targets[:, None]
    wanted = (top * weight[part.targets]).sum(1) + bias[part.targets] + given.target_offset
    every = torch.cat([wanted[:, None], logits.masked_fill(hits, -torch.inf)], dim=1)
    return (every.logsumexp(dim=1) - wanted).mean()


def gemm_limit() -> float:
    """Floating-point operations a second of the machine's best large product."""
    a, b = torch.randn(2, 2048, 2048)
    best = 0.0
    for _ in range(6):
        started = time.perf_counter()
        torch.mm(a, b)
        best = max(best, 2 * 2048**3 / (time.perf_counter() - started))
    return best


def step_operations(config: ModelConfig, num_distinct: int) -> float:
    """Multiplications and additions in the matrix products of one training step."""
    lstm, cnn = config.lstm, config.char_cnn
    assert cnn is not None
    tokens = BATCH * WINDOW
    layer = 2 * lstm.projection_dim * 4 * lstm.dim + lstm.dim * lstm.projection_dim
    per_token = 2 * (lstm.num_layers * layer + lstm.projection_dim * (NEGATIVES + 1))
    highways = cnn.num_highway * 2 * cnn.num_filters**2 + cnn.num_filters * lstm.projection_dim
    filters = 12 * sum(width * number * cnn.embedding_dim for width, number in cnn.filters)
    return 3 * 2 * (tokens * per_token + num_distinct * (highways + filters))


class Measured(NamedTuple):
    """Seconds, but for the share."""

    step: float
    step_bfloat16: float
    plain_step: float
    gemm_limit_share: float
    batch: float


def measure(config: ModelConfig, corpus: Corpus, steps: int) -> Measured:
    torch.manual_seed(1)
    train = TrainConfig(batch_size=BATCH, window=WINDOW, num_negatives=NEGATIVES)
    bilm, softmax = BiLm(config), Softmax(corpus.num_words, config.lstm.projection_dim)
    windows = Windows(corpus.train, corpus.num_words, Lanes(BATCH, 0, BATCH), WINDOW, seed=1)
    maker = BatchMaker(corpus, windows, config, train, rank=0)
    objectives = [
        Objective(bilm, softmax, dropout=0.0, matrix_dtype=dtype)
        for dtype in (torch.float32, torch.bfloat16)
    ]
    optimizers = Optimizers(bilm.parameters(), softmax, train, is_sampled=True)
    ours, narrow, plain, loading, limits, distinct = [], [], [], [], [], []
    state = other = bilm.zero_state(BATCH)
    for step in range(steps + 1):
        started = time.perf_counter()
        batch = maker.at(0, step)
        loading_seconds = time.perf_counter() - started
        seconds = []
        for objective in objectives:
            started = time.perf_counter()
            result = objective(batch, state, step, 1.0)
            result.loss.backward()
            optimizers.step(result.softmax, rate=0.001)
            seconds.append(time.perf_counter() - started)
        state = result.state
        started = time.perf_counter()
        other = plain_step(bilm, softmax, batch, other)
        optimizers.dense.step()
        seconds.append(time.perf_counter() - started)
        softmax.zero_grad(set_to_none=True)
        bilm.zero_grad(set_to_none=True)
        if step > 0:  # the first step warms up
            loading.append(loading_seconds)
            for times, now in zip((ours, narrow, plain), seconds, strict=True):
                times.append(now)
            limits.append(gemm_limit())
            distinct.append(len(batch.ids.characters))
    median = statistics.median
    limit_share = step_operations(config, int(median(distinct))) / median(ours) / median(limits)
    return Measured(median(ours), median(narrow), median(plain), limit_share, median(loading))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        data = options.data or made_up_corpus(Path(folder))
        corpus = Corpus.open(data)
        tokens = BATCH * WINDOW
        print(f"{torch.get_num_threads()} threads, {NUM_WORDS:,} words, {NEGATIVES} negatives")
        for name, config in SIZES.items():
            found = measure(config, corpus, options.steps)
            print(
                f"{name}: {tokens / found.step:,.0f} tokens/s, "
                f"{found.plain_step / found.step:.2f} x plain autograd "
                f"({tokens / found.plain_step:,.0f}), "
                f"{found.gemm_limit_share:.0%} of the GEMM limit; with bfloat16 products "
                f"{found.step / found.step_bfloat16:.2f} x as fast; "
                f"a batch is made in 1/{found.step / found.batch:.0f} of a step"
            )


if __name__ == "__main__":
    main()
