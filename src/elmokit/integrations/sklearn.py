"""scikit-learn: texts in, one vector per text out.

>>> from sklearn.linear_model import LogisticRegression
>>> from sklearn.pipeline import make_pipeline
>>> classifier = make_pipeline(ElmoVectorizer("en-small", mix=1), LogisticRegression())
>>> classifier.fit(["a good film", "a bad film"], [1, 0]).classes_.tolist()
[0, 1]
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elmokit.embed.embedder import Embedder, Start, require_start
from elmokit.embed.mix import AnyMix, checked_mix, mixed_dim
from elmokit.embed.pooling import Pooling, require_pooling
from elmokit.embed.sentences import Sentence, Vectors, all_tokens
from elmokit.errors import InputError, missing_extra
from elmokit.integrations.shared import shared_embedder

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise missing_extra("scikit-learn", "sklearn", "ElmoVectorizer") from None

if TYPE_CHECKING:
    from typing import Self


class ElmoVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Turn texts into an array (N, D), one row per text.

    Args:
        model: name or path of a model; loaded once per process, when first needed.
        mix: ``"average"``, ``"sum"``, ``"top"``, ``"concat"``, the number of a layer or a ``Mix``.
        pooling: how the tokens of a text are pooled: ``"mean"``, ``"max"`` or ``"ends"``.
        start: the initial state of every text, ``"fresh"`` or ``"settled"``.
        device: where the model runs.

    Nothing is learned from the data: ``fit`` only loads the model and checks its sizes. Clones and
    pickles hold the model's name and its fingerprint, not its weights, and raise an error if the
    weights of that name have changed.

    Attributes:
        fingerprint_: a checksum of the model that ``fit`` found.
    """

    def __init__(
        self,
        model: str | Path = "en-small",
        *,
        mix: AnyMix = "average",
        pooling: Pooling = "mean",
        start: Start = "fresh",
        device: str = "cpu",
    ) -> None:
        self.model = model
        self.mix = mix
        self.pooling = pooling
        self.start = start
        self.device = device

    def fit(self, raw_documents: Iterable[Sentence], y: Any = None) -> "Self":
        """Check the settings and the texts against the model.

        Args:
            raw_documents: strings, or lists of tokens.
            y: ignored.
        """
        elmo = self._checked_embedder()
        for _ in all_tokens(raw_documents):
            pass  # reject bad input now, not in the middle of a search
        self._set_facts(elmo)
        return self

    def transform(self, raw_documents: Iterable[Sentence]) -> Vectors:
        """Return one row per text."""
        check_is_fitted(self)
        elmo = self._checked_embedder()
        if elmo.fingerprint != self.fingerprint_:
            raise InputError(
                f"{self.model}: the weights are not those that this ElmoVectorizer was fitted "
                f"with; give it the same model, or fit it again"
            )
        return elmo.pool(raw_documents, self.pooling, self.mix, start=self.start)

    def fit_transform(self, raw_documents: Iterable[Sentence], y: Any = None) -> Vectors:
        """``fit``, then ``transform``, reading the texts once."""
        elmo = self._checked_embedder()
        vectors = elmo.pool(raw_documents, self.pooling, self.mix, start=self.start)
        self._set_facts(elmo)
        return vectors

    def _checked_embedder(self) -> Embedder:
        elmo = shared_embedder(self.model, self.device)
        checked_mix(self.mix, elmo.num_layers)
        require_pooling(self.pooling)
        if isinstance(self.start, str):
            require_start(self.start)
        return elmo

    def _set_facts(self, elmo: Embedder) -> None:
        self.fingerprint_ = elmo.fingerprint
        self._n_features_out = mixed_dim(self.mix, elmo.num_layers, elmo.dim)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.transformer_tags.preserves_dtype = []
        return tags
