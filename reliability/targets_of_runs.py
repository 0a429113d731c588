"""What elmokit itself writes: corpora, runs, indexes, caches and results, damaged afterwards."""

import contextlib
import io
import shutil
from pathlib import Path
from typing import NamedTuple

import numpy as np
from small_task_files import CASES, entity_file
from targets import Target
from tiny_corpus import prepare_tiny, tiny_recipe
from tiny_model import tiny_pretrained
from toy_encoder import ToyEncoder

from elmokit.analysis.output.cached_rows import cached_rows
from elmokit.analysis.output.results import Provenance, load_result, save_result
from elmokit.analysis.words.build_index import build_index
from elmokit.analysis.words.index import open_index
from elmokit.analysis.words.occurrences import Occurrence
from elmokit.embed.embedder import Embedder
from elmokit.embed.files.resume import KeptWindows
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.export import read_trained
from elmokit.pretrain.training.run import train
from elmokit.pretrain.training.run_folder import Checkpoints, read_checkpoint, read_log, read_run
from elmokit.tasks.grid import read_results
from elmokit.tasks.inputs.layer_cache import LayerCache
from elmokit.tasks.run import CacheConfig, configured, load_task, train_task
from elmokit.text.sentences import SentenceSplitter
from elmokit.weights.native import write_native

SENTENCES = [["the", "cat", "saw", "a", "bird"], ["a", "dog"], ["the", "red", "house"]]


def _quiet() -> contextlib.AbstractContextManager[object]:
    return contextlib.redirect_stderr(io.StringIO())


def _corpus(folder: Path) -> None:
    prepare_tiny(folder, 60)
    (folder / "tiny.txt").unlink()


def _read_corpus(folder: Path) -> None:
    """As training and perplexity do, without asking for the checksums."""
    corpus = Corpus.open(folder / "data")
    for split in (corpus.train, corpus.heldout):
        part = corpus.sample(split, 50)
        corpus.lexicon.words(part.tokens.astype(np.int64))
        if part.kinds is not None:
            split.of_kind(0)
    corpus.verify()


def _training(folder: Path) -> None:
    (folder / "corpus").mkdir()
    data = prepare_tiny(folder / "corpus", 60)
    recipe = tiny_recipe(max_tokens=200, evaluate_every=9, checkpoint_every=3, keep_checkpoints=2)
    with _quiet():
        train(recipe, data, folder / "run")
    shutil.rmtree(folder / "run" / "tensorboard", ignore_errors=True)
    shutil.move(folder / "corpus", folder.with_name(f"{folder.name}-corpus"))
    run = folder / "run" / "run.json"
    moved = str(folder.with_name(f"{folder.name}-corpus"))
    run.write_text(run.read_text().replace(str(folder / "corpus"), moved))


def _read_training(folder: Path) -> None:
    run = folder / "run"
    read_run(run)
    with _quiet():
        read_log(run / "log.jsonl")
        checkpoints = Checkpoints(run, keep=2)
        checkpoints.best()
        path = checkpoints.latest_intact()
        if path is not None:
            read_checkpoint(path)
        read_trained(run)


def _task(folder: Path) -> None:
    write_native(tiny_pretrained(), folder.with_name(f"{folder.name}-elmo"))
    examples = entity_file(folder.with_name(f"{folder.name}.conll"))
    settings = [*CASES["ner"][1], "fit.max_epochs=1", "elmo.dropout=0.0"]
    _train_task(folder, examples, settings)


def _train_task(folder: Path, examples: Path, settings: list[str]) -> None:
    train_task(
        "ner",
        examples,
        examples,
        folder / "run",
        elmo=folder.with_name(f"{folder.name}-elmo"),
        config=configured("ner", None, settings),
        cache=CacheConfig(folder.with_name(f"{folder.name}-cache")),
        quiet=True,
    )


def _read_task(folder: Path) -> None:
    """Load it to predict, then resume it."""
    load_task(folder / "run", elmo=folder.with_name(f"{folder.name}-elmo"))
    examples = folder.with_name(f"{folder.name}.conll")
    settings = [*CASES["ner"][1], "fit.max_epochs=1", "elmo.dropout=0.0"]
    _train_task(folder, examples, settings)


TOY = ToyEncoder(lambda layer, sentence, place: [len(sentence), place, layer + 1.0], 2)


def _index(folder: Path) -> None:
    shutil.rmtree(folder)
    build_index(TOY, SENTENCES, folder, quiet=True)


def _read_index(folder: Path) -> None:
    index = open_index(folder)
    index.neighbours(TOY, Occurrence(SENTENCES[0], 1), number=2)
    _ = index.words


ELMO = Embedder(tiny_pretrained())


def _layers(folder: Path) -> None:
    LayerCache(ELMO, folder).prepare(SENTENCES, quiet=True)


def _read_layers(folder: Path) -> None:
    with _quiet():
        LayerCache(ELMO, folder).layers(SENTENCES)


class Row(NamedTuple):
    """As the tables of an analysis have them."""

    encoder: str
    score: float
    counts: dict[str, list[int]]


def _results(folder: Path) -> None:
    save_result(folder, "elmokit report", Provenance("senses", "f", {"a": 1}), {"value": [1, 2]})
    cached_rows(folder, TOY, Row, lambda: [Row("toy", 0.5, {"a": [1]})])
    (folder / "results.jsonl").write_text('{"run": "ner-1", "score": 3.0}\n{"run": "ner-2"}\n')
    SentenceSplitter.train(["Dr. Lee saw it. Mr. Fox did not. It was 3 p.m. then."]).save(
        folder / "sentences.json"
    )


def _read_stored_results(folder: Path) -> None:
    load_result(folder, "senses")
    cached_rows(folder, TOY, Row, list)
    read_results(folder)
    SentenceSplitter.load(folder / "sentences.json").split("One. Two.")


def _windows(folder: Path) -> None:
    kept = KeptWindows(folder)
    kept.write(0, SENTENCES, [np.ones((len(one), 4), dtype=np.float32) for one in SENTENCES])


def _read_windows(folder: Path) -> None:
    kept = KeptWindows(folder)
    if kept.has(0, SENTENCES):
        list(kept.vectors())


RUNS = [
    Target("corpus", _corpus, _read_corpus, 2),
    Target("training run", _training, _read_training, 2),
    Target("task run", _task, _read_task, 2),
    Target("index", _index, _read_index, 2),
    Target("layer cache", _layers, _read_layers),
    Target("results", _results, _read_stored_results, 2),
    Target("kept windows", _windows, _read_windows),
]
