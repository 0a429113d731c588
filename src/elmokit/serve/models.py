"""The models and the index that a server was started with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elmokit.analysis.words.index import OccurrenceIndex, open_index
from elmokit.embed.embedder import Embedder
from elmokit.errors import InputError
from elmokit.model.kernels.lstm_inference import PrecisionName
from elmokit.weights.load import load_pretrained
from elmokit.weights.names import DEFAULT_MODEL, find_model


@dataclass(frozen=True)
class ServedModel:
    """A loaded model under the name that requests use."""

    name: str
    embedder: Embedder

    @property
    def can_predict(self) -> bool:
        """Whether it has a softmax."""
        return self.embedder.pretrained.output_words is not None


@dataclass(frozen=True)
class ServedIndex:
    """An index, and the model that it was made with."""

    index: OccurrenceIndex
    model: ServedModel


class ServedModels:
    """Models by name; the first is the default.

    Args:
        models: what is served, in the order in which it is listed.
        index: must have been made with one of the models.
    """

    def __init__(self, models: Sequence[ServedModel], index: OccurrenceIndex | None = None) -> None:
        self._models = {model.name: model for model in models}
        self.default = models[0]
        self.index = None if index is None else ServedIndex(index, self._model_of(index))

    def __iter__(self) -> Iterator[ServedModel]:
        return iter(self._models.values())

    @property
    def names(self) -> list[str]:
        """The names of all models, the default one first."""
        return list(self._models)

    def get(self, name: str | None) -> ServedModel | None:
        """The model of this name; None if it is not served."""
        return self.default if name is None else self._models.get(name)

    def _model_of(self, index: OccurrenceIndex) -> ServedModel:
        for model in self:
            if model.embedder.fingerprint == index.facts.fingerprint:
                return model
        raise InputError(
            f"{index.path}: was made with another model ({index.facts.encoder}); serve that model "
            f"too, or index the text again"
        )


def open_models(
    models: Sequence[str],
    index: Path | None = None,
    device: str = "cpu",
    need_softmax: bool = True,
    precision: PrecisionName = "float32",
) -> ServedModels:
    """Load what a server is to serve.

    Args:
        models: names or paths, or ``NAME=PATH`` to choose the name that requests use; default:
            the model that ships with elmokit.
        index: a folder written by ``elmokit index``.
        device: where all of them run.
        need_softmax: read it too, where a model has one: ``/v1/predict`` needs it.
        precision: of the LSTMs' weights, as in ``elmokit.load``.
    """
    served: dict[str, ServedModel] = {}
    for given in models or (DEFAULT_MODEL,):
        name, path = _name_and_path(given)
        if name in served:
            raise InputError(f"two models are called {name}; give one of them as  NAME={path}")
        pretrained = load_pretrained(path, need_softmax=need_softmax)
        pretrained.set_basis("similarity")
        # Error messages contain the source; clients should see the name, not a path.
        embedder = Embedder(replace(pretrained, source=name), precision=precision, device=device)
        if pretrained.output_words is not None:
            pretrained.output_words.softmax.to(embedder.device)
        served[name] = ServedModel(name, embedder)
    return ServedModels(list(served.values()), None if index is None else open_index(index))


def _name_and_path(given: str) -> tuple[str, str]:
    name, separator, path = given.partition("=")
    if separator and name and "/" not in name and not Path(given).exists():
        return name, path
    return find_model(given).path.resolve().name, given
