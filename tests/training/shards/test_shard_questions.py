"""Answers of shards, merged, are those of all rows."""

from __future__ import annotations

import pickle
from functools import reduce

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise.decisions.cuts import ScoreBins
from ratewise.distributed import LocalEngine
from ratewise.distributed.inputs import ArrayShard
from ratewise.kernels import fold_of_each_row
from ratewise.measures import get_measure
from ratewise.rewards import Hinge, Sigmoid
from ratewise.solvers import LinearModel, best_threshold, rates_at
from ratewise.solvers.base import leverage_settings
from ratewise.solvers.learner import Learner
from ratewise.solvers.requests import Learn
from ratewise.solvers.state import RowTotals
from ratewise.training.answers import WeightedReward
from ratewise.training.shards.engine import merge
from ratewise.training.shards.questions import (
    BinCounts,
    CountPredicted,
    CountScores,
    FetchScores,
    LimitRows,
    LocalPass,
    MakeReady,
    TakeSlope,
    TakeSpread,
    TakeSummaries,
)
from ratewise.training.shards.statistics import (
    CountFolds,
    CountLabels,
    FetchRows,
    Label,
    TakeCovariance,
    TakeMoments,
)
from ratewise.transforms import Standardizer, Whitener

MODEL = LinearModel(np.linspace(-1.0, 1.0, 6), 0.25)
DENSE_AND_SPARSE = pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])


def shards(X, y, number, weights=None):
    parts = np.array_split(np.arange(len(y)), number)
    return [
        ArrayShard(X[part], y[part], None if weights is None else weights[part], f"Partition {number}")
        for number, part in enumerate(parts)
    ]


def signed(X, y, number, weights=None):
    engine = LocalEngine(shards(X, y, number, weights))
    engine.prepare(Label((False, True), 1.0))
    return engine


def ready(X, y, number, weights=None, folds=1):
    engine = signed(X, y, number, weights)
    engine.prepare(MakeReady(Standardizer(X.shape[1]).update(X), folds, 0))
    return engine


@DENSE_AND_SPARSE
def test_statistics_of_shards_are_those_of_all_rows(rows, form):
    X, y = rows
    X = form(X)
    engine = LocalEngine(shards(X, y, 7))
    counts = engine.ask(CountLabels())
    assert counts.rows == len(y)
    assert counts.labels[True].rows == y.sum()
    engine.prepare(Label((False, True), 1.0))
    merged, whole = engine.ask(TakeMoments(True)), Standardizer(6).update(X)
    np.testing.assert_allclose(merged.scale, whole.scale, rtol=1e-12)
    np.testing.assert_allclose(merged.centre, whole.centre, rtol=1e-6)
    engine.prepare(MakeReady(merged, 1, 0))
    summary = engine.ask(TakeSummaries()).folds[0]
    assert (summary.points, summary.positive_weight) == (len(y), y.sum())


def test_weights_are_counted_by_class_and_rows_of_weight_0_go(rows):
    X, y = rows
    weights = np.where(y, 3.0, np.arange(len(y)) % 2)
    engine = LocalEngine(shards(X, y, 3, weights))
    counts = engine.ask(CountLabels()).labels
    assert counts[True] == (y.sum(), 3.0 * y.sum(), 9.0 * y.sum())
    assert counts[False].rows == counts[False].weight == weights[~y].sum()
    engine.prepare(Label((False, True), 0.5))
    found = engine.ask(FetchRows((1.0, 1.0), 0)).together().targets
    np.testing.assert_array_equal(found, (np.where(y, weights, -weights) * 0.5)[weights > 0])


def test_whitening_by_merged_covariances_is_that_of_all_rows(rows):
    X, y = rows
    engine = signed(X, y, 5)
    standardizer = engine.ask(TakeMoments(True))
    covariance = engine.ask(TakeCovariance(standardizer, 1.0, 0))
    assert covariance.rows == len(y)
    merged = Whitener(standardizer, covariance.products / covariance.rows)
    whole = Whitener.of_rows(standardizer, X, np.random.default_rng(0))
    order = np.arange(100)
    np.testing.assert_allclose(
        merged.transform(X, order, np.float32), whole.transform(X, order, np.float32), atol=2e-3
    )


def test_equal_rows_fall_into_the_same_fold_in_every_partition(rows):
    X, _ = rows
    np.testing.assert_array_equal(fold_of_each_row(X, 2)[500:900], fold_of_each_row(X[500:900], 2))
    assert 0.45 < fold_of_each_row(X, 2).mean() < 0.55


@pytest.mark.parametrize("folds", [1, 2, 5])
def test_folds_hold_each_row_once(rows, folds):
    X, y = rows
    held = signed(X, y, 4).ask(CountFolds(folds)).folds
    assert sum(one.points for one in held) == len(y)
    assert sum(one.positive_weight for one in held) == y.sum()
    if folds > 1:  # a fold trains on the rows that it does not hold
        training = ready(X, y, 4, folds=folds).ask(TakeSummaries()).folds
        assert [one.points for one in training] == [len(y) - one.points for one in held]


