"""Convert scikit-learn's scores for ``classes_[1]`` into scores for the positive class, which all reports use."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ._targets import fitted_positive, positive_label


class PositiveClass(NamedTuple):
    """The positive class of two, and the sign that turns scikit-learn's scores towards it.

    ``coef_``, ``intercept_`` and ``decision_function`` refer to ``classes_[1]``, as in scikit-learn. Everything
    that a person reads (reports, cards, plots, the output of commands) uses this class.
    """

    label: Any
    other: Any
    sign: float

    @classmethod
    def of(cls, classes: NDArray[Any], pos_label: Any = None) -> Self:
        label = positive_label(classes, pos_label)
        second = bool(label == classes[1])
        return cls(label, classes[0] if second else classes[1], 1.0 if second else -1.0)

    @classmethod
    def of_model(cls, classifier: Any) -> Self:
        """Return the positive class of a fitted classifier: the one given by the user, or the second class."""
        return cls.of(classifier.classes_, fitted_positive(classifier))

    def scores(self, decisions: Any) -> NDArray[np.float64]:
        """Return a decision function as scores that are higher for the positive class."""
        return self.sign * np.asarray(decisions)

    def coef(self, classifier: Any) -> NDArray[np.float64]:
        """Return the coefficients of a linear model: above 0 if a column raises the positive class's score."""
        coef = classifier.coef_
        dense = np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)
        towards: NDArray[np.float64] = self.sign * dense[0]
        return towards

    def threshold(self, classifier: Any) -> float:
        """Return the value that the sum of columns times coefficients must exceed."""
        return float(-self.sign * classifier.intercept_[0]) + 0.0

    @property
    def cut(self) -> float:
        """The value that scores of predicted positives exceed: a score of 0 means the first class."""
        return 0.0 if self.sign > 0 else float(np.nextafter(0.0, -1.0))
