"""Rows the models have not seen choose between them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from ratewise.measures import FBeta, GMean, GowerLegendre, MinRate, TPRAtTNR
from ratewise.solvers import LinearModel, Sharpen, Stamp, WeightedLogistic, best_threshold
from ratewise.solvers.base import History, Scores
from ratewise.training import ArraySource, DataShape, FitConfig, Trainer
from ratewise.training.selection import (
    LADDER,
    SelectionPlan,
    Validated,
    batch_starts,
    effort_for,
    folds_of_batches,
    natural_exponent,
    prevalence_and_rarer,
    select,
    select_crossfitted,
    start_with,
    starts_for,
    within_budget,
)


def fit(X, positive, measure, solver=None):
    config = FitConfig(measure, solver or WeightedLogistic(), solver, Sharpen())
    source = ArraySource(X, np.where(positive, 1.0, -1.0), np.random.default_rng(0))
    return Trainer(config, History()).fit(source)


def statistics_of(rows, columns=5, share=0.1, **more):
    positive = round(share * rows)
    weights = float(positive), float(rows - positive)
    return DataShape(rows, positive, *weights, weights, columns, rows * columns, False, **more)


def noise(n=600, d=60, share=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)), rng.random(n) < share


def test_the_rates_to_expect_are_honest_where_training_rates_would_flatter():
    """Nothing can be learned from noise, though 60 columns fit 600 training rows well."""
    X, positive = noise()
    found = fit(X, positive, GMean())
    expected = float(GMean().value(*found.rates))
    flattering = best_threshold(X @ found.coef[0], np.where(positive, 1.0, -1.0), GMean()).value
    assert expected < 0.6
    assert flattering > expected + 0.1


def test_the_choice_prefers_an_early_stage_where_training_longer_overfits():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((400, 200))
    positive = X[:, 0] + 0.5 * rng.standard_normal(400) > 1.2
    stages = fit(X, positive, FBeta()).stages
    assert not all("sharpened 16" in stage for stage in stages)


def test_an_explicit_solver_is_the_start_and_made_the_model():
    X, positive = noise(300, 4)
    found = fit(X, positive, FBeta(), Stamp(passes=2))
    assert all(stage.startswith("Stamp") for stage in found.stages)
    assert found.solver == Stamp(passes=2)


@pytest.mark.parametrize(
    ("rows", "columns", "share", "expected"),
    [
        (1_000, 5, 0.1, (5, 3, 7, True)),  # few rows, few positives: five folds drawn three times, seven starts
        (20_000, 5, 0.1, (5, 1, 7, True)),
        (30_000, 5, 0.1, (3, 1, 3, True)),
        (35_000, 5, 0.001, (5, 1, 7, True)),  # few positives: the whole choice up to 35,000 rows
        (60_000, 5, 0.001, (4, 1, 2, True)),
        (50_000, 5, 0.1, (1, 1, 3, True)),  # points in plenty: all rows train and choose
        (70_000, 5, 0.1, (1, 1, 1, False)),
        (90_000, 5, 0.005, (1, 1, 2, True)),  # only just in plenty: 450 positives, where 300 are asked for
        (90_000, 5, 599 / 90_000, (1, 1, 2, True)),
        (90_000, 5, 600 / 90_000, (1, 1, 1, False)),
        (100_000, 5, 0.001, (3, 1, 1, False)),  # many rows, few positives: three folds
        (100_001, 5, 0.001, (2, 1, 1, False)),
        (12, 2, 0.25, (3, 3, 7, True)),  # no more folds than points of a class
    ],
)
def test_the_fewer_points_the_more_is_spent_on_the_choice(rows, columns, share, expected):
    assert SelectionPlan.of(statistics_of(rows, columns, share), FBeta(), None)[:4] == expected


@pytest.mark.parametrize("measure", [FBeta(), TPRAtTNR(0.9)], ids=str)
@pytest.mark.parametrize("share", [0.002, 0.1, 0.5])
def test_what_the_choice_costs_never_jumps_as_rows_grow_in_number(measure, share):
    """From 20,000 to 120,000 rows, a tenth more at a time; runs times rows stand for the CPU time."""
    sizes = (20_000 * 1.1 ** np.arange(20)).astype(int)
    plans = [SelectionPlan.of(statistics_of(int(rows), share=share), measure, None) for rows in sizes]
    runs = np.array([plan.models * plan.starts for plan in plans])
    assert (np.diff(runs) <= 0).all()
    assert (np.maximum(runs[1:] / runs[:-1], runs[:-1] / runs[1:]) <= 2.0).all()
    assert runs[0] > runs[-1]


def test_rows_of_many_values_count_as_more_rows():
    narrow, wide = (SelectionPlan.of(statistics_of(20_000, columns), FBeta(), None) for columns in (5, 4_000))
    assert narrow.models * narrow.starts > wide.models * wide.starts


def test_a_constraint_is_judged_by_models_nearly_as_good_as_the_whole():
    statistics = statistics_of(200_000, share=0.00025)
    assert SelectionPlan.of(statistics, FBeta(), None).folds == 2
    assert SelectionPlan.of(statistics, TPRAtTNR(0.9), None).folds == 5


def test_the_validation_fraction_sets_the_number_of_folds():
    statistics = statistics_of(600, 60)
    assert SelectionPlan.of(statistics, FBeta(), 0.1).folds == 10
    assert SelectionPlan.of(statistics, FBeta(), 0.5).folds == 2


def test_groups_are_split_into_five_folds_however_many_the_rows_but_no_more_than_there_are_groups():
    assert SelectionPlan.of(statistics_of(10**6, n_groups=100), FBeta(), None).folds == 5
    assert SelectionPlan.of(statistics_of(10**6, n_groups=3), FBeta(), None).folds == 3
    assert SelectionPlan.of(statistics_of(10**6, n_groups=100), FBeta(), 0.1).folds == 10


@pytest.mark.parametrize("measure", [FBeta(), GMean(), TPRAtTNR(0.9)], ids=str)
@pytest.mark.parametrize("rows", [1_000, 25_000, 40_000, 60_000, 80_000, 10**6])
def test_there_are_as_many_starts_as_planned_and_no_two_are_the_same(measure, rows):
    plan = SelectionPlan.of(statistics_of(rows), measure, None)
    starts = starts_for(measure, 0.1, rows, plan, whitened=False)
    assert len(starts) == len(set(starts)) == plan.starts


def test_the_only_start_has_the_class_weights_that_suit_the_measure():
    plan = SelectionPlan.of(statistics_of(10**6), GMean(), None)
    (start,) = starts_for(GMean(), 0.1, 10**6, plan, whitened=True)
    assert start.exponent == natural_exponent(GMean(), 0.1)


def test_sparse_rows_get_a_penalized_start_too_if_other_rows_can_judge_it():
    scarce = SelectionPlan.of(statistics_of(10**6, columns=10**4), GMean(), None)
    plain, penalized = starts_for(GMean(), 0.1, 10**6, scarce, whitened=False, may_penalize=True)
    assert (plain.alpha, penalized.alpha) == (0.0, 3e-4)
    assert penalized.exponent == plain.exponent
    plenty = SelectionPlan.of(statistics_of(10**6), GMean(), None)
    assert plenty.folds == 1
    assert len(starts_for(GMean(), 0.1, 10**6, plenty, whitened=False, may_penalize=True)) == 1


@pytest.mark.parametrize("prevalence", [0.001, 0.05, 0.2, 0.9])
def test_the_natural_class_weights_suit_the_measure(prevalence):
    assert natural_exponent(GowerLegendre(1.0), prevalence) == pytest.approx(0.0)  # accuracy weighs points alike
    assert natural_exponent(GMean(), prevalence) > 0.8
    assert natural_exponent(MinRate(), prevalence) in (0.0, 1.0)
    if prevalence < 0.5:
        assert 0.0 < natural_exponent(FBeta(1.0), prevalence) < 0.5


def validated(stage, right, n=100):
    """A stage of two folds that ranks this many of 100 positives above all 100 negatives, the others below."""
    scores = np.concatenate([np.where(np.arange(n) < right, 1.0, -1.0), np.zeros(n)])
    signs = np.repeat([1.0, -1.0], n)
    models = [LinearModel(np.array([float(right), fold]), float(right)) for fold in (0.0, 1.0)]
    return Validated(stage, models, Scores(scores, signs))


def test_stages_within_half_a_standard_error_of_the_best_are_averaged_fold_by_fold():
    selected = select([validated("poor", 50), validated("good", 79), validated("best", 80)], FBeta(), repeats=1)
    assert selected.stages == ("good", "best")
    assert selected.best == "best"
    for fold, model in enumerate(selected.models):
        np.testing.assert_allclose(model.weights, [79.5, fold])
        assert model.intercept == 79.5


def test_rows_scored_three_times_over_are_no_surer_than_once():
    tolerance = {
        repeats: select([validated("only", 80)], FBeta(), repeats=repeats).tolerance for repeats in (1, 3)
    }
    assert tolerance[3] == pytest.approx(np.sqrt(3) * tolerance[1])


def test_where_nothing_was_learned_the_message_names_the_remedy():
    with pytest.raises(ValueError, match=r"No model could be learned.*standardize=True does"):
        select([], FBeta(), repeats=1)


def test_stages_are_chosen_for_a_fold_by_the_rows_of_others():
    """Stage a is right on folds 0 and 2 only, stage b on 1 and 3: each is chosen where it is wrong."""
    signs = np.tile([1.0, -1.0], 50)
    right, wrong = signs, -signs
    weights = np.tile(signs, 4)

    def validated(stage, parts, number):
        models = [LinearModel(np.array([number]), float(fold)) for fold in range(4)]
        return Validated(stage, models, Scores(np.concatenate(parts), weights, folds=(100,) * 4))

    candidates = [
        validated("a", [right, wrong, right, wrong], 1.0),
        validated("b", [wrong, right, wrong, right], 2.0),
    ]
    found = select_crossfitted(candidates, GMean(), repeats=1)
    assert [float(one.weights[0]) for one in found] == [2.0, 1.0, 2.0, 1.0]
    assert [one.intercept for one in found] == [0.0, 1.0, 2.0, 3.0]
    together = [one._replace(scores=one.scores._replace(folds=None)) for one in candidates]
    assert select_crossfitted(together, GMean(), repeats=1) is None


@pytest.mark.parametrize(("rows", "folds"), [(9, 5), (20_000, 5), (25_000, 4), (30_000, 3), (40_000, 2)])
def test_the_more_rows_are_learned_from_at_once_the_fewer_folds(rows, folds):
    assert folds_of_batches(rows) == folds


def test_starts_of_few_rows_end_with_the_class_weights_nearest_to_the_measures_own():
    by_f1 = [(start.exponent, start.C) for start in batch_starts(FBeta(), statistics_of(900))]
    assert by_f1 == [(1.0, 0.003), (1.0, 3.0), (0.0, 0.003), (0.0, 3.0)]
    by_bound = [start.exponent for start in batch_starts(TPRAtTNR(0.9), statistics_of(900))]
    assert sorted(by_bound[:4]) == [0.0, 0.0, 1.0, 1.0]
    assert by_bound[4:] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("measure", "points", "whitened", "passes"),
    [
        (FBeta(), 10_000, False, 8),
        (FBeta(), 160_000, False, 5),
        (FBeta(), 10**6, False, 4),
        (FBeta(), 10**6, True, 2),
        (GMean(), 10_000, False, 4),  # balanced class weights need half the passes
        (GMean(), 10**6, False, 2),
        (GMean(), 10**6, True, 1),
    ],
)
def test_a_start_of_many_rows_meets_some_800_000_points_in_four_to_eight_passes(measure, points, whitened, passes):
    plan = SelectionPlan(1, 1, 1, False)
    (start,) = starts_for(measure, 0.1, points, plan, whitened=whitened)
    assert start.passes == passes


@pytest.mark.parametrize(("measure", "near"), [(GowerLegendre(1.0), 0.0), (GMean(), 1.0)])
def test_where_some_starts_are_left_out_those_nearest_to_the_measure_stay(measure, near):
    def kept(folds, starts):
        return starts_for(measure, 0.1, 30_000, SelectionPlan(folds, 1, starts, True), whitened=False)

    assert [start.exponent for start in kept(5, 2)] == [near, 0.5]
    assert kept(5, 3)[:2] == kept(5, 2)
    assert (kept(5, 3)[2].exponent, kept(5, 3)[2].C) == (near, 1.0)
    assert [getattr(start, "C", None) for start in kept(5, 6)] == [None, None, 1.0, None, 0.03, 1.0]
    assert len(kept(1, 3)) == 3
    assert all(isinstance(start, WeightedLogistic) for start in kept(1, 3))
    assert all(start.passes == 8 for start in kept(1, 3))
    whitened = starts_for(measure, 0.1, 30_000, SelectionPlan(1, 1, 2, True), whitened=True)
    assert all(start.passes == 2 for start in whitened)


def test_a_bound_keeps_all_class_weights_before_any_penalty():
    found = starts_for(TPRAtTNR(0.9), 0.1, 30_000, SelectionPlan(5, 1, 5, True), whitened=False)
    assert [start.exponent for start in found[:3]] == [0.5, 1.0, 0.0]
    assert [start.C for start in found[3:]] == [1.0, 1.0]
    (low, half, high) = starts_for(TPRAtTNR(0.9), 0.1, 10**6, SelectionPlan(5, 1, 3, False), whitened=False)
    assert (low.exponent, half.exponent, high.exponent) == (0.0, 0.5, 1.0)
    assert (low.passes, half.passes, high.passes) == (4, 4, 2)


def test_classes_of_about_the_same_size_need_no_class_weights_of_a_measures_own():
    assert natural_exponent(FBeta(), 0.45) == natural_exponent(GMean(), 0.55) == 0.5
    assert natural_exponent(FBeta(), 0.35) != 0.5
    assert natural_exponent(FBeta(), 0.65) != 0.5


@pytest.mark.parametrize("prevalence", [0.02, 0.3, 0.9])
def test_the_natural_class_weights_make_a_step_worth_what_the_measure_says(prevalence):
    """Moved along its slopes, a rate of 0.7 on positives and as many false alarms as misses: F2, by hand."""
    measure, skew = FBeta(2.0), (1.0 - prevalence) / prevalence
    tpr = 0.7
    tnr = max(1.0 - 0.3 / skew, 0.0)
    h = 1e-6
    by_tpr = (measure.value(tpr + h, tnr, prevalence) - measure.value(tpr - h, tnr, prevalence)) / (2 * h)
    by_tnr = (measure.value(tpr, tnr + h, prevalence) - measure.value(tpr, max(tnr - h, 0), prevalence)) / (
        h + min(h, tnr)
    )
    power = np.log(skew * by_tpr / by_tnr) / np.log(skew)
    assert natural_exponent(measure, prevalence) == pytest.approx(np.clip(power, 0.0, 1.0), abs=1e-4)


def test_weights_tell_the_prevalence_and_rows_or_points_how_sure_it_is():
    scores = Scores(np.zeros(5), np.array([2.0, 1.0, -1.0, -1.0, -7.0]))
    assert prevalence_and_rarer(scores) == (0.25, 2.0)
    assert prevalence_and_rarer(scores._replace(points=(30.0, 9.0))) == (0.25, 9.0)
    assert prevalence_and_rarer(Scores(np.zeros(3), np.array([1.0, 1.0, -2.0]))) == (0.5, 1.0)
    for sign in (1.0, -1.0):  # a row without weight is of no class
        assert prevalence_and_rarer(Scores(np.zeros(4), sign * np.array([2.0, -1.0, -1.0, 0.0]))) == (0.5, 1.0)


def test_a_stage_divided_by_a_spread_ranks_as_before():
    one = validated("only", 80)
    half = one.divided(2.0)
    assert (half.scores.values == one.scores.values / 2.0).all()
    for model, before in zip(half.models, one.models, strict=True):
        assert (model.weights == before.weights / 2.0).all()
        assert model.intercept == before.intercept / 2.0


def test_of_folds_drawn_twice_each_half_chooses_for_the_other_of_the_same_draw():
    """Stage a is right on the first draw's even folds and the second draw's odd ones, b on all others."""
    signs = np.tile([1.0, -1.0], 20)
    right = np.array([True, False, True, False, False, True, False, True])

    def stage(name, which, number):
        parts = [signs if good else -signs for good in which]
        models = [LinearModel(np.array([number]), float(fold)) for fold in range(8)]
        return Validated(name, models, Scores(np.concatenate(parts), np.tile(signs, 8), folds=(40,) * 8))

    found = select_crossfitted([stage("a", right, 1.0), stage("b", ~right, 2.0)], GMean(), repeats=2)
    assert [float(one.weights[0]) for one in found] == [2.0, 1.0, 2.0, 1.0, 1.0, 2.0, 1.0, 2.0]
    assert [one.intercept for one in found] == list(range(8))
    assert select_crossfitted([stage("a", right, 1.0)], GMean(), repeats=8) is None


@pytest.mark.parametrize(
    ("rows", "share", "repeats"),
    [(19_999, 0.049, 3), (20_000, 0.04, 1), (10_000, 0.0999, 3), (10_000, 0.1, 1), (12, 1 / 12, 1)],
)
def test_folds_are_drawn_again_where_rows_and_points_are_few(rows, share, repeats):
    """Below 20,000 rows and 1,000 points of the rarer class; one fold is not drawn twice."""
    assert SelectionPlan.of(statistics_of(rows, share=share), FBeta(), None).repeats == repeats


@pytest.mark.parametrize(("positives", "repeats"), [(59, 2), (60, 1), (300, 1)])
def test_folds_of_few_rows_learned_at_once_are_drawn_twice_where_points_are_scarce(positives, repeats):
    plan = SelectionPlan.of(statistics_of(1_000, share=positives / 1_000, in_memory=True), FBeta(), None)
    assert plan.batch
    assert (plan.folds, plan.repeats, plan.models) == (5, repeats, 5 * repeats)


@pytest.mark.parametrize(
    ("rows", "columns", "is_sparse", "batch"),
    [
        (40_000, 209, False, True),  # 33.4 MB
        (40_000, 210, False, False),
        (40_001, 5, False, False),
        (32_768, 256, False, True),  # 32 MB to the byte
        (40_000, 104, True, True),  # an entry of a sparse row takes twice the room
        (40_000, 105, True, False),
    ],
)
def test_rows_are_few_enough_to_be_learned_at_once_by_their_number_and_their_size(rows, columns, is_sparse, batch):
    statistics = statistics_of(rows, columns, in_memory=True)._replace(sparse=is_sparse)
    assert SelectionPlan.of(statistics, FBeta(), None).batch == batch


@pytest.mark.parametrize(
    ("size", "plenty", "effort"), [(35_000, False, 1), (100_000, False, 0), (20_000, True, 1), (70_000, True, 0)]
)
def test_the_effort_falls_from_all_to_nothing_on_a_log_scale(size, plenty, effort):
    assert effort_for(size, plenty) == pytest.approx(effort)
    assert effort_for(size / 10, plenty) == 1.0
    assert effort_for(size * 10, plenty) == 0.0
    few, many = (20_000, 70_000) if plenty else (35_000, 100_000)
    assert effort_for((few * many) ** 0.5, plenty) == pytest.approx(0.5)


@pytest.mark.parametrize("least", [(1, 1), (2, 1), (3, 1), (5, 3)])
@pytest.mark.parametrize("effort", [0.0, 0.3, 0.6, 0.9, 1.0])
def test_the_dearest_folds_and_starts_within_the_budget_are_taken(effort, least):
    def cost(folds, starts):
        stochastic = [0, 1, 2, 2, 3, 3, 3, 3][starts] if folds > 1 else starts
        return folds * (stochastic + 2.5 * (starts - stochastic))

    budget = cost(*least) * (cost(5, 7) / cost(*least)) ** effort
    allowed = [one for one in LADDER if one[0] >= least[0] and one[1] >= least[1] and cost(*one) <= budget + 1e-6]
    assert within_budget(effort, *least) == (allowed[0] if allowed else least)


def test_starts_under_a_bound_are_those_of_all_class_weights_whatever_the_measures_own():
    by_bound = starts_for(TPRAtTNR(0.9), 0.1, 30_000, SelectionPlan(5, 1, 6, True), whitened=False)
    assert [(one.exponent, getattr(one, "C", None)) for one in by_bound] == [
        *((0.5, None), (1.0, None), (0.0, None)),
        *((0.0, 1.0), (1.0, 1.0), (0.0, 0.03)),
    ]


def test_the_tolerance_is_half_a_standard_error_on_the_rarer_class_and_all_candidates_are_told():
    selected = select([validated("poor", 50), validated("best", 80)], FBeta(), repeats=1)
    best = FBeta().value(0.8, 1.0, 0.5)
    assert selected.tolerance == pytest.approx(0.5 * np.sqrt(best * (1 - best) / 100))
    assert [one.value for one in selected.found] == pytest.approx([FBeta().value(r, 1.0, 0.5) for r in (0.5, 0.8)])


def test_folds_that_were_drawn_twice_are_twice_as_many():
    plan = SelectionPlan(3, 2, 1, False)
    assert plan.repeats_of(SimpleNamespace(n_folds=6)) == 2
    assert plan.repeats_of(SimpleNamespace(n_folds=3)) == 1
    assert plan.models == 6


@pytest.mark.parametrize(("exponent", "passes"), [(0.0, 2), (0.5, 2), (0.51, 1), (0.8, 1), (1.0, 1)])
def test_class_weights_beyond_the_middle_halve_the_passes(exponent, passes):
    assert start_with(exponent, 10**6, whitened=True).passes == passes
