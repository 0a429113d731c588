"""ElmoVectorizer in scikit-learn's own tools, and under scikit-learn's own checks."""

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numbers_as_text import NumbersAsText
from random_files import BilmTfSpec, write_bilm_tf_files
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils import estimator_checks

import elmokit
from elmokit import InputError, Mix
from elmokit.integrations.sklearn import ElmoVectorizer

TEXTS = ["a good film", "what a bad film", "", ["good", "!"], "It was bad.", "good good good"]
LABELS = [1, 0, 0, 1, 0, 1]

CHECKS_WITHOUT_DATA = [
    estimator_checks.check_estimator_cloneable,
    estimator_checks.check_estimator_tags_renamed,
    estimator_checks.check_valid_tag_types,
    estimator_checks.check_estimator_repr,
    estimator_checks.check_no_attributes_set_in_init,
    estimator_checks.check_do_not_raise_errors_in_init_or_set_params,
    estimator_checks.check_mixin_order,
    estimator_checks.check_parameters_default_constructible,
    estimator_checks.check_get_params_invariance,
    estimator_checks.check_set_params,
    estimator_checks.check_estimators_unfitted,
]


@estimator_checks.parametrize_with_checks([NumbersAsText()])
def test_scikit_learns_own_checks_pass(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.parametrize("check", CHECKS_WITHOUT_DATA, ids=lambda check: check.__name__)
def test_checks_that_need_no_numbers_pass_as_it_is(check: Any) -> None:
    check("ElmoVectorizer", ElmoVectorizer())


def test_rows_are_those_of_pool(model: Path) -> None:
    elmo = elmokit.load(model)
    for mix in ("average", -1, "concat", Mix((0.2, 0.5, 0.3))):
        for pooling in ("mean", "max", "ends"):
            vectors = ElmoVectorizer(model, mix=mix, pooling=pooling).fit_transform(TEXTS)
            assert np.array_equal(vectors, elmo.pool(TEXTS, pooling, mix))


def test_fit_then_transform_equals_fit_transform(model: Path) -> None:
    vectorizer = ElmoVectorizer(model, mix=1)
    assert np.array_equal(vectorizer.fit(TEXTS).transform(TEXTS), vectorizer.fit_transform(TEXTS))


def test_a_grid_search_chooses_among_layers(model: Path) -> None:
    pipeline = Pipeline([("elmo", ElmoVectorizer(model)), ("classify", LogisticRegression())])
    search = GridSearchCV(pipeline, {"elmo__mix": [0, 1, 2, "average"]}, cv=2)
    search.fit(TEXTS, LABELS)
    assert search.best_params_["elmo__mix"] in (0, 1, 2, "average")
    assert search.predict(TEXTS).shape == (len(TEXTS),)


def test_clones_have_the_settings_and_are_not_fitted(model: Path) -> None:
    copy = clone(ElmoVectorizer(model, mix=2, pooling="max").fit(TEXTS))
    assert copy.get_params() == {
        "model": model, "mix": 2, "pooling": "max", "start": "fresh", "device": "cpu"
    }  # fmt: skip
    with pytest.raises(NotFittedError):
        copy.transform(TEXTS)


def test_pickles_hold_no_weights_and_give_the_same_rows(model: Path, tmp_path: Path) -> None:
    classifier = make_pipeline(ElmoVectorizer(model), LogisticRegression()).fit(TEXTS, LABELS)
    data = pickle.dumps(classifier)
    assert len(data) < 5_000
    joblib.dump(classifier, tmp_path / "classifier.joblib")
    for copy in (pickle.loads(data), joblib.load(tmp_path / "classifier.joblib")):
        assert np.array_equal(copy.predict_proba(TEXTS), classifier.predict_proba(TEXTS))


def test_other_weights_under_the_same_name_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    write_bilm_tf_files(folder, BilmTfSpec(seed=1))
    data = pickle.dumps(ElmoVectorizer(folder).fit(TEXTS))
    write_bilm_tf_files(tmp_path / "other", BilmTfSpec(seed=2))
    folder.rename(tmp_path / "old")
    (tmp_path / "other").rename(folder)
    with pytest.raises(InputError, match="not those that this ElmoVectorizer was fitted with"):
        pickle.loads(data).transform(TEXTS)


def test_columns_are_named_for_pandas(model: Path) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"text": ["a film", "a book"], "year": [1, 2]}, index=[7, 9])
    columns = ColumnTransformer(
        [("elmo", ElmoVectorizer(model, mix="concat"), "text")], remainder="passthrough"
    ).set_output(transform="pandas")
    out = columns.fit_transform(frame)
    assert list(out.index) == [7, 9]
    assert out.shape == (2, 3 * 8 + 1)
    assert list(out.columns[:2]) == ["elmo__elmovectorizer0", "elmo__elmovectorizer1"]
    names = ElmoVectorizer(model).fit(frame["text"]).get_feature_names_out()
    assert names.tolist() == [f"elmovectorizer{number}" for number in range(8)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mix": 7}, "layers 0 to 2, but mix asks for layer 7"),
        ({"mix": "best"}, "got 'best'"),
        ({"pooling": "first"}, "pooling must be mean, max or ends, got 'first'"),
        ({"start": "cold"}, "start must be fresh"),
        ({"model": "no-such-model"}, "no-such-model: there is no such file"),
    ],
)
def test_bad_settings_are_refused_by_fit_not_by_init(
    model: Path, settings: dict[str, Any], message: str
) -> None:
    vectorizer = ElmoVectorizer(**{"model": model, **settings})
    with pytest.raises(InputError, match=message):
        vectorizer.fit(TEXTS)


def test_one_string_and_missing_texts_are_refused(model: Path) -> None:
    with pytest.raises(InputError, match="got one string"):
        ElmoVectorizer(model).fit("a good film")
    with pytest.raises(InputError, match="got None"):
        ElmoVectorizer(model).fit(["a good film", None])
