"""The hand-made gradients of a training step, held to plain autograd."""

import math

import numpy as np
import pytest
import torch
from tiny_corpus import tiny_recipe
from torch import Tensor

from elmokit.model.bilm import BiLm
from elmokit.model.lstm import LstmStack
from elmokit.model.softmax import LogUniformSampler, Softmax
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.training.auxiliary_losses import ContextLoss, MeaningLoss
from elmokit.pretrain.training.batches import BatchMaker, DirectionBatch
from elmokit.pretrain.training.objective import Objective
from elmokit.pretrain.training.windows import Lanes, Windows


def plain_stack(stack: LstmStack, inputs: Tensor, keep: Tensor | None) -> Tensor:
    """(T, B, P) -> (T, B, P): a step at a time, recorded by autograd."""
    config = stack.config
    num_rows = inputs.shape[1]
    for number, layer in enumerate(stack.layers):
        hidden = torch.zeros(num_rows, config.projection_dim)
        cell = torch.zeros(num_rows, config.dim)
        outputs = []
        for step, now in enumerate(inputs):
            if keep is not None:
                hidden, cell = hidden * keep[step], cell * keep[step]
            gates = now @ layer.input_weight + hidden @ layer.hidden_weight + layer.bias
            i, f, o, j = gates.chunk(4, dim=1)
            cell = torch.sigmoid(f + 1) * cell + torch.sigmoid(i) * torch.tanh(j)
            cell = cell.clamp(-3, 3)
            hidden = ((torch.sigmoid(o) * torch.tanh(cell)) @ layer.projection).clamp(-3, 3)
            outputs.append(hidden)
        stacked = torch.stack(outputs)
        inputs = stacked + inputs if number > 0 else stacked
    return inputs


def plain_loss(top: Tensor, softmax: Softmax, part: DirectionBatch, rows: Tensor | None) -> Tensor:
    """The sampled softmax written out: one matrix of logits, accidental hits struck out."""
    if part.candidates is None or rows is None:
        return torch.nn.functional.cross_entropy(softmax(top), part.targets)
    given = part.candidates
    weight, bias = softmax.weight[rows], softmax.bias[rows]
    logits = top @ weight[given.negatives].T + bias[given.negatives] + given.negative_offset
    hits = rows[given.negatives][None, :] == rows[part.targets][:, None]
    logits = logits.masked_fill(hits, -torch.inf)
    wanted = (top * weight[part.targets]).sum(1) + bias[part.targets] + given.target_offset
    everything = torch.cat([wanted[:, None], logits], dim=1)
    return (everything.logsumexp(dim=1) - wanted).mean()


