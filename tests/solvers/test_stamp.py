"""STAMP challenges itself upwards, for any pseudo-linear measure and any prevalence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse

from ratewise.measures import (
    BalancedAccuracy,
    CohenKappa,
    CostMatrix,
    FBeta,
    GowerLegendre,
    Jaccard,
    NetBenefit,
    PseudoLinear,
    Rates,
    Tversky,
)
from ratewise.measures.base import PseudoLinearCoefficients, PseudoLinearMeasure
from ratewise.solvers import Learn, LinearModel, RowTotals, Stamp, Task, best_threshold, rates_at
from ratewise.solvers.base import History
from ratewise.solvers.requests import CountRates
from ratewise.solvers.stamp import fewest_level_rows
from ratewise.training.answers import Runner
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

MEASURES = [
    FBeta(1.0),
    FBeta(0.5),
    FBeta(2.0),
    Jaccard(),
    GowerLegendre(0.5),
    GowerLegendre(2.0),
    PseudoLinear((0.0, 1.0, 1.0), (2.0, -0.2, -0.3)),
    BalancedAccuracy(),
    CohenKappa(),
    CostMatrix(((0.0, 1.0), (10.0, 0.0))),
    NetBenefit(0.2),
    Tversky(),
]


def clouds(n=20_000, share=0.1, seed=0):
    """Two normal clouds, and a lower bound on what any linear model can reach: the first axis, best cut."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    X = rng.standard_normal((n, 4))
    X[positive, 0] += 2.0
    signs = np.where(positive, 1.0, -1.0)
    rows = ArrayRows(X, signs, Standardizer(4).update(X), np.random.default_rng(seed), np.float32)
    return rows, X[:, 0], signs


def run_stamp(solver, rows, measure, history=None):
    run = solver.start(Task(measure, rows.n_features, rows.dtype, history=history))
    Runner(run, 0, rows.summary).to_the_end(rows)
    return run


def level_at_zero(rows, model):
    return float(FBeta(1.0).value(*rates_at(rows.scores(*model), rows.signed_weights)))


def test_where_good_epochs_and_bad_ones_take_turns_a_bad_one_is_not_returned():
    """A rare class that the hinge gives up: the level falls by half and more from one epoch to the next."""
    rng = np.random.default_rng(0)
    n = 30_000
    positive = rng.random(n) < 0.02
    X = rng.standard_normal((n, 4))
    X[positive, 0] += 1.0
    X[positive & (rng.random(n) < 0.2), 1] += 6.0
    signs = np.where(positive, 1.0, -1.0)
    returned, last = [], []
    for passes in range(1, 9):
        rows = ArrayRows(X, signs, Standardizer(4).update(X), np.random.default_rng(4), np.float32)
        run = run_stamp(Stamp(passes=passes), rows, FBeta(1.0), history := History())
        returned.append(level_at_zero(rows, run.model()))
        last.append(history.table()["level"][-1])
    assert min(last) < 0.15
    assert min(returned) > 0.25


@pytest.mark.parametrize(
    ("levels", "kept"),
    [((0.51, 0.52, 0.5), 2), ((0.51, 0.72, 0.5), 1), ((0.72, 0.51, 0.5), 0), ((0.9, 0.51, 0.52, 0.5), 3)],
)
@pytest.mark.parametrize("share", [0.1, 0.9])
def test_the_last_epoch_is_kept_where_one_of_two_before_it_is_better_by_chance_only(levels, kept, share):
    """Epochs of 100, 200, 400 and 800 points; epoch k learns an intercept of k, and its level is as given."""
    run = Stamp(passes=1).start(Task(FBeta(1.0), 4, history=(history := History())))
    points = 100 * (2 ** len(levels) - 1)
    seen = RowTotals(points, share * points, (1.0 - share) * points, 4.0 * points)
    for epoch, level in enumerate(levels):
        request = run.request(seen)
        assert isinstance(request, Learn)
        run.learner.set_model(LinearModel(np.zeros(4), float(epoch)))
        run.receive(None)
        assert isinstance(run.request(seen), CountRates)
        run.receive(Rates(level / (2.0 - level), 1.0, share))  # F1 = 2 TPR / (1 + TPR) at a precision of 1
    assert history.table()["level"] == pytest.approx(levels)
    assert run.finished
    assert run.model().intercept == kept


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01])
@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_with_a_tuned_threshold_stamp_reaches_the_best_direction(measure, share):
    rows, first_axis, signs = clouds(share=share)
    attainable = best_threshold(first_axis, signs, measure).value
    model = run_stamp(Stamp(passes=5), rows, measure).model()
    found = best_threshold(rows.scores(*model), rows.signed_weights, measure).value
    assert found > attainable - 0.015


