"""A linear model in training: the state of the compiled loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..counts import Rates
from ..kernels import STATE, StepSizes
from ..measures import ConcaveMeasure
from ..rewards import Reward
from .state import Chunk, CSRRows, DenseRows, LinearModel

if TYPE_CHECKING:
    from .requests import Learn


class LearnSettings(NamedTuple):
    """The settings that stay fixed while a learner learns from a chunk."""

    steps: StepSizes
    radius: float | None = None
    """The largest length of the weights; None for no bound."""


class LearnerState(NamedTuple):
    """The sums of a learner that learned from its own rows; the sums of two learners can be added."""

    points: int
    last: NDArray[np.float64]
    """Points times (weights, intercept, dual pair, points seen by the step sizes)."""
    mean: NDArray[np.float64]
    """The sum over all points of the current model (weights, intercept) at each point."""
    met: NDArray[np.float64]

    @staticmethod
    def nothing(n_features: int) -> LearnerState:
        return LearnerState(0, np.zeros(n_features + 4), np.zeros(n_features + 1), np.zeros(4))

    def merge(self, other: LearnerState) -> LearnerState:
        return LearnerState(
            self.points + other.points, self.last + other.last, self.mean + other.mean, self.met + other.met
        )


_MET = ("positives", "true_positives", "negatives", "true_negatives")


class Learner:
    """The current model, the mean of the models since :meth:`restart_mean`, and the class weights.

    The arithmetic has the precision of ``dtype``, the type of the rows.
    """

    def __init__(self, n_features: int, dtype: Any, initial: LinearModel | None = None):
        self._places = np.arange(n_features)  # the index of each column's weight in these arrays
        self._layout: type | None = None
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
        """Make one kernel call, then add the kernel's sums to the totals, so that rounding errors do not
        accumulate.
        """
        self._arrange_for(chunk.rows)
        state = self._state
        if settings.radius is not None:
            state["squared_length"] = float(np.dot(self._direction, self._direction))
        try:
            kernels.learn(
                chunk.rows,
                chunk.targets,
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
        except Exception as error:
            from numba.core.errors import NumbaError

            if not isinstance(error, NumbaError):
                raise
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

    def _arrange_for(self, rows: DenseRows | CSRRows) -> None:
        """Arrange the arrays as the kernel needs them for dense or for sparse rows."""
        if type(rows) is self._layout:
            return
        self._layout = type(rows)
        room, places = kernels.model_places(rows, self._places.size)
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
        """Return the mean of the models since the last restart; the current model if there are none."""
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

    def change_transform(self, change: Any) -> None:
        """Convert the model and the sum of models to columns that are transformed differently.

        ``change(weights, intercept)`` must be linear in its arguments, as standardizing is.
        """
        current = self.current()
        self.set_model(LinearModel(*change(current.weights, current.intercept)))
        self._sum[self._places], self._sum_intercept = change(self._sum[self._places], self._sum_intercept)

    @property
    def class_weights(self) -> tuple[float, float]:
        """The weights of the two rates: SPADE's dual pair, or STAMP's valuation at the current level."""
        state = self._state[0]
        return float(state["alpha"]), float(state["beta"])

    @class_weights.setter
    def class_weights(self, weights: tuple[float, float]) -> None:
        self._state["alpha"], self._state["beta"] = weights

    @property
    def points_seen(self) -> int:
        """Points since the step sizes started."""
        return int(self._state["points"][0])

    def restart_steps(self, points: int = 0) -> None:
        """Restart the step sizes, as if this many points had been seen."""
        self._state["points"] = points

    def progressive_rates(self) -> Rates:
        """Return the rates on the points since :meth:`restart_rates`, each scored before it was learned from."""
        return Rates.of_totals(*(float(self._state[name][0]) for name in _MET))

    def restart_rates(self) -> None:
        for name in _MET:
            self._state[name] = 0.0

    def require_sound(self, n_features: int) -> None:
        """Refuse arrays, from a file, that the compiled loop would read beyond their ends."""
        arrays = (self._direction, self._recent_sum, self._sum)
        places, sizes = self._places, {one.size for one in arrays}
        if len(sizes) != 1 or places.shape != (n_features,) or self._state.shape != (1,):
            raise ValueError("the state of a learner has other sizes than its model")
        if self._state.dtype != STATE or any(one.ndim != 1 or one.dtype.kind != "f" for one in arrays):
            raise ValueError("the state of a learner is of other types than its model")
        self._layout = None  # to be arranged again for the next rows

    def begin(self, request: Learn) -> None:
        """Begin a request with its settings; before its first point, the model is the mean so far."""
        if isinstance(request.start, LinearModel):
            self.set_model(request.start)
        if request.restart_steps is not None:
            self.restart_steps(request.restart_steps)
        if request.class_weights is not None:
            self.class_weights = request.class_weights

    def copy(self) -> Learner:
        """Return a learner that continues from the same state, with a separate mean."""
        other = Learner(self._places.size, self._direction.dtype, self.current())
        other.class_weights = self.class_weights
        other._state["points"] = self._state["points"]
        return other

    def export(self) -> LearnerState:
        """Return the sums learned since :meth:`copy`, to be merged with the sums of other copies."""
        points = int(self._sum_points + self._state["unsummed"][0])
        current, mean = self.current(), self.mean()
        last = np.array([*current.weights, current.intercept, *self.class_weights, self._state["points"][0]])
        met = np.array([self._state[name][0] for name in _MET])
        return LearnerState(points, points * last, points * np.append(*mean), met)

    def move_to(self, model: LinearModel, points: int, met: NDArray[np.float64]) -> None:
        """Take a model that was learned from this many points at once, and the counts of its predictions."""
        self.set_model(model)
        self._state["points"] += points
        self._sum[self._places] += points * model.weights
        self._sum_intercept += points * model.intercept
        self._sum_points += points
        for name, weight in zip(_MET, met.tolist(), strict=True):
            self._state[name] += weight

    def absorb(self, state: LearnerState) -> None:
        """Continue from the mean of the copies of this learner, each weighted by its points."""
        if state.points == 0:
            return
        last = state.last / state.points
        self.set_model(LinearModel(last[:-4], float(last[-4])))
        self.class_weights = float(last[-3]), float(last[-2])
        self._state["points"] = last[-1]
        self._sum[self._places] += state.mean[:-1]
        self._sum_intercept += float(state.mean[-1])
        self._sum_points += state.points
        for name, met in zip(_MET, state.met.tolist(), strict=True):
            self._state[name] += met
