"""How far a sentence's vectors move with its batch, and whether a small disturbance dies out.

First the largest difference between sentences alone and in one batch, by layer, relative to the
layer's RMS. Then what becomes of a disturbance of the first state, in float64: on text the LSTMs
forget it, on some tokens that are repeated they do not. Other arithmetic can be imitated, as with
ATEN_CPU_CAPABILITY=default MKL_CBWR=COMPATIBLE.

    python benchmarks/quality/batch_invariance.py en_ewt-ud-dev.conllu
"""

import copy
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch

import elmokit
from elmokit.embed.embedder import Embedder
from elmokit.model.bilm import BiLm, BiLmState
from elmokit.model.lstm import LstmState
from elmokit.model.packing import batch_tokens

REPEATED = ("A", "the", ".", "0", "I", "!", "x" * 60, "é", "cat", "-")
DISTURBANCE = 1e-9
AFTER_TOKENS = (0, 10, 69, 399)

Floats = npt.NDArray[np.floating]


def tokens_of(conllu: Path) -> list[str]:
    rows = [line.split("\t") for line in conllu.read_text(encoding="utf-8").splitlines()]
    return [row[1] for row in rows if row[0].isdigit()]


def rms(layers: Floats) -> Floats:
    found: Floats = np.sqrt(np.square(layers, dtype=np.float64).mean(axis=(1, 2)))
    return found


def batch_differences(elmo: Embedder, sentences: Sequence[Sequence[str]]) -> tuple[Floats, Floats]:
    """By layer: the largest relative RMS, and the largest difference of one number."""
    together = elmo.layers(sentences)
    relative, largest = [], []
    for sentence, in_batch in zip(sentences, together, strict=True):
        alone = elmo.layers([sentence])[0]
        relative.append(rms(alone - in_batch) / rms(alone))
        largest.append(np.abs(alone - in_batch).max(axis=(1, 2)))
    return np.max(relative, axis=0), np.max(largest, axis=0)


def disturbed(state: LstmState) -> LstmState:
    generator = torch.Generator().manual_seed(0)
    noise = torch.randn(state.hidden.shape, generator=generator, dtype=torch.float64)
    return LstmState(state.hidden + DISTURBANCE * state.hidden.std() * noise, state.cell)


def growth(bilm: BiLm, elmo: Embedder, sentence: Sequence[str]) -> Floats:
    """The disturbance in the top forward layer after some tokens, relative to its size."""
    batch = batch_tokens([sentence], elmo.indexer)
    with torch.no_grad():
        table = bilm.encoder(batch.ids)
        state = bilm.zero_state(1)
        starts = [bilm(table, batch.rows[:, :1], [1], state).state]
        starts.append(BiLmState(disturbed(starts[0].forward), starts[0].backward))
        one, other = (
            bilm(table, batch.rows, batch.lengths.tolist(), start).layers[0, -1].numpy()
            for start in starts
        )
    forward = slice(0, elmo.dim // 2)
    by_token = np.sqrt(np.square(one - other)[:, forward].mean(axis=1))
    found: Floats = by_token[list(AFTER_TOKENS)] / np.sqrt(np.square(one).mean()) / DISTURBANCE
    return found


def main(path: Path) -> None:
    elmo = elmokit.load()
    text = tokens_of(path)
    cases: dict[str, list[list[str]]] = {}
    for length, number in ((70, 100), (400, 30), (2000, 4)):
        pieces = [text[place * length : (place + 1) * length] for place in range(number)]
        cases[f"text, {length} tokens"] = pieces
    for length in (70, 400):
        cases[f"one token {length} times"] = [[token] * length for token in REPEATED]
    print(f"alone and in one batch, {torch.backends.cpu.get_cpu_capability()}")  # type: ignore[no-untyped-call]
    for title, sentences in cases.items():
        relative, largest = batch_differences(elmo, sentences)
        print(f"{title:<22} relative RMS by layer {_show(relative)}; largest {_show(largest)}")
    wide = copy.deepcopy(elmo.bilm).double()
    print(f"a disturbance after {', '.join(map(str, AFTER_TOKENS))} tokens more")
    for title, sentence in [("text", text[:400]), *((t[:4], [t] * 400) for t in REPEATED)]:
        print(f"{title:<22} {_show(growth(wide, elmo, sentence))}")


def _show(values: Floats) -> str:
    return "  ".join(f"{value:.1e}" for value in values)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
