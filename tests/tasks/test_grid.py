"""The grid of runs: each done once, whatever is killed; the table beside the paper's."""

from pathlib import Path

import pytest
from test_overfit_a import CASES, entity_file, sentiment_file

from elmokit.tasks import grid as grid_module
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.benchmark_data import Splits, benchmark_splits, hold_out_by_premise
from elmokit.tasks.grid import (
    TABLE_1,
    Grid,
    error_reduction,
    read_results,
    run_grid,
    table_1,
    variants_table,
)
from elmokit.tasks.readers.entailment import SentencePair
from elmokit.tasks.run import CacheConfig

FILES = {"ner": entity_file, "sentiment": sentiment_file}


@pytest.fixture
def small_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Twenty examples in place of the real sets."""

    def splits(name: str, root: Path) -> Splits:
        examples = find_task(name).read(FILES[name](root / name))
        return Splits(examples, examples[:5], examples[5:12])

    monkeypatch.setattr(grid_module, "benchmark_splits", splits)
    return tmp_path


def grid_of(folder: Path, elmo: Path, **options: object) -> Grid:
    return Grid(
        tasks=("ner",),
        variants=TABLE_1,
        data=folder,
        out=folder / "grid",
        elmo=str(elmo),
        settings=(*CASES["ner"][1], "fit.max_epochs=1"),
        seeds=2,
        cache=CacheConfig(folder / "cache"),
        **options,  # type: ignore[arg-type]
    )


def test_every_run_leaves_one_line_and_is_not_done_again(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = grid_of(small_data, tiny_elmo_folder)
    results = run_grid(grid, quiet=True)
    assert [r["run"] for r in results] == [
        "ner-baseline-1", "ner-elmo-1", "ner-baseline-2", "ner-elmo-2",
    ]  # fmt: skip
    assert [r["elmo"] is None for r in results] == [True, False, True, False]
    assert all(r["test_examples"] == 7 for r in results)
    assert run_grid(grid, quiet=True) == results
    assert results[0]["config"]["elmo"]["where"] == "none"


def test_a_torn_line_is_done_again(small_data: Path, tiny_elmo_folder: Path) -> None:
    grid = grid_of(small_data, tiny_elmo_folder)
    results = run_grid(grid, quiet=True)
    path = grid.out / "results.jsonl"
    lines = [line for line in path.read_text().splitlines() if line]
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:50])
    assert len(read_results(grid.out)) == 3
    again = run_grid(grid, quiet=True)
    assert [r["test"] for r in again] == [r["test"] for r in results]


def test_a_run_that_another_process_holds_is_left_to_it(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = grid_of(small_data, tiny_elmo_folder)
    with grid_module._claimed(grid.out / "runs" / "ner-elmo-1") as is_ours:
        assert is_ours
        results = run_grid(grid, quiet=True)
    assert "ner-elmo-1" not in [result["run"] for result in results]


def test_two_processes_share_the_runs_between_them(tmp_path: Path, tiny_elmo_folder: Path) -> None:
    file = str(entity_file(tmp_path / "x.conll"))
    grid = grid_of(tmp_path, tiny_elmo_folder, files=(file, file, file))
    results = run_grid(grid, jobs=2, quiet=True)
    assert sorted(result["run"] for result in results) == [
        "ner-baseline-1", "ner-baseline-2", "ner-elmo-1", "ner-elmo-2",
    ]  # fmt: skip


def test_the_table_stands_beside_the_papers() -> None:
    base = {"measure": "F1", "train_examples": 3394, "task": "ner"}
    scores = {"baseline": [40.0, 42.0], "elmo": [44.0, 46.0]}
    results = [
        {**base, "variant": name, "test": score, "dev": score + 1}
        for name, values in scores.items()
        for score in values
    ]
    line = table_1(results).splitlines()[2]
    assert "| 41.00 ± 1.41 | 45.00 ± 1.41 | 6.8 % | 90.15 | 92.22 | 21.0 % |" in line
    assert "| NER | 42.00 ± 1.41 | 46.00 ± 1.41 |" in variants_table(results)


def test_error_reduction_is_the_papers() -> None:
    for paper in grid_module.PAPER.values():
        assert error_reduction(paper.baseline, paper.elmo) == pytest.approx(
            paper.reduction, abs=0.15
        )


def test_premises_are_held_out_whole() -> None:
    pairs = [SentencePair((f"p{n // 3}",), (f"h{n}",), "x") for n in range(60)]
    kept, held_out = hold_out_by_premise(pairs, 12)
    assert len(held_out) == 12
    assert sorted([*kept, *held_out]) == sorted(pairs)
    assert not {pair.premise for pair in kept} & {pair.premise for pair in held_out}
    assert (kept, held_out) == hold_out_by_premise(pairs, 12)


def test_entailment_never_trains_on_a_premise_it_is_tested_on(shared_data: Path) -> None:
    splits = benchmark_splits("entailment", shared_data)
    assert 2000 <= len(splits.dev) < 2010
    assert len(splits.test) == 9824
    assert len(splits.train) > 15_500
    trained = {pair.premise for pair in splits.train}
    assert not trained & {pair.premise for pair in splits.dev}
    assert not trained & {pair.premise for pair in splits.test}
