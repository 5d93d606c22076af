"""The fit on shards, in this process: as good as on one machine, however the rows are spread."""

from __future__ import annotations

import pickle
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from ratewise import MeasureClassifier
from ratewise.decisions.cuts import constraint_slack, effective_points
from ratewise.distributed import LocalEngine
from ratewise.distributed.inputs import ArrayShard
from ratewise.measures import Measure, RecallAtPrecision, TPRAtFPR, get_measure, measure_names
from ratewise.solvers import Amp, LinearModel, Sharpen, best_threshold, get_solver, rates_at
from ratewise.solvers.base import History
from ratewise.training import ArraySource, FitConfig, Trainer, config
from ratewise.training.shards import rows as rows_module
from ratewise.training.shards.source import ShardSource
from ratewise.transforms import Standardizer

BOUNDED_BY_RATES = [
    name for name in measure_names() if get_measure(name).monotone and not get_measure(name).constraints(0.5)
]


def split(y, how, parts):
    rng, n = np.random.default_rng(1), len(y)
    if how == "even":
        return np.array_split(rng.permutation(n), parts)
    if how == "uneven":
        edges = (n * (1.0 - 0.5 ** np.arange(1, parts))).astype(int)
        return np.split(rng.permutation(n), edges)
    return np.array_split(np.argsort(y, kind="stable"), parts)  # most hold no positive at all


def engine_of(X, y, parts, weights=None, kind=LocalEngine):
    return kind([ArrayShard(X[part], y[part], None if weights is None else weights[part]) for part in parts])


def asked_of(measure, solver=None, *, sharpen=True, **more):
    chosen = get_measure(measure)
    named = get_solver("auto" if solver is None else solver, chosen)
    return FitConfig(chosen, named, None if solver is None else named, Sharpen() if sharpen else None, **more)


def source_of(engine, merging="auto"):
    return ShardSource(engine, 0, lambda classes: classes[1], merging=merging)


class Fit:
    """A fit on shards, with what there is to know of it."""

    def __init__(self, rows, measure, how="even", parts=4, *, engine=None, merging="auto", **more):
        self.source = source_of(engine or engine_of(*rows, split(rows[1], how, parts)), merging)
        history = History()
        self.result = Trainer(asked_of(measure, **more), history).fit(self.source)
        self.history = history.table()
        self.measure = get_measure(measure)

    def value_on(self, X, y):
        return self.measure.score(y, X @ self.result.coef[0] + self.result.intercept[0] > 0)


class Recording(LocalEngine):
    """Keeps all questions, with the size of what travels for each, to and from one shard."""

    def __init__(self, shards):
        super().__init__(shards)
        self.asked, self.sizes = [], []

    def ask_each(self, question):
        answers = super().ask_each(question)
        self.asked.append(question)
        self.sizes.append(max(len(pickle.dumps(one)) for one in (question, *answers)))
        return answers

    def names(self):
        return [question.name for question in self.asked]


@pytest.fixture(scope="module")
def on_one_machine(rows):
    """The measures of the ordinary fit."""
    return {name: MeasureClassifier(name, random_state=0).fit(*rows).score(*rows) for name in ("f1", "min")}


@pytest.mark.parametrize("how", ["even", "uneven", "sorted"])
@pytest.mark.parametrize("measure", ["f1", "min"])
def test_the_default_fit_is_as_good_as_on_one_machine(rows, on_one_machine, measure, how):
    fit = Fit(rows, measure, how, 8)
    value = fit.value_on(*rows)
    assert value >= on_one_machine[measure] - 0.01
    assert float(get_measure(measure).value(*fit.result.rates)) == pytest.approx(value, abs=1e-4)


@pytest.mark.parametrize(("solver", "measure"), [("spade", "qmean"), ("stamp", "f1"), ("amp", "f1")])
@pytest.mark.parametrize("how", ["even", "sorted"])
def test_the_plain_algorithms_are_as_good_as_on_one_machine(rows, solver, measure, how):
    single = MeasureClassifier(measure, solver=solver, sharpen=False, random_state=0).fit(*rows).score(*rows)
    fit = Fit(rows, measure, how, solver=solver, sharpen=False)
    assert fit.value_on(*rows) >= single - 0.01
    assert len({column.size for column in fit.history.values()}) == 1
    assert ("alpha" if solver == "spade" else "level") in fit.history


