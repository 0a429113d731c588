"""Recipes, --set, and what cannot be set."""

from pathlib import Path

import pytest

from elmokit.errors import InputError
from elmokit.tasks.config import changed, parse_settings
from elmokit.tasks.run import configured
from elmokit.tasks.task import TASKS, find_task


@pytest.mark.parametrize("name", TASKS)
def test_the_paper_recipe_says_what_the_defaults_are(name: str) -> None:
    assert configured(name, "paper", []) == find_task(name).defaults()


@pytest.mark.parametrize("name", TASKS)
def test_the_cpu_recipe_ends_by_epochs_whatever_the_machine_does(name: str) -> None:
    fit = configured(name, "cpu", []).fit
    assert fit.max_epochs <= 30
    assert fit.max_minutes == 0


def test_set_takes_toml_values_or_plain_words() -> None:
    values = ["fit.seed=3", "elmo.where=both", "model.hidden_dims=[7, 5]", "words.is_tuned=false"]
    config = configured("ner", None, values)
    assert config.fit.seed == 3
    assert config.elmo.where == "both"
    assert config.model.hidden_dims == (7, 5)
    assert not config.words.is_tuned


def test_a_numbered_layer_may_be_written_as_a_number() -> None:
    assert parse_settings(["elmo.layers=1"]) == {"elmo": {"layers": "1"}}


@pytest.mark.parametrize(
    ("setting", "complaint"),
    [
        ("seed", "TABLE.NAME=VALUE"),
        ("fit=3", "TABLE.NAME=VALUE"),
        ("fits.seed=3", "unknown table 'fits'"),
        ("fit.sed=3", "unknown setting 'sed'"),
        ("fit.seed=x", "seed must be int"),
        ("elmo.where=above", "where must be one of"),
        ("elmo.layers=last", "mix, average, top or a layer's number"),
        ("model.dropout=1.5", r"dropout must lie in \[0, 1\)"),
        ("elmo.output_dropout=1.0", r"output_dropout must lie in \[0, 1\)"),
        ("characters.widths=[]", "at least one width"),
        ("characters.widths=[3, 99]", "max_characters, got 99"),
        ("fit.batch_size=0", "at least 1"),
    ],
)
def test_bad_settings_are_named(setting: str, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        configured("ner", None, [setting])


def test_a_recipe_of_another_task_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text('task = "srl"\n')
    with pytest.raises(InputError, match="for the task 'srl'"):
        configured("ner", path, [])
    path.write_text("[fit\n")
    with pytest.raises(InputError, match="not TOML"):
        configured("ner", path, [])
    with pytest.raises(InputError, match="own are cpu, paper"):
        configured("ner", "gpu", [])


def test_an_unknown_task_lists_the_known() -> None:
    with pytest.raises(InputError, match="there are ner, sentiment"):
        configured("parsing", None, [])


def test_the_old_spelling_of_the_optimizer_is_read(tmp_path: Path) -> None:
    path = tmp_path / "old.toml"
    path.write_text('[fit]\noptimiser = "sgd"\n')
    assert configured("ner", path, []).fit.optimizer == "sgd"
    assert configured("ner", None, ["fit.optimiser=adagrad"]).fit.optimizer == "adagrad"


def test_a_changed_config_leaves_the_rest() -> None:
    config = find_task("ner").defaults()
    new = changed(config, {"fit": {"seed": 9}}, "test")
    assert new.fit.seed == 9
    assert new.fit.learning_rate == config.fit.learning_rate
    assert new.model == config.model
