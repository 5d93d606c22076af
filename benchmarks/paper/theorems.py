"""The paper's theorems, measured: one class per panel of the theory figure."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ratewise.measures import (
    ConcaveMeasure,
    FBeta,
    GMean,
    GowerLegendre,
    HMean,
    Jaccard,
    Measure,
    MinRate,
    PseudoLinearMeasure,
    QMean,
)
from ratewise.solvers import Amp, Spade, Stamp

from .library import LinearModel, OnlineRun, amp_levels, plain_rows
from .problems import RADIUS, RESOLUTION, Affine, Disc, Population
from .results import Series


class Panel(ABC):
    """One theorem, measured: a panel of the theory figure."""

    name: str
    """As in the file."""
    title: str
    x_label: str
    y_label: str
    by_rounds: bool = False
    """Whether x counts rounds; else its axis is logarithmic and curves are labelled with their slopes."""
    reference_slopes: tuple[tuple[float, str], ...] = ()
    """Lines to compare with: each a slope and its label."""

    @abstractmethod
    def measure(self, *, quick: bool) -> list[Series]:
        """Run what the theorem is about."""


class SpadeExcess(Panel):
    """Theorems 5 and 6: SPADE's excess against the points it has seen."""

    name = "spade"
    title, x_label, y_label = "SPADE: excess against points", "points T", "excess of the surrogate"
    reference_slopes = ((-0.5, "slope -1/2"), (-0.25, "slope -1/4"))
    measures: ClassVar[dict[str, ConcaveMeasure]] = {
        "Min": MinRate(),
        "H-mean": HMean(),
        "Q-mean": QMean(),
        "G-mean": GMean(),
    }
    slopes: ClassVar = {"Min": -0.5, "H-mean": -0.5, "Q-mean": -0.5, "G-mean": -0.25}
    """What the theorems allow on logarithmic axes; G-mean's with eps(t) = t^(-1/4)."""

    def measure(self, *, quick: bool) -> list[Series]:
        population = Population()
        lengths = np.geomspace(300, 100_000 if quick else 1_000_000, 6 if quick else 8).astype(int)
        return [self.series(population, name, lengths, seeds=8 if quick else 20) for name in self.measures]

    def series(self, population: Population, name: str, lengths: NDArray[np.int64], seeds: int) -> Series:
        """Return the mean excess over runs of these lengths."""
        measure = self.measures[name]
        models = [
            [_models_after(population, measure, Spade(), [int(n)], seed)[0] for seed in range(seeds)]
            for n in lengths
        ]
        weights, intercepts = zip(*models[-1], strict=True)
        start = LinearModel(np.mean(weights, axis=0), float(np.mean(intercepts)))
        best = population.best_surrogate(measure, start)
        excess = [np.mean([best - population.surrogate(measure, model) for model in some]) for some in models]
        return Series(self.name, name, lengths.astype(float), np.array(excess), np.full(lengths.size, np.nan))


class StampSamples(Panel):
    """Theorem 9: the points STAMP needs to come within epsilon of the best, against 1 / epsilon^2.

    Epochs grow by 1 / eta^2 as in the theorem, and levels are taken on fresh points.
    """

    name = "stamp"
    title, x_label, y_label = "STAMP: points against 1 / excess²", "1 / excess²", "points"
    reference_slopes = ((1.0, "slope 1"),)
    measures: ClassVar[dict[str, PseudoLinearMeasure]] = {"F1": FBeta(1.0), "Jaccard": Jaccard()}
    first_epoch = 100

    def measure(self, *, quick: bool) -> list[Series]:
        population = Population(share=0.5)
        limit, seeds = (100_000, 8) if quick else (1_000_000, 20)
        return [self.series(population, name, limit, seeds) for name in self.measures]

    def series(self, population: Population, name: str, limit: int, seeds: int) -> Series:
        measure = self.measures[name]
        growth = 1.0 / measure.convergence_rate(1.0, 0.5) ** 2
        solver = Stamp(first_epoch=self.first_epoch, growth=growth, level="fresh")
        ends = self.ends_of_epochs(growth, limit)
        # One point short of the epoch's end, before its level is taken.
        models = [_models_after(population, measure, solver, ends - 1, seed) for seed in range(seeds)]
        best = population.best_surrogate(measure, models[0][-1])
        excess = np.mean(
            [[best - population.surrogate(measure, model) for model in some] for some in models], axis=0
        )
        return Series(self.name, name, 1.0 / excess**2, ends.astype(float), np.full(ends.size, np.nan))

    def ends_of_epochs(self, growth: float, limit: int) -> NDArray[np.int64]:
        """Return the points consumed when each epoch's model is there: its level takes as many points again."""
        ends, length, begin = [], float(self.first_epoch), 0
        while begin + int(length) <= limit:
            ends.append(begin + int(length))
            begin += 2 * int(length)
            length *= growth
        return np.array(ends)


