"""Costs per row of a linear model: the weights of rows, and the decisions that are expected to cost least."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..decisions.costs import cost_weights, expected_costs, row_costs
from ..measures import CostMatrix
from ._targets import (
    checked_labels,
    checked_weights,
    is_indicator,
    labels_to_score,
    positive_label,
    require_more_than_one_class,
)


class CostedRows(NamedTuple):
    """The weights that rows of two classes are learned with, and the measure that the model is trained for."""

    weights: NDArray[np.float64]
    measure: CostMatrix

    @classmethod
    def of(cls, measure: Any, costs: Any, y: Any, sample_weight: Any, pos_label: Any) -> CostedRows:
        """Return both, with costs checked.

        The measure is what one threshold for all rows costs beyond right decisions: of weighted rows, in which a
        mistake costs the same in all rows of a class.
        """
        if measure != "cost":
            raise ValueError(f'costs= goes with measure="cost"; the measure is {measure!r}.')
        if is_indicator(y):
            raise ValueError("costs= are for one class per row, and y is an indicator matrix of labels.")
        n_rows = int(np.shape(y)[0])
        y, classes = checked_labels(y, n_rows)
        require_more_than_one_class(classes)
        if classes.size > 2:
            raise ValueError(
                f"MeasureClassifier takes costs= of two classes, and y has {classes.size}: use "
                'MeasureMaximizer(MeasureClassifier("accuracy"), "cost").'
            )
        own = np.ones(n_rows) if sample_weight is None else checked_weights(sample_weight, y)
        positive = classes.tolist().index(positive_label(classes, pos_label))
        table = row_costs(costs, n_rows, 2, positive)
        weights = own * cost_weights(table)
        codes, rows = np.searchsorted(classes, y), np.arange(n_rows)
        of_mistakes = table[rows, codes, 1 - codes] - table[rows, codes, codes]
        weights, found = own * cost_weights(table), {}
        for name, mine in (("positive", codes == positive), ("negative", codes != positive)):
            found[name] = float(own[mine] @ of_mistakes[mine]) / max(float(weights[mine].sum()), 1e-300)
            if found[name] <= 0.0:
                raise ValueError(
                    f"costs: over all {name} rows together, mistakes cost no more than right decisions. Look "
                    "whether two kinds of costs are swapped."
                )
        return cls(weights, CostMatrix(((0.0, found["negative"]), (found["positive"], 0.0))))


def cheapest(model: Any, X: Any, costs: Any) -> NDArray[np.intp]:
    """Return the number of the class that is expected to cost least in each row."""
    proba = model.predict_proba(X)
    found: NDArray[np.intp] = expected_costs(proba, costs_of(model, proba.shape[0], costs)).argmin(axis=1)
    return found


def mean_cost(model: Any, decided: NDArray[np.intp], y: Any, sample_weight: Any, costs: Any) -> float:
    """Return the mean cost of decisions, numbers of classes, for rows of these labels."""
    y = labels_to_score(y, decided.size, model.classes_)
    weights = None if sample_weight is None else checked_weights(sample_weight, y)
    table, codes = costs_of(model, decided.size, costs), np.searchsorted(model.classes_, y)
    return float(np.average(table[np.arange(decided.size), codes, decided], weights=weights))


def costs_of(model: Any, n_rows: int, costs: Any) -> NDArray[np.float64]:
    """Return costs[row, true, predicted] of new rows, for a model of two classes."""
    positive = model.classes_.tolist().index(positive_label(model.classes_, model.pos_label))
    return row_costs(costs, n_rows, model.classes_.size, positive)


def takes_costs(model: Any) -> bool:
    """Return whether a model was fitted to costs per row, so that ``predict`` needs them."""
    rule = getattr(model, "rule_", None)
    return bool(getattr(model, "fitted_to_costs_", False) or (rule is not None and rule.measure_ is None))


def require_costs(model: Any, costs: Any) -> None:
    """Refuse rows without costs for a model that was fitted to costs, and costs for others."""
    if costs is None and takes_costs(model):
        raise ValueError("The model was fitted to costs of rows: give costs= of these rows too.")
    if costs is not None and not takes_costs(model):
        raise ValueError("The model was fitted without costs: leave costs= out.")
