"""Sharpening goes on where concave rewards stop, for any measure, and never runs away."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ratewise.measures import FBeta, FunctionMeasure, MinRate, Rates, get_measure, measure_names
from ratewise.rewards import Sigmoid
from ratewise.solvers import Learn, LinearModel, Sharpen, Task, WeightedLogistic, best_threshold
from ratewise.solvers.base import History, Scores
from ratewise.solvers.sharpen import Evaluated, Evaluation, SharpenedRun
from ratewise.solvers.threshold import BestThreshold
from ratewise.training.rows import ArrayRows
from ratewise.training.source import Runner, answer, learn
from ratewise.transforms import Standardizer


def with_hopeless_points(n=6_000, seed=0):
    """Two columns of equal worth, and one positive in twenty far out on the wrong side of the first.

    A concave reward pays for the hopeless points all the same, and gives up the first column for their sake; a
    bounded one lets them go.
    """
    rng = np.random.default_rng(seed)
    positive = rng.random(n) < 0.2
    X = rng.standard_normal((n, 2))
    X[positive] += 1.5
    hopeless = positive & (rng.random(n) < 0.05)
    X[hopeless, 0] = -15.0
    return X, np.where(positive, 1.0, -1.0)


def rows_of(X, signs, seed=0):
    rows = ArrayRows(X, signs, Standardizer(X.shape[1]).update(X), np.random.default_rng(seed), np.float32)
    return rows, rows.limit_rows(1e9)


def candidates_of(rows, leverage, measure, settings=None, passes=8, history=None, **more):
    settings = settings or Sharpen(row_limit=1e9)
    task = Task(measure, rows.n_features, rows.dtype, history=history)
    run = SharpenedRun(WeightedLogistic(0.5, 2), task, settings, passes=passes, leverage=leverage, **more)
    Runner(run, 0, rows.summary).to_the_end(rows)
    return run.candidates


def value_of(candidate, rows, measure):
    return best_threshold(rows.scores(*candidate.model), rows.signed_weights, measure).value


MEASURES = [*map(get_measure, measure_names()), FunctionMeasure(lambda p, n: 0.3 * p + 0.7 * n**2)]


@pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.label)
def test_sharpening_lets_hopeless_points_go(measure):
    X, signs = with_hopeless_points()
    rows, leverage = rows_of(X, signs)
    scale = Standardizer(2).update(X).scale.astype(np.float32)
    candidates = candidates_of(rows, leverage, measure)
    start = max(value_of(s, rows, measure) for s in candidates if "passes" in s.stage)
    sharpened = value_of(candidates[-1], rows, measure)
    attainable = best_threshold(rows.X @ scale, rows.signed_weights, measure).value
    assert start < attainable - 0.005, "a problem on which concave rewards do not fall short shows nothing"
    assert sharpened > attainable - 0.01


def test_candidates_come_after_1_2_4_passes_and_at_the_end_of_each_stage():
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    stages = [s.stage for s in candidates_of(rows, leverage, FBeta(), passes=6)]
    start = "logistic, class-weight exponent 0.5"
    expected = [f"{start}, {k} passes" for k in (1, 2)] + [f"{start}, sharpened {k}" for k in (1, 2, 4, 6)]
    assert stages == expected


def test_without_sharpening_passes_the_start_alone_is_a_candidate():
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    (start,) = candidates_of(rows, leverage, FBeta(), passes=0, whole_start=False)
    assert start.stage == "logistic, class-weight exponent 0.5, 2 passes"
    assert start.value == pytest.approx(value_of(start, rows, FBeta()))


def test_the_history_holds_every_sharpening_pass_with_its_class_weights():
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    history = History()
    candidates_of(rows, leverage, FBeta(), passes=3, history=history)
    table = history.table()
    np.testing.assert_array_equal(table["pass"], [1, 2, 3, 4, 5])
    np.testing.assert_array_equal(table["points"], 2_000 * table["pass"])
    assert np.isfinite(table["alpha"][2:]).all()
    np.testing.assert_allclose(np.maximum(table["alpha"], table["beta"])[2:], 1.0)


@pytest.mark.parametrize("measure", [FBeta(1.0), get_measure("gmean"), MinRate()], ids=str)
def test_steps_far_too_long_are_noticed_and_never_returned(measure):
    rows, leverage = rows_of(*with_hopeless_points(3_000))
    settings = Sharpen(step=1e7, row_limit=1e9)
    candidates = candidates_of(rows, leverage, measure, settings, passes=16)
    start = max(value_of(s, rows, measure) for s in candidates if "passes" in s.stage)
    for candidate in candidates:
        assert np.isfinite(candidate.model.weights).all()
        assert value_of(candidate, rows, measure) >= 0.79 * start


@pytest.mark.parametrize("measure", [FBeta(1.0), get_measure("jaccard")], ids=str)
def test_the_weights_of_a_pass_are_the_valuations_at_the_current_level(measure):
    """For F1 that is 2 - v on a positive and v on a negative, up to scale."""
    rows, leverage = rows_of(*with_hopeless_points(3_000))
    history = History()
    candidates_of(rows, leverage, measure, passes=3, history=history)
    table = history.table()
    level = table["value"][-2]  # the last pass was weighted by the level of the one before
    p = rows.summary.prevalence
    on_tpr, on_tnr = measure.valuation_weights(level, p)
    expected = (on_tpr / p) / (on_tnr / (1 - p))
    assert table["alpha"][-1] / table["beta"][-1] == pytest.approx(expected, rel=1e-6)


def test_min_leans_towards_the_class_whose_scores_are_thin_at_the_cut():
    """Positives N(0, 9), negatives N(-3, 1/4) in one column: at the cut the positives are the thinner, and moving
    it costs them less, so a unit of TPR must weigh more for the two to balance."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(0.0, 3.0, (1_000, 1)), rng.normal(-3.0, 0.5, (4_000, 1))])
    signs = np.repeat([1.0, -1.0], [1_000, 4_000])
    rows, leverage = rows_of(X, signs)
    history = History()
    candidates_of(rows, leverage, MinRate(), passes=2, history=history)
    table = history.table()
    per_tpr = table["alpha"][-1] * 0.2
    per_tnr = table["beta"][-1] * 0.8
    assert per_tpr > 1.5 * per_tnr


