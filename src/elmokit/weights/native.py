"""elmokit's own format: a folder of safetensors and JSON.

    config.json           format, version, the ModelConfig, sentence markers, card
    model.safetensors     the biLM under its ``state_dict`` names
    softmax.safetensors   weight (V, P) and bias (V); with vocab.txt, one word per line
    settled.safetensors   a warmed state: {forward,backward}.{hidden,cell}
    bases.safetensors     similarity and features (L, D, D), by which layers 1 to L are multiplied
    characters.json       character -> id, for models on Unicode characters
    words.json            word -> row, for models with a word table

Only the first two are always there. Weights may be stored in float16; they are computed in float32.
"""

import json
from pathlib import Path
from typing import Any, get_args

from torch import Tensor

from elmokit.config import ModelConfig
from elmokit.errors import InputError
from elmokit.files import write_json
from elmokit.model.softmax import OutputWords
from elmokit.recipe import from_plain, read_json, to_plain
from elmokit.text.token_ids import TokenIndexer, UnicodeCharacters, Utf8Characters
from elmokit.text.vocabulary import read_vocabulary
from elmokit.weights.folders import writing_model
from elmokit.weights.names import ModelFiles
from elmokit.weights.pretrained import Basis, PretrainedModel
from elmokit.weights.tensors import (
    StorageType,
    build_bilm,
    build_softmax,
    read_state,
    read_tensors,
    require_finite,
    write_state,
    write_tensors,
)

FORMAT, VERSION = "elmokit", 1
SOFTMAX = "softmax.safetensors"
BASES = "bases.safetensors"


def read_native(folder: Path, *, need_softmax: bool = True) -> PretrainedModel | None:
    """Read a folder in elmokit's own format; None if its config.json is another program's.

    ``need_softmax=False`` leaves the (often large) softmax on disk.
    """
    path = folder / "config.json"
    values = read_json(path)
    if values.get("format") != FORMAT:
        return None
    if values.get("version") != VERSION:
        raise InputError(
            f"{path}: format version {values.get('version')!r}, but this elmokit reads version "
            f"{VERSION}; install a newer elmokit"
        )
    config = from_plain(ModelConfig, values.get("model"), str(path))
    markers = _table(values, "indexer", path)
    card = {str(key): str(value) for key, value in _table(values, "card", path).items()}
    bilm = build_bilm(
        config, read_tensors(folder / "model.safetensors"), folder / "model.safetensors"
    )
    is_unread = not need_softmax and (folder / SOFTMAX).is_file()
    return PretrainedModel(
        bilm=bilm,
        indexer=_read_indexer(folder, config, markers),
        format="native",
        source=str(folder),
        settled=read_state(folder, config),
        bases=_read_bases(folder, config),
        output_words=_read_output_words(folder, config) if need_softmax else None,
        card=card,
        unread_softmax=ModelFiles(folder) if is_unread else None,
    )


def write_native(model: PretrainedModel, folder: Path, dtype: StorageType = "float32") -> None:
    """Write all of ``model``; float16 halves the files and rounds the weights to 3 digits."""
    config = model.config
    indexer = model.indexer
    settings: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "model": to_plain(config),
        "indexer": {
            "begin": indexer.begin,
            "end": indexer.end,
            "unknown": indexer.unknown_word,
            "longest_word": indexer.longest_word,
        },
        "card": model.card,
    }
    with writing_model(folder) as aside:
        write_json(aside / "config.json", settings)
        write_tensors(aside / "model.safetensors", model.bilm.state_dict(), dtype)
        if isinstance(indexer.characters, UnicodeCharacters):
            _write_ids(aside / "characters.json", indexer.characters.dictionary)
        if indexer.word_ids is not None:
            _write_ids(aside / "words.json", indexer.word_ids)
        if model.output_words is not None:
            softmax = model.output_words.softmax.state_dict()
            write_tensors(aside / SOFTMAX, softmax, dtype)
            model.output_words.vocabulary.save(aside / "vocab.txt")
        if model.settled is not None:
            write_state(model.settled, aside)
        if model.bases:
            write_tensors(aside / BASES, dict[str, Tensor](model.bases.items()), dtype)


