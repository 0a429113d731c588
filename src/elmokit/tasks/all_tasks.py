"""The six tasks by name."""

from typing import Any

from elmokit.errors import InputError
from elmokit.tasks import coref, entailment, ner, sentiment, squad, srl
from elmokit.tasks.task import Task

TASKS: dict[str, Task[Any, Any]] = {
    task.name: task
    for task in (ner.TASK, sentiment.TASK, entailment.TASK, srl.TASK, coref.TASK, squad.TASK)
}


def find_task(name: str) -> Task[Any, Any]:
    if name not in TASKS:
        raise InputError(f"unknown task {name!r}; there are {', '.join(TASKS)}")
    return TASKS[name]
