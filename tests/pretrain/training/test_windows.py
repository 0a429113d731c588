"""The two streams, held to a reader that walks the corpus a token at a time."""

import tracemalloc

import numpy as np
import pytest

from elmokit.errors import InputError
from elmokit.pretrain.corpus.corpus import Corpus, Split
from elmokit.pretrain.training.windows import BEGIN, END, UNKNOWN, Lanes, Windows


def slow_streams(
    split: Split, num_words: int
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """(input, target) pairs of the whole split, forward and backward."""
    sentences = [part.tolist() for part in np.split(split.tokens, split.starts[1:])]
    forward, backward = [], []
    for _, *words in sentences:
        targets = [word if word < num_words else UNKNOWN for word in words]
        forward += zip([BEGIN, *words], [*targets, END], strict=True)
        backward += zip([END, *words[::-1]], [*targets[::-1], BEGIN], strict=True)
    return forward, backward


def read_all(windows: Windows) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Every lane's pairs, lane after lane."""
    pieces = [windows.at(0, step) for step in range(windows.all_steps())]
    found = []
    for side in (0, 1):
        pairs = []
        for lane in range(windows.lanes.count):
            for piece in pieces:
                real = piece.is_real[:, lane]
                stream = piece[side]
                pairs += zip(
                    stream.inputs[real, lane].tolist(),
                    stream.targets[real, lane].tolist(),
                    strict=True,
                )
        found.append(pairs)
    return found[0], found[1]


@pytest.mark.parametrize("num_lanes", [1, 3, 7])
def test_windows_read_both_streams_exactly_once(tiny: Corpus, num_lanes: int) -> None:
    num_words = len(tiny.vocabulary)
    windows = Windows(tiny.train, num_words, Lanes(num_lanes, 0, num_lanes), window=5, seed=1)
    assert read_all(windows) == slow_streams(tiny.train, num_words)


def test_rare_words_are_inputs_but_unknown_as_targets(tiny: Corpus) -> None:
    windows = Windows(tiny.train, len(tiny.vocabulary), Lanes(1, 0, 1), window=50, seed=1)
    window = windows.at(0, 0)
    assert window.forward.inputs.max() >= len(tiny.vocabulary)
    assert window.forward.targets.max() < len(tiny.vocabulary)


def test_processes_split_the_lanes_between_them(tiny: Corpus) -> None:
    whole = Windows(tiny.train, 9, Lanes(6, 0, 6), window=5, seed=1).at(0, 2)
    parts = [Windows(tiny.train, 9, Lanes(6, first, 2), 5, 1).at(0, 2) for first in (0, 2, 4)]
    joined = np.concatenate([part.backward.inputs for part in parts], axis=1)
    assert (joined == whole.backward.inputs).all()


def test_a_later_epoch_reads_the_same_text_from_another_place(tiny: Corpus) -> None:
    windows = Windows(tiny.train, 9, Lanes(2, 0, 2), window=5, seed=1)
    assert not (windows.at(0, 0).forward.inputs == windows.at(1, 0).forward.inputs).all()
    assert windows.at(1, 0).is_start[0].all(), "lanes begin with a sentence"
    assert abs(windows.full_steps(1) - windows.full_steps(0)) < 5


def test_more_lanes_than_sentences_are_refused(tiny: Corpus) -> None:
    with pytest.raises(InputError, match=r"lower train\.batch_size"):
        Windows(tiny.heldout, 9, Lanes(10_000, 0, 10_000), window=5, seed=1)


def test_a_window_costs_the_same_however_long_the_text_is() -> None:
    num_sentences = 300_000
    tokens = np.tile(np.array([0, 5, 6], dtype=np.uint32), num_sentences)
    split = Split(tokens, np.arange(num_sentences) * 3)
    windows = Windows(split, 9, Lanes(4, 0, 4), window=5, seed=1)
    tracemalloc.start()
    windows.at(0, 7)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 100_000  # bytes; the starts of all sentences take 2.4 million
    last = windows.at(0, windows.all_steps() - 1)
    assert last.sentence.max() == num_sentences - 1
