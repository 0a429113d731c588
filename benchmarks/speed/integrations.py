"""What does each integration cost? Its time on the same text as a ratio to plain elmokit's.

    python benchmarks/speed/integrations.py                      # all that are installed
    python benchmarks/speed/integrations.py --only spaCy sklearn --repeats 5

In turns, in one process; the fastest turn of each counts. The peer does the same work without the
library: `embed` on tokens where the integration is given tokens, `pool` on strings where it is
given strings. Tokenisation by spaCy is spaCy's own time and is measured apart.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import torch
from inference import natural_sentences

import elmokit
from elmokit import Embedder

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


def sklearn_transform(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
    from elmokit.integrations.sklearn import ElmoVectorizer

    texts = [" ".join(sentence) for sentence in sentences]
    vectorizer = ElmoVectorizer().fit(texts[:1])
    return lambda: vectorizer.transform(texts), lambda: elmo.pool(texts)


def sentence_transformers_encode(batch_size: int) -> Callable[..., tuple[Work, Work]]:
    def prepare(elmo: Embedder, sentences: list[list[str]]) -> tuple[Work, Work]:
        from sentence_transformers import SentenceTransformer

        from elmokit.integrations.sentence_transformers import ElmoModule

        texts = [" ".join(sentence) for sentence in sentences]
        encoder = SentenceTransformer(modules=[ElmoModule("en-small")], device="cpu")
        return lambda: encoder.encode(texts, batch_size=batch_size), lambda: elmo.pool(texts)

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


CASES: dict[str, tuple[str, str, Callable[..., tuple[Work, Work]]]] = {
    "spaCy": ("spacy", "component.pipe on docs, against embed", spacy_pipe),
    "sklearn": ("sklearn", "transform, against pool", sklearn_transform),
    "hub": ("huggingface_hub", "from_pretrained, then embed, against embed", hub_forward),
    "sentence-transformers-256": (
        "sentence_transformers",
        "encode(batch_size=256), against pool",
        sentence_transformers_encode(256),
    ),
    "sentence-transformers-32": (
        "sentence_transformers",
        "encode with its default batch of 32, against pool",
        sentence_transformers_encode(32),
    ),
    "static": ("torch", "elmokit static without writing, against embed", static_file),
    "pandas": ("pandas", "a column of vectors, against pool", pandas_column),
}


def seconds_of(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=list(CASES))
    parser.add_argument("--sentences", type=int, default=1024)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    sentences = natural_sentences(arguments.sentences)
    num_tokens = sum(map(len, sentences))
    elmo = elmokit.load("en-small")
    print(f"en-small, {len(sentences):,} sentences, {num_tokens:,} tokens, ", end="")
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads")
    for name in arguments.only or CASES:
        package, what, prepare = CASES[name]
        if find_spec(package) is None:
            print(f"  {name:26} not installed")
            continue
        integration, plain = prepare(elmo, sentences)
        integration(), plain()  # words are known afterwards, to both
        turns = [(seconds_of(integration), seconds_of(plain)) for _ in range(arguments.repeats)]
        ours, peer = (min(column) for column in zip(*turns, strict=True))
        rate = num_tokens / ours
        print(f"  {name:26} {ours / peer:5.2f}   {rate:8,.0f} tokens/s   {what}", flush=True)


if __name__ == "__main__":
    main()
