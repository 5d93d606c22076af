"""Many classes learned together."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from ratewise.measures import get_measure
from ratewise.solvers import Sharpen, Stamp
from ratewise.solvers.base import History
from ratewise.solvers.multiclass import ClassRates, MulticlassModel
from ratewise.training import FitConfig
from ratewise.training.labelled import LabelledRows
from ratewise.training.multiclass import (
    Descent,
    ForTheMeasure,
    for_the_likelihood,
    learn_classes,
    one_against_the_rest,
    predicted_classes,
)
from ratewise.transforms import Standardizer


def ring(n=900, seed=0):
    """Three classes in a plane; a fifth of the rows of each lie far on the wrong side, which log loss minds."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(3, size=n)
    angle = 2 * np.pi * codes / 3
    X = np.column_stack([np.cos(angle), np.sin(angle)]) + 0.4 * rng.normal(size=(n, 2))
    astray = (codes == 0) & (rng.random(n) < 0.3)
    X[astray] *= -6.0
    return X, codes


def labelled(X, codes, seed=0):
    standardizer = Standardizer(X.shape[1]).update(X)
    return LabelledRows(X, codes, np.ones(codes.size), 3, standardizer, np.random.default_rng(seed))


def asked(passes, **more):
    return FitConfig(get_measure("f1"), Stamp(), None, Sharpen(passes=passes), **more)


def value_of(model, rows, name="f1"):
    rates = ClassRates.of_predictions(rows.codes, predicted_classes(model, rows), rows.weights, 3)
    return rates.value(get_measure(name))


def nothing(n_features=2):
    return MulticlassModel(np.zeros((3, n_features)), np.zeros(3))


def last(stage):
    return list(stage)[-1][1]


def test_the_likelihood_stage_finds_what_logistic_regression_finds():
    X, codes = ring()
    rows = labelled(X, codes)
    ours = last(Descent(rows, nothing(), 1.0 / codes.size, np.random.default_rng(0)).stage(60, for_the_likelihood))
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    theirs = LogisticRegression(tol=1e-8).fit(Z, codes)
    centred = ours.weights - ours.weights.mean(axis=0)
    np.testing.assert_allclose(centred, theirs.coef_, atol=0.15)


@pytest.mark.parametrize("name", ["f1", "gmean", "mcc", "min"])
def test_the_measures_stage_climbs_above_the_likelihoods(name):
    X, codes = ring()
    rows = labelled(X, codes)
    start = last(Descent(rows, nothing(), 1e-3, np.random.default_rng(0)).stage(30, for_the_likelihood))
    pull = ForTheMeasure(get_measure(name), rows, start)
    climbed = last(Descent(rows, start, 1e-5, np.random.default_rng(0)).stage(60, pull))
    assert value_of(climbed, rows, name) > value_of(start, rows, name) + 0.005


def test_the_outcome_does_not_depend_on_threads_and_its_rates_hold_on_new_rows():
    X, codes = ring()
    found = [
        learn_classes(labelled(X, codes), asked(16, threads=threads), None, np.random.default_rng(1), History())
        for threads in (1, 3)
    ]
    np.testing.assert_array_equal(found[0].model.weights, found[1].model.weights)
    X_new, codes_new = ring(4_000, seed=5)
    standardizer = Standardizer(2).update(X)
    new = LabelledRows(X_new, codes_new, np.ones(4_000), 3, standardizer, np.random.default_rng(0))
    expected = found[0].rates.value(get_measure("f1"))
    assert value_of(found[0].model, new) == pytest.approx(expected, abs=0.05)


def test_the_history_has_rows_for_every_fold_and_penalty():
    X, codes = ring(300)
    history = History()
    learn_classes(labelled(X, codes), asked(2), None, np.random.default_rng(0), history)
    assert set(history.table()["run"]) == set(range(15))


def test_one_against_the_rest_is_the_same_with_threads_and_names_the_class_in_the_history():
    X, codes = ring()
    found, histories = [], []
    for threads in (1, 3):
        histories.append(History())
        found.append(
            one_against_the_rest(
                labelled(X, codes),
                asked(1),
                Stamp(passes=2),
                None,
                np.random.default_rng(0),
                histories[-1],
                threads=threads,
            )
        )
    np.testing.assert_array_equal(found[0].weights, found[1].weights)
    assert set(histories[1].table()["class"]) == {0.0, 1.0, 2.0}
