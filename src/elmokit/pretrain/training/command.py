"""What ``elmokit train`` was asked for: a new run, or an old one to continue."""

from collections.abc import Sequence
from pathlib import Path

from elmokit.errors import InputError
from elmokit.pretrain.config import Recipe, read_recipe, recipe_from_plain
from elmokit.pretrain.training.loop import TrainResult, train
from elmokit.pretrain.training.run_folder import Checkpoints, read_run
from elmokit.recipe import apply_setting

_FIXED_SETTINGS = ("batch_size", "window", "optimizer", "skip_tokens")
"""A checkpoint is of no use with other values of these."""


def train_or_resume(
    recipe: str | None,
    data: Path | None,
    out: Path | None,
    resume: Path | None,
    changes: Sequence[str],
    device: str,
) -> TrainResult:
    """Start a new run, or continue an old one.

    Args:
        recipe: The name of a built-in recipe or the path of a .toml file, for a new run.
        data: The corpus; a resumed run knows its own.
        out: The folder of a new run.
        resume: The folder of an old run, instead of ``recipe`` and ``out``.
        changes: ``table.name=value``, as the option ``--set`` takes them.
        device: ``cpu``, ``cuda``, ``cuda:1`` ...
    """
    if resume is None:
        if recipe is None or data is None or out is None:
            raise InputError("give RECIPE --data DATA --out RUN, or --resume RUN")
        return train(read_recipe(recipe, changes), data, out, device=device)
    if recipe is not None or out is not None:
        raise InputError(
            f"--resume {resume}: a resumed run has its recipe and folder already; leave out RECIPE "
            f"and --out, and change settings with --set"
        )
    old, its_data = read_run(resume)
    values = old.to_plain()
    for change in changes:
        apply_setting(values, change)
    changed = recipe_from_plain(values, "--set")
    if Checkpoints(resume, keep=1).latest() is not None:
        _require_resumable(old, changed, resume)
    return train(changed, data or its_data, resume, resume=True, device=device)


def _require_resumable(old: Recipe, new: Recipe, run: Path) -> None:
    fixed = [
        f"train.{name}"
        for name in _FIXED_SETTINGS
        if getattr(old.train, name) != getattr(new.train, name)
    ]
    if new.model != old.model:
        fixed.insert(0, "the sizes of the model")
    if fixed:
        raise InputError(
            f"{run}: a run that has begun cannot change {', '.join(fixed)}; train a new one that "
            f"starts from the exported model with  --set train.start_from=MODEL"
        )
