"""Costs per row for a linear model: the weights of rows, and the decisions with the lowest expected costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from .._errors import DataError, Place
from ..decisions.calibrate import Calibration
from ..decisions.costs import cost_weights, expected_costs, require_kinds, row_costs
from ..features.values import PLAIN, as_column, parsed_numbers
from ..measures import CostMatrix
from ._targets import (
    checked_labels,
    checked_weights,
    fitted_positive,
    is_indicator,
    labels_to_score,
    positive_label,
    require_more_than_one_class,
)


class CostedRows(NamedTuple):
    """The training weights of rows of two classes, and the measure that the model is trained for."""

    weights: NDArray[np.float64]
    measure: CostMatrix

    @classmethod
    def of(cls, measure: Any, costs: Any, y: Any, sample_weight: Any, pos_label: Any) -> CostedRows:
        """Check the costs; return the weights and the measure.

        The measure is the cost of one threshold for all rows beyond that of correct decisions. It is computed on
        weighted rows, in which a mistake costs the same in all rows of a class. If correct decisions cost more
        than mistakes in most rows of a class (few amounts are worth an alert), only the other rows set this cost.
        """
        require_cost_measure(measure)
        if is_indicator(y):
            raise ValueError("costs= are for one class per row, and y is an indicator matrix of labels.")
        y, classes = checked_labels(y, int(np.shape(y)[0]))
        require_more_than_one_class(classes)
        if classes.size > 2:
            raise ValueError(
                f"MeasureClassifier takes costs= of two classes, and y has {classes.size}: use "
                'MeasureMaximizer(MeasureClassifier("accuracy"), "cost").'
            )
        own = np.ones(y.size) if sample_weight is None else checked_weights(sample_weight, y)
        positive = classes.tolist().index(positive_label(classes, pos_label))
        return cls.of_codes(row_costs(costs, y.size, 2, positive), np.searchsorted(classes, y), own, positive)

    @classmethod
    def of_codes(
        cls, table: NDArray[np.float64], codes: NDArray[np.intp], own: NDArray[np.float64], positive: int
    ) -> CostedRows:
        """Return the weights and the measure for costs[row, true, predicted] and the numbers of the classes."""
        rows = np.arange(codes.size)
        of_mistakes = table[rows, codes, 1 - codes] - table[rows, codes, codes]
        weights, found = own * cost_weights(table), {}
        for name, mine in (("positive", codes == positive), ("negative", codes != positive)):
            total = float(own[mine] @ of_mistakes[mine])
            total = total if total > 0.0 else float(own[mine] @ np.maximum(of_mistakes[mine], 0.0))
            if total <= 0.0:
                raise ValueError(
                    f"costs: in no {name} row does a mistake cost more than the right decision. Look whether two "
                    "kinds of costs are swapped."
                )
            found[name] = total / max(float(weights[mine].sum()), 1e-300)
        return cls(weights, CostMatrix(((0.0, found["negative"]), (found["positive"], 0.0))))


def cheapest(model: Any, proba: NDArray[np.float64], costs: Any) -> NDArray[np.intp]:
    """Return the number of the class with the lowest expected cost in each row."""
    found: NDArray[np.intp] = expected_costs(proba, costs_of(model, proba.shape[0], costs)).argmin(axis=1)
    return found


def shares_of_scores(model: Any, scores: Any) -> NDArray[np.float64]:
    """Return the probability of each of two classes, by the scores of a linear model."""
    second = expit(Calibration.of_numbers(model.calibration_[0]).log_odds(scores))
    return np.column_stack([1.0 - second, second])


def named_columns(costs: Mapping[str, float | str] | None) -> list[str]:
    """Return the columns of a file that hold costs; the other costs are numbers."""
    return [] if costs is None else list(dict.fromkeys(one for one in costs.values() if isinstance(one, str)))


def require_columns_of_costs(measure: Any, costs: Any) -> None:
    """Raise an error for costs of files that name no column, before the files are read."""
    require_cost_measure(measure)
    if not isinstance(costs, Mapping) or not named_columns(costs):
        raise ValueError(
            'costs= of a stream name columns, such as {"false_positive": 10, "false_negative": "amount"}. Costs '
            "that are the same in all rows are a measure: CostMatrix."
        )
    require_kinds(costs)


def costs_in_columns(costs: Mapping[str, float | str], kept: Mapping[str, Any], encoder: Any) -> dict[str, Any]:
    """Return costs with the values of the named columns; the encoder knows how numbers are written in texts."""
    found: dict[str, Any] = dict(costs)
    for kind, column in costs.items():
        if isinstance(column, str):
            found[kind] = _numbers_of_column(column, kept[column], getattr(encoder, "style", PLAIN))
    return found


def _numbers_of_column(name: str, values: Any, style: str) -> NDArray[np.float64]:
    try:
        texts = any(isinstance(one, str) for one in values)
        found = parsed_numbers(as_column(values, name, Place(name)), style) if texts else None
        found = np.array(values, dtype=np.float64) if found is None else found
    except (TypeError, ValueError):
        raise DataError(f"Column {name!r} holds costs: every row needs a number.") from None
    wrong = np.flatnonzero(~(np.isfinite(found) & (found >= 0.0)))
    if wrong.size:
        raise DataError(
            f"Column {name!r} holds costs: every row needs a finite number, 0 or more, and one row has "
            f"{values[wrong[0]]!r}."
        )
    return found


def mean_cost(model: Any, decided: NDArray[np.intp], y: Any, sample_weight: Any, costs: Any) -> float:
    """Return the mean cost of decisions, numbers of classes, for rows of these labels."""
    y = labels_to_score(y, decided.size, model.classes_)
    weights = None if sample_weight is None else checked_weights(sample_weight, y)
    table, codes = costs_of(model, decided.size, costs), np.searchsorted(model.classes_, y)
    return float(np.average(table[np.arange(decided.size), codes, decided], weights=weights))


def costs_of(model: Any, n_rows: int, costs: Any) -> NDArray[np.float64]:
    """Return costs[row, true, predicted] of new rows, for a model of two classes."""
    positive = model.classes_.tolist().index(fitted_positive(model))
    return row_costs(costs, n_rows, model.classes_.size, positive)


def require_cost_measure(measure: Any) -> None:
    if measure != "cost":
        raise ValueError(f'costs= goes with measure="cost"; the measure is {measure!r}.')


def takes_costs(model: Any) -> bool:
    """Return whether a model was fitted to costs per row, so that ``predict`` needs them."""
    rule = getattr(model, "rule_", None)
    return bool(getattr(model, "fitted_to_costs_", False) or (rule is not None and rule.measure_ is None))


def require_costs(model: Any, costs: Any) -> None:
    """Raise an error for rows without costs if the model was fitted to costs, and for costs if it was not."""
    if costs is None and takes_costs(model):
        raise ValueError("The model was fitted to costs of rows: give costs= of these rows too.")
    if costs is not None and not takes_costs(model):
        raise ValueError("The model was fitted without costs: leave costs= out.")
