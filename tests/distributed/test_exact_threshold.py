"""Thresholds over all shards are exact, not averaged."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ratewise.distributed.counting import CountCalled
from ratewise.distributed.exact import exact_threshold
from ratewise.distributed.scores import ScoredByAll, keys_of, score_of
from ratewise.distributed.statistics import MakeReady, Sign

from ratewise.distributed import ArrayShard, LocalEngine
from ratewise.measures import get_measure
from ratewise.solvers import LinearModel, best_threshold, rates_at
from ratewise.streams import Standardizer, effective_points, summarize

IDENTITY = LinearModel(np.ones(1), 0.0)


def engine_of(scores, y, weights=None, parts=3):
    X = np.asarray(scores, dtype=np.float32).reshape(-1, 1)
    split = np.array_split(np.arange(len(y)), parts)
    shares = np.ones(len(y)) if weights is None else weights
    engine = LocalEngine([ArrayShard(X[part], y[part], shares[part]) for part in split if part.size])
    engine.prepare(Sign(True, 1.0))
    engine.prepare(MakeReady(Standardizer(1, active=False), False, 0))
    return engine


def signed(y, weights=None):
    return np.where(y, 1.0, -1.0).astype(np.float32) * (1.0 if weights is None else weights)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["f1", "min", "gmean", "jaccard", "qmean"]), st.integers(1, 4))
def test_the_threshold_is_the_best_of_all_cuts(seed, name, digits):
    rng = np.random.default_rng(seed)
    measure, n = get_measure(name), int(rng.integers(4, 400))
    y = np.arange(n) % 4 == 0
    scores = np.round(rng.normal(size=n) + y - 0.7, digits).astype(np.float32)  # rounded, so that some are equal
    found = exact_threshold(engine_of(scores, y), ((0, IDENTITY),), measure, effective_points(signed(y)))
    best = best_threshold(scores, signed(y), measure)
    assert found.value == pytest.approx(best.value, abs=1e-12)
    assert measure.value(*rates_at(scores, signed(y), found.threshold)) == pytest.approx(best.value, abs=1e-12)


def test_the_threshold_is_exact_among_a_hundred_thousand_scores_of_uneven_weight():
    rng = np.random.default_rng(1)
    y = rng.random(100_000) < 0.02
    weights = rng.integers(1, 4, y.size).astype(np.float32)
    scores = (rng.normal(size=y.size) + 2.0 * y).astype(np.float32)
    measure = get_measure("f1")
    points = effective_points(signed(y, weights))
    found = exact_threshold(engine_of(scores, y, weights, 5), ((0, IDENTITY),), measure, points)
    best = best_threshold(scores, signed(y, weights), measure)
    assert found.value == pytest.approx(best.value, abs=1e-12)
    assert found.threshold == best.threshold


def test_a_measure_that_no_rate_bounds_is_cut_at_least_as_well_as_at_sixteen_bits():
    rng = np.random.default_rng(2)
    y = rng.random(20_000) < 0.1
    scores = (rng.normal(size=y.size) + 2.0 * y).astype(np.float32)
    measure = get_measure("mcc")
    found = exact_threshold(engine_of(scores, y), ((0, IDENTITY),), measure, effective_points(signed(y)))
    assert found.value >= best_threshold(scores, signed(y), measure).value - 1e-3


def test_the_level_is_counted_over_all_shards():
    y = np.array([True, False, True, False, True, True])
    engine = engine_of([1.0, 1.0, -1.0, -2.0, 3.0, 0.5], y, parts=4)
    rates = engine.ask(CountCalled(((0, IDENTITY),))).rates()
    assert rates == pytest.approx((0.75, 0.5, 4 / 6))


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=2, max_size=20))
def test_keys_are_in_the_order_of_the_scores_and_lead_back_to_them(values):
    scores = np.array(values, dtype=np.float32) + np.float32(0.0)
    keys = keys_of(scores)
    np.testing.assert_array_equal(np.argsort(keys, kind="stable"), np.argsort(scores, kind="stable"))
    assert [score_of(int(key)) for key in keys] == scores.tolist()


def test_bins_stand_for_their_rows():
    rng = np.random.default_rng(3)
    y = rng.random(50_000) < 0.2
    scores = (10.0 + rng.normal(size=y.size) + y).astype(np.float32)
    engine = engine_of(scores, y)
    scored = ScoredByAll(engine, 0, summarize(scores.reshape(-1, 1), signed(y)))
    middles = scored.scores(*IDENTITY)
    measure = get_measure("f1")
    by_bins = best_threshold(middles, scored.signed_weights, measure)
    exact = best_threshold(scores, signed(y), measure)
    assert by_bins.value == pytest.approx(exact.value, abs=2e-3)
    assert scored.spread.mean == pytest.approx(scores.mean(), rel=1e-6)
    assert np.abs(scored.signed_weights).sum() == y.size
