"""Costs per row and decision: their checks, and the decision with the lowest expected cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from .calibrate import Calibration, calibrated, class_calibrations, log_odds_line, stacked

_LEAST = 1e-12  # the least probability
_FOLDS = 5  # folds that choose a calibration
_CELLS = {"true_negative": (0, 0), "false_positive": (0, 1), "false_negative": (1, 0), "true_positive": (1, 1)}


def row_costs(costs: Any, n_rows: int, n_classes: int, positive: int = 1) -> NDArray[np.float64]:
    """Return costs[row, true, predicted] from an array, from one table, or from a column per kind of decision.

    Examples
    --------
    >>> from ratewise.decisions.costs import row_costs
    >>> row_costs({"false_positive": 10, "false_negative": [100, 5]}, 2, 2).tolist()
    [[[0.0, 10.0], [100.0, 0.0]], [[0.0, 10.0], [5.0, 0.0]]]
    """
    shape = (n_rows, n_classes, n_classes)
    if hasattr(costs, "columns"):  # a frame, whose rows scikit-learn can split like those of an array
        costs = {name: costs[name] for name in costs.columns}
    if isinstance(costs, Mapping):
        found = _by_cell(costs, n_rows, n_classes, positive)
    else:
        found = _numbers(costs, "costs")
        if found.ndim == 1 and n_classes == 2:
            raise ValueError('costs are one column; say of what, as in {"false_negative": column}.')
        if found.shape not in (shape, shape[1:]):
            raise ValueError(
                f"costs must be an array of shape {shape}, [row, true, predicted], or one table of shape "
                f"{shape[1:]}; got shape {found.shape}."
            )
        found = np.broadcast_to(found, shape)
    if not np.isfinite(found).all():
        raise ValueError("costs contain NaN or infinity; every decision needs a cost that is known.")
    if (found < 0).any():
        raise ValueError(
            "costs must be 0 or more: add a number to all costs of a true class, which changes no decision."
        )
    return found


def _by_cell(costs: Mapping[str, Any], n_rows: int, n_classes: int, positive: int) -> NDArray[np.float64]:
    if n_classes != 2:
        raise ValueError(
            f"costs by name are those of two classes, and there are {n_classes}: give an array "
            "[row, true, predicted]."
        )
    require_kinds(costs)
    found = np.zeros((n_rows, 2, 2))
    for name, column in costs.items():
        numbers = _numbers(column, f"costs[{name!r}]")
        if numbers.shape not in ((), (n_rows,)):
            raise ValueError(
                f"costs[{name!r}] must be a number or one per row: there are {n_rows} rows, and it has shape "
                f"{numbers.shape}."
            )
        true, predicted = _CELLS[name]
        found[:, true, predicted] = numbers
    return found if positive == 1 else found[:, ::-1, ::-1]


def require_kinds(costs: Mapping[str, Any]) -> None:
    """Refuse kinds of costs other than the four known ones."""
    unknown = [name for name in costs if name not in _CELLS]
    if unknown or not costs:
        raise ValueError(f"costs are named {', '.join(_CELLS)}; got {', '.join(map(repr, unknown)) or 'none'}.")


def _numbers(costs: Any, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{what} must be numbers.") from None


def cost_weights(costs: NDArray[np.float64], exponent: float = 0.5) -> NDArray[np.float64]:
    """Return the weights of rows in a fit: a power of the amount at stake in each row, with mean 1.

    The amount at stake is the cost of the worst decision minus that of the best one, summed over the possible
    classes of the row. The weight does not depend on the row's own class, so the probabilities of a model of
    weighted rows need no correction. The default power is the root: the model should be right where much is at
    stake, but a few rows with very large costs must not dominate it.

    Examples
    --------
    >>> from ratewise.decisions.costs import cost_weights, row_costs
    >>> cost_weights(row_costs({"false_positive": 10, "false_negative": [90, 890]}, 2, 2)).tolist()
    [0.5, 1.5]
    """
    at_stake: NDArray[np.float64] = (costs.max(axis=2) - costs.min(axis=2)).sum(axis=1)
    if not at_stake.any():
        raise ValueError("costs are the same whatever is predicted: there is nothing to decide.")
    found: NDArray[np.float64] = (at_stake / at_stake.max()) ** exponent
    return np.asarray(found / found.mean())


def cost_calibration(
    probabilities: NDArray[Any],
    codes: NDArray[np.intp],
    weights: NDArray[Any],
    groups: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return the calibration for expected costs: none, a line per class, or a curve for two classes.

    Expected costs are right if the probabilities are. So this is the simplest calibration whose log loss, on rows
    to which it was not fitted, is within half a standard error of the best. Log loss is used because a few
    expensive rows dominate real costs. ``benchmarks/cost_calibration.py`` compares this choice, on made-up data,
    with a choice by real costs and with a curve for all data.
    """
    candidates = calibrations(probabilities.shape[1])
    odds = _log(probabilities)
    groups = np.arange(codes.size) if groups is None else np.unique(groups, return_inverse=True)[1]
    fold = np.empty(codes.size, dtype=np.intp)
    fold[np.lexsort((groups, codes))] = np.arange(codes.size)  # each class in every fold
    fold = fold[np.unique(groups, return_index=True)[1]][groups] % _FOLDS
    losses = np.zeros((len(candidates), groups.max() + 1))
    for held in (fold == number for number in range(_FOLDS)):
        for candidate, sums in zip(candidates, losses, strict=True):
            found = candidate(odds[~held], codes[~held], weights[~held])
            of_truth = calibrated_probabilities(probabilities[held], found)[np.arange(held.sum()), codes[held]]
            sums -= np.bincount(groups[held], weights[held] * np.log(np.maximum(of_truth, _LEAST)), sums.size)
    more = losses - losses[losses.sum(axis=1).argmin()]
    close = more.sum(axis=1) <= 0.5 * more.std(axis=1) * np.sqrt(more.shape[1])
    return candidates[int(close.argmax())](odds, codes, weights)


