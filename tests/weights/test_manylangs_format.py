"""ELMoForManyLangs folders, as they are published and as they get broken."""

import json
from pathlib import Path

import pytest
import torch
from random_files import ManyLangsSpec, write_manylangs_files

from elmokit.errors import InputError
from elmokit.weights import manylangs as reader
from elmokit.weights.load import load_pretrained


def test_the_settings_are_found_beside_a_config_that_points_to_the_authors_disk(
    manylangs: Path,
) -> None:
    config = json.loads((manylangs / "config.json").read_text())
    assert config["config_path"].startswith("/users4/")
    assert load_pretrained(manylangs).config.lstm.dim == 7


def test_settings_named_relative_to_the_folder_are_found(tmp_path: Path) -> None:
    write_manylangs_files(tmp_path, ManyLangsSpec(), config_path="settings.json")
    assert load_pretrained(tmp_path).config.lstm.dim == 7


def test_without_settings_the_released_ones_are_used(
    manylangs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = json.loads((manylangs / "settings.json").read_text())
    (manylangs / "settings.json").unlink()
    with pytest.raises(InputError, match=r"convolutions\.3|shape"):
        load_pretrained(manylangs)  # this small model is not of the released size
    monkeypatch.setattr(reader, "_RELEASED", settings)
    assert load_pretrained(manylangs).config.lstm.dim == 7


def test_the_released_settings_are_those_of_the_paper() -> None:
    released = reader._RELEASED
    assert released["encoder"]["dim"] == 4096 and released["encoder"]["projection_dim"] == 512
    assert sum(number for _, number in released["token_embedder"]["filters"]) == 2048


def test_tokens_are_spelled_with_swapped_markers_and_cut_for_the_word_table(
    manylangs: Path,
) -> None:
    model = load_pretrained(manylangs)
    ids = model.indexer.encode(["ab", "abc" + "x" * 90, "zzz"])
    dictionary = model.indexer.characters.dictionary
    row = ids.characters[0].tolist()
    assert row[0] == dictionary["<eow>"] and row[3] == dictionary["<bow>"]
    assert row[4:] == [dictionary["<pad>"]] * 5
    assert ids.words.tolist() == [model.indexer.word_ids["<oov>"]] * 3
    model.indexer.word_ids["abcxxxx"] = 1
    assert model.indexer.encode(["abc" + "x" * 90]).words.tolist() == [1]


def test_a_line_with_an_id_alone_stands_for_the_ideographic_space(manylangs: Path) -> None:
    assert "\u3000\t" in (manylangs / "char.dic").read_text(encoding="utf-8")
    model = load_pretrained(manylangs)
    assert model.indexer.characters.dictionary["\u3000"] == 15


@pytest.mark.parametrize(
    ("file", "line", "message"),
    [
        ("char.dic", "a\tb\tc", "expected a token, a tab and an id"),
        ("char.dic", "a\t" + "9" * 5000, "expected a token, a tab and an id"),
        ("word.dic", "dog\t99", "an id below 8"),
        ("word.dic", "dog\tx", "expected a token, a tab and an id"),
    ],
)
def test_bad_dictionaries_are_named_with_their_line(
    manylangs: Path, file: str, line: str, message: str
) -> None:
    path = manylangs / file
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"{file}:\d+: .*{message}"):
        load_pretrained(manylangs)


@pytest.mark.parametrize("file", ["char.dic", "word.dic", "encoder.pkl", "token_embedder.pkl"])
def test_missing_files_are_named(manylangs: Path, file: str) -> None:
    (manylangs / file).unlink()
    with pytest.raises(InputError, match=f"{file}: there is no such file; unpack the whole"):
        load_pretrained(manylangs)


def test_missing_markers_and_tensors_are_named(manylangs: Path) -> None:
    path = manylangs / "char.dic"
    path.write_text(path.read_text(encoding="utf-8").replace("<bow>", "bow"), encoding="utf-8")
    with pytest.raises(InputError, match="lacks the marker <bow>"):
        load_pretrained(manylangs)
    tensors = torch.load(manylangs / "encoder.pkl", weights_only=True)
    del tensors["backward_layer_1.state_projection.weight"]
    torch.save(tensors, manylangs / "encoder.pkl")
    with pytest.raises(InputError, match=r"lacks backward_layer_1\.state_projection\.weight"):
        load_pretrained(manylangs)


def test_other_networks_are_named(manylangs: Path) -> None:
    settings = json.loads((manylangs / "settings.json").read_text())
    settings["token_embedder"]["name"] = "lstm"
    (manylangs / "settings.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="token_embedder 'lstm'; only 'cnn'"):
        load_pretrained(manylangs)
