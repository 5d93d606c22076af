"""The start of a fit of many classes, for ``solver_``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class MultinomialLogistic:
    """Logistic regression of all classes at once: the start of a sharpened fit of more than two classes.

    ``l2`` is the strength of the penalty that validation rows chose.
    """

    l2: float