def calibrations(n_classes: int) -> list[Callable[..., NDArray[np.float64]]]:
    """Return the ways to calibrate, functions of log probabilities, codes and weights, the simplest first."""
    return [_none, class_calibrations] if n_classes > 2 else [_none, _line, _curve]


def _none(odds: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[np.float64]:
    return stacked([Calibration(1.0, 0.0)] * (odds.shape[1] if odds.shape[1] > 2 else 1))


def _line(odds: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[np.float64]:
    return stacked([Calibration(*log_odds_line(odds[:, 1] - odds[:, 0], _signed(codes, weights)))])


def _curve(odds: NDArray[np.float64], codes: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[np.float64]:
    return stacked([calibrated(odds[:, 1] - odds[:, 0], _signed(codes, weights), float(codes.size), 0.0)])


def _signed(codes: NDArray[np.intp], weights: NDArray[Any]) -> NDArray[Any]:
    return np.where(codes == 1, weights, -weights)


def calibrated_probabilities(probabilities: NDArray[Any], calibration: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return probabilities after a calibration by :func:`cost_calibration`."""
    odds, curves = _log(probabilities), [Calibration.of_numbers(one) for one in calibration]
    if len(curves) == 1:
        second = expit(curves[0].log_odds(odds[:, 1] - odds[:, 0]))
        return np.column_stack([1.0 - second, second])
    found: NDArray[np.float64] = softmax(
        np.column_stack([curve.log_odds(one) for curve, one in zip(curves, odds.T, strict=True)]), axis=1
    )
    return found


def _log(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.log(np.maximum(probabilities.astype(np.float64), _LEAST))
    return found


def expected_costs(probabilities: NDArray[Any], costs: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the expected cost of each decision in each row.

    Examples
    --------
    >>> import numpy as np
    >>> from ratewise.decisions.costs import expected_costs, row_costs
    >>> costs = row_costs({"false_positive": 10, "false_negative": [100, 5]}, 2, 2)
    >>> expected_costs(np.array([[0.8, 0.2], [0.8, 0.2]]), costs)  # an alert pays in the first row
    array([[20.,  8.],
           [ 1.,  8.]])
    """
    found: NDArray[np.float64] = np.einsum("nt,ntp->np", probabilities, costs)
    return found


class Spent(NamedTuple):
    """The total cost of decisions, and of other decisions on the same rows."""

    rule: float
    one_class: float
    """The cost if all rows are predicted as the one cheapest class, without a model."""
    most_probable: float
    """The cost if each row is predicted as its most probable class."""
    rows: float
    """The weight of the rows."""
    best_threshold: float | None
    """The cost with the best threshold of the probability on these rows; None with more than two classes."""

    @classmethod
    def of(
        cls,
        decided: NDArray[np.intp],
        probabilities: NDArray[Any],
        codes: NDArray[np.intp],
        weights: NDArray[Any],
        costs: NDArray[np.float64],
    ) -> Spent:
        rows = np.arange(codes.size)
        by_decision = weights[:, np.newaxis] * costs[rows, codes]
        threshold = None
        if probabilities.shape[1] == 2:
            order = np.argsort(-probabilities[:, 1], kind="stable")
            change = (by_decision[:, 1] - by_decision[:, 0])[order].cumsum()
            scores = probabilities[order, 1]
            last = np.append(scores[1:] != scores[:-1], True)  # the last of rows with equal probabilities
            threshold = float(by_decision[:, 0].sum() + min(float(change[last].min()), 0.0))
        return cls(
            float(by_decision[rows, decided].sum()),
            float(by_decision.sum(axis=0).min()),
            float(by_decision[rows, probabilities.argmax(axis=1)].sum()),
            float(weights.sum()),
            threshold,
        )
