"""Theorems 5 and 6: SPADE's excess against the points it has seen."""

from __future__ import annotations

import numpy as np

from ...measures import ConcaveMeasure, GMean, HMean, Measure, MinRate, QMean
from ...solvers import LinearModel, Spade, Task
from .population import Population
from .series import Series

MEASURES: dict[str, ConcaveMeasure] = {"Min": MinRate(), "H-mean": HMean(), "Q-mean": QMean(), "G-mean": GMean()}
PROMISED = {"Min": -0.5, "H-mean": -0.5, "Q-mean": -0.5, "G-mean": -0.25}
"""The slopes the theorems allow on logarithmic axes; G-mean's with eps(t) = t^(-1/4)."""


class SpadeExcess:
    name = "spade"

    def measure(self, *, quick: bool) -> list[Series]:
        population = Population()
        lengths = np.geomspace(300, 100_000 if quick else 1_000_000, 6 if quick else 8).astype(int)
        return [self._one(population, name, lengths, seeds=8 if quick else 20) for name in MEASURES]

    def _one(self, population: Population, name: str, lengths: np.ndarray, seeds: int) -> Series:
        measure = MEASURES[name]
        models = [[_model_after(population, measure, int(n), seed) for seed in range(seeds)] for n in lengths]
        weights, intercepts = zip(*models[-1], strict=True)
        start = LinearModel(np.mean(weights, axis=0), float(np.mean(intercepts)))
        best = population.best_surrogate(measure, start)
        excess = [np.mean([best - population.surrogate(measure, model) for model in some]) for some in models]
        return Series(self.name, name, lengths.astype(float), np.array(excess), np.full(lengths.size, np.nan))


def _model_after(population: Population, measure: Measure, points: int, seed: int) -> LinearModel:
    stream = population.stream(seed)
    run = Spade().start(Task(measure, stream.n_features, np.float64))
    run.feed(stream, points, stream.summary)
    return run.model()
