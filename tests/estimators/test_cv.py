"""Folds of the user's: what validates, what is learned from, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GroupKFold, KFold, RepeatedKFold, ShuffleSplit, TimeSeriesSplit

from ratewise import MeasureClassifier, load_model, open_stream, save_model
from ratewise.solvers import Sharpen

X, Y = make_classification(1200, 6, weights=[0.8], flip_y=0.05, random_state=0)
PASSES = Sharpen(passes=2)  # rows are then learned from pass by pass, not all at once


def in_runs(n_runs=40, size=30, seed=0):
    """Rows in the order of time: a run of them shares its label, and a mark that never comes again."""
    rng = np.random.default_rng(seed)
    y = np.repeat(rng.permutation(np.arange(n_runs) % 3 == 0), size)
    marks = np.eye(n_runs)[np.repeat(np.arange(n_runs), size)] * 3.0
    return np.column_stack([y + rng.normal(size=y.size), marks]), y


@pytest.mark.parametrize("sharpen", ["auto", PASSES])
def test_as_many_folds_as_a_number_says_are_those_of_the_validation_fraction(sharpen):
    by_number = MeasureClassifier(cv=4, sharpen=sharpen, random_state=0).fit(X, Y)
    by_share = MeasureClassifier(validation_fraction=0.25, sharpen=sharpen, random_state=0).fit(X, Y)
    np.testing.assert_array_equal(by_number.coef_, by_share.coef_)
    assert by_number.rates_ == by_share.rates_


@pytest.mark.parametrize("sharpen", ["auto", PASSES])
@pytest.mark.parametrize("cv", [KFold(3), GroupKFold(4), TimeSeriesSplit(3), list(KFold(2).split(X))])
def test_a_splitter_gives_a_model_of_all_rows(cv, sharpen):
    groups = np.arange(Y.size) // 10 if isinstance(cv, GroupKFold) else None
    classifier = MeasureClassifier(cv=cv, sharpen=sharpen, random_state=0).fit(X, Y, groups=groups)
    again = clone(classifier).fit(X, Y, groups=groups)
    np.testing.assert_array_equal(classifier.coef_, again.coef_)
    assert classifier.score(X, Y) > MeasureClassifier(random_state=0).fit(X, Y).score(X, Y) - 0.03


@pytest.mark.parametrize("sharpen", ["auto", PASSES])
def test_rows_validated_by_time_tell_of_rows_to_come(sharpen):
    rows, y = in_runs()
    shuffled = MeasureClassifier(sharpen=sharpen, random_state=0).fit(rows, y)
    by_time = MeasureClassifier(sharpen=sharpen, cv=TimeSeriesSplit(4), random_state=0).fit(rows, y)
    value = {name: model.measure_.value(*model.rates_) for name, model in (("s", shuffled), ("t", by_time))}
    assert value["t"] < value["s"] - 0.1
    assert by_time.rates_.prevalence == pytest.approx(y[240:].mean())


def test_many_classes_labels_and_weights_of_zero_take_a_splitter():
    codes = np.digitize(X[:, 0] + 0.3 * X[:, 1], [-1.0, 1.0])
    assert MeasureClassifier(cv=TimeSeriesSplit(3), random_state=0).fit(X, codes).score(X, codes) > 0.8
    labels = np.stack([Y, codes == 1], axis=1).astype(int)
    assert len(MeasureClassifier(cv=KFold(3), random_state=0).fit(X, labels).rates_) == 2
    weights = np.where(np.arange(Y.size) < 200, 0.0, 1.0)
    some = MeasureClassifier(cv=KFold(3), random_state=0).fit(X, Y, sample_weight=weights)
    assert some.rates_.prevalence == pytest.approx(Y[200:].mean())


def test_a_model_file_leaves_the_splitter_out(tmp_path):
    classifier = MeasureClassifier(cv=KFold(3), random_state=0).fit(X, Y)
    save_model(classifier, tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops")
    assert loaded.cv is None
    np.testing.assert_array_equal(loaded.decision_function(X), classifier.decision_function(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"cv": RepeatedKFold(n_splits=3, n_repeats=2)}, "holds out some rows in more than one fold"),
        ({"cv": ShuffleSplit(1)}, "gives 1 fold"),
        ({"cv": 1}, "2 folds or more"),
        ({"cv": [(np.arange(600), np.arange(500, 900))] * 2}, "learns from rows that it holds out"),
        ({"cv": 5, "validation_fraction": 0.2}, "give one of them"),
        ({"cv": 5, "threshold": "zero"}, "without sharpening"),
    ],
)
def test_folds_that_cannot_choose_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        MeasureClassifier(**parameters).fit(X, Y)


def test_folds_must_hold_out_both_classes_and_learn_from_both():
    last = np.flatnonzero(Y == 0)[-20:]
    folds = [(np.setdiff1d(np.arange(Y.size), last), half) for half in (last[:10], last[10:])]
    with pytest.raises(ValueError, match="holds out no row of some class"):
        MeasureClassifier(cv=folds).fit(X, Y)
    with pytest.raises(ValueError, match="a fold leaves no row of the positive class"):
        MeasureClassifier(cv=TimeSeriesSplit(3)).fit(X, np.sort(Y))


def test_a_stream_takes_a_number_and_refuses_a_splitter():
    stream = open_stream([(X, Y)])
    with pytest.raises(ValueError, match="A stream has folds of its own"):
        MeasureClassifier(cv=KFold(3)).fit_stream(stream)
    by_number = MeasureClassifier(cv=5, random_state=0).fit_stream(stream)
    by_share = MeasureClassifier(validation_fraction=0.2, random_state=0).fit_stream(open_stream([(X, Y)]))
    np.testing.assert_array_equal(by_number.coef_, by_share.coef_)
    with pytest.raises(ValueError, match="partial_fit has no folds"):
        MeasureClassifier(cv=3).partial_fit(X, Y, classes=[0, 1])
