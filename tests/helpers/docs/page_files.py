"""The files that a page of the documentation speaks of, as small as its commands allow."""

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
from random_files import BilmTfSpec, write_bilm_tf_files
from small_task_files import entity_file
from tiny_corpus import write_sentences
from tiny_senses import write_senses

from elmokit.embed.files.command import EmbedOptions, run_embed

FASTA = ">sp|P1|ONE\nMKVLA\n>sp|P2|TWO\nGGH\n"
WORDS = ["the", "a", "play", "made", "ball", "Broadway", "cat", "dog", "saw", ".", "Rome", "Ann"]
PUBLISHED = "elmo_2x4096_512_2048cnn_2xhighway"
TAGGED = "".join(
    f"1\tthe\t_\t_\tDT\t_\t_\t_\t_\t_\n2\t{noun}\t_\t_\tNN\t_\t_\t_\t_\t_\n\n"
    for noun in ("dog", "cat", "sun", "sea", "day")
)


def quickstart() -> None:
    write_sentences(Path("a.txt"), 12)
    write_sentences(Path("b.txt"), 5, seed=1)
    Path("big.txt").write_text("It was late.\n\nRain fell on the town.\n")
    Path("big.txt.gz").write_bytes(gzip.compress(Path("big.txt").read_bytes()))
    Path("proteins.fasta").write_text(FASTA)
    write_bilm_tf_files(Path("seqvec"), BilmTfSpec())
    options = EmbedOptions(layers="all", pretokenized=True, quiet=True, basis="states")
    run_embed(["b.txt"], Path("old-vectors.hdf5"), options)


def pretraining() -> None:
    for folder, names in {"texts": ("a.txt", "b.txt"), "domain-texts": ("c.txt",)}.items():
        Path(folder).mkdir()
        for seed, name in enumerate(names):
            write_sentences(Path(folder, name), 200, seed)


def tasks() -> None:
    for name in ("train.conll", "dev.conll", "test.conll"):
        entity_file(Path(name))
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 50))
    lines = [" ".join([w, *(f"{x:.3f}" for x in v)]) for w, v in zip(WORDS, vectors, strict=True)]
    Path("glove.txt").write_text("\n".join(lines) + "\n")


def analysis() -> None:
    write_senses(Path("data/wsd"))
    for folder in ("glove", "ewt", "corpus"):
        Path("data", folder).mkdir()
    Path("data/glove/words.txt").write_text("\n".join(WORDS) + "\n")
    vectors = np.random.default_rng(0).normal(size=(len(WORDS), 8)).astype(np.float32)
    np.save("data/glove/vectors.npy", vectors)
    for part in ("train", "dev", "test"):
        Path(f"data/ewt/en-{part}.conllu").write_text(TAGGED)
    Path("data/corpus/enwiki-0.txt").write_text("They play well. A play ends. He made a play.\n")


def migrating() -> None:
    write_bilm_tf_files(Path("model"), BilmTfSpec())
    write_sentences(Path("text.txt"), 5)
    options = EmbedOptions(model="model", layers="all", pretokenized=True, quiet=True)
    run_embed(["text.txt"], Path("old.hdf5"), options)
    shutil.copy("model/weights.hdf5", f"{PUBLISHED}_weights.hdf5")
    shutil.copy("model/options.json", f"{PUBLISHED}_options.json")
    Path("proteins.fasta").write_text(FASTA)


def words() -> None:
    Path("story.txt").write_text("It was late. Rain didn't stop.\n\nThe cat sat on the mat.\n")
    places = ("river", "town", "lake", "high street")
    deeds = ("was steep", "raised its rates", "closed early", "flooded", "lent us money")
    lines = [f"The bank by the {place} {deed}." for place in places for deed in deeds]
    Path("news.txt").write_text("\n".join(lines) + "\n")
    Path("old.txt").write_text("\n".join(lines[:10]) + "\n")
    Path("new.txt").write_text("\n".join(lines[10:]) + "\n")


def integrations() -> None:
    text = "The river rose. The bank of the river is steep.\n" * 20
    Path("corpus.txt").write_text(text)
    Path("corpus").mkdir()
    Path("corpus/a.txt").write_text(text)


def proteins() -> None:
    write_bilm_tf_files(Path("seqvec"), BilmTfSpec())


def allennlp() -> None:
    write_bilm_tf_files(Path("model"), BilmTfSpec(max_characters=50))
    write_sentences(Path("text.txt"), 5)
    options = EmbedOptions(model="model", layers="all", pretokenized=True, quiet=True)
    run_embed(["text.txt"], Path("old.hdf5"), options)


FILES_OF: dict[str, Callable[[], None]] = {
    "docs/guide/quickstart.md": quickstart,
    "docs/guide/pretraining.md": pretraining,
    "docs/guide/tasks.md": tasks,
    "docs/guide/analysis.md": analysis,
    "docs/guide/migrating.md": migrating,
    "docs/guide/words.md": words,
    "docs/guide/integrations.md": integrations,
    "docs/cookbook/proteins.md": proteins,
    "docs/cookbook/allennlp.md": allennlp,
}
"""Each writes into the current folder; pages that are not named need no files."""
