"""Which kind of fit a target asks for."""

from __future__ import annotations

from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..solvers import History
from .labels import is_indicator
from .many_classes import ManyClassFit
from .many_labels import ManyLabelFit
from .outcome import Coefficients, Outcome
from .settings import Settings
from .two_classes import TwoClassFit
from .validation import CheckedRows, checked_labels


class FitTask(Protocol):
    """A fit to rows in memory, checked and not yet begun."""

    @property
    def classes(self) -> NDArray[Any]: ...

    @property
    def n_models(self) -> int: ...

    def learn(self, before: Coefficients | None, rng: np.random.Generator, history: History) -> Outcome: ...


def fit_task(
    rows: CheckedRows,
    y: Any,
    sample_weight: Any,
    settings: Settings,
    *,
    pos_label: Any,
    target_prevalence: Any,
    groups: Any,
) -> FitTask:
    """The fit of two classes, of many, or of many labels, as y has it."""
    _check_prevalence(target_prevalence)
    if is_indicator(y):
        _require_none(target_prevalence, "labels")
        return ManyLabelFit.of(rows, y, sample_weight, settings, pos_label=pos_label, groups=groups)
    labels = checked_labels(y, rows.number)
    if labels.found.size > 2:
        _require_none(target_prevalence, f"{labels.found.size} classes")
        return ManyClassFit.of(rows, labels, sample_weight, settings, pos_label=pos_label, groups=groups)
    return TwoClassFit.of(
        rows,
        labels,
        sample_weight,
        settings,
        pos_label=pos_label,
        target_prevalence=None if target_prevalence is None else float(target_prevalence),
        groups=groups,
    )


def _check_prevalence(prevalence: Any) -> None:
    if prevalence is None:
        return
    if isinstance(prevalence, bool) or not isinstance(prevalence, Real) or not 0.0 < float(prevalence) < 1.0:
        raise ValueError(
            f"target_prevalence must be the share of positives to expect, above 0 and below 1; got {prevalence!r}."
        )


def _require_none(prevalence: Any, what: str) -> None:
    if prevalence is not None:
        raise ValueError(
            f"target_prevalence is for two classes, and y has {what}. Weigh the classes by sample_weight instead."
        )
