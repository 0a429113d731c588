"""The examples run: as they are, and with a tiny untrained model."""

import json
import runpy
import sys
from importlib import import_module
from pathlib import Path

import pytest

import elmokit

EXAMPLES = Path(__file__).parents[1] / "examples"


def run(
    name: str,
    arguments: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    monkeypatch.setattr(sys, "argv", [name, *arguments])
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out.splitlines()


def test_two_apples_differ_above_the_token_layer(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("two_apples.py", [str(model)], monkeypatch, capsys)
    assert lines[0] == "layer 0: fruit to fruit 1.000, to company 1.000"
    assert len(lines) == 3


def test_the_task_model_learns(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("task_model.py", [str(model)], monkeypatch, capsys)
    first, last = (float(lines[row].split("loss ")[1].split(",")[0]) for row in (0, -1))
    assert last < first


def test_the_query_itself_is_the_most_similar_sentence(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = tmp_path / "text.txt"
    text.write_text("The river rose.\n\nA cat slept on the mat.\nPrices fell in March.\n")
    query = "A cat slept on the mat."
    lines = run("similar_sentences.py", [str(text), query, str(model)], monkeypatch, capsys)
    assert lines[0].endswith(query)


def test_without_arguments_the_sentences_on_the_topic_of_the_query_come_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = run("similar_sentences.py", [], monkeypatch, capsys)
    assert len(lines) == 5
    assert all("rates" in line for line in lines[:2])


def test_a_text_without_a_query_prints_the_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="TEXT QUERY"):
        run("similar_sentences.py", ["text.txt"], monkeypatch, capsys)


@pytest.mark.parametrize("name", ["two_apples.py", "task_model.py"])
def test_an_example_runs_without_arguments(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name, [], monkeypatch, capsys)


def test_spacy_gives_context_to_words(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import_module("elmokit.integrations.spacy")  # what the entry point does once it is installed
    lines = run("spacy_vectors.py", [str(model)], monkeypatch, capsys)
    assert [line.split(":")[0] for line in lines] == [".", "The", "bank", "."]
    assert all(-1 <= float(line.split()[-1]) <= 1 for line in lines)


def test_spacy_learns_its_places(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import_module("elmokit.integrations.spacy_layer")
    lines = run("spacy_layer.py", [], monkeypatch, capsys)
    assert lines[:4] == [
        "I left Paris. ['Paris']",
        "Rome is old. ['Rome']",
        "We saw Oslo. ['Oslo']",
        "It rose. []",
    ]
    assert lines[4].startswith("They went to London. [")


def test_ray_gives_every_text_a_vector(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ray = pytest.importorskip(
        "ray", reason="needs elmokit[ray] (139 MB), which CI does not install"
    )
    monkeypatch.setenv("PYTHONPATH", str(Path(elmokit.__file__).parents[1]))  # for the workers
    monkeypatch.setenv("RAY_worker_niceness", "0")
    ray.init(
        num_cpus=1,
        object_store_memory=100 * 2**20,
        include_dashboard=False,
        log_to_driver=False,
    )
    try:
        lines = run("ray_vectors.py", [str(model)], monkeypatch, capsys)
    finally:
        ray.shutdown()
    assert sorted(line for line in lines if line.startswith("The cat")) == [
        f"The cat number {number} sat. 8" for number in range(6)
    ]


def test_scikit_learn_chooses_a_layer(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    best, answer = run("sklearn_classifier.py", [str(model)], monkeypatch, capsys)
    assert best.removeprefix("best layer: ") in ("0", "1", "2", "average")
    assert answer.removeprefix("a wonderful film: ") in ("good", "bad")


def test_the_hub_model_is_saved_and_read_back(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    folder = tmp_path / "saved"
    assert run("hub_model.py", [str(folder), str(model)], monkeypatch, capsys) == [
        f"(4, 8) from {folder}"
    ]
    assert (folder / "README.md").is_file()


def test_the_sentence_encoder_trains_its_head(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = run("sentence_encoder.py", [str(model)], monkeypatch, capsys)
    near, far = json.loads(line.split(": ")[1])
    assert near > far


def test_tables_get_a_column_of_vectors(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (line,) = run("tables.py", [str(model)], monkeypatch, capsys)
    assert line.startswith("(8,) Array(Float32, shape=(8,)) fixed_size_list<")
    assert line.endswith("float>[8]")


def test_gensim_opens_static_vectors(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text, out = tmp_path / "text.txt", tmp_path / "vectors.bin"
    text.write_text("The cat saw the dog. The dog saw the cat.\n")
    written, nearest = run(
        "static_vectors.py", [str(text), str(out), str(model)], monkeypatch, capsys
    )
    assert written == f"{out}: 5 words, 8 dimensions"
    assert nearest.startswith("the [")


def test_every_example_is_tested() -> None:
    tested = Path(__file__).read_text(encoding="utf-8")
    assert all(f'"{path.name}"' in tested for path in EXAMPLES.glob("*.py"))
