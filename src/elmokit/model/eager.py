"""Keeps the biLM eager under ``torch.compile``: its own kernels are faster than a traced graph."""

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar, cast

import torch

Function = TypeVar("Function", bound=Callable[..., Any])


def runs_eagerly(function: Function) -> Function:
    """Like ``torch.compiler.disable``, but imports torch's compiler only when it is used.

    The import alone would double the time to load a model.
    """

    disabled: list[Callable[..., Any]] = []

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        if "torch._dynamo" not in sys.modules:
            return function(*arguments, **options)
        if not disabled:
            disabled.append(torch.compiler.disable(function))  # type: ignore[no-untyped-call]
        return disabled[0](*arguments, **options)

    return cast(Function, call)
