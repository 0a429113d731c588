"""An interrupted ``embed --resume`` ends with the bytes of one that was never stopped."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from elmokit.cli import app
from elmokit.cli import embedding as _embedding  # noqa: F401  adds its commands
from elmokit.embed.files import resume, to_file

LINES = [" ".join(f"w{(7 * n + k) % 23}x{n % 5}" for k in range(n % 9)) for n in range(40)]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(to_file, "WINDOW_TOKENS", 30)  # about seven windows
    (tmp_path / "in.txt").write_text("\n".join(LINES) + "\n")
    return tmp_path / "in.txt"


def embed(text: Path, out: Path, model: Path, *options: str) -> Result:
    words = ["embed", str(text), "-o", str(out), "-m", str(model), "-q", "--pretokenized"]
    return CliRunner().invoke(app, [*words, "--batch-tokens", "15", *options])


def stop_after(windows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a kill would: nothing is tidied, because the windows are whole or absent."""
    write = resume.KeptWindows.write

    def write_or_stop(self: resume.KeptWindows, number: int, *rest: object) -> None:
        if number == windows:
            raise KeyboardInterrupt
        write(self, number, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(resume.KeptWindows, "write", write_or_stop)


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


OPTIONS = [("out.h5",), ("out.npz", "--layers", "all"), ("out.parquet", "--pool", "mean")]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda options: options[0])
def test_a_resumed_file_has_the_bytes_of_an_uninterrupted_one(
    options: tuple[str, ...], text: Path, model: Path, tmp_path: Path
) -> None:
    whole, out = tmp_path / f"whole-{options[0]}", tmp_path / options[0]
    assert embed(text, whole, model, *options[1:]).exit_code == 0
    for windows in (2, 5):
        with pytest.MonkeyPatch.context() as patch:
            stop_after(windows, patch)
            result = embed(text, out, model, *options[1:], "--resume")
        assert result.exit_code != 0
        assert "the same command continues from there" in result.output
        assert not out.exists()
    computed = count_windows(monkey := pytest.MonkeyPatch())
    try:
        assert embed(text, out, model, *options[1:], "--resume").exit_code == 0
    finally:
        monkey.undo()
    assert min(computed) == 5
    assert digest(out) == digest(whole)
    assert not (tmp_path / f".{options[0]}.resume").exists()


def count_windows(patch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of the windows that are computed from now on."""
    numbers: list[int] = []
    write = resume.KeptWindows.write

    def counting(self: resume.KeptWindows, number: int, *rest: object) -> None:
        numbers.append(number)
        write(self, number, *rest)  # type: ignore[arg-type]

    patch.setattr(resume.KeptWindows, "write", counting)
    return numbers


def test_a_damaged_window_is_computed_again(text: Path, model: Path, tmp_path: Path) -> None:
    whole, out = tmp_path / "whole.h5", tmp_path / "out.h5"
    embed(text, whole, model)
    with pytest.MonkeyPatch.context() as patch:
        stop_after(4, patch)
        embed(text, out, model, "--resume")
    damaged = tmp_path / ".out.h5.resume" / "000001.window"
    content = bytearray(damaged.read_bytes())
    content[-3] ^= 1
    damaged.write_bytes(bytes(content))
    (tmp_path / ".out.h5.resume" / "000002.window").write_bytes(b"[" * 100_000)
    with pytest.MonkeyPatch.context() as patch:
        numbers = count_windows(patch)
        assert embed(text, out, model, "--resume").exit_code == 0
    assert numbers[:3] == [1, 2, 4]
    assert digest(out) == digest(whole)


def test_other_options_are_refused_and_changed_text_is_computed_again(
    text: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.h5"
    with pytest.MonkeyPatch.context() as patch:
        stop_after(3, patch)
        embed(text, out, model, "--resume")
    result = embed(text, out, model, "--resume", "--layers", "top")
    assert "started with another model or other options" in str(result.exception)
    text.write_text("\n".join(["now other text", *LINES]) + "\n")
    assert embed(text, out, model, "--resume").exit_code == 0
    embed(text, tmp_path / "whole.h5", model)
    assert digest(out) == digest(tmp_path / "whole.h5")


def test_what_can_be_read_only_once_is_refused(model: Path, tmp_path: Path) -> None:
    words = ["embed", "-", "-o", str(tmp_path / "out.h5"), "-m", str(model), "--resume"]
    result = CliRunner().invoke(app, words, input="a\n")
    assert "can be read only once; write the text to a file" in str(result.exception)


def test_continuing_encodes_the_words_of_what_is_skipped(
    text: Path, model: Path, tmp_path: Path
) -> None:
    """So that later words are encoded in the same company, and round the same way."""
    from elmokit.embed.word_cache import WordCache

    def calls_of(patch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
        seen: list[tuple[str, ...]] = []
        vectors = WordCache.vectors

        def watching(self: WordCache, words: list[str]) -> Iterator[object]:
            seen.append(tuple(words))
            return vectors(self, words)  # type: ignore[return-value]

        patch.setattr(WordCache, "vectors", watching)
        return seen

    with pytest.MonkeyPatch.context() as patch:
        expected = calls_of(patch)
        embed(text, tmp_path / "whole.h5", model)
    with pytest.MonkeyPatch.context() as patch:
        stop_after(3, patch)
        embed(text, tmp_path / "out.h5", model, "--resume")
    with pytest.MonkeyPatch.context() as patch:
        found = calls_of(patch)
        embed(text, tmp_path / "out.h5", model, "--resume")
    assert found == expected