@pytest.mark.parametrize("num_threads", [1, 2])
@pytest.mark.parametrize("num_negatives", [0, 8])
@pytest.mark.parametrize("reset_share", [0.0, 0.5])
def test_a_step_has_the_loss_and_gradients_of_plain_autograd(
    tiny: Corpus, num_negatives: int, reset_share: float, num_threads: int
) -> None:
    torch.set_num_threads(num_threads)
    recipe = tiny_recipe(num_negatives=num_negatives, reset_share=reset_share)
    torch.manual_seed(3)
    bilm = BiLm(recipe.model)
    softmax = Softmax(len(tiny.vocabulary), 7)
    windows = Windows(tiny.train, len(tiny.vocabulary), Lanes(4, 0, 4), 6, seed=1)
    batch = BatchMaker(tiny, windows, recipe.model, recipe.train, rank=0).at(0, 1)

    result = Objective(bilm, softmax, dropout=0.0)(batch, bilm.zero_state(4), seed=0, scale=1.0)
    result.loss.backward()
    found = {name: weight.grad.clone() for name, weight in bilm.named_parameters()}
    bilm.zero_grad()

    table = bilm.encoder(batch.ids)
    keep = None if batch.keep is None else batch.keep.view(6, 4, 1)
    losses = []
    for stack, part in zip((bilm.forward_lstm, bilm.backward_lstm), batch.directions, strict=True):
        top = plain_stack(stack, table[part.rows].view(6, 4, 7), keep).view(24, 7)
        losses.append(plain_loss(top, softmax, part, batch.softmax_rows))
    loss = (losses[0] + losses[1]) / 2
    loss.backward()

    assert result.loss.item() == pytest.approx(loss.item(), rel=1e-5)
    assert result.forward_loss == pytest.approx(losses[0].item(), rel=1e-5)
    for name, weight in bilm.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, rtol=1e-4, atol=1e-6, msg=name)
    rows = slice(None) if batch.softmax_rows is None else batch.softmax_rows
    torch.testing.assert_close(
        result.softmax.weight, softmax.weight.grad[rows], atol=1e-6, rtol=1e-4
    )
    torch.testing.assert_close(result.softmax.bias, softmax.bias.grad[rows], atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("num_negatives", [0, 8])
def test_the_context_loss_adds_its_gradient_and_leaves_the_softmax_alone(
    tiny: Corpus, num_negatives: int
) -> None:
    recipe = tiny_recipe(num_negatives=num_negatives)
    torch.manual_seed(3)
    bilm, softmax = BiLm(recipe.model), Softmax(len(tiny.vocabulary), 7)
    windows = Windows(tiny.train, len(tiny.vocabulary), Lanes(4, 0, 4), 6, seed=1)
    batch = BatchMaker(tiny, windows, recipe.model, recipe.train, rank=0).at(0, 1)
    context_loss = ContextLoss(7, share=0.3)
    for weight in context_loss.weights:
        torch.nn.init.normal_(weight)
    plain = Objective(bilm, softmax, dropout=0.0)(batch, bilm.zero_state(4), seed=5, scale=1.0)
    objective = Objective(bilm, softmax, dropout=0.0, context_loss=context_loss)
    result = objective(batch, bilm.zero_state(4), seed=5, scale=1.0)
    result.loss.backward()
    found = {name: weight.grad.clone() for name, weight in objective.named_parameters()}
    objective.zero_grad()

    table = bilm.encoder(batch.ids)
    keep = None if batch.keep is None else batch.keep.view(6, 4, 1)
    loss = torch.zeros(())
    for side, part in enumerate(batch.directions):
        stack = (bilm.forward_lstm, bilm.backward_lstm)[side]
        top = plain_stack(stack, table[part.rows].view(6, 4, 7), keep)
        loss = loss + plain_loss(top.view(24, 7), softmax, part, batch.softmax_rows) / 2
        words = part.targets if batch.softmax_rows is None else batch.softmax_rows[part.targets]
        matrix = context_loss.weights[side]
        loss = loss + 0.15 * plain_context_loss(top, softmax, words.view(6, 4), matrix)
    loss.backward()

    assert result.forward_loss == plain.forward_loss  # what is shown is the language model's
    torch.testing.assert_close(result.softmax.weight, plain.softmax.weight)
    for name, weight in objective.named_parameters():
        torch.testing.assert_close(found[name], weight.grad, rtol=1e-4, atol=1e-6, msg=name)


def test_the_meaning_loss_adds_its_gradient_to_that_of_the_token_encoder(tiny: Corpus) -> None:
    recipe = tiny_recipe()
    torch.manual_seed(3)
    num_words = len(tiny.vocabulary)
    bilm, softmax = BiLm(recipe.model), Softmax(num_words, 7)
    windows = Windows(tiny.train, num_words, Lanes(4, 0, 4), 6, seed=1)
    batch = BatchMaker(tiny, windows, recipe.model, recipe.train, rank=0).at(0, 1)
    vectors = torch.randn(num_words, 3)
    vectors[batch.words[:2]] = 0.0  # has no vector
    meaning_loss = MeaningLoss(7, share=0.4, vectors=vectors)
    plain = Objective(bilm, softmax, dropout=0.0)
    without = plain(batch, bilm.zero_state(4), seed=5, scale=2.0)
    without.loss.backward()
    table = bilm.encoder(batch.ids)
    reader = meaning_loss.reader
    missing = [
        (table[row] @ reader.weight.t() + reader.bias - vectors[word]).square().mean()
        for row, word in enumerate(batch.words.tolist())
        if row >= 2
    ]
    (2.0 * 0.4 * torch.stack(missing).mean()).backward()
    wanted = {name: weight.grad.clone() for name, weight in plain.named_parameters()}
    of_reader = reader.weight.grad.clone()
    plain.zero_grad()
    meaning_loss.zero_grad()

    objective = Objective(bilm, softmax, dropout=0.0, meaning_loss=meaning_loss)
    result = objective(batch, bilm.zero_state(4), seed=5, scale=2.0)
    result.loss.backward()

    assert result.forward_loss == without.forward_loss  # what is shown is the language model's
    torch.testing.assert_close(result.softmax.weight, without.softmax.weight)
    torch.testing.assert_close(reader.weight.grad, of_reader)
    for name, weight in plain.named_parameters():
        torch.testing.assert_close(weight.grad, wanted[name], rtol=1e-4, atol=1e-6, msg=name)


def test_words_without_vectors_have_no_meaning_loss() -> None:
    loss = MeaningLoss(7, share=1.0, vectors=torch.zeros(5, 3))
    assert loss(torch.randn(4, 7), torch.arange(4)).item() == 0.0


def plain_context_loss(top: Tensor, softmax: Softmax, words: Tensor, matrix: Tensor) -> Tensor:
    """One state after another: which of the streams do the words around it belong to?"""
    rows, num_words = softmax.weight.detach(), len(softmax.bias)
    length = top.norm(dim=2).square().mean().sqrt()
    losses = []
    for step in range(len(top)):
        around = []
        for lane in range(top.shape[1]):
            total = torch.zeros(top.shape[2])
            for other, word in enumerate(words[:, lane].tolist()):
                if other != step - 1:  # the word that was just read
                    frequency = math.log((word + 2) / (word + 1)) / math.log(num_words + 1)
                    total = total + 1e-3 / (1e-3 + frequency) * rows[word]
            around.append(total)
        centred = torch.stack(around) - torch.stack(around).mean(dim=0)
        for lane in range(top.shape[1]):
            cosines = torch.cosine_similarity(top[step, lane], centred @ matrix)
            points = cosines * top[step, lane].norm() / length
            losses.append(-torch.log_softmax(points / 0.1, dim=0)[lane])
    return torch.stack(losses).mean()


@pytest.mark.parametrize(
    ("narrow", "largest"),
    [(torch.bfloat16, 0.03), (torch.int16, 0.005)],
    ids=["bfloat16", "int16"],
)
def test_narrow_products_give_nearly_the_gradients_of_float32(
    narrow: torch.dtype, largest: float, tiny: Corpus
) -> None:
    recipe = tiny_recipe(num_negatives=8, reset_share=0.5)
    torch.manual_seed(3)
    bilm, softmax = BiLm(recipe.model), Softmax(len(tiny.vocabulary), 7)
    windows = Windows(tiny.train, len(tiny.vocabulary), Lanes(4, 0, 4), 6, seed=1)
    batch = BatchMaker(tiny, windows, recipe.model, recipe.train, rank=0).at(0, 1)
    losses, gradients, states = [], [], []
    for dtype in (torch.float32, narrow):
        bilm.zero_grad()
        objective = Objective(bilm, softmax, dropout=0.0, matrix_dtype=dtype)
        result = objective(batch, bilm.zero_state(4), seed=0, scale=1.0)
        result.loss.backward()
        losses.append(result.loss.item())
        states.append(result.state.forward)
        gradients.append({name: each.grad.clone() for name, each in bilm.named_parameters()})
        gradients[-1] |= {"rows": result.softmax.weight, "row bias": result.softmax.bias}
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)
    assert losses[0] != losses[1]  # the narrower products were really made
    for name, exact in gradients[0].items():
        rounded = gradients[1][name]
        assert rounded.dtype == torch.float32
        assert (rounded - exact).norm() < largest * exact.norm() + 1e-6, name
    for exact, rounded in zip(*states, strict=True):
        assert rounded.dtype == torch.float32
        assert (rounded - exact).norm() < largest * exact.norm()


