"""AMP climbs, at the rate of Table 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from ratewise.measures import CohenKappa, CostMatrix, FBeta, GowerLegendre, Jaccard, NetBenefit, Tversky
from ratewise.rewards import Reward
from ratewise.solvers import Amp, Task, best_threshold, rates_at
from ratewise.solvers.base import History
from ratewise.training.answers import Runner
from ratewise.training.rows import ArrayRows
from ratewise.transforms import Standardizer

MEASURES = [FBeta(1.0), FBeta(2.0), Jaccard(), GowerLegendre(0.5), GowerLegendre(2.0), Tversky(), CohenKappa()]


@dataclass(frozen=True)
class Affine(Reward):
    """(1 + z) / 2: in [0, 1] while |z| <= 1, so that the theory's assumptions hold to the letter."""

    def value(self, z):
        return 0.5 * (1.0 + z)

    def slope(self, z):
        return 0.5 + 0.0 * z


def on_the_unit_disc(n=200, share=0.3, seed=0):
    """One column in [-0.7, 0.7]; with the intercept's 1 and a ball of radius 0.8, |z| <= 1."""
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < share * n
    x = np.clip(rng.normal(np.where(positive, 0.35, -0.1), 0.2), -0.7, 0.7)
    return x, np.where(positive, 1.0, -1.0)


RADIUS = 0.8


def known_optimum(measure, x, signs):
    """The valuation is linear in (w, b), so the best model lies on the circle: search its angle."""
    angles = np.linspace(0, 2 * np.pi, 200_001)
    w, b = RADIUS * np.cos(angles), RADIUS * np.sin(angles)
    positive = signs > 0
    p_reward = 0.5 * (1 + w * x[positive].mean() + b)
    n_reward = 0.5 * (1 - w * x[~positive].mean() - b)
    return float(measure.value(p_reward, n_reward, positive.mean()).max())


def rows_of(X, signs, standardizer=None):
    standardizer = standardizer or Standardizer(X.shape[1], active=False)
    return ArrayRows(X, signs, standardizer, np.random.default_rng(0), np.float64)


def run_amp(solver, rows, measure, **task):
    run = solver.start(Task(measure, rows.n_features, rows.dtype, **task))
    Runner(run, 0, rows.summary).to_the_end(rows)
    return run


# A search for the ball's penalty in every iteration takes seconds for all but Gower-Legendre.
MOSTLY_SLOW = [m if isinstance(m, GowerLegendre) else pytest.param(m, marks=pytest.mark.slow) for m in MEASURES]


@pytest.mark.parametrize("measure", MOSTLY_SLOW, ids=str)
def test_the_level_never_falls_and_the_excess_stays_under_the_linear_rate(measure):
    x, signs = on_the_unit_disc()
    optimum = known_optimum(measure, x, signs)
    rate = measure.convergence_rate(1.0, 0.3)
    history = History()
    solver = Amp(reward=Affine(), radius=RADIUS, level="reward", tolerance=1e-9)
    run_amp(solver, rows_of(x[:, np.newaxis], signs), measure, history=history)
    start = float(measure.value(0.5, 0.5, 0.3))  # every reward of the zero model is 1/2
    levels = np.concatenate([[start], history.table()["level"]])
    assert (np.diff(levels) >= 0).all()
    excess = optimum - levels
    bound = excess[0] * rate ** np.arange(excess.size)
    assert excess[0] > 0.05
    assert (excess <= bound + 1e-6).all()
    assert abs(excess[-1]) < 1e-6


@pytest.mark.parametrize("measure", MEASURES, ids=str)
def test_levels_never_fall_on_data_with_the_default_reward(measure):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2_000, 5))
    signs = np.where(X[:, 0] + rng.standard_normal(2_000) > 1.5, 1.0, -1.0)
    history = History()
    run_amp(Amp(), rows_of(X, signs), measure, l2=1e-6, history=history)
    levels = history.table()["level"]
    assert (np.diff(levels) >= 0).all()
    assert levels[-1] > 0.3
    assert len(levels) < 30, "the iterations must stop by tolerance, not by the limit"


def test_the_model_stays_in_the_ball_and_touches_it_only_if_it_must():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((500, 3))
    signs = np.where(X[:, 0] + 0.5 * rng.standard_normal(500) > 1.0, 1.0, -1.0)
    lengths = {}
    for radius in (0.5, 1e6):
        run = run_amp(Amp(radius=radius), rows_of(X, signs), FBeta(1.0))
        lengths[radius] = np.linalg.norm(np.append(*run.model()))
    assert lengths[0.5] == pytest.approx(0.5, abs=1e-3)
    assert 1.0 < lengths[1e6] < 100.0


@pytest.mark.parametrize(
    "measure", [CostMatrix(((0.0, 1.0), (10.0, 0.0))), CohenKappa(), NetBenefit(0.2)], ids=str
)
def test_amp_climbs_from_below_zero(measure):
    """Costs are negative all the way; a level cut off at zero would stop the first iteration from counting."""
    rng = np.random.default_rng(0)
    positive = rng.random(3_000) < 0.2
    X = rng.standard_normal((3_000, 2))
    X[positive, 0] += 2.0
    signs = np.where(positive, 1.0, -1.0)
    rows = rows_of(X, signs, Standardizer(2).update(X))
    run = run_amp(Amp(), rows, measure, history=History())
    attainable = best_threshold(X[:, 0], signs, measure).value
    rates = rates_at(rows.scores(*run.model()), rows.signed_weights)
    level = run.history.table()["level"][-1]
    assert level == pytest.approx(float(measure.value(*rates)))
    useless, perfect = measure.scale(0.2)
    assert level > attainable - 0.05 * (perfect - useless)
