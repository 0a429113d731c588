"""How models read text of every kind: perplexity and bits per character.

    python benchmarks/quality/out_of_domain.py DATA [--heldout CORPUS] [--model MODEL]...

DATA holds the folders ewt and sst, whose test parts are read with the tokens as they stand there.
CORPUS adds its held-out part, one row per kind of text. Every sentence starts from a fresh state.
Perplexities of models with different vocabularies cannot be compared; bits per character can, with
the share of ``<UNK>`` in mind.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

from elmokit.analysis.probes.part_of_speech import read_pos_data
from elmokit.pretrain.corpus.corpus import Corpus
from elmokit.pretrain.corpus.prepare import PrepareConfig, prepare
from elmokit.pretrain.perplexity import HEADER, PerplexityByKind, perplexity_by_kind
from elmokit.tasks.data.sentiment import read_sentiment
from elmokit.weights.load import load_pretrained

Sentences = list[list[str]]


def heldout_by_kind(corpus: Corpus) -> Iterator[tuple[str, Sentences]]:
    """The held-out sentences of every kind of text."""
    for number, kind in enumerate(corpus.kinds):
        yield kind, list(corpus.sentences(corpus.heldout.of_kind(number)))


def measured(name: str, texts: dict[str, Sentences]) -> PerplexityByKind:
    """The perplexity of a model on each of these texts, over the words it can predict."""
    model = load_pretrained(name)
    assert model.output_words is not None
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"{kind}.txt" for kind in texts]
        for file, sentences in zip(files, texts.values(), strict=True):
            file.write_text("".join(" ".join(tokens) + "\n" for tokens in sentences))
        config = PrepareConfig(pretokenized=True, heldout=0.0)
        corpus = Path(folder) / "prepared"
        prepare(files, corpus, config, vocabulary=model.output_words.vocabulary, quiet=True)
        return perplexity_by_kind(model, corpus, "train", "fresh")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--heldout", type=Path, metavar="CORPUS")
    parser.add_argument("--model", action="append")
    options = parser.parse_args()
    texts = {
        "EWT": [sentence.tokens for sentence in read_pos_data(options.data / "ewt").test],
        "SST": [text.tokens for text in read_sentiment(options.data / "sst" / "test.txt")],
    }
    if options.heldout:
        texts.update(heldout_by_kind(Corpus.open(options.heldout)))
    for name in options.model or ["en-small"]:
        print(f"{name}\n\n| {' | '.join(HEADER)} |\n|{'---|' * len(HEADER)}")
        for row in measured(name, texts).rows():
            print(f"| {' | '.join(row)} |")
        print(flush=True)


if __name__ == "__main__":
    main()
