"""What runs ask for, by hand: step sizes, epochs, levels and passes; and what they write into the history."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ratewise.measures import FBeta, GMean, PseudoLinear, Rates
from ratewise.rewards import Hinge
from ratewise.solvers import Amp, LinearModel, RowTotals, Spade, Stamp, Task, WeightedLogistic
from ratewise.solvers.base import (
    History,
    Scores,
    leverage_settings,
    points_between_models,
    primal_settings,
    require_number,
)
from ratewise.solvers.logistic import PenalizedLogistic
from ratewise.solvers.requests import CountRates, Learn, Maximize, MeanRewards

# A fifth of the points are positives, and the mean squared length of a row is 4; 5.5 with the intercept's entry.
SEEN = RowTotals(1000, 200.0, 800.0, 4000.0, 1.5)


def test_a_step_is_divided_by_the_root_mean_square_gradient():
    settings = primal_settings(SEEN, (0.7, 0.3), step=2.0, radius=3.0, l2=0.25, average_every=9, dual_step=0.5)
    assert settings.radius == 3.0
    assert settings.steps._asdict() == pytest.approx(
        {
            "step": 2.0 / math.sqrt(5.5 * (0.49 / 0.2 + 0.09 / 0.8)),
            "dual_step": 0.5 / math.sqrt(1 / 0.2 + 1 / 0.8),
            "conjugate_sign": 1.0,
            "per_positive": 5.0,
            "per_negative": 1.25,
            "l2": 0.25,
            "intercept_gain": 1.5,
            "average_every": 9,
        }
    )


def test_without_a_ball_there_is_no_radius_and_no_dual_step_unless_given():
    settings = primal_settings(SEEN, (1.0, 1.0), step=1.0, radius=math.inf, l2=0.0, average_every=1)
    assert settings.radius is None
    assert settings.steps.dual_step == 0.0


def test_steps_in_units_of_leverage_begin_at_one_pass():
    settings = leverage_settings(SEEN, 3, step=2.0, leverage=5.0, l2=0.1)
    assert settings.radius is None
    assert settings.steps._asdict() == pytest.approx(
        {
            "step": 2.0 / 5.0 * math.sqrt(1000),
            "dual_step": 0.0,
            "conjugate_sign": 1.0,
            "per_positive": 1.0,
            "per_negative": 1.0,
            "l2": 0.1,
            "intercept_gain": 1.5,
            "average_every": 3,
        }
    )


@pytest.mark.parametrize(("points", "columns", "between"), [(256 * 40, 10, 40), (1000, 1000, 20), (200, 40, 1)])
def test_models_are_added_to_the_mean_some_256_times_or_once_in_50_columns(points, columns, between):
    assert points_between_models(points, columns) == between


@pytest.mark.parametrize("value", [0, -1, True, "2", None, float("nan")])
def test_a_setting_must_be_a_number_above_its_bound(value):
    with pytest.raises(ValueError, match=r"Owner: name must be a number above 0"):
        require_number("name", value, "Owner", low=0)
    require_number("name", 1e-9, "Owner", low=0)
    with pytest.raises(ValueError, match="a whole number above 0"):
        require_number("name", 1.5, "Owner", low=0, whole=True)


def test_spade_makes_all_passes_at_once_unless_each_is_recorded():
    run = Spade(passes=7).start(Task(GMean(), 3))
    assert run.request(SEEN).passes == 7
    run.receive(None)
    assert run.finished
    history = History()
    run = Spade(passes=2).start(Task(GMean(), 3, history=history))
    for finished in (False, True):
        assert run.request(SEEN).passes == 1
        run.receive(None)
        assert run.finished is finished
    assert history.table()["pass"].tolist() == [1.0, 2.0]
    assert history.table()["points"].tolist() == [1000.0, 2000.0]


def test_spade_without_end_is_never_finished_and_counts_what_it_has_seen():
    history = History()
    run = Spade(passes=1).start(Task(GMean(), 3, history=history, endless=True))
    for points in (1000, 2500):
        assert run.request(SEEN._replace(points=points)).passes == 1
        run.receive(None)
        assert not run.finished
    assert history.table()["points"].tolist() == [1000.0, 2500.0]


def test_spade_steps_by_the_first_pair_of_the_measure():
    run = Spade(step=3.0, dual_step=2.0, radius=4.0).start(Task(GMean(), 3, l2=0.5))
    request = run.request(SEEN)
    expected = primal_settings(
        SEEN, GMean().first_pair(), step=3.0, dual_step=2.0, radius=4.0, l2=0.5, average_every=3
    )
    assert request.settings == expected
    assert run.learner.class_weights == pytest.approx(GMean().first_pair())


def epochs_of(run, seen, rates=Rates(0.5, 0.5, 0.2)):  # noqa: B008
    """The points of every epoch, and the rows or points that its level is taken on."""
    learned, levels = [], []
    while not run.finished:
        request = run.request(seen)
        if isinstance(request, Learn):
            learned.append(request.points)
            run.receive(None)
        elif isinstance(request, CountRates):
            levels.append(request.rows)
            run.receive(rates)
        else:
            levels.append(-request.points)
            run.receive((0.5, 0.5))
    return learned, levels


def test_epochs_of_stamp_double_and_the_last_one_takes_the_remainder():
    learned, levels = epochs_of(Stamp(passes=1).start(Task(FBeta(), 3)), SEEN)
    assert learned == [100, 200, 700]  # 700 are fewer than 400 and 800
    assert levels == [1000, 1000, 1000]  # 200 positives
    learned, _ = epochs_of(Stamp(passes=3, first_epoch=200).start(Task(FBeta(), 3)), SEEN)
    assert learned == [200, 400, 800, 1600]  # 2400 are just as many as 800 and 1600
    learned, _ = epochs_of(Stamp(passes=1, first_epoch=10, growth=9.0).start(Task(FBeta(), 3)), SEEN)
    assert learned == [10, 90, 900]


def test_the_level_of_a_long_epoch_is_taken_on_an_eighth_of_it():
    seen = SEEN._replace(points=300_000, positive_weight=150_000.0, negative_weight=150_000.0)
    learned, levels = epochs_of(Stamp(passes=1, first_epoch=100_000).start(Task(FBeta(), 3)), seen)
    assert (learned, levels) == ([100_000, 200_000], [12_500, 25_000])
    rare = seen._replace(positive_weight=30.0, negative_weight=299_970.0)
    assert epochs_of(Stamp(passes=1, first_epoch=40_000).start(Task(FBeta(), 3)), rare)[1][0] == 10_000


def test_fresh_levels_take_as_many_points_as_the_epoch_had():
    learned, levels = epochs_of(Stamp(passes=1, level="fresh").start(Task(FBeta(), 3)), SEEN)
    assert (learned[:2], levels[:2]) == ([100, 200], [-100, -200])
    assert sum(learned) - sum(one for one in levels if one < 0) == 1000


def test_stamp_weighs_classes_by_the_level_and_begins_with_that_of_the_model_given():
    run = Stamp(passes=1).start(Task(FBeta(), 2, initial=LinearModel(np.ones(2), 0.5)))
    assert run.request(SEEN).rows == 1000
    run.receive(Rates(0.6, 0.9, 0.2))
    level = float(FBeta().value(0.6, 0.9, 0.2))
    request = run.request(SEEN)
    assert request.points == 100
    weights = FBeta().valuation_weights(level, 0.2)
    assert run.learner.class_weights == pytest.approx(weights)
    assert request.settings == primal_settings(SEEN, weights, step=1.0, radius=math.inf, l2=0.0, average_every=1)


def amp_levels(solver, answers, task=None):
    """The weights asked for after each level that the answers give."""
    run, asked = solver.start(task or Task(FBeta(), 2)), []
    for answer in answers:
        request = run.request(SEEN)
        if isinstance(request, Maximize):
            asked.append(request.class_weights)
            run.receive(LinearModel(np.ones(2), 0.0))
            request = run.request(SEEN)
        assert isinstance(request, CountRates)
        run.receive(Rates(*answer, 0.2))
        if run.finished:
            break
    return run, asked


def test_amp_weighs_by_its_level_and_stops_when_it_stands_still():
    answers = [(0.1, 0.5), (0.5, 0.9), (0.6, 0.9), (0.6, 0.9), (0.7, 0.9)]
    history = History()
    run, asked = amp_levels(Amp(), answers, Task(FBeta(), 2, history=history))
    levels = [float(FBeta().value(*one, 0.2)) for one in answers]
    assert run.finished
    assert history.table()["level"][-1] == levels[2]
    assert asked == [pytest.approx(FBeta().valuation_weights(level, 0.2)) for level in levels[:3]]


def test_amp_makes_no_more_than_its_passes_and_keeps_the_best():
    history = History()
    answers = [(0.1, 0.5), (0.5, 0.9), (0.6, 0.9), (0.7, 0.9), (0.8, 0.9)]
    run, asked = amp_levels(Amp(passes=3), answers, Task(FBeta(), 2, history=history))
    assert run.finished
    assert len(asked) == 3
    assert history.table()["pass"].tolist() == [1.0, 2.0, 3.0]
    assert history.table()["points"].tolist() == [1000.0, 2000.0, 3000.0]
    history = History()
    run, _ = amp_levels(Amp(), [(0.6, 0.9), (0.5, 0.9)], Task(FBeta(), 2, history=history))
    assert run.finished
    assert history.table()["level"].tolist() == [float(FBeta().value(0.6, 0.9, 0.2))]
    assert run.model().weights.tolist() == [0.0, 0.0]


def test_amp_takes_the_measure_of_mean_rewards_where_the_level_is_that_of_rewards():
    run = Amp(level="reward", reward=Hinge()).start(Task(FBeta(), 2))
    run.request(SEEN)
    run.receive(Rates(0.3, 0.3, 0.2))
    assert isinstance(run.request(SEEN), MeanRewards)
    run.receive((0.5, -2.0))  # rewards below 0 count as 0
    level = float(FBeta().value(0.5, 0.0, 0.2))
    assert run.request(SEEN).class_weights == FBeta().valuation_weights(level, 0.2)


def test_logistic_regression_begins_at_the_log_odds_with_steps_of_one_pass():
    run = WeightedLogistic(exponent=0.5, passes=2, step=2.0).start(Task(GMean(), 3, l2=0.25))
    request = run.request(SEEN)
    ratio = math.sqrt(0.8 / 0.2)
    assert run.learner.class_weights == pytest.approx((1.0, 1.0 / ratio))
    assert run.learner.points_seen == 1000
    assert run.model().intercept == pytest.approx(math.log(ratio * 0.2 / 0.8))
    assert request.settings == leverage_settings(SEEN, 3, step=2.0 * math.log(2.0), leverage=5.5, l2=0.25)
    assert (request.passes, request.restart_mean) == (1, True)
    more = SEEN._replace(positive_weight=800.0, negative_weight=200.0)
    run = WeightedLogistic(exponent=0.5).start(Task(GMean(), 3))
    run.request(more)
    assert run.learner.class_weights == pytest.approx((0.5, 1.0))


def record(history, number, **more):
    history.record(passes=number, points=10 * number, rates=Rates(0.25, 0.5, 0.1), value=0.75, **more)


def test_a_history_is_a_table_with_gaps_where_a_column_is_missing():
    history, other = History(), History()
    record(history, 1, level=0.5)
    record(other, 2)
    history.join(other, run=3.0)
    table = history.table()
    table.pop("seconds")
    np.testing.assert_equal(
        table,
        {
            "pass": np.array([1.0, 2.0]),
            "points": np.array([10.0, 20.0]),
            "tpr": np.array([0.25, 0.25]),
            "tnr": np.array([0.5, 0.5]),
            "value": np.array([0.75, 0.75]),
            "level": np.array([0.5, np.nan]),
            "run": np.array([np.nan, 3.0]),
        },
    )


def test_a_long_history_grows_coarser_and_not_longer():
    history, joined = History(), History()
    for number in range(2001):
        record(history, number)
    assert history.table()["pass"].tolist() == list(range(1, 2001, 2))
    for _ in range(4):
        joined.join(history)
    assert joined.table()["pass"].size == 1250  # 1000, 2000, half of 3000, half of 2500
    assert joined.table()["pass"][-1] == 1999.0


def test_seconds_go_on_from_where_a_history_was_kept():
    history = History()
    record(history, 1)
    kept = history.__getstate__()
    assert 0.0 <= kept["_started"] < 60.0
    again = History.__new__(History)
    again.__setstate__(kept | {"_started": 1000.0})
    record(again, 2)
    assert 1000.0 <= again.table()["seconds"][-1] < 1060.0
    assert again.branch()._started == again._started


def test_the_mean_and_the_deviation_of_a_histogram_count_its_weights():
    values, weights = np.array([1.0, 2.0, 5.0]), np.array([3.0, -1.0, 1.0])
    rows = np.array([1.0, 1.0, 1.0, 2.0, 5.0])
    assert Scores(values, weights, (4.0, 1.0)).mean_and_deviation() == pytest.approx((rows.mean(), rows.std()))
    assert Scores(rows, np.ones(5)).mean_and_deviation() == pytest.approx((rows.mean(), rows.std()))
    assert Scores(np.ones(3), np.ones(3)).mean_and_deviation() == (1.0, 1.0)  # to divide by
    assert not Scores(np.array([1.0, np.nan]), np.ones(2)).finite
    assert not Scores(np.array([1.0, np.inf]), np.ones(2)).finite


@pytest.mark.parametrize(("deviation", "kept"), [(0.9, False), (1.1, True)])
def test_scores_that_differ_by_rounding_alone_have_a_deviation_of_one(deviation, kept):
    for mean, rounding in ((1e3, 1e-3), (0.0, 1e-12)):
        values = mean + rounding * deviation * np.array([-1.0, 1.0])
        found = Scores(values, np.ones(2)).mean_and_deviation()[1]
        assert found == (pytest.approx(rounding * deviation, rel=1e-3) if kept else 1.0)


@pytest.mark.parametrize(
    ("low", "high", "equal"), [(1e3, 1e3 + 9e-4, True), (1e3, 1e3 + 1.2e-3, False), (-2.0, -2.0, True)]
)
def test_scores_are_equal_where_they_differ_by_a_millionth_at_most(low, high, equal):
    assert Scores(np.array([low, high]), np.ones(2)).all_equal == equal
    assert Scores(np.array([-high, -low]), np.ones(2)).all_equal == equal
    assert Scores(np.zeros(2), np.ones(2)).all_equal


def test_scores_of_some_folds_are_those_in_their_places():
    scores = Scores(np.arange(6.0), np.arange(6.0) - 10.0, folds=(1, 2, 3))
    found = scores.of_folds({0, 2})
    assert found.values.tolist() == [0.0, 3.0, 4.0, 5.0]
    assert found.signed_weights.tolist() == [-10.0, -7.0, -6.0, -5.0]


@pytest.mark.parametrize("settings", [{"first_epoch": 0}, {"first_epoch": 1.5}, {"growth": 1}, {"passes": 0.5}])
def test_settings_of_stamp_out_of_range_are_refused_by_name(settings):
    with pytest.raises(ValueError, match=f"Stamp: {next(iter(settings))} must be"):
        Stamp(**settings)


@pytest.mark.parametrize(
    ("value", "refused"), [(0, False), (0.5, False), (1, True), (1.5, True), (-0.1, True), (math.nan, True)]
)
def test_a_setting_may_be_bounded_on_both_sides_and_its_low_end_allowed(value, refused):
    if refused:
        with pytest.raises(ValueError, match=r"must be a number of 0 or more and below 1; got"):
            require_number("name", value, "Owner", low=0, high=1, at_low=True)
    else:
        require_number("name", value, "Owner", low=0, high=1, at_low=True)


def test_steps_for_weights_of_nothing_are_finite():
    settings = primal_settings(SEEN, (0.0, 0.0), step=1.0, radius=math.inf, l2=0.0, average_every=1)
    assert math.isfinite(settings.steps.step)


def test_logistic_regression_without_end_takes_its_first_batch_for_a_pass():
    history = History()
    run = WeightedLogistic(passes=1).start(Task(GMean(), 3, history=history, endless=True))
    first = run.request(SEEN).settings.steps
    run.receive(None)
    second = run.request(SEEN._replace(points=5000, squared_rows=20_000.0)).settings.steps
    run.receive(None)
    assert not run.finished
    assert second.step == pytest.approx(first.step)
    assert history.table()["points"].tolist() == [1000.0, 5000.0]


def test_logistic_regression_counts_the_points_of_its_passes():
    history = History()
    run = WeightedLogistic(passes=2).start(Task(GMean(), 3, history=history))
    for finished in (False, True):
        run.request(SEEN)
        run.receive(None)
        assert run.finished is finished
    assert history.table()["points"].tolist() == [1000.0, 2000.0]
    given = WeightedLogistic().start(Task(GMean(), 1, initial=LinearModel(np.ones(1), 0.25)))
    given.request(SEEN)
    assert given.model().intercept == 0.25


def test_penalized_logistic_regression_asks_for_scikit_learns_problem():
    run = PenalizedLogistic(exponent=1.0, C=0.5).start(Task(FBeta(), 2))
    request = run.request(SEEN)
    # 1000 points of balanced weights: (4 * 0.2 + 0.8) each; the reward is to base 2.
    assert request.l2 == pytest.approx(1.0 / (0.5 * 1000 * 1.6 * math.log(2.0)))
    assert request.class_weights == pytest.approx((0.8, 0.8))
    assert (request.iterations, request.few_rows, request.radius) == (100, True, math.inf)
    assert request.start.weights.tolist() == [0.0, 0.0]
    run.receive(LinearModel(np.ones(2), 3.0))
    assert run.finished
    assert run.model().intercept == 3.0


def test_a_level_is_taken_of_rewards_no_lower_than_zero():
    run = Stamp(passes=1, level="fresh").start(Task(FBeta(), 3))
    run.request(SEEN)
    run.receive(None)
    assert isinstance(run.request(SEEN), MeanRewards)
    run.receive((0.5, -3.0))
    level = float(FBeta().value(0.5, 0.0, 0.2))
    assert run.request(SEEN).class_weights == pytest.approx(FBeta().valuation_weights(level, 0.2))


def test_stamp_begins_at_a_level_of_zero_and_goes_on_while_points_are_left():
    history = History()
    epochs_of(Stamp(passes=1).start(Task(FBeta(), 3, history=history)), SEEN)
    assert history.table()["pass"].tolist() == [0.1, 0.3, 1.0]
    run = Stamp(passes=1, first_epoch=999).start(Task(FBeta(), 3))
    request = run.request(SEEN)
    assert run.learner.class_weights == pytest.approx(FBeta().valuation_weights(0.0, 0.2))
    assert request.points == 1000
    fresh = Stamp(passes=1, first_epoch=333, growth=1.001, level="fresh").start(Task(FBeta(), 3))
    learned, levels = epochs_of(fresh, SEEN)
    assert (learned, levels) == ([333, 334], [-333, 1000])


@pytest.mark.parametrize(("points", "the_mean"), [(49, False), (50, True), (51, True)])
def test_half_way_through_an_epoch_its_mean_is_the_model(points, the_mean):
    run = Stamp(passes=9).start(Task(FBeta(), 1, endless=True))
    run.request(SEEN)
    run.to_learn().move_to(LinearModel(np.ones(1), 5.0), points, np.zeros(4))
    assert run.model().intercept == (5.0 if the_mean else 0.0)


def test_the_largest_reward_and_the_prevalence_are_each_checked_as_what_they_are():
    # 3 - 2m is positive below m = 3/2, and a hinge reaches 1.
    for solver in (Stamp(), Amp(reward="hinge")):
        solver.check(PseudoLinear((0, 1, 1), (3, -1, -1)), 0.9)
        with pytest.raises(ValueError, match=r"share of positives \(0\.9\)"):
            solver.check(PseudoLinear((0, 1, 1), (1, -1, -1)), 0.9)