def _models_after(
    population: Population,
    measure: Measure,
    solver: Spade | Stamp,
    lengths: NDArray[np.int64] | list[int],
    seed: int,
) -> list[LinearModel]:
    """Return the models of one run after so many points each."""
    run = OnlineRun(solver, measure, population.stream(seed))
    models = []
    for points in np.diff(lengths, prepend=0):
        run.learn(int(points))
        models.append(run.model())
    return models


class AmpRate(Panel):
    """Theorem 8 and Table 2: AMP's excess falls by eta(m) or more in every round."""

    name = "amp"
    title, x_label, y_label = "AMP: excess against rounds\n(dashed: Table 2's rate)", "rounds", "excess"
    by_rounds = True
    measures: ClassVar[dict[str, PseudoLinearMeasure]] = {
        "F1": FBeta(1.0),
        "F2": FBeta(2.0),
        "Jaccard": Jaccard(),
        "Gower-Legendre 0.5": GowerLegendre(0.5),
        "Gower-Legendre 2": GowerLegendre(2.0),
    }

    def measure(self, *, quick: bool) -> list[Series]:
        disc = Disc(share=0.3)
        return [self.series(disc, name) for name in self.measures]

    def series(self, disc: Disc, name: str) -> Series:
        measure = self.measures[name]
        solver = Amp(reward=Affine(), radius=RADIUS, level="reward", tolerance=1e-12)
        start = float(measure.value(0.5, 0.5, disc.share))  # every reward of the zero model is 1/2
        rows = plain_rows(disc.x[:, np.newaxis], disc.signs, seed=0)
        levels = np.concatenate([[start], amp_levels(solver, measure, rows)])
        excess = np.maximum(float(disc.values(measure).max()) - levels, RESOLUTION)
        rounds = np.arange(excess.size, dtype=np.float64)
        bound = excess[0] * measure.convergence_rate(1.0, disc.share) ** rounds
        return Series(self.name, name, rounds, excess, bound)


class NoisyAmp(Panel):
    """The appendix on noisy AMP: the excess under added errors, against its bound.

    F1 at a prevalence of one half, rewards in [0, 1]. Each round's model is epsilon_t short of the best valuation,
    and its level is off by delta_t. The bound is the appendix's, whose factors the main text leaves out:
    eta^T Delta_0 + (eta' / eta) sum of eta^(T-i) (|delta_i| + epsilon_i / m).
    """

    name = "noisy"
    title = "Noisy AMP: worst excess of all runs\n(dashed: the appendix's bound)"
    x_label, y_label = "rounds", "excess"
    by_rounds = True
    m = 1.0
    eta, eta_prime = 2 * m / (2 + m), 2 * m / (2 - m)
    rounds = 12

    def measure(self, *, quick: bool) -> list[Series]:
        disc = Disc(share=0.5)
        sizes = {
            "errors of 0.03": np.full(self.rounds, 0.03),
            "errors of 0.003": np.full(self.rounds, 0.003),
            "errors falling as eta^t": 0.03 * self.eta ** np.arange(self.rounds),
        }
        return [self.series(disc, name, size, seeds=50 if quick else 200) for name, size in sizes.items()]

    def series(self, disc: Disc, name: str, size: NDArray[np.float64], seeds: int) -> Series:
        """Return the worst of all seeds, against the bound."""
        excess, bound = zip(*(self.run(disc, size, seed) for seed in range(seeds)), strict=True)
        rounds = np.arange(self.rounds + 1, dtype=np.float64)
        return Series(self.name, name, rounds, np.max(excess, axis=0), np.max(bound, axis=0))

    def run(
        self, disc: Disc, size: NDArray[np.float64], seed: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return excess and bound after each round, with random errors of at most these sizes."""
        rng, f1 = np.random.default_rng(seed), FBeta(1.0)
        p_reward, n_reward = disc.mean_rewards(disc.angles)
        values = disc.values(f1)
        best = float(values.max())
        model = int(np.argmin(values))
        excess = [best - float(values[model])]
        bound = [excess[0]]
        for largest in size:
            delta = float(rng.uniform(-largest, largest))
            level = float(values[model]) + delta
            weights = f1.valuation_weights(level, disc.share)
            valuation = weights[0] * p_reward + weights[1] * n_reward
            allowed = np.flatnonzero(valuation >= valuation.max() - rng.uniform(0.0, largest))
            model = int(allowed[np.argmin(valuation[allowed])])
            shortfall = float(valuation.max() - valuation[model])
            excess.append(best - float(values[model]))
            bound.append(self.eta * bound[-1] + self.eta_prime * (abs(delta) + shortfall / self.m))
        return np.maximum(excess, RESOLUTION), np.array(bound)


PANELS: list[Panel] = [SpadeExcess(), AmpRate(), StampSamples(), NoisyAmp()]
