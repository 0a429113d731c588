"""The commands as a person types them, on a tiny model."""

from json import loads
from pathlib import Path

import pytest
from zipf_text import corpus_and_model

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
    assert out.count("other sentences with this sense: ") == 4
    assert out.splitlines()[-1] == f"wrote {tmp_path / 'demo.png'}"
    assert (tmp_path / "demo.png").exists()


def test_demo_without_matplotlib_says_so(run, tiny_elmo: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("elmokit.figures.can_draw", lambda: False)
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
    assert "Nearest occurrences at layer 2: A good *play* ." in out
    status, _, complaint = run("neighbours", index, "A good play.", "-m", tiny_elmo)
    assert status == 1
    assert "asterisks" in complaint


def test_workers_of_an_index_need_ray(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    status, _, complaint = run("index", "a.txt", "-o", tmp_path / "index", "--workers", 3)
    assert status == 1
    assert "--workers 3 has no effect without --ray" in complaint


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


def test_senses_command_keeps_its_rows(run, tiny_elmo: Path, tmp_path: Path, wsd: Path) -> None:  # type: ignore[no-untyped-def]
    arguments = ("analyse", "senses", tiny_elmo, "--data", wsd, "--keep", tmp_path / "keep")
    status, out, _ = run(*arguments, "--sets", "senseval2,senseval3")
    assert status == 0
    assert "| tiny, layer 2 " in out
    assert len(list((tmp_path / "keep").glob("senses-*/*.json"))) == 1
    status, _, complaint = run(*arguments, "--sets", "senseval9")
    assert status == 1
    assert "the sets are senseval2" in complaint


def test_uses_command_draws_a_map(run, tiny_elmo: Path, tmp_path: Path, wsd: Path) -> None:  # type: ignore[no-untyped-def]
    picture = tmp_path / "play.svg"
    status, out, _ = run("analyse", "uses", "play", "--data", wsd, "-m", tiny_elmo, "-o", picture)
    assert status == 0
    assert "| play, noun 1 " in out
    assert picture.exists()


def test_former_spellings_are_accepted_and_not_shown(  # type: ignore[no-untyped-def]
    run, tiny_elmo: Path, tmp_path: Path, wsd: Path
) -> None:
    (tmp_path / "text.txt").write_text("They play. A play ends.\n")
    run("index", tmp_path / "text.txt", "-o", tmp_path / "index", "-m", tiny_elmo)
    asked = ("neighbours", tmp_path / "index", "A *play*.", "-m", tiny_elmo)
    assert run(*asked, "--count", 1)[:2] == run(*asked, "--top=1")[:2] == run(*asked, "-n", 1)[:2]
    _, out, _ = run("neighbours", "--help")
    assert "--top" in out
    assert "--count" not in out
    assert "uses" not in run("analyse", "--help")[1].split()
    assert run("demo", "-m", tiny_elmo, "--out", tmp_path / "demo.png")[0] == 0
    assert (tmp_path / "demo.png").exists()


def test_commands_say_what_they_wrote_and_print_json(  # type: ignore[no-untyped-def]
    run, tiny_elmo: Path, tmp_path: Path
) -> None:
    sentences = ("A play.", "They play.")
    picture, json = tmp_path / "c.svg", tmp_path / "c.json"
    files = ("--picture", picture, "--json", json)
    status, out, said = run("compare", "play", *sentences, "-m", tiny_elmo, *files)
    assert status == 0
    assert said.splitlines() == [f"wrote {json}", f"wrote {picture}"]
    status, out, _ = run("compare", "play", *sentences, "-m", tiny_elmo, "--json", "-")
    assert loads(out) == loads(json.read_text())


def test_neighbours_by_the_sentence_mean(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "text.txt").write_text("They play. A play ends.\n")
    model = f"plus-mean:{tiny_elmo}"
    run("index", tmp_path / "text.txt", "-o", tmp_path / "index", "-m", model)
    status, out, _ = run("neighbours", tmp_path / "index", "A *play*.", "-m", model)
    assert status == 0
    assert "Nearest occurrences at layer 2" in out
    status, _, complaint = run("neighbours", tmp_path / "index", "A *play*.", "-m", tiny_elmo)
    assert status == 1
    assert "another model (tiny, plus sentence mean)" in complaint


def test_sense_separation_and_its_former_name_refuse_too_little_text(  # type: ignore[no-untyped-def]
    run, tiny_elmo: Path, wsd: Path
) -> None:
    for name in ("sense-separation", "homonyms"):
        status, _, complaint = run("analyse", name, tiny_elmo, "--data", wsd)
        assert status == 1
        assert "ask for fewer occurrences per sense" in complaint


def test_a_report_without_sections_says_so(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    folder = tmp_path / "report"
    status, out, _ = run(
        "report", "-o", folder, "-m", tiny_elmo, "--data", tmp_path / "none", "--only", "uses"
    )
    assert status == 0
    assert out.splitlines()[-1] == f"{folder / 'report.html'}: no sections"


def test_sections_of_a_report_may_be_repeated(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = run(
        "report", "-o", tmp_path / "report", "-m", tiny_elmo, "--data", tmp_path,
        "--only", "demo", "--only", "pos,uses",
    )  # fmt: skip
    assert status == 0
    assert "left out: pos" in out
    assert "left out: occurrences" in out
    assert "report.html: demo" in out


def test_perplexity_command_stands_beside_an_ngram(run, tiny_elmo: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    corpus, model = corpus_and_model(tmp_path, tiny_elmo)
    status, out, _ = run("analyse", "perplexity", model, "--corpus", corpus, "--order", 2)
    assert status == 0
    assert "2-gram" in out


@pytest.fixture
def task_options(tiny_elmo: Path, tmp_path: Path, pairs: Path) -> list[str | Path]:
    """Of commands that train tasks: an epoch of tiny models."""
    dev = tmp_path / "dev.tsv"
    dev.write_text("a cow runs .\ta cow is outside .\tentailment\n")
    settings = (
        "model.hidden_dim=9", "words.dim=8", "words.vectors=", "characters.num_filters=0",
        "fit.max_epochs=1",
    )  # fmt: skip
    return [
        "entailment", "-m", tiny_elmo, "--data", tmp_path, "--seeds", "1", "-o", tmp_path / "runs",
        "--files", pairs, "--files", dev, "--files", pairs,
        *(part for setting in settings for part in ("--set", setting)),
    ]  # fmt: skip


@pytest.mark.slow
def test_places_then_mixes(run, tmp_path: Path, task_options: list[str | Path]) -> None:  # type: ignore[no-untyped-def]
    status, out, _ = run("analyse", "places", *task_options)
    assert status == 0
    assert "paper: SNLI" in out
    status, out, _ = run("analyse", "layers", "--no-layer-norm", *task_options)
    assert status == 0
    assert "all, lambda=1 " in out
    assert "layer norm" not in out
    status, out, _ = run("analyse", "mixes", tmp_path / "runs")
    assert status == 0
    assert "| SNLI, output " in out


@pytest.mark.slow
def test_tasks_then_efficiency_then_transfer(  # type: ignore[no-untyped-def]
    run, tmp_path: Path, task_options: list[str | Path]
) -> None:
    status, out, _ = run("analyse", "tasks", *task_options)
    assert status == 0
    assert "| SNLI, accuracy " in out
    status, out, _ = run("analyse", "efficiency", *task_options, "--shares", "20,100")
    assert status == 0
    assert "20 % (4)" in out
    tune = ("--tune", "train.batch_size=2", "--tune", "train.window=4")
    status, out, _ = run("analyse", "transfer", *task_options, *tune)
    assert status == 0
    assert "not training sentences; SNLI has 2." in out
    status, _, complaint = run("analyse", "tasks", *task_options, "--minutes", 1)
    assert status == 1
    assert "holds the run entailment-baseline-1 with other settings ([fit])" in complaint
