"""Rows of one group stay together in the folds of the choice."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GroupKFold, cross_validate

from ratewise import MeasureClassifier
from ratewise.solvers import Sharpen
from ratewise.training import ArraySource
from ratewise.training.memory import in_folds
from ratewise.training.rows import ArrayRows
from ratewise.training.targets import class_targets, codes_of
from ratewise.transforms import Standardizer


def blocks(seed=0, n_groups=24, size=25, n_classes=2):
    """Rows of a group share a fingerprint, by which their label could be learned by heart."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(n_groups), size)
    codes = np.repeat(rng.permutation(np.arange(n_groups) % n_classes), size)
    marks = np.eye(n_groups)[groups] * 3.0
    signal = codes[:, None] * 0.4 + rng.normal(size=(groups.size, 2))
    order = rng.permutation(groups.size)
    return np.hstack([signal, marks])[order], codes[order], groups[order]


def test_folds_of_two_classes_keep_groups_together_and_classes_in_proportion():
    X, y, groups = blocks()
    rows = ArrayRows(
        X,
        np.where(y == 1, 1.0, -1.0),
        Standardizer(X.shape[1], active=False),
        np.random.default_rng(0),
        groups=groups,
    )
    ordered, ranges = in_folds(rows, 4, np.random.default_rng(1))
    assert (ranges[0][0], ranges[-1][1]) == (0, y.size)
    marks = [set(ordered.part(one).X[slice(*one), 2:].argmax(axis=1)) for one in ranges]
    assert len(set().union(*marks)) == sum(map(len, marks)) == 24
    for one in ranges:
        assert (ordered.part(one).signed_weights > 0).mean() == pytest.approx(0.5, abs=0.01)


def test_folds_of_many_classes_keep_groups_together():
    X, codes, groups = blocks(n_classes=3)
    targets = class_targets(codes, np.ones(codes.size))
    source = ArraySource(X, targets, np.random.default_rng(0), n_classes=3, groups=groups)
    training = source.transformed(source.transform(standardize=False, whiten=False), 4)
    everything, validated = set(groups), []
    for fold in range(4):
        others = training.training_rows(fold)
        found = set(codes_of(others.targets))
        marks = set(others.with_ones[0][:, 2:-1].argmax(axis=1))
        validated.append(everything - marks)
        assert found == {0, 1, 2}
        np.testing.assert_array_equal(np.unique(codes[np.isin(groups, list(marks))]), sorted(found))
    assert set().union(*validated) == everything
    assert len(everything) == sum(map(len, validated))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rates_are_those_of_new_groups_only_if_groups_are_given(n_classes):
    X, y, groups = blocks(n_classes=n_classes)
    fit = {"measure": "gmean", "random_state": 0, "sharpen": Sharpen(passes=4)}
    with_groups = MeasureClassifier(**fit).fit(X, y, groups=groups)
    without = MeasureClassifier(**fit).fit(X, y)

    def value(classifier):
        expected = classifier.rates_ if n_classes == 2 else [classifier.confusion_]
        return classifier.measure_.value(*expected)

    assert value(without) > 0.9  # learned by heart
    assert value(with_groups) < 0.8


def test_labels_are_chosen_by_group_too():
    X, y, groups = blocks()
    Y = np.column_stack([y, 1 - y])
    classifier = MeasureClassifier("gmean", random_state=0, sharpen=Sharpen(passes=4)).fit(X, Y, groups=groups)
    assert all(classifier.measure_.value(*rates) < 0.8 for rates in classifier.rates_)


def test_groups_go_with_the_rows_that_weights_leave():
    X, y, groups = blocks()
    weights = (np.arange(y.size) % 4 > 0) * 1.0
    kept = weights > 0
    fit = {"measure": "gmean", "random_state": 0, "sharpen": Sharpen(passes=1)}
    left_out = MeasureClassifier(**fit).fit(X, y, weights, groups=groups)
    removed = MeasureClassifier(**fit).fit(X[kept], y[kept], groups=groups[kept])
    np.testing.assert_array_equal(left_out.coef_, removed.coef_)


def test_groups_may_be_texts_and_are_routed_by_default():
    X, y, groups = blocks()
    names = np.array([f"block {number}" for number in groups])
    with sklearn.config_context(enable_metadata_routing=True):
        found = cross_validate(
            MeasureClassifier("gmean", sharpen=Sharpen(passes=1), random_state=0),
            X,
            y,
            cv=GroupKFold(2),
            params={"groups": names},
            return_estimator=True,
        )
    for classifier in found["estimator"]:
        assert classifier.measure_.value(*classifier.rates_) < 0.85


def test_bad_groups_are_refused():
    X, y, groups = blocks()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        MeasureClassifier().fit(X, y, groups=groups[:-1])
    with pytest.raises(ValueError, match="one group only"):
        MeasureClassifier().fit(X, y, groups=np.zeros(y.size))
    with pytest.raises(ValueError, match="a fold leaves no row of the positive class"):
        MeasureClassifier().fit(X, (groups == 3).astype(int), groups=groups)
