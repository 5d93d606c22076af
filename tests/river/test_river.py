"""The classifier behind river's interface."""

import numpy as np
import pandas as pd
import pytest

river = pytest.importorskip("river")

from river.checks import check_estimator  # noqa: E402

import ratewise  # noqa: E402
from ratewise.river import MeasureClassifier  # noqa: E402


def made_up(n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3))
    return pd.DataFrame(X, columns=["a", "b", "c"]), pd.Series(X[:, 0] + 0.3 * rng.normal(size=n_rows) > 0.8)


@pytest.mark.filterwarnings("ignore")  # river's own
def test_the_checks_of_river_pass():
    check_estimator(MeasureClassifier())


def test_rows_one_by_one_in_frames_and_by_partial_fit_give_the_same_model():
    X, y = made_up()
    single, frames = MeasureClassifier("gmean"), MeasureClassifier("gmean")
    for x, label in zip(X.to_dict("records"), y.tolist(), strict=True):
        single.learn_one(x, label)
    for start in range(0, 400, 80):
        frames.learn_many(X[start : start + 80], y[start : start + 80])
    plain = ratewise.MeasureClassifier("gmean", random_state=0)
    plain.partial_fit(X.to_numpy(), y.to_numpy(), classes=[False, True])
    for one in (single, frames):
        assert np.array_equal(one.model.coef_, plain.coef_)
        assert np.array_equal(one.predict_many(X), plain.predict(X.to_numpy()))
    row = X.to_dict("records")[3]
    assert single.predict_one(row) == plain.predict(X.to_numpy())[3]
    assert single.predict_proba_one(row)[True] == pytest.approx(plain.predict_proba(X.to_numpy())[3, 1])
    assert single.predict_proba_many(X).shape == (400, 2)


def test_columns_go_by_name_and_a_missing_one_counts_as_0():
    X, y = made_up()
    model = MeasureClassifier()
    model.learn_many(X, y)
    assert model.predict_proba_one({"c": 0.1, "a": 2.0}) == model.predict_proba_one(
        {"a": 2.0, "b": 0.0, "c": 0.1, "d": 9}
    )
    assert list(model.predict_many(X[["c", "b", "a"]])) == list(model.predict_many(X))
