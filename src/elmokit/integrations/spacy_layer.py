"""spaCy: a tok2vec layer of frozen ELMo vectors, for spaCy's own trainable components.

    [components.ner.model.tok2vec]
    @architectures = "elmokit.Tok2Vec.v1"
    width = 96

If the component ``"elmokit"`` has run on a doc, its vectors are used, so that several components
share one run of the biLM. Otherwise the layer runs the model itself.
"""

from typing import Any

from elmokit.embed.sentences import Vectors
from elmokit.errors import InputError, missing_extra
from elmokit.integrations.shared import shared_embedder

try:
    from spacy.tokens import Doc
    from spacy.util import registry
    from thinc.api import Maxout, Model, chain, with_array
except ImportError:
    raise missing_extra("spaCy", "spacy", "the layer 'elmokit.Tok2Vec.v1'") from None

from elmokit.integrations.spacy import MixSetting, as_mix, vectors_of


@registry.architectures("elmokit.Tok2Vec.v1")  # type: ignore[untyped-decorator]
def make_tok2vec(
    width: int = 96,
    model: str = "en-small",
    mix: MixSetting = "average",
    start: str = "fresh",
    device: str = "cpu",
    dropout: float = 0.2,
) -> Model[list[Doc], list[Vectors]]:
    """Frozen ELMo vectors followed by a trained layer (Maxout, normalised) of ``width``.

    Args:
        width: width of the vectors that the component above reads.
        model: name or path of the model to run on docs without vectors of ``"elmokit"``.
        mix: as for that component; both must have the same mix.
        start: as for that component.
        device: where the model runs.
        dropout: dropout probability of the trained layer.
    """
    attrs = {"model": model, "mix": mix, "start": start, "device": device, "fingerprint": ""}
    frozen: Model[list[Doc], list[Vectors]] = Model("elmokit", _forward, init=_init, attrs=attrs)
    trained = Maxout(nO=width, nP=3, normalize=True, dropout=dropout)
    layer: Model[list[Doc], list[Vectors]] = chain(frozen, with_array(trained))
    layer.set_dim("nO", width)
    return layer


def _init(layer: Any, X: Any = None, Y: Any = None) -> None:  # noqa: N803  thinc's names
    elmo = shared_embedder(layer.attrs["model"], layer.attrs["device"])
    layer.attrs["fingerprint"] = elmo.fingerprint


def _forward(layer: Any, docs: list[Doc], is_train: bool) -> tuple[list[Vectors], Any]:
    vectors = {number: doc._.elmo for number, doc in enumerate(docs) if _is_annotated(doc)}
    others = [number for number in range(len(docs)) if number not in vectors]
    if others:
        vectors |= zip(others, _computed(layer, [docs[number] for number in others]), strict=True)
    asarray = layer.ops.asarray2f
    return [asarray(vectors[number]) for number in range(len(docs))], lambda gradient: []


def _is_annotated(doc: Doc) -> bool:
    return doc._.elmo is not None and len(doc._.elmo) == len(doc)


def _computed(layer: Any, docs: list[Doc]) -> list[Vectors]:
    settings = layer.attrs
    elmo = shared_embedder(settings["model"], settings["device"])
    if settings["fingerprint"] not in ("", elmo.fingerprint):
        raise InputError(
            f"{settings['model']}: the weights are not those that this layer was trained with; "
            f"give it the same model, or train again"
        )
    return vectors_of(elmo, docs, as_mix(settings["mix"]), settings["start"])
