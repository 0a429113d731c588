"""PROTEINS -> A FOLDER as bio_embeddings' pipeline wrote it, for the programs that read its files.

    embeddings_file.h5           one dataset (L + 1, residues, D) per protein: 0, 1, 2, ...
    reduced_embeddings_file.h5   the same names, (D,): the sum of the layers, mean over residues
    mapping_file.csv             ,original_id,sequence_length

Every dataset has the attribute ``original_id``, the first word of its FASTA header. Datasets are
numbered in the order of the input, as with bio_embeddings' ``simple_remapping``, because the
default, checksums, would give equal sequences the same name.
"""

import csv
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

import h5py
import numpy as np

from elmokit.embed.embedder import BATCH_TOKENS, Embedder
from elmokit.embed.files.inputs import Item
from elmokit.files import replacing_folder, require_replaceable
from elmokit.progress import Meter

EMBEDDINGS, REDUCED, MAPPING = (
    "embeddings_file.h5",
    "reduced_embeddings_file.h5",
    "mapping_file.csv",
)


def write_bio_embeddings(
    elmo: Embedder,
    proteins: Iterable[Item],
    folder: Path,
    *,
    dtype: str = "float32",
    batch_tokens: int = BATCH_TOKENS,
    progress: Meter | None = None,
) -> int:
    """Write the three files and return the number of residues; a killed run leaves no folder."""
    require_replaceable(folder, MAPPING, "embeddings")
    waiting: deque[Item] = deque()

    def residues() -> Iterator[list[str]]:
        for protein in proteins:
            waiting.append(protein)
            yield protein.tokens

    num_residues = 0
    with (
        replacing_folder(folder) as aside,
        h5py.File(aside / EMBEDDINGS, "w") as whole,
        h5py.File(aside / REDUCED, "w") as reduced,
        (aside / MAPPING).open("w", encoding="utf-8", newline="") as file,
    ):
        mapping = csv.writer(file, lineterminator="\n")
        mapping.writerow(["", "original_id", "sequence_length"])
        stream = elmo.stream_layers(residues(), batch_tokens=batch_tokens)
        for number, layers in enumerate(stream):
            protein = waiting.popleft()
            length = len(protein.tokens)
            mean = layers.sum(axis=0).sum(axis=0) / max(length, 1)
            for target, array in ((whole, layers), (reduced, np.asarray(mean))):
                dataset = target.create_dataset(str(number), data=array, dtype=dtype)
                dataset.attrs["original_id"] = protein.key
            mapping.writerow([number, protein.key, length])
            num_residues += length
            if progress is not None:
                progress.advance()
    return num_residues
