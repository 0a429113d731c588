"""Reads vectors that were computed with another program, and their sentences."""

import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from elmokit.errors import InputError, reason_of
from elmokit.recipe import parse_json
from elmokit.text.sources import read_lines
from elmokit.weights.hdf5 import find_dataset, open_hdf5

Array = npt.NDArray[np.float32]

SENTENCE_INDEX = "sentence_to_index"
_PATIENCE_SECONDS = 60


class ExpectedSentence(NamedTuple):
    """One sentence with the vectors that another program computed for it."""

    key: str
    tokens: list[str]
    vectors: Array  # (L + 1, T, D), (T, D), or (2, T, P) for the two directions of the top layer


def read_expected(path: Path, sentences: Path | None, max_sentences: int) -> list[ExpectedSentence]:
    """Read vectors in order; ``sentences``: the text (or FASTA) that was embedded."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of expected vectors")
    texts = None if sentences is None else _read_texts(sentences)
    if path.suffix == ".npz":
        arrays, index = _read_npz(path, max_sentences)
    else:
        arrays, index = _read_hdf5(path, max_sentences, need_index=texts is None)
    if not arrays:
        raise InputError(f"{path}: holds no vectors")
    found = []
    for number, (key, vectors) in enumerate(arrays.items()):
        if number == max_sentences:
            break
        tokens = _tokens_of(key, number, texts, index, path)
        if vectors.ndim not in (2, 3):
            raise InputError(f"{path}: {key!r} has shape {vectors.shape}, expected (layers, T, D)")
        if index == {} and _is_padded_batch(arrays):
            vectors = vectors[..., : len(tokens), :]
        if vectors.shape[-2] != len(tokens):
            raise InputError(
                f"{path}: {key!r} has vectors of {vectors.shape[-2]} tokens, but its sentence has "
                f"{len(tokens)}; give the sentences tokenised as they were, separated by spaces"
            )
        found.append(ExpectedSentence(key, tokens, vectors))
    return found


def _read_hdf5(
    path: Path, max_sentences: int, need_index: bool
) -> tuple[dict[str, Array], dict[str, str]]:
    """AllenNLP's layout: keys "0", "1", ... and sentence_to_index; bilm-tf's has no index."""
    with open_hdf5(path) as file:
        has_index = find_dataset(file, SENTENCE_INDEX, path) is not None
        index = _read_index(_read_strings(path), path) if has_index and need_index else {}
        keys = [key for key in file if key != SENTENCE_INDEX]
        if not all(isinstance(key, str) for key in keys):  # names that are not UTF-8
            raise InputError(f"{path}: has datasets without readable names; write it again")
        if all(key.isdecimal() for key in keys):
            keys.sort(key=int)
        datasets = ((key, find_dataset(file, key, path)) for key in keys[:max_sentences])
        arrays = {key: one[()] for key, one in datasets if one is not None}
        return {key: _numbers(values, path) for key, values in arrays.items()}, index


def _read_strings(path: Path) -> list[str]:
    """Read the index in another process: in a damaged file, HDF5 may never return."""
    script = (
        "import sys, h5py; "
        "sys.stdout.buffer.write(h5py.File(sys.argv[1], 'r')[sys.argv[2]].asstr()[0].encode())"
    )
    command = [sys.executable, "-c", script, str(path), SENTENCE_INDEX]
    try:
        found = subprocess.run(command, capture_output=True, check=True, timeout=_PATIENCE_SECONDS)
    except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
        raise InputError(
            f"{path}: {SENTENCE_INDEX} cannot be read; give the text that was embedded with "
            f"--sentences, or the file as it was"
        ) from None
    return [found.stdout.decode("utf-8", "replace")]


def _read_npz(path: Path, max_sentences: int) -> tuple[dict[str, Array], dict[str, str]]:
    """SeqVec: an array for each name. simple_elmo: one array (N, T, D) or (N, L + 1, T, D).

    ``elmokit embed`` adds the index that HDF5 files have.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            names = [name for name in file.files if name not in (SENTENCE_INDEX, "tokens")]
            found = {name: file[name] for name in names[:max_sentences]}
            sentences = file.get(SENTENCE_INDEX)
    except Exception as error:  # a damaged zip of damaged arrays raises anything
        raise InputError(
            f"{path}: not a file of vectors, or damaged ({reason_of(error)}); copy it again"
        ) from None
    index = {} if sentences is None else _read_index(sentences, path)
    arrays = {name: _numbers(array, path) for name, array in found.items()}
    if len(arrays) == 1 and not next(iter(arrays)).isdecimal():
        [(name, whole)] = arrays.items()
        if name == "arr_0" and whole.ndim in (3, 4):
            return {f"{name}[{row}]": one for row, one in enumerate(whole)}, index
    return arrays, index


def _read_index(values: Any, path: Path) -> dict[str, str]:
    """Key -> sentence, from one string of JSON that says sentence -> key."""
    try:
        by_sentence = parse_json(np.ravel(values)[0])
        return {str(key): sentence for sentence, key in by_sentence.items()}
    except (ValueError, TypeError, AttributeError, IndexError):
        raise InputError(
            f"{path}: {SENTENCE_INDEX} is not the JSON it should be; give the text that was "
            f"embedded with --sentences"
        ) from None


def _is_padded_batch(arrays: dict[str, Array]) -> bool:
    return next(iter(arrays)).startswith("arr_0[")


def _numbers(values: npt.NDArray[np.generic], path: Path) -> Array:
    if not isinstance(values, np.ndarray) or values.dtype.kind != "f":
        raise InputError(f"{path}: expected arrays of floating-point numbers")
    return values.astype(np.float32)


def _tokens_of(
    key: str, number: int, texts: dict[str, list[str]] | None, index: dict[str, str], path: Path
) -> list[str]:
    if texts is not None:
        if key in texts:
            return texts[key]
        if number < len(texts):
            return list(texts.values())[number]
        raise InputError(f"{path}: more vectors than sentences ({len(texts)}); give all of them")
    if key in index:
        return index[key].split()
    if not key.isdecimal() and not key.startswith("arr_0"):
        return key.split()  # AllenNLP's use_sentence_keys
    reason = "lists a repeated sentence only once" if index else "holds no sentences"
    raise InputError(
        f"{path}: {reason}, so {key!r} cannot be compared; give the text that was embedded too, "
        f"one sentence per line, tokens separated by spaces"
    )


def _read_texts(path: Path) -> dict[str, list[str]]:
    """Tokens by key: line numbers, or the names of a FASTA file."""
    if not path.is_file():
        raise InputError(f"{path}: there is no such file of sentences")
    lines = [line for _, line in read_lines(path)]
    while lines and not lines[-1]:
        lines.pop()
    if not lines or not lines[0].startswith(">"):
        return {str(number): line.split() for number, line in enumerate(lines)}
    sequences: dict[str, list[str]] = {}
    letters: list[str] = []
    for line in lines:
        if line.startswith(">"):
            letters = sequences.setdefault(line[1:].strip(), [])
        else:
            letters.extend(line.strip())
    return sequences
