"""AllenNLP's model archives (config.json, weights.th) -> the biLM of the Elmo inside.

AllenNLP turned the weights of bilm-tf when it loaded them, and here they are turned back: gates
i, f, g, o instead of i, j, f, o; 1 added to the bias of the forget gate; highways
y = g * x + (1 - g) * relu(.), so the gate's weights are negated; the row of zeros that masks.
All of it is exact: (b + 1) - 1 need not be b, but gives the same sum with 1.
"""

from collections.abc import Iterator
from pathlib import Path, PureWindowsPath
from typing import Any

import torch
from torch import Tensor

from elmokit.errors import InputError
from elmokit.recipe import read_json
from elmokit.weights.bilm_tf.network import indexer_of, read_network
from elmokit.weights.bilm_tf.options import card_of_options, options_of_shapes
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensors import StoredTensor, read_pickled_tensors, read_state

WEIGHTS = "weights.th"
ARCHIVED = "fta"
"""The folder of the files that a config names: until version 0.9 AllenNLP archived them."""
_ANCHOR = "_token_embedder._char_embedding_weights"
_SIDES = ("forward", "backward")

Tensors = dict[str, Tensor]


def read_allennlp(folder: Path, options: Path | None = None) -> PretrainedModel:
    """Read the biLM from the unpacked archive of a model that uses ELMo.

    ``options`` are looked for inside; where they are not, what all published biLMs have is assumed.
    """
    path = folder / WEIGHTS
    tensors = read_pickled_tensors(path)
    elmo = _only_elmo(tensors, path)
    stored = {
        name: StoredTensor(path, tuple(tensor.shape), tensor.contiguous)
        for name, tensor in (*_token_tensors(elmo, path), *_lstm_tensors(elmo, path))
    }
    options = options or _find_options(folder)
    settings = read_json(options) if options else options_of_shapes(stored, path)
    bilm = read_network(stored, settings, path, options or path)
    return PretrainedModel(
        bilm=bilm,
        indexer=indexer_of(bilm.config, None, path),
        format="allennlp",
        source=str(folder),
        settled=read_state(folder, bilm.config),
        card=card_of_options(settings) | _mixes(tensors),
    )


def _only_elmo(tensors: Tensors, path: Path) -> Tensors:
    """The tensors of the biLM, by their names inside of it; a model may hold it more than once."""
    scopes = sorted(name.removesuffix(_ANCHOR) for name in tensors if name.endswith(_ANCHOR))
    if not scopes:
        names = ", ".join(sorted(tensors)[:3]) or "nothing"
        raise InputError(
            f"{path}: no ELMo inside this AllenNLP model ({_ANCHOR} is missing; it holds {names}); "
            f"give the archive of a model that uses the elmo token embedder"
        )
    found = [
        {n.removeprefix(scope): t for n, t in tensors.items() if n.startswith(scope)}
        for scope in scopes
    ]
    first = found[0]
    for other in found[1:]:
        if other.keys() != first.keys() or not all(torch.equal(first[n], other[n]) for n in first):
            raise InputError(
                f"{path}: holds several different biLMs ({', '.join(scopes)}); elmokit reads "
                f"archives with one"
            )
    return first


