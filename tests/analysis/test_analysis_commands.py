"""The commands as a person types them, on a tiny model."""

from pathlib import Path

import pytest

from elmokit.cli import main

CONLLU = "".join(
    f"1\tthe\t_\t_\tDT\t_\t_\t_\t_\t_\n2\t{noun}\t_\t_\tNN\t_\t_\t_\t_\t_\n\n"
    for noun in ("dog", "cat", "sun", "sea", "day")
)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny_elmo: Path):  # type: ignore[no-untyped-def]
    """Arguments -> (exit status, what was printed, what was complained)."""

    def call(*arguments: str | Path) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["elmokit", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        return int(stop.value.code or 0), said.out, said.err

    return call


def test_demo_prints_tables_and_draws(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = run("demo", "-m", tiny_elmo, "-o", tmp_path / "demo.png")
    assert status == 0
    assert out.count("| two senses: ") == 2
    assert (tmp_path / "demo.png").exists()


def test_demo_without_matplotlib_says_so(run, tiny_elmo: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("elmokit.analysis.pictures.can_draw", lambda: False)
    status, out, _ = run("demo", "-m", tiny_elmo)
    assert status == 0
    assert "elmokit[plot]" in out


def test_compare_and_its_complaints(run, tiny_elmo: Path) -> None:  # type: ignore[no-untyped-def]
    sentences = ("I'd like to eat an apple.", "I like the products of Apple.")
    status, out, _ = run("compare", "apple", *sentences, "-m", tiny_elmo)
    assert status == 0
    assert "| 1 and 2   | 1.000" in out
    status, _, complaint = run("compare", "pear", *sentences, "-m", tiny_elmo)
    assert status == 1
    assert complaint.startswith("elmokit: 'pear' is not a token of: I 'd like")


def test_index_then_neighbours(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "text.txt").write_text("They play. A play ends. The day ends.\n")
    index = tmp_path / "index"
    status, out, _ = run("index", tmp_path / "text.txt", "-o", index, "-m", tiny_elmo)
    assert status == 0
    assert "11 tokens of 3 sentences, layers 1, 2, exact" in out
    status, out, _ = run("neighbours", index, "A good *play*.", "-m", tiny_elmo, "-n", 2)
    assert status == 0
    assert "Nearest uses at layer 2: A good *play* ." in out
    status, _, complaint = run("neighbours", index, "A good play.", "-m", tiny_elmo)
    assert status == 1
    assert "asterisks" in complaint


def test_part_of_speech_command_writes_its_result(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for split in ("train", "dev", "test"):
        (tmp_path / f"x-{split}.conllu").write_text(CONLLU)
    json, picture = tmp_path / "pos.json", tmp_path / "pos.svg"
    status, out, _ = run(
        "analyse", "pos", tiny_elmo, f"untrained:{tiny_elmo}:2", "--data", tmp_path,
        "--json", json, "--picture", picture,
    )  # fmt: skip
    assert status == 0
    assert "| tiny, layer 2 " in out
    assert '"untrained (seed 2)"' in json.read_text()
    assert picture.exists()


def test_report_command_names_what_is_left_out(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = run(
        "report", "-o", tmp_path / "report", "-m", tiny_elmo, "--data", tmp_path,
        "--only", "demo,senses",
    )  # fmt: skip
    assert status == 0
    assert "left out: senses" in out
    assert "report.html: demo" in out


@pytest.mark.slow
def test_places_then_mixes(run, tiny_elmo: Path, tmp_path: Path, pairs: Path) -> None:  # type: ignore[no-untyped-def]
    settings = ("model.hidden_dim=9", "words.dim=8", "characters.num_filters=0", "fit.max_epochs=1")
    options = [part for setting in settings for part in ("--set", setting)]
    files = ["--files", pairs] * 3
    status, out, _ = run(
        "analyse", "places", "entailment", "-m", tiny_elmo, "--data", tmp_path, *files, *options,
        "--seeds", 1, "-o", tmp_path / "runs",
    )  # fmt: skip
    assert status == 0
    assert "paper: SNLI" in out
    status, out, _ = run("analyse", "mixes", tmp_path / "runs")
    assert status == 0
    assert "| SNLI, output " in out
