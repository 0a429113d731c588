"""Proteins in the layout of bio_embeddings."""

import csv
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmokit.embed.files.command import EmbedOptions, run_embed
from elmokit.embed.load import load
from elmokit.errors import InputError

FASTA = ">sp|P1|A_HUMAN first\nMKV\nLA\n>sp|P2|B_HUMAN\nMK\n>again\nMK\n"


def test_three_files_hold_the_layers_the_means_and_the_names(model: Path, tmp_path: Path) -> None:
    fasta, out = tmp_path / "p.fasta", tmp_path / "out"
    fasta.write_text(FASTA)
    options = EmbedOptions(model=model, protein=True, bio_embeddings=True, quiet=True)
    assert run_embed([str(fasta)], out, options).endswith("3 proteins, 9 residues")
    layers = load(model).layers([list("MKVLA"), list("MK")])
    with h5py.File(out / "embeddings_file.h5") as whole:
        assert sorted(whole) == ["0", "1", "2"]
        assert whole["0"].attrs["original_id"] == "sp|P1|A_HUMAN"
        np.testing.assert_allclose(whole["0"][:], layers[0], rtol=1e-5, atol=1e-6)
        assert whole["0"].shape == (3, 5, 8)
    with h5py.File(out / "reduced_embeddings_file.h5") as reduced:
        expected = layers[1].sum(axis=0).mean(axis=0)
        np.testing.assert_allclose(reduced["1"][:], expected, rtol=1e-4, atol=1e-5)
        assert reduced["2"].attrs["original_id"] == "again"
    with (out / "mapping_file.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["", "original_id", "sequence_length"]
    assert rows[1] == ["0", "sp|P1|A_HUMAN", "5"]


def test_what_the_layout_does_not_hold_is_refused(model: Path, tmp_path: Path) -> None:
    fasta = tmp_path / "p.fasta"
    fasta.write_text(FASTA)
    for options, message in (
        (EmbedOptions(model=model, bio_embeddings=True), "add --protein"),
        (
            EmbedOptions(model=model, protein=True, bio_embeddings=True, pool="mean"),
            "leave out --layers and --pool",
        ),
    ):
        with pytest.raises(InputError, match=message):
            run_embed([str(fasta)], tmp_path / "out", options)
    fasta.write_text("no header\n")
    with pytest.raises(InputError, match="expected a FASTA header"):
        run_embed(
            [str(fasta)],
            tmp_path / "out",
            EmbedOptions(model=model, protein=True, bio_embeddings=True, quiet=True),
        )
    assert [path.name for path in tmp_path.iterdir()] == ["p.fasta"]
