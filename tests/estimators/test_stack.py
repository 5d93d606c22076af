"""The stack of MeasureMaximizer: boosting joined with an additive model by out-of-fold scores."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from ratewise import MeasureMaximizer, load_model, save_model


def rows(number=1_500, seed=0):
    """A linear truth with a pair: what either part alone finds less well."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(number, 8))
    scores = 2.0 * X[:, :4].sum(axis=1) + X[:, 4] * X[:, 5] + rng.logistic(size=number)
    return X, (scores > 6.0).astype(int)


def booster(**settings):
    return HistGradientBoostingClassifier(**{"max_iter": 15, "random_state": 0} | settings)


@pytest.fixture(scope="module")
def fitted():
    return MeasureMaximizer(booster(), "f1", cv=3).fit(*rows())


def test_one_line_is_a_stack_that_beats_boosting_alone():
    X, y = rows(12_000)
    stack = MeasureMaximizer(measure="f1").fit(X[:2_000], y[:2_000])
    alone = MeasureMaximizer(measure="f1", stack=False).fit(X[:2_000], y[:2_000])
    assert stack.stacked_
    assert not alone.stacked_
    assert stack.score(X[2_000:], y[2_000:]) > alone.score(X[2_000:], y[2_000:]) + 0.01


def test_the_members_are_all_stacks_or_all_boosting():
    for seed in range(3):
        X = np.random.default_rng(seed).normal(size=(600, 3))
        y = (np.abs(X[:, 0]) * np.abs(X[:, 1]) > 1.0).astype(int)
        maximizer = MeasureMaximizer(booster(), "gmean", cv=2).fit(X, y)
        history = maximizer.history_
        assert set(history["stacked"]) == {True, False}
        assert set(history["stacked"][history["kept"]]) == {maximizer.stacked_}


def test_probabilities_are_those_of_the_stack(fitted):
    X, y = rows(20_000, seed=2)
    probabilities = fitted.predict_proba(X)[:, 1]
    assert fitted.stacked_
    assert abs(probabilities.mean() - y.mean()) < 0.03
    top = probabilities > np.quantile(probabilities, 0.9)
    assert abs(probabilities[top].mean() - y[top].mean()) < 0.08


def test_intervals_hold_the_rates_of_the_stack(fitted):
    X, y = rows(20_000, seed=3)
    predicted = fitted.predict(X)
    interval = fitted.rates_interval_
    assert interval.tpr[0] <= predicted[y == 1].mean() <= interval.tpr[1]
    assert interval.tnr[0] <= 1 - predicted[y == 0].mean() <= interval.tnr[1]


def test_a_single_model_of_all_rows_may_be_a_stack():
    X, y = rows()
    maximizer = MeasureMaximizer(booster(), "f1", cv=2, ensemble=False, stack=True).fit(X, y)
    assert maximizer.stacked_
    assert len(maximizer.estimators_) == 1
    assert maximizer.score(X, y) > 0.6


def test_sparse_rows_are_joined_with_a_linear_model():
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rows()
    X[np.abs(X) < 1.0] = 0.0
    maximizer = MeasureMaximizer(lightgbm.LGBMClassifier(n_estimators=10, verbose=-1), cv=2, stack=True)
    found = maximizer.fit(sparse.csr_matrix(X), y).decision_function(sparse.csr_matrix(X))
    assert np.isfinite(found).all()
    assert maximizer.stacked_
    assert np.allclose(found, maximizer.decision_function(sparse.csc_matrix(X)))


def test_missing_values_need_no_setting():
    X, y = rows()
    X[::7, 0], X[1, :] = np.nan, np.nan
    maximizer = MeasureMaximizer(booster(), cv=2, stack=True).fit(X, y)
    assert np.isfinite(maximizer.decision_function(X)).all()


def with_texts(pandas):
    X, y = rows()
    table = pandas.DataFrame(X, columns=[f"x{k}" for k in range(8)])
    return table.assign(city=pandas.Categorical(np.where(X[:, 0] > 0, "here", "there"))), y


def test_categories_are_encoded_for_the_additive_model():
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    table, y = with_texts(pandas)
    maximizer = MeasureMaximizer(booster(categorical_features="from_dtype"), cv=2, stack=True).fit(table, y)
    assert maximizer.score(table, y) > 0.6
    assert maximizer.decision_function(table.iloc[:3]).shape == (3,)


def test_a_pipeline_takes_texts_as_before():
    pandas = pytest.importorskip("pandas")
    table, y = with_texts(pandas)
    table = table.assign(city=table["city"].astype(str))
    numbers = FunctionTransformer(lambda table: table.drop(columns="city").to_numpy())
    maximizer = MeasureMaximizer(make_pipeline(numbers, booster()), cv=2).fit(table, y)
    assert maximizer.score(table, y) > 0.6


