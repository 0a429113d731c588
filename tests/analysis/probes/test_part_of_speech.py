"""Table 6 on data small enough to know the answers."""

from pathlib import Path

import numpy as np
import pytest
from toy_encoder import ToyEncoder

from elmokit.analysis.probes import part_of_speech
from elmokit.analysis.probes.linear_probe import LinearProbe, ProbeData, fit_probe
from elmokit.analysis.probes.mcnemar import McNemar
from elmokit.analysis.probes.part_of_speech import (
    PosData,
    PosResult,
    TaggedSentence,
    part_of_speech_probe,
    pos_table,
    read_pos_data,
    read_tagged,
)
from elmokit.errors import InputError
from elmokit.recipe import from_plain, to_plain

CONLLU = """\
# text = don't run
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
1\tdo\tdo\tAUX\tVBP\t_\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tx\t_\t_
2.1\tyou\tyou\tPRON\tPRP\t_\t_\t_\t_\t_
3\trun\trun\tVERB\tVB\t_\t1\tx\t_\t_

1\tstop\tstop\tVERB\tVB\t_\t0\troot\t_\t_
"""


def clusters(seed: int, number: int) -> ProbeData:
    generator = np.random.default_rng(seed)
    labels = generator.integers(0, 3, number)
    centres = np.array([[2, 0, 0, 0, 0], [0, 2, 0, 0, 0], [0, 0, 0, 0, 2]])
    vectors = centres[labels] + 0.8 * generator.standard_normal((number, 5))
    return ProbeData(vectors.astype(np.float32), labels.astype(np.int64))


def test_words_are_read_and_ranges_and_empty_nodes_are_not(tmp_path: Path) -> None:
    (tmp_path / "x.conllu").write_text(CONLLU)
    first, second = read_tagged(tmp_path / "x.conllu")
    assert first == TaggedSentence(["do", "n't", "run"], ["VBP", "RB", "VB"])
    assert second == TaggedSentence(["stop"], ["VB"])


def test_a_treebank_without_tags_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.conllu"
    path.write_text(CONLLU.replace("\tVB\t", "\t_\t"))
    with pytest.raises(InputError, match=r"x\.conllu, line 6: 'run' has no tag"):
        read_tagged(path)
    path.write_bytes(CONLLU.encode("utf-16"))
    with pytest.raises(InputError, match=r"x\.conllu: line \d+ is not UTF-8"):
        read_tagged(path)


def test_probe_reaches_the_optimum_that_scikit_learn_finds() -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    train, penalty = clusters(0, 400), 1e-3
    spread = train.vectors.std(axis=0)
    probe = fit_probe(train, clusters(1, 50), 3, (penalty,), tolerance=1e-7)
    theirs = linear_model.LogisticRegression(C=1 / (penalty * 400), tol=1e-9, max_iter=5000)
    theirs.fit((train.vectors - train.vectors.mean(axis=0)) / spread, train.labels)
    ours = probe.weight * spread[:, None]  # (D, K), of the standardised features
    assert np.allclose(ours - ours.mean(axis=1, keepdims=True), theirs.coef_.T, atol=2e-3)


def test_probe_is_the_same_every_time() -> None:
    first, again = (fit_probe(clusters(0, 200), clusters(1, 50), 3) for _ in range(2))
    assert np.array_equal(first.weight, again.weight)
    assert first.penalty == again.penalty


def test_turning_and_stretching_the_features_leaves_a_perfect_answer() -> None:
    train = clusters(2, 300)
    generator = np.random.default_rng(3)
    turn = generator.standard_normal((5, 5)).astype(np.float32) * 100
    turned = ProbeData(train.vectors @ turn + 7, train.labels)
    plain = fit_probe(train, train, 3, (1e-6,)).accuracy(train)
    assert fit_probe(turned, turned, 3, (1e-6,)).accuracy(turned) == pytest.approx(plain, abs=0.01)


def test_a_feature_that_never_changes_does_no_harm() -> None:
    train = clusters(0, 200)
    constant = np.concatenate([train.vectors, np.full((200, 1), 3, dtype=np.float32)], axis=1)
    probe = fit_probe(ProbeData(constant, train.labels), ProbeData(constant, train.labels), 3)
    assert np.isfinite(probe.weight).all()
    assert probe.accuracy(ProbeData(constant, train.labels)) > 0.9


def tagged(text: str) -> TaggedSentence:
    pairs = [pair.split("/") for pair in text.split()]
    return TaggedSentence([token for token, _ in pairs], [tag for _, tag in pairs])


