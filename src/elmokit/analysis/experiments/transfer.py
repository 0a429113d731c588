"""Domain transfer (the paper's supplement): a biLM tuned on a task's text, without labels.

OUT/                                 the task's runs with the original model
    tuned/TASK-FINGERPRINT/          one fine-tuned model
        corpus.txt, corpus/          the task's training sentences, each once
        new-text.txt, new-text/      development sentences not in the training set
        model/, runs/                the tuned biLM, and the task's runs with it
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from elmokit.analysis import paper
from elmokit.analysis.experiments.runs import TITLES, WITH_ELMO, do_runs, spread
from elmokit.analysis.output.tables import Table, count
from elmokit.embed.fingerprint import fingerprint
from elmokit.errors import InputError
from elmokit.files import replacing_file
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.finetune import finetune
from elmokit.tasks.grid import Grid, task_splits
from elmokit.tasks.task import find_task
from elmokit.text.vocabulary import Vocabulary
from elmokit.weights.load import load_pretrained

WATCHED = 0.01
"""Share of the training sentences held out to monitor the fine-tuning."""


@dataclass(frozen=True)
class Transfer:
    """What fine-tuning changed for one task."""

    task: str
    measure: str
    num_tokens: int
    """Tokens that the biLM was fine-tuned on."""
    num_new_sentences: int
    """Development sentences not among the training sentences; perplexity is measured on these."""
    before: float
    """Perplexity, mean of both directions."""
    after: float
    score_before: tuple[float, ...]
    """Test scores of the task with the original model, one per seed."""
    score_after: tuple[float, ...]
    """The same with the fine-tuned model."""
    num_examples: int
    """Examples that the task was trained on."""
    num_all_examples: int
    """Examples whose sentences the biLM was fine-tuned on."""


def domain_transfer(
    grid: Grid, task: str, changes: Sequence[str] = (), jobs: int = 1, quiet: bool = False
) -> Transfer:
    """Fine-tune, measure, and train the task with both models; resumes after an interruption."""
    model, splits = load_pretrained(grid.elmo), task_splits(grid, task)
    folder = grid.out / "tuned" / f"{task}-{fingerprint(model)[:8]}"
    known = task_sentences(task, splits.train)
    new = [sentence for sentence in task_sentences(task, splits.dev) if sentence not in known]
    if not new:
        raise InputError(
            f"{task}: every development sentence is also a training sentence, but perplexity "
            f"needs new sentences; give another development file"
        )
    words = model.output_words.vocabulary if model.output_words else None
    corpus = _corpus(known, folder / "corpus", WATCHED, words, quiet)
    new_text = _corpus(new, folder / "new-text", 0.0, corpus.vocabulary, quiet)
    tuned = finetune(
        model, corpus.path, folder / "model", changes, grid.device, new_text=new_text.path
    )
    grids = (grid, replace(grid, out=folder / "runs", elmo=str(folder / "model")))
    results = [do_runs(replace(g, tasks=(task,)), (WITH_ELMO,), jobs, quiet) for g in grids]
    scores = [tuple(result.scores(task, WITH_ELMO.name, "test")) for result in results]
    first = results[0].runs[0]
    return Transfer(
        task=task,
        measure=first.measure,
        num_tokens=corpus.train.num_tokens,
        num_new_sentences=len(new),
        before=tuned.before.mean,
        after=tuned.after.mean,
        score_before=scores[0],
        score_after=scores[1],
        num_examples=first.train_examples,
        num_all_examples=len(splits.train),
    )


def task_sentences(task: str, examples: Iterable[Any]) -> dict[str, None]:
    """The distinct sentences of these examples, in order."""
    return {
        " ".join(sentence): None
        for example in examples
        for sentence in find_task(task).sentences(example)
        if sentence
    }


def _corpus(
    sentences: Iterable[str],
    folder: Path,
    heldout: float,
    vocabulary: Vocabulary | None,
    quiet: bool,
) -> Corpus:
    """A prepared corpus in which each sentence is a document; reused if it exists."""
    if not (folder / "corpus.json").exists():
        text = folder.with_suffix(".txt")
        with replacing_file(text) as aside:
            aside.write_text("\n\n".join(sentences) + "\n", encoding="utf-8")
        config = PrepareConfig(pretokenized=True, heldout=heldout)
        prepare([text], folder, config, vocabulary=vocabulary, num_workers=1, quiet=quiet)
    return Corpus.open(folder)


def transfer_table(results: Sequence[Transfer]) -> Table:
    """One row per task, then the paper's."""
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
    notes = [
        "Perplexity: mean of both directions, on the development sentences that are not training "
        "sentences"
        + "".join(
            f"; {TITLES.get(r.task, r.task)} has {count(r.num_new_sentences)}" for r in results
        )
        + "."
    ]
    notes += [
        f"{TITLES.get(result.task, result.task)}: the biLM is tuned on the text of all "
        f"{count(result.num_all_examples)} training examples, the task trained on "
        f"{count(result.num_examples)} of them."
        for result in results
        if result.num_examples < result.num_all_examples
    ]
    return Table("Domain transfer", header, tuple(rows), " ".join(notes))
