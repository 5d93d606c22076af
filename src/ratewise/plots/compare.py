"""Several models side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from ..measures import Measure, Rates, get_measure, measure_name, rates_from_labels
from ._scores import inner_classifier, measure_of, positive_class
from ._style import BLUE, ORANGE, SKY, axes_for, legend_below

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LANE = 0.24  # between the marks of a model; models are 1 apart


class ComparisonDisplay:
    """TPR, TNR and the measure of several models, one row per model.

    Parameters
    ----------
    measure : str or Measure
    names : sequence of str
    rates : sequence of Rates
        The rates of each model, on the same rows.

    Attributes
    ----------
    values : array
        The measure of each model.
    ax_, figure_ : matplotlib's axes and figure
    marks_ : dict of Line2D
        The marks by "measure", "TPR" and "TNR", each with one mark per model.

    Examples
    --------
    >>> from ratewise.plots import ComparisonDisplay
    >>> predictions = {"careful": [0, 0, 1], "bold": [0, 1, 1]}
    >>> ComparisonDisplay.from_predictions([0, 1, 1], predictions, measure="f1").values.round(2).tolist()
    [0.67, 1.0]
    """

    def __init__(self, *, measure: str | Measure, names: Sequence[str], rates: Sequence[Rates]):
        if not names or len(names) != len(rates):
            raise ValueError(f"There must be one name per model: got {len(names)} names and {len(rates)} rates.")
        self.measure = get_measure(measure)
        self.names = list(names)
        self.rates = list(rates)
        self.values = np.array([float(self.measure.value(*one)) for one in rates])

    @classmethod
    def from_estimators(
        cls,
        estimators: Mapping[str, Any],
        X: Any,
        y: Any,
        *,
        measure: str | Measure | None = None,
        sample_weight: Any = None,
        pos_label: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rates of fitted classifiers, from their predictions for these rows.

        Parameters
        ----------
        estimators : dict
            Classifiers, by the names to show.
        X, y : rows and labels
        measure : str or Measure, optional
            Unless given, the measure that the MeasureClassifiers among them were trained for.
        sample_weight : array, optional
        pos_label : label, optional
            The class whose rate is the TPR: the estimators' own choice, or ``classes_[1]``, unless given.
        ax : matplotlib Axes, optional
        """
        _require_models(estimators, "estimators")
        measure = get_measure(measure) if measure is not None else _common_measure(estimators)
        positives = {name: positive_class(estimator, pos_label).label for name, estimator in estimators.items()}
        positive = next(iter(positives.values()))
        if any(other != positive for other in positives.values()):
            raise ValueError(f"The models do not agree on the positive class: {positives}. Give pos_label.")
        predictions = {name: estimator.predict(X) for name, estimator in estimators.items()}
        return cls.from_predictions(
            y, predictions, measure=measure, sample_weight=sample_weight, pos_label=positive, ax=ax
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        predictions: Mapping[str, Any],
        *,
        measure: str | Measure,
        sample_weight: Any = None,
        pos_label: Any = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the rates of predicted labels, given as a dict by the names to show."""
        _require_models(predictions, "predictions")
        rates = [
            rates_from_labels(y_true, labels, sample_weight=sample_weight, pos_label=pos_label)
            for labels in predictions.values()
        ]
        return cls(measure=measure, names=list(predictions), rates=rates).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw on these axes, or on new ones."""
        ax = axes_for(ax, (6.8, 1.6 + 0.75 * len(self.names)))
        columns = {
            "measure": (self.values, measure_name(self.measure), BLUE, "o"),
            "TPR": (np.array([one.tpr for one in self.rates]), "TPR", SKY, "^"),
            "TNR": (np.array([one.tnr for one in self.rates]), "TNR", ORANGE, "v"),
        }
        rows = np.arange(len(self.names))
        self.marks_ = {}
        for lane, (key, (numbers, label, colour, marker)) in enumerate(columns.items()):
            heights = rows + _LANE * (lane - 1)
            self.marks_[key] = ax.plot(
                numbers, heights, color=colour, marker=marker, markersize=8, linestyle="none", label=label
            )[0]
            for number, height in zip(numbers, heights, strict=True):
                ax.annotate(
                    f"{number:.3f}",
                    (number, height),
                    xytext=(8, 0),
                    textcoords="offset points",
                    va="center",
                    fontsize="small",
                    fontweight="bold" if key == "measure" else "normal",
                )
        self._frame(ax, min(float(numbers.min()) for numbers, *_ in columns.values()))
        legend_below(ax, list(self.marks_.values()))
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _frame(self, ax: Axes, lowest: float) -> None:
        """Order models from top to bottom, with room to the right of 1 for the numbers beside the marks."""
        low = min(lowest - 0.08 * (1.0 - lowest), 0.95)
        ax.set_xlim(low, 1.0 + 0.14 * (1.0 - low))
        ax.set_xticks([tick for tick in ax.get_xticks() if low <= tick <= 1.0 + 1e-9])
        ax.set_yticks(np.arange(len(self.names)), self.names)
        ax.set_ylim(len(self.names) - 0.5, -0.5)
        for row in range(1, len(self.names)):
            ax.axhline(row - 0.5, color="0.85", linewidth=0.8)
        ax.grid(axis="x", alpha=0.3)
        ax.set_xlabel(f"{measure_name(self.measure)}, TPR, TNR")


def _require_models(models: Any, what: str) -> None:
    if not isinstance(models, Mapping) or not models:
        raise ValueError(f"{what} must be a dict by the names to show, with one model at least.")


def _common_measure(estimators: Mapping[str, Any]) -> Measure:
    """Return the measure that all MeasureClassifiers among the estimators were trained for."""
    found = [measure_of(one, None) for one in estimators.values() if hasattr(inner_classifier(one), "measure_")]
    if not found:
        raise ValueError("No model was trained for a measure: say which to draw, measure='f1' for instance.")
    if any(other != found[0] for other in found):
        names = ", ".join(dict.fromkeys(measure_name(one) for one in found))
        raise ValueError(
            f"The models were trained for different measures ({names}): say which to draw, measure=..."
        )
    return found[0]
