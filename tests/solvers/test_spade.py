"""SPADE does what Algorithm 1 promises, and what its printed form does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, sparse

from ratewise.measures import (
    BalancedAccuracy,
    GMean,
    HMean,
    MinRate,
    QMean,
    RecallAtPrecision,
    TPRAtFPR,
    TPRAtTNR,
    WeightedMin,
    get_measure,
)
from ratewise.rewards import Hinge
from ratewise.solvers import Spade, Task, best_threshold, rates_at
from ratewise.solvers.base import History
from ratewise.training.answers import Runner
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

CONCAVE = [MinRate(), HMean(), QMean(), GMean()]


def imbalanced(n, seed=0, shift=1.5, share=0.1, d=3):
    """Two normal clouds, one of them rare."""
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < share
    X = rng.standard_normal((n, d))
    X[positive, 0] += shift
    return X, np.where(positive, 1.0, -1.0)


def rows_of(X, signed_weights, seed=0, standardize=True):
    standardizer = Standardizer(X.shape[1], active=standardize).update(X)
    return ArrayRows(X, signed_weights, standardizer, np.random.default_rng(seed), np.float64)


def run_spade(solver, rows, measure, history=None):
    run = solver.start(Task(measure, rows.n_features, rows.dtype, history=history))
    Runner(run, 0, rows.summary).to_the_end(rows)
    return run


@pytest.mark.parametrize("measure", CONCAVE, ids=str)
def test_spade_comes_near_the_best_linear_separator(measure):
    """Along the first axis the clouds are N(0,1) and N(1.5,1): by symmetry the best cut lies midway, where
    both rates are Phi(0.75) = 0.773, and so is every one of the four means."""
    rows = rows_of(*imbalanced(20_000))
    model = run_spade(Spade(passes=5), rows, measure).model()
    rates = rates_at(rows.scores(*model), rows.signed_weights)
    assert float(measure.value(*rates)) == pytest.approx(0.773, abs=0.015)


@pytest.mark.parametrize(
    "measure",
    [
        BalancedAccuracy(),
        WeightedMin(),
        TPRAtTNR(0.9),
        TPRAtTNR(0.99),
        TPRAtFPR(0.05),
        RecallAtPrecision(0.8).at_prevalence(0.1),
    ],
    ids=str,
)
def test_with_a_tuned_threshold_spade_reaches_the_best_direction(measure):
    X, signs = imbalanced(20_000, shift=3.0)
    rows = rows_of(X, signs)
    attainable = best_threshold(X[:, 0], signs, measure, margin_scale=0.0).value
    model = run_spade(Spade(passes=5), rows, measure).model()
    found = best_threshold(rows.scores(*model), rows.signed_weights, measure, margin_scale=0.0).value
    assert found > attainable - 0.015


def test_under_a_constraint_the_pair_finds_the_price_of_the_tnr():
    """The rewards stay below the 0-1 ones, so the plain model keeps the TNR, roughly, and its price is not at the
    end of the segment, 2 / (1 - 0.9)."""
    rows = rows_of(*imbalanced(20_000, shift=3.0))
    run = run_spade(Spade(passes=5), rows, TPRAtTNR(0.9))
    alpha, beta = run.learner.class_weights
    assert alpha == 1.0
    assert 0.5 < beta < 10.0
    rates = rates_at(rows.scores(*run.model()), rows.signed_weights)
    assert rates.tnr > 0.9
    assert rates.tpr > 0.8


def test_recall_at_precision_is_refused_unless_bound_to_a_prevalence():
    with pytest.raises(ValueError, match=r"give Spade measure\.at_prevalence\(p\), here p = 0\.1"):
        Spade().check(RecallAtPrecision(0.9), 0.1)
    Spade().check(RecallAtPrecision(0.9).at_prevalence(0.1), 0.1)


def test_with_the_printed_sign_the_dual_pair_of_qmean_collapses_and_the_model_stays_near_zero(monkeypatch):
    """The clouds lie close, so that rewards stay below 1 and nothing else holds the pair up."""
    rows = rows_of(*imbalanced(20_000, shift=0.5))
    right = run_spade(Spade(passes=5, step=0.1), rows, QMean())
    monkeypatch.setattr(Spade, "conjugate_sign", -1.0)
    printed = run_spade(Spade(passes=5, step=0.1), rows, QMean())
    assert max(printed.learner.class_weights) < 1e-3
    assert min(right.learner.class_weights) > 0.3
    assert np.linalg.norm(right.model().weights) > 5 * np.linalg.norm(printed.model().weights)
    value = {
        name: float(QMean().value(*rates_at(rows.scores(*run.model()), rows.signed_weights)))
        for name, run in (("printed", printed), ("right", right))
    }
    assert value["right"] > value["printed"] + 0.02


@pytest.mark.parametrize("measure", [MinRate(), HMean(), GMean()], ids=str)
def test_the_sign_makes_no_difference_where_the_conjugate_is_flat(measure, monkeypatch):
    data = imbalanced(2_000)
    models = []
    for sign in (1.0, -1.0):
        monkeypatch.setattr(Spade, "conjugate_sign", sign)
        models.append(run_spade(Spade(passes=2), rows_of(*data), measure).model())
    np.testing.assert_array_equal(models[0].weights, models[1].weights)


def surrogate(measure, X, signs, model):
    """Psi of the mean hinge rewards: what SPADE maximizes."""
    rewards = Hinge().value(signs * (X @ model[:-1] + model[-1]))
    return float(measure.value(rewards[signs > 0].mean(), rewards[signs < 0].mean()))


def best_surrogate(measure, X, signs, start):
    """The optimum by a derivative-free search, polished from where SPADE ended after many points."""
    found = optimize.minimize(
        lambda model: -surrogate(measure, X, signs, model),
        start,
        method="Nelder-Mead",
        options={"maxiter": 4000, "xatol": 1e-7, "fatol": 1e-10, "maxfev": 4000},
    )
    return -found.fun


@pytest.mark.parametrize("measure", [MinRate(), HMean(), QMean()], ids=str)
def test_the_excess_of_spade_shrinks_with_points_at_a_slope_of_minus_0_4_or_steeper(measure):
    """On a finite population of 3,000 points, sampled over and over, the optimum is known by search."""
    X, signs = imbalanced(3_000, shift=3.0, share=0.3, d=2)
    lengths = np.array([300, 1_000, 3_000, 10_000, 30_000, 100_000])
    models = {}
    for length in lengths:
        models[length] = []
        for seed in range(12):
            rows = rows_of(X, signs, seed=seed, standardize=False)
            run = Spade().start(Task(measure, 2, np.float64, endless=True))
            Runner(run, 0, rows.summary).feed(rows, rows, int(length))
            models[length].append(np.append(*run.model()))
    optimum = best_surrogate(measure, X, signs, np.mean(models[100_000], axis=0))
    excess = [np.mean([optimum - surrogate(measure, X, signs, m) for m in models[k]]) for k in lengths]
    assert min(excess) > 0
    slope = np.polyfit(np.log(lengths), np.log(excess), 1)[0]
    assert slope <= -0.4


def test_weights_stay_inside_the_ball():
    rows = rows_of(*imbalanced(2_000, shift=4.0))
    run = run_spade(Spade(passes=3, radius=0.1), rows, QMean())
    assert np.linalg.norm(run.model().weights) <= 0.1 + 1e-6
    assert np.linalg.norm(run_spade(Spade(passes=3), rows, QMean()).model().weights) > 0.2


def test_the_weaker_class_gets_the_larger_weight():
    """Positives overlap their neighbors far more than negatives do, so Min's pair leans towards them."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 3.0, (500, 1)), rng.normal(-3.0, 0.5, (4_500, 1))])
    signs = np.repeat([1.0, -1.0], [500, 4_500])
    alpha, beta = run_spade(Spade(passes=5), rows_of(X, signs), MinRate()).learner.class_weights
    assert alpha > beta
    assert alpha + beta == pytest.approx(1.0)


