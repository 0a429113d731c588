"""``tokenize`` does not look for sentences where that could not change a token."""

from hypothesis import given
from hypothesis import strategies as st

from elmokit.text.sentences import SentenceSplitter
from elmokit.text.tokenize import Token, tokenize, tokenize_sentence

RUNS = st.sampled_from(
    ["Dr.", "U.S.", "left.", 'said."', "(so.)", "Who?", "No!", "3.5", "e.g.", "it's", "…", ".", "a"]
)


@given(st.lists(RUNS, max_size=8), st.sampled_from([" ", "  ", "\n"]))
def test_the_shortcut_gives_the_tokens_of_the_sentences(runs: list[str], space: str) -> None:
    text = space.join(runs)
    expected = [
        Token(token.text, sentence.start + token.start, sentence.start + token.end)
        for sentence in SentenceSplitter.default().split(text)
        for token in tokenize_sentence(sentence.text)
    ]
    assert tokenize(text) == expected
