"""A model for a share of positives other than that of the training rows."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import cross_validate

from ratewise import MeasureClassifier
from ratewise.measures import (
    FBeta,
    Measure,
    PseudoLinearMeasure,
    at_prevalence,
    get_measure,
    measure_names,
)


def drawn(n, prevalence, seed):
    """Two classes that overlap, mixed as asked; the classes themselves are always the same."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < prevalence).astype(int)
    X = rng.normal(size=(n, 3)) * np.where(y[:, None] == 1, 1.5, 1.0)
    X[:, 0] += 1.5 * y
    return X, y


@pytest.mark.parametrize("sharpen", [True, False])
def test_the_training_share_itself_changes_nothing(sharpen):
    X, y = drawn(2_000, 0.3, seed=0)
    plain = MeasureClassifier("f1", sharpen=sharpen, random_state=0).fit(X, y)
    same = MeasureClassifier("f1", sharpen=sharpen, random_state=0).fit(
        X, y, target_prevalence=plain.rates_.prevalence
    )
    np.testing.assert_array_equal(same.coef_, plain.coef_)
    np.testing.assert_array_equal(same.intercept_, plain.intercept_)


@pytest.mark.parametrize(
    ("name", "sharpen"),
    [("mcc", True)] + [(name, sharpen) for name in ("f1", "jaccard", "kappa") for sharpen in (True, False)],
)
def test_a_measure_is_higher_where_the_model_is_meant_for(name, sharpen):
    X, y = drawn(3_000, 0.5, seed=0)
    X_there, y_there = drawn(60_000, 0.02, seed=1)
    plain, meant = (
        MeasureClassifier(name, sharpen=sharpen, random_state=0).fit(X, y, target_prevalence=target)
        for target in (None, 0.02)
    )
    assert meant.score(X_there, y_there) > plain.score(X_there, y_there) + 0.03
    assert meant.rates_.prevalence == 0.02
    assert plain.rates_.prevalence == pytest.approx(0.5, abs=0.03)


def test_the_rates_and_the_value_hold_there():
    X, y = drawn(4_000, 0.5, seed=2)
    X_there, y_there = drawn(60_000, 0.05, seed=3)
    classifier = MeasureClassifier("f1", random_state=0).fit(X, y, target_prevalence=0.05)
    expected = float(classifier.measure_.value(*classifier.rates_))
    assert classifier.measure_ == FBeta(1.0)
    assert classifier.score(X_there, y_there) == pytest.approx(expected, abs=0.04)


@pytest.mark.parametrize("bad", [0, 1, 0.0, 1.0, -0.1, 1.5, np.nan, "rare", True])
def test_what_is_no_share_is_refused(bad):
    X, y = drawn(60, 0.5, seed=0)
    with pytest.raises(ValueError, match="target_prevalence must be the share of positives"):
        MeasureClassifier().fit(X, y, target_prevalence=bad)


@pytest.mark.parametrize(
    "y", [np.arange(60) % 3, np.eye(3, dtype=int)[np.arange(60) % 3]], ids=["classes", "labels"]
)
def test_many_classes_and_labels_have_no_one_prevalence(y):
    X, _ = drawn(60, 0.5, seed=0)
    with pytest.raises(ValueError, match="target_prevalence is for two classes"):
        MeasureClassifier().fit(X, y, target_prevalence=0.1)


def test_it_is_routed_as_metadata():
    X, y = drawn(300, 0.5, seed=0)
    with sklearn.config_context(enable_metadata_routing=True):
        classifier = MeasureClassifier("f1", sharpen=False, random_state=0).set_fit_request(target_prevalence=True)
        found = cross_validate(classifier, X, y, cv=2, params={"target_prevalence": 0.1}, return_estimator=True)
    assert [one.rates_.prevalence for one in found["estimator"]] == [0.1, 0.1]


@pytest.mark.parametrize("name", measure_names())
def test_a_measure_at_a_prevalence_is_the_measure_there_whatever_prevalence_is_given(name):
    measure = get_measure(name)
    there = at_prevalence(measure, 0.2)
    assert isinstance(there, Measure)
    assert isinstance(there, PseudoLinearMeasure) is isinstance(measure, PseudoLinearMeasure)  # the same family
    assert (there.smooth, there.monotone) == (measure.smooth, measure.monotone)
    for tpr, tnr in [(0.3, 0.9), (0.8, 0.85)]:
        assert there.value(tpr, tnr, 0.7) == pytest.approx(measure.value(tpr, tnr, 0.2))
        assert there.slopes(tpr, tnr, 0.7) == pytest.approx(measure.slopes(tpr, tnr, 0.2), rel=1e-4)
    assert there.constraints(0.7) == measure.constraints(0.2)
    assert there.scale(0.7) == measure.scale(0.2)
