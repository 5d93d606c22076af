"""A measure of many classes under bounds on single classes: recall, precision, share of the predictions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._input_checks import labels_of_both, plain_labels
from ._rates import Bound, bound_on
from .bounds import check_parameters, confidence_field
from .confusion import ConfusionMeasure, Table

Levels = float | tuple[tuple[Any, float], ...] | None
"""One level for every class, or (label, level) for some classes."""


def checked_levels(name: str, given: Any) -> Levels:
    """Return levels of classes, with a mapping as pairs; refuse levels that are not shares."""
    if given is None or not isinstance(given, (Mapping, tuple)):
        return given  # type: ignore[no-any-return]
    pairs = tuple(given.items() if isinstance(given, Mapping) else given)
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2 or not _is_share(pair[1]):
            raise ValueError(
                f"Constrained: {name} must be a share above 0 and below 1, or {{class: share}}; got {given!r}."
            )
    if not pairs:
        raise ValueError(f"Constrained: {name}={given!r} names no class.")
    return tuple((label, float(level)) for label, level in pairs)


def _is_share(level: Any) -> bool:
    return isinstance(level, (int, float)) and not isinstance(level, bool) and 0.0 < level < 1.0


@dataclass(frozen=True)
class ConstrainedClasses(ConfusionMeasure):
    """The form of :class:`Constrained` with more than two classes: a measure, and bounds on single classes.

    The value falls by ``penalty`` if a bound is missed completely. The bounds themselves choose decisions,
    whatever the penalty.

    Parameters
    ----------
    measure : ConfusionMeasure
    recall, precision, alert_rate : float, or (label, level) of some classes, optional
    penalty, margin, confidence : float
        As in :class:`Constrained`.
    classes : tuple, optional
        The labels in order; 0, 1, 2, ... unless given.

    Examples
    --------
    >>> from ratewise.measures import Constrained, confusion_measure
    >>> careful = confusion_measure(Constrained("accuracy", recall={"rare": 0.5}))
    >>> careful.score(["often", "often", "rare"], ["often", "often", "often"])
    -1.3333333333333335
    """

    measure: ConfusionMeasure
    recall: Levels = None
    precision: Levels = None
    alert_rate: Levels = None
    penalty: float = 2.0
    margin: float = 0.5
    confidence: float | None = confidence_field()
    classes: tuple[Any, ...] | None = None

    smooth: ClassVar[bool] = False

    def __post_init__(self) -> None:
        for name in _BOUNDED:
            object.__setattr__(self, name, checked_levels(name, getattr(self, name)))
        numbers = [name for name in _BOUNDED if isinstance(getattr(self, name), (int, float))]
        check_parameters(self, *numbers)  # type: ignore[arg-type]

    @property
    def label(self) -> str:
        said = [f"{name}={_written(getattr(self, name))}" for name in _BOUNDED if getattr(self, name) is not None]
        return f"Constrained({', '.join([self.measure.label, *said])})"

    def of_classes(self, classes: ArrayLike) -> ConstrainedClasses:
        """Return the measure for classes with these labels; refuse bounds on other labels."""
        found = replace(self, classes=tuple(np.asarray(classes).tolist()))
        found.class_bounds(len(found.classes or ()))
        return found

    def class_bounds(self, n_classes: int) -> list[Bound]:
        """Return the bounds by the numbers of the classes."""
        labels = self._labels(n_classes)
        found = []
        for name, rate in _BOUNDED.items():
            levels = getattr(self, name)
            if levels is None:
                continue
            if isinstance(levels, tuple):
                pairs = [(self._number(name, label, labels), level) for label, level in levels]
            else:
                pairs = [(k, float(levels)) for k in range(n_classes)]
            if name == "alert_rate" and len(pairs) == n_classes and sum(level for _, level in pairs) < 1.0:
                raise ValueError(
                    f"Constrained: the alert_rate of {n_classes} classes adds up to "
                    f"{sum(level for _, level in pairs):.3g}, and every row is predicted as one of them. Bound "
                    "some classes: alert_rate={class: share}."
                )
            found += [bound_on(rate, level, self.margin, self.confidence).of_class(k) for k, level in pairs]
        return found

    def named(self, bound: Bound) -> str:
        """Return the subject of a bound as text: "the recall of 'rare'"."""
        k = bound.numerator[1]
        assert k is not None
        label = k if self.classes is None else self.classes[k]
        if bound.numerator[0] is None:
            return f"the share of rows predicted as {label!r}"
        return f"the {'recall' if bound.denominator[1] is None else 'precision'} of {label!r}"

    def value(self, table: Table) -> Any:
        table = np.asarray(table)
        missed = np.zeros(table.shape[:-2])
        real = np.real(table)
        for bound in self.class_bounds(table.shape[-1]):
            rows = real.sum(axis=-1)[..., bound.numerator[1]]
            slack = bound.share(real) - bound.level
            part = (slack if bound.at_least else -slack) / bound.level
            missed = missed + np.where(rows > 0, np.minimum(part, 0.0), 0.0)
        return (self.measure.value(table) + self.penalty * missed)[()]

    def gains(self, table: Table) -> NDArray[np.float64]:
        return self.measure.gains(table)

    def scale(self, shares: NDArray[np.float64]) -> tuple[float, float]:
        return self.measure.scale(shares)

    def score(
        self, y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None, labels: Any = None
    ) -> float:
        if labels is None:
            known = () if self.classes is None else self.classes
            labels = known or labels_of_both(plain_labels(y_true), plain_labels(y_pred))
        found = replace(self, classes=tuple(np.asarray(labels).tolist()))
        return float(
            super(ConstrainedClasses, found).score(y_true, y_pred, sample_weight=sample_weight, labels=labels)
        )

    def _labels(self, n_classes: int) -> dict[str, int]:
        labels = range(n_classes) if self.classes is None else self.classes
        if len(labels) != n_classes:
            raise ValueError(f"{self.label}: there are {n_classes} classes, and it is of {len(labels)}.")
        return {str(label): k for k, label in enumerate(labels)}  # a number is a text on the command line

    @staticmethod
    def _number(name: str, label: Any, labels: dict[str, int]) -> int:
        if str(label) not in labels:
            raise ValueError(
                f"Constrained: {name} names the class {label!r}, and there is none; there are {', '.join(labels)}."
            )
        return labels[str(label)]


_BOUNDED = {"recall": "tpr", "precision": "precision", "alert_rate": "alert_rate"}
"""The shares of a class that can be bounded, as rates of two classes with this class as the positive one."""


def _written(levels: Levels) -> str:
    return repr(dict(levels)) if isinstance(levels, tuple) else repr(levels)
