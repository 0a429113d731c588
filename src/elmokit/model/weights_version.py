"""Detects changes of weights, so that values computed from them can be cached."""

from collections.abc import Iterable

from torch import Tensor, nn


def weights_version(module: nn.Module) -> object:
    """A value that changes whenever a weight is modified or moved."""
    return tensors_version(module.parameters())


def tensors_version(tensors: Iterable[Tensor | None]) -> object:
    """The same for some tensors, without searching a module.

    Tensors made in inference mode have no version counter; only their address is compared.
    """
    return tuple(
        (tensor.data_ptr(), 0 if tensor.is_inference() else tensor._version)
        for tensor in tensors
        if tensor is not None
    )
