"""Characters of a token -> F features: convolutions of several widths, max pooling, highways.

x = highway_n( ... highway_1( act( max over positions of conv_w(characters) ) ) )

The maximum over all positions of a convolution takes one GEMM per position, the best match kept: a
match is still in the cache when it is compared with the best so far, and the matrix of all
positions never exists. The gradient goes to the position that had the maximum.
"""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from elmokit.config import CharCnnConfig
from elmokit.model.kernels.compiled.conv_max import ConvMaxSteps, compiled_conv_max


class Highway(nn.Module):
    """y = g * relu(x W_transform + b) + (1 - g) * x  with  g = sigmoid(x W_carry + b)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.transform = nn.Linear(dim, dim)
        self.carry = nn.Linear(dim, dim)
        nn.init.normal_(self.transform.weight, std=dim**-0.5)
        nn.init.normal_(self.carry.weight, std=dim**-0.5)
        nn.init.zeros_(self.transform.bias)
        nn.init.constant_(self.carry.bias, -2.0)  # at first, mostly carry x through

    def forward(self, features: Tensor, matrix_dtype: torch.dtype | None = None) -> Tensor:
        """(N, F) -> (N, F)."""
        gate = torch.sigmoid(linear(self.carry, features, matrix_dtype))  # (N, F)
        transformed = torch.relu(linear(self.transform, features, matrix_dtype))
        return torch.lerp(features, transformed, gate)


class CharCnn(nn.Module):
    """(N, C) character ids -> (N, F)."""

    def __init__(self, config: CharCnnConfig) -> None:
        super().__init__()
        self.config = config
        self.output_dim = sum(number for _, number in config.filters)
        """F, the width of the output."""
        dim = config.embedding_dim
        self.embedding = nn.Embedding(config.num_characters, dim)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(dim, number, width) for width, number in config.filters
        )
        self.highways = nn.ModuleList(Highway(self.output_dim) for _ in range(config.num_highway))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Initialise as bilm-tf does; row 0 of the embedding, the mask, is zero."""
        nn.init.uniform_(self.embedding.weight, -1.0, 1.0)
        with torch.no_grad():
            self.embedding.weight[0].zero_()
        for convolution in self.convolutions:
            assert isinstance(convolution, nn.Conv1d)
            if self.config.activation == "relu":
                nn.init.uniform_(convolution.weight, -0.05, 0.05)
            else:
                fan_in = convolution.in_channels * convolution.kernel_size[0]
                nn.init.normal_(convolution.weight, std=fan_in**-0.5)
            assert convolution.bias is not None
            nn.init.zeros_(convolution.bias)

    def forward(
        self, ids: Tensor, longest: int | None = None, matrix_dtype: torch.dtype | None = None
    ) -> Tensor:
        """``longest``: beyond this many positions, all rows contain only padding.

        ``matrix_dtype``: dtype of the highways' matrix products, if not that of the parameters.
        Padding has its own vector and takes part in the maximum, but all windows of pure padding
        are equal, so only one of them is computed.
        """
        if longest is not None:
            widest = max(width for width, _ in self.config.filters)
            ids = ids[:, : min(ids.shape[1], longest + widest)]
        characters = self.embedding(ids)  # (N, C, E)
        matches = [_conv_max_of(convolution, characters) for convolution in self.convolutions]
        features = torch.cat(matches, dim=-1)  # (N, F): the best match anywhere in the token
        features = torch.relu(features) if self.config.activation == "relu" else features.tanh()
        for highway in self.highways:
            features = highway(features, matrix_dtype)
        return features


def linear(layer: nn.Linear, inputs: Tensor, matrix_dtype: torch.dtype | None) -> Tensor:
    """``layer(inputs)``, with its matrix product computed in ``matrix_dtype``, if given."""
    if matrix_dtype in (None, inputs.dtype):
        outputs: Tensor = layer(inputs)
        return outputs
    product = inputs.to(matrix_dtype) @ layer.weight.to(matrix_dtype).t()
    return product.to(inputs.dtype) + layer.bias


def _conv_max_of(convolution: nn.Module, characters: Tensor) -> Tensor:
    assert isinstance(convolution, nn.Conv1d) and convolution.bias is not None
    return conv_max(characters, convolution.weight, convolution.bias)


def conv_max(characters: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """Maximum over the positions of a valid convolution.

    (N, C, E) characters, (num, E, width) filters -> (N, num).
    """
    num_filters, dim, width = weight.shape
    kernel = weight.permute(2, 1, 0).reshape(width * dim, num_filters)
    flat = characters.flatten(1)  # (N, C * E): a window is a run of columns
    is_trained = torch.is_grad_enabled() and (flat.requires_grad or kernel.requires_grad)
    is_plain = flat.dtype == kernel.dtype == torch.float32 and flat.device.type == "cpu"
    steps = (compiled_conv_max() if is_trained and is_plain else None) or PLAIN
    matches: Tensor = ConvMaxFunction.apply(flat, kernel, dim, steps)  # type: ignore[no-untyped-call]
    return matches + bias


def _keep(match: Tensor, position: int, best: Tensor, at: Tensor) -> None:
    at.masked_fill_(match > best, position)
    torch.maximum(best, match, out=best)


def _spread(
    flat: Tensor,
    kernel: Tensor,
    gradient: Tensor,
    at: Tensor,
    dim: int,
    to_flat: Tensor,
    to_kernel: Tensor,
) -> None:
    for position, window in enumerate(windows(flat, kernel, dim)):
        here = gradient * (at == position)  # (N, num)
        to_flat[:, window].addmm_(here, kernel.t())
        to_kernel.addmm_(flat[:, window].t(), here)


PLAIN = ConvMaxSteps(_keep, _spread)


def windows(flat: Tensor, kernel: Tensor, dim: int) -> list[slice]:
    """The columns of ``flat`` that each position of a filter covers."""
    last = flat.shape[1] - len(kernel)
    return [slice(start, start + len(kernel)) for start in range(0, last + 1, dim)]


class ConvMaxFunction(torch.autograd.Function):
    """(N, C * dim) characters, (width * dim, num) filters -> (N, num); ties go to the first."""

    @staticmethod
    def forward(ctx: Any, flat: Tensor, kernel: Tensor, dim: int, steps: ConvMaxSteps) -> Tensor:
        """Without a gradient to come, positions are not kept."""
        needs_gradient = any(ctx.needs_input_grad)
        first, *others = windows(flat, kernel, dim)
        best = torch.mm(flat[:, first], kernel)  # (N, num)
        match = torch.empty_like(best)
        at = torch.zeros_like(best, dtype=torch.int32) if needs_gradient else None
        for position, window in enumerate(others, start=1):
            torch.mm(flat[:, window], kernel, out=match)
            if at is None:
                torch.maximum(best, match, out=best)
            else:
                steps.keep(match, position, best, at)
        ctx.dim, ctx.steps = dim, steps
        ctx.save_for_backward(flat, kernel, at)
        return best

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Any, ...]:
        """To the one window of each word that matched best."""
        flat, kernel, at = ctx.saved_tensors
        to_flat, to_kernel = torch.zeros_like(flat), torch.zeros_like(kernel)
        ctx.steps.spread(flat, kernel, gradient.contiguous(), at, ctx.dim, to_flat, to_kernel)
        return to_flat, to_kernel, None, None
