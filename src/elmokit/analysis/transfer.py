"""Domain transfer (the paper's supplement): a biLM tuned on a task's text, without labels.

OUT/                                    the task's runs with the model as it was
    tuned/TASK/text.txt, corpus/        the task's training sentences, each once
               model/, runs/            the tuned biLM, and the task's runs with it
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.analysis import paper
from elmokit.analysis.tables import Table, count
from elmokit.analysis.task_runs import TITLES, WITH_ELMO, do_runs, spread
from elmokit.files import replacing_file
from elmokit.pretrain.finetune import finetune
from elmokit.pretrain.prepare import PrepareConfig, prepare
from elmokit.tasks.all_tasks import find_task
from elmokit.tasks.grid import Grid, task_splits
from elmokit.weights.load import load_pretrained

HELD_OUT = 0.05
"""Of a task's sentences: what perplexity is measured on."""


@dataclass(frozen=True)
class Transfer:
    task: str
    measure: str
    num_tokens: int
    """Of the text that the biLM was tuned on."""
    before: float
    """Perplexity, mean of both directions."""
    after: float
    score_before: tuple[float, ...]
    """Of the task on its test set, one a seed."""
    score_after: tuple[float, ...]


def domain_transfer(
    grid: Grid, task: str, changes: Sequence[str] = (), jobs: int = 1, quiet: bool = False
) -> Transfer:
    """Tune, measure, and train the task with both models; goes on where it was killed."""
    folder = grid.out / "tuned" / task
    corpus = folder / "corpus"
    if not (corpus / "corpus.json").exists():
        num_sentences = write_task_text(grid, task, folder / "text.txt")
        config = PrepareConfig(
            pretokenized=True, heldout=max(HELD_OUT, min(0.5, 20 / num_sentences))
        )
        words = load_pretrained(grid.elmo).output_words
        vocabulary = words.vocabulary if words else None
        prepare([str(folder / "text.txt")], corpus, config, vocabulary=vocabulary)
    tuned = finetune(load_pretrained(grid.elmo), corpus, folder / "model", changes)
    grids = (grid, replace(grid, out=folder / "runs", elmo=str(folder / "model")))
    results = [do_runs(replace(g, tasks=(task,)), (WITH_ELMO,), jobs, quiet) for g in grids]
    scores = [tuple(result.scores(task, WITH_ELMO.name, "test")) for result in results]
    return Transfer(
        task,
        results[0].runs[0].measure,
        _num_tokens(folder / "text.txt"),
        tuned.before.mean,
        tuned.after.mean,
        scores[0],
        scores[1],
    )


def write_task_text(grid: Grid, task: str, path: Path) -> int:
    """Each training sentence once, a document each, so that the held-out ones are new."""
    sentences = {
        " ".join(sentence): None
        for example in task_splits(grid, task).train
        for sentence in find_task(task).sentences(example)
        if sentence
    }
    with replacing_file(path) as aside:
        aside.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
    return len(sentences)


def _num_tokens(path: Path) -> int:
    return sum(len(line.split()) for line in path.read_text(encoding="utf-8").splitlines())


def transfer_table(results: Sequence[Transfer]) -> Table:
    rows = [
        (
            f"{TITLES.get(result.task, result.task)} ({count(result.num_tokens)} tokens)",
            f"{result.before:.1f}",
            f"{result.after:.1f}",
            f"{spread(result.score_before)} {result.measure}",
            f"{spread(result.score_after)} {result.measure}",
        )
        for result in results
    ]
    for name, before, after in paper.TRANSFER:
        rows.append(
            (f"paper: {name}", f"{before}", "not tuned" if after is None else f"{after}", "", "")
        )
    header = ("task's text", "perplexity before", "after", "test score before", "after")
    return Table("Domain transfer", header, tuple(rows))
