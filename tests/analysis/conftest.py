"""A tiny random ELMo model and a tiny task, for analyses that train."""

from pathlib import Path

import pytest
from tiny_senses import write_senses

from elmokit.analysis.encoders.bilm import untrained
from elmokit.analysis.experiments.runs import make_grid
from elmokit.config import CharCnnConfig, LstmConfig, ModelConfig
from elmokit.tasks.grid import Grid
from elmokit.text.token_ids import TokenIndexer
from elmokit.weights.native import write_native

TINY = ModelConfig(
    lstm=LstmConfig(dim=14, projection_dim=6, num_layers=2),
    char_cnn=CharCnnConfig(
        embedding_dim=4, filters=((1, 5), (2, 7)), max_characters=17, num_highway=1
    ),
)
SETTINGS = [
    "model.hidden_dim=9",
    "words.dim=8",
    "words.vectors=",
    "characters.num_filters=0",
    "fit.learning_rate=0.01",
    "fit.halve_after=0",
    "fit.max_epochs=2",
]


@pytest.fixture(scope="session")
def tiny_elmo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("elmo") / "tiny"
    write_native(untrained(TINY, TokenIndexer.utf8(17)).embedder.pretrained, folder)
    return folder


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    """Twenty entailment pairs."""
    rows = []
    for who in ("a man", "a woman", "two boys", "a dog", "my aunt", "the cat", "a girl"):
        rows.append(f"{who} runs in the park .\t{who} is outside .\tentailment")
        rows.append(f"{who} runs in the park .\t{who} is asleep .\tcontradiction")
        rows.append(f"{who} runs in the park .\t{who} is late .\tneutral")
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(rows[:20]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def wsd(tmp_path: Path) -> Path:
    """SemCor, WordNet and the evaluation sets."""
    write_senses(tmp_path / "wsd")
    return tmp_path / "wsd"


@pytest.fixture
def tiny_grid(tmp_path: Path, tiny_elmo: Path, pairs: Path) -> Grid:
    """Entailment on the same twenty pairs throughout: a few seconds of training in all."""
    files = [str(pairs)] * 3
    return make_grid(
        ["entailment"], tmp_path, tmp_path / "runs", str(tiny_elmo), files, "cpu", SETTINGS, seeds=1
    )
