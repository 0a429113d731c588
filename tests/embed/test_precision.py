"""precision and num_threads: what they change, and what they leave alone."""

import copy
import pickle
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_model import tiny_pretrained

import elmokit
from elmokit.embed.elmo import Elmo
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.model.kernels import lstm_inference
from elmokit.model.kernels.lstm_weights import Precision
from elmokit.tasks.inputs.layer_cache import LayerCache

SENTENCES = [["a", "rose", "is", "a", "rose"], ["yes"], ["so", "it", "is"]]
LARGEST_CHANGE: dict[Precision, float] = {"bfloat16": 2e-2, "int8": 5e-2}
NARROW = pytest.mark.parametrize("precision", ["bfloat16", "int8"])


def embedder(**options: object) -> Embedder:
    return Embedder(tiny_pretrained(), **options)  # type: ignore[arg-type]


@NARROW
def test_a_narrow_model_gives_nearly_the_same_vectors(precision: Precision) -> None:
    exact, narrow = embedder(), embedder(precision=precision)
    assert narrow.precision == precision
    for one, other in zip(exact.layers(SENTENCES), narrow.layers(SENTENCES), strict=True):
        change = np.abs(one - other).max(axis=(1, 2)) / np.abs(one).max()
        assert change[0] == 0.0  # the token layer is exact
        assert 0.0 < change[1:].max() < LARGEST_CHANGE[precision]


@pytest.mark.parametrize(
    ("precision", "has_instructions", "largest"),
    [("bfloat16", False, 1e-5), ("bfloat16", True, 1e-3), ("int8", False, 2e-4)],
)
def test_a_sentence_alone_and_among_many_has_nearly_the_same_vectors(
    precision: Precision, has_instructions: bool, largest: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processors with instructions for bfloat16 also round the states of many sentences."""
    monkeypatch.setattr(lstm_inference, "multiplies_bfloat16_fast", lambda device: has_instructions)
    elmo = embedder(precision=precision)
    (alone,) = elmo.layers(SENTENCES[:1])
    among = elmo.layers([*SENTENCES, *30 * [["on", "and", "on", "it", "goes", "here"]]])[0]
    assert np.abs(alone - among).max() < largest


def test_the_precision_is_part_of_the_fingerprint() -> None:
    precisions = ("float32", "bfloat16", "int8")
    found = {embedder(precision=precision).fingerprint for precision in precisions}
    assert len(found) == 3
    assert embedder().fingerprint == embedder(precision="float32").fingerprint


@NARROW
def test_saving_a_narrow_model_writes_its_exact_weights(
    precision: Precision, tmp_path: Path
) -> None:
    embedder(precision=precision).save(tmp_path / "model")
    again = elmokit.load(tmp_path / "model")
    assert again.precision == "float32"
    assert again.fingerprint == embedder().fingerprint


@NARROW
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda elmo: pickle.loads(pickle.dumps(elmo))])
def test_a_copy_keeps_the_precision(
    precision: Precision, copied: Callable[[Embedder], Embedder]
) -> None:
    elmo = embedder(precision=precision)
    before = elmo.layers(SENTENCES)
    again = copied(elmo)
    assert again.precision == precision
    assert all(np.array_equal(a, b) for a, b in zip(before, again.layers(SENTENCES), strict=True))


def test_a_changed_weight_is_rounded_anew() -> None:
    elmo = embedder(precision="int8")
    (before,) = elmo.layers(SENTENCES[:1])
    with torch.no_grad():
        elmo.bilm.forward_lstm.layers[0].hidden_weight.mul_(2.0)
    assert np.abs(elmo.layers(SENTENCES[:1])[0] - before).max() > 1e-3


def test_an_unknown_precision_is_refused_by_its_name() -> None:
    with pytest.raises(InputError, match="float32, bfloat16, int8 or auto, got 'int4'"):
        embedder(precision="int4")


@NARROW
def test_the_module_of_a_task_takes_a_precision(precision: Precision) -> None:
    exact, narrow = Elmo(embedder()), Elmo(embedder().bilm, precision=precision)
    one, other = (elmo(elmo.batch(SENTENCES))[0] for elmo in (exact.eval(), narrow.eval()))
    assert 0.0 < float((one - other).detach().abs().max()) < LARGEST_CHANGE[precision]


def test_a_trainable_model_must_be_exact() -> None:
    with pytest.raises(InputError, match="trainable biLM needs float32 weights"):
        Elmo(embedder().bilm, trainable=True, precision="int8")


def test_an_embedder_keeps_its_own_precision_inside_a_module() -> None:
    assert Elmo(embedder(precision="int8")).bilm.precision == "int8"
    with pytest.raises(InputError, match="this Embedder has precision 'float32'"):
        Elmo(embedder(), precision="int8")


def test_cached_layers_of_another_precision_are_not_read(tmp_path: Path) -> None:
    for precision in ("float32", "int8"):
        cache = LayerCache(embedder(precision=precision), tmp_path)
        assert cache.prepare(SENTENCES, quiet=True) == 3
        assert cache.prepare(SENTENCES, quiet=True) == 0


@pytest.mark.parametrize("num_threads", [1, 3])
def test_the_callers_threads_are_left_as_they_were(num_threads: int) -> None:
    before = torch.get_num_threads()
    elmo = embedder(num_threads=num_threads)
    seen: list[int] = []
    elmo.bilm.encoder.register_forward_hook(lambda *given: seen.append(torch.get_num_threads()))
    elmo.layers(SENTENCES)
    assert set(seen) == {num_threads} and torch.get_num_threads() == before


def test_threads_below_one_are_refused() -> None:
    with pytest.raises(InputError, match="num_threads must be at least 1, got 0"):
        embedder(num_threads=0)


@pytest.mark.parametrize("precision", ["float32", "int8"])
def test_two_embedders_in_two_threads_do_not_disturb_each_other(precision: Precision) -> None:
    elmos = [embedder(precision=precision, num_threads=number) for number in (1, 2)]
    expected = [elmo.layers(SENTENCES) for elmo in elmos]
    wrong: list[int] = []

    def work(number: int) -> None:
        for _ in range(20):
            found = elmos[number].layers(SENTENCES)
            pairs = zip(found, expected[number], strict=True)
            if not all(np.array_equal(one, other) for one, other in pairs):
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
