"""The models of all classes in training: the state of the compiled loop for many classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..counts import Rates, mean_rates
from .learner import LearnSettings
from .state import Chunk, CSRRows, DenseRows, LinearModels

if TYPE_CHECKING:
    from .requests import Learn


class ClassLearner:
    """The current models, and their mean since :meth:`restart_mean`, as in a ``Learner``."""

    def __init__(self, n_classes: int, n_features: int, initial: LinearModels | None = None):
        self._model = np.zeros((n_classes, n_features), np.float32)
        self._sum = np.zeros((n_classes, n_features))
        self._by_column = False
        self._intercepts, self._intercept_sum = np.zeros(n_classes), np.zeros(n_classes)
        self._counts = np.zeros((n_classes, n_classes))
        # The points seen by the step sizes, the points in the sums, and the points since then.
        self._state = np.zeros(3)
        self.class_weights: NDArray[np.float64] = np.ones(n_classes)
        self._gains: NDArray[np.float64] | None = None
        if initial is not None:
            self._set_model(initial)

    def begin(self, request: Learn) -> None:
        """Begin a request with its settings."""
        if isinstance(request.start, LinearModels):
            self._set_model(request.start)
        if request.restart_steps is not None:
            self._state[0] = request.restart_steps
        self.class_weights, self._gains = request.class_weights, request.gains

    def learn(self, chunk: Chunk, settings: LearnSettings, reward: None = None, measure: None = None) -> None:
        """Learn from a chunk: increase the log likelihood or the value of predictions, as requested."""
        self._arrange_for(chunk.rows)
        steps = settings.steps
        kernels.learn_classes(
            chunk.rows,
            chunk.targets,
            chunk.starts,
            chunk.stops,
            self._model,
            self._intercepts,
            self._sum,
            self._intercept_sum,
            self._counts,
            self._state,
            (steps.step, steps.intercept_gain, steps.l2, float(steps.average_every)),
            self.class_weights,
            self._gains,
        )

    def _arrange_for(self, rows: DenseRows | CSRRows) -> None:
        """Arrange the model for the rows: a row per column for sparse rows, a row per class for dense rows."""
        if isinstance(rows, tuple) != self._by_column:
            self._by_column = not self._by_column
            self._model, self._sum = np.ascontiguousarray(self._model.T), np.ascontiguousarray(self._sum.T)

    def _set_model(self, model: LinearModels) -> None:
        self._model[:] = model.weights.T if self._by_column else model.weights
        self._intercepts[:] = model.intercepts

    def _by_class(self, weights: NDArray[Any]) -> NDArray[np.float64]:
        return np.array(weights.T if self._by_column else weights, dtype=np.float64)

    def current(self) -> LinearModels:
        return LinearModels(self._by_class(self._model), self._intercepts.copy())

    def mean(self) -> LinearModels:
        """Return the mean of the models since the last restart; the current models if there are none."""
        summed = float(self._state[1])
        if summed == 0:
            return self.current()
        return LinearModels(self._by_class(self._sum) / summed, self._intercept_sum / summed)

    def restart_mean(self) -> None:
        self._sum[:] = 0.0
        self._intercept_sum[:] = 0.0
        self._state[1:] = 0.0

    def progressive_rates(self) -> Rates:
        """Return the mean rates of the classes on the points since :meth:`restart_rates`, each scored before it
        was learned from.
        """
        return mean_rates(self._counts)

    def restart_rates(self) -> None:
        self._counts[:] = 0.0
