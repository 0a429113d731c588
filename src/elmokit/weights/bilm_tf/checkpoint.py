"""TensorFlow checkpoints of a bilm-tf training, and the variables of TF-Hub's ELMo -> a model.

    training    lm/RNN_0/rnn/multi_rnn_cell/cell_0/lstm_cell/kernel
    inference   bilm/RNN_0/RNN/MultiRNNCell/Cell0/rnn/lstm_cell/kernel  (also TF-Hub's)
    HDF5        RNN_0/RNN/MultiRNNCell/Cell0/LSTMCell/W_0

Whatever scope stands before them, these become the names of the HDF5 files. The inference graph
keeps the row of zeros that masks, and comes without options.json: see ``options_of_shapes``.
"""

import re
from pathlib import Path, PureWindowsPath
from typing import Any

from elmokit.errors import InputError
from elmokit.recipe import read_json
from elmokit.weights.bilm_tf.layout import options_beside, vocabulary_beside
from elmokit.weights.bilm_tf.network import indexer_of, read_network, read_output_words
from elmokit.weights.bilm_tf.options import card_of_options, options_of_shapes
from elmokit.weights.names import ModelFiles
from elmokit.weights.pretrained import PretrainedModel
from elmokit.weights.tensor_bundle.bundle import read_bundle
from elmokit.weights.tensors import StoredTensor, read_state

TF_HUB_FILES = frozenset(("saved_model.pb", "tfhub_module.pb"))
"""What the folder of a TF-Hub module or a SavedModel holds beside variables/."""
_MOST_STATE_BYTES = 1 << 20
_CELL = re.compile(r"(RNN_[01])/(?:.*[Cc]ell_?(\d+)/|.*)(?:rnn/)?lstm_cell/(.+)")
_PARTS = {
    "kernel": "W_0", "bias": "B", "projection/kernel": "W_P_0",
    "weights": "W_0", "biases": "B", "projection/weights": "W_P_0",  # before TensorFlow 1.2
}  # fmt: skip

Stored = dict[str, StoredTensor]


def find_checkpoint(folder: Path) -> Path | None:
    """The checkpoint of a folder (without .index): a TF-Hub module's, the last one, the only one.

    ``checkpoint`` often names a path on the author's disk: only its last part counts.
    """
    if (folder / "variables" / "variables.index").is_file():
        return folder / "variables" / "variables"
    named = _last_saved(folder / "checkpoint")
    if named is not None and (folder / f"{named}.index").is_file():
        return folder / named
    found = sorted(folder.glob("*.index"))
    if len(found) > 1:
        names = ", ".join(path.stem for path in found[:5])
        raise InputError(
            f"{folder}: holds several checkpoints ({names}); give the path of one of them"
        )
    if found:
        return found[0].with_suffix("")
    if named is not None:
        raise InputError(
            f"{folder}: its file `checkpoint` names {named}, but there is no {named}.index; copy "
            f"all files of the checkpoint"
        )
    return None


def read_checkpoint(
    prefix: Path, options: Path | None = None, *, need_softmax: bool = True
) -> PretrainedModel:
    """Read the model of a checkpoint, ``prefix.index`` with its shards; nothing else is needed.

    ``options`` are looked for beside it. Only a TF-Hub module may come without.
    """
    index, given = Path(f"{prefix}.index"), options
    variables = read_bundle(prefix)
    stored, is_inference = _by_dataset(variables, index)
    is_hub = prefix.name == "variables" and prefix.parent.name == "variables"
    home = prefix.parent.parent / "options.json"
    if options is None and is_hub and home.is_file():
        options = home
    if options is None and is_inference and not (prefix.parent / "options.json").is_file():
        options, settings = index, options_of_shapes(stored, index)
    else:
        options = options or options_beside(index)
        settings = read_json(options)
    bilm = read_network(stored, settings, index, options)
    vocabulary = vocabulary_beside(index)
    output_words, unread = None, None
    if need_softmax and vocabulary is not None:
        output_words = read_output_words(stored, vocabulary, bilm.config, index)
    elif vocabulary is not None and "softmax/W" in stored:
        unread = ModelFiles(index, given)
    return PretrainedModel(
        bilm=bilm,
        indexer=indexer_of(bilm.config, vocabulary, index),
        format="tf-hub" if is_hub else "tf-checkpoint",
        source=str(prefix),
        settled=read_state(prefix.parent, bilm.config),
        output_words=output_words,
        card=card_of_options(settings) | _aggregation(variables),
        unread_softmax=unread,
    )


def _last_saved(path: Path) -> str | None:
    """The name that the text file ``checkpoint`` gives to the last checkpoint."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        text = file.read(_MOST_STATE_BYTES).decode("utf-8", "replace")
    found = re.search(r'^model_checkpoint_path:\s*"([^"\n\0]+)"', text, re.MULTILINE)
    return None if found is None else PureWindowsPath(found[1]).name or None


def _by_dataset(variables: Stored, index: Path) -> tuple[Stored, bool]:
    """Variables by the names of bilm-tf's HDF5 files, and whether they are an inference graph's.

    The optimizer's slots (``lm/char_embed/Adagrad``) stand below the variables that they belong to.
    """
    own = {name for name in variables if name.rpartition("/")[0] not in variables}
    scopes = {match[1] for name in own if (match := re.match(r"((?:.*/)?)RNN_0/", name))}
    if len(scopes) != 1:
        listed = ", ".join(sorted(scopes) or sorted(own)[:3]) or "nothing"
        what = "several biLMs" if scopes else "no biLM (RNN_0)"
        raise InputError(
            f"{index}: this checkpoint holds {what} ({listed}); give one of a bilm-tf training or "
            f"TF-Hub's ELMo"
        )
    scope = scopes.pop()
    names = {name: name.removeprefix(scope) for name in own if name.startswith(scope)}
    is_inference = any(re.search(r"Cell\d+/rnn/lstm_cell/", name) for name in own)
    stored = {_dataset(short): variables[name] for name, short in names.items()}
    if is_inference:
        for name in stored.keys() & {"char_embed", "embedding"}:
            stored[name] = _without_mask(stored[name], name)
    if "softmax/W" not in stored and "softmax/b" in stored and "embedding" in stored:
        stored["softmax/W"] = stored["embedding"]  # share_embedding_softmax
    return stored, is_inference


def _dataset(name: str) -> str:
    found = _CELL.fullmatch(name)
    if found is None:
        return name
    side, layer, part = found.groups()
    cell = "" if layer is None else f"MultiRNNCell/Cell{layer}/"
    return f"{side}/RNN/{cell}LSTMCell/{_PARTS.get(part, part)}"


def _without_mask(table: StoredTensor, name: str) -> StoredTensor:
    """Row 0 masks in the inference graph, and is in no HDF5 file; 261 characters have none."""
    if len(table.shape) != 2 or (name == "char_embed" and table.shape[0] < 262):
        return table
    shape = (table.shape[0] - 1, table.shape[1])
    return StoredTensor(table.path, shape, lambda: table.read()[1:])


def _aggregation(variables: Stored) -> dict[str, str]:
    """The mix of layers that a TF-Hub module was trained with, for the card."""
    found: dict[str, Any] = {}
    for part in ("weights", "scaling"):
        for name, tensor in variables.items():
            if name.endswith(f"aggregation/{part}") and len(tensor.shape) <= 1:
                values = tensor.read().flatten()[:64].tolist()
                found[f"aggregation/{part}"] = " ".join(f"{value:g}" for value in values)
    return found
