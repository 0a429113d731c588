"""A RUN, started or resumed: what ``elmokit train`` does before the first step.

What a run leaves in its folder is described in ``run_folder.py``, its steps are in ``loop.py``.
"""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import torch

from elmokit.device import multiplies_bfloat16_fast
from elmokit.errors import InputError
from elmokit.model.bilm import BiLm
from elmokit.model.kernels.compiled.int16_products import compiled_int16_products
from elmokit.model.softmax import Softmax
from elmokit.pretrain.config import Recipe, read_recipe, recipe_from_plain
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.distributed import World, joined_world
from elmokit.pretrain.training.initial_weights import first_weights, random_start
from elmokit.pretrain.training.loop import Trainer, TrainResult
from elmokit.pretrain.training.run_folder import Checkpoints, locked, read_run, write_run
from elmokit.recipe import apply_setting

_FIXED_SETTINGS = ("batch_size", "window", "optimizer", "skip_tokens")
"""Settings with which a checkpoint must be resumed unchanged."""


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


def train(
    recipe: Recipe,
    data: Path,
    out: Path,
    *,
    resume: bool = False,
    start_from: tuple[BiLm, Softmax] | None = None,
    device: str = "cpu",
) -> TrainResult:
    """Train a biLM in both directions jointly.

    Args:
        recipe: The sizes of the model, and how to train it.
        data: A corpus made by ``prepare``.
        out: The folder of the run: its recipe, its log, its checkpoints.
        resume: Continue from the last intact checkpoint in ``out``, if there is one; the result is
            bit-identical to that of a run that was never interrupted.
        start_from: The biLM and softmax to start with (they are changed), instead of what
            ``train.start_from`` and ``train.vectors`` say.
        device: ``cpu``, ``cuda``, ``cuda:1`` ...
    """
    with joined_world(device) as world, ExitStack() as lock:
        corpus = Corpus.open(data)
        if corpus.heldout.num_sentences == 0:
            raise InputError(
                f"{data}: has no held-out text to measure on; prepare it with  --heldout 0.01"
            )
        if world.is_main:
            lock.enter_context(locked(out))
        resume = resume or world.is_restart
        has_checkpoint = Checkpoints(out, recipe.train.keep_checkpoints).latest() is not None
        if has_checkpoint and not resume:
            raise InputError(
                f"{out}: holds a run already; continue it with --resume, or choose another folder"
            )
        if world.is_main and not has_checkpoint:
            corpus.verify()  # seconds, before days of training
        world.wait()
        recipe = _with_known_precision(recipe, out, has_checkpoint, world)
        torch.manual_seed(recipe.train.seed)
        begin = random_start if has_checkpoint else first_weights  # random: will be restored
        bilm, softmax = start_from or begin(recipe, corpus)
        trainer = Trainer(
            recipe, corpus, out, world, bilm.to(world.device), softmax.to(world.device)
        )
        if resume:
            trainer.restore()
        if world.is_main:
            write_run(out, recipe, data)
        return trainer.run()


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


def _with_known_precision(recipe: Recipe, out: Path, is_begun: bool, world: World) -> Recipe:
    """Replace ``auto`` by the precision of the run so far, or one that is fast in all processes."""
    if recipe.train.precision != "auto":
        return recipe
    if is_begun:
        known = read_run(out)[0].train.precision
    else:
        has_bfloat16 = all(world.values(int(multiplies_bfloat16_fast(world.device))))
        has_int16 = all(world.values(int(_trains_fast_in_int16(world.device))))
        known = "bfloat16" if has_bfloat16 else "int16" if has_int16 else "float32"
    if world.is_main:
        print(f"train.precision = auto: this run uses {known}", file=sys.stderr)
    return replace(recipe, train=replace(recipe.train, precision=known))


def _trains_fast_in_int16(device: torch.device) -> bool:
    """Whether int16 is the faster precision; its products use one thread for each direction."""
    if device.type != "cpu" or torch.get_num_threads() > 2:
        return False
    return compiled_int16_products() is not None
