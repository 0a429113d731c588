"""Tables 2 and 3, Figures 1 and 2 and transfer: which runs are made, and what is read of them."""

from dataclasses import replace
from pathlib import Path

import pytest

from elmokit.analysis.mix_weights import Mix, MixWeights, mix_picture, mix_table, read_mixes
from elmokit.analysis.report.findings import (
    all_layers_beat_the_last,
    elmo_needs_less_data,
    input_favours_the_first_layer,
    places_differ_by_task,
    tuning_lowers_perplexity,
)
from elmokit.analysis.sample_efficiency import (
    Point,
    SampleEfficiency,
    efficiency_pictures,
    efficiency_table,
    parse_shares,
    reaches,
    sample_efficiency,
    share_variants,
)
from elmokit.analysis.task_runs import (
    BASELINE,
    LAYERS,
    NORMALISED,
    PLACES,
    WITH_ELMO,
    GridResult,
    TaskRun,
    do_runs,
    grid_table,
    make_grid,
    read_runs,
)
from elmokit.analysis.transfer import Transfer, domain_transfer, transfer_table
from elmokit.errors import InputError
from elmokit.tasks.config import FitConfig
from elmokit.tasks.grid import Grid
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
    trained = tiny_grid.out / "runs" / "entailment-input-1"
    assert read_mixes([trained]).mixes[0].place == "input"
    with pytest.raises(InputError, match="holds runs with settings"):
        do_runs(replace(tiny_grid, settings=()), PLACES, quiet=True)


@pytest.mark.slow
def test_shares_of_the_data_are_trained_with_and_without(tiny_grid: Grid) -> None:
    result = sample_efficiency(tiny_grid, "entailment", (0.1, 1.0), quiet=True)
    assert [point.num_examples for point in result.points] == [2, 20]
    assert all(len(point.elmo) == len(point.baseline) == 1 for point in result.points)
    assert len(result.elmo_epochs) == len(result.baseline_epochs) == 2
    names = {found.variant for found in read_runs(tiny_grid.out).runs}
    assert names == {"baseline", "elmo", "baseline, 10 %", "elmo, 10 %"}


@pytest.mark.slow
def test_transfer_measures_the_text_and_the_task_with_both_models(tiny_grid: Grid) -> None:
    tune = ["train.batch_size=2", "train.num_epochs=20.0", "train.learning_rate=0.01"]
    before = do_runs(tiny_grid, (WITH_ELMO,), quiet=True)
    result = domain_transfer(tiny_grid, "entailment", tune, quiet=True)
    assert result.score_before == tuple(before.scores("entailment", "elmo", "test"))
    assert result.num_tokens == 7 * 7 + 20 * 5  # premises and hypotheses, each once
    assert result.after < 0.9 * result.before
    assert len(result.score_before) == len(result.score_after) == 1
    assert (tiny_grid.out / "tuned" / "entailment" / "model" / "config.json").exists()
    found = tuning_lowers_perplexity([result])
    assert found is not None
    assert found.verdict == "confirmed"


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
    table = efficiency_table([EFFICIENCY])
    assert table.rows[1] == ("SRL, F1", "100 % (3,000)", "61.0 ± 1.4", "70.5 ± 0.7")
    assert "reached with ELMo in epoch 2" in table.note
    names = [picture.name for picture in efficiency_pictures([EFFICIENCY])]
    assert names == ["data-srl", "epochs-srl"]


def test_shares_are_percent_and_small_ones_keep_an_example() -> None:
    assert parse_shares("0.1,100") == pytest.approx((0.001, 1.0))
    with pytest.raises(InputError, match="got 'x'"):
        parse_shares("x")
    fit = FitConfig(batch_size=32, max_epochs=9, patience=3)
    assert share_variants(1.0, 20, fit)[0] == BASELINE
    assert share_variants(0.001, 20, fit)[1].settings[0] == "data.train_limit=1"
    assert share_variants(0.01, 16_000, fit)[1].settings == (
        "data.train_limit=160",
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
    found = all_layers_beat_the_last(grid)
    assert found is not None
    assert found.verdict == "mixed"
    assert "SRL +1.0, SNLI -1.0" in found.evidence
    assert all_layers_beat_the_last(GridResult(())) is None
    places = GridResult(
        (
            run("srl", "input", 80),
            run("srl", "input + output", 78),
            run("entailment", "input", 70),
            run("entailment", "input + output", 72),
        )
    )
    apart = places_differ_by_task(places)
    assert apart is not None
    assert (apart.verdict, "SRL -2.0, SNLI +2.0" in apart.evidence) == ("confirmed", True)
    assert places_differ_by_task(grid) is None
    data = elmo_needs_less_data([EFFICIENCY])
    assert data is not None
    assert (data.verdict, "+20.0 at 1 %" in data.evidence) == ("confirmed", True)
    weights = MixWeights((Mix("srl", "input", (0.5, 0.3, 0.2), 1.0, 1),))
    layer = input_favours_the_first_layer(weights)
    assert layer is not None
    assert layer.verdict == "contradicted"


def test_weights_are_drawn_from_the_top_layer_down() -> None:
    weights = MixWeights(
        (
            Mix("srl", "input", (0.2, 0.5, 0.3), 1.25, 3),
            Mix("ner", "output", (0.4, 0.6), 0.5, 1),
        )
    )
    assert mix_table(weights).rows[0] == ("SRL, input", "0.20", "0.50", "0.30", "1.25", "3")
    svg = mix_picture(weights).svg
    assert svg.count("0.30") == 1
    assert "nan" not in svg


def test_transfer_stands_beside_the_papers() -> None:
    table = transfer_table([Transfer("entailment", "accuracy", 5, 100.0, 50.0, (70.0,), (71.0,))])
    assert table.rows[0] == ("SNLI (5 tokens)", "100.0", "50.0", "70.0 accuracy", "71.0 accuracy")
    assert table.rows[1][:3] == ("paper: SNLI", "72.1", "16.8")
