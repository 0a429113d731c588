"""What a run leaves behind: models in both formats, predictions, fine-tuned models."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_corpus import tiny_recipe, write_sentences

import elmokit
from elmokit.errors import InputError
from elmokit.figures import new_figure
from elmokit.pretrain.config import recipe_from_plain
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.export import export, first_sentences, read_trained
from elmokit.pretrain.finetune import finetune
from elmokit.pretrain.plot import (
    _draw_loss,
    by_text,
    joined_logs,
    plot_runs,
    token_unit,
)
from elmokit.pretrain.predict import predict
from elmokit.pretrain.training.run import train
from elmokit.weights.load import load_pretrained

SENTENCES = [["the", "cat", "saw", "a", "zebra"], ["blue"]]


@pytest.fixture(scope="module")
def run(tiny_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "run"
    train(tiny_recipe(num_epochs=1.0), tiny_data, out)
    return out


@pytest.mark.parametrize("format", ["native", "bilm-tf"])
def test_an_exported_model_gives_the_trained_models_vectors(
    run: Path, tmp_path: Path, format: str
) -> None:
    export(run, tmp_path / "model", format=format)
    loaded = load_pretrained(tmp_path / "model")
    trained = read_trained(run)
    for name, weight in trained.bilm.state_dict().items():
        assert torch.equal(weight, loaded.bilm.state_dict()[name]), name
    assert loaded.output_words is not None
    assert torch.equal(loaded.output_words.softmax.weight, trained.output_words.softmax.weight)
    assert loaded.output_words.vocabulary.words == trained.output_words.vocabulary.words


def test_an_exported_model_has_a_settled_state_and_its_card(run: Path, tmp_path: Path) -> None:
    export(run, tmp_path / "model", card=["licence=CC0", "note=a = b"])
    loaded = load_pretrained(tmp_path / "model")
    assert loaded.card["licence"] == "CC0"
    assert loaded.card["note"] == "a = b"
    assert loaded.settled is not None
    assert loaded.settled.forward.hidden.abs().max() > 0
    with pytest.raises(InputError, match="only the native format stores half precision"):
        export(run, tmp_path / "other", format="bilm-tf", dtype="float16")
    with pytest.raises(InputError, match="--card licence: write it as NAME=TEXT"):
        export(run, tmp_path / "other", card=["licence"])


def test_first_sentences_are_the_words_of_the_held_out_text(tiny: Corpus) -> None:
    sentences = first_sentences(tiny, 3)
    tokens = tiny.heldout.tokens[: tiny.heldout.starts[3]]
    assert [word for s in sentences for word in ["<S>", *s]] == tiny.lexicon.words(
        tokens.astype(np.int64)
    )
    assert len(first_sentences(tiny, 10_000)) == tiny.heldout.num_sentences


def test_a_model_on_a_word_table_is_trained_exported_and_read_back(
    tiny_data: Path, tiny: Corpus, tmp_path: Path
) -> None:
    values = {"lstm": {"dim": 12, "projection_dim": 7}, "words": {"dim": 7}}
    values["train"] = {"batch_size": 4, "window": 6, "num_negatives": 0, "num_epochs": 2.0,
                       "learning_rate": 0.01}  # fmt: skip
    train(recipe_from_plain(values, "words"), tiny_data, tmp_path / "run")
    vectors = []
    for format in ("native", "bilm-tf"):
        export(tmp_path / "run", tmp_path / format, format=format)
        vectors.append(elmokit.load(tmp_path / format).layers(SENTENCES)[0])
    np.testing.assert_array_equal(vectors[0], vectors[1])
    unknown = elmokit.load(tmp_path / "native").layers([["zebra"], ["qwerty"]])
    np.testing.assert_allclose(unknown[0], unknown[1], atol=1e-6)  # a row of a GEMM each


def test_prediction_fills_a_blank_from_both_sides(run: Path) -> None:
    model = read_trained(run)
    found = predict(model, "the cat ___ a dog", top=5)
    assert (found.left, found.right) == (["the", "cat"], ["a", "dog"])
    whole = predict(model, "the cat ___ a dog", top=1000)
    assert {guess.word for guess in whole.combined} == set(model.output_words.vocabulary.words[3:])
    assert 0 < sum(np.exp(guess.log_probability) for guess in whole.combined) < 1 + 1e-5
    other = predict(model, "the cat ___ under", top=5)
    assert other.forward == found.forward, "the next word sees the left side alone"
    assert other.backward != found.backward


def test_prediction_with_two_blanks_is_refused(run: Path) -> None:
    with pytest.raises(InputError, match="there are 2 blanks"):
        predict(read_trained(run), "___ and ___")


def test_prediction_without_a_softmax_is_refused(run: Path) -> None:
    model = read_trained(run)
    model.output_words = None
    with pytest.raises(InputError, match="no softmax"):
        predict(model, "the ___")


def other_domain(folder: Path) -> Path:
    text = folder / "domain.txt"
    write_sentences(text, 300, seed=9)
    text.write_text(text.read_text().replace("cat", "lynx").replace("house", "castle"))
    config = PrepareConfig(pretokenized=True, heldout=0.1, vocabulary_size=20)
    prepare([str(text)], folder / "domain", config)
    return folder / "domain"


@pytest.mark.parametrize("has_softmax", [True, False])
def test_finetuning_lowers_the_perplexity_on_the_domain(
    run: Path, tmp_path: Path, has_softmax: bool
) -> None:
    model = read_trained(run)
    if not has_softmax:
        model.output_words = None
    before = {name: weight.clone() for name, weight in model.bilm.state_dict().items()}
    sets = ["train.batch_size=4", "train.learning_rate=0.01", "train.window=6"]
    result = finetune(model, other_domain(tmp_path), tmp_path / "tuned", sets)
    assert result.after.mean < result.before.mean
    assert result.fitted_words == (20 if not has_softmax else result.fitted_words)
    assert result.fitted_words > 0
    tuned = load_pretrained(tmp_path / "tuned")
    assert any(not torch.equal(before[n], w) for n, w in tuned.bilm.state_dict().items())


def test_finetuning_goes_on_with_its_own_run_alone(run: Path, tmp_path: Path) -> None:
    sets = ["train.batch_size=4", "train.window=6", "train.max_tokens=48"]
    data = other_domain(tmp_path)
    first = finetune(read_trained(run), data, tmp_path / "tuned", sets)
    assert finetune(read_trained(run), data, tmp_path / "tuned", sets) == first
    with pytest.raises(InputError, match="another model, other data or other settings"):
        finetune(read_trained(run), data, tmp_path / "tuned", sets[:2])
    model = read_trained(run)
    model.source = "another"
    with pytest.raises(InputError, match="another model, other data or other settings"):
        finetune(model, data, tmp_path / "tuned", sets)
    settings = PrepareConfig(vocabulary_size=9)
    prepare([tmp_path / "domain.txt"], tmp_path / "new", settings, num_workers=1)
    with pytest.raises(InputError, match="was not prepared with the vocabulary"):
        finetune(read_trained(run), data, tmp_path / "b", sets, new_text=tmp_path / "new")


def test_finetuning_runs_on_the_device_that_auto_finds(run: Path, tmp_path: Path) -> None:
    sets = ["train.batch_size=4", "train.window=6", "train.max_tokens=48"]
    result = finetune(read_trained(run), other_domain(tmp_path), tmp_path / "tuned", sets, "auto")
    assert result.after.mean > 1
    assert (tmp_path / "tuned" / "model.safetensors").is_file()


def test_a_run_is_drawn(run: Path, tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    before = dict(matplotlib.rcParams)
    plot_runs([run, run], tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert dict(matplotlib.rcParams) == before, "the user's settings and backend"
    with pytest.raises(InputError, match=r"cannot draw a \.xyz"):
        plot_runs([run], tmp_path / "curve.xyz")


@pytest.mark.parametrize(("tokens", "name"), [(7_680, "thousand"), (23_500_000, "million")])
def test_the_legend_is_below_the_curves_and_ticks_are_few(tokens: int, name: str) -> None:
    pytest.importorskip("matplotlib")
    loss, rate = {"forward_loss": 5.0, "backward_loss": 6.0}, {"learning_rate": 0.1}
    training = [{"tokens": tokens * n // 9, **loss, **rate} for n in range(1, 10)]
    unit = token_unit(training)
    assert unit.name == f"{name} tokens"
    with new_figure(11, 4.2) as figure:
        axes = figure.subplots()
        _draw_loss(axes, training, unit)
        figure.canvas.draw()
        assert axes.get_legend().get_window_extent().y1 < axes.get_window_extent().y0
        assert len(axes.get_legend().get_texts()) == 3
        assert len(axes.get_xticks()) <= 8  # two of them lie outside the axes
        low, high = axes.get_xlim()
        assert 2 <= len([tick for tick in axes.get_xticks() if low <= tick <= high]) <= 6


def test_runs_that_went_on_count_tokens_from_the_first(tmp_path: Path) -> None:
    for name, tokens in (("a.jsonl", (10, 20)), ("b.jsonl", (5, 15))):
        lines = [json.dumps({"event": "train", "tokens": count}) for count in tokens]
        (tmp_path / name).write_text("\n".join([*lines, '{"event": "stopped"}']))
    events = joined_logs([tmp_path / "a.jsonl", tmp_path / "b.jsonl"])
    assert [event["tokens"] for event in events] == [10, 20, 25, 35]


def test_a_run_without_a_checkpoint_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no run\.json"):
        export(tmp_path, tmp_path / "out")


def test_a_curve_joins_only_measurements_on_the_same_text() -> None:
    events = [{"predictions": 20}, {"predictions": 345}, {"predictions": 20}]
    assert by_text(events) == ([events[0], events[2]], [events[1]])
    assert by_text([]) == ([], [])
    assert by_text([*events, events[1], events[1]])[1] == [events[0], events[2]]
