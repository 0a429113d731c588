"""Entities, sentiment and entailment each learn 20 examples by heart."""

from pathlib import Path

import pytest
from overfitting import close, overfit, predict_in_new_process

QUICK = ["fit.max_epochs=60", "fit.patience=60", "fit.batch_size=5", "elmo.dropout=0.0",
         "elmo.output_dropout=0.0"]  # fmt: skip

NAMES = ["Ann", "Bob Lee", "Cy", "Dee Fox", "Eve"]
PLACES = ["Rome", "New York", "Oslo", "Lima"]


def entity_file(path: Path) -> Path:
    """20 sentences, names and places of one or two tokens."""
    lines = []
    for number in range(20):
        name, place = NAMES[number % 5].split(), PLACES[number % 4].split()
        words = [*name, "saw", *place, "."]
        tags = [*["B-PER", "I-PER"][: len(name)], "O", *["B-LOC", "I-LOC"][: len(place)], "O"]
        lines += [f"{word} {tag}" for word, tag in zip(words, tags, strict=True)] + [""]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def sentiment_file(path: Path) -> Path:
    words = ["bad", "poor", "plain", "good", "great"]
    texts = ["a {} film", "this is {} .", "what {} acting !", "the plot is {} indeed ."]
    rows = [f"{text.format(word)}\t{label}" for text in texts for label, word in enumerate(words)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def entailment_file(path: Path) -> Path:
    rows = []
    for who in ("a man", "a woman", "two boys", "a dog", "my aunt", "the cat", "a girl"):
        rows.append(f"{who} runs in the park .\t{who} is outside .\tentailment")
        rows.append(f"{who} runs in the park .\t{who} is asleep .\tcontradiction")
        rows.append(f"{who} runs in the park .\t{who} is late .\tneutral")
    path.write_text("\n".join(rows[:20]) + "\n", encoding="utf-8")
    return path


CASES = {
    "ner": (entity_file, ["model.hidden_dims=[13, 11]", "model.dropout=0.0", "words.dim=10",
            "characters.num_filters=9", "fit.learning_rate=0.02"]),
    "sentiment": (sentiment_file, ["model.hidden_dim=12", "model.maxout_dims=[8]", "words.dim=10",
                  "model.input_dropout=0.0", "model.maxout_dropout=0.0",
                  "fit.learning_rate=0.01"]),
    "entailment": (entailment_file, ["model.hidden_dim=15", "model.dropout=0.0", "words.dim=10",
                   "fit.learning_rate=0.01", "fit.halve_after=0"]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_twenty_examples_are_learned_by_heart_and_a_new_process_says_the_same(
    name: str, tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    make_file, settings = CASES[name]
    file = make_file(tmp_path / "data.tsv")
    trained, rows = overfit(
        name, file, tmp_path, tiny_elmo_folder, [*QUICK, *settings, "elmo.where=both"]
    )
    assert trained.progress is not None
    assert trained.progress.best_score == 100.0
    assert close(predict_in_new_process(tmp_path, file), rows)


@pytest.mark.parametrize("where", ["none", "input", "output"])
def test_entities_are_learned_wherever_elmo_stands(
    where: str, tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    make_file, settings = CASES["ner"]
    file = make_file(tmp_path / "data.conll")
    trained, _ = overfit(
        "ner", file, tmp_path, tiny_elmo_folder, [*QUICK, *settings, f"elmo.where={where}"]
    )
    assert trained.progress is not None
    assert trained.progress.best_score == 100.0
    assert set(trained.mixes()) == ({where} - {"none"})
