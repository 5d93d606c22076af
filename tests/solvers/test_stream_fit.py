"""A fit from windows: resumable between any two, whatever their order."""

from __future__ import annotations

import dataclasses
import itertools
import pickle

import numpy as np
import pytest
from ratewise.solvers.stream_halves import half_of_each_row
from scipy import sparse

from ratewise.measures import get_measure
from ratewise.solvers import History, Sharpen, Spade, Stamp, StreamFit, StreamPlan
from ratewise.solvers.threshold import best_threshold, rates_at

PLAN = StreamPlan(get_measure("f1"), None, Sharpen(passes=2), 3, True, True, 50_000, 256, 0.0, 7)
PLAIN = dataclasses.replace(PLAN, solver=Spade(passes=2), sharpen=None, passes=2, measure=get_measure("gmean"))


def rows(n=4000, d=4, seed=0, share=0.1):
    rng = np.random.default_rng(seed)
    X = (rng.normal(size=(n, d)) * 10.0 ** np.arange(d) + 3.0).astype(np.float32)
    scores = X / 10.0 ** np.arange(d) @ np.linspace(1.0, -1.0, d) + 0.5 * rng.normal(size=n)
    return X, np.where(scores > np.quantile(scores, 1.0 - share), 1.0, -1.0)


def windows_of(X, signed, size=500, rng=None):
    order = np.arange(X.shape[0]) if rng is None else rng.permutation(X.shape[0])
    for start in range(0, X.shape[0], size):
        mine = order[start : start + size]
        yield X[mine], signed[mine]


def run(state, X, signed, *, between=lambda state: state):
    """To the end, with something done to the state after each window."""
    while state.result is None:
        rng, skip = next(state.orders())
        for window in list(windows_of(X, signed, rng=rng))[skip:]:
            state.take(*window)
            state = between(state)
        state.end_pass()
    return state


def fitted(plan=PLAN, X=None, signed=None, **how):
    if X is None:
        X, signed = rows()
    return run(StreamFit(plan, History()), X, signed, **how)


def user_model(result):
    coef, intercept = result.units.to_user_units(*result.model)
    return coef, intercept - result.threshold


def as_bytes(state):
    result = state.result
    return result.model.weights.tobytes(), result.model.intercept, result.threshold, result.rates, result.stages


def value_of(plan, result, X, signed):
    coef, intercept = user_model(result)
    return float(plan.measure.value(*rates_at(X @ coef + intercept, signed)))


@pytest.mark.parametrize("plan", [PLAN, PLAIN], ids=["sharpened", "plain"])
def test_a_pickle_after_every_window_changes_no_bit(plan):
    whole = fitted(plan)
    resumed = fitted(plan, between=lambda state: pickle.loads(pickle.dumps(state)))
    assert as_bytes(resumed) == as_bytes(whole)


def test_the_phases_follow_one_another():
    seen = []

    def note(state):
        if not seen or seen[-1] != (state.phase, state.pass_number):
            seen.append((state.phase, state.pass_number))
        return state

    state = fitted(between=note)
    assert seen == [("statistics", 0), ("learning", 1), ("learning", 2), ("learning", 3), ("choice", 4)]
    assert (state.phase, state.rows, state.rows_done) == ("done", 4000, 0)


def test_rows_done_counts_those_of_the_pass():
    seen = []
    fitted(between=lambda state: seen.append(state.rows_done) or state)
    assert seen == [500 * k for k in range(1, 9)] * 5


def test_every_pass_has_an_order_of_its_own():
    orders = StreamFit(PLAN, History()).orders()
    assert len({tuple(next(orders)[0].permutation(50).tolist()) for _ in range(3)}) == 3


def test_passes_are_ordered_up_to_the_last_one_and_windows_taken_already_are_skipped():
    numbers, skips = [], []

    def look(state):
        ahead = list(itertools.islice(state.orders(), 3))
        numbers.append(len(ahead))
        skips.append([skip for _, skip in ahead])
        return state

    state = fitted(between=look)
    assert numbers == [3] * 32 + [1] * 8  # after the choice there is none
    assert skips[1] == [2, 0, 0]
    assert list(state.orders()) == []


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_rates_are_those_of_all_rows_where_points_are_plenty(as_sparse):
    X, signed = rows()
    if as_sparse:
        X = sparse.csr_matrix(np.where(np.random.default_rng(1).random(X.shape) < 0.6, X, 0.0))
    state = fitted(PLAN, X, signed)
    assert len(state._tracks) == 1
    coef, intercept = user_model(state.result)
    rates = rates_at(X @ coef + intercept, signed)
    assert tuple(state.result.rates) == pytest.approx(tuple(rates), abs=2e-3)


def test_the_threshold_is_the_best_one_up_to_the_width_of_a_bin():
    X, signed = rows()
    result = fitted(PLAN, X, signed).result
    coef, intercept = result.units.to_user_units(*result.model)
    best = best_threshold(X @ coef + intercept, signed, PLAN.measure).value
    assert value_of(PLAN, result, X, signed) == pytest.approx(best, abs=2e-3)


