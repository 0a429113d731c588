"""A sentence of 5,000 tokens is trained on and answered, by every task."""

import json
from pathlib import Path

import pytest
import small_task_files
import span_task_files

from elmokit.tasks.run import CacheConfig, configured, predict_task, train_task

WORDS = ["word"] * 4998
LONG = " ".join(WORDS)
TYPED = {
    "ner": f"Ann saw {LONG}",
    "sentiment": f"good film {LONG}",
    "entailment": f"a man {LONG}\ta dog {LONG}",
    "srl": f"Ann _sold_ {LONG}",
    "coref": f"Ann she {LONG}",
    "squad": f"Who sold?\tAnn sold {LONG}",
}
CASES = {**small_task_files.CASES, **span_task_files.CASES}


def long_example(name: str) -> str:
    """Labelled, to be added to a file of the task."""
    if name == "ner":
        return "\nAnn B-PER\nsaw O\n" + "word O\n" * len(WORDS)
    if name == "srl":
        head = ["f\t20\t0\tAnn\tX\t*\t-\t-\t(ARG0*)", "f\t20\t1\tsold\tX\t*\tsell\tsell.01\t(V*)"]
        tail = [f"f\t20\t{place}\tword\tX\t*\t-\t-\t*" for place in range(2, 5000)]
        return "\n" + "\n".join(head + tail) + "\n"
    if name == "coref":
        rows = enumerate(["Ann", "she", *WORDS])
        lines = [f"d\t0\t{place}\t{word}\tX\t{'-' if place > 1 else '(0)'}" for place, word in rows]
        return "\n".join(["#begin document (long); part 000", *lines, "", "#end document", ""])
    return TYPED[name] + {"sentiment": "\t3\n", "entailment": "\tneutral\n"}[name]


def add_long_example(name: str, file: Path) -> None:
    if name == "squad":
        values = json.loads(file.read_text())
        paragraph = values["data"][0]["paragraphs"][0]
        paragraph["context"] += f" {LONG}"
        file.write_text(json.dumps(values))
    else:
        file.write_text(file.read_text() + long_example(name))


@pytest.mark.parametrize("name", CASES)
def test_5000_tokens_are_trained_on_and_answered(
    name: str, tmp_path: Path, tiny_elmo_folder: Path
) -> None:
    make_file, settings = CASES[name]
    short, file = make_file(tmp_path / "short"), make_file(tmp_path / "long")
    add_long_example(name, file)
    config = configured(name, None, [*settings, "words.dim=10", "fit.max_epochs=1"])
    trained = train_task(name, file, short, tmp_path / "run", elmo=tiny_elmo_folder, config=config,
                         cache=CacheConfig(tmp_path / "cache"), quiet=True)  # fmt: skip
    assert max(map(trained.task.num_tokens, trained.task.read(file))) >= 5000
    ((example, _),) = predict_task(trained, [TYPED[name]])
    assert sum(map(len, trained.task.sentences(example))) >= 5000
