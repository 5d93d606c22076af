"""Plain logistic regression, which looks at no measure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..measures import Measure
from ..rewards import Logistic
from ..solvers import LinearModel
from ..solvers.batch import MeanReward
from ..streams import ArrayStream
from .checkpoints import OnCheckpoint
from .linear import Cut, Lesson, LinearBaseline, require_number


def logistic_regression(
    stream: ArrayStream,
    *,
    C: float,
    tol: float,
    max_iter: int,
    start: LinearModel | None = None,
    on_round: Callable[[LinearModel], None],
) -> tuple[LinearModel, int]:
    """The minimiser of log loss and L2 penalty by scipy's L-BFGS, and its rounds; ``C`` as in scikit-learn."""
    seen = stream.summary
    objective = MeanReward(stream, Logistic(), seen.prevalence, 1.0 - seen.prevalence)
    # scikit-learn sums natural log losses; here they are to base 2 and averaged.
    l2 = 1.0 / (C * (seen.positive_weight + seen.negative_weight) * math.log(2.0))

    def penalised(vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        loss, gradient = objective(vector)
        gradient[:-1] += l2 * vector[:-1]
        return loss + 0.5 * l2 * float(vector[:-1] @ vector[:-1]), gradient

    found = optimize.minimize(
        penalised,
        np.zeros(stream.n_features + 1) if start is None else np.append(start.weights, start.intercept),
        jac=True,
        method="L-BFGS-B",
        callback=lambda vector: on_round(_as_model(vector)),
        options={"maxiter": max_iter, "gtol": tol, "ftol": 1e-4 * tol},
    )
    return _as_model(found.x), int(found.nit)


def _as_model(vector: NDArray[np.float64]) -> LinearModel:
    return LinearModel(np.array(vector[:-1], dtype=np.float64), float(vector[-1]))


class LogisticBaseline(LinearBaseline):
    """Logistic regression that calls a point positive if its probability is above one half.

    What everyone begins with; the measure is only what :meth:`score` computes.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What ``score`` is.
    C : float, default=1.0
        The inverse of the L2 penalty, as in scikit-learn, on standardised columns.
    tol : float, default=1e-5
        L-BFGS stops where no slope of the mean loss is above this.
    max_iter : int, default=1000
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    random_state : int, RandomState or None
        Decides the order in which rows are added up.
    on_checkpoint : function of (cpu_seconds, coef, intercept), optional
        Called during the fit, with its clock stopped, with the model it would end with at that moment.

    Attributes
    ----------
    n_iter_ : int
        Rounds of L-BFGS.
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        C: float = 1.0,
        tol: float = 1e-5,
        max_iter: int = 1000,
        pos_label: Any = None,
        random_state: Any = None,
        on_checkpoint: OnCheckpoint | None = None,
    ):
        self.measure = measure
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.pos_label = pos_label
        self.random_state = random_state
        self.on_checkpoint = on_checkpoint

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and labels y; rows count ``sample_weight`` times."""
        return self._fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        check_logistic_parameters(self.C, self.tol, self.max_iter)

    def _learn(self, lesson: Lesson) -> Cut:
        def on_round(model: LinearModel) -> None:
            lesson.report(lambda: Cut(model))

        model, self.n_iter_ = logistic_regression(
            lesson.stream, C=self.C, tol=self.tol, max_iter=self.max_iter, on_round=on_round
        )
        return Cut(model)


def check_logistic_parameters(C: Any, tol: Any, max_iter: Any) -> None:
    require_number("C", C, low=0)
    require_number("tol", tol, low=0)
    require_number("max_iter", max_iter, low=1, whole=True, at_low=True)
