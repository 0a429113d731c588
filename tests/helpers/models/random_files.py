"""Random models of every published kind, written in the file formats themselves."""

import json
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

import h5py
import numpy as np
import torch


@dataclass(frozen=True)
class BilmTfSpec:
    """One variant of HDF5 + options.json; distinct sizes by default."""

    num_layers: int = 2
    dim: int = 7
    projection_dim: int = 5
    has_skip: bool = True
    num_highway: int | None = 1
    activation: str = "relu"
    filters: tuple[tuple[int, int], ...] = ((1, 3), (2, 4), (3, 2))
    embedding_dim: int = 4
    max_characters: int = 11
    num_characters: int = 262
    character_rows: int = 261
    cell_clip: float | None = 3.0
    proj_clip: float | None = 3.0
    hide_nulls: bool = False
    """Leave out what is null instead of writing null."""
    lone_cell: bool = False
    words: tuple[str, ...] | None = None
    separate_embedding: bool = False
    softmax_words: tuple[str, ...] | None = None
    scale: float = 0.4
    seed: int = 0

    @property
    def num_filters(self) -> int:
        return sum(number for _, number in self.filters)


def write_bilm_tf_files(folder: Path, spec: BilmTfSpec) -> None:
    """weights.hdf5, options.json, and where the spec asks: embedding.hdf5, softmax.hdf5, vocab."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(spec.seed)

    def draw(*shape: int) -> np.ndarray:
        fan_in = shape[-2] if len(shape) > 1 else 1
        values = random.normal(size=shape) * spec.scale * (3.0 / max(fan_in, 3)) ** 0.5
        return values.astype(np.float32)

    (folder / "options.json").write_text(json.dumps(_options(spec)))
    arrays: dict[str, np.ndarray] = {}
    if spec.words is None:
        arrays |= _token_arrays(spec, draw)
    else:
        embedding = draw(len(spec.words), spec.projection_dim) * 3
        if spec.separate_embedding:
            _write(folder / "embedding.hdf5", {"embedding": embedding})
        else:
            arrays["embedding"] = embedding
    width = spec.projection_dim
    for side in range(2):
        for layer in range(spec.num_layers):
            cell = "" if spec.lone_cell else f"MultiRNNCell/Cell{layer}/"
            group = f"RNN_{side}/RNN/{cell}LSTMCell"
            arrays[f"{group}/W_0"] = draw(2 * width, 4 * spec.dim) * 2
            arrays[f"{group}/B"] = draw(4 * spec.dim)
            if spec.dim != width:
                arrays[f"{group}/W_P_0"] = draw(spec.dim, width) * 2
    _write(folder / "weights.hdf5", arrays)
    words = spec.words or spec.softmax_words
    if words is not None:
        (folder / "vocab.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    if spec.softmax_words is not None:
        count = len(spec.softmax_words)
        softmax = {"softmax/W": draw(count, width), "softmax/b": draw(count)}
        _write(folder / "softmax.hdf5", softmax)


def _token_arrays(spec: BilmTfSpec, draw) -> dict[str, np.ndarray]:
    arrays = {"char_embed": draw(spec.character_rows, spec.embedding_dim) * 8}
    for number, (width, count) in enumerate(spec.filters):
        arrays[f"CNN/W_cnn_{number}"] = draw(1, width, spec.embedding_dim, count)
        arrays[f"CNN/b_cnn_{number}"] = draw(count)
    size = spec.num_filters
    for number in range(spec.num_highway or 0):
        for part in ("carry", "transform"):
            arrays[f"CNN_high_{number}/W_{part}"] = draw(size, size) * 2
            arrays[f"CNN_high_{number}/b_{part}"] = draw(size)
    if size != spec.projection_dim:
        arrays["CNN_proj/W_proj"] = draw(size, spec.projection_dim) * 2
        arrays["CNN_proj/b_proj"] = draw(spec.projection_dim)
    return arrays


def _options(spec: BilmTfSpec) -> dict:
    lstm = {
        "cell_clip": spec.cell_clip,
        "dim": spec.dim,
        "n_layers": spec.num_layers,
        "proj_clip": spec.proj_clip,
        "projection_dim": spec.projection_dim,
        "use_skip_connections": spec.has_skip,
    }
    options: dict = {"lstm": lstm, "n_train_tokens": 768648884}
    if spec.words is None:
        options["char_cnn"] = {
            "activation": spec.activation,
            "embedding": {"dim": spec.embedding_dim},
            "filters": [list(pair) for pair in spec.filters],
            "max_characters_per_token": spec.max_characters,
            "n_characters": spec.num_characters,
            "n_highway": spec.num_highway,
        }
    if spec.hide_nulls:
        for table in (lstm, options.get("char_cnn", {})):
            for name in [name for name, value in table.items() if value is None]:
                del table[name]
    return options


def _write(path: Path, arrays: dict[str, np.ndarray]) -> None:
    with h5py.File(path, "w") as file:
        for name, array in arrays.items():
            file[name] = array


@dataclass(frozen=True)
class ManyLangsSpec:
    num_layers: int = 2
    dim: int = 7
    projection_dim: int = 5
    word_dim: int = 3
    char_dim: int = 4
    num_highway: int = 2
    activation: str = "relu"
    filters: tuple[tuple[int, int], ...] = ((1, 3), (2, 4), (3, 2))
    max_characters: int = 9
    clip: float | None = 3.0
    letters: str = "abcdeéñ東京\u3000"
    words: tuple[str, ...] = ("abc", "bad", "東京", "\u3000")
    scale: float = 0.4
    seed: int = 0
    markers: tuple[str, ...] = field(default=("<bos>", "<eos>", "<oov>", "<pad>"))


def write_manylangs_files(
    folder: Path, spec: ManyLangsSpec, config_path: str = "/users4/x/elmo/settings.json"
) -> dict:
    """A folder as it is published; returns the settings."""
    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(spec.seed)

    def draw(*shape: int) -> torch.Tensor:
        fan_in = shape[-1] if len(shape) > 1 else 1
        size = spec.scale * (3.0 / max(fan_in, 3)) ** 0.5
        return torch.randn(*shape, generator=generator) * size

    settings = {
        "encoder": {
            "name": "elmo", "projection_dim": spec.projection_dim, "cell_clip": spec.clip,
            "proj_clip": spec.clip, "dim": spec.dim, "n_layers": spec.num_layers,
        },
        "token_embedder": {
            "name": "cnn", "activation": spec.activation,
            "filters": [list(pair) for pair in spec.filters], "n_highway": spec.num_highway,
            "word_dim": spec.word_dim, "char_dim": spec.char_dim,
            "max_characters_per_token": spec.max_characters,
        },
        "dropout": 0.1,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps({"seed": 1, "config_path": config_path}))
    (folder / Path(config_path).name).write_text(json.dumps(settings))
    characters = [*spec.markers, "<bow>", "<eow>", *spec.letters]
    words = [*spec.markers, *spec.words]
    _write_dictionary(folder / "char.dic", characters)
    _write_dictionary(folder / "word.dic", words)
    embedder: OrderedDict[str, torch.Tensor] = OrderedDict()
    if spec.word_dim:
        embedder["word_emb_layer.embedding.weight"] = draw(len(words), spec.word_dim) * 3
    size = 0
    if spec.char_dim:
        size = sum(number for _, number in spec.filters)
        embedder["char_emb_layer.embedding.weight"] = draw(len(characters), spec.char_dim) * 4
        for number, (width, count) in enumerate(spec.filters):
            embedder[f"convolutions.{number}.weight"] = draw(count, spec.char_dim, width)
            embedder[f"convolutions.{number}.bias"] = draw(count)
        for number in range(spec.num_highway):
            embedder[f"highways._layers.{number}.weight"] = draw(2 * size, size) * 2
            embedder[f"highways._layers.{number}.bias"] = draw(2 * size)
    embedder["projection.weight"] = draw(spec.projection_dim, spec.word_dim + size) * 2
    embedder["projection.bias"] = draw(spec.projection_dim)
    torch.save(embedder, folder / "token_embedder.pkl", _use_new_zipfile_serialization=False)
    encoder: OrderedDict[str, torch.Tensor] = OrderedDict()
    for side in ("forward", "backward"):
        for layer in range(spec.num_layers):
            name = f"{side}_layer_{layer}"
            for part in ("input_linearity", "state_linearity"):
                encoder[f"{name}.{part}.weight"] = draw(4 * spec.dim, spec.projection_dim) * 2
            encoder[f"{name}.state_linearity.bias"] = draw(4 * spec.dim)
            encoder[f"{name}.state_projection.weight"] = draw(spec.projection_dim, spec.dim) * 2
    torch.save(encoder, folder / "encoder.pkl")
    return settings


def _write_dictionary(path: Path, entries: list[str]) -> None:
    lines = (f"{entry}\t{row}\n" for row, entry in enumerate(entries))
    path.write_text("".join(lines), encoding="utf-8")
