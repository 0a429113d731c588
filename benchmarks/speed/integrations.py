"""What does each integration cost? Its time on the same text as a ratio to plain elmokit's.

    python benchmarks/speed/integrations.py                      # a table of all that are installed
    python benchmarks/speed/integrations.py --only spaCy sklearn --repeats 5

In turns, in one process; the fastest turn of each counts. The peer does the same work without the
library: `embed` on tokens where the integration is given tokens, `pool` on strings where it is
given strings. Tokenisation by spaCy is spaCy's own time and is measured apart; a whole Ray cluster
is measured by ray_scaling.py. With the defaults it takes about four minutes on two cores.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import torch
from inference import natural_sentences

import elmokit
from elmokit import Embedder

LIMIT = 1.2
"""The most that an integration may cost."""

Work = Callable[[], object]


def spacy_pipe(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    import spacy
    from spacy.tokens import Doc

    from elmokit.integrations.spacy import ElmoComponent

    component = ElmoComponent()
    vocab = spacy.blank("en").vocab
    texts = [[token for token in sentence if token.strip()] for sentence in sentences]

    def pipe() -> None:
        docs = (Doc(vocab, words=words) for words in texts)
        for _ in component.pipe(docs):
            pass

    return pipe, lambda: elmo.embed(texts)


def spacy_layer(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    import spacy
    from spacy.tokens import Doc

    from elmokit.integrations.spacy_layer import make_tok2vec

    vocab = spacy.blank("en").vocab
    texts = [[token for token in sentence if token.strip()] for sentence in sentences]
    docs = [Doc(vocab, words=words) for words in texts]
    layer = make_tok2vec()
    layer.initialize(X=docs[:1])
    return lambda: layer.predict(docs), lambda: elmo.embed(texts)


def sklearn_transform(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    from elmokit.integrations.sklearn import ElmoVectorizer

    texts = [" ".join(sentence) for sentence in sentences]
    vectorizer = ElmoVectorizer().fit(texts[:1])
    return lambda: vectorizer.transform(texts), lambda: elmo.pool(texts)


def sentence_transformers_encode(
    batch_size: int, peer_size: int | None = None
) -> Callable[..., tuple[Work, Work]]:
    """``peer_size``: `pool` gets batches of that size as well, of similar lengths as there."""

    def prepare(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
        from sentence_transformers import SentenceTransformer

        from elmokit.integrations.sentence_transformers import ElmoModule

        texts = [" ".join(sentence) for sentence in sentences]
        encoder = SentenceTransformer(modules=[ElmoModule("en-small")], device="cpu")
        by_length = sorted(texts, key=len, reverse=True)
        step = peer_size or len(texts)

        def pool() -> None:
            for start in range(0, len(texts), step):
                elmo.pool(by_length[start : start + step])

        return lambda: encoder.encode(texts, batch_size=batch_size), pool

    return prepare


def hub_forward(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    from elmokit.integrations.hub import ElmoModel

    with tempfile.TemporaryDirectory() as folder:
        ElmoModel("en-small").save_pretrained(folder)
        again = ElmoModel.from_pretrained(folder).embedder
    return lambda: again.embed(sentences), lambda: elmo.embed(sentences)


def pandas_column(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    import pandas

    texts = [" ".join(sentence) for sentence in sentences]
    frame = pandas.DataFrame({"text": texts})
    return lambda: frame.assign(vector=list(elmo.pool(frame["text"]))), lambda: elmo.pool(texts)


def polars_column(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    import polars

    texts = [" ".join(sentence) for sentence in sentences]
    frame = polars.DataFrame({"text": texts})

    def with_vectors() -> object:
        return frame.with_columns(polars.Series("vector", elmo.pool(frame["text"])))

    return with_vectors, lambda: elmo.pool(texts)


def pyarrow_column(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    import pyarrow

    texts = [" ".join(sentence) for sentence in sentences]
    table = pyarrow.table({"text": texts})

    def with_vectors() -> object:
        vectors = elmo.pool(table["text"].to_pylist())
        column = pyarrow.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1])
        return table.append_column("vector", column)

    return with_vectors, lambda: elmo.pool(texts)


def ray_batches(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    """The class behind `embed --ray`, on the batches that Ray would give it, without a cluster."""
    import pyarrow

    from elmokit.integrations.ray import ROWS_AT_ONCE, EmbedBatches

    num_threads = torch.get_num_threads()
    worker = EmbedBatches("en-small")
    torch.set_num_threads(num_threads)  # a worker takes one; here both sides have the same number
    table = pyarrow.table({"text": sentences})

    def all_batches() -> None:
        for start in range(0, len(sentences), ROWS_AT_ONCE):
            worker(table.slice(start, ROWS_AT_ONCE))

    return all_batches, lambda: elmo.embed(sentences)


def static_file(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    from elmokit.integrations.word2vec import StaticOptions, static_vectors

    folder = Path(tempfile.mkdtemp(prefix="elmokit-static-"))
    text = folder / "text.txt"
    text.write_text("\n".join(" ".join(sentence) for sentence in sentences), encoding="utf-8")
    options = StaticOptions(min_count=1, pretokenized=True, quiet=True)
    return (
        lambda: static_vectors(elmo, [str(text)], "average", options),
        lambda: elmo.embed(sentences),
    )


class Case(NamedTuple):
    """One row of the table in docs/guide/integrations.md."""

    package: str
    what: str
    peer: str
    prepare: Callable[[Embedder, list[list[str]]], tuple[Work, Work]]


CASES = {
    "spaCy": Case("spacy", "spaCy component, `pipe` on docs", "`embed`", spacy_pipe),
    "spaCy-layer": Case("spacy", "spaCy layer `elmokit.Tok2Vec.v1`", "`embed`", spacy_layer),
    "sklearn": Case("sklearn", "scikit-learn, `transform`", "`pool`", sklearn_transform),
    "hub": Case("huggingface_hub", "Hub, `from_pretrained`, then `embed`", "`embed`", hub_forward),
    "sentence-transformers-256": Case(
        "sentence_transformers",
        "sentence-transformers, `encode(batch_size=256)`",
        "`pool`",
        sentence_transformers_encode(256),
    ),
    "sentence-transformers-32": Case(
        "sentence_transformers",
        "sentence-transformers, `encode`, batches of 32",
        "`pool`, batches of 32",
        sentence_transformers_encode(32, 32),
    ),
    "sentence-transformers-32-256": Case(
        "sentence_transformers",
        "sentence-transformers, `encode`, batches of 32",
        "`pool`",
        sentence_transformers_encode(32),
    ),
    "ray": Case("ray", "Ray, `EmbedBatches` without a cluster", "`embed`", ray_batches),
    "static": Case("torch", "`elmokit static`, without writing", "`embed`", static_file),
    "pandas": Case("pandas", "pandas, a column of vectors", "`pool`", pandas_column),
    "polars": Case("polars", "polars, a column of vectors", "`pool`", polars_column),
    "pyarrow": Case("pyarrow", "pyarrow, a column of vectors", "`pool`", pyarrow_column),
}


def seconds_of(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(CASES))
    parser.add_argument("--sentences", type=int, default=512)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    sentences = natural_sentences(arguments.sentences)
    num_tokens = sum(map(len, sentences))
    elmo = elmokit.load("en-small")
    print(f"en-small, {len(sentences):,} sentences, {num_tokens:,} tokens, ", end="")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads\n")
    print("| integration | peer | ratio |\n|---|---|---|", flush=True)
    over = []
    for name in arguments.only or CASES:
        case = CASES[name]
        if find_spec(case.package) is None:
            print(f"| {case.what} | {case.peer} | not installed |")
            continue
        integration, plain = case.prepare(elmo, sentences)
        integration(), plain()  # words are known afterwards, to both
        turns = [(seconds_of(integration), seconds_of(plain)) for _ in range(arguments.repeats)]
        ours, peer = (min(column) for column in zip(*turns, strict=True))
        print(f"| {case.what} | {case.peer} | {ours / peer:.2f} |", flush=True)
        over += [name] if ours / peer > LIMIT else []
    print(f"\nabove {LIMIT}: {', '.join(over) or 'none'}")


if __name__ == "__main__":
    main()
