"""A stream: partial_fit learns the same from any batches, forgets as half_life says, and tells what it did."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import f1_score

from ratewise import MeasureClassifier
from ratewise.solvers import Stamp

HALF_LIVES = ["auto", 500, None]


def turning(n_rows, seed=0, *, turns=1):
    """Rows whose positives, 1 in 12, lie in a direction that jumps."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    angle = 2.0 * (np.arange(n_rows) * (turns + 1) // n_rows)
    score = np.cos(angle) * X[:, 0] + np.sin(angle) * X[:, 1] + 0.3 * rng.normal(size=n_rows)
    return X, (score > 1.45).astype(int)


def learned(X, y, batch, *, sample_weight=None, classes=(0, 1), **parameters):
    classifier = MeasureClassifier(random_state=0, **parameters)
    for start in range(0, y.size, batch):
        part = slice(start, start + batch)
        weights = None if sample_weight is None else sample_weight[part]
        classifier.partial_fit(X[part], y[part], classes=list(classes), sample_weight=weights)
    return classifier


def prequential(X, y, **parameters):
    """Predict 500 rows, then learn from them."""
    classifier = MeasureClassifier(random_state=0, **parameters)
    predicted = np.zeros(y.size, dtype=int)
    for start in range(0, y.size, 500):
        part = slice(start, start + 500)
        if start:
            predicted[part] = classifier.predict(X[part])
        classifier.partial_fit(X[part], y[part], classes=[0, 1])
    return predicted, classifier


def bits(classifier):
    found = (classifier.coef_, classifier.intercept_, classifier.calibration_, np.array(classifier.rates_))
    return [one.tobytes() for one in found]


@pytest.mark.parametrize("half_life", HALF_LIVES)
@pytest.mark.parametrize("n_rows", [60, 1_234])
def test_the_batches_make_no_difference(half_life, n_rows):
    X, y = turning(n_rows)
    models = [bits(learned(X, y, batch, half_life=half_life)) for batch in (1, 7, 100, 1_000)]
    assert models.count(models[0]) == len(models)


@pytest.mark.parametrize("half_life", HALF_LIVES)
def test_the_batches_of_sparse_weighted_rows_make_no_difference_nor_does_reading_in_between(half_life):
    X, y = turning(700)
    X, weights = sparse.csr_matrix(np.where(abs(X) > 0.7, X, 0.0)), np.linspace(0.5, 2.0, 700)
    whole = learned(X, y, 700, half_life=half_life, sample_weight=weights)
    read = MeasureClassifier(random_state=0, half_life=half_life)
    for start in range(0, 700, 50):
        part = slice(start, start + 50)
        read.partial_fit(X[part], y[part], classes=[0, 1], sample_weight=weights[part]).predict(X[:5])
    assert bits(read) == bits(whole)
    assert read.score(X[600:], y[600:]) > 0.3


@pytest.mark.parametrize("half_life", HALF_LIVES)
def test_batches_of_many_classes_make_no_difference(half_life):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = X.argmax(axis=1)
    small = learned(X, y, 13, half_life=half_life, classes=(0, 1, 2))
    large = learned(X, y, 900, half_life=half_life, classes=(0, 1, 2))
    assert np.array_equal(small.coef_, large.coef_)
    assert small.rates_ == large.rates_
    assert (small.predict(X) == y).mean() > 0.9


def test_a_model_that_has_learned_nothing_since_is_not_computed_again():
    X, y = turning(1_010)
    classifier = learned(X[:1_000], y[:1_000], 100)
    before = classifier.coef_
    for row in range(1_000, 1_010):
        classifier.partial_fit(X[row : row + 1], y[row : row + 1])
    assert classifier.coef_ is before


def test_arrays_of_the_user_may_change_after_the_call():
    X, y = turning(650)
    classifier, buffer = MeasureClassifier(random_state=0), np.empty((50, 4))
    for start in range(0, 650, 50):
        buffer[:] = X[start : start + 50]
        classifier.partial_fit(buffer, y[start : start + 50], classes=[0, 1])
    assert bits(classifier) == bits(learned(X, y, 650))


def test_auto_follows_a_drift_that_a_model_without_forgetting_does_not():
    X, y = turning(16_000)
    after = slice(12_000, None)
    values = {
        half_life: f1_score(y[after], prequential(X, y, half_life=half_life)[0][after])
        for half_life in ("auto", 1_000, None)
    }
    assert values["auto"] > values[None] + 0.1
    assert values["auto"] > values[1_000] - 0.05


def test_auto_does_as_well_as_no_forgetting_where_nothing_drifts():
    X, y = turning(8_000, seed=3, turns=0)
    after = slice(2_000, None)
    auto, none = (f1_score(y[after], prequential(X, y, half_life=one)[0][after]) for one in ("auto", None))
    assert auto > none - 0.01


def test_rates_are_those_of_recent_predictions_made_before_learning():
    X, y = turning(16_000, seed=1)
    predicted, classifier = prequential(X, y)
    recent = slice(12_000, None)
    assert classifier.rates_.tpr == pytest.approx((predicted[recent])[y[recent] == 1].mean(), abs=0.06)
    assert classifier.rates_interval_.tpr[0] < classifier.rates_.tpr < classifier.rates_interval_.tpr[1]


def test_a_class_that_comes_late_is_learned_soon():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(62_000, 5)), np.zeros(62_000, dtype=int)
    y[60_000:] = rng.random(2_000) < 0.05
    X[y == 1] += 1.5
    classifier = learned(X[:60_000], y[:60_000], 5_000)
    assert classifier.predict(X[60_000:]).mean() == 0.0
    classifier.partial_fit(X[60_000:60_500], y[60_000:60_500])
    fresh = rng.normal(size=(4_000, 5))
    label = (rng.random(4_000) < 0.05).astype(int)
    fresh[label == 1] += 1.5
    assert f1_score(label, classifier.predict(fresh)) >= 0.5


@pytest.mark.parametrize("half_life", HALF_LIVES)
def test_a_stream_goes_on_after_pickling_and_a_clone_begins_anew(half_life):
    X, y = turning(900)
    straight = learned(X, y, 90, half_life=half_life)
    pickled = pickle.loads(pickle.dumps(learned(X[:450], y[:450], 90, half_life=half_life)))
    for start in range(450, 900, 90):
        pickled.partial_fit(X[start : start + 90], y[start : start + 90])
    assert bits(pickled) == bits(straight)
    assert not hasattr(clone(straight), "coef_")


def test_a_stream_begins_from_the_model_of_a_fit():
    X, y = turning(4_000, turns=0)
    classifier = MeasureClassifier(random_state=0).fit(X[:3_000], y[:3_000])
    before = classifier.score(X[3_000:], y[3_000:])
    classifier.partial_fit(X[2_950:3_000], y[2_950:3_000])
    assert classifier.score(X[3_000:], y[3_000:]) > before - 0.1


def test_a_named_solver_forgets_nothing_by_default():
    X, y = turning(1_200)
    named = learned(X, y, 100, solver=Stamp())
    assert bits(named) == bits(learned(X, y, 100, solver=Stamp(), half_life=None))
    with pytest.raises(ValueError, match="leave solver='auto'"):
        learned(X, y, 100, solver=Stamp(), half_life=500)


@pytest.mark.parametrize("half_life", ["soon", 0, -5.0, True, np.nan])
def test_half_lives_that_are_none_are_refused(half_life):
    X, y = turning(50)
    with pytest.raises(ValueError, match="half_life must be 'auto', None or a number of rows"):
        MeasureClassifier(half_life=half_life).partial_fit(X, y, classes=[0, 1])
