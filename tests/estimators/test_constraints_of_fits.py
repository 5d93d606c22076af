"""A fit under a constraint keeps it on new rows, and says so where it cannot."""

from __future__ import annotations

import itertools
import re
import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

from ratewise import (
    ConstraintWarning,
    MeasureClassifier,
    MeasureMaximizer,
    UnknownRateWarning,
    load_model,
    save_model,
)
from ratewise.measures import (
    Constrained,
    CostMatrix,
    PrecisionAtRecall,
    RecallAtAlertRate,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    rates_from_labels,
)


@pytest.fixture(scope="module")
def data():
    """Two clouds that overlap, one row in ten positive, enough rows to tell a rate to 0.005."""
    rng = np.random.default_rng(0)
    y = rng.random(40_000) < 0.1
    X = rng.standard_normal((40_000, 5))
    X[y, :2] += 1.5
    return train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)


def facts_of(classifier, X, y):
    tpr, tnr, p = rates_from_labels(y, classifier.predict(X))
    alerts = p * tpr + (1 - p) * (1 - tnr)
    return {"tpr": tpr, "tnr": tnr, "precision": p * tpr / alerts, "quiet": 1 - alerts}


CASES = [
    (TPRAtTNR(0.99), "tnr", 0.99),
    (TPRAtFPR(0.05), "tnr", 0.95),
    (RecallAtPrecision(0.8), "precision", 0.8),
    (PrecisionAtRecall(0.8), "tpr", 0.8),
    (Constrained("gmean", tnr=0.95), "tnr", 0.95),
    (Constrained("f1", precision=0.8), "precision", 0.8),
    (Constrained(CostMatrix(), precision=0.5), "precision", 0.5),
    (RecallAtAlertRate(0.05), "quiet", 0.95),
    (Constrained("f1", alert_rate=0.05), "quiet", 0.95),
]


@pytest.mark.parametrize("sharpen", ["auto", False])
@pytest.mark.parametrize(("measure", "name", "bound"), CASES, ids=lambda case: str(case)[:30])
def test_the_bound_holds_on_new_rows_and_is_made_use_of(measure, name, bound, sharpen, data):
    """A bound kept with room to spare was paid for with what was to be maximized."""
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier(measure, sharpen=sharpen, random_state=0).fit(X_train, y_train)
    reached = facts_of(classifier, X_test, y_test)[name]
    assert bound - 0.02 < reached < bound + 0.06
    assert classifier.constraints_met_
    assert classifier.rates_.tpr == pytest.approx(facts_of(classifier, X_test, y_test)["tpr"], abs=0.08)


def test_a_bound_that_cannot_be_kept_is_said_with_numbers(data):
    X_train, _, y_train, _ = data
    numbers = r"a precision of at least 0\.9.*expect a TPR of 0\.\d+, a TNR of"
    with pytest.warns(ConstraintWarning, match=numbers) as warned:
        classifier = MeasureClassifier(RecallAtPrecision(0.9), random_state=0).fit(X_train[:, 2:], y_train)
    assert not classifier.constraints_met_
    assert warned[0].filename == __file__, "the warning points at the caller's line"


def test_two_bounds_that_exclude_each_other_are_said(data):
    X_train, X_test, y_train, y_test = data
    with pytest.warns(ConstraintWarning, match="a TPR of at least 0.95 .* and a TNR of at least 0.95"):
        classifier = MeasureClassifier(Constrained("f1", tpr=0.95, tnr=0.95), random_state=0).fit(X_train, y_train)
    facts = facts_of(classifier, X_test, y_test)
    assert 0.75 < facts["tpr"] < 0.94, "the nearest cut shares the shortfall out"
    assert 0.85 < facts["tnr"] < 0.94


def test_a_measure_without_bounds_neither_meets_nor_misses_them(data, tmp_path):
    X_train, _, y_train, _ = data
    for measure in ("gmean", lambda tpr, tnr: min(tpr, tnr)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            classifier = MeasureClassifier(measure, random_state=0).fit(X_train[:500], y_train[:500])
            maximizer = MeasureMaximizer(LogisticRegression(), measure, cv=2).fit(X_train[:500], y_train[:500])
        assert classifier.constraints_met_ is None
        assert maximizer.constraints_met_ is None
    saved = MeasureClassifier("gmean", random_state=0).fit(X_train[:500], y_train[:500])
    save_model(saved, tmp_path / "model.skops")
    assert load_model(tmp_path / "model.skops").constraints_met_ is None


@pytest.mark.parametrize("target", [None, 0.01])
def test_the_warning_states_the_rates_that_the_model_states(target):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 5))
    y = rng.random(2000) < 1 / (1 + np.exp(3 - 0.5 * X[:, 0]))
    classifier = MeasureClassifier(RecallAtPrecision(0.3), random_state=0)
    with pytest.warns(ConstraintWarning) as caught:
        rates = classifier.fit(X, y, target_prevalence=target).rates_
    said = f"expect a TPR of {rates.tpr:.3g}, a TNR of {rates.tnr:.4g} and a precision of {rates.precision:.3g}."
    message = str(caught[0].message)
    assert said in message
    promised = float(re.search(r"is a precision of at least (\S+)\. ", message)[1])
    assert promised < 0.3  # what was asked for, at the same prevalence


