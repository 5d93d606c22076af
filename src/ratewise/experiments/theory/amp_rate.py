"""Theorem 8 and Table 2: AMP's excess falls by eta(m) or more in every round."""

from __future__ import annotations

import numpy as np

from ...measures import FBeta, GowerLegendre, Jaccard, PseudoLinearMeasure
from ...solvers import Amp, History, Task
from ...streams import ArrayStream, Standardizer
from .disc import RADIUS, RESOLUTION, Affine, Disc
from .series import Series

MEASURES: dict[str, PseudoLinearMeasure] = {
    "F1": FBeta(1.0),
    "F2": FBeta(2.0),
    "Jaccard": Jaccard(),
    "Gower-Legendre 0.5": GowerLegendre(0.5),
    "Gower-Legendre 2": GowerLegendre(2.0),
}


class AmpRate:
    name = "amp"

    def measure(self, *, quick: bool) -> list[Series]:
        disc = Disc(share=0.3)
        return [self._one(disc, name) for name in MEASURES]

    def _one(self, disc: Disc, name: str) -> Series:
        measure, history = MEASURES[name], History()
        units = Standardizer(1, active=False)
        stream = ArrayStream(disc.x[:, np.newaxis], disc.signs, units, np.random.default_rng(0), np.float64)
        solver = Amp(reward=Affine(), radius=RADIUS, level="reward", tolerance=1e-12)
        solver.start(Task(measure, 1, np.float64, history=history)).solve(stream)
        start = float(measure.value(0.5, 0.5, disc.share))  # every reward of the zero model is 1/2
        levels = np.concatenate([[start], history.table()["level"]])
        excess = np.maximum(float(disc.values(measure).max()) - levels, RESOLUTION)
        rounds = np.arange(excess.size, dtype=np.float64)
        return Series(
            self.name, name, rounds, excess, excess[0] * measure.convergence_rate(1.0, disc.share) ** rounds
        )
