"""The table of true and predicted classes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix

from ratewise.counts import Counts, Rates
from ratewise.measures import rates_from_labels

quick = settings(deadline=None, max_examples=50)
pairs_of_labels = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=60)


@quick
@given(pairs_of_labels, st.integers(1, 59), st.floats(0.1, 10.0))
def test_counts_are_scikit_learns_however_the_rows_are_cut(pairs, cut, weight):
    truth, predicted = np.array(pairs).T
    whole = Counts.of_labels(truth, predicted, n_classes=4)
    expected = confusion_matrix(truth, predicted, labels=range(4))
    np.testing.assert_array_equal(whole.weights, expected)
    weights = np.full(truth.size, weight)
    first, second = (
        Counts.of_labels(truth[part], predicted[part], weights[part], n_classes=4)
        for part in (slice(cut), slice(cut, None))
    )
    merged, scaled = first.merge(second), whole.decay(weight)
    np.testing.assert_allclose(merged.weights, scaled.weights)
    np.testing.assert_allclose(merged.squared(), scaled.squared())
    # Rows of one weight are worth their number, whatever the weight.
    np.testing.assert_allclose(merged.effective_points(), expected.sum(axis=1))


@quick
@given(pairs_of_labels)
def test_groups_are_counted_apart(pairs):
    group, true = np.array(pairs).T
    found = Counts.of_labels(true % 2, true // 2, groups=group, n_groups=4)
    for k in range(4):
        mine = true[group == k]
        np.testing.assert_array_equal(found.weights[k], Counts.of_labels(mine % 2, mine // 2).weights)


@quick
@given(pairs_of_labels)
def test_one_class_against_the_rest_has_the_rates_of_its_own_labels(pairs):
    truth, predicted = np.array(pairs).T
    found = Counts.of_labels(truth, predicted, n_classes=4).one_vs_rest()
    for k in set(truth.tolist()):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # all rows may be of one class
            expected = rates_from_labels(truth == k, predicted == k, pos_label=True)
        mine = Rates(*(one[k] for one in found))
        assert mine.tpr == pytest.approx(expected.tpr)
        assert mine.prevalence == pytest.approx(expected.prevalence)
        if expected.prevalence < 1:
            assert mine.tnr == pytest.approx(expected.tnr)


@quick
@given(st.lists(st.tuples(st.booleans(), st.floats(-2, 2), st.integers(1, 5)), min_size=2))
def test_the_named_counts_add_up_to_the_weight_of_all_rows(rows):
    positive, scores, weights = (np.array(one) for one in zip(*rows, strict=True))
    found = Counts.of_labels(positive, scores > 0.5, weights).by_name()
    assert sum(found.values()) == weights.sum()
    assert found["true_positives"] == weights[positive & (scores > 0.5)].sum()


def test_rates_do_not_depend_on_the_unit_of_the_weights():
    counts = Counts.of_two(3, 1, 5, 15)
    assert counts.decay(1e-9).rates == pytest.approx(counts.rates)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_precision_from_rates_is_that_of_the_labels(pairs):
    truth, predicted = np.array(pairs).T
    expected = truth[predicted].mean() if predicted.any() else 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a class may be missing
        assert rates_from_labels(truth, predicted, pos_label=True).precision == pytest.approx(expected)
