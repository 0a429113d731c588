"""ELMoForManyLangs: Unicode characters beside a word table. Nothing but tensors is unpickled.

The original's highway is y = g * x + (1 - g) * relu(.) with g = sigmoid(z). Ours swaps the two
branches, and 1 - sigmoid(z) = sigmoid(-z), so negating the gate's weights converts it exactly.
Its gates are in the order i, f, g, o (ours i, f, o, j) and no 1 is added to the forget gate.
"""

from pathlib import Path, PureWindowsPath
from typing import Any

import torch
from torch import Tensor

from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig, WordTableConfig
from elmokit.errors import InputError
from elmokit.recipe import read_json
from elmokit.text.token_ids import TokenIndexer, UnicodeCharacters
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensors import build_bilm, read_pickled_tensors, read_state

_FILTERS = [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256], [6, 512], [7, 1024]]
_RELEASED: dict[str, dict[str, Any]] = {  # the settings all 44 languages were trained with
    "encoder": {
        "name": "elmo", "projection_dim": 512, "cell_clip": 3, "proj_clip": 3, "dim": 4096,
        "n_layers": 2,
    },
    "token_embedder": {
        "name": "cnn", "activation": "relu", "filters": _FILTERS, "n_highway": 2,
        "word_dim": 100, "char_dim": 50, "max_characters_per_token": 50,
    },
}  # fmt: skip

_CHARACTER_MARKERS = ("<bow>", "<eow>", "<oov>", "<pad>", "<bos>", "<eos>")
_WORD_MARKERS = ("<oov>", "<bos>", "<eos>")

FILES = frozenset(("token_embedder.pkl", "encoder.pkl"))
"""By one of these a folder is recognised."""

Tensors = dict[str, Tensor]


def read_manylangs(folder: Path) -> PretrainedModel:
    """Read an ELMoForManyLangs model from its folder."""
    settings = _read_settings(folder)
    embedder = _read_part(folder / "token_embedder.pkl")
    encoder = _read_part(folder / "encoder.pkl")
    config = _config(settings, embedder, folder)
    tensors = _token_tensors(config, embedder, folder) | _lstm_tensors(config, encoder, folder)
    return PretrainedModel(
        bilm=build_bilm(config, tensors, folder),
        indexer=_indexer(config, folder),
        format="manylangs",
        source=str(folder),
        settled=read_state(folder, config),
    )


def _read_settings(folder: Path) -> dict[str, Any]:
    """The network's settings: the file that config.json names, else the released ones.

    The name is often a path on the author's disk: only its last part counts, or a path that stays
    inside the folder.
    """
    path = folder / "config.json"
    named = str(read_json(path).get("config_path", "")) if path.is_file() else ""
    candidates = [folder / named, folder / PureWindowsPath(named).name] if named else []
    for candidate in candidates:
        try:
            is_own = folder.resolve() in candidate.resolve().parents and candidate.is_file()
        except (ValueError, OSError):  # no name that a file can have
            is_own = False
        if is_own:
            return read_json(candidate)
    return _RELEASED


def _config(settings: dict[str, Any], embedder: Tensors, folder: Path) -> ModelConfig:
    tokens, encoder = settings.get("token_embedder"), settings.get("encoder")
    if not isinstance(tokens, dict) or not isinstance(encoder, dict):
        raise InputError(f"{folder}: its settings lack token_embedder or encoder")
    for table, name, known in ((tokens, "token_embedder", "cnn"), (encoder, "encoder", "elmo")):
        if str(table.get("name", known)).lower() != known:
            raise InputError(
                f"{folder}: {name} {table['name']!r}; only {known!r}, which all released "
                f"languages use, can be read"
            )
    try:
        lstm = LstmConfig(
            dim=encoder["dim"],
            projection_dim=encoder["projection_dim"],
            num_layers=encoder["n_layers"],
            cell_clip=encoder.get("cell_clip") or None,
            projection_clip=encoder.get("proj_clip") or None,
            forget_bias=0.0,
        )
        char_cnn = words = None
        if tokens.get("char_dim"):
            char_cnn = CharCnnConfig(
                num_characters=_num_rows(embedder, "char_emb_layer", folder),
                embedding_dim=tokens["char_dim"],
                filters=tuple((width, number) for width, number in tokens["filters"]),
                max_characters=tokens["max_characters_per_token"],
                num_highway=tokens.get("n_highway") or 0,
                activation=tokens["activation"],
            )
        if tokens.get("word_dim"):
            words = WordTableConfig(
                _num_rows(embedder, "word_emb_layer", folder), tokens["word_dim"]
            )
        return ModelConfig(lstm, char_cnn, words, characters="unicode")
    except KeyError as error:
        raise InputError(f"{folder}: its settings lack {error}") from None
    except (TypeError, ValueError) as error:
        raise InputError(f"{folder}: its settings cannot be used ({error})") from None


