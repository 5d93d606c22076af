"""The learner: copies that learn apart and come together again, and models taken as a whole."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from ratewise.measures import QMean
from ratewise.rewards import Hinge
from ratewise.solvers import LinearModel, RowTotals
from ratewise.solvers.base import primal_settings
from ratewise.solvers.learner import Learner, LearnerState
from ratewise.solvers.state import NOTHING_SEEN, mean_model
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer


def rows_of(n, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3))
    signs = np.where(X[:, 0] + rng.standard_normal(n) > 1.0, 1.0, -1.0)
    return ArrayRows(X, signs, Standardizer(3, active=False), rng, np.float64)


def learn(learner, rows, measure=None):
    """Learn from each row once; a pass later, the steps fall on."""
    settings = primal_settings(
        rows.summary, (0.5, 0.5), step=1.0, dual_step=1.0, radius=np.inf, l2=0.0, average_every=1
    )
    for chunk in rows.take(rows.n_points):
        learner.learn(chunk, settings, Hinge(), measure)


def taught():
    """A learner that has learned from 200 points."""
    learner = Learner(3, np.float64)
    learner.class_weights = (0.5, 0.5)
    learn(learner, rows_of(200, seed=9), QMean())
    return learner


def flat(model):
    return np.append(*model)


def test_two_copies_that_learn_apart_are_absorbed_as_their_weighted_mean():
    learner = taught()
    seen, mean, met = learner.points_seen, flat(learner.mean()), counts_of(learner)
    apart = [(learner.copy(), rows_of(points, seed)) for seed, points in enumerate((300, 900))]
    for copy, rows in apart:
        learn(copy, rows, QMean())
    (one, _), (other, _) = apart
    assert not np.allclose(flat(one.current()), flat(other.current())), "else the mean shows nothing"
    learner.absorb(one.export().merge(other.export()))
    np.testing.assert_allclose(
        flat(learner.current()), 0.25 * flat(one.current()) + 0.75 * flat(other.current()), rtol=1e-12
    )
    np.testing.assert_allclose(
        learner.class_weights,
        0.25 * np.array(one.class_weights) + 0.75 * np.array(other.class_weights),
        rtol=1e-12,
    )
    # The mean of all models since the last restart: 200 points before, 300 and 900 apart.
    expected = (200 * mean + 300 * flat(one.mean()) + 900 * flat(other.mean())) / 1_400
    np.testing.assert_allclose(flat(learner.mean()), expected, rtol=1e-12)
    # The step sizes go on from where a usual copy is: each began at 200.
    assert seen == 200
    assert learner.points_seen == 200 + 0.25 * 300 + 0.75 * 900
    np.testing.assert_allclose(counts_of(learner), met + counts_of(one) + counts_of(other))


def counts_of(learner):
    return learner.export().met


def test_a_copy_goes_on_as_its_original_would_and_leaves_it_alone():
    learner = taught()
    before, copy = flat(learner.current()), learner.copy()
    learn(copy, rows_of(100, seed=1), QMean())
    np.testing.assert_array_equal(flat(learner.current()), before)
    learn(learner, rows_of(100, seed=1), QMean())
    np.testing.assert_array_equal(flat(copy.current()), flat(learner.current()))
    assert copy.class_weights == learner.class_weights
    assert copy.points_seen == learner.points_seen == 300


def test_a_copy_has_a_mean_and_rates_of_its_own():
    copy = taught().copy()
    np.testing.assert_array_equal(flat(copy.mean()), flat(copy.current()))
    assert copy.export().points == 0
    rows = rows_of(100, seed=1)
    learn(copy, rows)
    assert copy.export().points == 100
    assert copy.progressive_rates().prevalence == pytest.approx(rows.summary.prevalence)


def test_a_lone_copy_is_absorbed_as_it_is():
    learner, alone = taught(), taught()
    copy = learner.copy()
    learn(copy, rows_of(100, seed=1), QMean())
    learn(alone, rows_of(100, seed=1), QMean())
    learner.absorb(copy.export())
    np.testing.assert_allclose(flat(learner.current()), flat(alone.current()), rtol=1e-12)
    np.testing.assert_allclose(flat(learner.mean()), flat(alone.mean()), rtol=1e-12)
    assert learner.progressive_rates() == alone.progressive_rates()


def test_states_are_merged_in_any_order_and_nothing_adds_nothing():
    learner = taught()
    states = []
    for seed, points in enumerate((100, 200, 400)):
        states.append((copy := learner.copy()).export())
        learn(copy, rows_of(points, seed))
        states[-1] = copy.export()
    forth = LearnerState.nothing(3).merge(states[0]).merge(states[1]).merge(states[2])
    back = states[2].merge(states[1].merge(states[0]))
    assert forth.points == back.points == 700
    for name in ("last", "mean", "met"):
        np.testing.assert_allclose(getattr(forth, name), getattr(back, name), rtol=1e-12)


def test_absorbing_nothing_changes_nothing():
    learner = taught()
    current, mean = flat(learner.current()), flat(learner.mean())
    learner.absorb(LearnerState.nothing(3))
    np.testing.assert_array_equal(flat(learner.current()), current)
    np.testing.assert_array_equal(flat(learner.mean()), mean)
    assert learner.points_seen == 200


def test_a_learner_moves_to_a_model_that_was_learned_from_many_points_at_once():
    learner = taught()
    before = flat(learner.mean())
    learner.restart_rates()
    model = LinearModel(np.array([1.0, 2.0, 3.0]), 4.0)
    learner.move_to(model, 600, np.array([50.0, 40.0, 550.0, 330.0]))  # positives, hits, negatives, passes
    np.testing.assert_array_equal(flat(learner.current()), flat(model))
    np.testing.assert_allclose(flat(learner.mean()), (200 * before + 600 * flat(model)) / 800, rtol=1e-12)
    assert learner.points_seen == 800
    assert learner.progressive_rates() == pytest.approx((0.8, 0.6, 50 / 600))


def test_a_model_moved_to_weighs_in_the_mean_as_many_points_as_it_met():
    learner = Learner(3, np.float64)
    for intercept, points in ((1.0, 100), (4.0, 200)):
        learner.move_to(LinearModel(np.zeros(3), intercept), points, np.zeros(4))
    assert learner.mean().intercept == pytest.approx(3.0)
    learner.restart_mean()
    assert learner.mean().intercept == 4.0


def test_a_change_of_transform_carries_the_model_and_the_mean_over():
    learner = taught()
    current, mean = learner.current(), learner.mean()
    learner.change_transform(lambda weights, intercept: (2.0 * weights, intercept - weights.sum()))
    for before, after in ((current, learner.current()), (mean, learner.mean())):
        np.testing.assert_allclose(after.weights, 2.0 * before.weights)
        assert after.intercept == pytest.approx(before.intercept - before.weights.sum())


def test_summaries_of_parts_merge_to_that_of_the_whole():
    parts = RowTotals(100, 10.0, 90.0, 400.0, 3.0), RowTotals(300, 90.0, 210.0, 800.0, 2.0)
    whole = NOTHING_SEEN.merge(parts[0]).merge(parts[1])
    assert whole == RowTotals(400, 100.0, 300.0, 1_200.0, 2.25)
    assert whole.prevalence == 0.25
    assert whole.leverage == 3.0 + 2.25


@pytest.mark.parametrize(
    ("positive", "negative", "prevalence"), [(9.0, 0.0, 0.95), (0.0, 9.0, 0.05), (0.0, 0.0, 0.05)]
)
def test_the_prevalence_stays_half_a_point_off_0_and_1_until_both_classes_are_seen(positive, negative, prevalence):
    assert RowTotals(9, positive, negative, 9.0).prevalence == pytest.approx(prevalence)
    assert NOTHING_SEEN.leverage == 1.0


def test_a_divided_model_has_scores_of_another_mean_and_spread():
    model = LinearModel(np.array([2.0, 4.0]), 6.0).divided(2.0, mean=1.0)
    np.testing.assert_array_equal(model.weights, [1.0, 2.0])
    assert model.intercept == 2.5
    assert mean_model([model, LinearModel.zeros(2)]).intercept == 1.25


def learned(learner, rows, *, l2=0.0, radius=np.inf, parts=1):
    settings = primal_settings(rows.summary, (0.5, 0.5), step=1.0, radius=radius, l2=l2, average_every=1)
    for _ in range(parts):
        for chunk in rows.take(rows.n_points // parts):
            learner.learn(chunk, settings, Hinge())
    return learner


def test_a_model_that_begins_outside_the_ball_is_brought_into_it():
    learner = Learner(3, np.float64, LinearModel(np.array([3.0, 0.0, 4.0]), 0.0))
    learner.class_weights = (0.5, 0.5)
    learned(learner, rows_of(200, seed=2), radius=0.5)
    assert np.linalg.norm(learner.current().weights) <= 0.5 * (1 + 1e-9)


@pytest.mark.parametrize("settings", [{"l2": 0.3}, {"radius": 0.2}, {"l2": 0.1, "radius": 0.3}], ids=str)
def test_rows_learned_in_parts_teach_the_same_as_all_at_once(settings):
    models = []
    for parts in (1, 4):
        learner = Learner(3, np.float64)
        learner.class_weights = (0.5, 0.5)
        models.append(learned(learner, rows_of(400, seed=3), parts=parts, **settings))
    one, other = models
    # Steps fall stretch by stretch, and each part begins one.
    np.testing.assert_allclose(flat(one.current()), flat(other.current()), atol=2e-4)
    np.testing.assert_allclose(flat(one.mean()), flat(other.mean()), atol=1e-3)
    assert one.progressive_rates() == pytest.approx(other.progressive_rates(), abs=0.01)


def test_the_rates_met_are_those_of_weights_and_0_of_a_class_that_was_not_met():
    learner = Learner(1, np.float64)
    assert learner.progressive_rates() == (0.0, 0.0, 0.0)
    learner.move_to(LinearModel.zeros(1), 3, np.array([4.0, 1.0, 0.0, 0.0]))
    assert learner.progressive_rates() == (0.25, 0.0, 1.0)
    learner.restart_rates()
    learner.move_to(LinearModel.zeros(1), 3, np.array([0.0, 0.0, 4.0, 3.0]))
    assert learner.progressive_rates() == (0.0, 0.75, 0.0)
    learner.restart_rates()
    learner.move_to(LinearModel.zeros(1), 3, np.array([1e-9, 0.0, 3e-9, 3e-9]))
    assert learner.progressive_rates() == pytest.approx((0.0, 1.0, 0.25))


def test_the_intercept_of_a_mean_is_the_mean_of_intercepts():
    models = [LinearModel(np.array([1.0, 2.0]), 3.0), LinearModel(np.array([3.0, 6.0]), 5.0)]
    found = mean_model(models)
    assert (found.weights.tolist(), found.intercept) == ([2.0, 4.0], 4.0)


@pytest.mark.parametrize("columns", [3, 11, 17])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_learner_arranges_its_model_for_dense_rows_and_for_sparse_ones(columns, dtype):
    """Dense rows leave a gap in the arrays of a model; what was learned from them goes on with sparse rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, columns))
    signs = np.where(X[:, 0] + rng.standard_normal(400) > 1.0, 1.0, -1.0)
    models = []
    for kinds in ((np.asarray, np.asarray), (sparse.csr_matrix, np.asarray), (np.asarray, sparse.csr_matrix)):
        learner = Learner(columns, dtype)
        learner.class_weights = (0.5, 0.5)
        for part, of in zip((slice(0, 200), slice(200, 400)), kinds, strict=True):
            rows = ArrayRows(
                of(X[part]), signs[part], Standardizer(columns, active=False), np.random.default_rng(1), dtype
            )
            learned(learner, rows)
        models.append(learner)
    for other in models[1:]:
        np.testing.assert_allclose(flat(other.current()), flat(models[0].current()), atol=1e-4)
        np.testing.assert_allclose(flat(other.mean()), flat(models[0].mean()), atol=1e-4)
    assert np.abs(models[0].current().weights).min() > 0
