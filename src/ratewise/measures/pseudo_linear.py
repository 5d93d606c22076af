"""A pseudo-linear measure with the user's own coefficients."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .base import PseudoLinearCoefficients, PseudoLinearMeasure


@dataclass(frozen=True)
class PseudoLinear(PseudoLinearMeasure):
    """(a0 + a1 TPR + a2 TNR) / (b0 + b1 TPR + b2 TNR), whatever the prevalence.

    For coefficients that depend on the prevalence, derive from
    :class:`~ratewise.measures.PseudoLinearMeasure` and write ``coefficients``.
    """

    a: tuple[float, float, float]
    b: tuple[float, float, float]

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            given = getattr(self, name)
            try:
                numbers = tuple(float(number) for number in given) if not isinstance(given, str) else ()
            except (TypeError, ValueError):
                numbers = ()
            if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
                raise ValueError(
                    f"PseudoLinear: {name} must be three finite numbers (constant, TPR, TNR); got {given!r}."
                )
            object.__setattr__(self, name, numbers)
        if self.b[0] == 0:
            raise ValueError("PseudoLinear: b[0], the constant of the denominator, must not be 0.")

    def coefficients(self, prevalence: Any) -> PseudoLinearCoefficients:
        return PseudoLinearCoefficients(self.a, self.b)

    def value(self, tpr: Any, tnr: Any, prevalence: Any = None) -> Any:
        return super().value(tpr, tnr, 0.5 if prevalence is None else prevalence)
