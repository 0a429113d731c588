"""A small exploration: a random biLM with a softmax, and text in which all is known."""

from tiny_lm import tiny_lm

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.explore.corpus import CorpusSentence, ExploredCorpus
from elmokit.analysis.explore.exploration import ExplorerData
from elmokit.analysis.explore.explorer import Explorer
from elmokit.analysis.explore.sides import explore_sides
from elmokit.embed.embedder import Embedder

HOSTILE = "</script><img src=x onerror=alert(1)>"
"""A token that a careless page would run."""
SENTENCES = ("the cat sat on the bank .", "a dog sat on the mat .")


def tiny_corpus_of_banks() -> ExploredCorpus:
    """Twelve banks of money, ten of rivers, one of neither; one sentence is hostile."""
    sentences = [
        CorpusSentence(f"the bank has {n} cats .".split(), "news-1990.txt", {1: "money"})
        for n in range(12)
    ]
    sentences += [
        CorpusSentence(f"a dog on the river bank {n} .".split(), "novel-1890.txt", {5: "river"})
        for n in range(10)
    ]
    sentences.append(CorpusSentence(["Bank", HOSTILE, "."], "news-1990.txt"))
    return ExploredCorpus("a small text", sentences)


def tiny_explorer(corpus: ExploredCorpus | None = None, seed: int = 0, **options: int) -> Explorer:
    """Of the banks, by default."""
    model = tiny_lm(seed=seed)
    encoder = BiLmEncoder(Embedder(model))
    return Explorer(encoder, corpus or tiny_corpus_of_banks(), model=model, **options)


def tiny_data() -> ExplorerData:
    """Two models on the same text."""
    corpus = tiny_corpus_of_banks()
    return explore_sides(
        tiny_explorer(corpus), tiny_explorer(corpus, seed=1), ["bank", "dog"], SENTENCES
    )
