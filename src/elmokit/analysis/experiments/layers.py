"""Tables 2 and 3: which layers of the biLM help a task, and where in the task model they help."""

from elmokit.analysis import paper
from elmokit.analysis.experiments.runs import BASELINE, TITLES, GridResult, spread
from elmokit.analysis.output.tables import Table, count, percent
from elmokit.tasks.grid import Variant

ALL_LAYERS = "all, lambda=0.001"
_LAYERS = (
    ("last only", "elmo.layers=top"),
    ("average", "elmo.layers=average"),
    ("all, lambda=1", "elmo.l2=1.0"),
    (ALL_LAYERS, "elmo.l2=0.001"),
)
LAYERS = (
    BASELINE,
    *(Variant(name, (setting, "elmo.layer_norm=false")) for name, setting in _LAYERS),
)
"""Table 2, without layer normalisation. All other settings are the task's own."""
NORMALISED = tuple(
    Variant(f"{name}, layer norm", (setting, "elmo.layer_norm=true")) for name, setting in _LAYERS
)
"""Table 2, with layer normalisation."""
PLACES = tuple(
    Variant(name, (f"elmo.where={where}", "elmo.l2=0.001"))
    for name, where in (("input", "input"), ("input + output", "both"), ("output", "output"))
)
"""Table 3."""
_PAPER_COLUMNS = {
    "baseline": "baseline",
    "last only": "last_only",
    "all, lambda=1": "all_lambda_1",
    ALL_LAYERS: "all_lambda_0001",
    "input": "input_only",
    "input + output": "input_and_output",
    "output": "output_only",
}


def grid_table(result: GridResult, title: str) -> Table:
    """Development scores: one row per task and one column per variant.

    The paper's scores for the same task, if any, are in the row below.
    """
    variants = result.variants
    rows: list[tuple[str, ...]] = []
    for task in result.tasks:
        runs = [run for run in result.runs if run.task == task]
        seeds = max(len(result.scores(task, variant)) for variant in variants)
        size = f"{count(runs[0].train_examples)} examples, {seeds} seed{'s' * (seeds > 1)}"
        name = f"{TITLES.get(task, task)}, {runs[0].measure} ({size})"
        rows.append((name, *(spread(result.scores(task, variant)) for variant in variants)))
        for line in paper.GRID:
            if line.task == TITLES.get(task, task):
                cells = (
                    percent(getattr(line, _PAPER_COLUMNS[v])) if v in _PAPER_COLUMNS else ""
                    for v in variants
                )
                rows.append((f"paper: {line.task}", *cells))
    return Table(title, ("development set", *variants), tuple(rows))
