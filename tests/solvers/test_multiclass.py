"""Many classes: the macro average and its gradient, the best offsets, and log odds to compare scores by."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from ratewise.measures import FunctionMeasure, get_measure, measure_names
from ratewise.solvers.calibrate import log_odds_line
from ratewise.solvers.multiclass import (
    ClassRates,
    _best_move,
    _places,
    best_offsets,
    logistic_pull,
    macro_pull,
    soft_counts,
    softmax,
)

SMOOTH = [name for name in measure_names() if get_measure(name).smooth]


def problem(seed, n=60, n_classes=4):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(n_classes), rng.integers(n_classes, size=n - n_classes)])
    return rng.normal(size=(n, n_classes)), codes, rng.uniform(0.5, 2.0, n)


def soft_value(scores, codes, weights, measure):
    shares = softmax(scores.copy())
    return ClassRates.of_counts(*soft_counts(shares, codes, weights)).value(measure)


def finite_differences(function, at, step=1e-6):
    gradient = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        up, down = at.copy(), at.copy()
        up[place] += step
        down[place] -= step
        gradient[place] = (function(up) - function(down)) / (2 * step)
    return gradient


OWN = FunctionMeasure(lambda tpr, tnr: tpr * tnr if tpr > 0 else 0.0)  # for numbers only


@pytest.mark.parametrize("measure", [*map(get_measure, SMOOTH), OWN], ids=[*SMOOTH, "a function of one's own"])
def test_the_pull_is_the_gradient_of_the_soft_macro_average(measure):
    scores, codes, weights = problem(0, n=12, n_classes=3)
    shares = softmax(scores.copy())
    rates = ClassRates.of_counts(*soft_counts(shares, codes, weights))
    pull = macro_pull(measure, rates, shares, codes, weights) / weights.sum()
    expected = finite_differences(lambda at: soft_value(at, codes, weights, measure), scores)
    np.testing.assert_allclose(pull, expected, atol=2e-7)


def test_the_logistic_pull_is_the_gradient_of_the_log_likelihood():
    scores, codes, weights = problem(2, n=10, n_classes=3)

    def likelihood(at):
        return float(weights @ np.log(softmax(at.copy())[np.arange(codes.size), codes]))

    pull = logistic_pull(softmax(scores.copy()), codes, weights)
    np.testing.assert_allclose(pull, finite_differences(likelihood, scores), atol=1e-6)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 6))
def test_the_macro_average_of_f1_is_scikit_learns(seed, n_classes):
    scores, codes, weights = problem(seed, n_classes=n_classes)
    called = scores.argmax(axis=1)
    ours = ClassRates.of_predictions(codes, called, weights, n_classes).value(get_measure("f1"))
    assert ours == pytest.approx(f1_score(codes, called, sample_weight=weights, average="macro"))


@pytest.mark.parametrize("name", ["f1", "gmean", "min", "mcc", "tpr-at-tnr-0.99"])
@pytest.mark.parametrize("seed", range(3))
def test_offsets_never_lower_the_macro_average(name, seed):
    scores, codes, weights = problem(seed, n=200)
    scores[np.arange(200), codes] += 1.0
    scores[:, 0] += 1.5  # one class shouts
    measure = get_measure(name)

    def value(offsets):
        return ClassRates.of_predictions(codes, (scores + offsets).argmax(axis=1), weights, 4).value(measure)

    assert value(best_offsets(scores, codes, weights, measure)) > value(np.zeros(4)) + 0.01


def test_an_offset_is_drawn_where_no_other_is_better():
    """Two classes and few rows, so that every offset can be tried."""
    rng = np.random.default_rng(0)
    codes = rng.integers(2, size=40)
    scores = np.column_stack([np.zeros(40), codes + 1.3 * rng.normal(size=40)])
    weights, measure = np.ones(40), get_measure("jaccard")

    def value(offset):
        called = (scores + np.array([0.0, offset])).argmax(axis=1)
        return ClassRates.of_predictions(codes, called, weights, 2).value(measure)

    offsets = best_offsets(scores, codes, weights, measure)
    assert value(offsets[1] - offsets[0]) == pytest.approx(max(value(-one - 1e-9) for one in scores[:, 1]))


def test_the_line_of_log_odds_is_that_of_the_model_that_made_the_labels():
    rng = np.random.default_rng(0)
    scores = 3.0 * rng.normal(size=40_000) + 1.0
    signs = np.where(rng.random(40_000) < 1.0 / (1.0 + np.exp(-(0.7 * scores - 0.4))), 1.0, -1.0)
    slope, constant = log_odds_line(scores, signs)
    assert slope == pytest.approx(0.7, abs=0.03)
    assert constant == pytest.approx(-0.4, abs=0.05)


@pytest.mark.parametrize("scores", [np.zeros(10), np.linspace(-1.0, 1.0, 10), -np.linspace(-1.0, 1.0, 10)])
def test_the_line_of_log_odds_is_finite_and_never_falls_where_scores_tell_nothing_or_all(scores):
    slope, constant = log_odds_line(scores, np.where(np.arange(10) < 5, -1.0, 1.0))
    assert np.isfinite([slope, constant]).all()
    assert slope >= 0.0


# Every number again, slowly.


def rates_by_hand(codes, called, weights, n_classes):
    found = []
    for k in range(n_classes):
        mine, other = weights[codes == k].sum(), weights[codes != k].sum()
        hits, alarms = weights[(codes == k) & (called == k)].sum(), weights[(codes != k) & (called == k)].sum()
        tnr = 1.0 - alarms / other if other else 1.0
        found.append((hits / mine if mine else 0.0, tnr, mine / (mine + other)))
    return found


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_rates_of_predictions_are_those_of_every_class_against_the_rest(seed, n_classes):
    scores, codes, weights = problem(seed, n=30, n_classes=n_classes)
    codes[codes == 1] = 0  # a class that does not occur
    called = scores.argmax(axis=1)
    found = ClassRates.of_predictions(codes, called, weights, n_classes)
    expected = rates_by_hand(codes, called, weights, n_classes)
    np.testing.assert_allclose(np.transpose(found), expected, atol=1e-12)
    np.testing.assert_allclose(found.by_class(), expected, atol=1e-12)
    there = [one for one in expected if one[2] > 0]
    measure = get_measure("gmean")
    assert found.value(measure) == pytest.approx(np.mean([measure.value(*one) for one in there]))


def test_counts_that_rounding_has_moved_beyond_their_totals_make_no_rate_beyond_one():
    found = ClassRates.of_counts(np.array([2.0 + 1e-9, 1.0]), np.array([2.0, 1.0 - 1e-9]), np.array([2.0, 1.0]))
    assert found.tpr.max() == 1.0
    assert found.tnr.max() == 1.0


@pytest.mark.parametrize("name", ["f1", "qmean", "jaccard", "kappa"])
def test_slopes_of_all_classes_are_those_of_the_measure_at_the_rates_of_each(name):
    measure = get_measure(name)
    rates = ClassRates(
        np.array([0.3, 1.0, 0.01, 0.5]), np.array([0.9, 0.02, 1.0, 0.5]), np.array([0.2, 0.5, 0.3, 0.0])
    )
    found = np.transpose(rates.slopes(measure))
    for slopes, one in zip(found[:3], rates.by_class()[:3], strict=True):
        np.testing.assert_allclose(slopes, measure.slopes(*one), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(found[3], 0.0)  # it does not occur


def best_of_all_moves(scores, codes, weights, measure, k):
    """The highest macro average if the rows of the highest leads are called k: up to a sensible number."""
    others = np.delete(scores, k, axis=1)
    names = np.delete(np.arange(scores.shape[1]), k)
    rivals, leads = names[others.argmax(axis=1)], scores[:, k] - others.max(axis=1)
    most = 3 * max(np.count_nonzero(leads > 0), np.count_nonzero(codes == k)) + 1
    values = []
    for cut in (np.inf, *np.unique(leads), -np.inf):
        called = np.where(leads > cut, k, rivals)
        if np.count_nonzero(called == k) <= most:
            values.append(ClassRates.of_predictions(codes, called, weights, scores.shape[1]).value(measure))
    return max(values)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 4), st.integers(5, 60), st.booleans())
def test_the_move_of_a_class_is_the_best_of_all(seed, n_classes, n, tied):
    scores, codes, weights = problem(seed, n=n, n_classes=n_classes)
    scores[np.arange(n), codes] += 0.7
    scores = np.round(4.0 * scores) / 4.0 if tied else scores
    if seed % 3 == 0:
        codes[codes == n_classes - 1] = 0  # no row is of the last class
    measure, k = get_measure(["f1", "accuracy", "mcc", "gmean"][seed % 4]), seed % n_classes
    move = _best_move(scores, codes, weights, measure, k)
    moved = scores.copy()
    moved[:, k] += move
    # Rows that are tied go to their rival: a little less decides.
    moved[:, k] -= 1e-9
    value = ClassRates.of_predictions(codes, moved.argmax(axis=1), weights, n_classes).value(measure)
    assert value == pytest.approx(best_of_all_moves(scores, codes, weights, measure, k), abs=1e-7)


def test_a_class_that_is_never_or_always_to_be_called_is_moved_half_beyond_the_rows():
    scores, weights, measure = np.array([[0.0, 2.0], [0.0, 1.0]]), np.ones(2), get_measure("accuracy")
    assert _best_move(scores, np.array([0, 0]), weights, measure, 1) == -2.5
    assert _best_move(scores, np.array([1, 1]), weights, measure, 1) == 0.0  # it is called already
    assert _best_move(-scores, np.array([1, 1]), weights, measure, 1) == 2.5
    # Between two rows: in the middle.
    assert _best_move(scores, np.array([1, 0]), weights, measure, 1) == -1.5


def test_of_many_rows_some_places_are_tried_and_the_move_is_nearly_the_best():
    scores, codes, weights = problem(5, n=3_000, n_classes=3)
    scores[np.arange(3_000), codes] += 1.0
    scores[:, 2] += 1.0
    measure = get_measure("f1")
    moved = scores.copy()
    moved[:, 2] += _best_move(scores, codes, weights, measure, 2)
    value = ClassRates.of_predictions(codes, moved.argmax(axis=1), weights, 3).value(measure)
    best = best_of_all_moves(scores, codes, weights, measure, 2)
    assert best - 0.002 < value <= best + 1e-12


def test_offsets_are_moves_one_after_another():
    scores, codes, weights = problem(3, n=100, n_classes=3)
    measure, moved = get_measure("f1"), scores.copy()
    expected = np.zeros(3)
    for k in (0, 1, 2, 0, 1, 2):
        move = _best_move(moved, codes, weights, measure, k)
        moved[:, k] += move
        expected[k] += move
    np.testing.assert_allclose(best_offsets(scores, codes, weights, measure), expected)
    assert np.abs(expected).max() > 0.1


def test_places_go_up_to_three_times_as_many_calls_as_there_are_or_should_be():
    leads = -np.arange(1_000.0)
    assert _places(leads, 10, 20).tolist() == list(range(62))
    assert _places(leads, 20, 10).tolist() == list(range(62))
    assert _places(leads[:50], 20, 10).tolist() == list(range(51))
    # Of many, some 256, and what is called now.
    many = _places(leads, 333, 10)
    assert (many[0], many[-1], 333 in many) == (0, 1_000, True)
    assert 250 <= many.size <= 258
    # Between rows of one lead no line can be drawn.
    assert _places(np.array([2.0, 1.0, 1.0, 0.0]), 1, 4).tolist() == [0, 1, 3, 4]


def test_shares_of_large_scores_are_finite():
    found = softmax(np.array([[1e4, 1e4 - 1.0], [-1e4, 0.0]]))
    np.testing.assert_allclose(found, [[1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))], [0.0, 1.0]], atol=1e-12)
