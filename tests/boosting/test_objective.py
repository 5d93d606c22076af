"""MeasureObjective and MeasureMetric: their numbers, their errors, and their use by the libraries."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone

from ratewise import MeasureMaximizer
from ratewise.boosting import MeasureMetric, MeasureObjective
from ratewise.decisions.cuts import best_threshold
from ratewise.measures import get_measure


@pytest.fixture(scope="module")
def rare():
    """Positives, one in thirty, that a product of two columns tells."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 4))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] > 2.6).astype(int)


def best_f1(y, scores):
    """By hand: the best of all cuts."""
    hits = np.cumsum(y[np.argsort(-scores, kind="stable")])
    return np.max(2 * hits / (np.arange(1, y.size + 1) + y.sum()))


@settings(deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["f1", "gmean", "min", "jaccard"]))
def test_gradients_are_those_of_log_loss_times_two_class_weights_of_mean_one(seed, name):
    rng = np.random.default_rng(seed)
    y = np.r_[1, 0, rng.integers(0, 2, 50)]
    scores = rng.normal(size=y.size)
    gradient, hessian = MeasureObjective(name)(y, scores)
    weights = gradient / (expit(scores) - y)
    assert np.ptp(weights[y == 1]) < 1e-9
    assert np.ptp(weights[y == 0]) < 1e-9
    assert weights.mean() == pytest.approx(1.0)
    assert (hessian > 0).all()


def test_no_row_asks_for_a_step_above_four():
    gradient, hessian = MeasureObjective("gmean")(np.array([1, 0, 0, 0]), np.array([-30.0, 30.0, -1.0, 0.5]))
    assert np.abs(gradient / hessian).max() <= 4.0 + 1e-9


def test_a_weight_of_two_is_a_row_twice():
    y, scores = np.array([1, 0, 0, 1, 0]), np.array([0.3, -1.0, 0.6, -0.2, -2.0])
    once = MeasureObjective("f1")(np.r_[y, y[:2]], np.r_[scores, scores[:2]])
    twice = MeasureObjective("f1")(y, scores, np.array([2.0, 2.0, 1.0, 1.0, 1.0]))
    np.testing.assert_allclose(twice[0][:2], 2 * once[0][:2])
    np.testing.assert_allclose(twice[0][2:], once[0][2:5])


@settings(deadline=None)
@given(st.integers(0, 1000))
def test_the_metric_is_the_measure_at_the_best_of_all_cuts(seed):
    rng = np.random.default_rng(seed)
    y = np.r_[1, 0, rng.integers(0, 2, 60)]
    scores = rng.permutation(y.size) / 7.0
    assert MeasureMetric("f1").score(y, scores) == pytest.approx(best_f1(y, scores))


@settings(deadline=None)
@given(st.integers(0, 1000), st.sampled_from(["f1", "gmean", "min", "jaccard", "f2"]))
def test_with_tied_scores_too_it_is_the_value_at_the_best_threshold(seed, name):
    rng = np.random.default_rng(seed)
    y = np.r_[1, 0, rng.integers(0, 2, 60)]
    scores = rng.integers(0, 12, y.size).astype(float)
    expected = best_threshold(scores, np.where(y, 1.0, -1.0), get_measure(name)).value
    assert MeasureMetric(name).score(y, scores) == pytest.approx(expected)
    assert MeasureMetric(name).score(y, scores, np.ones(y.size)) == pytest.approx(expected)


def test_the_metric_at_a_threshold_is_the_measure_of_the_predictions():
    y, scores = np.array([0, 1, 1, 0, 1]), np.array([0.2, 0.4, 0.8, 0.6, 0.9])
    expected = get_measure("gmean").score(y, scores > 0.5)
    assert MeasureMetric("gmean", threshold=0.5)(y, scores) == ("gmean", expected, True)


@pytest.mark.parametrize("function", [MeasureObjective("f1"), MeasureMetric("f1")], ids=["objective", "metric"])
@pytest.mark.parametrize(
    ("y", "scores", "words"),
    [
        ([1, 2, 2], [0.1, 0.2, 0.3], "Labels must be 0 and 1; got 1, 2"),
        ([-1, 1, 1], [0.1, 0.2, 0.3], "Labels must be 0 and 1; got -1, 1"),
        ([1, 1, 1], [0.1, 0.2, 0.3], r"All 3 labels are 1: .* both classes"),
        ([0, 1, 1], [0.1, np.nan, 0.3], "scores contain NaN"),
        ([0, 1, 2], np.zeros((3, 3)), r"one score per row; got scores of shape \(3, 3\)"),
    ],
)
def test_bad_input_is_named(function, y, scores, words):
    with pytest.raises(ValueError, match=words):
        function(np.array(y), np.array(scores))


