"""``elmokit task``: what a user types, and what they are told when something is wrong."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small_task_files import CASES, entity_file, sentiment_file
from tiny_model import tiny_pretrained
from typer.testing import CliRunner

import elmokit
from elmokit.cli import app, tasks
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.tasks import run_folder
from elmokit.tasks.data.entities import Entity
from elmokit.tasks.data.squad import Answer, Passage, QaExample
from elmokit.tasks.run import (
    CacheConfig,
    _embedder,
    configured,
    eval_task,
    load_task,
    predict_file,
    predict_task,
    read_examples,
    train_task,
)
from elmokit.tasks.run_folder import describe_run
from elmokit.weights import names
from elmokit.weights.native import write_native

SMALL = [*CASES["ner"][1], "fit.max_epochs=2", "elmo.dropout=0.0"]
assert tasks.task_app  # imported for its commands


@pytest.fixture(scope="module")
def entities(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return entity_file(tmp_path_factory.mktemp("data") / "x.conll")


@pytest.fixture(scope="module")
def trained(
    tmp_path_factory: pytest.TempPathFactory, entities: Path, tiny_elmo_folder: Path
) -> Path:
    """A run of a few epochs, made by the command."""
    folder = tmp_path_factory.mktemp("run")
    options = [f"--set={setting}" for setting in [*SMALL, "fit.max_epochs=15"]]
    command = [
        "task", "train", "ner", "--train", str(entities), "--dev", str(entities),
        "--out", str(folder / "run"), "--elmo", str(tiny_elmo_folder), "--where", "input",
        "--layers", "top", "--seed", "5", "--cache", str(folder / "cache"), *options,
    ]  # fmt: skip
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    assert result.exit_code == 0
    assert "development F1" in result.stdout
    assert f"elmokit task eval {folder / 'run'} --test FILE" in result.stdout
    assert "ner epoch 1/15: loss" in result.stderr
    return folder / "run"


def test_train_writes_settings_log_and_result(trained: Path) -> None:
    facts = json.loads((trained / "task.json").read_text())
    assert facts["config"]["elmo"]["layers"] == "top"
    assert facts["config"]["fit"]["seed"] == 5
    assert facts["labels"] == ["LOC", "PER"]
    result = json.loads((trained / "result.json").read_text())
    assert result["train_examples"] == 20
    assert set(result["mixes"]) == {"input"}
    assert len((trained / "log.jsonl").read_text().splitlines()) == result["epoch"]


def test_eval_prints_the_official_scores(trained: Path, entities: Path) -> None:
    command = ["task", "eval", str(trained), "--test", str(entities), "--json"]
    result = CliRunner().invoke(app, command, catch_exceptions=False)
    scores = json.loads(result.stdout)
    assert scores["F1"] == pytest.approx(eval_task(trained, entities, quiet=True).main)


def test_predict_brackets_entities_and_speaks_json(trained: Path) -> None:
    command = ["task", "predict", str(trained), "-"]
    text = "Ann saw Rome .\nBob Lee saw New York .\n"
    shown = CliRunner().invoke(app, command, input=text, catch_exceptions=False)
    rows = CliRunner().invoke(app, [*command, "--json"], input=text, catch_exceptions=False)
    lines = [json.loads(line) for line in rows.stdout.splitlines()]
    assert [line["tokens"][0] for line in lines] == ["Ann", "Bob"]
    for line, row in zip(shown.stdout.splitlines(), lines, strict=True):
        for entity in row["entities"]:
            assert f"[{entity['text']} {entity['label']}]" in line


def test_json_is_a_path_everywhere(trained: Path, entities: Path, tmp_path: Path) -> None:
    def run(*words: object) -> str:
        command = ["task", *map(str, words)]
        result = CliRunner().invoke(app, command, input="Ann saw Rome .\n")
        assert result.exit_code == 0, result.output
        return result.stdout

    scores, rows = tmp_path / "scores.json", tmp_path / "rows.jsonl"
    test = ("--test", entities)
    assert "F1" in run("eval", trained, *test, "--json", scores)
    printed = run("eval", trained, *test, "--json", "-")
    assert json.loads(scores.read_text()) == json.loads(printed)
    assert run("eval", "--json", trained, *test) == printed  # the flag of former versions

    assert run("predict", trained, "-", "--json", rows) == run("predict", trained, "-")
    lines = run("predict", trained, "-", "--json")
    assert json.loads(lines)["tokens"] == ["Ann", "saw", "Rome", "."]
    assert rows.read_text() == lines
    assert run("predict", trained, "--json", "-") == lines  # the flag, before FILE
    assert run("predict", "--json", trained, "-") == lines


def test_a_model_that_is_gone_is_named_with_the_cure(trained: Path, tmp_path: Path) -> None:
    run = moved_run(trained, tmp_path, "/old/venv/models/gone")
    with pytest.raises(InputError, match=r"run: its ELMo model .*/gone: .*; give it with --model"):
        load_task(run)


def test_a_shipped_model_is_found_in_another_installation(
    trained: Path, tiny_elmo_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_elmo_folder, tmp_path / "shipped" / "en-tiny")
    for module in (names, run_folder):
        monkeypatch.setattr(module, "SHIPPED_MODELS", tmp_path / "shipped")
    shipped = elmokit.load("en-tiny")
    described = describe_run(configured("ner", None, []), [], shipped, "float32", [])
    assert described["elmo"]["source"] == "en-tiny"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "en-tiny").mkdir()  # not what the name stands for
    for source in ("en-tiny", "/old/venv/lib/elmokit/models/en-tiny"):
        run = moved_run(trained, tmp_path / source.replace("/", "-"), source)
        assert load_task(run).elmo == str(tmp_path / "shipped" / "en-tiny")


def moved_run(trained: Path, folder: Path, source: str) -> Path:
    """A copy of a run whose task.json names its ELMo model in another way."""
    run = folder / "run"
    shutil.copytree(trained, run)
    facts = json.loads((run / "task.json").read_text())
    facts["elmo"]["source"] = source
    (run / "task.json").write_text(json.dumps(facts))
    return run


def test_blank_lines_keep_their_place(trained: Path) -> None:
    command = ["task", "predict", str(trained), "-"]
    text = "\nAnn saw Rome .\n \nBob slept .\n\n"
    shown = CliRunner().invoke(app, command, input=text, catch_exceptions=False)
    rows = CliRunner().invoke(app, [*command, "--json"], input=text, catch_exceptions=False)
    assert [bool(line) for line in shown.stdout.split("\n")[:-1]] == [0, 1, 0, 1, 0]
    lines = [json.loads(line) for line in rows.stdout.splitlines()]
    assert [len(line["tokens"]) for line in lines] == [0, 4, 0, 3, 0]
    assert lines[0] == {"tokens": [], "entities": []}


def test_entities_of_raw_text_have_character_offsets(trained: Path, entities: Path) -> None:
    task = load_task(trained)
    text = "  Ann  saw New   York ."
    ((sentence, _),) = predict_task(task, [text])
    row = task.task.to_json(sentence, (Entity(0, 1, "PER"), Entity(2, 4, "LOC")))
    for entity in row["entities"]:
        assert text[entity["start_char"] : entity["end_char"]] == entity["text"]
    assert [(e["start"], e["end"]) for e in row["entities"]] == [(0, 1), (2, 4)]
    labelled = task.task.to_json(read_examples(task.task, entities)[0], (Entity(0, 1, "PER"),))
    assert labelled["entities"] == [{"start": 0, "end": 1, "label": "PER", "text": "Ann"}]


@pytest.mark.parametrize(
    ("name", "line"),
    [("sentiment", "a good film"), ("entailment", "a dog runs .\ta dog is outside .")],
)
def test_a_blank_line_has_no_label(name: str, line: str, tmp_path: Path) -> None:
    make, settings = CASES[name]
    file = make(tmp_path / "x.tsv")
    config = configured(name, None, [*settings, "elmo.where=none", "fit.max_epochs=1"])
    trained = train_task(name, file, file, tmp_path / "run", config=config, quiet=True)
    answers = list(predict_task(trained, [line, "", line]))
    rows = [trained.task.to_json(*answer) for answer in answers]
    assert [row["label"] == "" for row in rows] == [False, True, False]
    assert rows[1]["probabilities"] == {}
    assert trained.task.show(*answers[1]).plain == ""
    assert answers[0][1].probabilities == pytest.approx(answers[2][1].probabilities)


def test_the_elmo_model_runs_where_the_task_model_does(tiny_elmo_folder: Path) -> None:
    elsewhere = torch.device("meta")
    assert _embedder(tiny_elmo_folder, elsewhere).bilm.device == elsewhere
    own = Embedder(tiny_pretrained())
    assert _embedder(own, elsewhere) is own  # an Embedder stays where its owner put it
    assert own.bilm.device.type == "cpu"


@pytest.mark.parametrize("name", ["task.json", "words.json", "words.safetensors"])
def test_a_junk_file_of_a_run_is_named_with_its_cure(
    name: str, trained: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    (folder / name).write_bytes(b"junk")
    with pytest.raises(InputError, match=rf"{name}: not .*; train"):
        load_task(folder)


def test_a_run_with_the_old_name_of_the_optimizer_is_resumed(
    trained: Path, entities: Path, tiny_elmo_folder: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    path = folder / "task.json"
    path.write_text(path.read_text().replace('"optimizer"', '"optimiser"'))
    settings = [*SMALL, "fit.max_epochs=16", "elmo.layers=top", "fit.seed=5"]
    again = train_task("ner", entities, entities, folder, elmo=tiny_elmo_folder, quiet=True,
                       config=configured("ner", None, settings),
                       cache=CacheConfig(tmp_path / "cache"))  # fmt: skip
    assert again.progress is not None


def test_a_task_reads_the_vectors_of_a_model_as_features(entities: Path, tmp_path: Path) -> None:
    model = tiny_pretrained()
    dim = 2 * model.config.lstm.projection_dim
    model.bases = {"features": 2 * torch.eye(dim).expand(model.config.lstm.num_layers, dim, dim)}
    write_native(model, tmp_path / "elmo")
    train_task("ner", entities, entities, tmp_path / "run", elmo=tmp_path / "elmo", quiet=True,
               config=configured("ner", None, SMALL),
               cache=CacheConfig(tmp_path / "cache"))  # fmt: skip
    features = elmokit.load(tmp_path / "elmo", basis="features")
    facts = json.loads((tmp_path / "run" / "task.json").read_text())
    assert facts["elmo"]["fingerprint"] == features.fingerprint
    load_task(tmp_path / "run")
    with pytest.raises(InputError, match="is another"):
        load_task(tmp_path / "run", elmo=elmokit.load(tmp_path / "elmo"))


def test_what_cannot_be_scored_is_refused_before_any_training(tmp_path: Path) -> None:
    question = QaExample("q", Passage("An art."), "What?", (Answer("art", 3),))
    silent = replace(question, answers=())
    config = configured("squad", None, ["elmo.where=none"])
    with pytest.raises(InputError, match="questions to score has an answer"):
        train_task("squad", [question], [silent], tmp_path / "run", config=config, quiet=True)
    assert not (tmp_path / "run").exists()


def test_a_label_unknown_to_the_model_is_named_and_counts_as_a_miss(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "test.conll"
    path.write_text("Ann B-PER\nfoo B-NEW\n")
    scores = eval_task(trained, path)
    assert scores.every["F1 NEW"] == 0.0
    assert "count as misses: NEW" in capsys.readouterr().err


def test_an_empty_file_is_named(trained: Path, tmp_path: Path) -> None:
    path = tmp_path / "empty.conll"
    path.write_text("\n\n")
    with pytest.raises(InputError, match=r"empty\.conll: holds no sentences"):
        eval_task(trained, path)
    with pytest.raises(InputError, match=r"empty\.conll: holds no sentences"):
        list(predict_file(load_task(trained), str(path)))


def test_what_stands_before_a_broken_line_is_answered(trained: Path) -> None:
    def lines() -> Iterator[str]:
        yield from ("Ann saw Rome .", "Bob slept .")
        raise InputError("line 3: broken")

    answers = predict_task(load_task(trained), lines())
    assert [next(answers)[0].tokens[0] for _ in range(2)] == ["Ann", "Bob"]
    with pytest.raises(InputError, match="line 3: broken"):
        next(answers)


def test_another_elmo_model_is_refused(trained: Path, other_elmo_folder: Path) -> None:
    with pytest.raises(InputError, match="was trained with the ELMo model"):
        load_task(trained, elmo=other_elmo_folder)


def test_a_folder_that_holds_no_task_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no task\.json here"):
        load_task(tmp_path)


def test_a_folder_holds_one_run_and_says_so_before_any_layer_is_computed(
    trained: Path, entities: Path, tiny_elmo_folder: Path, tmp_path: Path
) -> None:
    config = configured("ner", None, [*SMALL, "fit.learning_rate=0.5"])
    cache = CacheConfig(tmp_path / "cache")
    with pytest.raises(InputError, match=r"other settings in \[.*\]; choose another --out"):
        train_task("ner", entities, entities, trained, elmo=tiny_elmo_folder, config=config,
                   cache=cache)  # fmt: skip
    assert not (tmp_path / "cache").exists()


def test_without_elmo_no_model_is_needed(tmp_path: Path) -> None:
    file = sentiment_file(tmp_path / "x.tsv")
    config = configured("sentiment", None, [*CASES["sentiment"][1], "elmo.where=none",
                                            "fit.max_epochs=1"])  # fmt: skip
    train_task("sentiment", file, file, tmp_path / "run", config=config, quiet=True)
    assert json.loads((tmp_path / "run" / "task.json").read_text())["elmo"] is None
    assert load_task(tmp_path / "run").elmo == ""


def test_a_device_that_is_not_there_is_refused_before_any_work(
    trained: Path, entities: Path, tmp_path: Path
) -> None:
    config = configured("ner", None, SMALL)
    with pytest.raises(InputError, match="device abacus: cannot be used here"):
        train_task("ner", entities, entities, tmp_path / "run", config=config, device="abacus")
    assert not (tmp_path / "run").exists()
    with pytest.raises(InputError, match="device abacus"):
        load_task(trained, device="abacus")


def test_a_task_model_is_loaded_with_the_precision_it_was_trained_with(
    entities: Path, tiny_elmo_folder: Path, tmp_path: Path
) -> None:
    train_task("ner", entities, entities, tmp_path / "run", elmo=tiny_elmo_folder,
               config=configured("ner", None, SMALL), precision="int8",
               cache=CacheConfig(tmp_path / "cache"), quiet=True)  # fmt: skip
    assert json.loads((tmp_path / "run" / "task.json").read_text())["elmo"]["weights"] == "int8"
    assert load_task(tmp_path / "run").elmo == str(tiny_elmo_folder)


def test_a_run_on_rounded_layers_goes_on_with_those_alone(
    entities: Path, tiny_elmo_folder: Path, tmp_path: Path
) -> None:
    def train(precision: str) -> None:
        cache = CacheConfig(tmp_path / "cache", precision=precision)
        train_task("ner", entities, entities, tmp_path / "run", elmo=tiny_elmo_folder,
                   config=configured("ner", None, SMALL), cache=cache, quiet=True)  # fmt: skip

    train("float16")
    with pytest.raises(InputError, match="resume it with --cache-precision float16"):
        train("float32")
    train("float16")