def test_amp_meets_its_ball_exactly_as_on_one_machine(rows):
    X, y = rows[0][::10], rows[1][::10]
    asked = {"solver": Amp(radius=0.5), "sharpen": False, "tune": False}
    fit = Fit((X, y), "f1", "sorted", **asked)
    standardized = Standardizer(6).update(X).transform_coef(fit.result.coef[0], float(fit.result.intercept[0]))
    assert np.linalg.norm(np.append(*standardized)) == pytest.approx(0.5, rel=1e-5)
    whole = ArraySource(X, signed(y), np.random.default_rng(0))
    single = Trainer(asked_of("f1", **asked), History()).fit(whole)
    np.testing.assert_allclose(fit.result.coef, single.coef, atol=1e-4)
    np.testing.assert_allclose(fit.result.intercept, single.intercept, atol=1e-4)


def test_mixed_partitions_learn_apart_and_sorted_ones_together(rows):
    assert Fit(rows, "f1", "even", 2).source.merging_used == "models"
    assert Fit(rows, "f1", "sorted", 2).source.merging_used == "gradients"


def test_partitions_of_other_places_learn_together(rows):
    X, y = rows
    by_place = np.array_split(np.argsort(X[:, 3]), 2)
    assert Fit(rows, "f1", engine=engine_of(X, y, by_place)).source.merging_used == "gradients"


def test_a_sliver_without_positives_is_left_out_of_learning_but_not_of_counting(rows):
    X, y = rows
    extra = np.flatnonzero(~y)[:50]
    fit = Fit(rows, "f1", engine=engine_of(X, y, [*split(y, "even", 2), extra]))
    assert fit.source.merging_used == "models"
    assert fit.result.rates.prevalence == pytest.approx(y.sum() / (y.size + 50))


def test_few_positives_are_learned_from_in_folds(rows):
    X, y = rows
    kept = np.concatenate([np.flatnonzero(~y), np.flatnonzero(y)[:150]])
    few = X[kept], y[kept]
    single = MeasureClassifier("qmean", solver="spade", sharpen=False, random_state=0).fit(*few).score(*rows)
    fit = Fit(few, "qmean", "sorted", 4)
    assert len(set(fit.history["run"])) > 1
    assert fit.value_on(*rows) >= single - 0.01


@pytest.mark.parametrize("merging", ["models", "gradients"])
def test_the_same_seed_gives_the_same_model_bit_for_bit(rows, merging):
    first, again = (Fit(rows, "f1", parts=2, merging=merging).result for _ in range(2))
    np.testing.assert_array_equal(first.coef, again.coef)
    np.testing.assert_array_equal(first.intercept, again.intercept)


def test_passes_are_as_asked(rows):
    engine = engine_of(*rows, split(rows[1], "even", 2), kind=Recording)
    Fit(rows, "qmean", engine=engine, merging="models", passes=5, solver="spade", sharpen=False)
    assert engine.names().count("learn") == 5


def test_runs_of_all_folds_share_their_rounds(rows):
    X, y = rows
    kept = np.concatenate([np.flatnonzero(~y), np.flatnonzero(y)[:150]])
    engine = engine_of(X[kept], y[kept], split(y[kept], "even", 2), kind=Recording)
    Fit(rows, "f1", engine=engine, merging="models", passes=4, solver="stamp")
    together = [question for question in engine.asked if hasattr(question, "questions")]
    assert max(len(question.questions) for question in together) > 1


@pytest.mark.parametrize("merging", ["models", "gradients"])
def test_what_travels_is_small_and_does_not_grow_with_the_rows(rows, merging):
    X, y = rows
    heaviest = []
    for copies in (1, 4):
        many = np.tile(np.arange(len(y)), copies)
        engine = engine_of(X, y, np.array_split(many, 4), kind=Recording)
        Fit(rows, "f1", engine=engine, merging=merging, passes=4)
        heaviest.append(max(engine.sizes))
    assert heaviest[1] < 120_000  # a histogram with no bin empty; a shard holds 480,000 bytes of rows
    assert heaviest[1] < 2 * heaviest[0]  # from four times the rows


