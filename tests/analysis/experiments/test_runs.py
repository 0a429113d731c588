"""Tables 2 and 3, Figures 1 and 2 and transfer: which runs are made, and what is read of them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.analysis.experiments import mix_weights
from elmokit.analysis.experiments.layers import LAYERS, NORMALISED, PLACES, grid_table
from elmokit.analysis.experiments.mix_weights import (
    LearnedMix,
    MixWeights,
    mix_picture,
    mix_table,
    read_mixes,
)
from elmokit.analysis.experiments.runs import (
    BASELINE,
    WITH_ELMO,
    GridResult,
    TaskRun,
    do_runs,
    make_grid,
    read_runs,
)
from elmokit.analysis.experiments.sample_efficiency import (
    Point,
    SampleEfficiency,
    efficiency_pictures,
    efficiency_table,
    parse_shares,
    reaches,
    sample_efficiency,
    share_variants,
)
from elmokit.analysis.experiments.transfer import Transfer, domain_transfer, transfer_table
from elmokit.analysis.report.findings import (
    all_layers_beat_the_last,
    elmo_needs_less_data,
    input_favours_the_first_layer,
    places_differ_by_task,
    tuning_lowers_perplexity,
)
from elmokit.errors import InputError
from elmokit.tasks.grid import Grid, Variant, _claimed
from elmokit.tasks.run import configured, limited


def run(task: str, variant: str, dev: float, seed: int = 1) -> TaskRun:
    return TaskRun(task, variant, seed, "F1", dev, dev - 1, 100, {}, ())


def test_variants_are_the_papers_columns() -> None:
    def elmo(settings: tuple[str, ...]) -> tuple[str, str, float, bool]:
        found = configured("entailment", None, settings).elmo
        return found.where, found.layers, found.l2, found.layer_norm

    assert [elmo(variant.settings)[1:] for variant in LAYERS[1:]] == [
        ("top", 0.001, False),
        ("average", 0.001, False),
        ("mix", 1.0, False),
        ("mix", 0.001, False),
    ]
    assert all(elmo(variant.settings)[3] for variant in NORMALISED)
    assert elmo(BASELINE.settings)[0] == "none"
    assert [elmo(variant.settings)[0] for variant in PLACES] == ["input", "both", "output"]


def test_table_has_means_deviations_and_the_papers_row() -> None:
    runs = [run("srl", "baseline", 80), run("srl", "baseline", 82, 2), run("srl", "last only", 83)]
    table = grid_table(GridResult(tuple(runs)), "Which layers")
    assert table.header == ("development set", "baseline", "last only")
    assert table.rows[0] == ("SRL, F1 (100 examples, 2 seeds)", "81.0 ± 1.4", "83.0")
    assert table.rows[1] == ("paper: SRL", "81.6", "84.1")


@pytest.mark.slow
def test_runs_are_done_once_and_their_mixes_read(tiny_grid: Grid) -> None:
    result = do_runs(tiny_grid, PLACES, quiet=True)
    assert [found.variant for found in result.runs] == ["input", "input + output", "output"]
    assert all(len(found.epochs) == 2 for found in result.runs)
    assert do_runs(tiny_grid, PLACES, quiet=True) == result
    assert do_runs(tiny_grid, PLACES[:1], quiet=True).runs == result.runs[:1]
    assert read_runs(tiny_grid.out) == result
    mixes = read_mixes([tiny_grid.out]).mixes
    assert [(mix.task, mix.place) for mix in mixes] == [
        ("entailment", "input"),
        ("entailment", "output"),
    ]
    assert all(sum(mix.weights) == pytest.approx(1) and len(mix.weights) == 3 for mix in mixes)
    with pytest.raises(InputError, match="no runs of the variant 'elmo'"):
        read_mixes([tiny_grid.out], "elmo")
    trained = next((tiny_grid.out / "runs").glob("entailment-input-1-*"))
    assert read_mixes([trained]).mixes[0].place == "input"
    with pytest.raises(InputError, match=r"holds the run entailment-input-1.*\[model\]"):
        do_runs(replace(tiny_grid, settings=("words.vectors=",)), PLACES, quiet=True)


def test_mixes_of_two_bilms_are_not_averaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = tuple(run("srl", "input", 80)._replace(elmo=bilm) for bilm in ("a", "b"))
    monkeypatch.setattr(mix_weights, "read_runs", lambda folder: GridResult(runs))
    (tmp_path / "results.jsonl").touch()
    with pytest.raises(InputError, match="has runs of 2 biLMs"):
        read_mixes([tmp_path], "input")


@pytest.mark.slow
def test_shares_of_the_data_are_trained_with_and_without(tiny_grid: Grid) -> None:
    result = sample_efficiency(tiny_grid, "entailment", (0.1, 1.0), quiet=True)
    assert [point.num_examples for point in result.points] == [2, 20]
    assert all(len(point.elmo) == len(point.baseline) == 1 for point in result.points)
    assert len(result.elmo_epochs) == len(result.baseline_epochs) == 2
    names = {found.variant for found in read_runs(tiny_grid.out).runs}
    assert names == {"baseline", "elmo", "baseline, 10 %", "elmo, 10 %"}
    part = sample_efficiency(tiny_grid, "entailment", (0.1,), quiet=True)
    assert part.points == result.points[:1]
    assert part.elmo_epochs == ()  # no run on all the data, no curve of it


@pytest.mark.slow
def test_transfer_measures_new_text_and_the_task_with_both_models(
    tiny_grid: Grid, tmp_path: Path
) -> None:
    assert tiny_grid.files is not None
    train, _, test = tiny_grid.files
    dev = tmp_path / "dev.tsv"
    dev.write_text(
        "a man runs in the park .\ta man is outside .\tentailment\n"
        "my dog runs in the park .\tmy dog is outside .\tentailment\n"
    )
    settings = (*tiny_grid.settings, "data.train_limit=15")
    grid = replace(tiny_grid, files=(train, str(dev), test), settings=settings)
    tune = ["train.batch_size=2", "train.num_epochs=20.0", "train.learning_rate=0.01"]
    before = do_runs(grid, (WITH_ELMO,), quiet=True)
    result = domain_transfer(grid, "entailment", tune, quiet=True)
    assert result.score_before == tuple(before.scores("entailment", "elmo", "test"))
    folder = next((grid.out / "tuned").glob("entailment-*"))
    assert (folder / "new-text.txt").read_text() == (
        "my dog runs in the park .\n\nmy dog is outside .\n"
    )
    assert result.num_new_sentences == 2
    # Premises and hypotheses, each once, less the sentence or two that tuning keeps back.
    assert 0.9 * (7 * 7 + 20 * 5) < result.num_tokens < 7 * 7 + 20 * 5
    assert (result.num_examples, result.num_all_examples) == (15, 20)
    assert result.after < 0.9 * result.before
    assert len(result.score_before) == len(result.score_after) == 1
    assert (folder / "model" / "config.json").exists()
    with pytest.raises(InputError, match="another model, other data or other settings"):
        domain_transfer(grid, "entailment", tune[:2], quiet=True)
    found = tuning_lowers_perplexity([result])
    assert found is not None
    assert found.verdict == "confirmed"


def test_transfer_needs_sentences_that_training_lacks(tiny_grid: Grid) -> None:
    with pytest.raises(InputError, match="needs new sentences"):
        domain_transfer(tiny_grid, "entailment", quiet=True)


@pytest.mark.parametrize("variant", [BASELINE, WITH_ELMO], ids=lambda variant: variant.name)
def test_runs_are_made_on_the_device_asked_for(tiny_grid: Grid, variant: Variant) -> None:
    with pytest.raises(InputError, match="device nowhere: cannot be used here"):
        do_runs(replace(tiny_grid, device="nowhere"), (variant,), quiet=True)


def test_files_of_ones_own_are_three_for_one_task(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="three"):
        make_grid(["srl"], tmp_path, tmp_path, files=["a", "b"])
    with pytest.raises(InputError, match="chess"):
        make_grid(["chess"], tmp_path, tmp_path)
    with pytest.raises(InputError, match=r"no results\.jsonl"):
        read_runs(tmp_path)


EFFICIENCY = SampleEfficiency(
    "srl",
    "F1",
    (Point(0.01, 30, (20.0,), (40.0,)), Point(1.0, 3000, (60.0, 62.0), (70.0, 71.0))),
    (30.0, 50.0, 60.0),
    (50.0, 61.0, 69.0),
)


def test_epoch_that_reaches_the_baseline_is_found() -> None:
    assert reaches(EFFICIENCY) == 2
    assert reaches(replace(EFFICIENCY, elmo_epochs=(1.0,))) is None
    assert "at most 300 development examples" in efficiency_table([EFFICIENCY]).note
    table = efficiency_table([EFFICIENCY])
    assert table.rows[1] == ("SRL, F1", "100 % (3,000)", "61.0 ± 1.4", "70.5 ± 0.7")
    assert "reached with ELMo in epoch 2" in table.note
    names = [picture.name for picture in efficiency_pictures([EFFICIENCY])]
    assert names == ["data-srl", "epochs-srl"]


def test_shares_are_percent_and_small_ones_keep_an_example() -> None:
    assert parse_shares("0.1,100") == pytest.approx((0.001, 1.0))
    with pytest.raises(InputError, match="got 'x'"):
        parse_shares("x")
    settings = ["fit.batch_size=32", "fit.max_epochs=9", "fit.patience=3", "fit.halve_after=0"]
    config = configured("srl", None, settings)
    assert share_variants(1.0, 20, config)[0] == BASELINE
    assert share_variants(0.001, 20, config)[1].settings[0] == "data.train_limit=1"
    few = configured("srl", None, [*settings, "data.dev_limit=50"])
    assert share_variants(0.1, 20, few)[0].settings[2] == "data.dev_limit=50"
    assert share_variants(0.01, 16_000, config)[1].settings == (
        "data.train_limit=160",
        "data.dev_limit=300",
        "fit.batch_size=8",
        "fit.max_epochs=90",
        "fit.patience=30",
        "fit.halve_after=0",
    )


def test_small_subsets_lie_inside_larger_ones() -> None:
    small, large = (set(limited(list(range(5000)), size)) for size in (50, 500))
    assert (len(small), len(large)) == (50, 500)
    assert small < large


def test_share_outside_one_is_refused(tiny_grid: Grid) -> None:
    with pytest.raises(InputError, match="got 10"):
        sample_efficiency(tiny_grid, "entailment", (10.0,), quiet=True)


def test_findings_say_what_the_numbers_say() -> None:
    grid = GridResult(
        (
            run("srl", "last only", 80),
            run("srl", "all, lambda=0.001", 81),
            run("entailment", "last only", 70),
            run("entailment", "all, lambda=0.001", 69),
        )
    )
    found = all_layers_beat_the_last(grid, None)
    assert found is not None
    assert found.verdict == "mixed (one seed)"
    assert "SRL +1.0, SNLI -1.0; nothing is known of the noise" in found.evidence
    assert all_layers_beat_the_last(GridResult(()), None) is None
    places = GridResult(
        (
            run("srl", "input", 80),
            run("srl", "input + output", 78),
            run("entailment", "input", 70),
            run("entailment", "input + output", 72),
        )
    )
    apart = places_differ_by_task(places, None)
    assert apart is not None
    assert apart.verdict == "agrees (one seed)"
    assert "SRL -2.0, SNLI +2.0" in apart.evidence
    assert places_differ_by_task(grid, None) is None
    data = elmo_needs_less_data([EFFICIENCY], None)
    assert data is not None
    assert data.verdict == "contradicted (one seed)"
    assert "1 % with ELMo (40.0) does not reach 100 % without (61.0)" in data.evidence
    weights = MixWeights((LearnedMix("srl", "input", ((0.5, 0.3, 0.2),), 1.0),))
    layer = input_favours_the_first_layer(weights)
    assert layer is not None
    assert layer.verdict == "disagrees (one seed)"
    seeds = ((0.2, 0.5, 0.3), (0.1, 0.6, 0.3), (0.2, 0.6, 0.2))
    agreed = input_favours_the_first_layer(MixWeights((LearnedMix("srl", "input", seeds, 1.0),)))
    assert agreed is not None
    assert agreed.verdict == "confirmed"


def test_runs_that_another_process_is_making_are_not_left_out(tiny_grid: Grid) -> None:
    grid = replace(tiny_grid, variants=(BASELINE,))
    (run,) = grid.runs()
    with _claimed(grid.out / "runs" / run.name), pytest.raises(InputError, match="1 of these runs"):
        do_runs(grid, [BASELINE], quiet=True)


def test_weights_are_drawn_from_the_top_layer_down() -> None:
    weights = MixWeights(
        (
            LearnedMix("srl", "input", ((0.2, 0.5, 0.3), (0.1, 0.6, 0.3), (0.3, 0.4, 0.3)), 1.25),
            LearnedMix("ner", "output", ((0.4, 0.6),), 0.5),
        )
    )
    assert mix_table(weights).rows[0] == ("SRL, input", "0.20", "0.50", "0.30", "1.25", "3")
    svg = mix_picture(weights).svg
    assert svg.count("0.30") == 1
    assert "γ 1.25" in svg
    assert "nan" not in svg


def test_weights_of_bilms_of_different_depth_stand_apart(tmp_path: Path) -> None:
    for name, weights in (("deep", [0.2, 0.5, 0.3]), ("flat", [0.4, 0.6])):
        (tmp_path / name).mkdir()
        result = {"task": "srl", "mixes": {"input": {"weights": weights, "gamma": 2.0}}}
        (tmp_path / name / "result.json").write_text(json.dumps(result))
    found = read_mixes([tmp_path / "deep", tmp_path / "flat", tmp_path / "deep"])
    assert mix_table(found).rows == (
        ("SRL, input", "0.20", "0.50", "0.30", "2.00", "2"),
        ("SRL, input", "0.40", "0.60", "", "2.00", "1"),
    )
    with pytest.raises(InputError, match="neither runs"):
        read_mixes([tmp_path])


def test_transfer_stands_beside_the_papers_and_says_what_it_stands_on() -> None:
    result = Transfer("entailment", "accuracy", 5, 1234, 100.0, 50.0, (70.0,), (71.0,), 3000, 9000)
    table = transfer_table([result])
    assert table.rows[0] == ("SNLI (5 tokens)", "100.0", "50.0", "70.0 accuracy", "71.0 accuracy")
    assert table.rows[1][:3] == ("paper: SNLI", "72.1", "16.8")
    assert "not training sentences; SNLI has 1,234." in table.note
    assert "all 9,000 training examples, the task trained on 3,000" in table.note
    assert "3,000" not in transfer_table([replace(result, num_examples=9000)]).note
