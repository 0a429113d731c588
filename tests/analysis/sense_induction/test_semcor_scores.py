"""Scores against SemCor's senses, on senses that are known."""

from collections.abc import Sequence

import pytest
from tiny_lm import tiny_lm
from toy_encoder import ToyEncoder

from elmokit.analysis.probes.sense_data import SemCor, SenseInstance, SenseSentence
from elmokit.analysis.sense_induction.semcor import read_lemmas, score_induction
from elmokit.analysis.sense_induction.synonyms import read_synonyms, score_synonyms
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError


def semcor_of(lemmas: Sequence[str], per_sense: int = 20) -> SemCor:
    """Each lemma with two senses, told by the word before it."""
    sentences = []
    for lemma in lemmas:
        for number in range(2 * per_sense):
            sense = number % 2
            key = f"{lemma}%1:0{sense}:00::"
            instance = SenseInstance(lemma, "NOUN", (key,), 1, 2)
            sentences.append(SenseSentence(["left" if sense else "right", lemma], [instance]))
    return SemCor([sentences, sentences], 0, 0)


def by_context(layer: int, sentence: Sequence[str], place: int) -> list[float]:
    if layer == 0:
        return [1.0, 0.0, 0.0]  # sees the word alone
    return [0.1, 1.0, 0.0] if sentence[0] == "left" else [0.1, 0.0, 1.0]


def test_a_layer_that_sees_the_context_is_right_and_one_that_does_not_is_not() -> None:
    lemmas = [f"word{number}" for number in range(8)]
    result = score_induction([ToyEncoder(by_context, 2)], semcor_of(lemmas), quiet=True)
    rows = {row.way: row for row in result.rows}
    assert rows["layer 1"].adjusted_rand_index == 1.0
    assert rows["layer 0"].adjusted_rand_index == 0.0
    assert rows["one cluster"].v_measure == 0.0
    assert abs(rows["random, six"].adjusted_rand_index) < 0.1
    assert result.mean_senses == 2.0


def test_halves_share_no_lemma() -> None:
    semcor = semcor_of([f"word{number}" for number in range(8)])
    dev, test = (
        {each.lemma for each in read_lemmas(semcor.documents, half)} for half in ("dev", "test")
    )
    assert dev and test and not dev & test
    assert len(dev | test) == 8


def test_lemmas_with_too_few_occurrences_are_left_out() -> None:
    with pytest.raises(InputError, match="SemCor has no lemma of the test half"):
        score_induction([], semcor_of(["word"], per_sense=4), quiet=True)


def test_the_rank_of_a_synonym_is_that_among_the_substitutes(tmp_path) -> None:
    (tmp_path / "index.sense").write_text(
        "cat%1:00:00:: 77 1 9\ndog%1:00:00:: 77 1 9\nmat%1:00:00:: 5 1 2\n"
    )
    synonyms = read_synonyms(tmp_path / "index.sense")
    assert synonyms["cat%1:00:00::"] == {"cat", "dog"}
    sentence = SenseSentence(
        ["the", "cat", "sat"], [SenseInstance("cat", "NOUN", ("cat%1:00:00::",), 1, 2)]
    )
    elmo = Embedder(tiny_lm())
    semcor = SemCor([[sentence], [sentence]], 0, 0)
    found = score_synonyms(elmo, semcor, synonyms, weights=(0.0,), quiet=True)
    from elmokit.pretrain.substitutes import substitutes

    words = [guess.word for guess in substitutes(elmo, ["the", "cat", "sat"], 1, 100).by_context]
    assert found.rows[0].reciprocal_rank == pytest.approx(1 / (words.index("dog") + 1))