def test_a_threshold_far_out_is_found():
    # The positives are the farther half of a few outliers, some 30 spreads from the mean.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 1)).astype(np.float32)
    X[:40, 0] = np.linspace(50.0, 150.0, 40)
    signed = np.where(X[:, 0] > 100.0, 1.0, -1.0)
    result = fitted(PLAN, X, signed).result
    assert value_of(PLAN, result, X, signed) > 0.9


def test_few_points_are_learned_in_two_halves():
    X, signed = rows(4000, share=0.02)  # 80 positives, fewer than 50 a column
    state = fitted(PLAN, X, signed)
    assert len(state._tracks) == 2
    assert value_of(PLAN, state.result, X, signed) > 0.5
    assert as_bytes(fitted(PLAN, X, signed, between=lambda state: pickle.loads(pickle.dumps(state)))) == as_bytes(
        state
    )


def test_a_class_whose_rows_are_all_equal_is_not_split():
    X, signed = rows(3000, share=0.03)
    X[signed > 0] = 5.0  # one row, many times: it has one hash, so one half would have no positives
    state = fitted(PLAN, X, signed)
    assert len(state._tracks) == 1
    assert np.isfinite(state.result.model.weights).all()


@pytest.mark.parametrize("as_sparse", [False, True])
def test_the_order_of_the_rows_does_not_change_which_half_they_are_in(as_sparse):
    X, _ = rows(3000)
    if as_sparse:
        X = sparse.csr_matrix(X)
    halves = half_of_each_row(X)
    assert 0.45 < halves.mean() < 0.55
    order = np.random.default_rng(0).permutation(3000)
    assert np.array_equal(half_of_each_row(X[order]), halves[order])


def test_each_half_is_judged_by_the_other():
    X, signed = rows(4000, share=0.02)
    state = fitted(PLAN, X, signed)
    first, second = state._tracks
    halves = half_of_each_row(X)
    for track, other in ((first, second), (second, first)):
        taught, _ = track.training_rows(X, signed, halves)
        judged, _ = track.judging_rows(X, signed, halves)
        assert taught.shape[0] + judged.shape[0] == 4000
        assert np.array_equal(judged, other.training_rows(X, signed, halves)[0])
    counted = sum(next(iter(candidates.counts.values())) for candidates in state._candidates)
    assert counted.sum() == pytest.approx(4000, rel=1e-5)
    assert counted[1].sum() == pytest.approx(80, rel=1e-5)


@pytest.mark.parametrize("solver", [Spade(passes=2), Stamp(passes=2)])
def test_a_plain_solver_with_the_threshold_left_at_zero(solver):
    measure = get_measure("gmean" if isinstance(solver, Spade) else "f1")
    plan = dataclasses.replace(PLAIN, solver=solver, measure=measure, tune=False, passes=4)
    X, signed = rows()
    result = fitted(plan, X, signed).result
    assert result.threshold == 0.0
    assert result.stages == ()
    assert value_of(plan, result, X, signed) > 0.6
    coef, intercept = user_model(result)
    assert tuple(result.rates) == pytest.approx(tuple(rates_at(X @ coef + intercept, signed)), abs=2e-3)


def test_weights_count_as_so_many_rows():
    X, signed = rows(3000)
    times = np.random.default_rng(1).integers(1, 4, size=3000)
    weighted = fitted(PLAN, X, signed * times).result
    repeated = fitted(PLAN, np.repeat(X, times, axis=0), np.repeat(signed, times)).result
    assert weighted.rates.prevalence == pytest.approx(repeated.rates.prevalence)
    values = [float(PLAN.measure.value(*one.rates)) for one in (weighted, repeated)]
    assert values[0] == pytest.approx(values[1], abs=0.01)


def test_the_scale_of_the_weights_does_not_matter():
    X, signed = rows(3000)
    once, thrice = (fitted(PLAN, X, factor * signed).result for factor in (1.0, 4.0))
    np.testing.assert_allclose(thrice.model.weights, once.model.weights, rtol=1e-5)


def test_a_class_without_weight_is_refused():
    X, signed = rows(1000)
    with pytest.raises(ValueError, match="weight 0"):
        fitted(PLAN, X, np.where(signed > 0, 0.0, signed))


def test_many_dense_rows_are_whitened_and_the_model_comes_back_in_the_users_units():
    plan = dataclasses.replace(PLAN, whiten_rows=1000)
    rng = np.random.default_rng(0)
    X, signed = rows()
    X = (X / 10.0 ** np.arange(4) @ rng.normal(size=(4, 4))).astype(np.float32)
    result = fitted(plan, X, signed).result
    assert type(result.units).__name__ == "Whitener"
    assert value_of(plan, result, X, signed) > 0.75
