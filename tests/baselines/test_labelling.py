"""The most violated labelling against all labellings, and the properties its search relies on."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.baselines import labelling
from ratewise.baselines.labelling import most_violated_table, table_loss, table_loss_of
from ratewise.measures import (
    FBeta,
    FunctionMeasure,
    GMean,
    GowerLegendre,
    HMean,
    MinRate,
    PseudoLinear,
    PseudoLinearMeasure,
    QMean,
    get_measure,
    measure_names,
)

quick = settings(deadline=None, max_examples=40)


def has_fast_search(measure):
    return isinstance(measure, (PseudoLinearMeasure, MinRate, QMean, GMean, HMean))


MEASURES = [
    *(measure for measure in map(get_measure, measure_names()) if has_fast_search(measure)),
    FBeta(0.1),
    GowerLegendre(2.0),
    PseudoLinear((0.0, 0.0, 1.0), (1.2, -0.5, 0.5)),
    PseudoLinear((0.0, -1.0, 0.0), (-1.5, 0.0, 0.5)),
]
every_measure = pytest.mark.parametrize("measure", MEASURES, ids=repr)
# Few different scores, so that ties are common; or any; small ones, which the loss outweighs; or large.
scores = st.one_of(st.integers(-3, 3).map(float), st.floats(-0.01, 0.01), st.floats(-100.0, 100.0))


@st.composite
def two_classes(draw, most):
    """Positives lowest first, negatives highest first, at least one of each."""
    positives = draw(st.lists(scores, min_size=1, max_size=most - 1))
    negatives = draw(st.lists(scores, min_size=1, max_size=most - len(positives)))
    return np.sort(positives), np.sort(negatives)[::-1]


def search(measure, positives, negatives):
    prevalence = positives.size / (positives.size + negatives.size)
    return most_violated_table(table_loss_of(measure, prevalence), positives, negatives)


@cache
def all_labellings(n):
    """Which points each of the 2^n labellings gets wrong."""
    return np.array(list(itertools.product([0.0, 1.0], repeat=n)))


def best_of_all_labellings(measure, positives, negatives):
    """max over all 2^n labellings of the loss less the mean of y * score over what they get wrong."""
    signed = np.concatenate([positives, -negatives])
    wrong = all_labellings(signed.size)
    tpr = 1.0 - wrong[:, : positives.size].mean(axis=1)
    tnr = 1.0 - wrong[:, positives.size :].mean(axis=1)
    losses = 1.0 - measure.value(tpr, tnr, positives.size / signed.size)
    return float(np.max(losses - wrong @ signed / signed.size))


def all_tables(measure, positives, negatives):
    """The value of every table: the scan over n_pos * n_neg of them that the search does without."""
    n = positives.size + negatives.size
    tpr = 1.0 - np.arange(positives.size + 1) / positives.size
    tnr = 1.0 - np.arange(negatives.size + 1) / negatives.size
    given_up = np.concatenate([[0.0], np.cumsum(positives)]) / n
    gained = np.concatenate([[0.0], np.cumsum(negatives)]) / n
    losses = 1.0 - measure.value(tpr[:, np.newaxis], tnr[np.newaxis, :], positives.size / n)
    return losses - given_up[:, np.newaxis] + gained[np.newaxis, :]


@every_measure
@quick
@given(classes=two_classes(most=12))
def test_no_labelling_of_twelve_points_is_violated_more(measure, classes):
    found = search(measure, *classes)[2]
    assert found == pytest.approx(best_of_all_labellings(measure, *classes), rel=1e-9, abs=1e-9)


@every_measure
@pytest.mark.parametrize("scale", [0.01, 1.0, 30.0])
@pytest.mark.parametrize(("n_positive", "n_negative"), [(40, 400), (300, 200), (1, 300), (300, 1)])
def test_no_table_of_some_hundred_points_has_a_higher_value(measure, scale, n_positive, n_negative):
    rng = np.random.default_rng(n_positive)
    for _ in range(3):
        positives = np.sort(scale * rng.normal(0.7, 1.0, n_positive))
        negatives = np.sort(scale * rng.normal(-0.7, 1.0, n_negative))[::-1]
        values = all_tables(measure, positives, negatives)
        missed, raised, value = search(measure, positives, negatives)
        assert value == pytest.approx(values.max(), rel=1e-11)
        assert values[missed, raised] == pytest.approx(value, rel=1e-11)


@every_measure
@quick
@given(tpr=st.floats(0.0, 1.0), tnr=st.floats(0.0, 1.0), prevalence=st.floats(0.001, 0.999))
def test_the_compiled_loss_is_one_minus_the_measure(measure, tpr, tnr, prevalence):
    found = table_loss(table_loss_of(measure, prevalence), tpr, tnr)
    assert found == pytest.approx(1.0 - float(measure.value(tpr, tnr, prevalence)), abs=1e-9)


@every_measure
@pytest.mark.parametrize("prevalence", [0.001, 0.1, 0.5, 0.9])
def test_the_loss_has_the_property_its_search_relies_on(measure, prevalence):
    loss = table_loss_of(measure, prevalence)
    rates = np.linspace(1.0, 0.0, 61)  # rates fall as errors grow
    losses = 1.0 - measure.value(rates[:, np.newaxis], rates[np.newaxis, :], prevalence)
    if loss.transposed:
        losses = losses.T
    assert (np.diff(losses, axis=0) >= -1e-12).all()
    assert (np.diff(losses, axis=1) >= -1e-12).all()
    if loss.concave:
        assert (np.diff(losses, n=2, axis=1) <= 1e-12).all()
    else:
        mixed = np.diff(np.diff(losses, axis=0), axis=1)
        assert ((mixed if loss.rising else -mixed) >= -1e-12).all()


def test_both_searches_and_both_orders_of_the_classes_are_in_use():
    kinds = {table_loss_of(measure, 0.2)[3:] for measure in MEASURES}
    assert {concave for concave, _, _ in kinds} == {True, False}
    assert {rising for concave, rising, _ in kinds if not concave} == {True, False}
    assert {transposed for concave, _, transposed in kinds if concave} == {True, False}


@pytest.mark.parametrize("name", ["f1", "jaccard", "qmean", "min", "gmean"])
@pytest.mark.parametrize("prevalence", [0.05, 0.5])
def test_the_search_looks_at_some_n_log_n_tables(name, prevalence, monkeypatch):
    looks = 0

    def counted(loss, row, column, n_rows, n_columns):
        nonlocal looks
        looks += 1
        return table_loss(loss, 1.0 - row / n_rows, 1.0 - column / n_columns)

    monkeypatch.setattr(labelling, "_loss_of_errors", counted)
    n = 4000
    n_positive = int(prevalence * n)
    rng = np.random.default_rng(0)
    # Scores so small that no table can be ruled out beforehand.
    rows = np.concatenate([[0.0], np.cumsum(-np.sort(1e-9 * rng.normal(size=n_positive)))])
    columns = np.concatenate([[0.0], np.cumsum(np.sort(1e-9 * rng.normal(size=n - n_positive))[::-1])])
    loss = table_loss_of(get_measure(name), prevalence)
    run = labelling.concave_search if loss.concave else labelling.monotone_search
    run.py_func(loss, rows, columns)
    assert looks <= 3 * n * math.log2(n)  # there are n^2 / 4 tables at most, 28 times as many


@pytest.mark.parametrize("name", ["f1", "jaccard", "qmean", "min", "gmean"])
def test_a_hundred_thousand_points_are_no_matter_and_no_neighbouring_table_is_better(name):
    rng = np.random.default_rng(0)
    positives = np.sort(rng.normal(0.5, 1.0, 30_000))
    negatives = np.sort(rng.normal(-0.5, 1.0, 70_000))[::-1]
    measure, n = get_measure(name), 100_000
    missed, raised, value = search(measure, positives, negatives)

    def value_at(i, j):
        loss = 1.0 - measure.value(1.0 - i / positives.size, 1.0 - j / negatives.size, positives.size / n)
        return loss - positives[:i].sum() / n + negatives[:j].sum() / n

    assert value == pytest.approx(value_at(missed, raised), rel=1e-9)
    for i, j in itertools.product([-100, -1, 0, 1, 100], repeat=2):
        near = min(max(missed + i, 0), positives.size), min(max(raised + j, 0), negatives.size)
        assert value_at(*near) <= value + 1e-12


def test_narrow_scores_are_searched_like_wide_ones():
    positives, negatives = np.array([-1.0, 0.5, 2.0]), np.array([1.0, 0.25, -3.0])
    narrow = search(get_measure("f1"), positives.astype(np.float32), negatives.astype(np.float32))
    assert narrow == pytest.approx(search(get_measure("f1"), positives, negatives))


def test_a_measure_without_a_fast_search_is_refused_with_what_can_be_done():
    youden = FunctionMeasure(lambda tpr, tnr: tpr + tnr - 1.0)
    with pytest.raises(ValueError, match="PlugIn takes any measure"):
        table_loss_of(youden, 0.5)


def test_a_ratio_that_falls_with_a_rate_is_refused():
    with pytest.raises(ValueError, match="must reward what is right"):
        table_loss_of(PseudoLinear((1.0, -1.0, 0.5), (2.0, 0.0, 0.0)), 0.5)
