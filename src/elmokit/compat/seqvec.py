"""SeqVec's names and command: ``python -m elmokit.compat.seqvec -i FASTA -o OUT.h5 --model DIR``.

Proteins keep the order of their files, and memory is bounded regardless of their number.
"""

import argparse
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from elmokit.embed.embedder import Embedder
from elmokit.embed.files.fasta import read_fasta
from elmokit.embed.files.inputs import Item
from elmokit.embed.files.writers import Layout, writing
from elmokit.embed.mix import AnyMix
from elmokit.embed.pooling import pool_tokens
from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError
from elmokit.files import replacing_file, write_json
from elmokit.weights.load import load_pretrained

LAYERS: dict[str, AnyMix] = {"sum": "sum", "all": "concat", "CNN": 0, "LSTM1": 1, "LSTM2": 2}


def get_embeddings(
    seq_dir: Path,
    model_dir: Path,
    split_char: str = "|",
    id_field: int = 1,
    cpu: bool = False,
    layer: str = "sum",
    batchsize: int = 15000,
    per_protein: bool = False,
) -> Iterator[tuple[str, Vectors]]:
    """Yield (id, vectors) for every protein, in the order of the files.

    Args:
        seq_dir: a FASTA file, or a folder with files named ``*fasta*`` at any depth.
        model_dir: SeqVec's folder, or any model that elmokit reads.
        split_char: separates the fields of a header.
        id_field: the field that is the id, counted from 0; -1: the whole header.
        cpu: do not use a GPU even if there is one.
        layer: sum, all (concatenated), CNN, LSTM1 or LSTM2.
        batchsize: residues per batch.
        per_protein: one mean vector (D,) per protein, instead of (residues, D).
    """
    import torch

    if layer not in LAYERS:
        raise InputError(f"layer must be one of {', '.join(LAYERS)}, got {layer!r}")
    embedder = Embedder(load_pretrained(model_dir, need_softmax=False))
    if torch.cuda.is_available() and not cpu:
        embedder.to("cuda")
    waiting: deque[str] = deque()

    def residues() -> Iterator[list[str]]:
        for item in read_fasta(_fasta_files(seq_dir), id_field=id_field, split_char=split_char):
            waiting.append(item.key)
            yield item.tokens

    for vectors in embedder.stream(residues(), LAYERS[layer], batch_tokens=batchsize):
        pooled = pool_tokens(vectors, "mean", embedder.dim) if per_protein else vectors
        yield waiting.popleft(), pooled


def save_from_generator(
    emb_path: Path, per_protein: bool, the_generator: Iterable[tuple[str, Vectors]]
) -> None:
    """Write a .h5 or .npz file by id; or, ``per_protein`` only, .npy (one matrix, ids in .json)."""
    if emb_path.suffix == ".npy":
        if not per_protein:
            raise InputError(f"{emb_path}: .npy holds one matrix; use .h5 or .npz, or --protein")
        pairs = list(the_generator)
        with replacing_file(emb_path) as aside, open(aside, "wb") as file:
            np.save(file, np.array([vector for _, vector in pairs], dtype=np.float32))
        write_json(emb_path.with_suffix(".json"), [key for key, _ in pairs])
        return
    layout = Layout(is_pooled=per_protein, keep_sentences=False)
    with writing(emb_path, layout) as writer:
        for key, vectors in the_generator:
            writer.add(Item(key, "", []), vectors)


def _fasta_files(path: Path) -> list[str]:
    if path.is_dir():
        found = sorted(str(child) for child in path.rglob("*fasta*") if child.is_file())
        if found:
            return found
        raise InputError(f"{path}: no file named *fasta* in this folder; give a FASTA file")
    if not path.is_file():
        raise InputError(f"{path}: there is no such file")
    return [str(path)]


def main(arguments: list[str] | None = None) -> None:
    """Run SeqVec's command line, where ``--protein`` means one mean vector per protein."""
    parser = argparse.ArgumentParser(description="ELMo vectors of proteins in FASTA files.")
    parser.add_argument("-i", "--input", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--model", type=Path, default=Path("model"))
    parser.add_argument("--protein", action="store_true", help="one mean vector per protein")
    parser.add_argument("--batchsize", type=int, default=15000, help="residues per batch")
    parser.add_argument("--split-char", default="|")
    parser.add_argument("--id", type=int, default=1, help="field of the header; -1: all of it")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--layer", choices=list(LAYERS), default="sum")
    parser.add_argument("--silent", action="store_true", help="accepted, but has no effect")
    options = parser.parse_args(arguments)
    embeddings = get_embeddings(
        options.input, options.model, options.split_char, options.id, options.cpu,
        options.layer, options.batchsize, options.protein,
    )  # fmt: skip
    try:
        save_from_generator(options.output, options.protein, embeddings)
    except InputError as error:
        parser.exit(1, f"seqvec: {error}\n")


if __name__ == "__main__":
    main()