def test_after_each_pass_the_model_moves_so_that_the_best_cut_of_its_mean_lies_at_zero():
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    task = Task(FBeta(), 2, rows.dtype)
    run = SharpenedRun(WeightedLogistic(), task, Sharpen(row_limit=1e9), passes=4, leverage=leverage)
    while not isinstance(request := run.request(rows.summary), Learn) or request.reward != Sigmoid(1.0):
        if isinstance(request, Learn):
            request.learner.restart_mean()
            learn(request, rows, rows.n_points)
        run.receive(None if isinstance(request, Learn) else answer(rows, request))
    learner = request.learner
    learner.restart_mean()
    learn(request, rows, rows.n_points)
    cut = best_threshold(rows.scores(*learner.mean()), rows.signed_weights, FBeta()).threshold
    before = learner.current()
    run.receive(None)
    run.receive(answer(rows, run.request(rows.summary)))
    np.testing.assert_array_equal(learner.current().weights, before.weights)
    assert abs(cut) > 1e-3
    assert learner.current().intercept == pytest.approx(before.intercept - cut)


def test_the_number_of_passes_falls_with_the_number_of_points():
    assert [Sharpen().passes_over(n) for n in (10, 20_000, 60_000, 400_000, 10**6)] == [16, 15, 5, 4, 2]
    assert Sharpen(passes=3).passes_over(10**6) == 3


@pytest.mark.parametrize(
    "settings", [{"passes": 0}, {"passes": 1.5}, {"step": 0}, {"softness": -1}, {"row_limit": math.nan}]
)
def test_settings_out_of_range_are_refused_by_name(settings):
    with pytest.raises(ValueError, match=f"Sharpen: {next(iter(settings))} must be"):
        Sharpen(**settings)


def test_points_weigh_what_the_slopes_of_the_measure_say_also_where_one_is_small():
    rates = Rates(0.99, 0.5, 0.2)
    measure = get_measure("qmean")
    nothing = LinearModel(np.zeros(1), 0.0), Scores(np.zeros(1), np.ones(1))
    evaluated = Evaluated(*nothing, BestThreshold(0.0, measure.value(*rates), rates))
    positive, negative = Evaluation(measure, 0.2, 0.05).class_weights(evaluated, 1.0)
    slopes = measure.slopes(*rates)
    assert positive / negative == pytest.approx(slopes[0] / 0.2 / (slopes[1] / 0.8))
    assert max(positive, negative) == 1.0


def test_a_precision_that_no_cut_of_the_start_keeps_is_learned_for_all_the_same():
    """A few negatives lie beyond the positives, so the start's highest scores are theirs.

    Hardly a cut of it keeps the precision: the best predicts next to nothing positive, where there is little to
    learn from.
    """
    rng = np.random.default_rng(0)
    n = 8_000
    positive = rng.random(n) < 0.05
    X = rng.standard_normal((n, 2))
    X[positive, 0] += 4.0
    beyond = ~positive & (rng.random(n) < 0.02)
    X[beyond] += [12.0, 8.0]
    rows, leverage = rows_of(X, np.where(positive, 1.0, -1.0))
    measure = get_measure("recall-at-precision-0.9")
    start, *_, last = candidates_of(rows, leverage, measure, passes=16)
    assert best_threshold(rows.scores(*start.model), rows.signed_weights, measure, caution=None).rates.tpr < 0.02
    assert best_threshold(rows.scores(*last.model), rows.signed_weights, measure, caution=None).rates.tpr > 0.2


@pytest.mark.parametrize(("measure", "the_same"), [(FBeta(), True), (MinRate(), False)])
def test_class_weights_are_damped_for_a_measure_with_a_corner_only(measure, the_same):
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    last = []
    for damped in (False, True):
        rows = rows.with_rng(np.random.default_rng(1))
        last.append(candidates_of(rows, leverage, measure, passes=2, damped=damped)[-1].model.weights)
    assert np.array_equal(*last) == the_same
