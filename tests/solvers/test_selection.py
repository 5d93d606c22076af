"""Rows the models have not seen choose between them."""

from __future__ import annotations

import numpy as np
import pytest
from ratewise.solvers.selection_plan import Plan, natural_emphasis

from ratewise.measures import FBeta, GMean, GowerLegendre, MinRate, TPRAtTNR, get_measure
from ratewise.solvers import History, Sharpen, Stamp, best_threshold, sharpen_and_select, steady_threshold
from ratewise.streams import ArrayStream, Standardizer


def stream_of(X, positive, seed=0):
    signs = np.where(positive, 1.0, -1.0)
    return ArrayStream(X, signs, Standardizer(X.shape[1]).update(X), np.random.default_rng(seed), np.float32)


def select(stream, measure, solver=None, share=None, seed=0):
    return sharpen_and_select(
        stream,
        measure,
        solver,
        Sharpen(),
        whitened=True,
        initial=None,
        l2=0.0,
        held_out_share=share,
        rng=np.random.default_rng(seed),
        history=History(),
    )


def noise(n=600, d=60, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.random(n) < share


def test_the_rates_to_expect_are_honest_where_training_rates_would_flatter():
    """Nothing can be learned from noise, though 60 columns fit 600 training rows well."""
    X, positive = noise()
    stream = stream_of(X, positive)
    selected = select(stream, GMean())
    expected = float(GMean().value(*selected.rates))
    flattering = best_threshold(stream.scores(*selected.model), stream.signed_weights, GMean()).value
    assert expected < 0.6
    assert flattering > expected + 0.1


def test_the_choice_prefers_an_early_stage_where_training_longer_overfits():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 200))
    positive = X[:, 0] + 0.5 * rng.standard_normal(400) > 1.2
    stages = select(stream_of(X, positive), FBeta()).stages
    assert not all("sharpened 16" in stage for stage in stages)


def test_an_explicit_solver_is_the_start():
    X, positive = noise(300, 4)
    stages = select(stream_of(X, positive), FBeta(), Stamp(passes=2)).stages
    assert all(stage.startswith("Stamp") for stage in stages)


@pytest.mark.parametrize(
    ("rows", "columns", "share", "expected"),
    [
        (1_000, 5, 0.1, (5, 3, True)),  # few rows, few positives: five folds, drawn three times
        (30_000, 5, 0.1, (5, 1, True)),
        (60_000, 5, 0.001, (2, 1, False)),  # many rows, few positives: two halves
        (60_000, 5, 0.1, (1, 1, False)),  # points in plenty: all rows teach and choose
        (12, 2, 0.25, (3, 3, True)),  # no more folds than points of a class
    ],
)
def test_the_fewer_points_the_more_is_spent_on_the_choice(rows, columns, share, expected):
    positive = np.arange(rows) < share * rows
    stream = stream_of(np.random.default_rng(0).standard_normal((rows, columns)), positive)
    assert tuple(Plan.of(stream, FBeta(), None)) == expected


def test_a_constraint_is_judged_by_models_nearly_as_good_as_the_whole():
    positive = np.arange(60_000) < 60
    stream = stream_of(np.random.default_rng(0).standard_normal((60_000, 5)), positive)
    assert Plan.of(stream, FBeta(), None).folds == 2
    assert Plan.of(stream, TPRAtTNR(0.9), None).folds == 5


def test_the_share_held_out_sets_the_number_of_folds():
    stream = stream_of(*noise())
    assert Plan.of(stream, FBeta(), 0.1).folds == 10
    assert Plan.of(stream, FBeta(), 0.5).folds == 2


@pytest.mark.parametrize("prevalence", [0.001, 0.05, 0.2, 0.9])
def test_the_natural_class_weights_suit_the_measure(prevalence):
    assert natural_emphasis(GowerLegendre(1.0), prevalence) == pytest.approx(0.0)  # accuracy weighs points alike
    assert natural_emphasis(GMean(), prevalence) > 0.8
    assert natural_emphasis(MinRate(), prevalence) in (0.0, 1.0)
    if prevalence < 0.5:
        assert 0.0 < natural_emphasis(FBeta(1.0), prevalence) < 0.5


def test_a_steady_threshold_lies_among_the_good_ones():
    rng = np.random.default_rng(0)
    signs = np.where(np.arange(300) < 30, 1.0, -1.0)
    scores = rng.standard_normal(300) + signs
    for name in ("f1", "gmean", "min"):
        measure = get_measure(name)
        best = best_threshold(scores, signs, measure)
        assert steady_threshold(scores, signs, measure, 0.0) == best.threshold
        steady = steady_threshold(scores, signs, measure, 0.05)
        called = scores > steady
        value = measure.value(called[:30].mean(), 1 - called[30:].mean(), 0.1)
        assert value > best.value - 0.08


def test_a_steady_threshold_varies_less_from_sample_to_sample():
    measure = FBeta(1.0)
    found = {0.0: [], 0.1: []}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        signs = np.where(np.arange(400) < 20, 1.0, -1.0)
        scores = rng.standard_normal(400) + signs
        for tolerance, thresholds in found.items():
            thresholds.append(steady_threshold(scores, signs, measure, tolerance))
    assert np.std(found[0.1]) < 0.8 * np.std(found[0.0])
