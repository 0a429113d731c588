"""Where tensors live: a name that the user gave, checked before any work is done."""

import torch

from elmokit.errors import InputError


def usable_device(name: str | torch.device) -> torch.device:
    """The device of that name, if this torch on this machine can use it."""
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:  # torch has no one type for it
        reason = str(error).splitlines()[0]
        raise InputError(f"device {name}: cannot be used here ({reason}); use cpu") from None
