"""Logistic regression, plain and with a threshold tuned for the measure: the plug-in method."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from ..measures import Measure
from ..rewards import Logistic
from ..solvers import LinearModel
from ..training.answers import WeightedReward
from ..training.rows import ArrayRows
from .linear import (
    Finish,
    FitContext,
    LinearBaseline,
    OnCheckpoint,
    ThresholdedModel,
    linear_model,
)


class LogisticBaseline(LinearBaseline):
    """Logistic regression that predicts positive if the probability is above one half.

    This is the usual first attempt; only :meth:`score` uses the measure.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        The measure that ``score`` computes.
    C : float, default=1.0
        The inverse of the L2 penalty, as in scikit-learn, on standardized columns.
    tol : float, default=1e-5
        L-BFGS stops when no slope of the mean loss is above this.
    max_iter : int, default=1000
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    random_state : int, RandomState or None
        Determines the order in which rows are summed.
    on_checkpoint : function of (cpu_seconds, coef, intercept), optional
        A function called during the fit, while its clock is stopped, with the model at that moment.

    Attributes
    ----------
    n_iter_ : int
        Iterations of L-BFGS.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise.baselines import LogisticBaseline
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> LogisticBaseline("gmean").fit(X, y).score(X, y) > 0.9
    True
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
        """Fit to rows X and labels y; rows count ``sample_weight`` times."""
        return self._fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        self._require("C", "tol", low=0)
        self._require("max_iter", low=1, whole=True, at_low=True)

    def _learn(self, context: FitContext) -> ThresholdedModel:
        self.n_iter_ = 0
        return ThresholdedModel(self._minimise(context.stream, context, ThresholdedModel))

    def _minimise(
        self, stream: ArrayRows, context: FitContext, at_checkpoint: Finish, start: LinearModel | None = None
    ) -> LinearModel:
        """Return the minimizer of log loss plus L2 penalty, by scipy's L-BFGS; ``C`` is as in scikit-learn."""
        seen = stream.summary
        objective = WeightedReward(stream, Logistic(), (seen.prevalence, 1.0 - seen.prevalence))
        # scikit-learn sums natural log losses; here they are to base 2 and averaged.
        l2 = 1.0 / (self.C * (seen.positive_weight + seen.negative_weight) * math.log(2.0))

        def penalised(vector: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            loss, gradient = objective(vector)
            gradient[:-1] += l2 * vector[:-1]
            return loss + 0.5 * l2 * float(vector[:-1] @ vector[:-1]), gradient

        def report(vector: NDArray[np.float64]) -> None:
            context.report(lambda: at_checkpoint(linear_model(vector)))

        found = optimize.minimize(
            penalised,
            np.zeros(stream.n_features + 1) if start is None else np.append(start.weights, start.intercept),
            jac=True,
            method="L-BFGS-B",
            callback=report,
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-4 * self.tol},
        )
        self.n_iter_ += int(found.nit)
        return linear_model(found.x)


class PlugIn(LogisticBaseline):
    """Logistic regression with the threshold that is best on validation rows, for any measure.

    The paper's protocol (after Koyejo and others, 2014) runs L-BFGS to convergence and tunes the threshold on
    validation rows. It does not say whether the model is then fitted again on all rows. Here it is fitted again,
    starting from the first model, so that all rows are used; this costs little. ``refit=False`` omits it.

    Parameters
    ----------
    measure : str, Measure or function, default="f1"
        The measure for which the threshold is tuned.
    C, tol, max_iter, pos_label, on_checkpoint
        As for :class:`LogisticBaseline`.
    validation_fraction : float, default=0.2
        The share of validation rows, for the threshold. 0 tunes it on the training scores.
    refit : bool, default=True
        Whether to fit again on all rows once the threshold is known.
    random_state : int, RandomState or None
        Determines the validation rows.

    Attributes
    ----------
    n_iter_ : int
        Iterations of L-BFGS, including those of the refit.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from ratewise.baselines import PlugIn
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> PlugIn("gmean", random_state=0).fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        C: float = 1.0,
        tol: float = 1e-5,
        max_iter: int = 1000,
        validation_fraction: float = 0.2,
        refit: bool = True,
        pos_label: Any = None,
        random_state: Any = None,
        on_checkpoint: OnCheckpoint | None = None,
    ):
        super().__init__(
            measure,
            C=C,
            tol=tol,
            max_iter=max_iter,
            pos_label=pos_label,
            random_state=random_state,
            on_checkpoint=on_checkpoint,
        )
        self.validation_fraction = validation_fraction
        self.refit = refit

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_validation()

    def _learn(self, context: FitContext) -> ThresholdedModel:
        self.n_iter_ = 0
        first = self._minimise(context.learning, context, context.with_best_threshold)
        tuned = context.with_best_threshold(first)
        if not self.refit or context.learning is context.stream:
            return tuned

        def with_the_threshold(model: LinearModel) -> ThresholdedModel:
            return ThresholdedModel(model, tuned.threshold)

        return with_the_threshold(self._minimise(context.stream, context, with_the_threshold, start=first))
