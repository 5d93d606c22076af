"""The parameters of a MeasureClassifier, checked."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from ..measures import Measure, get_measure
from ..solvers import History, Sharpen, Solver, get_solver


@dataclass(frozen=True)
class Settings:
    """What a fit is asked to do."""

    measure: Measure
    solver: Solver
    start: Solver | None
    """The solver if the user named one; None lets the library choose where sharpening starts."""
    sharpen: Sharpen | None
    """None leaves the paper's plain algorithm."""
    tunes_threshold: bool
    alpha: float
    held_out_share: float | None
    standardize: bool
    low_memory: bool
    n_jobs: int | None
    verbose: bool

    @classmethod
    def of(cls, classifier: Any) -> Settings:
        """The parameters of a classifier, or one sentence on what is wrong with them."""
        measure = get_measure(classifier.measure)
        solver = get_solver(classifier.solver, measure)
        _check(classifier)
        sharpens = classifier.threshold == "tune" if classifier.sharpen == "auto" else bool(classifier.sharpen)
        chosen = classifier.sharpen if isinstance(classifier.sharpen, Sharpen) else Sharpen()
        share = classifier.validation_fraction
        return cls(
            measure,
            solver,
            None if classifier.solver == "auto" else solver,
            chosen if sharpens else None,
            classifier.threshold == "tune",
            float(classifier.alpha),
            None if share == "auto" else float(share),
            bool(classifier.standardize),
            bool(classifier.low_memory),
            classifier.n_jobs,
            bool(classifier.verbose),
        )

    @property
    def threads(self) -> int:
        return int(effective_n_jobs(self.n_jobs))

    def new_history(self) -> History:
        return History(verbose=self.verbose)


def _check(classifier: Any) -> None:
    if classifier.threshold not in ("tune", "zero"):
        raise ValueError(f"threshold must be 'tune' or 'zero'; got {classifier.threshold!r}.")
    if not isinstance(classifier.sharpen, (bool, Sharpen)) and classifier.sharpen != "auto":
        raise ValueError(f"sharpen must be 'auto', True, False or a Sharpen; got {classifier.sharpen!r}.")
    if classifier.threshold == "zero" and classifier.sharpen not in ("auto", False):
        raise ValueError("threshold='zero' needs sharpen=False: sharpening ends with the choice of a threshold.")
    if not isinstance(classifier.alpha, Real) or not 0 <= float(classifier.alpha) < np.inf:
        raise ValueError(f"alpha must be a finite number of 0 or more; got {classifier.alpha!r}.")
    fraction = classifier.validation_fraction
    if fraction != "auto" and not (isinstance(fraction, Real) and 0 < float(fraction) <= 0.5):
        raise ValueError(f"validation_fraction must be 'auto' or above 0 and at most 0.5; got {fraction!r}.")
