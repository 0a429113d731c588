"""The tools in training/: turned models predict the same words, a mean lies between two models."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
import torch

from elmokit.config import LstmConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.lstm import LstmStack, ProjectedLstm
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.perplexity import perplexity_of
from elmokit.weights.load import load_pretrained

TOOLS = Path(__file__).parents[2] / "training"


def tool(name: str) -> ModuleType:
    found = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(TOOLS)  # as when it runs as a script
        found.loader.exec_module(module)
    return module


def test_turned_states_predict_the_same_words(model: Path, tiny_data: Path) -> None:
    torch.manual_seed(1)
    turned = load_pretrained(model)
    width = turned.config.lstm.projection_dim
    matrix = torch.eye(width, dtype=torch.double) + 0.3 * torch.rand(width, width).double()
    before = Embedder(turned).layers([["the", "cat", "saw", "a", "dog"]])[0]
    tool("turn_to_context").turn(turned, matrix)
    after = Embedder(turned).layers([["the", "cat", "saw", "a", "dog"]])[0]
    for side in (slice(0, width), slice(width, None)):  # the layer of tokens stays
        torch.testing.assert_close(after[0], before[0])
        wanted = before[1:, :, side] @ matrix.numpy()
        torch.testing.assert_close(
            after[1:, :, side], wanted.astype("float32"), atol=1e-5, rtol=1e-4
        )
    found, expected = (
        perplexity_of(one, tiny_data, "heldout", "fresh")
        for one in (turned, load_pretrained(model))
    )
    assert found.forward == pytest.approx(expected.forward, rel=1e-5)
    assert found.backward == pytest.approx(expected.backward, rel=1e-5)


def test_turned_states_have_the_same_features(model: Path) -> None:
    torch.manual_seed(1)
    turned = load_pretrained(model)
    width = turned.config.lstm.projection_dim
    turned.feature_basis = torch.rand(width, width)
    turned.set_basis("features")
    before = Embedder(turned).layers([["the", "cat", "saw", "a", "dog"]])[0]
    matrix = torch.eye(width, dtype=torch.double) + 0.3 * torch.rand(width, width).double()
    tool("turn_to_context").turn(turned, matrix)
    turned.set_basis("features")
    after = Embedder(turned).layers([["the", "cat", "saw", "a", "dog"]])[0]
    torch.testing.assert_close(after, before, atol=1e-5, rtol=1e-4)


def test_a_context_form_weighs_the_directions_that_tell_the_context() -> None:
    torch.manual_seed(1)
    states = torch.randn(4000, 3, dtype=torch.double)
    around = torch.stack([2 * states[:, 0], torch.randn(4000, dtype=torch.double)], dim=1)
    form, covariance = tool("turn_to_context").context_form(states, around)
    torch.testing.assert_close(covariance, torch.eye(3, dtype=torch.double), atol=0.1, rtol=0)
    wanted = torch.diag(torch.tensor([4.0, 0, 0], dtype=torch.double))
    torch.testing.assert_close(form, wanted, atol=0.2, rtol=0)
    root = tool("turn_to_context").square_root(form)
    torch.testing.assert_close(root @ root, form)


def test_whitened_states_have_more_equal_variances() -> None:
    tools = tool("whiten_states")
    covariance = torch.diag(torch.tensor([16.0, 4.0, 1.0], dtype=torch.double))
    for share, wanted in ((0.0, [16.0, 4.0, 1.0]), (0.5, [12.0, 6.0, 3.0]), (1.0, [7.0] * 3)):
        matrix = tools.whitening(covariance, share)
        found = matrix.T @ covariance @ matrix
        torch.testing.assert_close(found, torch.diag(torch.tensor(wanted, dtype=torch.double)))
    assert tools.effective_dimensions(7 * torch.eye(3)).item() == pytest.approx(3.0)
    assert tools.effective_dimensions(torch.diag(torch.tensor([5.0, 0, 0]))).item() == 1.0


def test_the_covariance_of_states_is_taken_for_each_layer_and_direction(model: Path) -> None:
    loaded = load_pretrained(model)
    sentences = [["the", "cat", "saw", "a", "dog"], ["a", "dog", "sat"]]
    found = tool("whiten_states").covariances(loaded, sentences)
    width = loaded.config.lstm.projection_dim
    states = torch.cat([torch.from_numpy(one) for one in Embedder(loaded).layers(sentences)], dim=1)
    for layer in range(len(states) - 1):
        for side in range(2):
            part = states[layer + 1][:, side * width : (side + 1) * width].double()
            torch.testing.assert_close(found[layer, side], torch.cov(part.T, correction=0))


def test_a_feature_basis_shortens_directions_that_differ_between_sentences() -> None:
    tools = tool("fit_feature_basis")
    within = torch.diag(torch.tensor([1.0, 4.0, 2.0], dtype=torch.double))
    between = torch.diag(torch.tensor([3.0, 0.0, 1.0], dtype=torch.double))
    spread = tools.Spread(within, between)
    assert spread.share_between == pytest.approx(4 / 11)
    matrix = tools.feature_basis(spread, 2.0)
    after = spread.times(matrix)
    ratio = torch.tensor([1 / 7, 1.0, 1 / 2], dtype=torch.double)  # 1 / (1 + 2 between / within)
    ratio *= 11 / (ratio * (within + between).diagonal()).sum()  # the sum of variances stays
    torch.testing.assert_close(after.within.diagonal(), ratio * within.diagonal())
    torch.testing.assert_close(after.between.diagonal(), ratio * between.diagonal())
    unchanged = tools.feature_basis(spread, 0.0)
    torch.testing.assert_close(unchanged, torch.eye(3, dtype=torch.double))


def test_variances_within_and_between_sentences_add_up(model: Path) -> None:
    loaded = load_pretrained(model)
    sentences = [["the", "cat", "saw", "a", "dog"], ["a", "dog", "sat", "there", "."]]
    spreads = tool("fit_feature_basis").spread_of_layers(loaded, sentences)
    width = loaded.config.lstm.projection_dim
    states = torch.stack([torch.from_numpy(one) for one in Embedder(loaded).layers(sentences)])
    states = states.double().unflatten(-1, (2, width))  # (2 sentences, L + 1, 5 tokens, 2, P)
    for number, spread in enumerate(spreads, 1):
        layer = states[:, number]
        around = layer - layer.mean(dim=(0, 1))
        total = torch.einsum("stdp,stdq->pq", around, around) / (2 * 10)
        found = spread.within * (5 - 1) / 5 + spread.between  # within is unbiased
        torch.testing.assert_close(found, total)


@pytest.mark.parametrize("share", [0.0, 0.25, 1.0])
def test_a_mean_lies_between_two_models(share: float) -> None:
    first, second = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3)
    wanted = (1 - share) * first.weight + share * second.weight
    tool("average_models").lean(first, second, share)
    torch.testing.assert_close(second.weight, wanted)


def layer_of(stack: LstmStack) -> ProjectedLstm:
    layer = stack.layers[0]
    assert isinstance(layer, ProjectedLstm)
    return layer


def test_cells_that_sum_hold_a_fading_sum_of_what_they_read() -> None:
    tools = tool("sum_words")
    torch.manual_seed(1)
    stack = LstmStack(LstmConfig(dim=6, projection_dim=4, num_layers=1))
    readers, constant, cells = 0.01 * torch.randn(4, 2), torch.zeros(2), torch.tensor([1, 4])
    tools.make_sums(layer_of(stack), cells, readers, constant)
    inputs = torch.randn(5, 4)
    _, state = stack(inputs, [1] * 5, stack.zero_state(1))
    gate = torch.sigmoid(torch.tensor(tools.OPEN))
    fading = tools.KEPT ** torch.arange(4, -1, -1.0)
    wanted = (fading[:, None] * gate * torch.tanh(inputs @ readers)).sum(dim=0)
    torch.testing.assert_close(state.cell[0, 0, cells], wanted, atol=1e-6, rtol=1e-4)


def test_a_cell_with_a_twin_is_freed_without_changing_the_states() -> None:
    tools = tool("sum_words")
    torch.manual_seed(1)
    stack = LstmStack(LstmConfig(dim=6, projection_dim=4, num_layers=1))
    layer = layer_of(stack)
    with torch.no_grad():  # cell 5 does what cell 2 does
        for weight in (layer.input_weight, layer.hidden_weight, layer.bias):
            weight.view(-1, 4, 6)[..., 5] = weight.view(-1, 4, 6)[..., 2]
    sequences = [torch.randn(9, 4) for _ in range(30)]

    def states() -> torch.Tensor:
        return torch.cat([stack(one, [1] * 9, stack.zero_state(1))[0][0] for one in sequences])

    with torch.no_grad():
        before = states()
        freed = tools.free_cells(layer, tools.moments(layer, sequences), 1)
        assert freed.item() in (2, 5)
        assert layer.projection is not None and not layer.projection[freed].any()
        torch.testing.assert_close(states(), before, atol=0.01, rtol=0.05)


def test_what_token_vectors_tell_of_static_ones(
    model: Path, tiny_data: Path, tmp_path: Path
) -> None:
    loaded, corpus = load_pretrained(model), Corpus.open(tiny_data)
    words = corpus.vocabulary.words[3:]
    tokens = Embedder(loaded).layers([words])[0][0][:, : loaded.config.lstm.projection_dim]
    file, chance = tmp_path / "vectors.txt", torch.Generator().manual_seed(1)
    told = 10 * tokens @ torch.randn(tokens.shape[1], 2, generator=chance).numpy()
    noise = 1000 * torch.randn(len(words), 2, generator=chance).numpy()
    shares = []
    for vectors in (told, told + noise):
        lines = [f"{word} {x} {y}" for word, (x, y) in zip(words, vectors.tolist(), strict=True)]
        file.write_text("\n".join(lines) + "\n")
        shares.append(tool("token_meanings").of_vocabulary(loaded, corpus, file))
    assert min(shares[0]) > 0.9
    for exact, noisy in zip(*shares, strict=True):
        assert noisy < exact


def test_an_explained_share_counts_rows_by_their_weights() -> None:
    wanted = torch.tensor([[0.0], [4.0], [100.0]])
    told = torch.tensor([[1.0], [3.0], [0.0]])
    shares = torch.tensor([[0.5], [0.5], [0.0]])
    assert tool("token_meanings").explained(told, wanted, shares) == pytest.approx(0.75)