TRAIN = [tagged("the/D dog/N runs/V")] * 4 + [tagged("the/D run/N ends/V")] * 3
TEST = [tagged("the/D run/N runs/V"), tagged("zebra/N runs/V")]


def by_place(layer: int, sentence: list[str], place: int) -> list[float]:
    """Layer 0 knows nothing, layer 1 where the token stands from the end."""
    here = len(sentence) - 1 - place
    return [0.0, 0.0, 0.0] if layer == 0 else [float(here == n) for n in range(3)]


def test_layers_are_scored_apart_for_known_and_unknown_words() -> None:
    data = PosData(TRAIN, TEST, TEST)
    result = part_of_speech_probe([ToyEncoder(by_place, 2)], data, quiet=True)
    words, nothing, places = result.rows
    assert result.num_tokens == {"all": 5, "known": 4, "unknown": 1, "covered": 5}
    assert places.accuracy == {"all": 100, "known": 100, "unknown": 100, "covered": 100}
    assert nothing.accuracy["all"] <= 40  # one tag for everything
    assert nothing.against_lower == {}
    only_upper = 5 - round(5 * nothing.accuracy["all"] / 100)
    assert places.against_lower["all"] == McNemar(only_lower=0, only_upper=only_upper)
    assert from_plain(PosResult, to_plain(result), "stored") == result
    assert words.accuracy["known"] == 100


def test_words_without_a_vector_learn_their_own() -> None:
    encoder = ToyEncoder(lambda layer, sentence, place: [0.0, 0.0], 1, known={"dog"})
    result = part_of_speech_probe([encoder], PosData(TRAIN, TEST, TEST), quiet=True)
    assert result.rows[1].accuracy["known"] == 100
    assert "covered" not in result.rows[1].accuracy  # no test token has a vector
    assert result.num_tokens["covered"] == 0


def test_tags_unseen_in_training_are_always_wrong() -> None:
    test = [tagged("the/D dog/NEW runs/V")]
    result = part_of_speech_probe([ToyEncoder(by_place, 2)], PosData(TRAIN, TEST, test), True)
    assert result.rows[2].accuracy["all"] == pytest.approx(200 / 3)


def test_rows_are_kept_by_encoder_and_by_what_all_encoders_cover(tmp_path: Path) -> None:
    data = PosData(TRAIN, TEST, TEST)
    toy, other = ToyEncoder(by_place, 2), ToyEncoder(by_place, 1, known={"the"})
    other.fingerprint = "other"
    first = part_of_speech_probe([toy], data, quiet=True, cache=tmp_path)
    assert part_of_speech_probe([toy], data, quiet=True, cache=tmp_path) == first
    assert len(list(tmp_path.glob("pos-*/*.json"))) == 1
    both = part_of_speech_probe([toy, other], data, quiet=True, cache=tmp_path)
    assert both.num_tokens["covered"] == 1
    assert len(list(tmp_path.glob("pos-*/*.json"))) == 3


def test_a_layer_that_says_all_twice_is_probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    widths = []

    def fit(train: ProbeData, dev: ProbeData, num_labels: int) -> LinearProbe:
        widths.append(train.vectors.shape[1])
        return fit_probe(train, dev, num_labels)

    monkeypatch.setattr(part_of_speech, "fit_probe", fit)
    twice = ToyEncoder(
        lambda layer, *where: [*by_place(1, *where), *by_place(1 - layer, *where)], 2
    )
    part_of_speech_probe([twice], PosData(TRAIN, TEST, TEST), quiet=True)
    assert widths == [3, 6]


def test_table_names_rows_and_sizes() -> None:
    data = PosData(TRAIN, TEST, TEST)
    text = pos_table(part_of_speech_probe([ToyEncoder(by_place, 2)], data, quiet=True)).markdown()
    assert "| toy, layer 1 " in text
    assert "Trained on 21 tokens." in text


def test_training_set_can_be_cut(tmp_path: Path) -> None:
    for split in ("train", "dev", "test"):
        (tmp_path / f"x-{split}.conllu").write_text(CONLLU)
    assert len(read_pos_data(tmp_path, 1).train) == 1
    with pytest.raises(InputError, match="at least 1"):
        read_pos_data(tmp_path, 0)
    (tmp_path / "x-dev.conllu").unlink()
    with pytest.raises(InputError, match=r"expected one \*dev\.conllu, found 0"):
        read_pos_data(tmp_path)


def test_a_file_of_other_columns_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "x.conllu").write_text("1\tdo\n")
    with pytest.raises(InputError, match="line 1: expected 10 columns"):
        read_tagged(tmp_path / "x.conllu")
