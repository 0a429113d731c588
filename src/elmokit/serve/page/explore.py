"""``elmokit.explore``: from texts and models to a page."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from elmokit.analysis.encoders.bilm import BiLmEncoder
from elmokit.analysis.encoders.encoder import Encoder
from elmokit.analysis.encoders.opening import Models
from elmokit.analysis.explore.choice import example_sentences
from elmokit.analysis.explore.corpus import BUILTIN, ExploredCorpus, open_corpus
from elmokit.analysis.explore.exploration import ExplorerData
from elmokit.analysis.explore.explorer import MAX_OCCURRENCES, Explorer
from elmokit.analysis.explore.sides import explore_sides
from elmokit.embed.embedder import Embedder
from elmokit.embed.load import AnyModel, load
from elmokit.embed.sentences import Sentence
from elmokit.errors import InputError
from elmokit.serve.page.document import ExplorerPage
from elmokit.text.static_vectors import StaticVectors, read_static_vectors
from elmokit.weights.load import read_softmax
from elmokit.weights.names import DEFAULT_MODEL
from elmokit.weights.pretrained import PretrainedModel

NUM_WORDS = 12


def explore(
    texts: str | Path | Sequence[str | Path] = (),
    *,
    words: Sequence[str] = (),
    sentences: Sequence[Sentence] = (),
    model: AnyModel = DEFAULT_MODEL,
    other_model: str = "",
    other_texts: Sequence[str | Path] = (),
    senses: str | Path | None = None,
    static: str | Path | None = None,
    max_occurrences: int = MAX_OCCURRENCES,
    seed: int = 1,
    pretokenized: bool = False,
    title: str = "elmokit explorer",
    device: str = "cpu",
    show_progress: bool = False,
) -> ExplorerPage:
    """Make a page for exploring the occurrences of words.

    Args:
        texts: files or folders, or one folder written by ``elmokit index``; nothing: a few
            built-in sentences.
        words: to look at; default: a dozen promising ones.
        sentences: whose expectations and similarities are shown; default: a few.
        model: what ``elmokit.load`` returns, or a name or path.
        other_model: shown beside the first, on the same texts; also ``static:FILE`` or
            ``untrained:MODEL``, which stands beside the built-in sentences.
        other_texts: shown beside the first, by the same model.
        senses: a folder with semcor30 and wordnet30, whose sentences are read before ``texts``.
        static: static vectors (GloVe or word2vec) to compare neighbours with.
        max_occurrences: the maximum number per word; if there are more, a sample is shown.
        seed: seed of the samples.
        pretokenized: one sentence per line, tokens separated by spaces.
        title: title of the page.
        device: where the models run.
        show_progress: a progress bar on a terminal, plain lines elsewhere.

    >>> page = explore(words=["bark"], sentences=["The dogs bark ."])
    >>> page.document["explorations"][0]["words"][0]["num_found"]
    8
    """
    given = [str(texts)] if isinstance(texts, (str, Path)) else [str(text) for text in texts]
    others = [str(text) for text in other_texts]
    if other_model and others:
        raise InputError("compare two models or two texts, not both at once")
    model = _opened(model, device)
    models = Models(device, need_softmax=True)
    corpus = open_corpus(given, None if senses is None else Path(senses), pretokenized)
    vectors = None if static is None else read_static_vectors(Path(static))
    first = _explorer(models, model, corpus, max_occurrences, seed, vectors)
    chosen = list(words) or first.promising_words(NUM_WORDS)
    if not chosen:
        raise InputError(f"{corpus.name}: no content word is frequent; name the words to show")
    shown = list(sentences) or example_sentences(corpus, chosen)
    if not other_model and not others and corpus.name == BUILTIN and isinstance(model, str):
        other_model = f"untrained:{model}"  # what the architecture alone gives
    if not other_model and not others:
        exploration = first.explore(chosen, shown, quiet=not show_progress)
        return ExplorerPage(ExplorerData((exploration,), title=title).to_json_value())
    second = _explorer(
        models,
        other_model or model,
        open_corpus(others, None, pretokenized) if others else corpus,
        max_occurrences,
        seed,
    )
    data = explore_sides(first, second, chosen, shown, quiet=not show_progress)
    return ExplorerPage(replace(data, title=title).to_json_value())


def _opened(model: AnyModel, device: str) -> str | Embedder:
    """Names and paths stay strings, which ``Models`` opens and shares."""
    if isinstance(model, Path):
        return str(model)
    if isinstance(model, PretrainedModel):
        return Embedder(model, device=device)
    return model if isinstance(model, str | Embedder) else load(model, device=device)


def _explorer(
    models: Models,
    model: str | Embedder,
    corpus: ExploredCorpus,
    max_occurrences: int,
    seed: int,
    static: StaticVectors | None = None,
) -> Explorer:
    encoder: Encoder
    if isinstance(model, Embedder):
        read_softmax(model.pretrained)
        encoder, pretrained = BiLmEncoder(model), model.pretrained
    else:
        encoder, pretrained = models.encoder(model), None
        embedder = getattr(encoder, "embedder", None)  # static vectors have none
        if isinstance(embedder, Embedder):
            pretrained = embedder.pretrained
            if pretrained.output_words is not None:
                pretrained.output_words.softmax.to(pretrained.bilm.device)
    return Explorer(
        encoder, corpus, model=pretrained, static=static, max_occurrences=max_occurrences, seed=seed
    )
