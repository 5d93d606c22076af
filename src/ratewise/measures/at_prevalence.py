"""A measure as it will be where positives are more common, or rarer, than in the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .base import ConcaveMeasure, Constraint, Measure, PseudoLinearCoefficients, PseudoLinearMeasure


def at_prevalence(measure: Measure, prevalence: float) -> Measure:
    """The measure at this share of positives, whatever that of the rows is: of the same family, for every solver.

    The rates of the two classes do not depend on how common they are, so that nothing else need change.

    Examples
    --------
    >>> from ratewise.measures import at_prevalence, get_measure
    >>> rare = at_prevalence(get_measure("f1"), 0.01)
    >>> bool(rare.value(0.9, 0.9, 0.5) == get_measure("f1").value(0.9, 0.9, 0.01))
    True
    """
    if isinstance(measure, ConcaveMeasure):
        return measure  # a function of the two rates alone
    if isinstance(measure, PseudoLinearMeasure):
        return PseudoLinearAtPrevalence(measure, float(prevalence))
    return MeasureAtPrevalence(measure, float(prevalence))


@dataclass(frozen=True)
class PseudoLinearAtPrevalence(PseudoLinearMeasure):
    """A pseudo-linear measure whose coefficients are those at a prevalence of its own."""

    measure: PseudoLinearMeasure
    prevalence: float

    def __post_init__(self) -> None:
        _take_over_traits(self, self.measure)

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        return self.measure.coefficients(self.prevalence)

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return self.measure.value(tpr, tnr, self.prevalence)

    def scale(self, prevalence: float) -> tuple[float, float]:
        return self.measure.scale(self.prevalence)


@dataclass(frozen=True)
class MeasureAtPrevalence(Measure):
    """Any measure at a prevalence of its own."""

    measure: Measure
    prevalence: float

    def __post_init__(self) -> None:
        _take_over_traits(self, self.measure)

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return self.measure.value(tpr, tnr, self.prevalence)

    def slopes(self, tpr: float, tnr: float, prevalence: float | None = None) -> tuple[float, float]:
        return self.measure.slopes(tpr, tnr, self.prevalence)

    def constraints(self, prevalence: float) -> tuple[Constraint, ...]:
        return self.measure.constraints(self.prevalence)

    def scale(self, prevalence: float) -> tuple[float, float]:
        return self.measure.scale(self.prevalence)


def _take_over_traits(shifted: Measure, measure: Measure) -> None:
    for trait in ("smooth", "monotone"):
        object.__setattr__(shifted, trait, getattr(measure, trait))
