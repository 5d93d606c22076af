"""A monitor tells the measure on recent rows, and says in a sentence when a bound no longer holds."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise import Monitor
from ratewise.measures import (
    Bound,
    Constrained,
    Jaccard,
    RecallAtAlertRate,
    RecallAtPrecision,
    TPRAtTNR,
    get_measure,
)


def predicted_positives(precision, n, seed):
    """True labels of rows that were all predicted positive."""
    return np.random.default_rng(seed).random(n) < precision, np.ones(n, dtype=bool)


def rows_with_rates(tpr, tnr, n, seed, share=0.3):
    rng = np.random.default_rng(seed)
    true = rng.random(n) < share
    return true, np.where(true, rng.random(n) < tpr, rng.random(n) >= tnr)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1_000), st.sampled_from(["f1", "gmean", "min", "mcc", "accuracy"]))
def test_without_forgetting_the_value_is_that_of_all_rows(seed, name):
    true, predicted = rows_with_rates(0.7, 0.9, 200, seed)
    monitor = Monitor(name, half_life=1e12).update(true, predicted)
    assert monitor.value == pytest.approx(get_measure(name).score(true, predicted, pos_label=True))
    low, high = monitor.interval
    assert low <= monitor.value <= high


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1_000), st.lists(st.integers(0, 300), max_size=6))
def test_the_size_of_batches_changes_nothing(seed, cuts):
    true, predicted = rows_with_rates(0.6, 0.9, 300, seed)
    at_once = Monitor(RecallAtPrecision(0.9)).update(true, predicted)
    piecewise = Monitor(RecallAtPrecision(0.9))
    for part in np.split(np.arange(300), sorted(cuts)):
        piecewise.update(true[part], predicted[part])
    assert piecewise.value == pytest.approx(at_once.value)
    assert piecewise.history_["evidence"][-1] == pytest.approx(at_once.history_["evidence"][-1], rel=1e-6)
    assert (piecewise.alarm is None) == (at_once.alarm is None)


@pytest.mark.parametrize("name", ["f1", "f0.5", "jaccard", "tversky", "kappa", "gower-legendre"])
def test_perfect_predictions_are_worth_1_and_no_more(name):
    values = {Monitor(name).update(true, true).value for true in (np.arange(60) < n for n in range(1, 60))}
    assert max(values) <= 1.0
    assert min(values) == pytest.approx(1.0)


def test_old_rows_are_forgotten():
    monitor = Monitor("accuracy", half_life=100).update(np.ones(1_000), np.zeros(1_000))
    assert monitor.value == 0.0
    monitor.update(np.ones(1_000), np.ones(1_000))
    assert monitor.value > 0.99


@pytest.mark.parametrize(("precision", "most"), [(0.85, 408), (0.80, 179), (0.60, 45)])
def test_a_fall_is_noticed_within_a_few_rows(precision, most):
    """Delays in rows predicted positive, after a precision of 0.92 that had to be 0.9."""
    delays = []
    for seed in range(100):
        monitor = Monitor(RecallAtPrecision(0.9)).update(*predicted_positives(0.92, 2_000, seed)).reset()
        monitor.update(*predicted_positives(0.92, 300, 500 + seed))
        monitor.update(*predicted_positives(precision, 2_500, 1_000 + seed))
        delays.append(monitor.alarm_row_ - 2_300)
    assert np.mean(delays) <= most


def test_false_alarms_are_as_rare_as_stated_at_the_bound_itself():
    every, rows = 2_000, []
    for seed in range(200):
        monitor = Monitor(RecallAtPrecision(0.9), false_alarm_every=every)
        while monitor.alarm is None:
            monitor.update(*predicted_positives(0.9, 5_000, 1_000 * seed + monitor.n_rows_ // 5_000))
        rows.append(monitor.alarm_row_)
    assert np.mean(rows) + 2.0 * np.std(rows) / np.sqrt(len(rows)) >= every


@pytest.mark.parametrize(
    ("watched", "words"),
    [
        (TPRAtTNR(0.97), "TNR 0.97 no longer holds: 0.9"),
        (Constrained("f1", tpr=0.8), "TPR 0.8 no longer holds: 0.7"),
        (RecallAtAlertRate(0.2), "share of rows predicted positive at most 0.2 no longer holds: 0.2"),
        (Bound((None, 1), (None, None), 0.1, at_least=False), "at most 0.1 no longer holds: 0.2"),
    ],
)
def test_an_alarm_says_what_no_longer_holds(watched, words):
    monitor = Monitor(watched).update(*rows_with_rates(0.72, 0.93, 5_000, 1))
    assert words in monitor.alarm
    assert " over the last " in monitor.alarm
    assert monitor.reset().alarm is None


@pytest.mark.parametrize("measure", ["f1", "f2", Jaccard()])
def test_a_ratio_of_counts_can_be_watched(measure):
    true, predicted = rows_with_rates(0.8, 0.95, 20_000, 3)
    level = get_measure(measure).score(true, predicted, pos_label=True)
    assert Monitor(measure, at_least=level - 0.05).update(true, predicted).alarm is None
    assert "no longer holds" in Monitor(measure, at_least=level + 0.05).update(true, predicted).alarm


def test_rows_of_weight_zero_are_as_if_not_there_and_no_rows_are_taken():
    true, predicted = rows_with_rates(0.7, 0.9, 400, 2)
    weights = np.tile([1.0, 0.0], 200)
    weighted = Monitor(RecallAtPrecision(0.9), half_life=1e12).update(true, predicted, sample_weight=weights)
    alone = Monitor(RecallAtPrecision(0.9), half_life=1e12).update(true[::2], predicted[::2]).update([], [])
    assert weighted.value == pytest.approx(alone.value)
    assert weighted.history_["evidence"][-1] == pytest.approx(alone.history_["evidence"][-1])


def test_memory_does_not_grow_with_the_rows():
    monitor = Monitor(RecallAtPrecision(0.9))
    for _ in range(2_500):
        monitor.update([1, 0, 1], [1, 1, 0])
    assert monitor.n_rows_ == 7_500
    assert len(monitor.history_["rows"]) <= 2_000
    assert len(pickle.dumps(monitor)) < 100_000


def test_before_the_first_row_nothing_is_known():
    monitor = Monitor("f1")
    assert np.isnan([monitor.value, *monitor.interval]).all()
    assert monitor.alarm is None


def test_texts_need_the_name_of_the_positive_class():
    with pytest.raises(ValueError, match="pos_label="):
        Monitor("f1").update(["fraud", "ok"], ["ok", "ok"])
    monitor = Monitor("accuracy", pos_label="fraud", half_life=1e9).update(["fraud", "ok"], ["ok", "ok"])
    assert monitor.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"half_life": 0}, "half_life must be a number above 0"),
        ({"false_alarm_every": 1}, "false_alarm_every must be a number above 1"),
        ({"at_least": 1.5}, "at_least must lie between 0 and 1"),
        ({"measure": "gmean", "at_least": 0.5}, "is neither"),
        ({"measure": Bound((1, 1), (1, None), 0.5), "at_least": 0.5}, "its own level"),
    ],
)
def test_what_cannot_be_watched_is_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        Monitor(**arguments)


@pytest.mark.parametrize(
    ("batch", "words"),
    [
        (([1, 0], [1]), "y_true has 2 labels and y_pred 1"),
        (([1, 2], [1, 0]), "other labels than 0 and 1"),
        (([[1]], [[1]]), "one-dimensional"),
        (([1], [1], [-1.0]), "sample_weight"),
        (([1], [1], [np.nan]), "sample_weight"),
    ],
)
def test_a_bad_batch_is_refused_and_changes_nothing(batch, words):
    monitor = Monitor("f1").update([1, 0], [1, 0])
    with pytest.raises(ValueError, match=words):
        monitor.update(*batch)
    assert monitor.n_rows_ == 2


def test_a_positive_label_of_another_type_is_refused():
    with pytest.raises(ValueError, match="pos_label='1' and y_true, with 1, are of different types"):
        Monitor("f1", pos_label="1").update([1, 0], [1, 0])
