"""Sharpening goes on where concave rewards stop, for any measure, and never runs away."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from ratewise.decisions.cuts import BestThreshold
from ratewise.measures import (
    Constrained,
    FBeta,
    FunctionMeasure,
    MinRate,
    Rates,
    RecallAtPrecision,
    TPRAtTNR,
    get_measure,
    measure_names,
)
from ratewise.rewards import Sigmoid
from ratewise.solvers import Learn, LinearModel, Sharpen, Stamp, Task, WeightedLogistic, best_threshold
from ratewise.solvers.base import History, Scores
from ratewise.solvers.evaluate import Evaluated, Evaluation, every_so_many, thinned_out
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.solvers.requests import Cut, Evaluate
from ratewise.solvers.sharpen import Sharpened, halfway, is_power_of_two
from ratewise.solvers.state import RowTotals
from ratewise.training.answers import Runner, answer, learn
from ratewise.training.rows import ArrayRows
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
    run = Sharpened(WeightedLogistic(0.5, 2), settings, passes=passes, leverage=leverage, **more).start(task)
    Runner(run, 0, rows.summary).to_the_end(rows)
    return run.result


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
    useless, perfect = measure.scale(rows.summary.prevalence)
    unit = min(perfect - useless, 1.0)  # an alert budget allows a small recall only
    assert start < attainable - 0.005 * unit, "a problem on which concave rewards do not fall short shows nothing"
    assert sharpened > attainable - 0.01 * unit


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
    run = Sharpened(WeightedLogistic(), Sharpen(row_limit=1e9), passes=4, leverage=leverage).start(task)
    while not isinstance(request := run.request(rows.summary), Learn) or request.reward != Sigmoid(1.0):
        if isinstance(request, Learn):
            learn(run.to_learn(), request, rows, rows.n_points)
        run.receive(None if isinstance(request, Learn) else answer(rows, request))
    learner = run.to_learn()
    learn(learner, request, rows, rows.n_points)
    cut = best_threshold(rows.scores(*learner.mean()), rows.signed_weights, FBeta()).threshold
    before = learner.current()
    run.receive(None)
    run.receive(answer(rows, run.request(rows.summary)))
    assert isinstance(run.request(rows.summary), Learn)
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
    evaluated = Evaluated(Scores(np.zeros(1), np.ones(1)), BestThreshold(0.0, measure.value(*rates), rates))
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
    assert (
        best_threshold(rows.scores(*start.model), rows.signed_weights, measure, margin_scale=None).rates.tpr < 0.02
    )
    assert (
        best_threshold(rows.scores(*last.model), rows.signed_weights, measure, margin_scale=None).rates.tpr > 0.2
    )


@pytest.mark.parametrize(("measure", "the_same"), [(FBeta(), True), (MinRate(), False)])
def test_class_weights_are_damped_for_a_measure_with_a_corner_only(measure, the_same):
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    last = []
    for damped in (False, True):
        rows = rows.with_rng(np.random.default_rng(1))
        last.append(candidates_of(rows, leverage, measure, passes=2, damped=damped)[-1].model.weights)
    assert np.array_equal(*last) == the_same


# Every number again, slowly.


def some_scores(seed=0, n=300):
    rng = np.random.default_rng(seed)
    signed = np.where(rng.random(n) < 0.3, 1.0, -1.0) * rng.uniform(0.5, 2.0, n)
    return Scores(3.0 * (rng.normal(size=n) + 1.5 * (signed > 0)), signed)


def evaluated_at_its_best(scores, measure):
    best = best_threshold(scores.values, scores.signed_weights, measure, margin_scale=None)
    return Evaluated(scores, best)


def soft_rates(scores, threshold, width):
    """Means of the sigmoid of the margins, of each class."""
    found = []
    for side in (1.0, -1.0):
        mine = side * scores.signed_weights > 0
        margins = side * (scores.values[mine] - threshold)
        found.append(np.average(expit(margins / width), weights=np.abs(scores.signed_weights[mine])))
    return found


@pytest.mark.parametrize(
    "measure", [FBeta(), MinRate(), get_measure("mcc"), get_measure("cost"), TPRAtTNR(0.9)], ids=str
)
@pytest.mark.parametrize("softness", [0.01, 0.05, 0.3])
def test_the_sigmoid_is_as_wide_as_the_softness_allows(measure, softness):
    scores = some_scores()
    evaluated, evaluation = evaluated_at_its_best(scores, measure), Evaluation(measure, 0.3, softness)
    best, allowed = evaluated.best, softness * (40.0 if measure.constraints(0.3) else 1.0)
    least = best.value - allowed * abs(best.value - measure.scale(0.3)[0])
    # Two deviations, then narrower by a factor of 1.4 at a time, to a 28th of one.
    widths = [2.0 * scores.values.std() / 1.4**k for k in range(13)]
    good = [
        w
        for w in widths[:12]
        if measure.value(*soft_rates(scores, best.threshold, w), best.rates.prevalence) >= least
    ]
    assert evaluation.sigmoid_width(evaluated) == pytest.approx(good[0] if good else widths[12], rel=1e-9)


def test_the_sigmoid_of_a_histogram_is_as_wide_as_that_of_its_rows():
    rows = Scores(np.repeat([2.0, -1.0, 0.5, -3.0], [3, 2, 4, 6]), np.repeat([1.0, 1.0, -1.0, -1.0], [3, 2, 4, 6]))
    bins = Scores(np.array([2.0, -1.0, 0.5, -3.0]), np.array([3.0, 2.0, -4.0, -6.0]), (5.0, 10.0))
    widths = [
        Evaluation(FBeta(), 1 / 3, 0.05).sigmoid_width(evaluated_at_its_best(one, FBeta())) for one in (rows, bins)
    ]
    assert widths[0] == pytest.approx(widths[1])


@pytest.mark.parametrize("measure", [FBeta(), get_measure("mcc"), get_measure("qmean")], ids=str)
def test_a_slope_counts_a_thousandth_of_the_scale_at_least(measure):
    rates = Rates(1.0, 0.5, 0.2)
    evaluated = Evaluated(some_scores(), BestThreshold(0.0, 0.5, rates))
    found = Evaluation(measure, 0.2, 0.05).class_weights(evaluated, 1.0)
    useless, perfect = measure.scale(0.2)
    slopes = [max(one, 1e-3 * (perfect - useless)) for one in measure.slopes(*rates)]
    weights = np.array([slopes[0] / 0.2, slopes[1] / 0.8])
    assert found == pytest.approx(tuple(weights / weights.max()))


@pytest.mark.parametrize(
    ("measure", "least"), [(MinRate(), 0.05), (TPRAtTNR(0.9), 0.1 * 0.2), (RecallAtPrecision(0.9), 0.1 * 0.2)]
)
@pytest.mark.parametrize("threshold", [-30.0, -1.0, 0.0, 2.0, 30.0])
def test_at_a_corner_the_densities_of_both_classes_at_the_cut_tell_the_slopes(measure, least, threshold):
    scores, width = some_scores(), 1.5
    rates = Rates(0.5, 0.5, 0.2)
    evaluated = Evaluated(scores, BestThreshold(threshold, 0.5, rates))
    share = expit((scores.values - threshold) / width)
    window, weights = share * (1.0 - share), np.abs(scores.signed_weights)
    on_positives, on_negatives = (
        np.average(window[mine], weights=weights[mine])
        for mine in (scores.signed_weights > 0, scores.signed_weights < 0)
    )
    # Where positives are thin at the cut, a unit of TPR weighs more.
    on_tpr = np.clip(on_negatives / (on_positives + on_negatives), least, 1.0 - least)
    expected = np.array([on_tpr / 0.2, (1.0 - on_tpr) / 0.8])
    found = Evaluation(measure, 0.2, 0.05).class_weights(evaluated, width)
    assert found == pytest.approx(tuple(expected / expected.max()))


@pytest.mark.parametrize(("measure", "moved"), [(RecallAtPrecision(0.9), True), (TPRAtTNR(0.95), False)])
def test_only_a_precision_out_of_reach_is_learned_for_at_a_cut_that_finds_some(measure, moved):
    """The highest scores are all of negatives, a tenth of them: the best cut finds nothing."""
    signs = np.repeat([-1.0, 1.0, -1.0], [100, 100, 900])
    scores = Scores(-np.arange(1_100.0), signs)
    best = Evaluation(measure, 100 / 1_100, 0.05).of(scores).best
    assert (best.rates.tpr >= 0.02) == moved


def test_a_precision_within_a_constrained_measure_may_be_out_of_reach_too():
    signs = np.repeat([-1.0, 1.0, -1.0], [100, 100, 900])
    measure = Constrained("f1", precision=0.99, penalty=50.0)
    found = Evaluation(measure, 100 / 1_100, 0.05).of(Scores(-np.arange(1_100.0), signs))
    assert found.best.rates.tpr >= 0.02


def test_scores_that_are_not_finite_have_no_value():
    found = Evaluation(FBeta(), 0.5, 0.05).of(Scores(np.array([1.0, np.nan]), np.ones(2)))
    assert math.isnan(found.value)
    assert found.best.threshold == 0.0


def test_of_many_rows_of_a_class_those_among_every_so_many_are_taken():
    mine = np.arange(90_000) % 2 == 0  # 45,000: twice 20,000 and more
    expected = [place for place in range(0, 90_000, 2) if mine[place] and place % 2 == 0]
    assert every_so_many(mine).tolist() == expected
    assert every_so_many(np.arange(130_000) % 2 == 0).tolist() == [k for k in range(0, 130_000, 3) if k % 2 == 0]
    assert every_so_many(mine[:39_000]).tolist() == np.flatnonzero(mine[:39_000]).tolist()


def test_rows_are_thinned_out_class_by_class_and_rows_without_weight_left_out():
    scores = Scores(np.arange(5.0), np.array([1.0, 0.0, -1.0, 2.0, -3.0]))
    values, weights = thinned_out(scores)
    assert values.tolist() == [0.0, 3.0, 2.0, 4.0]
    assert weights.tolist() == [1.0, 2.0, -1.0, -3.0]
    histogram = scores._replace(points=(3.0, 4.0))
    assert thinned_out(histogram)[0] is scores.values


def test_half_of_the_way_between_class_weights_is_their_geometric_mean():
    assert halfway((4.0, 9.0), (0.25, 0.01)) == pytest.approx((1.0, 0.3))


def test_powers_of_two():
    assert [number for number in range(1, 20) if is_power_of_two(number)] == [1, 2, 4, 8, 16]


def test_a_start_that_is_not_to_be_sharpened_is_left_as_it_is():
    rows, leverage = rows_of(*with_hopeless_points(1_000))
    algorithm = Sharpened(PenalizedLogistic(), Sharpen(), passes=4, leverage=leverage)
    Runner(run := algorithm.start(Task(FBeta(), 2, rows.dtype)), 0, rows.summary).to_the_end(rows)
    assert [one.stage for one in run.result] == [f"{PenalizedLogistic().label}, 1 passes"]


@pytest.mark.parametrize("in_sample", [False, True])
def test_where_training_rows_choose_candidates_keep_their_bounds_and_their_scale(in_sample):
    rows, leverage = rows_of(*with_hopeless_points(2_000))
    measure = TPRAtTNR(0.9)
    (candidate, *_) = candidates_of(rows, leverage, measure, passes=1, in_sample=in_sample)
    scores = rows.scores(*candidate.model)
    bound = best_threshold(scores, rows.signed_weights, measure).value
    free = best_threshold(scores, rows.signed_weights, measure, margin_scale=None).value
    assert candidate.value == pytest.approx(bound if in_sample else free)
    spread = (0.0, 1.0) if in_sample else (scores.mean(), scores.std())
    assert (candidate.mean, candidate.deviation) == pytest.approx(spread, rel=1e-4, abs=1e-5)
    normal = candidate.normalized()
    np.testing.assert_allclose(normal.weights, candidate.model.weights / spread[1], rtol=1e-4)


SEEN = RowTotals(300, 90.0, 210.0, 600.0)


def cut_at(value, threshold=0.0, class_weights=(1.0, 1.0), width=1.0):
    return Cut(BestThreshold(threshold, value, Rates(0.5, 0.9, 0.3)), width, class_weights, value)


def sharpening(measure=None, *, damped=False):
    """A run at its first sharpening pass. Its start has a value of 0.8 and is cut at 0.5, by a sigmoid 2 wide."""
    algorithm = Sharpened(WeightedLogistic(passes=1), Sharpen(step=8.0), 9, leverage=3.0, damped=damped)
    run = algorithm.start(Task(measure or FBeta(), 1, np.float64, l2=0.5))
    make_pass(run, LinearModel(np.array([2.0]), 1.0), cut_at(0.8, 0.5, (1.0, 0.25), 2.0))
    return run


def make_pass(run, model, cut):
    """Let a pass end at this model, and be evaluated so; return the request that follows."""
    assert isinstance(run.request(SEEN), Learn)
    run.to_learn().set_model(model)
    run.receive(None)
    asked = run.request(SEEN)
    assert isinstance(asked, Evaluate)
    np.testing.assert_array_equal(asked.model.weights, model.weights)
    run.receive(cut)
    return run.request(SEEN)


def test_the_stage_begins_with_scores_in_widths_from_the_best_cut():
    run = sharpening()
    request = run.request(SEEN)
    model = run.learner.current()
    assert (model.weights[0], model.intercept) == (1.0, 0.25)
    assert run.learner.class_weights == (1.0, 0.25)
    assert run.learner.points_seen == 300
    assert (request.passes, request.restart_mean, request.reward) == (1, True, Sigmoid(1.0))
    assert request.settings.steps.step == pytest.approx(8.0 / 3.0 * math.sqrt(300))
    assert request.settings.steps.l2 == 0.5


@pytest.mark.parametrize(("value", "taken"), [(0.7, True), (0.641, True), (0.639, False), (math.nan, False)])
def test_a_pass_that_loses_a_fifth_of_the_best_is_undone_with_steps_a_quarter_as_long(value, taken):
    run = sharpening()
    request = make_pass(run, LinearModel(np.array([7.0]), 7.0), cut_at(value, 0.5))
    model = run.learner.current()
    # The best cut of the mean moves to 0; or the model is that of the start, in widths.
    assert (model.weights[0], model.intercept) == ((7.0, 6.5) if taken else (1.0, 0.25))
    assert request.settings.steps.step == pytest.approx((8.0 if taken else 2.0) / 3.0 * math.sqrt(300))


def test_the_best_pass_so_far_is_what_a_bad_one_goes_back_to():
    run = sharpening()
    for intercept, value in ((3.0, 0.9), (4.0, 0.85), (5.0, 0.7)):
        make_pass(run, LinearModel(np.array([7.0]), intercept), cut_at(value))
    assert run.learner.current().intercept == 3.0


@pytest.mark.parametrize(("measure", "damped"), [(FBeta(), False), (MinRate(), True)])
def test_class_weights_move_half_of_the_way_where_they_are_damped(measure, damped):
    run = sharpening(measure, damped=True)
    asked = (0.04, 1.0)
    make_pass(run, LinearModel(np.array([7.0]), 0.0), cut_at(0.8, class_weights=asked))
    assert run.learner.class_weights == pytest.approx((0.2, 0.5) if damped else asked)


@pytest.mark.parametrize(
    ("measure", "prevalence", "least"),
    [(MinRate(), 0.2, 0.05), (TPRAtTNR(0.9), 0.2, 0.02), (TPRAtTNR(0.9), 0.7, 0.03)],
)
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_class_without_scores_near_the_cut_leaves_the_other_a_little_weight(measure, prevalence, least, side):
    """The least share of a constraint is a tenth of the rarer class's."""
    scores = Scores(side * np.repeat([0.0, -90.0], 10), side * np.repeat([1.0, -1.0], 10))
    best = BestThreshold(0.0, 0.5, Rates(0.5, 0.5, prevalence))
    found = Evaluation(measure, prevalence, 0.05).class_weights(Evaluated(scores, best), 1.0)
    on_tpr = least if side > 0 else 1.0 - least
    expected = np.array([on_tpr / prevalence, (1.0 - on_tpr) / (1.0 - prevalence)])
    assert found == pytest.approx(tuple(expected / expected.max()))


def test_a_start_that_goes_by_points_is_a_candidate_at_its_end_only():
    rows, leverage = rows_of(*with_hopeless_points(1_000))
    algorithm = Sharpened(Stamp(passes=2), Sharpen(), passes=1, leverage=leverage)
    Runner(run := algorithm.start(Task(FBeta(), 2, rows.dtype)), 0, rows.summary).to_the_end(rows)
    assert [one.stage for one in run.result] == ["Stamp, 2 passes", "Stamp, sharpened 1"]
    assert {one.maker for one in run.result} == {Stamp(passes=2)}