def every_question(n_features):
    folded = ((0, MODEL), (1, LinearModel(-MODEL.weights, 1.0)))
    learner = Learner(n_features, np.float32)
    learner.class_weights = 0.7, 0.3
    seen = RowTotals(100, 20.0, 80.0, 700.0)
    settings = leverage_settings(seen, n_features, step=1.0, leverage=7.0, l2=0.0)
    return [
        TakeSummaries(),
        TakeSlope(0, MODEL, Sigmoid(1.0), 2.0, 1.0, 1.0),
        CountPredicted(1, MODEL),
        TakeSpread(folded, training=False),
        CountScores(folded, ScoreBins(-3.0, 0.01, 600), training=False),
        FetchScores(folded, (-0.5, 0.5)),
        LocalPass(0, Learn(settings, Hinge()), learner, 100, frozenset(range(9)), (0,)),
    ]


@pytest.mark.parametrize("question", every_question(6), ids=lambda question: type(question).__name__)
def test_answers_merge_in_any_grouping(rows, question):
    X, y = rows
    weights = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    answers = ready(X, y, 9, weights, folds=2).ask_each(question)
    pairs = [merge(answers[start : start + 2]) for start in range(0, 9, 2)]
    same(merge(answers), reduce(lambda one, other: one.merge(other), pairs))
    same(merge(answers), answers[0].merge(merge(answers[1:])))


def same(mine, other):
    values = mine if isinstance(mine, tuple) else vars(mine).values()
    others = other if isinstance(other, tuple) else vars(other).values()
    for one, two in zip(values, others, strict=True):
        np.testing.assert_allclose(np.array(one, dtype=float), np.array(two, dtype=float), rtol=1e-9, atol=1e-9)


@DENSE_AND_SPARSE
def test_slopes_of_shards_are_the_gradient_of_all_rows(rows, form):
    X, y = rows
    X = form(X)
    engine, whole = ready(X, y, 5), ready(X, y, 1)
    reward, model = Sigmoid(0.5), np.append(*MODEL)
    loss, gradient = WeightedReward(whole._workers[0].rows.rows, reward, (3.0, 1.0))(model)
    each = 0.75 / y.sum(), 0.25 / (~y).sum()
    found = engine.ask(TakeSlope(0, MODEL, reward, *each, 1.0))
    assert -float(each @ found.rewards) == pytest.approx(loss, rel=1e-6)
    np.testing.assert_allclose(-found.gradient, gradient, rtol=1e-4, atol=1e-7)
    assert found.weights.tolist() == [y.sum(), (~y).sum()]


def test_a_share_of_the_rows_has_about_their_gradient(rows):
    engine = ready(*rows, 4)
    some, every = (engine.ask(TakeSlope(0, MODEL, Sigmoid(1.0), 1.0, 1.0, share)) for share in (0.25, 1.0))
    assert some.weights.sum() == 5_000
    np.testing.assert_allclose(some.rewards / some.weights, every.rewards / every.weights, atol=0.03)


def test_long_rows_pull_less_once_they_are_limited(rows):
    X, y = rows
    X = X.copy()
    X[::50] *= 30.0
    engine = ready(X, y, 2)
    learner = Learner(6, np.float32)
    learner.class_weights = 1.0, 1.0
    seen = engine.ask(TakeSummaries()).folds[0]
    request = Learn(leverage_settings(seen, 6, step=1.0, leverage=seen.leverage, l2=0.0), Hinge())
    question = LocalPass(0, request, learner, 10_000, frozenset({0, 1}), (0,))
    before = engine.ask(question)
    engine.prepare(LimitRows(4.0, seen.leverage))
    after = engine.ask(question)
    assert before.points == after.points == len(y)
    assert not np.allclose(before.last, after.last)


def test_rates_are_counted_over_all_shards():
    y = np.array([True, False, True, False, True, True])
    X = np.array([1.0, 1.0, -1.0, -2.0, 3.0, 0.5], dtype=np.float32).reshape(-1, 1)
    engine = signed(X, y, 4)
    engine.prepare(MakeReady(Standardizer(1, active=False), 1, 0))
    rates = engine.ask(CountPredicted(0, LinearModel(np.ones(1), 0.0))).rates()
    assert rates == pytest.approx((0.75, 0.5, 4 / 6))


def test_bins_stand_for_their_rows():
    rng = np.random.default_rng(3)
    y = rng.random(50_000) < 0.2
    scores = (10.0 + rng.normal(size=y.size) + y).astype(np.float32)
    engine = signed(scores.reshape(-1, 1), y, 3)
    engine.prepare(MakeReady(Standardizer(1, active=False), 1, 0))
    scored = ((0, LinearModel(np.ones(1), 0.0)),)
    spread = engine.ask(TakeSpread(scored, training=True))
    assert spread.mean == pytest.approx(scores.mean(dtype=float), rel=1e-6)
    assert spread.deviation == pytest.approx(scores.std(dtype=float), rel=1e-6)
    assert (spread.lowest, spread.highest) == (scores.min(), scores.max())
    bins = ScoreBins.around(spread.mean, spread.deviation)
    middles, weights = bins.as_scores(engine.ask(CountScores(scored, bins, training=True)).all_bins(bins))
    assert np.abs(weights).sum() == y.size
    exact = best_threshold(scores, np.where(y, 1.0, -1.0), get_measure("f1"))
    by_bins = best_threshold(middles, weights, get_measure("f1"))
    assert by_bins.value == pytest.approx(exact.value, abs=2e-3)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 2))