def test_step_sizes_are_indifferent_to_scale_and_to_duplicated_columns():
    X, signs = imbalanced(5_000)
    values = []
    for variant in (X, 1e4 * X, 1e-4 * X, np.tile(X, 20)):
        rows = rows_of(variant, signs, standardize=False)
        model = run_spade(Spade(passes=5), rows, QMean()).model()
        values.append(best_threshold(rows.scores(*model), rows.signed_weights, QMean()).value)
    assert max(values) - min(values) < 0.02


def test_the_history_holds_the_pair_and_the_rates_of_every_pass():
    history = History()
    run_spade(Spade(passes=4), rows_of(*imbalanced(1_000)), get_measure("hmean"), history)
    table = history.table()
    assert set(table) == {"pass", "points", "seconds", "tpr", "tnr", "value", "alpha", "beta"}
    np.testing.assert_array_equal(table["pass"], [1, 2, 3, 4])
    np.testing.assert_array_equal(table["points"], [1_000, 2_000, 3_000, 4_000])
    assert (np.diff(table["seconds"]) >= 0).all()
    np.testing.assert_allclose(table["value"], HMean().value(table["tpr"], table["tnr"]))


def test_dense_and_csr_rows_in_the_same_order_give_the_same_model():
    measure = QMean()
    X, signs = imbalanced(2_000)
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, csr = (
        run_spade(Spade(passes=3), rows_of(matrix, signs, standardize=False), measure).model()
        for matrix in (X, sparse.csr_matrix(X))
    )
    np.testing.assert_allclose(csr.weights, dense.weights, atol=1e-5)
    assert csr.intercept == pytest.approx(dense.intercept, abs=1e-5)