def _table(values: dict[str, Any], name: str, path: Path) -> dict[str, Any]:
    table = values.get(name, {})
    if not isinstance(table, dict):
        raise InputError(f"{path}: {name} must be a table, got {table!r}; download it again")
    return table


def _read_indexer(folder: Path, config: ModelConfig, markers: dict[str, Any]) -> TokenIndexer:
    characters: Utf8Characters | UnicodeCharacters | None = None
    if config.char_cnn is not None:
        limit, rows = config.char_cnn.max_characters, config.char_cnn.num_characters
        if config.characters == "utf8":
            characters = Utf8Characters(limit)
        else:
            characters = UnicodeCharacters(_read_ids(folder / "characters.json", rows), limit)
    word_ids = None
    if config.words is not None:
        word_ids = _read_ids(folder / "words.json", config.words.num_words)
    default = TokenIndexer()
    unknown, longest = markers.get("unknown", default.unknown_word), markers.get("longest_word")
    num_words = config.words.num_words if config.words is not None else unknown
    if not isinstance(unknown, int) or not 0 <= unknown <= num_words:
        raise InputError(
            f"{folder / 'config.json'}: indexer.unknown must be a row of the word table, got "
            f"{unknown!r}; download it again"
        )
    if longest is not None and (not isinstance(longest, int) or longest < 1):
        raise InputError(
            f"{folder / 'config.json'}: indexer.longest_word must be a positive whole number, got "
            f"{longest!r}; download it again"
        )
    return TokenIndexer(
        characters,
        word_ids,
        unknown,
        str(markers.get("begin", default.begin)),
        str(markers.get("end", default.end)),
        longest,
    )


def _read_output_words(folder: Path, config: ModelConfig) -> OutputWords | None:
    path = folder / SOFTMAX
    if not path.is_file():
        return None
    if not (folder / "vocab.txt").is_file():
        raise InputError(f"{path}: the softmax needs its words in vocab.txt beside it")
    vocabulary = read_vocabulary(folder / "vocab.txt")
    tensors = read_tensors(path)
    shapes = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
    expected = {
        "weight": (len(vocabulary), config.lstm.projection_dim), "bias": (len(vocabulary),)
    }  # fmt: skip
    if shapes != expected:
        raise InputError(
            f"{path}: expected {expected} for the {len(vocabulary):,} words of vocab.txt, "
            f"found {shapes}"
        )
    return OutputWords(build_softmax(tensors["weight"], tensors["bias"], path), vocabulary)


def _read_bases(folder: Path, config: ModelConfig) -> dict[Basis, Tensor]:
    path, dim = folder / BASES, 2 * config.lstm.projection_dim
    if not path.is_file():
        return {}
    expected = (config.lstm.num_layers, dim, dim)
    tensors, found = read_tensors(path), dict[Basis, Tensor]()
    for name in get_args(Basis):
        if name in tensors:
            if tensors[name].shape != expected:
                raise InputError(
                    f"{path}: {name} has shape {tuple(tensors[name].shape)} instead of "
                    f"{expected}; it belongs to another model, so delete the file or fit it again"
                )
            require_finite(tensors[name], name, path)
            found[name] = tensors[name].float()
    return found


def _read_ids(path: Path, num_rows: int) -> dict[str, int]:
    values = read_json(path)
    for key, row in values.items():
        if not isinstance(row, int) or not 0 <= row < num_rows:
            raise InputError(f"{path}: {key!r} has id {row!r}, but the table has {num_rows} rows")
    return values


def _write_ids(path: Path, ids: dict[str, int]) -> None:
    path.write_text(json.dumps(ids, indent=0), encoding="ascii")  # escapes: any string survives
