"""A slow, readable twin of the biLM in NumPy: one token, one filter, one step at a time.

It reads the published files itself and shares no code with elmokit, so that agreement means
something. Everything is float64. Shapes: E character width, F filters, P projection, H cell.
"""

import json
from pathlib import Path
from typing import NamedTuple

import h5py
import numpy as np
import torch

Array = np.ndarray
CellState = tuple[Array, Array]  # h (P), c (H)


class TwinState(NamedTuple):
    """(h, c) of every layer, for each direction."""

    forward: list[CellState]
    backward: list[CellState]


class Cell(NamedTuple):
    """One LSTM layer; the four gates are separate matrices, so no order can be confused."""

    from_input: dict[str, Array]  # gate -> (P, H)
    from_hidden: dict[str, Array]  # gate -> (P, H)
    bias: dict[str, Array]  # gate -> (H)
    projection: Array | None  # (H, P)
    cell_clip: float | None
    projection_clip: float | None

    def step(self, x: Array, state: CellState) -> CellState:
        h, c = state
        gate = {
            name: x @ self.from_input[name] + h @ self.from_hidden[name] + self.bias[name]
            for name in ("input", "forget", "output", "candidate")
        }
        c = sigmoid(gate["forget"]) * c + sigmoid(gate["input"]) * np.tanh(gate["candidate"])
        if self.cell_clip is not None:
            c = np.clip(c, -self.cell_clip, self.cell_clip)
        h = sigmoid(gate["output"]) * np.tanh(c)
        if self.projection is not None:
            h = h @ self.projection
            if self.projection_clip is not None:
                h = np.clip(h, -self.projection_clip, self.projection_clip)
        return h, c


class Twin:
    """Any of the published kinds; the classes below fill it from their files."""

    begin: str
    end: str
    cells: tuple[list[Cell], list[Cell]]  # forward, backward
    has_skip: bool

    def token(self, token: str) -> Array:
        raise NotImplementedError

    def zero_state(self) -> TwinState:
        def zeros(cells: list[Cell]) -> list[CellState]:
            widths = [cell.from_hidden["input"].shape for cell in cells]
            return [(np.zeros(p), np.zeros(h)) for p, h in widths]

        return TwinState(zeros(self.cells[0]), zeros(self.cells[1]))

    def layers(self, tokens: list[str], state: TwinState | None = None) -> tuple[Array, TwinState]:
        """(L + 1, T, 2P) of one sentence, and the state after its last marker."""
        state = state or self.zero_state()
        wrapped = [self._remembered(token) for token in (self.begin, *tokens, self.end)]
        forward, after = self._direction(wrapped, 0, state.forward)
        backward, before = self._direction(wrapped[::-1], 1, state.backward)
        layers = [np.array([np.concatenate([x, x]) for x in wrapped])]
        for ahead, behind in zip(forward, backward, strict=True):
            layers.append(np.concatenate([ahead, behind[::-1]], axis=-1))
        return np.array(layers)[:, 1:-1], TwinState(after, before)

    def _remembered(self, token: str) -> Array:
        known = self.__dict__.setdefault("known", {})
        if token not in known:
            known[token] = self.token(token)
        return known[token]

    def _direction(
        self, inputs: list[Array], side: int, state: list[CellState]
    ) -> tuple[list[Array], list[CellState]]:
        outputs, ended = [], []
        for number, cell in enumerate(self.cells[side]):
            now, layer = state[number], []
            for x in inputs:
                now = cell.step(x, now)
                layer.append(now[0] + x if self.has_skip and number > 0 else now[0])
            inputs = layer
            outputs.append(np.array(layer))
            ended.append(now)
        return outputs, ended


