"""Costs per row on the command line: numbers, or columns of the data."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

import click

from ._options import Command

OF_THE_FIT = "What a false positive and a false negative cost, numbers or columns; those of the fit unless given."
_KINDS = ("false_positive", "false_negative", "true_positive")


def costs_options(said: str) -> Callable[[Command], Command]:
    """Return the options for the costs of decisions; ``said`` is the help on their purpose."""

    def both(command: Command) -> Command:
        true_positive = click.option(
            "--true-positive-cost",
            metavar="COST",
            help="With --costs: what a true positive costs, such as the time that an alert takes; 0 unless given.",
        )
        costs = click.option("--costs", nargs=2, metavar="FP FN", callback=_require_two, help=said)
        return costs(true_positive(command))

    return both


def _require_two(
    context: click.Context, parameter: click.Parameter, given: tuple[str, str] | None
) -> tuple[str, str] | None:
    """Raise an error for an option in place of the second cost, which click reads as a value."""
    option = next((text for text in given or () if text.startswith("-") and text.lstrip("-")[:1].isalpha()), None)
    if option is not None:
        raise click.BadParameter(
            f"it takes two values, FP and FN, and {option!r} is in place of one of them.", context, parameter
        )
    return given


def given_costs(costs: tuple[str, str] | None, true_positive: str | None) -> dict[str, float | str] | None:
    """Return the given costs in the form of Python's costs=: numbers, and names of columns."""
    if costs is None:
        if true_positive is not None:
            raise click.UsageError("--true-positive-cost is for --costs: give what mistakes cost too.")
        return None
    texts = (*costs, true_positive)
    found: dict[str, float | str] = {
        kind: text for kind, text in zip(_KINDS, texts, strict=True) if text is not None
    }
    for kind, text in found.items():
        with contextlib.suppress(ValueError):
            found[kind] = float(text)
    return found


def costs_for(model: Any, path: str, given: dict[str, float | str] | None) -> Mapping[str, float | str] | None:
    """Return the given costs or those of the model's fit; None for a model without costs."""
    if given is not None and model.classes_.size > 2:
        raise click.UsageError(f"{path} is a model of {model.classes_.size} classes: leave out --costs.")
    if given is not None or not getattr(model, "fitted_to_costs_", False):
        return given
    if not hasattr(model, "cost_columns_"):
        raise click.UsageError(
            f"{path} was fitted to the costs of rows: name their numbers or columns with --costs FP FN."
        )
    columns: Mapping[str, float | str] = model.cost_columns_
    return columns


def require_fitted_to_costs(model: Any, path: str, given: Any) -> None:
    """Raise an error for costs if the model's decisions do not depend on them."""
    if given is not None and not getattr(model, "fitted_to_costs_", False):
        raise click.UsageError(f"{path} was fitted without costs: leave out --costs.")


def decided_by_costs(model: Any, scores: Any, costs: Mapping[str, float | str], window: Any) -> Any:
    """Return the class with the lowest expected cost in each row of a window."""
    from ..estimators._costs import cheapest, costs_in_columns, shares_of_scores

    by_row = costs_in_columns(costs, window.kept, getattr(model, "encoder_", None))
    return model.classes_[cheapest(model, shares_of_scores(model, scores), by_row)]


def spent_in_window(
    model: Any, predicted: Any, costs: Mapping[str, float | str], window: Any, spent: dict[str, float]
) -> dict[str, float]:
    """Return the cost of decisions so far, and the cost without a model: the same class for all rows."""
    import numpy as np

    from ..decisions.costs import row_costs
    from ..estimators._costs import costs_in_columns
    from ..estimators._positive import PositiveClass

    positive = PositiveClass.of_model(model)
    by_row = costs_in_columns(costs, window.kept, getattr(model, "encoder_", None))
    table = row_costs(by_row, predicted.size, 2)
    of_truth = table[np.arange(predicted.size), (window.labels == positive.label).astype(np.intp)]
    weights = np.ones(predicted.size) if window.weights is None else window.weights
    kinds = {"these decisions": np.where(predicted, of_truth[:, 1], of_truth[:, 0])}
    for number, label in enumerate((positive.other, positive.label)):
        kinds[f"predicting {label} for every row"] = of_truth[:, number]
    return {name: spent.get(name, 0.0) + float(weights @ cost) for name, cost in kinds.items()}
