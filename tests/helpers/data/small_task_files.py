"""Small files of three tasks, and settings with which a model learns them by heart."""

from pathlib import Path

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
