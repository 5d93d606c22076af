"""Learn from a stream with river's interface, one row or one data frame at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import estimators

__all__ = ["MeasureClassifier"]

try:
    from river import base
except ModuleNotFoundError as error:  # river itself, or a module that it needs
    raise ModuleNotFoundError('ratewise.river needs river: pip install "ratewise[river]"', name="river") from error


class MeasureClassifier(base.MiniBatchClassifier):  # type: ignore[misc]
    """Learn a linear classifier for the measure you report, with river's interface.

    It learns and forgets like ``partial_fit`` of :class:`ratewise.MeasureClassifier`, and ``model`` is such a
    classifier. The columns are those of the first row, by name: a column that is missing later counts as 0, and a
    new column is ignored.

    Parameters
    ----------
    measure : str or Measure, default="f1"
        What to maximize.
    half_life : {"auto"}, float or None, default="auto"
        How fast rows are forgotten.
    classes : sequence of labels, default=(False, True)
        All classes that can occur.
    random_state : int or None, default=0
        The same int gives the same model.

    Examples
    --------
    >>> from river.datasets import Phishing
    >>> from ratewise.river import MeasureClassifier
    >>> model = MeasureClassifier("f1")
    >>> for x, y in Phishing():
    ...     model.learn_one(x, y)
    >>> model.predict_one(x) in (False, True)
    True
    """

    def __init__(
        self,
        measure: Any = "f1",
        half_life: str | float | None = "auto",
        classes: Any = (False, True),
        random_state: int | None = 0,
    ):
        self.measure, self.half_life = measure, half_life
        self.classes, self.random_state = classes, random_state
        self.model = estimators.MeasureClassifier(measure, half_life=half_life, random_state=random_state)
        self._columns: list[Any] | None = None

    @property
    def _multiclass(self) -> bool:
        return len(self.classes) > 2

    def learn_one(self, x: dict[Any, Any], y: Any, w: float = 1.0) -> None:
        """Learn from one row of weight ``w``."""
        if self._columns is None:
            self._columns = list(x)
        weights = None if w == 1.0 else np.array([float(w)])
        self._learn(self._row(x), np.array([y]), weights)

    def learn_many(self, X: Any, y: Any, w: Any = None) -> None:
        """Learn from the rows of a data frame."""
        if self._columns is None:
            self._columns = list(X.columns)
        self._learn(self._rows(X), np.asarray(y), w)

    def _learn(self, X: NDArray[np.float64], y: NDArray[Any], weights: Any) -> None:
        first = not hasattr(self.model, "classes_")
        if first and weights is not None and not np.any(weights):
            return
        self.model.partial_fit(X, y, classes=list(self.classes) if first else None, sample_weight=weights)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> Any:
        """Return the class of a row: the decision for the measure, not the more probable class."""
        if not hasattr(self.model, "classes_"):
            return self.classes[0]
        return self.model.predict(self._row(x))[0].item()

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """Return the calibrated probability of each class."""
        if not hasattr(self.model, "classes_"):
            return dict.fromkeys(self.classes, 1.0 / len(self.classes))
        return dict(
            zip(self.model.classes_.tolist(), self.model.predict_proba(self._row(x))[0].tolist(), strict=True)
        )

    def predict_many(self, X: Any) -> Any:
        """Return the classes of the rows of a data frame, as a series."""
        import pandas as pd

        if not hasattr(self.model, "classes_"):
            return pd.Series(index=X.index, dtype=bool)
        return pd.Series(self.model.predict(self._rows(X)), index=X.index)

    def predict_proba_many(self, X: Any) -> Any:
        """Return the probabilities of the rows of a data frame, a column per class."""
        import pandas as pd

        if not hasattr(self.model, "classes_"):
            return pd.DataFrame(index=X.index)
        chances = self.model.predict_proba(self._rows(X))
        return pd.DataFrame(chances, index=X.index, columns=self.model.classes_.tolist())

    def _row(self, x: dict[Any, Any]) -> NDArray[np.float64]:
        return np.array([[x.get(name, 0.0) for name in self._columns or ()]], dtype=np.float64)

    def _rows(self, X: Any) -> NDArray[np.float64]:
        return np.ascontiguousarray(X.reindex(columns=self._columns, fill_value=0.0), dtype=np.float64)