def test_few_rows_are_gathered_and_many_are_not(rows, monkeypatch):
    engine = engine_of(*rows, split(rows[1], "even", 3), kind=Recording)
    source = source_of(engine)
    assert source.counts.fit_in_memory()
    X, signed = source.fetch()
    order = np.concatenate(split(rows[1], "even", 3))
    np.testing.assert_array_equal(X, rows[0][order])
    np.testing.assert_array_equal(signed > 0, rows[1][order])
    monkeypatch.setattr(config, "IN_MEMORY_BYTES", rows[0].nbytes - 1)
    assert not source.counts.fit_in_memory()


@pytest.mark.parametrize("how", ["even", "sorted"])
def test_sparse_rows_are_learned_from(rows, how):
    X, y = rows
    X = np.where(np.abs(X) > 1.0, X, 0.0).astype(np.float32)
    rows = sparse.csr_matrix(X)
    single = MeasureClassifier("f1", solver="stamp", sharpen=False, random_state=0).fit(rows, y).score(rows, y)
    fit = Fit((X, y), "f1", engine=engine_of(rows, y, split(y, how, 3)))
    assert fit.value_on(X, y) >= single - 0.01


@pytest.mark.parametrize("how", ["even", "sorted"])
def test_weights_count_rows_so_many_times(rows, how):
    X, y = rows
    weights = np.where(y, 3.0, 1.0)
    fit = Fit(rows, "f1", engine=engine_of(X, y, split(y, how, 3), weights))
    assert fit.result.rates.prevalence == pytest.approx(weights[y].sum() / weights.sum())
    predicted = X @ fit.result.coef[0] + fit.result.intercept[0] > 0
    value = get_measure("f1").score(y, predicted, sample_weight=weights)
    assert float(get_measure("f1").value(*fit.result.rates)) == pytest.approx(value, abs=1e-4)


def test_one_class_in_all_partitions_is_refused(rows):
    X, _ = rows
    with pytest.raises(ValueError, match="one class only"):
        source_of(LocalEngine([ArrayShard(X, np.zeros(len(X))), ArrayShard(X, np.zeros(len(X)))]))


def test_three_classes_over_partitions_have_the_rarest_as_the_positive_one(rows):
    X, y = rows
    source = source_of(LocalEngine([ArrayShard(X, np.where(y, 1, 0)), ArrayShard(X, np.where(y, 2, 0))]))
    statistics = source.statistics()
    np.testing.assert_array_equal(statistics.of_classes.rows, [2 * (~y).sum(), y.sum(), y.sum()])
    assert statistics.positive_rows == y.sum()


# Thresholds over all shards are exact, not averaged.


@dataclass(frozen=True)
class Informedness(Measure):
    """A user's own measure, which does not say that it is monotone."""

    def value(self, tpr, tnr, prevalence=None):
        return tpr + tnr - 1.0


def scores_on_shards(scores, y, measure, weights=None, parts=3, kind=LocalEngine):
    """What the threshold is chosen by, of rows whose only column is their score; and the engine."""
    X = np.asarray(scores, dtype=np.float32).reshape(-1, 1)
    shares = np.ones(len(y)) if weights is None else weights
    order = np.concatenate([np.flatnonzero(~y), np.flatnonzero(y)])  # sorted by label
    engine = engine_of(X, y, [part for part in np.array_split(order, parts) if part.size], shares, kind)
    source = source_of(engine, "gradients")
    rows = source.transformed(source.transform(standardize=False, whiten=False))
    return rows.threshold_scores([LinearModel(np.ones(1), 0.0)], measure), engine


def best_of_shards(*arguments, **more):
    found, _ = scores_on_shards(*arguments, **more)
    return best_threshold(found.values, found.signed_weights, arguments[2], points=found.points)


