"""Small files of roles, coreference and answers, and settings with which a model learns them."""

import json
from pathlib import Path

GIVERS = ["Ann", "My aunt", "Two boys", "Dee Fox", "Nobody"]
GIFTS = ["a book", "that old red coat", "it", "flowers"]


def role_file(path: Path) -> Path:
    """20 predicates: in turn active, passive, and with an argument in two pieces."""
    blocks = []
    for number in range(20):
        giver, gift = GIVERS[number % 5].split(), GIFTS[number % 4].split()
        sold = (["sold"], "V")
        if number % 3 == 0:
            parts = [(giver, "ARG0"), sold, (gift, "ARG1")]
        elif number % 3 == 1:
            parts = [(gift, "ARG1"), (["was"], ""), sold, (["by", *giver], "ARG0")]
        else:
            parts = [(gift, "ARG1"), (giver, "ARG0"), sold, (["cheaply"], "C-ARG1")]
        rows = [row for words, label in parts for row in _rows(words, label)]
        lines = [
            f"f\t{number}\t{place}\t{word}\tX\t*\t{'sell' if word == 'sold' else '-'}\t"
            f"{'sell.01' if word == 'sold' else '-'}\t{cell}"
            for place, (word, cell) in enumerate(rows)
        ]
        blocks.append("\n".join(lines) + "\n")
    path.write_text("\n".join(blocks), encoding="utf-8")
    return path


def _rows(words: list[str], label: str) -> list[tuple[str, str]]:
    """Each word with its bracket."""
    cells = ["*"] * len(words)
    if label:
        cells[0] = f"({label}*"
        cells[-1] += ")"
    return list(zip(words, cells, strict=True))


def coreference_file(path: Path) -> Path:
    """20 documents of three sentences: a name or a nested one, and the pronouns after it."""
    documents = []
    for number in range(20):
        name, pronoun = [("Ann", "she"), ("Bob", "he"), ("Cy", "he"), ("Dee", "she")][number % 4]
        pet = ["dog", "cat", "pony", "hen", "fox"][number % 5]
        sentences = [
            [(name, "(0)"), ("saw", "-"), ("the", "(1"), (pet, "1)"), (".", "-")],
            [(pronoun, "(0)"), ("fed", "-"), ("it", "(1)"), ("at", "-"), ("noon", "-")],
            [("the", "(1"), (pet, "-"), ("of", "-"), (name, "(0)|1)"), ("slept", "-")],
        ]
        lines = [f"#begin document (doc{number}); part 000"]
        for sentence in sentences:
            rows = enumerate(sentence)
            lines += [f"d\t0\t{place}\t{word}\tX\t{cell}" for place, (word, cell) in rows] + [""]
        documents.append("\n".join([*lines, "#end document"]))
    path.write_text("\n".join(documents) + "\n", encoding="utf-8")
    return path


def squad_file(path: Path) -> Path:
    """Five contexts, four questions on each."""
    paragraphs = []
    for number, giver in enumerate(GIVERS):
        gift, town, month = GIFTS[number % 4], ["Rome", "Oslo", "Lima"][number % 3], "May"
        context = f"{giver} sold {gift} in {town}. This happened in {month} {1900 + number}."
        asked = {"Who sold?": giver, "What was sold?": gift, "Where?": town,
                 "When?": f"{month} {1900 + number}"}  # fmt: skip
        questions = [
            {
                "id": f"{number}-{question}",
                "question": question,
                "answers": [{"text": answer, "answer_start": context.index(answer)}],
            }
            for question, answer in asked.items()
        ]
        paragraphs.append({"context": context, "qas": questions})
    values = {"data": [{"title": "Sales", "paragraphs": paragraphs}]}
    path.write_text(json.dumps(values), encoding="utf-8")
    return path


CASES = {
    "srl": (role_file, ["model.hidden_dim=17", "model.num_layers=8", "model.predicate_dim=5",
            "model.recurrent_dropout=0.0", "fit.batch_size=5", "fit.learning_rate=0.02"]),
    "coref": (coreference_file, ["model.lstm_dim=13", "model.ffnn_dim=15", "model.feature_dim=4",
              "model.max_span_width=4", "model.input_dropout=0.0", "model.lstm_dropout=0.0",
              "model.ffnn_dropout=0.0", "model.mention_loss=0.5", "characters.num_filters=9",
              "fit.learning_rate=0.01"]),
    "squad": (squad_file, ["model.gru_dim=11", "model.linear_dim=14", "model.dropout=0.0",
              "characters.num_filters=9", "fit.batch_size=5", "fit.learning_rate=0.01",
              "fit.ema=0.5"]),
}  # fmt: skip