class BilmTfTwin(Twin):
    """HDF5 + options.json: characters as UTF-8 bytes, or word ids with a vocabulary."""

    begin, end = "<S>", "</S>"

    def __init__(
        self, weights: Path, options: Path, vocabulary: Path | None = None,
        embedding: Path | None = None,
    ) -> None:  # fmt: skip
        self.options = json.loads(options.read_text())
        self.arrays = read_arrays(weights)
        if embedding is not None:
            self.arrays["embedding"] = read_arrays(embedding)["embedding"]
        self.words = None
        if "embedding" in self.arrays:
            assert vocabulary is not None
            self.words = vocabulary.read_text(encoding="utf-8").rstrip("\n").split("\n")
        lstm = self.options["lstm"]
        self.has_skip = bool(lstm.get("use_skip_connections"))
        self.cells = self._cells(0), self._cells(1)

    def _cells(self, side: int) -> list[Cell]:
        lstm = self.options["lstm"]
        cells = []
        for number in range(lstm.get("n_layers", 1)):
            group = f"RNN_{side}/RNN/MultiRNNCell/Cell{number}/LSTMCell"
            if f"{group}/W_0" not in self.arrays:
                group = f"RNN_{side}/RNN/LSTMCell"
            matrix, bias = self.arrays[f"{group}/W_0"], self.arrays[f"{group}/B"]
            width = matrix.shape[0] // 2
            names = ("input", "candidate", "forget", "output")
            from_input = dict(zip(names, np.split(matrix[:width], 4, axis=1), strict=True))
            from_hidden = dict(zip(names, np.split(matrix[width:], 4, axis=1), strict=True))
            biases = dict(zip(names, np.split(bias, 4), strict=True))
            biases["forget"] = biases["forget"] + 1.0
            projection = self.arrays.get(f"{group}/W_P_0")
            cells.append(
                Cell(
                    from_input,
                    from_hidden,
                    biases,
                    projection,
                    lstm.get("cell_clip"),
                    lstm.get("proj_clip"),
                )
            )
        return cells

    def characters(self, token: str) -> list[int]:
        """File rows (no +1 here): bytes, then 256.. for the markers."""
        limit = self.options["char_cnn"]["max_characters_per_token"]
        if token in (self.begin, self.end):
            letters = [256 if token == self.begin else 257]
        else:
            letters = list(token.encode("utf-8", "ignore"))[: limit - 2]
        row = [258, *letters, 259]
        return row + [260] * (limit - len(row))

    def token(self, token: str) -> Array:
        if self.words is not None:
            known = token if token in self.words else "<UNK>"
            last = len(self.words) - 1 - self.words[::-1].index(known)
            return self.arrays["embedding"][last]
        cnn = self.options["char_cnn"]
        letters = self.arrays["char_embed"][self.characters(token)]  # (C, E)
        best = []
        for number, (width, count) in enumerate(cnn["filters"]):
            kernel = self.arrays[f"CNN/W_cnn_{number}"][0]  # (width, E, count)
            bias = self.arrays[f"CNN/b_cnn_{number}"]
            for which in range(count):
                matches = [
                    (letters[start : start + width] * kernel[:, :, which]).sum() + bias[which]
                    for start in range(len(letters) - width + 1)
                ]
                best.append(max(matches))
        x = activation(np.array(best), cnn["activation"])
        for number in range(cnn.get("n_highway") or 0):
            group = f"CNN_high_{number}"
            a = self.arrays
            gate = sigmoid(x @ a[f"{group}/W_carry"] + a[f"{group}/b_carry"])
            new = np.maximum(x @ a[f"{group}/W_transform"] + a[f"{group}/b_transform"], 0.0)
            x = gate * new + (1.0 - gate) * x
        if "CNN_proj/W_proj" in self.arrays:
            x = x @ self.arrays["CNN_proj/W_proj"] + self.arrays["CNN_proj/b_proj"]
        return x


