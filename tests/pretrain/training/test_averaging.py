"""Averaged weights: what they are, where they are used, and that a resumed run has the same."""

from pathlib import Path

import torch
from tiny_corpus import tiny_recipe

from elmokit.model.bilm import BiLm
from elmokit.model.softmax import Softmax
from elmokit.pretrain.export import read_trained
from elmokit.pretrain.training.averaging import AveragedWeights
from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.run_folder import Checkpoints, read_checkpoint, read_log


def test_the_average_is_the_weighted_sum_of_all_steps() -> None:
    recipe = tiny_recipe()
    bilm, softmax = BiLm(recipe.model), Softmax(15, 7)
    average = AveragedWeights(bilm, softmax, num_steps=4)
    wanted = softmax.bias.detach().double()
    for step in range(1, 60):
        with torch.no_grad():
            softmax.bias.normal_()
        average.update(step)
        share = max(0.25, 9 / (10 + step))
        wanted = (1 - share) * wanted + share * softmax.bias.detach().double()
    torch.testing.assert_close(average.softmax.bias.double(), wanted, atol=1e-6, rtol=0)
    assert not any(weight.requires_grad for weight in average.bilm.parameters())


def test_the_average_is_measured_and_exported_and_the_last_step_is_trained_on(
    tiny_data: Path, tmp_path: Path
) -> None:
    result = train(tiny_recipe(average=5), tiny_data, tmp_path / "run")
    path = Checkpoints(tmp_path / "run", keep=1).latest()
    assert path is not None
    content = read_checkpoint(path)
    exported = read_trained(tmp_path / "run").bilm.state_dict()
    for name, weight in content["average"]["bilm"].items():
        assert torch.equal(exported[name], weight)
        assert torch.equal(result.bilm.state_dict()[name], weight)
    last = content["bilm"]
    assert any(not torch.equal(exported[name], last[name]) for name in last)


def test_a_resumed_run_has_the_same_average(tiny_data: Path, tmp_path: Path) -> None:
    recipe = tiny_recipe(average=5, keep_checkpoints=100)
    train(recipe, tiny_data, tmp_path / "whole")
    train(recipe, tiny_data, tmp_path / "pieces")
    for path in sorted((tmp_path / "pieces" / "checkpoints").glob("*.pt"))[2:]:
        path.unlink()
    train(recipe, tiny_data, tmp_path / "pieces", resume=True)
    whole, pieces = (read_trained(tmp_path / name).bilm for name in ("whole", "pieces"))
    for name, weight in whole.state_dict().items():
        assert torch.equal(weight, pieces.state_dict()[name]), name
    logs = [read_log(tmp_path / name / "log.jsonl") for name in ("whole", "pieces")]
    heldout = [[event for event in log if event["event"] == "heldout"] for log in logs]
    assert heldout[0] == heldout[1]


def test_a_run_without_an_average_may_begin_one_on_the_way(tiny_data: Path, tmp_path: Path) -> None:
    train(tiny_recipe(max_tokens=240), tiny_data, tmp_path / "run")
    train(tiny_recipe(max_tokens=480, average=5), tiny_data, tmp_path / "run", resume=True)
    path = Checkpoints(tmp_path / "run", keep=1).latest()
    assert path is not None and "average" in read_checkpoint(path)
