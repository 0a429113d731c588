"""The commands embed, info, convert and verify, on a tiny model on disk."""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from typer.testing import CliRunner, Result

import elmokit
from elmokit.cli import app, embedding, tidy_up_when_terminated  # noqa: F401  adds the commands
from elmokit.embed.embedder import WINDOW_TOKENS
from elmokit.embed.files import command
from elmokit.embed.files.inputs import Item
from elmokit.errors import InputError


def run(*arguments: object, text: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=text)


def test_embed_writes_what_the_library_computes(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_text("The cat sat.\n\nA rose/is.\n")
    out = tmp_path / "out.h5"
    result = run("embed", text, "-o", out, "-m", model, "--layers", "all", "-q")
    assert result.exit_code == 0, result.output
    elmo = elmokit.load(model)
    with h5py.File(out) as file:
        assert file["1"].shape == (3, 0, 8)
        expected = elmo.layers([["The", "cat", "sat", "."]])[0]
        np.testing.assert_allclose(file["0"][...], expected, atol=1e-5)
        assert json.loads(file["sentence_to_index"][0])["A rose/is."] == "2"


def test_embed_takes_a_precision_and_a_number_of_threads(model: Path, tmp_path: Path) -> None:
    text, out = tmp_path / "in.txt", tmp_path / "out.h5"
    text.write_text("The cat sat.\n")
    options = ("-m", model, "--layers", "all", "-q", "--threads", "1", "--precision")
    assert run("embed", text, "-o", out, *options, "int8").exit_code == 0
    exact = elmokit.load(model).layers(["The cat sat."])[0]
    with h5py.File(out) as file:
        difference = np.abs(file["0"][...] - exact).max()
    assert 0.0 < difference < 0.05
    refused = run("embed", text, "-o", tmp_path / "no.h5", *options, "int4")
    assert isinstance(refused.exception, InputError) and "got 'int4'" in str(refused.exception)
    assert not (tmp_path / "no.h5").exists()


def test_info_says_what_auto_precision_is(model: Path) -> None:
    assert re.search(r"auto precision +(int8|bfloat16|float32) \(", run("info", model).output)


def test_embed_reads_standard_input(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    result = run("embed", "-", "-o", out, "-m", model, "--pretokenized", "-q", text="a b c\n")
    assert result.exit_code == 0, result.output
    np.testing.assert_allclose(
        np.load(out)["0"], elmokit.load(model).embed([["a", "b", "c"]])[0], atol=1e-5
    )


@pytest.mark.parametrize(
    ("layers", "shape"),
    [("average", (2, 8)), ("top", (2, 8)), ("1", (2, 8)), ("LSTM2", (2, 8)), ("0,2", (2, 2, 8)),
     ("all", (3, 2, 8)), ("concat", (2, 24)), ("sum", (2, 8))],
)  # fmt: skip
def test_embed_keeps_the_layers_asked_for(
    model: Path, tmp_path: Path, layers: str, shape: tuple[int, ...]
) -> None:
    out = tmp_path / "out.npz"
    result = run("embed", "-", "-o", out, "-m", model, "--layers", layers, "-q", text="a b\n")
    assert result.exit_code == 0, result.output
    assert np.load(out)["0"].shape == shape


def test_embed_pools_sentences(model: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    run("embed", "-", "-o", out, "-m", model, "--pool", "max", "-q", text="a b\n")
    expected = elmokit.load(model).pool([["a", "b"]], "max")[0]
    np.testing.assert_allclose(np.load(out)["0"], expected, atol=1e-5)


def test_proteins_are_summed_under_their_ids(model: Path, tmp_path: Path) -> None:
    fasta = tmp_path / "p.fasta"
    fasta.write_text(">sp|P1|X\nMK\nV\n>sp|P2|Y\nA\n")
    out = tmp_path / "out.h5"
    result = run("embed", fasta, "-o", out, "-m", model, "--protein", "-q")
    assert result.exit_code == 0, result.output
    with h5py.File(out) as file:
        assert sorted(file) == ["P1", "P2"]
        expected = elmokit.load(model).embed([["M", "K", "V"]], "sum")[0]
        np.testing.assert_allclose(file["P1"][...], expected, atol=1e-5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.txt", "-o", "out.h5"], "none.txt: there is no such file"),
        (["-", "-o", "out.doc"], "must end in one of"),
        (["-", "-o", "out.h5", "--layers", "3"], "--layers 3: the model has layers 0 to 2"),
        (["-", "-o", "out.h5", "--layers", "0,-4"], "--layers -4: the model has layers 0 to 2"),
        (["-", "-o", "out.h5", "--layers", "best"], "--layers must be"),
        (["-", "-o", "out.h5", "--pool", "sum"], "mean, max or ends"),
        (["-", "-o", "out.h5", "--start", "hot"], "start must be fresh"),
        (["t.parquet", "-o", "out.h5"], "t.parquet: Parquet files are read with --ray only"),
        (["t.parquet", "-o", "out"], "add it and give -o a folder"),
        (["-", "-o", "out.h5", "--column", "body"], "--column body has no effect without --ray"),
        (["-", "-o", "out.h5", "--workers", "3"], "--workers 3 has no effect without --ray"),
        (["-", "-o", "out.h5", "--start", "carried"], "--start must be fresh or settled, got 'c"),
    ],
)
def test_bad_options_are_one_sentence_and_write_nothing(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run("embed", *arguments, "-m", model, "-q", text="a\n")
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert not list(tmp_path.iterdir())


def test_bad_text_leaves_nothing_half_written(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "in.txt"
    text.write_bytes(b"fine\n\xff\n")
    result = run("embed", text, "-o", tmp_path / "out.h5", "-m", model, "-q")
    assert "line 2 is not UTF-8" in str(result.exception)
    assert [child.name for child in tmp_path.iterdir()] == ["in.txt"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_terminated_run_leaves_nothing(
    number: signal.Signals, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(inputs: list[str], pretokenized: bool) -> Iterator[Item]:
        for line in range(WINDOW_TOKENS // 100):  # fills a window, so that it is written
            yield Item(str(line), "a", ["a"] * 100)
        assert list(tmp_path.glob(".out.h5.*.part"))
        signal.raise_signal(number)

    before = {each: signal.getsignal(each) for each in (signal.SIGTERM, signal.SIGHUP)}
    monkeypatch.setattr(command, "read_sentences", interrupted)
    signal.signal(number, signal.SIG_DFL)  # under nohup it would be ignored, and stay so
    tidy_up_when_terminated()
    try:
        result = run("embed", "-", "-o", tmp_path / "out.h5", "-m", model, "-q")
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
    assert result.exit_code == 128 + number
    assert not list(tmp_path.iterdir())


def test_info_prints_sizes_and_format(model: Path) -> None:
    result = run("info", model)
    assert result.exit_code == 0, result.output
    assert "3 x 8" in result.output and "native" in result.output


def test_convert_there_and_back_is_exact(model: Path, tmp_path: Path) -> None:
    assert run("convert", model, tmp_path / "tf").exit_code == 0
    assert run("convert", tmp_path / "tf", tmp_path / "back", "--settle", "english").exit_code == 0
    sentence = [["exactly", "the", "same"]]
    first, second = elmokit.load(model), elmokit.load(tmp_path / "back")
    np.testing.assert_array_equal(first.layers(sentence)[0], second.layers(sentence)[0])
    assert second.pretrained.settled is not None
    settled = second.layers(sentence, start="settled")[0]
    assert np.abs(settled - second.layers(sentence)[0]).max() > 1e-4


def test_a_model_is_settled_on_ones_own_text(model: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("Ein Satz.\nNoch einer.\nDer dritte.\nUnd der letzte.\n")
    assert run("convert", model, tmp_path / "a", "--to", "native", "--settle", text).exit_code == 0
    run("convert", model, tmp_path / "b", "--to", "native", "--settle", "english")
    one, other = (elmokit.load(tmp_path / name).pretrained.settled for name in "ab")
    assert one is not None and other is not None
    assert not torch.equal(one.forward.cell, other.forward.cell)


def test_convert_refuses_what_a_format_cannot_hold(model: Path, tmp_path: Path) -> None:
    result = run("convert", model, tmp_path / "tf", "--float16")
    assert "needs the native format" in str(result.exception)
    assert run("convert", model, tmp_path / "tf", "--to", "onnx").exit_code == 2
    with pytest.raises(InputError) as refused:
        command.run_convert(model, tmp_path / "tf", to="onnx", float16=False, settle_on=None)
    assert "--format must be native or bilm-tf" in str(refused.value)


def test_verify_runs_on_a_device(model: Path) -> None:
    assert run("verify", model, "--device", "cpu").exit_code == 0
    refused = run("verify", model, "--device", "nowhere")
    assert isinstance(refused.exception, InputError)
    assert "device nowhere: cannot be used here" in str(refused.exception)


def test_verify_recognises_our_own_vectors_and_rejects_others(model: Path, tmp_path: Path) -> None:
    out, text = tmp_path / "out.h5", "one two three\nfour five\n"
    run("embed", "-", "-o", out, "-m", model, "--pretokenized", "--layers", "all", "-q", text=text)
    assert run("verify", model, "--expected", out).exit_code == 0
    with h5py.File(out, "a") as file:
        file["0"][...] = 1.0
    result = run("verify", model, "--expected", out)
    assert result.exit_code == 1
    assert "not ours" in result.output