@pytest.mark.parametrize("level", ["actual", "fresh"])
def test_the_level_rises_from_zero_to_what_the_model_is_worth(level):
    rows, _, _ = clouds()
    history = History()
    run = run_stamp(Stamp(passes=5, level=level), rows, FBeta(1.0), history)
    levels = history.table()["level"]
    assert levels[-1] > 0.3
    assert levels[-1] > levels[0]
    assert levels.max() <= 1.0, "a level is a mean over the stage's points, not a sum"
    if level == "actual":
        rates = rates_at(rows.scores(*run.model()), rows.signed_weights)
        worth = float(FBeta(1.0).value(*rates))
        assert levels[-1] == pytest.approx(worth, abs=0.03), "it is taken on a sample of the rows"


def test_epochs_double_from_one_hundred_and_the_last_takes_the_remainder():
    rows, _, _ = clouds(n=1_000)
    history = History()
    run_stamp(Stamp(passes=2, first_epoch=100), rows, Jaccard(), history)
    lengths = np.diff(history.table()["points"], prepend=0)
    # 100 + 200 + 400 leaves 1,300, which is less than 800 + 1,600: the last epoch takes it all.
    np.testing.assert_array_equal(lengths, [100, 200, 400, 1_300])


def test_fresh_level_points_are_paid_for_out_of_the_same_budget():
    rows, _, _ = clouds(n=1_000)
    history = History()
    run_stamp(Stamp(passes=3, level="fresh"), rows, FBeta(1.0), history)
    assert history.table()["points"][-1] == 3_000


@dataclass(frozen=True)
class OneHalfWeights(PseudoLinearMeasure):
    """F1 as Algorithm 3 prints it: right at a prevalence of one half only."""

    def coefficients(self, prevalence):
        return PseudoLinearCoefficients((0.0, 2.0, 0.0), (2.0, 1.0, -1.0))


def test_the_printed_weights_are_those_of_f1_at_one_half_and_at_no_other_prevalence():
    for level in (0.0, 0.3, 0.8):
        printed = OneHalfWeights().valuation_weights(level, 0.5)
        assert printed == pytest.approx((1 - level / 2, level / 2))
        assert FBeta(1.0).valuation_weights(level, 0.5) == pytest.approx(printed)
    away = FBeta(1.0).valuation_weights(0.5, 0.05)
    assert away[0] / away[1] != pytest.approx(3.0, rel=0.5)


def test_with_the_printed_weights_stamp_settles_elsewhere_on_rare_positives():
    """At 2% positives the printed weights count a false alarm 49 times too little."""
    rows, _, _ = clouds(share=0.02)
    f1 = FBeta(1.0)
    values = {}
    for measure in (f1, OneHalfWeights()):
        model = run_stamp(Stamp(passes=5), rows, measure).model()
        values[type(measure)] = float(f1.value(*rates_at(rows.scores(*model), rows.signed_weights)))
    assert values[FBeta] > values[OneHalfWeights] + 0.1


@pytest.mark.parametrize("level", ["actual", "fresh"])
def test_dense_and_csr_rows_in_the_same_order_give_the_same_model(level):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 4))
    signs = np.where(X[:, 0] + rng.standard_normal(2_000) > 1.5, 1.0, -1.0)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    models = []
    for matrix in (X, sparse.csr_matrix(X)):
        rows = ArrayRows(matrix, signs, Standardizer(4, active=False), np.random.default_rng(0), np.float64)
        models.append(run_stamp(Stamp(passes=3, level=level), rows, FBeta(1.0)).model())
    np.testing.assert_allclose(models[1].weights, models[0].weights, atol=1e-5)


@pytest.mark.parametrize(
    ("prevalence", "rows"), [(0.5, 400), (0.1, 2_000), (0.9, 2_000), (0.01, 10_000), (0.99, 10_000)]
)
def test_a_level_is_taken_on_200_points_of_the_rarer_class_or_10000_rows(prevalence, rows):
    assert fewest_level_rows(prevalence) == pytest.approx(rows)
