"""Whether weights have changed: what is computed from them may be kept until then."""

from collections.abc import Iterable

from torch import Tensor, nn


def weights_version(module: nn.Module) -> object:
    """Equal to an earlier result as long as every weight is where it was and as it was."""
    return tensors_version(module.parameters())


def tensors_version(tensors: Iterable[Tensor | None]) -> object:
    """The same of some tensors, without the search through a module.

    Weights made in inference mode have no counter of changes; there, their place is all we see.
    """
    return tuple(
        (tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version)
        for tensor in tensors
        if tensor is not None
    )
