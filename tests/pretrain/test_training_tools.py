"""The tools in training/: bases weigh what they should, a mean lies between two models."""

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from elmokit.config import LstmConfig
from elmokit.embed.embedder import Embedder
from elmokit.model.lstm import LstmStack, ProjectedLstm
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
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


def test_a_similarity_basis_lengthens_what_tells_of_the_other_tokens() -> None:
    torch.manual_seed(1)
    tools = tool("fit_bases")
    states = torch.randn(4000, 3, dtype=torch.double)
    others = torch.stack([2 * states[:, 0], torch.randn(4000, dtype=torch.double)], dim=1)
    within = torch.diag(torch.tensor([1.0, 4.0, 1.0], dtype=torch.double))
    matrix = tools.similarity_basis(states, others, within, 0.6)
    even = torch.tensor([1.0, 0.25, 1.0], dtype=torch.double) * 3 / 2.25
    telling = torch.tensor([3.0, 0.0, 0.0], dtype=torch.double)
    lengths = (0.4 * even + 0.6 * telling).sqrt()
    torch.testing.assert_close(matrix, torch.diag(lengths), atol=0.1, rtol=0)
    after = states @ matrix
    assert float(after.square().sum()) == pytest.approx(float(states.square().sum()), rel=0.02)


def test_a_similarity_basis_without_a_share_varies_alike_within_sentences() -> None:
    torch.manual_seed(1)
    tools = tool("fit_bases")
    within = torch.diag(torch.tensor([1.0, 4.0, 2.0], dtype=torch.double))
    states = torch.randn(400, 3, dtype=torch.double)
    matrix = tools.similarity_basis(states, states, within, 0.0)
    after = (matrix.T @ within @ matrix).diagonal()
    torch.testing.assert_close(after, after.mean().expand(3), atol=0, rtol=0.02)


def test_the_mean_of_the_others_leaves_out_the_token_itself() -> None:
    found = tool("fit_bases").means_of_others(
        [torch.tensor([[1.0, 0], [3, 2], [5, 4]]), torch.tensor([[7.0, 7], [9, 8]])]
    )
    wanted = torch.tensor([[4.0, 3], [3, 2], [2, 1], [9, 8], [7, 7]])
    torch.testing.assert_close(found, wanted)


def test_a_feature_basis_shortens_directions_that_differ_between_sentences() -> None:
    tools = tool("fit_bases")
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


def test_variances_within_and_between_sentences_add_up() -> None:
    torch.manual_seed(1)
    sentences = list(torch.randn(2, 5, 3, dtype=torch.double))
    spread = tool("fit_bases").spread_of(sentences)
    total = torch.cov(torch.cat(sentences).T, correction=0)
    found = spread.within * (5 - 1) / 5 + spread.between  # within is unbiased
    torch.testing.assert_close(found, total)


def test_fitted_bases_have_a_matrix_per_layer_and_keep_the_directions_of_features_apart(
    model: Path, tiny_data: Path
) -> None:
    tools, loaded = tool("fit_bases"), load_pretrained(model)
    sentences = tools.states_of(loaded, Corpus.open(tiny_data), 200)
    similarity, features = tools.fit(sentences, 0.7, 20.0)
    width = loaded.config.lstm.projection_dim
    assert similarity.shape == (loaded.config.lstm.num_layers, 2 * width, 2 * width)
    assert features.shape == similarity.shape
    assert similarity[:, :width, width:].any() and not features[:, :width, width:].any()
    torch.testing.assert_close(features[0, :width, :width], features[-1, width:, width:])


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


def test_unread_text_has_all_of_one_kind_and_a_share_of_another(tmp_path: Path) -> None:
    for kind in ("news", "mail"):
        lines = [f"{kind} {number} .\n\n" for number in range(400)]
        (tmp_path / f"{kind}.txt").write_text("".join(lines))
    prepare(
        [tmp_path / "news.txt", tmp_path / "mail.txt"],
        tmp_path / "whole",
        PrepareConfig(pretokenized=True, shuffle=True),
        quiet=True,
    )
    whole, tools = Corpus.open(tmp_path / "whole"), tool("unread_text")
    length = len(whole.train.tokens) // 2  # of each of two streams
    stretches = [(0, length // 4), (length // 2, 2 * length)]
    unread = tools.select(whole, 2, stretches, [("news", 0.25)], 0)
    tools.write(whole, unread, tmp_path / "unread")
    found = Corpus.open(tmp_path / "unread")
    found.verify()
    assert list(found.sentences(found.heldout)) == list(whole.sentences(whole.heldout))
    before = [" ".join(words) for words in whole.sentences(whole.train)]
    after = [" ".join(words) for words in found.sentences(found.train)]
    inside = np.asarray(whole.train.starts) % (len(whole.train.tokens) / 2)
    is_unread = (inside < length // 4) | (inside >= length // 2)
    wanted = [each for each, is_in in zip(before, is_unread, strict=True) if is_in]
    assert [one for one in after if "mail" in one] == [one for one in wanted if "mail" in one]
    news = [one for one in after if "news" in one]
    assert set(news) <= set(wanted)
    assert 0.1 < len(news) / sum("news" in one for one in wanted) < 0.4
