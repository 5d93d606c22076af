"""SVMPerf: Joachims' support vector machine for measures of a whole set of predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..measures import Measure
from ..solvers import LinearModel
from .checkpoints import OnCheckpoint
from .cutting_planes import CuttingPlanes, Solution
from .linear import Cut, Lesson, LinearBaseline, candidates, require_number

C_GRID = (1e-2, 1e-1, 1.0, 1e1, 1e2, 1e3, 1e4, 1e5)
"""What ``C="tune"`` chooses from."""


class SVMPerf(LinearBaseline):
    """A structural SVM whose loss is one minus the measure, solved by cutting planes.

    For F-beta, Jaccard and other pseudo-linear measures, min, Q-mean, G-mean and H-mean (Joachims 2005, 2009). A
    round costs two passes over the rows, a sort and a fast search; see :mod:`ratewise.baselines.labelling`.

    C must be tuned. Scores grow with C, and while they are small the loss outweighs them: the most violated
    labelling gets a whole class wrong. For F1 and Jaccard it has no true positive, their loss is then 1 whatever
    else it says, and the measure does not enter the fit: both give the same model. The customary C = 0.01 was such
    a value on all four data sets we tried; on one of them (covtype, class 5) so was every C up to 100,000. Here
    scores are averaged over the points and the loss is between 0 and 1; where scores are summed instead, the same
    model has a C smaller by the square of the number of points.

    Parameters
    ----------
    measure : str or Measure, default="f1"
    C : "tune", float or floats, default="tune"
        The weight of the loss against the squared length of the model. Of several, or of those "tune" stands for
        (0.01 to 100,000 by tens), the best on the validation part is taken.
    epsilon : float, default=1e-3
        No labelling may violate its bound by more than this, in units of the measure.
    max_planes : int, default=1000
        Rounds for one value of C at most.
    max_seconds : float, default=None
        CPU seconds for the whole fit, tuning included; half of them for tuning where a refit follows. The best
        model so far is taken when they are over.
    threshold : {"tune", "zero"}, default="tune"
        "tune" cuts the scores where the validation part's measure is best; "zero" is Joachims' own, mostly worse.
    validation_fraction : float, default=0.2
        The share of rows held out for C and the threshold. 0 uses the training rows for it.
    refit : bool, default=True
        Fit again on all rows with the C chosen.
    pos_label : label, default=None
        The class whose rate is the TPR; ``classes_[1]`` unless given.
    random_state : int, RandomState or None
        Decides which rows are held out.
    on_checkpoint : function of (cpu_seconds, coef, intercept), optional
        Called during the fit, with its clock stopped, with the model it would end with at that moment.

    Attributes
    ----------
    C_ : float
        The C chosen.
    converged_ : bool
        Whether the model is as good as ``epsilon`` asks.
    tables_ : array of shape (planes, 2)
        True positives and true negatives of every labelling found in the last run of cutting planes.
    """

    def __init__(
        self,
        measure: str | Measure = "f1",
        *,
        C: str | float | Iterable[float] = "tune",
        epsilon: float = 1e-3,
        max_planes: int = 1000,
        max_seconds: float | None = None,
        threshold: str = "tune",
        validation_fraction: float = 0.2,
        refit: bool = True,
        pos_label: Any = None,
        random_state: Any = None,
        on_checkpoint: OnCheckpoint | None = None,
    ):
        self.measure = measure
        self.C = C
        self.epsilon = epsilon
        self.max_planes = max_planes
        self.max_seconds = max_seconds
        self.threshold = threshold
        self.validation_fraction = validation_fraction
        self.refit = refit
        self.pos_label = pos_label
        self.random_state = random_state
        self.on_checkpoint = on_checkpoint

    def _check_parameters(self) -> None:
        candidates("C", self.C, C_GRID)
        require_number("epsilon", self.epsilon, low=0)
        require_number("max_planes", self.max_planes, low=1, whole=True, at_low=True)
        if self.max_seconds is not None:
            require_number("max_seconds", self.max_seconds, low=0)
        self._check_validation()

    def _learn(self, lesson: Lesson) -> Cut:
        values = candidates("C", self.C, C_GRID)
        if len(values) == 1 and self.threshold == "zero":  # there is nothing to hold rows out for
            lesson = lesson._replace(learning=lesson.stream)
        refits = self.refit and lesson.learning is not lesson.stream
        best = self._choose(lesson, values, share=0.5 if refits else 1.0)
        if refits:
            planes = CuttingPlanes(lesson.stream, lesson.measure)
            again = self._solve(lesson, planes, self.C_, 1.0, best.whatever_the_model)
            if again.converged:
                self.converged_ = True
                return Cut(again.model, best.threshold)
        return best

    def _choose(self, lesson: Lesson, values: tuple[float, ...], share: float) -> Cut:
        """The model with the best C on the validation part, found in this share of the time."""
        judge = lesson.tuned if self.threshold == "tune" else lesson.at_zero
        planes = CuttingPlanes(lesson.learning, lesson.measure)  # those of one C are a good start for the next
        best: Cut | None = None
        for number, C in enumerate(values, 1):
            on_the_way = judge if best is None else best.whatever_the_model
            solution = self._solve(lesson, planes, C, share * number / len(values), on_the_way)
            cut = judge(solution.model)
            if best is None or cut.value > best.value:
                best, self.C_, self.converged_ = cut, C, solution.converged
        assert best is not None  # there is at least one C to try
        return best

    def _solve(
        self,
        lesson: Lesson,
        planes: CuttingPlanes,
        C: float,
        share: float,
        on_the_way: Callable[[LinearModel], Cut],
    ) -> Solution:
        deadline = np.inf if self.max_seconds is None else share * self.max_seconds
        solution = planes.solve(
            C,
            epsilon=self.epsilon,
            max_planes=self.max_planes,
            out_of_time=lambda: lesson.clock.seconds > deadline,
            on_round=lambda model: lesson.report(lambda: on_the_way(model)),
        )
        self.tables_ = np.array([(plane.true_positives, plane.true_negatives) for plane in planes.found])
        return solution
