"""The appendix on noisy AMP: the excess under errors put in on purpose, against its bound.

F1 at a prevalence of one half, rewards in [0, 1]. Each round's model is epsilon_t short of the best valuation, and
its level is off by delta_t. The bound is the appendix's, whose factors the main text leaves out:
eta^T Delta_0 + (eta' / eta) sum of eta^(T-i) (|delta_i| + epsilon_i / m).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...measures import FBeta
from .disc import RESOLUTION, Disc
from .series import Series

_M = 1.0
_ETA, _ETA_PRIME = 2 * _M / (2 + _M), 2 * _M / (2 - _M)
_ROUNDS = 12


class NoisyAmp:
    name = "noisy"

    def measure(self, *, quick: bool) -> list[Series]:
        disc = Disc(share=0.5)
        rounds = np.arange(_ROUNDS)
        sizes = {
            "errors of 0.03": np.full(_ROUNDS, 0.03),
            "errors of 0.003": np.full(_ROUNDS, 0.003),
            "errors falling as eta^t": 0.03 * _ETA**rounds,
        }
        return [self._one(disc, name, size, seeds=50 if quick else 200) for name, size in sizes.items()]

    def _one(self, disc: Disc, name: str, size: NDArray[np.float64], seeds: int) -> Series:
        """The worst of all seeds, against the bound."""
        excess, bound = zip(*(noisy_run(disc, size, seed) for seed in range(seeds)), strict=True)
        rounds = np.arange(_ROUNDS + 1, dtype=np.float64)
        return Series(self.name, name, rounds, np.max(excess, axis=0), np.max(bound, axis=0))


def noisy_run(disc: Disc, size: NDArray[np.float64], seed: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Excess and bound after each round, with random errors of at most these sizes."""
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
        bound.append(_ETA * bound[-1] + _ETA_PRIME * (abs(delta) + shortfall / _M))
    return np.maximum(excess, RESOLUTION), np.array(bound)