def signed(y, weights=None):
    return np.where(y, 1.0, -1.0).astype(np.float32) * (1.0 if weights is None else weights)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.sampled_from(BOUNDED_BY_RATES), st.integers(1, 4), st.sampled_from([4, 1 << 16])
)
def test_the_threshold_is_the_best_of_all_cuts(seed, name, digits, fetched):
    rng = np.random.default_rng(seed)
    measure, n = get_measure(name), int(rng.integers(4, 400))
    y = np.arange(n) % 4 == 0
    scores = np.round(rng.normal(size=n) + y - 0.7, digits).astype(np.float32)  # rounded, so that some are equal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rows_module, "_FETCHED_SCORES", fetched)  # with fewer, bins grow finer and finer
        found = best_of_shards(scores, y, measure)
    best = best_threshold(scores, signed(y), measure)
    assert found.value == pytest.approx(best.value, abs=1e-12)
    if fetched > n:
        assert found.threshold == best.threshold
    assert measure.value(*rates_at(scores, signed(y), found.threshold)) == pytest.approx(best.value, abs=1e-12)


@pytest.mark.parametrize("fetched", [1 << 16, 10])
def test_the_threshold_is_exact_among_a_hundred_thousand_scores_of_uneven_weight(fetched, monkeypatch):
    monkeypatch.setattr(rows_module, "_FETCHED_SCORES", fetched)
    rng = np.random.default_rng(1)
    y = rng.random(100_000) < 0.02
    weights = rng.integers(1, 4, y.size).astype(np.float32)
    scores = (rng.normal(size=y.size) + 2.0 * y).astype(np.float32)
    measure = get_measure("f1")
    found = best_of_shards(scores, y, measure, weights, 5)
    best = best_threshold(scores, signed(y, weights), measure)
    assert found.value == pytest.approx(best.value, abs=1e-6)  # weights are divided by their mean, in float32
    assert found.threshold == best.threshold


@pytest.mark.parametrize("name", ["f1", "gmean"])
@pytest.mark.parametrize("fetched", [1 << 16, 500])
def test_scores_far_away_do_not_blur_the_threshold(name, fetched, monkeypatch):
    monkeypatch.setattr(rows_module, "_FETCHED_SCORES", fetched)
    rng = np.random.default_rng(5)
    y = rng.random(20_000) < 0.1
    scores = (rng.normal(size=y.size) + 2.0 * y).astype(np.float32)
    scores[:10_000][~y[:10_000]] -= 1e6
    scores[10_000:12_000][y[10_000:12_000]] += 1e6  # all others fall into one bin
    measure = get_measure(name)
    found, best = best_of_shards(scores, y, measure), best_threshold(scores, signed(y), measure)
    assert (found.threshold, found.value) == (best.threshold, pytest.approx(best.value, abs=1e-12))


def test_scores_that_are_mostly_equal_do_not_travel_one_by_one():
    y = np.arange(300_000) % 3 == 0
    scores = np.zeros(y.size, dtype=np.float32)
    scores[:2_000] = np.random.default_rng(0).normal(size=2_000) + y[:2_000]
    measure = get_measure("f1")
    found, engine = scores_on_shards(scores, y, measure, kind=Recording)
    best = best_threshold(scores, signed(y), measure)
    assert best_threshold(found.values, found.signed_weights, measure).value == pytest.approx(
        best.value, abs=1e-12
    )
    assert max(engine.sizes) < 600_000


def test_a_measure_that_no_rate_bounds_is_cut_as_well_as_by_all_bins():
    rng = np.random.default_rng(2)
    y = rng.random(20_000) < 0.1
    scores = (rng.normal(size=y.size) + 2.0 * y).astype(np.float32)
    measure = Informedness()
    found = best_of_shards(scores, y, measure)
    assert found.value >= best_threshold(scores, signed(y), measure).value - 1e-3
    assert measure.value(*rates_at(scores, signed(y), found.threshold)) == pytest.approx(found.value, abs=1e-12)


@pytest.mark.parametrize("measure", [TPRAtFPR(0.05), RecallAtPrecision(0.5)])
def test_a_constraint_is_kept_at_the_threshold_by_its_margin(measure):
    rng = np.random.default_rng(4)
    y = rng.random(20_000) < 0.1
    scores = (rng.normal(size=y.size) + 2.0 * y).astype(np.float32)
    found = best_of_shards(scores, y, measure)
    rates = rates_at(scores, signed(y), found.threshold)
    bounds = measure.constraints(rates.prevalence)
    assert constraint_slack(bounds, rates.tpr, rates.tnr, effective_points(signed(y))) >= 0
    assert found.value >= best_threshold(scores, signed(y), measure).value - 1e-3
