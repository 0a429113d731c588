"""The hand-written backward is the gradient: gradcheck, and a plain loop under autograd."""

import pytest
import torch
from small_bilm import INDEXER, small_bilm
from torch import Tensor

from elmokit.embed.elmo import Elmo
from elmokit.model.bilm import BiLm
from elmokit.model.kernels.lstm_inference import run_packed
from elmokit.model.kernels.lstm_training import LstmFunction
from elmokit.model.kernels.lstm_weights import LstmWeights
from elmokit.model.lstm import ProjectedLstm
from elmokit.model.packing import BEGIN_ROW, END_ROW, batch_tokens
from elmokit.model.scalar_mix import ScalarMix

SENTENCES = [["the", "cat", "sat"], ["on"], ["a", "mat", "the", "cat"]]


def double(*shape: int, scale: float = 1.0) -> Tensor:
    return (torch.randn(shape, dtype=torch.float64) * scale).requires_grad_()


@pytest.mark.parametrize("batch_sizes", [[3], [2, 2, 2], [4, 3, 3, 1]])
@pytest.mark.parametrize("has_keep", [False, True])
@pytest.mark.parametrize("has_projection", [False, True])
@pytest.mark.parametrize("clips", [(None, None), (0.3, 0.25)])
def test_the_kernel_passes_gradcheck(
    batch_sizes: list[int],
    has_keep: bool,
    has_projection: bool,
    clips: tuple[float | None, float | None],
) -> None:
    cell_dim, width = 4, 3 if has_projection else 4
    num_rows, num_sentences = sum(batch_sizes), batch_sizes[0]
    keep = (torch.rand(num_rows, 1, dtype=torch.float64) > 0.4).double() if has_keep else None
    tensors = (
        double(num_rows, width),
        double(num_sentences, width),
        double(num_sentences, cell_dim),
        double(width, 4 * cell_dim),
        double(width, 4 * cell_dim),
        double(4 * cell_dim),
        double(cell_dim, width) if has_projection else None,
    )

    def layer(inputs: Tensor, hidden: Tensor, cell: Tensor, *weights: Tensor | None):
        projection_clip = clips[1] if has_projection else None
        return LstmFunction.apply(
            inputs, hidden, cell, keep, batch_sizes, *weights, clips[0], projection_clip
        )

    assert torch.autograd.gradcheck(layer, tensors)


def test_clipping_bites_in_the_gradcheck_above() -> None:
    """Values at the limit, so that a wrong gradient through a clip could not pass."""
    outputs, _, cells = LstmFunction.apply(
        double(3, 3), double(3, 3), double(3, 4), None, [3], double(3, 16), double(3, 16),
        double(16), double(4, 3), 0.3, 0.25,
    )  # fmt: skip
    assert (outputs.abs() == 0.25).any() and (outputs.abs() < 0.25).any()
    assert (cells.abs() == 0.3).any() and (cells.abs() < 0.3).any()


@pytest.mark.parametrize("has_rows", [False, True])
def test_the_fast_path_equals_the_differentiable_one(has_rows: bool) -> None:
    batch_sizes = [4, 3, 3, 1]
    table, rows = double(6, 3), torch.tensor([0, 5, 2, 2, 1, 3, 0, 4, 4, 1, 5])
    hidden, cell = double(4, 3), double(4, 5)
    weights = LstmWeights(double(3, 20), double(3, 20), double(20), double(5, 3), 0.5, 0.4)
    slow = LstmFunction.apply(table[rows], hidden, cell, None, batch_sizes, *weights)
    with torch.no_grad():
        inputs = (table, rows) if has_rows else (table[rows], None)
        fast = run_packed(weights, *inputs, batch_sizes, hidden, cell)
    for one, other in zip(fast, slow, strict=True):
        assert torch.allclose(one, other, atol=1e-12, rtol=0.0)


@pytest.mark.parametrize("layer_norm", [False, True])
def test_the_scalar_mix_passes_gradcheck(layer_norm: bool) -> None:
    mix = ScalarMix(3, layer_norm=layer_norm, initial_weights=[0.3, -1.0, 0.5]).double()
    layers = double(2, 3, 4, 5)

    def run(layers: Tensor, weights: Tensor, gamma: Tensor) -> Tensor:
        parameters = {"raw_weights": weights, "gamma": gamma}
        return torch.func.functional_call(mix, parameters, (layers,))

    weights, gamma = double(3), double()
    assert torch.autograd.gradcheck(run, (layers, weights, gamma))


def plain_layers(bilm: BiLm, table: Tensor, rows: list[int]) -> Tensor:
    """(L + 1, T, D) of one sentence, a step at a time, for autograd to record."""
    sides = []
    for stack, marker, order in (
        (bilm.forward_lstm, BEGIN_ROW, rows),
        (bilm.backward_lstm, END_ROW, rows[::-1]),
    ):
        inputs = [table[marker], *(table[row] for row in order)]
        layers = []
        for number, layer in enumerate(stack.layers):
            assert isinstance(layer, ProjectedLstm)
            inputs = plain_layer(layer, inputs, number > 0 and layer.config.use_skip_connections)
            layers.append(torch.stack(inputs[1:]))
        sides.append(layers)
    tokens = table[rows]
    found = [torch.cat([tokens, tokens], -1)]
    for forward, backward in zip(*sides, strict=True):
        found.append(torch.cat([forward, backward.flip(0)], -1))
    return torch.stack(found)