def test_infinity_leaves_the_stack_out_or_is_named():
    X, y = rows()
    X[3, 2] = np.inf
    assert not MeasureMaximizer(booster(max_iter=3), cv=2).fit(X, y).stacked_
    with pytest.raises(ValueError, match="stack=True is not possible: X holds infinity"):
        MeasureMaximizer(booster(), stack=True).fit(X, y)


def test_other_classifiers_have_no_stack():
    X, y = rows(400)
    maximizer = MeasureMaximizer(LogisticRegression(), rounds=1, cv=2).fit(X, y)
    assert not maximizer.stacked_
    assert "stacked" not in maximizer.history_
    with pytest.raises(ValueError, match="give a booster as estimator"):
        MeasureMaximizer(LogisticRegression(), stack=True).fit(X, y)
    with pytest.raises(ValueError, match="stack must be 'auto', True or False; got 'yes'"):
        MeasureMaximizer(stack="yes").fit(X, y)


def test_weights_count_as_copies_of_rows():
    X, y = rows(600)
    weights = np.random.default_rng(0).integers(1, 3, y.size)
    weighted = MeasureMaximizer(booster(), cv=2, stack=True).fit(X, y, sample_weight=weights)
    doubled = MeasureMaximizer(booster(), cv=2, stack=True).fit(X, y, sample_weight=2.0 * weights)
    assert np.corrcoef(weighted.decision_function(X), doubled.decision_function(X))[0, 1] > 0.9


def test_the_first_class_may_be_the_positive_one():
    X, y = rows(600)
    plain = MeasureMaximizer(booster(), "f1", cv=2, stack=True).fit(X, y)
    turned = MeasureMaximizer(booster(), "f1", cv=2, stack=True, pos_label=0).fit(X, 1 - y)
    assert (plain.predict(X) == 1 - turned.predict(X)).mean() > 0.97


def test_a_model_file_holds_the_stack(fitted, tmp_path):
    pytest.importorskip("skops")
    X, _ = rows(50, seed=4)
    save_model(fitted, tmp_path / "stack.ratewise")
    trees = "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor"
    loaded = load_model(tmp_path / "stack.ratewise", trusted=["numpy.random._generator.Generator", trees])
    assert np.array_equal(loaded.decision_function(X), fitted.decision_function(X))


def test_the_default_can_be_cloned_and_fitted_again():
    X, y = rows(300)
    maximizer = MeasureMaximizer(measure="gmean")
    first = clone(maximizer).fit(X, y).decision_function(X)
    assert maximizer.estimator is None
    assert np.array_equal(first, maximizer.fit(X, y).decision_function(X))


def test_many_classes_take_the_default_and_have_no_stack():
    X, y = load_iris(return_X_y=True)
    maximizer = MeasureMaximizer(measure="macro-f1").fit(X, y)
    assert not maximizer.stacked_
    assert maximizer.score(X, y) > 0.9
    with pytest.raises(ValueError, match="stack=True is for two classes"):
        MeasureMaximizer(measure="macro-f1", stack=True).fit(X, y)


def test_boosting_grows_more_trees_where_the_last_still_pay():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1_500, 6))
    for y, trees in ((X[:, 0] * X[:, 1] > 0.0, 80), (X[:, 0] + rng.logistic(size=1_500) > 1.5, 40)):
        found = MeasureMaximizer(measure="f1").fit(X, y)
        assert found.history_["trees"].max() == trees
        assert {model.n_iter_ for model in found.estimators_} == {trees}
    single = MeasureMaximizer(measure="f1", ensemble=False).fit(X, X[:, 0] * X[:, 1] > 0.0)
    assert single.estimator_.n_iter_ == 80


def test_a_stack_takes_the_same_numbers_from_every_kind_of_table():
    X, y = rows(600)
    X[::5, 7] = np.nan
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    forms = {"pandas": table, "polars": polars.from_pandas(table, nan_to_null=True)}
    forms["Arrow"] = pyarrow.Table.from_pandas(table, preserve_index=False)
    for form in forms.values():
        fitted = MeasureMaximizer(booster(), "f1", stack=True, cv=2).fit(form, y)
        expected = fitted.decision_function(form)
        for other in forms.values():  # each has the names of the fit
            np.testing.assert_array_equal(fitted.decision_function(other), expected)
        with pytest.raises(ValueError, match="The feature names should match"):
            fitted.predict(table[list("hgfedcba")])
    fitted = MeasureMaximizer(booster(), "f1", stack=True, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="7 features, but MeasureMaximizer is expecting 8"):
        fitted.predict(X[:, :7])
    with pytest.raises(TypeError, match="column 0 holds 'x'"):
        fitted.predict(np.full((3, 8), "x", dtype=object))
