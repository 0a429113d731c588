"""Numbering a corpus with more words than there is room for."""

from collections import Counter

import numpy as np

from elmokit.pretrain.corpus.documents import Piece
from elmokit.pretrain.corpus.lexicon import TypeNumbers, rank_types
from elmokit.pretrain.corpus.split_text import Block, BlockSettings, read_block

SETTINGS = BlockSettings(True, None, 100, 100)


def block_of(text: str) -> Block:
    return read_block([Piece(text.encode(), 0, "text")], SETTINGS)


def test_words_keep_their_number_from_block_to_block() -> None:
    numbers = TypeNumbers(max_live=100)
    assert numbers.add(block_of("a b a")).tolist() == [0, 3, 4, 3]
    assert numbers.add(block_of("c b")).tolist() == [0, 5, 4]


def test_the_rarest_words_are_forgotten_when_room_runs_out() -> None:
    numbers = TypeNumbers(max_live=8)
    stream = [numbers.add(block_of("often often sometimes sometimes"))]
    stream += [numbers.add(block_of(f"often rare{n} odd{n} sometimes")) for n in range(20)]
    assert len(numbers.live()[0]) <= 8
    ids = np.concatenate(stream)
    counts = np.bincount(ids, minlength=numbers.next_number)
    ranking = rank_types(numbers, counts, 5, 1, 12, None)
    assert ranking.vocabulary.words[3:] == ["often", "sometimes"]
    assert ranking.counts[3:5].tolist() == [22, 22]
    final = Counter(ranking.renumber[ids].tolist())
    live = len(numbers.live()[0]) - 2
    assert final[2] == 40 - live  # every forgotten word is unknown
    assert numbers.num_forgotten == 42 - live - 2


def test_counting_grows_with_the_words() -> None:
    numbers = TypeNumbers(max_live=10**6)
    ids = numbers.add(block_of(" ".join(f"w{n}" for n in range(70_000))))
    assert ids[-1] == 70_002
    assert len(numbers.live()[0]) == 70_000
