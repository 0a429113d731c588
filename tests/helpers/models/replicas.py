"""Replicas as ``nn.DataParallel`` makes them, without a GPU."""

from torch import nn


def replica_of(module: nn.Module) -> nn.Module:
    """What ``torch.nn.parallel.replicate`` does: plain tensors stand where parameters stood."""
    replica = module._replicate_for_data_parallel()
    for name, child in module.named_children():
        replica._modules[name] = replica_of(child)
    for name, parameter in module._parameters.items():
        replica._parameters.pop(name, None)
        setattr(replica, name, None if parameter is None else parameter.clone())
    for name, buffer in module._buffers.items():
        replica._buffers[name] = buffer
    return replica