@pytest.mark.parametrize("options", [{}, {"sharpen": False}], ids=["sharpened", "plain"])
def test_a_single_positive_row_tells_nothing_of_the_tpr(options):
    X = np.random.default_rng(0).standard_normal((300, 4))
    y = np.arange(300) == 7
    with pytest.warns(UnknownRateWarning, match="only one positive row"):
        classifier = MeasureClassifier("f1", random_state=0, **options).fit(X, y)
    assert classifier.rates_interval_.tpr == (0.0, 1.0)
    low, high = classifier.rates_interval_.value
    assert low == 0.0
    assert low <= classifier.measure_.value(*classifier.rates_) <= high


def test_a_threshold_left_at_zero_is_checked_too(data):
    X_train, _, y_train, _ = data
    with pytest.warns(ConstraintWarning):
        MeasureClassifier(TPRAtTNR(0.99), solver="spade", threshold="zero", random_state=0).fit(
            X_train, np.roll(y_train, 1)
        )


def test_partial_fit_tells_by_the_attribute_alone(data):
    X_train, X_test, y_train, y_test = data
    classifier = MeasureClassifier(TPRAtTNR(0.9), random_state=0)
    classifier.partial_fit(X_train[:20], y_train[:20], classes=[False, True])
    met = [classifier.constraints_met_]
    for part in np.array_split(np.arange(len(y_train)), 5):
        classifier.partial_fit(X_train[part], y_train[part])
        met.append(classifier.constraints_met_)
    assert met[-1]
    assert facts_of(classifier, X_test, y_test)["tnr"] == pytest.approx(0.9, abs=0.02)


def test_spade_takes_recall_at_precision_at_a_known_prevalence(data):
    X_train, X_test, y_train, y_test = data
    measure = RecallAtPrecision(0.8)
    with pytest.raises(ValueError, match=r"measure\.at_prevalence\(p\), here p = 0\.1"):
        MeasureClassifier(measure, solver="spade").fit(X_train, y_train)
    bound = measure.at_prevalence(float(y_train.mean()))
    classifier = MeasureClassifier(bound, solver="spade", sharpen=False, random_state=0).fit(X_train, y_train)
    assert 0.79 < facts_of(classifier, X_test, y_test)["precision"] < 0.86


def test_copies_of_rows_tell_no_more_than_one_of_each(data):
    X, y = data[0][:1_500], data[2][:1_500]
    times = [np.repeat(one, 4, axis=0) for one in (X, y, np.arange(1_500))]
    once = MeasureClassifier(TPRAtTNR(0.9), random_state=0).fit(X, y)
    for groups in (None, times[2]):
        copied = MeasureClassifier(TPRAtTNR(0.9), random_state=0).fit(*times[:2], groups=groups)
        assert np.ptp(copied.rates_interval_.tpr) == pytest.approx(np.ptp(once.rates_interval_.tpr), rel=0.1)
        assert copied.rates_.tnr == pytest.approx(once.rates_.tnr, abs=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("rows", [3_000, 12_000])
def test_intervals_of_yes_or_no_columns_hold_the_true_rates(rows):
    """Each of 64 different rows is predicted positive or negative as a whole, so that its true rates are exact."""
    shares = np.array([[0.2, 0.25, 0.3, 0.3, 0.3, 0.3], [0.8, 0.7, 0.6, 0.5, 0.3, 0.3]])
    cells = np.array(list(itertools.product([0.0, 1.0], repeat=6)))
    of_negatives, of_positives = (np.prod(np.where(cells == 1, share, 1.0 - share), axis=1) for share in shares)
    held = np.zeros(2, dtype=int)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        y = rng.random(rows) < 0.15
        X = (rng.random((rows, 6)) < shares[y.astype(int)]).astype(float)
        fitted = MeasureClassifier("min", random_state=seed).fit(X, y)
        called = fitted.predict(cells)
        true = of_positives[called].sum(), of_negatives[~called].sum()
        ends = fitted.rates_interval_[:2]
        held += [low <= rate <= high for rate, (low, high) in zip(true, ends, strict=True)]
    assert held.min() >= 36


def test_a_higher_confidence_is_kept_by_more_and_none_by_the_margin(data):
    X_train, _, y_train, _ = data
    tnr = [
        MeasureClassifier(TPRAtTNR(0.95, confidence=sure), random_state=0).fit(X_train, y_train).rates_.tnr
        for sure in (None, 0.9, 0.999)
    ]
    assert 0.95 < tnr[0] < tnr[1] < tnr[2] < 0.962


@pytest.mark.parametrize(("confidence", "message"), [(1.0, "confidence must be"), ("high", "confidence must be")])
def test_a_confidence_that_is_none_is_refused(confidence, message):
    for measure in (TPRAtTNR, TPRAtFPR, RecallAtPrecision, PrecisionAtRecall):
        with pytest.raises(ValueError, match=message):
            measure(confidence=confidence)
    with pytest.raises(ValueError, match=message):
        Constrained("f1", tnr=0.9, confidence=confidence)