class ManyLangsTwin(Twin):
    """ELMoForManyLangs: code points and words side by side."""

    begin, end = "<bos>", "<eos>"
    has_skip = True

    def __init__(self, folder: Path, settings: dict) -> None:
        self.tokens, encoder = settings["token_embedder"], settings["encoder"]
        self.arrays = {
            name: tensor.double().numpy()
            for file in ("token_embedder.pkl", "encoder.pkl")
            for name, tensor in torch.load(folder / file, weights_only=True).items()
        }
        self.character_ids = read_dictionary(folder / "char.dic")
        self.word_ids = read_dictionary(folder / "word.dic")
        clips = encoder["cell_clip"], encoder["proj_clip"]
        self.cells = tuple(  # type: ignore[assignment]
            [self._cell(f"{side}_layer_{n}", *clips) for n in range(encoder["n_layers"])]
            for side in ("forward", "backward")
        )

    def _cell(self, name: str, cell_clip: float | None, projection_clip: float | None) -> Cell:
        names = ("input", "forget", "candidate", "output")
        parts = (
            np.split(self.arrays[f"{name}.input_linearity.weight"].T, 4, axis=1),
            np.split(self.arrays[f"{name}.state_linearity.weight"].T, 4, axis=1),
            np.split(self.arrays[f"{name}.state_linearity.bias"], 4),
        )
        gates = [dict(zip(names, part, strict=True)) for part in parts]
        projection = self.arrays[f"{name}.state_projection.weight"].T
        return Cell(*gates, projection, cell_clip, projection_clip)

    def token(self, token: str) -> Array:
        limit = self.tokens["max_characters_per_token"]
        if token not in (self.begin, self.end):
            token = token[: limit - 2]
        parts = []
        if self.tokens["word_dim"]:
            row = self.word_ids.get(token, self.word_ids["<oov>"])
            parts.append(self.arrays["word_emb_layer.embedding.weight"][row])
        if self.tokens["char_dim"]:
            parts.append(self._filters(token, limit))
        features = np.concatenate(parts)
        return self.arrays["projection.weight"] @ features + self.arrays["projection.bias"]

    def _filters(self, token: str, limit: int) -> Array:
        ids, unknown = self.character_ids, self.character_ids["<oov>"]
        letters = [token] if token in (self.begin, self.end) else list(token)
        row = [ids["<eow>"], *(ids.get(letter, unknown) for letter in letters), ids["<bow>"]]
        row += [ids["<pad>"]] * (limit - len(row))
        characters = self.arrays["char_emb_layer.embedding.weight"][row]  # (C, E)
        best = []
        for number, (width, count) in enumerate(self.tokens["filters"]):
            kernel = self.arrays[f"convolutions.{number}.weight"]  # (count, E, width)
            bias = self.arrays[f"convolutions.{number}.bias"]
            for which in range(count):
                matches = [
                    (characters[start : start + width].T * kernel[which]).sum() + bias[which]
                    for start in range(limit - width + 1)
                ]
                best.append(max(matches))
        x = activation(np.array(best), self.tokens["activation"])
        for number in range(self.tokens["n_highway"]):
            name = f"highways._layers.{number}"
            both = self.arrays[f"{name}.weight"] @ x + self.arrays[f"{name}.bias"]
            new, gate = np.maximum(both[: len(x)], 0.0), sigmoid(both[len(x) :])
            x = gate * x + (1.0 - gate) * new
        return x


def mix(layers: Array, weights: list[float], gamma: float, layer_norm: bool) -> Array:
    """gamma * sum_j softmax(w)_j h_j, token by token."""
    shares = np.exp(np.array(weights) - max(weights))
    shares = shares / shares.sum()
    result = np.zeros(layers.shape[1:])
    for share, layer in zip(shares, layers, strict=True):
        for place, vector in enumerate(layer):
            if layer_norm:
                vector = (vector - vector.mean()) / np.sqrt(vector.var() + 1e-5)
            result[place] += gamma * share * vector
    return result


def sigmoid(values: Array) -> Array:
    return 0.5 * (1.0 + np.tanh(0.5 * values))  # the same, without overflow


def activation(values: Array, name: str) -> Array:
    return np.maximum(values, 0.0) if name == "relu" else np.tanh(values)


def read_arrays(path: Path) -> dict[str, Array]:
    arrays: dict[str, Array] = {}

    def keep(name: str, item: object) -> None:
        if isinstance(item, h5py.Dataset):
            arrays[name] = item[()].astype(np.float64)

    with h5py.File(path, "r") as file:
        file.visititems(keep)
    return arrays


def read_dictionary(path: Path) -> dict[str, int]:
    ids = {}
    if path.is_file():
        for line in path.read_text(encoding="utf-8").split("\n"):
            fields = line.strip().split("\t")
            if fields[-1]:
                ids[fields[0] if len(fields) == 2 else "\u3000"] = int(fields[-1])
    return ids
