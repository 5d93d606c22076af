"""A linear model in the making: the state the compiled loop works on."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core.errors import NumbaError
from numpy.typing import NDArray

from ..kernels import STATE, Steps, learn, model_places
from ..measures import ConcaveMeasure, Rates
from ..rewards import Reward
from ..streams import Chunk, CSRRows, DenseRows


class LinearModel(NamedTuple):
    """Scores are ``rows @ weights + intercept``, in the units of the stream the model was learned from."""

    weights: NDArray[np.float64]
    intercept: float


class LearnSettings(NamedTuple):
    """What stays fixed while a learner learns from a chunk."""

    steps: Steps
    radius: float | None = None
    """The longest the weights may be; None for no bound."""


class Learner:
    """The current model, the mean of the models since :meth:`restart_mean`, and the pair of weights.

    Parameters
    ----------
    n_features : int
    dtype : float32 or float64
        The width of the arithmetic; that of the rows.
    initial : LinearModel, optional
        Where to begin; all zeros unless given.
    """

    def __init__(self, n_features: int, dtype: Any, initial: LinearModel | None = None):
        self._places = np.arange(n_features)  # where each column's weight stands in these arrays
        self._laid_out_for: type | None = None
        self._direction = np.zeros(n_features, dtype=dtype)
        self._recent_sum = np.zeros(n_features, dtype=dtype)
        self._sum = np.zeros(n_features)
        self._state = np.zeros(1, dtype=STATE)
        self._sum_intercept = 0.0
        self._sum_points = 0.0
        self._state["scale"] = 1.0
        if initial is not None:
            self.set_model(initial)

    def learn(
        self, chunk: Chunk, settings: LearnSettings, reward: Reward, measure: ConcaveMeasure | None = None
    ) -> None:
        """One kernel call; then the kernel's own sums are folded away, so that its rounding cannot pile up."""
        self._lay_out_for(chunk.rows)
        state = self._state
        if settings.radius is not None:
            state["squared_length"] = float(np.dot(self._direction, self._direction))
        try:
            learn(
                chunk.rows,
                chunk.signed_weights,
                chunk.starts,
                chunk.stops,
                self._direction,
                self._recent_sum,
                state,
                settings.steps,
                settings.radius,
                reward,
                measure,
            )
        except NumbaError as error:
            raise TypeError(
                f"{measure or reward!r} cannot be compiled. Its methods may use plain floats, arithmetic, the "
                f"math module and functions marked @numba.njit only. The compiler said: {error}"
            ) from error
        s = state[0]
        self._sum += self._recent_sum
        self._sum_intercept += float(s["intercept_sum"])
        self._sum_points += float(s["summed"])
        self._direction *= self._direction.dtype.type(s["scale"])
        self._recent_sum[:] = 0.0
        state["intercept_sum"] = state["summed"] = 0.0
        state["scale"] = 1.0

    def _lay_out_for(self, rows: DenseRows | CSRRows) -> None:
        """Bring the arrays into the form that the kernel needs for dense rows, or for sparse ones."""
        if type(rows) is self._laid_out_for:
            return
        self._laid_out_for = type(rows)
        room, places = model_places(rows, self._places.size)
        if room == self._direction.size:
            return
        for name in ("_direction", "_recent_sum", "_sum"):
            before = getattr(self, name)
            after = np.zeros(room, dtype=before.dtype)
            after[places] = before[self._places]
            setattr(self, name, after)
        self._places = places

    def current(self) -> LinearModel:
        return LinearModel(self._direction[self._places].astype(np.float64), float(self._state["intercept"][0]))

    def mean(self) -> LinearModel:
        """The mean of the models since the last restart; the current one if there are none."""
        if self._sum_points == 0:
            return self.current()
        return LinearModel(self._sum[self._places] / self._sum_points, self._sum_intercept / self._sum_points)

    def restart_mean(self) -> None:
        self._sum[:] = 0.0
        self._sum_intercept = self._sum_points = 0.0
        self._state["unsummed"] = 0.0

    def set_model(self, model: LinearModel) -> None:
        self._direction[self._places] = model.weights
        self._state["intercept"] = model.intercept

    def change_units(self, change: Any) -> None:
        """Carry the model and the sum of models over to other units of the columns.

        ``change(weights, intercept)`` must be linear in its arguments, as standardising is.
        """
        current = self.current()
        self.set_model(LinearModel(*change(current.weights, current.intercept)))
        self._sum[self._places], self._sum_intercept = change(self._sum[self._places], self._sum_intercept)

    @property
    def pair(self) -> tuple[float, float]:
        """The weights on the two rates: SPADE's dual pair, or the valuation's weights."""
        return float(self._state["alpha"][0]), float(self._state["beta"][0])

    @pair.setter
    def pair(self, pair: tuple[float, float]) -> None:
        self._state["alpha"], self._state["beta"] = pair

    def restart_steps(self, points: int = 0) -> None:
        """Let the steps fall anew, as if this many points had been seen."""
        self._state["points"] = points

    def met(self) -> NDArray[np.float64]:
        """The weights of positives and negatives since the last call, and of those met on their own side."""
        names = ["positives", "negatives", "positive_hits", "negative_hits"]
        met = np.array([float(self._state[name][0]) for name in names])
        for name in names:
            self._state[name] = 0.0
        return met

    def rates_met(self) -> Rates:
        """The rates on the points since the last call, each met before it was learned from."""
        positives, negatives, hits, passes = self.met().tolist()
        tpr = hits / positives if positives > 0 else 0.0
        tnr = passes / negatives if negatives > 0 else 0.0
        return Rates(tpr, tnr, positives / max(positives + negatives, 1e-300))