def _token_tensors(elmo: Tensors, path: Path) -> Iterator[tuple[str, Tensor]]:
    yield "char_embed", _take(elmo, _ANCHOR, 2, path)[1:]
    ours = "_token_embedder"
    for number in _numbers(elmo, f"{ours}.char_conv_{{}}.weight"):
        convolution = f"{ours}.char_conv_{number}"
        weight = _take(elmo, f"{convolution}.weight", 3, path)  # (num, E, width)
        yield f"CNN/W_cnn_{number}", weight.permute(2, 1, 0)[None]
        yield f"CNN/b_cnn_{number}", _take(elmo, f"{convolution}.bias", 1, path)
    for number in _numbers(elmo, f"{ours}._highways._layers.{{}}.weight"):
        highway = f"{ours}._highways._layers.{number}"
        for part, kind, num_dims in (("W", "weight", 2), ("b", "bias", 1)):
            both = _take(elmo, f"{highway}.{kind}", num_dims, path)
            half = len(both) // 2
            yield f"CNN_high_{number}/{part}_transform", both[:half].t()
            yield f"CNN_high_{number}/{part}_carry", -both[half:].t()
    if f"{ours}._projection.weight" in elmo:
        yield "CNN_proj/W_proj", _take(elmo, f"{ours}._projection.weight", 2, path).t()
        yield "CNN_proj/b_proj", _take(elmo, f"{ours}._projection.bias", 1, path)


def _lstm_tensors(elmo: Tensors, path: Path) -> Iterator[tuple[str, Tensor]]:
    for direction, side in enumerate(_SIDES):
        for layer in _numbers(elmo, f"_elmo_lstm.{side}_layer_{{}}.input_linearity.weight"):
            theirs = f"_elmo_lstm.{side}_layer_{layer}"
            inputs = _take(elmo, f"{theirs}.input_linearity.weight", 2, path)  # (4H, P)
            hidden = _take(elmo, f"{theirs}.state_linearity.weight", 2, path)
            bias = _take(elmo, f"{theirs}.state_linearity.bias", 1, path)
            if len(inputs) % 4 or not len(inputs) == len(hidden) == len(bias):
                raise InputError(
                    f"{path}: {theirs} has {len(inputs)}, {len(hidden)} and {len(bias)} rows, "
                    f"which are not four gates; download it again"
                )
            group = f"RNN_{direction}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            yield f"{group}/W_0", _reorder_gates(torch.cat([inputs, hidden], dim=1)).t()
            yield f"{group}/B", _reorder_gates(bias, forget_bias=1.0)
            yield f"{group}/W_P_0", _take(elmo, f"{theirs}.state_projection.weight", 2, path).t()


def _reorder_gates(rows: Tensor, forget_bias: float = 0.0) -> Tensor:
    i, f, g, o = rows.chunk(4)
    return torch.cat([i, g, f - forget_bias, o])


def _numbers(elmo: Tensors, name: str) -> Iterator[int]:
    number = 0
    while name.format(number) in elmo:
        yield number
        number += 1


def _take(elmo: Tensors, name: str, num_dims: int, path: Path) -> Tensor:
    if name not in elmo or elmo[name].ndim != num_dims:
        raise InputError(f"{path}: lacks {name} of {num_dims} dimensions; download it again")
    return elmo[name]


def _find_options(folder: Path) -> Path | None:
    """The options inside the archive: where AllenNLP put them, or what config.json names.

    Until version 0.9 AllenNLP archived files as fta/KEY; later it kept their address alone.
    """
    for path in sorted((folder / ARCHIVED).glob("*options_file")):
        if path.is_file():
            return path
    config = folder / "config.json"
    named = list(_options_files(read_json(config))) if config.is_file() else []
    for name in ("options.json", *named):
        if (folder / name).is_file():
            return folder / name
    return None


def _options_files(value: Any) -> Iterator[str]:
    """The last parts of all paths that a config calls ``options_file``."""
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            name = item.get("options_file")
            if isinstance(name, str) and name and "\0" not in name and len(name) < 1000:
                yield PureWindowsPath(name).name or "options.json"
            stack += item.values()
        elif isinstance(item, list):
            stack += item


def _mixes(tensors: Tensors) -> dict[str, str]:
    """The learned mixes of layers, for the card: their parameters before the softmax, and gamma."""
    found = {}
    for name, tensor in tensors.items():
        if "scalar_mix_" in name and tensor.numel() == 1:
            found[name[name.index("scalar_mix_") :]] = f"{tensor.item():g}"
    return dict(sorted(found.items())[:64])
