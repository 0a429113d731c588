"""ElmoModel and the Hub: folders and the cache on disk; nothing reaches the network."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hub_cache import COMMIT, fill_hub_cache
from huggingface_hub import HfApi, ModelCard, constants

import elmokit
from elmokit import InputError
from elmokit.cli import app
from elmokit.embed.files.command import require_intact
from elmokit.integrations.hub import ElmoModel
from elmokit.weights.names import find_model, short_name

SENTENCES = ["The cat sat.", "Yes"]


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no network."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    return tmp_path / "hub"


def same_vectors(first: elmokit.Embedder, second: elmokit.Embedder) -> bool:
    pairs = zip(first.layers(SENTENCES), second.layers(SENTENCES), strict=True)
    return all(np.array_equal(one, other) for one, other in pairs)


def test_what_is_saved_is_read_by_from_pretrained_and_by_load(model: Path, tmp_path: Path) -> None:
    ElmoModel(model).save_pretrained(tmp_path / "saved")
    elmo = elmokit.load(model)
    assert same_vectors(ElmoModel.from_pretrained(tmp_path / "saved").embedder, elmo)
    assert same_vectors(elmokit.load(tmp_path / "saved"), elmo)
    layers = ElmoModel.from_pretrained(str(tmp_path / "saved"))(SENTENCES)
    assert torch.equal(layers, elmo.padded_layers(SENTENCES))


def test_saving_again_keeps_what_is_not_the_models(model: Path, tmp_path: Path) -> None:
    folder = tmp_path / "saved"
    ElmoModel(model).save_pretrained(folder)
    (folder / ".gitattributes").write_text("*.safetensors filter=lfs\n")
    (folder / "vocab.txt").write_text("of an older model\n")
    ElmoModel(model).save_pretrained(folder)
    names = sorted(path.name for path in folder.iterdir())
    assert names == [
        ".gitattributes",
        "README.md",
        "SHA256SUMS",
        "config.json",
        "model.safetensors",
    ]


def test_the_softmax_is_kept(bilm_tf: Path, tmp_path: Path) -> None:
    ElmoModel(elmokit.load(bilm_tf)).save_pretrained(tmp_path / "saved")
    assert (tmp_path / "saved" / "softmax.safetensors").is_file()


def test_the_card_is_made_from_ours(model: Path) -> None:
    card = ElmoModel("en-small").generate_model_card()
    assert card.data.library_name == "elmokit"
    assert card.data.language == "en"
    assert card.data.license == "other"
    assert {"elmo", "bilm", "pytorch_model_hub_mixin"} <= set(card.data.tags)
    assert card.text.lstrip().startswith("# en-small")
    assert "elmokit.load(" in card.text
    assert "1802.05365" in card.text
    plain = ElmoModel(model).generate_model_card()
    assert "# tiny" in plain.text
    assert re.search(r"    layers +3 x 8\n", plain.text)
    assert str(model.parent) not in plain.text
    assert plain.data.language is None


def test_push_to_hub_uploads_a_complete_folder(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pushed: dict[str, Any] = {}

    class Created:
        repo_id = "user/tiny"

    def upload(self: HfApi, *, folder_path: Path, **settings: Any) -> str:
        pushed.update(settings, files=sorted(path.name for path in Path(folder_path).iterdir()))
        pushed["card"] = ModelCard.load(Path(folder_path) / "README.md").data.library_name
        return "https://huggingface.co/user/tiny/commit/1"

    monkeypatch.setattr(HfApi, "create_repo", lambda self, **settings: Created())
    monkeypatch.setattr(HfApi, "upload_folder", upload)
    assert ElmoModel(model).push_to_hub("user/tiny").endswith("/commit/1")
    assert pushed["repo_id"] == "user/tiny"
    assert pushed["files"] == ["README.md", "SHA256SUMS", "config.json", "model.safetensors"]
    assert pushed["card"] == "elmokit"


def test_a_hub_id_is_a_model_name(model: Path, cache: Path) -> None:
    snapshot = fill_hub_cache(cache, "user/tiny", model)
    assert find_model("user/tiny").path == snapshot
    assert find_model(f"user/tiny@{COMMIT}").path == snapshot
    elmo = elmokit.load("user/tiny")
    assert same_vectors(elmo, elmokit.load(model))
    assert elmo.name == "user/tiny"
    assert same_vectors(ElmoModel.from_pretrained("user/tiny").embedder, elmo)


def test_commands_take_a_hub_id(
    model: Path, cache: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from elmokit.cli import embedding  # noqa: F401

    fill_hub_cache(cache, "user/tiny", model)
    app(["info", "user/tiny"], standalone_mode=False)
    assert "models--user--tiny" in capsys.readouterr().out


def test_what_is_downloaded_can_be_verified(
    model: Path, cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from elmokit.cli import embedding  # noqa: F401

    ElmoModel(model).save_pretrained(tmp_path / "saved")
    fill_hub_cache(cache, "user/tiny", tmp_path / "saved")
    app(["verify", "user/tiny"], standalone_mode=False)
    assert "2 files of the model as SHA256SUMS says" in capsys.readouterr().out
    require_intact("user/tiny")  # embed --verify


def test_a_card_survives_downloading_and_pushing_again(
    model: Path, cache: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "saved"
    ElmoModel(model).save_pretrained(folder)
    card = (folder / "README.md").read_text().replace("# tiny", "# tiny\n\nRead twice by hand.")
    (folder / "README.md").write_text(card)
    fill_hub_cache(cache, "user/tiny", folder)
    ElmoModel("user/tiny").save_pretrained(tmp_path / "again")
    assert (tmp_path / "again" / "README.md").read_text().strip() == card.strip()


def test_a_folder_comes_before_a_hub_id(
    model: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill_hub_cache(cache, "user/tiny", model)
    (tmp_path / "user").mkdir()
    elmokit.load(model).save(tmp_path / "user" / "tiny")
    monkeypatch.chdir(tmp_path)
    assert find_model("user/tiny").path == Path("user/tiny")


@pytest.mark.parametrize("name", ["user/other", "user/tiny@v2"])
def test_what_the_hub_does_not_have_is_said_in_one_sentence(
    model: Path, cache: Path, name: str
) -> None:
    fill_hub_cache(cache, "user/tiny", model)
    with pytest.raises(InputError, match=f"{name}: there is no such file or folder, and no model"):
        elmokit.load(name)


def test_paths_are_not_looked_for_on_the_hub(cache: Path) -> None:
    paths = ("./tiny", "../tiny", "user/..", "./user/tiny", "/user/tiny", "a/b/c")
    for path in (*paths, Path("user/tiny")):
        with pytest.raises(InputError, match=r"there is no such file or folder$"):
            elmokit.load(path)


def test_links_out_of_a_repositorys_cache_are_refused(
    model: Path, cache: Path, tmp_path: Path
) -> None:
    snapshot = fill_hub_cache(cache, "user/tiny", model)
    (tmp_path / "secret.json").write_text("{}")
    (snapshot / "words.json").symlink_to(tmp_path / "secret.json")
    with pytest.raises(InputError, match=r"words\.json: refused"):
        elmokit.load("user/tiny")


def test_names_in_tables() -> None:
    assert short_name("runs/mine/") == "mine"
    assert short_name(f"cache/models--user--a-b/snapshots/{COMMIT}") == "user/a-b"
