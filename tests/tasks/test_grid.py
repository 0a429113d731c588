"""The grid of runs: each done once, whatever is killed."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import pytest
from small_task_files import CASES, entity_file, sentiment_file
from tiny_model import tiny_pretrained

import elmokit
from elmokit.errors import InputError
from elmokit.tasks import grid as grid_module
from elmokit.tasks.data.benchmark_sets import (
    OtherTest,
    Splits,
    benchmark_splits,
    hold_out_by_premise,
)
from elmokit.tasks.data.entailment import SentencePair
from elmokit.tasks.grid import Grid, Variant, finished, read_results, run_grid
from elmokit.tasks.run import CacheConfig
from elmokit.tasks.task import find_task
from elmokit.weights.native import write_native

VARIANTS = (Variant("baseline", ("elmo.where=none",)), Variant("elmo", ()))
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
        variants=VARIANTS,
        data=folder,
        out=folder / "grid",
        elmo=str(elmo),
        settings=(*CASES["ner"][1], "words.vectors=", "fit.max_epochs=1"),
        seeds=2,
        cache=CacheConfig(folder / "cache"),
        **options,  # type: ignore[arg-type]
    )


def test_every_run_leaves_one_line_and_is_not_done_again(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = grid_of(small_data, tiny_elmo_folder)
    results = run_grid(grid, quiet=True)
    bilm = elmokit.load(tiny_elmo_folder).fingerprint[:8]
    assert [r["run"] for r in results] == [
        "ner-baseline-1", f"ner-elmo-1-{bilm}", "ner-baseline-2", f"ner-elmo-2-{bilm}",
    ]  # fmt: skip
    assert [r["elmo"] is None for r in results] == [True, False, True, False]
    assert all(r["test_examples"] == 7 for r in results)
    assert run_grid(grid, quiet=True) == results
    assert results[0]["config"]["elmo"]["where"] == "none"


def test_a_run_of_other_settings_is_not_taken_for_this_one(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = replace(grid_of(small_data, tiny_elmo_folder), variants=VARIANTS[:1], seeds=1)
    (result,) = run_grid(grid, quiet=True)
    for other, what in (
        (
            replace(grid, settings=(*grid.settings, "words.dim=9")),
            r"ner-baseline-1 .* \(\[words\]\)",
        ),
        (replace(grid, max_minutes=7.0), r"\[fit\]"),
        (replace(grid, files=("a", "b", "c")), r"\(files\)"),
    ):
        with pytest.raises(InputError, match=what):
            run_grid(other, quiet=True)
    assert finished(grid) == [result]


def test_a_baseline_is_the_same_whatever_elmo_it_stands_beside(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = replace(grid_of(small_data, tiny_elmo_folder), seeds=1)
    first = run_grid(grid, quiet=True)
    other = replace(grid, settings=(*grid.settings, "elmo.dropout=0.125"))
    assert finished(replace(other, variants=VARIANTS[:1])) == first[:1]
    with pytest.raises(InputError, match=r"ner-elmo-1-\w+ .* \(\[elmo\]\)"):
        finished(other)
    random = replace(
        other, variants=(Variant("baseline", ("elmo.where=none", "elmo.random_dim=4")),)
    )
    with pytest.raises(InputError, match=r"ner-baseline-1 .* \(\[elmo\]\)"):
        finished(random)  # its dropout is in use


def test_a_baseline_without_glove_must_be_asked_for(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = replace(grid_of(small_data, tiny_elmo_folder), settings=())
    with pytest.raises(InputError, match=r"glove: not found.* --set words\.vectors=FILE"):
        run_grid(grid, quiet=True)
    (small_data / "glove").mkdir()
    found = grid_module.variant_config(grid, "ner", VARIANTS[0]).words.vectors
    assert found == str(small_data / "glove")


def test_nothing_is_started_or_read_where_nothing_is_missing(
    small_data: Path, tiny_elmo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = replace(grid_of(small_data, tiny_elmo_folder), variants=VARIANTS[:1])
    reads = []
    read = grid_module.benchmark_splits
    monkeypatch.setattr(
        grid_module, "benchmark_splits", lambda *given: (reads.append(given), read(*given))[1]
    )
    results = run_grid(grid, quiet=True)
    assert len(results) == 2
    assert len(reads) == 1  # once for both seeds
    monkeypatch.setattr(grid_module, "multiprocessing", None)
    assert run_grid(grid, jobs=2, quiet=True) == results


def test_another_bilm_shares_the_baselines_alone(
    small_data: Path, tiny_elmo_folder: Path, tmp_path: Path
) -> None:
    grid = replace(grid_of(small_data, tiny_elmo_folder), seeds=1)
    first = run_grid(grid, quiet=True)
    write_native(tiny_pretrained(seed=1), tmp_path / "other")
    results = run_grid(replace(grid, elmo=str(tmp_path / "other")), quiet=True)
    assert results[:2] == first
    assert [r["variant"] for r in results] == ["baseline", "elmo", "elmo"]
    assert results[1]["elmo"] != results[2]["elmo"]


def test_a_torn_line_is_done_again(small_data: Path, tiny_elmo_folder: Path) -> None:
    grid = grid_of(small_data, tiny_elmo_folder)
    results = run_grid(grid, quiet=True)
    path = grid.out / "results.jsonl"
    lines = [line for line in path.read_text().splitlines() if line]
    path.write_text("\n".join(lines[:-1]) + "\n" + lines[-1][:50])
    assert len(read_results(grid.out)) == 3
    again = run_grid(grid, quiet=True)
    assert [r["test"] for r in again] == [r["test"] for r in results]


@pytest.mark.parametrize("junk", [b"junk", b"[1]", b'{"score": 1}', b"\xff\xfe"])
def test_a_line_that_is_no_result_is_named(tmp_path: Path, junk: bytes) -> None:
    (tmp_path / "results.jsonl").write_bytes(b'{"run": "x"}\n' + junk + b"\n")
    with pytest.raises(InputError, match=r"results\.jsonl, line 2: .*; remove this line"):
        read_results(tmp_path)


def test_results_that_spell_optimiser_are_of_the_same_run(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = replace(grid_of(small_data, tiny_elmo_folder), variants=VARIANTS[:1], seeds=1)
    run_grid(grid, quiet=True)
    path = grid.out / "results.jsonl"
    path.write_text(path.read_text().replace('"optimizer"', '"optimiser"'))
    assert len(finished(grid)) == 1


def test_a_run_that_another_process_holds_is_left_to_it(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    grid = grid_of(small_data, tiny_elmo_folder)
    with grid_module._claimed(grid.out / "runs" / "ner-baseline-1") as is_ours:
        assert is_ours
        results = run_grid(grid, quiet=True)
    assert "ner-baseline-1" not in [result["run"] for result in results]


def test_two_processes_share_the_runs_between_them(tmp_path: Path, tiny_elmo_folder: Path) -> None:
    file = str(entity_file(tmp_path / "x.conll"))
    grid = grid_of(tmp_path, tiny_elmo_folder, files=(file, file, file))
    results = run_grid(grid, jobs=2, quiet=True)
    assert sorted((result["variant"], result["seed"]) for result in results) == [
        ("baseline", 1), ("baseline", 2), ("elmo", 1), ("elmo", 2),
    ]  # fmt: skip


def test_what_goes_wrong_in_another_process_is_said_in_one_sentence(
    tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    file = tmp_path / "x.conll"
    file.write_text("Ann B-PER\nslept\n")
    grid = grid_of(tmp_path, tiny_elmo_folder, files=(str(file), str(file), str(file)))
    with pytest.raises(InputError, match=r"x\.conll, line 2: one column"):
        run_grid(grid, jobs=2, quiet=True)


def test_a_process_that_is_killed_is_named(
    tmp_path: Path, tiny_elmo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(grid_module, "_work_alone", die)
    file = str(entity_file(tmp_path / "x.conll"))
    grid = grid_of(tmp_path, tiny_elmo_folder, files=(file, file, file))
    with pytest.raises(InputError, match="a process was killed"):
        run_grid(grid, jobs=2, quiet=True)


def die(*_: object) -> None:
    """As the system kills a process that takes too much memory."""
    os.kill(os.getpid(), signal.SIGKILL)


def test_variants_of_the_same_settings_are_trained_once(
    small_data: Path, tiny_elmo_folder: Path
) -> None:
    same = Variant("elmo, spelt out", ("elmo.where=input",))
    grid = replace(grid_of(small_data, tiny_elmo_folder), variants=(*VARIANTS, same), seeds=1)
    results = {result["variant"]: result for result in run_grid(grid, quiet=True)}
    twin = results["elmo, spelt out"]
    assert twin == {**results["elmo"], "run": twin["run"], "variant": "elmo, spelt out"}
    assert not (grid.out / "runs" / twin["run"] / "task.json").exists()


def test_other_test_sets_are_scored_apart(
    tmp_path: Path, tiny_elmo_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    examples = find_task("ner").read(entity_file(tmp_path / "x.conll"))
    splits = Splits(examples, examples[:5], examples[5:12], (OtherTest("web", examples),))
    monkeypatch.setattr(grid_module, "benchmark_splits", lambda name, root: splits)
    grid = replace(grid_of(tmp_path, tiny_elmo_folder), variants=VARIANTS[:1], seeds=1)
    result = run_grid(grid, quiet=True)[0]
    assert list(result["other_tests"]) == ["web"]
    assert len(result["epochs"]) == 1
    assert result["cpu_minutes"] >= 0


def test_coreference_is_tested_on_gum_where_it_is_there(tmp_path: Path) -> None:
    columns = "\n".join(f"x\t0\t{n}\t{w}\t(1)" for n, w in enumerate(["She", "saw", "her"]))
    text = f"#begin document (x); part 0\n{columns}\n\n#end document\n"
    for number in range(10):
        path = tmp_path / "litbank" / "conll" / f"{number}.conll"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert benchmark_splits("coref", tmp_path).others == ()
    gum = tmp_path / "gum" / "coref-ontogum-conll"
    gum.mkdir(parents=True)
    for name in ("GUM_a", "GUM_b"):
        (gum / f"{name}.conll").write_text(text)
    (gum.parent / "splits.md").write_text("## dev\n\n  * GUM_a\n\n## test\n\n  * GUM_b\n")
    splits = benchmark_splits("coref", tmp_path)
    assert [len(part) for part in splits[:3]] == [8, 1, 1]
    assert [(name, len(documents)) for name, documents in splits.others] == [("GUM", 1)]


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
