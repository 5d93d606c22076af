"""Any measure under bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ._rates import Constraint, precision_at_least, tnr_at_least, tpr_at_least
from .base import Measure, require_not_negative, require_positive, require_share


@dataclass(frozen=True)
class Constrained(Measure):
    """Maximise a measure among the thresholds that keep some bounds.

    Parameters
    ----------
    measure : Measure, name or function of the rates
        What to maximise.
    tpr, tnr, precision : float, optional
        The lowest each may be, between 0 and 1; at least one.
    penalty : float
        The value falls by this much where a bound is missed altogether. Thresholds are chosen by the bounds
        themselves, whatever the penalty.
    margin : float
        Standard errors by which the bounds must hold on the rows that choose the threshold.

    Examples
    --------
    >>> from ratewise.measures import Constrained
    >>> careful = Constrained("f1", tnr=0.95)
    >>> bool(careful.value(0.8, 0.96, 0.5) == careful.measure.value(0.8, 0.96, 0.5))
    True
    >>> bool(careful.value(0.9, 0.94, 0.5) < careful.measure.value(0.9, 0.94, 0.5))
    True
    """

    measure: Measure
    tpr: float | None = None
    tnr: float | None = None
    precision: float | None = None
    penalty: float = 2.0
    margin: float = 0.5

    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        from . import get_measure  # the registry imports this file

        object.__setattr__(self, "measure", get_measure(self.measure))
        given = [name for name in ("tpr", "tnr", "precision") if getattr(self, name) is not None]
        if not given:
            raise ValueError("Constrained: give at least one of tpr, tnr and precision a lowest value.")
        require_share(self, *given)
        require_positive(self, "penalty")
        require_not_negative(self, "margin")

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        missed = sum(np.minimum(bound.excess(tpr, tnr), 0.0) for bound in self._own_constraints(prevalence))
        return (np.asarray(self.measure.value(tpr, tnr, prevalence)) + self.penalty * missed)[()]

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        on_tpr, on_tnr = self.measure.slopes(tpr, tnr, prevalence)
        for bound in self._own_constraints(prevalence):
            if bound.excess(tpr, tnr) < 0:
                on_tpr += self.penalty * bound.on_tpr
                on_tnr += self.penalty * bound.on_tnr
        return on_tpr, on_tnr

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return (*self.measure.constraints(prevalence), *self._own_constraints(prevalence))

    def scale(self, prevalence: float) -> tuple[float, float]:
        return self.measure.scale(prevalence)

    def _own_constraints(self, prevalence: Any) -> tuple[Constraint, ...]:
        bounds = []
        if self.tpr is not None:
            bounds.append(tpr_at_least(self.tpr, self.margin))
        if self.tnr is not None:
            bounds.append(tnr_at_least(self.tnr, self.margin))
        if self.precision is not None:
            bounds.append(precision_at_least(self.precision, self.require_prevalence(prevalence), self.margin))
        return tuple(bounds)
