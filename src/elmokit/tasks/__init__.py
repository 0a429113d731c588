"""VECTORS -> ANSWERS: six task models, with and without ELMo.

from elmokit.tasks import eval_task, train_task

train_task("ner", "train.conll", "dev.conll", "runs/ner", elmo="en-small")
eval_task("runs/ner", "test.conll").main
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmokit.tasks.run import configured as configured
    from elmokit.tasks.run import eval_task as eval_task
    from elmokit.tasks.run import load_task as load_task
    from elmokit.tasks.run import predict_task as predict_task
    from elmokit.tasks.run import train_task as train_task

__all__ = ["configured", "eval_task", "load_task", "predict_task", "train_task"]


def __getattr__(name: str) -> Any:
    """Imported when first used: a reader or a metric alone need not load six models."""
    if name not in __all__:
        raise AttributeError(f"module 'elmokit.tasks' has no attribute {name!r}")
    return getattr(import_module("elmokit.tasks.run"), name)
