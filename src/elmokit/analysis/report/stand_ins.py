"""The data that stand in for the paper's: named below every table of task models."""

from collections.abc import Sequence

from elmokit.analysis.tables import Table
from elmokit.analysis.task_runs import TITLES

DATA = {
    "squad": "SQuAD 1.1, tested on its development set",
    "entailment": "trained on SNLI's development set and counterfactual pairs",
    "srl": "the PropBank of EWT",
    "coref": "LitBank",
    "ner": "WNUT 2017",
    "sentiment": "SST",
}
"""What ``tasks.benchmark_data`` reads."""


def with_data(table: Table, tasks: Sequence[str], more: Sequence[str] = ()) -> Table:
    """The table, its note followed by what its tasks are trained and tested on."""
    each = "; ".join(f"{TITLES[task]}, {DATA[task]}" for task in tasks)
    said = f"Data (docs/tasks.md), not all of them the paper's: {each}." if tasks else ""
    return table._replace(note=" ".join(part for part in (table.note, *more, said) if part))