def plain_layer(layer: ProjectedLstm, inputs: list[Tensor], has_skip: bool) -> list[Tensor]:
    config = layer.config
    h = layer.bias.new_zeros(config.projection_dim)
    c = layer.bias.new_zeros(config.dim)
    outputs = []
    for x in inputs:
        gates = x @ layer.input_weight + h @ layer.hidden_weight + layer.bias
        i, f, o, j = gates.chunk(4)
        c = torch.sigmoid(f + config.forget_bias) * c + torch.sigmoid(i) * torch.tanh(j)
        if config.cell_clip is not None:
            c = c.clamp(-config.cell_clip, config.cell_clip)
        h = torch.sigmoid(o) * torch.tanh(c)
        if layer.projection is not None:
            h = h @ layer.projection
            if config.projection_clip is not None:
                h = h.clamp(-config.projection_clip, config.projection_clip)
        outputs.append(h + x if has_skip else h)
    return outputs


@pytest.mark.parametrize("has_skip", [True, False])
@pytest.mark.parametrize(("dim", "clip"), [(7, 0.4), (5, 3.0), (7, None)])
def test_a_trainable_elmo_has_the_gradients_of_a_plain_loop(
    has_skip: bool, dim: int, clip: float | None
) -> None:
    bilm = small_bilm(dim=dim, clip=clip, has_skip=has_skip).double()
    elmo = Elmo(bilm, num_mixes=2, dropout=0.0, layer_norm=True, trainable=True).double()
    with torch.no_grad():
        for mix in elmo.mixes:
            mix.raw_weights.normal_()
    batch = batch_tokens(SENTENCES, INDEXER)
    targets = [torch.randn(len(SENTENCES), 4, 10, dtype=torch.float64) for _ in range(2)]

    def gradients(outputs: list[Tensor]) -> dict[str, Tensor]:
        loss = sum((o * t).sum() for o, t in zip(outputs, targets, strict=True))
        elmo.zero_grad()
        loss.backward()
        return {name: weight.grad.clone() for name, weight in elmo.named_parameters()}

    fast = gradients(elmo(batch))
    table = bilm.encoder(batch.ids)
    padded = []
    for rows, length in zip(batch.rows, batch.lengths.tolist(), strict=True):
        layers = plain_layers(bilm, table, rows[:length].tolist())
        padded.append(torch.nn.functional.pad(layers, (0, 0, 0, 4 - length)))
    slow = gradients(elmo.mix(torch.stack(padded)))
    for name, gradient in slow.items():
        assert torch.allclose(fast[name], gradient, atol=1e-10, rtol=1e-8), name
        if "embedding" not in name:
            assert gradient.abs().max() > 0, name


def test_frozen_parameters_get_no_gradient_and_the_mixes_do() -> None:
    elmo = Elmo(small_bilm(), num_mixes=2, dropout=0.0)
    before = {name: weight.clone() for name, weight in elmo.bilm.named_parameters()}
    outputs = elmo(batch_tokens(SENTENCES, INDEXER))
    sum(output.square().sum() for output in outputs).backward()
    assert all(weight.grad is None for weight in elmo.bilm.parameters())
    for mix in elmo.mixes:
        assert mix.raw_weights.grad.abs().max() > 0 and mix.gamma.grad.abs() > 0
    assert all(torch.equal(before[name], w) for name, w in elmo.bilm.named_parameters())


def test_only_what_is_trainable_gets_a_gradient() -> None:
    bilm = small_bilm().requires_grad_(False)
    bilm.forward_lstm.layers[1].requires_grad_(True)
    batch = batch_tokens(SENTENCES, INDEXER)
    layers = bilm.layers(bilm.encoder(batch.ids), batch.rows, batch.lengths.tolist())
    layers.square().sum().backward()
    for name, weight in bilm.named_parameters():
        assert (weight.grad is not None) == name.startswith("forward_lstm.layers.1."), name


def test_a_frozen_biLM_under_a_task_gives_the_same_vectors_as_a_trainable_one() -> None:  # noqa: N802
    batch = batch_tokens(SENTENCES, INDEXER)
    frozen = Elmo(small_bilm(), dropout=0.0)(batch)[0]
    trainable = Elmo(small_bilm(), dropout=0.0, trainable=True)(batch)[0]
    assert trainable.requires_grad
    assert torch.allclose(frozen, trainable, atol=1e-6, rtol=0.0)


def test_the_state_that_is_carried_on_passes_gradients() -> None:
    bilm = small_bilm().double()
    batch = batch_tokens(SENTENCES, INDEXER)
    table = bilm.encoder(batch.ids)
    start = bilm.zero_state(3)
    cell = torch.randn_like(start.forward.cell).requires_grad_()
    carried = start._replace(forward=start.forward._replace(cell=cell))
    bilm.carry(table, batch.rows, batch.lengths.tolist(), carried).layers.sum().backward()
    assert (cell.grad.abs().amax(dim=(0, 2)) > 0).all()