def test_bins_and_fetched_scores_agree_on_what_lies_in_a_stretch(seed, digits):
    rng = np.random.default_rng(seed)
    y = rng.random(300) < 0.3
    scores = np.round(rng.normal(size=300), digits).astype(np.float32)  # some lie on the edges of bins
    engine = signed(scores.reshape(-1, 1), y, 3)
    engine.prepare(MakeReady(Standardizer(1, active=False), 1, 0))
    scored = ((0, LinearModel(np.ones(1), 0.0)),)
    bins = ScoreBins(-2.0, 0.1, 40)
    counts = engine.ask(CountScores(scored, bins, training=False)).all_bins(bins)
    first, last = np.sort(rng.integers(1, 39, 2)).tolist()
    edges = bins.low + bins.width * np.arange(41)
    fetched = engine.ask(FetchScores(scored, (edges[first], edges[last])))
    assert np.abs(fetched.signed_weights).sum() == counts[:, first:last].sum()
    inside = engine.ask(CountScores(scored, bins, training=False, within=(edges[first], edges[last])))
    np.testing.assert_array_equal(inside.all_bins(bins)[:, first:last], counts[:, first:last])
    assert inside.weights.sum() == counts[:, first:last].sum()


@pytest.mark.parametrize("unit", [1.0, 1 / 3, 1e12])
def test_counts_arrive_as_they_were_sent_and_whole_ones_in_fewer_bytes(unit):
    rng = np.random.default_rng(0)
    counts = BinCounts(np.arange(0, 9_000, 3), unit * rng.integers(0, 300, (2, 3_000)))
    packed = pickle.dumps(counts)
    found = pickle.loads(packed)
    np.testing.assert_array_equal(found.places, counts.places)
    np.testing.assert_array_equal(found.weights, counts.weights)
    assert found.weights.dtype == np.float64
    assert (len(packed) < 20_000) == (unit == 1.0)


def test_scores_of_folds_are_those_of_rows_the_model_has_not_learned_from(rows):
    X, y = rows
    engine = ready(X, y, 3, folds=2)
    everything = -np.inf, np.inf
    mine, other = (engine.ask(FetchScores(((fold, MODEL),), everything)) for fold in (0, 1))
    both = engine.ask(FetchScores(((0, MODEL), (1, MODEL)), everything))
    assert mine.scores.size + other.scores.size == both.scores.size == len(y)
    trained = engine.ask(CountPredicted(0, MODEL)).rates()
    assert trained == pytest.approx(rates_at(other.scores, other.signed_weights))


def test_shards_of_different_widths_are_refused(rows):
    X, y = rows
    engine = LocalEngine([ArrayShard(X, y), ArrayShard(X[:, :4], y)])
    with pytest.raises(ValueError, match=r"number 0 has 6 columns.*number 1 has 4"):
        engine.ask(CountLabels())


@DENSE_AND_SPARSE
def test_infinities_are_refused_naming_partition_and_column(rows, form):
    X, y = rows
    X = X.copy()
    X[15_000, 4] = np.inf
    with pytest.raises(ValueError, match=r"Partition 1.*column 4"):
        LocalEngine(shards(form(X), y, 2)).ask(CountLabels())


@pytest.mark.parametrize(
    ("labels", "weights", "message"),
    [
        ([0.0, 1.0, 0.0, np.nan], None, "Partition 1: Input y contains NaN"),
        ([0, 1, 0, 1], [1.0, 1.0, 1.0, -1.0], "Partition 1: sample weights must be finite numbers of 0 or more"),
        ([0, 1, 0, 1], [1.0, 1.0, np.nan, 1.0], "Partition 1: sample weights must be finite numbers of 0 or more"),
    ],
)
def test_labels_and_weights_that_are_no_numbers_are_refused_naming_the_partition(labels, weights, message):
    labels, weights = np.array(labels), None if weights is None else np.array(weights)
    with pytest.raises(ValueError, match=message):
        LocalEngine(shards(np.zeros((4, 2)), labels, 2, weights)).ask(CountLabels())


def test_labels_of_all_partitions_are_counted_together(rows):
    X, _ = rows
    engine = LocalEngine([ArrayShard(X[:6], np.arange(6) % 2), ArrayShard(X[:6], np.arange(6) % 3)])
    counts = engine.ask(CountLabels())
    assert counts.classes.tolist() == [0, 1, 2]
    assert [counts.labels[label].rows for label in (0, 1, 2)] == [5, 5, 2]
