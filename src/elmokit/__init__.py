"""elmokit: deep contextualized word representations (ELMo).

    text -> tokens -> character ids -> token vectors -> biLM layers -> mix -> task

>>> elmo = elmokit.load("path/to/model")                 # doctest: +SKIP
>>> vectors = elmo.embed(["I like apples."])             # doctest: +SKIP
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmokit.config import ModelConfig as ModelConfig
    from elmokit.embed.embedder import Embedder as Embedder
    from elmokit.embed.load import load as load
    from elmokit.embed.mix import Mix as Mix
    from elmokit.errors import InputError as InputError
    from elmokit.model.bilm import BiLm as BiLm
    from elmokit.model.elmo import Elmo as Elmo
    from elmokit.model.elmo import batch_tokens as batch_tokens
    from elmokit.model.scalar_mix import ScalarMix as ScalarMix

__version__ = "0.1.0"

_HOMES = {
    "load": "elmokit.embed.load",
    "Embedder": "elmokit.embed.embedder",
    "Mix": "elmokit.embed.mix",
    "BiLm": "elmokit.model.bilm",
    "Elmo": "elmokit.model.elmo",
    "ScalarMix": "elmokit.model.scalar_mix",
    "batch_tokens": "elmokit.model.elmo",
    "ModelConfig": "elmokit.config",
    "InputError": "elmokit.errors",
}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    """Public names are imported when first used, so that ``elmokit --help`` need not load torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'elmokit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
