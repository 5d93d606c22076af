"""Theorem 9: the points STAMP needs to come within epsilon of the best, against 1 / epsilon^2."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...measures import FBeta, Jaccard, PseudoLinearMeasure
from ...solvers import LinearModel, Stamp, Task
from .population import Population
from .series import Series

MEASURES: dict[str, PseudoLinearMeasure] = {"F1": FBeta(1.0), "Jaccard": Jaccard()}
_FIRST_EPOCH = 100


class StampSamples:
    """Epochs grow by 1 / eta^2 as the theorem has it, and levels are taken on fresh points."""

    name = "stamp"

    def measure(self, *, quick: bool) -> list[Series]:
        population = Population(share=0.5)
        limit, seeds = (100_000, 8) if quick else (1_000_000, 20)
        return [self._one(population, name, limit, seeds) for name in MEASURES]

    def _one(self, population: Population, name: str, limit: int, seeds: int) -> Series:
        measure = MEASURES[name]
        growth = 1.0 / measure.convergence_rate(1.0, 0.5) ** 2
        solver = Stamp(first_epoch=_FIRST_EPOCH, growth=growth, level="fresh")
        ends = _ends_of_epochs(growth, limit)
        models = [_models_at(population, measure, solver, ends, seed) for seed in range(seeds)]
        best = population.best_surrogate(measure, models[0][-1])
        excess = np.mean(
            [[best - population.surrogate(measure, model) for model in some] for some in models], axis=0
        )
        return Series(self.name, name, 1.0 / excess**2, ends.astype(float), np.full(ends.size, np.nan))


def _ends_of_epochs(growth: float, limit: int) -> NDArray[np.int64]:
    """The points consumed when each epoch's model is there: its level takes as many points again."""
    ends, length, begin = [], float(_FIRST_EPOCH), 0
    while begin + int(length) <= limit:
        ends.append(begin + int(length))
        begin += 2 * int(length)
        length *= growth
    return np.array(ends)


def _models_at(
    population: Population, measure: PseudoLinearMeasure, solver: Stamp, ends: NDArray[np.int64], seed: int
) -> list[LinearModel]:
    stream = population.stream(seed)
    run = solver.start(Task(measure, stream.n_features, np.float64))
    models, points = [], 0
    for end in ends:
        # One point short of the epoch's end, before its level is taken.
        run.feed(stream, int(end) - 1 - points, stream.summary)
        points = int(end) - 1
        models.append(run.model())
    return models
