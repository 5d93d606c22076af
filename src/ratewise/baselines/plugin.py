"""The plug-in method: estimate probabilities, then move the threshold."""

from __future__ import annotations

from typing import Any, Self

from ..measures import Measure
from ..solvers import LinearModel
from .checkpoints import OnCheckpoint
from .linear import Cut, Lesson, LinearBaseline
from .logistic import check_logistic_parameters, logistic_regression


class PlugIn(LinearBaseline):
    """Logistic regression, cut where the measure is best on rows held out. For any measure.

    The paper's protocol (after Koyejo and others, 2014) runs L-BFGS to convergence and tunes the threshold on a
    validation set. It does not say whether the model is then fitted again on all rows; here it is, starting from
    the first model, because no row should be wasted and it costs little. ``refit=False`` leaves it.

    Parameters
    ----------
    measure : str, Measure or function, default="f1"
        What the threshold is tuned for.
    C : float, default=1.0
        The inverse of the L2 penalty, as in scikit-learn, on standardised columns.
    tol : float, default=1e-5
        L-BFGS stops where no slope of the mean loss is above this.
    max_iter : int, default=1000
    validation_fraction : float, default=0.2
        The share of rows held out for the threshold. 0 tunes it on the training scores.
    refit : bool, default=True
        Fit again on all rows once the threshold is known.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    random_state : int, RandomState or None
        Decides which rows are held out.
    on_checkpoint : function of (cpu_seconds, coef, intercept), optional
        Called during the fit, with its clock stopped, with the model it would end with at that moment.

    Attributes
    ----------
    n_iter_ : int
        Rounds of L-BFGS, those of the refit included.
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
        self.measure = measure
        self.C = C
        self.tol = tol
        self.max_iter = max_iter
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.pos_label = pos_label
        self.random_state = random_state
        self.on_checkpoint = on_checkpoint

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows X and labels y; rows count ``sample_weight`` times."""
        return self._fit(X, y, sample_weight)

    def _check_parameters(self) -> None:
        check_logistic_parameters(self.C, self.tol, self.max_iter)
        self._check_validation()

    def _learn(self, lesson: Lesson) -> Cut:
        settings: dict[str, Any] = {"C": self.C, "tol": self.tol, "max_iter": self.max_iter}

        def with_its_threshold(model: LinearModel) -> None:
            lesson.report(lambda: lesson.tuned(model))

        first, self.n_iter_ = logistic_regression(lesson.learning, on_round=with_its_threshold, **settings)
        cut = lesson.tuned(first)
        if not self.refit or lesson.learning is lesson.stream:
            return cut

        def with_the_threshold(model: LinearModel) -> None:
            lesson.report(lambda: Cut(model, cut.threshold))

        model, rounds = logistic_regression(lesson.stream, start=first, on_round=with_the_threshold, **settings)
        self.n_iter_ += rounds
        return Cut(model, cut.threshold)
