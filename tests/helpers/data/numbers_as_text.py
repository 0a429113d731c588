"""scikit-learn checks estimators on tables of numbers: here each row of numbers is a text."""

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from random_files import BilmTfSpec, write_bilm_tf_files
from sklearn.utils.validation import check_is_fitted, validate_data

from elmokit.integrations.sklearn import ElmoVectorizer


@cache
def checked_model() -> str:
    """A tiny model on disk, for estimators that are made while tests are collected."""
    folder = Path(tempfile.mkdtemp(prefix="elmokit-checks-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_bilm_tf_files(folder / "model", BilmTfSpec())
    return str(folder / "model")


class NumbersAsText(ElmoVectorizer):
    """ElmoVectorizer on the words ``"0.25"``, ``"-1.5"``, ... of each row."""

    def __init__(self, model: str | None = None, *, mix: Any = "average") -> None:
        super().__init__(model, mix=mix)  # type: ignore[arg-type]

    def _checked_embedder(self) -> Any:
        given, self.model = self.model, self.model or checked_model()
        try:
            return super()._checked_embedder()
        finally:
            self.model = given

    def _texts(self, table: Any, reset: bool) -> list[list[str]]:
        numbers = validate_data(self, table, reset=reset)
        return [[f"{number:.3g}" for number in row] for row in numbers]

    def fit(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        return super().fit(self._texts(X, True), y)

    def transform(self, X: Any) -> Any:  # noqa: N803
        check_is_fitted(self)
        return super().transform(self._texts(X, False))

    def fit_transform(self, X: Any, y: Any = None) -> Any:  # noqa: N803
        return super().fit_transform(self._texts(X, True), y)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = False
        tags.input_tags.two_d_array = True
        return tags
