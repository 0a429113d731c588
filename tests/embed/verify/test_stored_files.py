"""``elmokit verify`` finds any damaged byte of a model, a corpus or an index."""

import random
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from elmokit.cli import app
from elmokit.cli import embedding as _embedding  # noqa: F401  adds its commands
from elmokit.embed.verify.stored_files import check_stored
from elmokit.errors import InputError
from elmokit.files.checksums import write_checksums
from elmokit.weights.names import find_model


def test_the_shipped_model_is_whole() -> None:
    """After a change of its files: ``elmokit export`` writes SHA256SUMS, or sha256sum does."""
    report = check_stored("en-small")
    assert report.num_files == 6
    assert report.line() == "files      6 files of the model as SHA256SUMS says"


@pytest.mark.parametrize("seed", range(8))
def test_one_flipped_bit_anywhere_in_a_model_is_found(
    model: Path, tmp_path: Path, seed: int
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(model, copy)
    generator = random.Random(seed)
    path = generator.choice(sorted(path for path in copy.iterdir() if path.name != "SHA256SUMS"))
    content = bytearray(path.read_bytes())
    content[generator.randrange(len(content))] ^= 1 << generator.randrange(8)
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=f"{path.name}: damaged or changed .* download the model"):
        check_stored(copy)


def test_embed_verify_refuses_a_damaged_model_before_any_work(model: Path, tmp_path: Path) -> None:
    copy, text = tmp_path / "copy", tmp_path / "in.txt"
    shutil.copytree(model, copy)
    text.write_text("one sentence\n")
    command = [
        "embed",
        str(text),
        "-o",
        str(tmp_path / "out.h5"),
        "-m",
        str(copy),
        "-q",
        "--verify",
    ]
    assert CliRunner().invoke(app, command).exit_code == 0
    (tmp_path / "out.h5").unlink()
    (copy / "config.json").write_text((copy / "config.json").read_text() + "\n")
    result = CliRunner().invoke(app, command)
    assert "config.json: damaged or changed" in str(result.exception)
    assert not (tmp_path / "out.h5").exists()
    (copy / "SHA256SUMS").unlink()
    assert "carries no checksums" in str(CliRunner().invoke(app, command).exception)


@pytest.mark.parametrize("kind", ["corpus", "index"])
def test_a_corpus_and_an_index_are_checked_by_their_files(kind: str, tmp_path: Path) -> None:
    (tmp_path / f"{kind}.json").write_text("{}")
    result = CliRunner().invoke(app, ["verify", str(tmp_path)])
    assert result.exit_code == 0
    assert f"this {kind} carries no checksums" in result.output
    write_checksums(tmp_path)
    result = CliRunner().invoke(app, ["verify", str(tmp_path)])
    assert result.output == f"files      1 file of the {kind} as SHA256SUMS says\n"


def test_a_single_file_is_checked_where_it_is_listed(model: Path, tmp_path: Path) -> None:
    shutil.copytree(model, tmp_path / "copy")
    path = tmp_path / "copy" / "model.safetensors"
    assert check_stored(path).num_files == 1
    assert find_model(path).path == path
