"""Substitutes as a picture."""

import pytest
from tiny_lm import tiny_lm

from elmokit.analysis.words.substitutes_table import substitutes_picture
from elmokit.pretrain.substitutes import substitutes


@pytest.mark.parametrize(("word", "num_lists"), [("cat", 2), ("zebra", 1)])
def test_the_picture_says_which_words_come_first(word: str, num_lists: int) -> None:
    found = substitutes(tiny_lm(), ["the", word, "sat"], 1, top=4)
    picture = substitutes_picture(found)
    assert found.by_context[0].word in picture.alt
    assert ("with the word" in picture.alt) == (num_lists == 2)