def test_they_pickle_and_say_what_they_are():
    for one in (MeasureObjective("f1"), MeasureMetric("gmean", threshold=0.2)):
        again = pickle.loads(pickle.dumps(one))
        assert repr(again) == repr(one)
        assert again.measure == one.measure


def test_lightgbm_trains_stops_and_continues_with_them(rare):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rare
    metric, seen = MeasureMetric("f1"), {}
    train = lightgbm.Dataset(X[:2_000], y[:2_000], free_raw_data=False)
    held = lightgbm.Dataset(X[2_000:], y[2_000:], reference=train, free_raw_data=False)
    options = {"objective": MeasureObjective("f1"), "verbosity": -1, "num_threads": 1}
    callbacks = [lightgbm.early_stopping(5, verbose=False), lightgbm.record_evaluation(seen)]
    model = lightgbm.train(options, train, 60, valid_sets=[held], feval=metric, callbacks=callbacks)
    values = seen["valid_0"]["f1"]
    assert model.best_iteration == np.argmax(values) + 1 <= len(values) < 60
    assert max(values) == pytest.approx(best_f1(y[2_000:], model.predict(X[2_000:])), abs=1e-9)
    more = lightgbm.train(options, train, 5, init_model=model)
    assert more.current_iteration() == model.current_iteration() + 5


def test_xgboost_trains_and_stops_with_them(rare):
    xgboost = pytest.importorskip("xgboost")
    X, y = rare
    train, held = xgboost.DMatrix(X[:2_000], y[:2_000]), xgboost.DMatrix(X[2_000:], y[2_000:])
    seen: dict = {}
    stop = xgboost.callback.EarlyStopping(rounds=5, maximize=True)
    model = xgboost.train(
        {"nthread": 1, "disable_default_eval_metric": True},
        train,
        60,
        obj=MeasureObjective("f1"),
        custom_metric=MeasureMetric("f1"),
        evals=[(held, "held")],
        evals_result=seen,
        verbose_eval=False,
        callbacks=[stop],
    )
    assert model.best_iteration == np.argmax(seen["held"]["f1"])
    assert max(seen["held"]["f1"]) > 0.7


def test_the_scikit_learn_classes_take_them(rare):
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    X, y = rare
    ones = np.ones(2_000)
    objective = MeasureObjective("f1")
    light = clone(lightgbm.LGBMClassifier(n_estimators=20, objective=objective, verbosity=-1, n_jobs=1))
    light.fit(X[:2_000], y[:2_000], sample_weight=ones)
    extreme = clone(
        xgboost.XGBClassifier(
            n_estimators=20, objective=objective, eval_metric=MeasureMetric("f1").score, n_jobs=1
        )
    )
    extreme.fit(X[:2_000], y[:2_000], sample_weight=ones, eval_set=[(X[2_000:], y[2_000:])], verbose=False)
    margins = extreme.predict(X[2_000:], output_margin=True)
    seen = extreme.evals_result()["validation_0"]["score"][-1]
    assert seen == pytest.approx(best_f1(y[2_000:], margins), abs=1e-6)
    assert best_f1(y[2_000:], light.predict(X[2_000:], raw_score=True)) > 0.7


def test_the_maximizer_takes_a_booster_with_the_objective(rare):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = rare
    base = lightgbm.LGBMClassifier(n_estimators=20, objective=MeasureObjective("f1"), verbosity=-1, n_jobs=1)
    model = MeasureMaximizer(base, "f1", cv=2).fit(X[:2_000], y[:2_000])
    assert model.score(X[2_000:], y[2_000:]) > 0.6
    probabilities = model.predict_proba(X)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()


@pytest.mark.filterwarnings("ignore:Can't optimze method:UserWarning")
def test_catboost_evaluates_by_the_metric(rare):
    catboost = pytest.importorskip("catboost")
    X, y = rare
    model = catboost.CatBoostClassifier(
        iterations=15, eval_metric=MeasureMetric("f1"), verbose=0, thread_count=1, allow_writing_files=False
    )
    model.fit(X[:2_000], y[:2_000], eval_set=(X[2_000:], y[2_000:]))
    best = max(model.get_evals_result()["validation"]["MeasureMetric"])
    scores = model.staged_predict(X[2_000:], prediction_type="RawFormulaVal")
    assert best == pytest.approx(max(best_f1(y[2_000:], part) for part in scores), abs=1e-6)
