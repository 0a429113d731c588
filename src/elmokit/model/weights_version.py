"""Whether a module's weights have changed: what is computed from them may be kept until then."""

from torch import nn


def weights_version(module: nn.Module) -> object:
    """Equal to an earlier result as long as every weight is where it was and as it was.

    Weights made in inference mode have no counter of changes; there, their place is all we see.
    """
    return tuple(
        (weight.data_ptr(), 0 if weight.is_inference() else weight._version)
        for weight in module.parameters()
    )
