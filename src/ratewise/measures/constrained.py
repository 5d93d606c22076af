"""A measure under bounds: on all rows, on each class, on each group, on differences between groups."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from ._rates import RATES, Bound, Constraint, Gap, bound_on
from .base import Measure
from .bounds import check_parameters, confidence_field
from .class_bounds import ConstrainedClasses, checked_levels


@dataclass(frozen=True)
class Constrained(Measure):
    """Maximize a measure among the decisions that keep bounds on all rows, on classes or on groups.

    Parameters
    ----------
    measure : Measure, ConfusionMeasure, name or function of the rates
        The measure to maximize.
    tpr, tnr : float, optional
        With two classes: the lowest each may be, between 0 and 1.
    precision : float, or {class: float} with more than two classes, optional
        The lowest precision; with more than two classes, of every class or of the named classes.
    penalty : float
        The value falls by this much if a bound is missed completely. The bounds themselves choose thresholds,
        whatever the penalty.
    margin : float
        Used where ``confidence`` is None: standard errors by which the bounds must hold on the rows that choose
        the threshold.
    confidence : float or None
        The probability, over the draw of the training rows, with which the fitted model keeps all bounds on new
        rows. With None nothing is promised, and ``margin`` is used.
    alert_rate : float, or {class: float} with more than two classes, optional
        The largest share of all rows that may be predicted positive, or predicted as each named class.
    tpr_gap, fpr_gap, alert_rate_gap : float, optional
        How far the TPR, the FPR or the share of rows predicted positive may differ between any two groups. ``fit``
        then needs ``sensitive_features``: equal opportunity, with both rates equalized odds, demographic parity.
    per_group : bool
        Whether ``tpr``, ``tnr``, ``precision`` and ``alert_rate`` must hold in every group instead.
    group_cuts : bool
        With bounds on groups: one threshold per group, so that ``predict`` needs ``sensitive_features`` too. False
        keeps the bounds with one threshold for all rows, and ``predict`` needs nothing.
    recall : float or {class: float}, optional
        With more than two classes: the lowest recall of every class, or of the named classes.

    Examples
    --------
    >>> from ratewise.measures import Constrained
    >>> careful = Constrained("f1", tnr=0.95)
    >>> bool(careful.value(0.8, 0.96, 0.5) == careful.measure.value(0.8, 0.96, 0.5))
    True
    >>> bool(careful.value(0.9, 0.94, 0.5) < careful.measure.value(0.9, 0.94, 0.5))
    True
    >>> Constrained("f1", recall=0.5).of_many().score([0, 1, 1, 2], [0, 1, 0, 2])
    0.7777777777777777
    """

    measure: Measure
    tpr: float | None = None
    tnr: float | None = None
    precision: Any = None
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()
    alert_rate: Any = None
    tpr_gap: float | None = None
    fpr_gap: float | None = None
    alert_rate_gap: float | None = None
    per_group: bool = False
    group_cuts: bool = True
    recall: Any = None

    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        from . import confusion_measure, get_measure, two_class_measure  # the registry imports this file

        named = self.measure
        object.__setattr__(self, "measure", two_class_measure(named) or confusion_measure(named))
        for name in _OF_CLASSES:
            object.__setattr__(self, name, checked_levels(name, getattr(self, name)))
        given = [name for name in (*_BOUNDED, *_GAPS, "recall") if getattr(self, name) is not None]
        if not given:
            raise ValueError(
                "Constrained: give at least one of tpr, tnr, precision and recall a lowest value, or alert_rate, "
                "tpr_gap, fpr_gap or alert_rate_gap a highest."
            )
        for name in ("per_group", "group_cuts"):
            if not isinstance(getattr(self, name), bool):
                raise ValueError(f"Constrained: {name} must be True or False; got {getattr(self, name)!r}.")
        check_parameters(self, *(name for name in given if not isinstance(getattr(self, name), tuple)))
        if self.only_of_many:
            self.of_many()
            return
        object.__setattr__(self, "measure", get_measure(self.measure))
        if not self._own_bounds():  # rates of all rows are those of the measure alone
            for flag in ("smooth", "monotone"):
                object.__setattr__(self, flag, getattr(self.measure, flag))

    @property
    def only_of_many(self) -> bool:
        """Whether some part of it needs more than two classes."""
        levels = (getattr(self, name) for name in ("precision", "alert_rate"))
        return (
            self.recall is not None
            or not isinstance(self.measure, Measure)
            or any(isinstance(one, tuple) for one in levels)
        )

    def of_many(self) -> ConstrainedClasses:
        """Return the measure for more than two classes."""
        from . import confusion_measure

        two = [name for name in ("tpr", "tnr", *_GAPS) if getattr(self, name) is not None]
        if two or self.per_group:
            raise ValueError(
                f"Constrained: {'=, '.join(two or ['per_group'])}= is of two classes; with more, bound recall=, "
                "precision= or alert_rate= of every class, or of some: recall={class: 0.5}."
            )
        return ConstrainedClasses(
            confusion_measure(self.measure),
            self.recall,
            self.precision,
            self.alert_rate,
            self.penalty,
            self.margin,
            self.confidence,
        )

    @property
    def label(self) -> str:
        given = (
            f"{one.name}={getattr(self, one.name)!r}" for one in fields(self)[1:] if not self._is_default(one)
        )
        return f"Constrained({self.measure.label}, {', '.join(given)})"

    def _is_default(self, one: Any) -> bool:
        return bool(getattr(self, one.name) == one.default)

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        missed = sum(np.minimum(line.excess(tpr, tnr), 0.0) for line in self._own_lines(prevalence))
        return (np.asarray(self.measure.value(tpr, tnr, prevalence)) + self.penalty * missed)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        on_tpr, on_tnr = self.measure.slopes(tpr, tnr, prevalence)
        for line in self._own_lines(prevalence):
            if line.excess(tpr, tnr) < 0:
                on_tpr += self.penalty * line.on_tpr
                on_tnr += self.penalty * line.on_tnr
        return on_tpr, on_tnr

    @property
    def bounds(self) -> tuple[Bound, ...]:
        return (*self.measure.bounds, *self._own_bounds())

    def scale(self, prevalence: float) -> tuple[float, float]:
        return self.measure.scale(prevalence)

    def _own_lines(self, prevalence: Any) -> list[Constraint]:
        if not self.per_group and (self.precision is not None or self.alert_rate is not None):
            self.require_prevalence(prevalence)
        return [bound.at(prevalence) for bound in self._own_bounds()]

    @property
    def group_bounds(self) -> tuple[Bound | Gap, ...]:
        levels = ((cells, getattr(self, name)) for name, cells in _GAPS.items())
        gaps = (Gap(*cells, level, self.margin, self.confidence) for cells, level in levels if level is not None)
        return (*(self._levels() if self.per_group else ()), *gaps)

    def _own_bounds(self) -> list[Bound]:
        return [] if self.per_group else self._levels()

    def _levels(self) -> list[Bound]:
        levels = ((name, getattr(self, name)) for name in _BOUNDED)
        return [bound_on(name, level, self.margin, self.confidence) for name, level in levels if level is not None]


_BOUNDED = ("tpr", "tnr", "precision", "alert_rate")
_OF_CLASSES = ("recall", "precision", "alert_rate")
_GAPS = {f"{rate}_gap": RATES[rate] for rate in ("tpr", "fpr", "alert_rate")}