def _num_rows(embedder: Tensors, layer: str, folder: Path) -> int:
    return len(_take(embedder, f"{layer}.embedding.weight", folder / "token_embedder.pkl"))


def _token_tensors(config: ModelConfig, embedder: Tensors, folder: Path) -> Tensors:
    path = folder / "token_embedder.pkl"
    tensors: Tensors = {}
    if config.words is not None:
        tensors["encoder.words.weight"] = _take(embedder, "word_emb_layer.embedding.weight", path)
    for part in ("weight", "bias"):
        tensors[f"encoder.projection.{part}"] = _take(embedder, f"projection.{part}", path)
    if config.char_cnn is None:
        return tensors
    ours = "encoder.char_cnn"
    tensors[f"{ours}.embedding.weight"] = _take(embedder, "char_emb_layer.embedding.weight", path)
    for part in ("weight", "bias"):
        for number in range(len(config.char_cnn.filters)):
            name = f"convolutions.{number}.{part}"
            tensors[f"{ours}.{name}"] = _take(embedder, name, path)
        for number in range(config.char_cnn.num_highway):
            both = _take(embedder, f"highways._layers.{number}.{part}", path)
            non_linear, gate = both.chunk(2)
            tensors[f"{ours}.highways.{number}.transform.{part}"] = non_linear.contiguous()
            tensors[f"{ours}.highways.{number}.carry.{part}"] = -gate
    return tensors


def _lstm_tensors(config: ModelConfig, encoder: Tensors, folder: Path) -> Tensors:
    path = folder / "encoder.pkl"
    tensors: Tensors = {}
    for side in ("forward", "backward"):
        for number in range(config.lstm.num_layers):
            theirs, ours = f"{side}_layer_{number}", f"{side}_lstm.layers.{number}"
            for name, part in (("input", "input_linearity"), ("hidden", "state_linearity")):
                weight = _take(encoder, f"{theirs}.{part}.weight", path)
                tensors[f"{ours}.{name}_weight"] = _reorder_gates(weight).t().contiguous()
            bias = _take(encoder, f"{theirs}.state_linearity.bias", path)
            tensors[f"{ours}.bias"] = _reorder_gates(bias)
            projection = _take(encoder, f"{theirs}.state_projection.weight", path)
            tensors[f"{ours}.projection"] = projection.t().contiguous()
    return tensors


def _reorder_gates(rows: Tensor) -> Tensor:
    i, f, g, o = rows.chunk(4)
    return torch.cat([i, f, o, g])


def _take(tensors: Tensors, name: str, path: Path) -> Tensor:
    if name not in tensors:
        raise InputError(f"{path}: lacks {name}, which its settings ask for; unpack it again")
    return tensors[name]


def _read_part(path: Path) -> Tensors:
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; unpack the whole archive of the language")
    return read_pickled_tensors(path)


def _indexer(config: ModelConfig, folder: Path) -> TokenIndexer:
    characters = word_ids = None
    unknown = 0
    longest_word = None
    if config.char_cnn is not None:
        ids = _read_dictionary(
            folder / "char.dic", config.char_cnn.num_characters, _CHARACTER_MARKERS
        )
        characters = UnicodeCharacters(ids, config.char_cnn.max_characters)
        longest_word = config.char_cnn.max_characters - 2
    if config.words is not None:
        word_ids = _read_dictionary(folder / "word.dic", config.words.num_words, _WORD_MARKERS)
        unknown = word_ids["<oov>"]
    return TokenIndexer(characters, word_ids, unknown, "<bos>", "<eos>", longest_word)


def _read_dictionary(path: Path, num_rows: int, markers: tuple[str, ...]) -> dict[str, int]:
    """``token<TAB>id`` lines; the original strips them, so a lone id means U+3000."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; unpack the whole archive of the language")
    ids: dict[str, int] = {}
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text ({error}); unpack it again") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if not line:
            continue
        fields = line.strip().split("\t")
        token, row = fields if len(fields) == 2 else ("\u3000", fields[-1])
        is_id = row.isdecimal() and len(row) < 19  # Python refuses to read thousands of digits
        if not is_id or len(fields) > 2 or int(row) >= num_rows:
            raise InputError(
                f"{path}:{number}: expected a token, a tab and an id below {num_rows}, got {line!r}"
            )
        ids[token] = int(row)
    for marker in markers:
        if marker not in ids:
            raise InputError(f"{path}: lacks the marker {marker}; unpack it again")
    return ids
