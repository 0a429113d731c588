"""The fit loop: stopping, halving, averaging, and going on exactly where it was killed."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from rich.text import Text
from torch import Tensor, nn

from elmokit.errors import InputError
from elmokit.tasks.config import ElmoConfig, FitConfig, TaskConfig
from elmokit.tasks.fit import FitState, _Run, fit
from elmokit.tasks.inputs.token_vectors import TokenVectors
from elmokit.tasks.inputs.word_vectors import WordTable
from elmokit.tasks.task import Scores, Task

Number = tuple[float, float]


class Line(nn.Module):
    """Fits y = 3 x with dropout, so that the random state matters."""

    def __init__(self) -> None:
        super().__init__()
        config = TaskConfig("line", None, elmo=ElmoConfig(where="none"))
        self.vectors = TokenVectors(
            config, WordTable([], torch.zeros(2, 1), torch.zeros(0, 1)), None
        )
        self.linear = nn.Linear(1, 1)
        self.dropout = nn.Dropout(0.3)
        self.num_steps = 0
        self.seen: list[float] = []
        """The weight before each step."""
        self.die_at = -1

    def loss(self, examples: Sequence[Number]) -> Tensor:
        if self.num_steps == self.die_at:
            os._exit(9)  # as a kill -9: nothing is cleaned up
        self.num_steps += 1
        self.seen.append(self.linear.weight.item())
        x, y = torch.tensor(examples).t()
        return (self.linear(self.dropout(x[:, None]))[:, 0] - y).square().mean()

    def predict(self, examples: Sequence[Number]) -> list[float]:
        return self.linear(torch.tensor(examples)[:, :1])[:, 0].tolist()


def close(examples: Sequence[Number], predictions: Sequence[float]) -> Scores:
    error = sum(abs(y - p) for (_, y), p in zip(examples, predictions, strict=True))
    value = 99 / (1 + error / len(examples))
    return Scores(value, {"closeness": value})


TASK: Task[Number, float] = Task(
    name="line", measure="closeness", unit="points", model_config=type(None),
    read=lambda path: [], parse=lambda lines, where: iter(()), sentences=lambda example: [["x"]],
    labels=lambda examples: [], build=lambda *_: Line(), score=close,
    render=lambda e, p: Text(), to_json=lambda e, p: {}, no_answer=0.0,
)  # fmt: skip

POINTS = [(x / 10, 3 * x / 10) for x in range(-10, 11)]
CONFIG = FitConfig(learning_rate=0.05, batch_size=4, max_epochs=6, patience=6, ema=0.9)


def run(
    folder: Path, config: FitConfig = CONFIG, die_at: int = -1, **options: Any
) -> tuple[Line, FitState]:
    torch.manual_seed(config.seed)
    model = Line()
    model.die_at = die_at
    state = fit(TASK, model, POINTS, POINTS[::3], config, folder, quiet=True, **options)
    return model, state


def test_a_run_killed_anywhere_ends_with_the_same_weights(tmp_path: Path) -> None:
    whole, state = run(tmp_path / "whole")
    script = (
        "import sys; from pathlib import Path; from test_fit import run;"
        "run(Path(sys.argv[1]), die_at=int(sys.argv[2]), checkpoint_seconds=0.0)"
    )
    folder = tmp_path / "killed"
    for die_at in (9, 4, 11):  # of the steps since each start: inside epochs, past epochs
        result = subprocess.run(
            [sys.executable, "-c", script, str(folder), str(die_at)],
            cwd=Path(__file__).parent,
            check=False,
        )
        assert result.returncode == 9
    resumed, resumed_state = run(folder)
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, resumed.state_dict()[name]), name
    assert resumed.num_steps < whole.num_steps
    assert (resumed_state.best_score, resumed_state.epoch) == (state.best_score, state.epoch)
    assert resumed_state.num_steps == whole.num_steps
    logs = [
        [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in lines]
        for lines in ((f / "log.jsonl").open() for f in (tmp_path / "whole", folder))
    ]
    assert logs[0] == logs[1]


def test_the_model_ends_with_its_best_epoch(tmp_path: Path) -> None:
    model, state = run(tmp_path, replace(CONFIG, learning_rate=3.0, ema=0.0, max_epochs=9))
    predictions = model.eval().predict(POINTS[::3])
    assert close(POINTS[::3], predictions).main == pytest.approx(state.best_score, abs=1e-4)


def test_patience_ends_a_run_that_stopped_improving(tmp_path: Path) -> None:
    _, state = run(tmp_path, replace(CONFIG, learning_rate=1e-12, max_epochs=50, patience=3))
    assert state.stopped == "patience"
    assert state.epoch == state.best_epoch + 3


def test_the_learning_rate_is_halved_when_the_score_stays(tmp_path: Path) -> None:
    config = replace(CONFIG, learning_rate=1e-12, halve_after=2, patience=5, ema=0.0)
    run(tmp_path, config)
    rates = [json.loads(line)["learning_rate"] for line in (tmp_path / "log.jsonl").open()]
    assert rates[0] == 1e-12
    assert min(rates) <= 1e-12 / 4


def test_a_finished_run_goes_on_when_given_more_epochs(tmp_path: Path) -> None:
    run(tmp_path)
    _, state = run(tmp_path, replace(CONFIG, max_epochs=8))
    assert state.epoch == 8


def test_a_finished_run_is_not_trained_again(tmp_path: Path) -> None:
    run(tmp_path)
    model, state = run(tmp_path)
    assert model.num_steps == 0
    assert state.epoch == 6


def test_a_run_of_another_version_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    saved = torch.load(tmp_path / "training.pt", weights_only=True)
    saved["state"]["best_colour"] = "red"
    torch.save(saved, tmp_path / "training.pt")
    with pytest.raises(
        InputError, match=r"training\.pt: was written by an incompatible version of elmokit"
    ):
        run(tmp_path)


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("training.pt", "delete it to train from the beginning"),
        ("best.safetensors", "train it again"),
        ("log.jsonl", "delete it"),
    ],
)
@pytest.mark.parametrize("junk", [b"", b"junk", b"[1]\n"])
def test_a_junk_file_is_named_with_its_cure(
    name: str, cure: str, junk: bytes, tmp_path: Path
) -> None:
    if (name, junk) == ("log.jsonl", b""):
        return  # an empty log is a log
    run(tmp_path)
    (tmp_path / name).write_bytes(junk)
    with pytest.raises(InputError, match=rf"{name}: not .*; {cure}") as caught:
        run(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_of_another_model_is_refused(tmp_path: Path) -> None:
    run(tmp_path)
    saved = torch.load(tmp_path / "training.pt", weights_only=True)
    saved["model"]["linear.weight"] = torch.zeros(7, 7)
    torch.save(saved, tmp_path / "training.pt")
    with pytest.raises(InputError, match=r"training\.pt: not a checkpoint of this run"):
        run(tmp_path)


def test_a_checkpoint_that_spells_optimiser_is_resumed(tmp_path: Path) -> None:
    run(tmp_path)
    saved = torch.load(tmp_path / "training.pt", weights_only=True)
    saved["optimiser"] = saved.pop("optimizer")
    torch.save(saved, tmp_path / "training.pt")
    _, state = run(tmp_path, replace(CONFIG, max_epochs=7))
    assert state.epoch == 7


def test_every_epoch_shows_its_score_in_at_most_100_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(1)
    config = replace(CONFIG, learning_rate=1e-12, max_epochs=3)
    fit(TASK, Line(), POINTS, POINTS[::3], config, tmp_path)
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"line epoch {n}/3" for n in (1, 2, 3)]
    assert all("development closeness" in line for line in lines)
    assert "the best so far" in lines[0]

    longest = replace(TASK, name="entailment", measure="accuracy")
    run = _Run(longest, Line(), replace(CONFIG, max_epochs=500), tmp_path / "long")
    run.state = FitState(epoch=500, best_score=100.0, best_epoch=499, seconds=99_999.0)
    assert len(run._epoch_line(1234.5678, Scores(99.99, {}))) <= 100


def test_the_average_is_what_is_scored_and_kept(tmp_path: Path) -> None:
    model, _ = run(tmp_path, replace(CONFIG, max_epochs=1, ema=0.2))
    last = torch.load(tmp_path / "training.pt", weights_only=True)["model"]["linear.weight"]
    average, *weights = [*model.seen, last.item()]
    decays = [1 / 10, 2 / 11, 0.2, 0.2, 0.2, 0.2]  # from less: the start was random
    for decay, weight in zip(decays, weights, strict=True):
        average = decay * average + (1 - decay) * weight
    assert model.linear.weight.item() == pytest.approx(average)


def test_the_penalty_on_the_mix_is_part_of_what_is_lowered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slope(vectors: TokenVectors) -> Tensor:
        return vectors.words.learned.sum()  # which the loss itself does not touch

    monkeypatch.setattr(TokenVectors, "penalty", slope)
    model, _ = run(tmp_path, replace(CONFIG, optimizer="sgd", max_epochs=1, ema=0.0))
    assert (model.vectors.words.learned < 0).all()  # it was zero


def test_a_loss_that_is_no_number_is_said_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"lower fit\.learning_rate"):
        run(tmp_path, replace(CONFIG, optimizer="sgd", learning_rate=1e30, gradient_norm=0.0))


@pytest.mark.parametrize(
    ("optimizer", "rate"), [("adam", 0.1), ("adadelta", 50.0), ("adagrad", 0.3), ("sgd", 0.1)]
)
def test_every_optimizer_lowers_the_loss(optimizer: Any, rate: float, tmp_path: Path) -> None:
    run(tmp_path, replace(CONFIG, optimizer=optimizer, learning_rate=rate, ema=0.0))
    losses = [json.loads(line)["loss"] for line in (tmp_path / "log.jsonl").open()]
    assert losses[-1] < 0.8 * losses[0]