def test_dropout_masks_depend_on_the_seed_alone(tiny: Corpus) -> None:
    recipe = tiny_recipe()
    bilm, softmax = BiLm(recipe.model), Softmax(len(tiny.vocabulary), 7)
    windows = Windows(tiny.train, len(tiny.vocabulary), Lanes(4, 0, 4), 6, seed=1)
    batch = BatchMaker(tiny, windows, recipe.model, recipe.train, rank=0).at(0, 1)
    objective = Objective(bilm, softmax, dropout=0.3)
    losses = [objective(batch, bilm.zero_state(4), seed, 1.0).forward_loss for seed in (1, 2, 1)]
    assert losses[0] == losses[2] != losses[1]


def test_negatives_are_distinct_and_expected_as_often_as_they_come() -> None:
    sampler = LogUniformSampler(num_words=50, num_negatives=10)
    counts = np.zeros(50)
    expected = np.zeros(50)
    for seed in range(3000):
        negatives = sampler.draw(np.random.default_rng(seed))
        assert len(set(negatives.words.tolist())) == 10
        counts[negatives.words] += 1
        expected += np.exp(negatives.log_expected)
    # Averaged over draws, the estimate for a fixed number of tries is close, not exact.
    assert np.abs(counts / 3000 - expected / 3000).max() < 0.03
