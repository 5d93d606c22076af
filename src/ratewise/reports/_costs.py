"""The costs of a model's decisions on labelled rows, and the costs of other decisions."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from ..decisions.costs import row_costs
from ..estimators._costs import require_costs, takes_costs
from ..estimators._positive import PositiveClass
from ..measures import CostMatrix
from ..plots._scores import inner_classifier

_NORMAL = 1.96  # of a 95% interval
_NEXT_TO_NOTHING = 1e-9


class Alternative(NamedTuple):
    """Other decisions for the same rows."""

    name: str
    total: float
    saved: float
    """What the model's decisions cost less."""
    error: float
    """The standard error of that, over rows drawn again."""


class DecisionCosts(NamedTuple):
    """The costs of a model's decisions and of other decisions."""

    total: float
    weight: float
    others: list[Alternative]
    spent: NDArray[np.float64]
    """The cost of the model's decision in each row, times the weight of the row."""

    @classmethod
    def of(
        cls,
        decided: NDArray[Any],
        scores: NDArray[Any] | None,
        codes: NDArray[Any],
        weights: NDArray[Any] | None,
        costs: NDArray[np.float64],
        names: Sequence[str],
    ) -> Self:
        """Sum the costs of the decisions; ``scores``, with two classes, are higher for the second class."""
        rows, weights = np.arange(codes.size), np.ones(codes.size) if weights is None else weights
        by_decision = costs[rows, codes.astype(np.intp)]
        spent = by_decision[rows, decided.astype(np.intp)]
        one = int((weights @ by_decision).argmin())
        tried = {f"no model: every row is predicted {names[one]}": by_decision[:, one]}
        if scores is not None:
            above = scores > _best_threshold(scores, weights * (by_decision[:, 1] - by_decision[:, 0]))
            tried["one threshold for all rows, the best on these rows"] = by_decision[rows, above.astype(np.intp)]
        others = []
        for name, other in tried.items():
            saved = weights * (other - spent)
            others.append(Alternative(name, float(weights @ other), float(saved.sum()), _error_of_sum(saved)))
        return cls(float(weights @ spent), float(weights.sum()), others, weights * spent)

    def words(self) -> str:
        """Return the costs of the decisions, in words for the middle of a sentence."""
        return f"its decisions cost {_money(self.total)}, or {_money(self.total / self.weight)} per row"

    def of_same_costs(self, other: DecisionCosts) -> bool:
        """Return whether both use the same costs: a model may have the costs of its fit."""
        return self.others[0][:2] == other.others[0][:2]

    def compared(self, name: str, other: DecisionCosts, others_name: str) -> str:
        """Return which of two models has lower costs, and whether these rows can show the difference."""
        more = other.spent - self.spent
        gap, reach = float(more.sum()), _NORMAL * _error_of_sum(more)
        cheaper, dearer = (name, others_name) if gap >= 0 else (others_name, name)
        low, high = abs(gap) - reach, abs(gap) + reach
        text = (
            f"On the same rows the decisions of {cheaper} cost {_money(abs(gap))} less than those of {dearer} "
            f"(with 95% confidence between {_money(low)} and {_money(high)})"
        )
        return f"{text}." if low > 0 else f"{text}: these rows do not show which of the two is cheaper."

    def html(self, name: str, *, row_by_row: bool = False) -> str:
        """Return a section of the page; ``row_by_row`` says that the model decides by the costs of each row."""
        lines = [("this model", self.total, "")]
        for one in self.others:
            reach = _NORMAL * one.error
            ends = f"{_money(one.saved - reach)} to {_money(one.saved + reach)}"
            lines.append((one.name, one.total, f"{_money(one.saved)} ({ends})"))
        body = "".join(
            f'<tr><th scope="row">{html.escape(label)}</th><td>{_money(total)}</td>'
            f"<td>{_money(total / self.weight)}</td><td>{saved}</td></tr>"
            for label, total, saved in lines
        )
        heads = ("decisions", "cost", "per row", "saved by the model, with 95% interval")
        head = "".join(f'<th scope="col">{one}</th>' for one in heads)
        title = f"What the decisions of {html.escape(name)} cost"
        note = (
            "<p>The model decides row by row, by the costs of the row. The sliders below are about one threshold "
            "for all rows, which mean costs choose.</p>"
        )
        return (
            f"<section><h2>{title}</h2>{note * row_by_row}"
            f'<div class="scroll" tabindex="0" role="region" aria-label="{title}">'
            '<table class="numbers"><caption>A few rows with large costs may decide these numbers: the intervals '
            "say how much other rows may differ.</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div></section>"
        )


def _error_of_sum(values: NDArray[np.float64]) -> float:
    """Return the standard error of a sum over rows that are a random sample."""
    return float(np.sqrt(values.size) * values.std())


def _best_threshold(scores: NDArray[Any], more: NDArray[np.float64]) -> float:
    """Return the threshold of least cost, given what deciding for the second class costs more in each row."""
    order = np.argsort(-scores, kind="stable")
    ranked, sums = scores[order], np.append(0.0, more[order].cumsum())
    ends = np.append(True, np.append(ranked[1:] != ranked[:-1], True))  # of rows with equal scores
    number = int(np.where(ends, sums, np.inf).argmin())
    return float(ranked[number]) if number < ranked.size else -np.inf


def _money(amount: float) -> str:
    return f"{amount:,.2f}" if abs(amount) < 1e4 else f"{amount:,.0f}"


def costs_of_decisions(model: Any, costs: Any, n_rows: int, positive: PositiveClass | None) -> Any:
    """Return costs[row, true, predicted] in the order of the model's classes; None if no costs are given."""
    if costs is None:
        require_costs(inner_classifier(model), None)
        return None
    return row_costs(costs, n_rows, len(model.classes_), int(is_second(model, positive)))


def is_second(model: Any, positive: PositiveClass | None) -> bool:
    """Return whether the positive class is the last of two."""
    return positive is None or bool(positive.label == np.asarray(model.classes_).tolist()[1])


def positive_last(model: Any, costs: NDArray[np.float64], positive: PositiveClass) -> NDArray[np.float64]:
    """Return costs[row, true, predicted] with the positive class last."""
    return costs if is_second(model, positive) else costs[:, ::-1, ::-1]


def decisions(model: Any, X: Any, costs: Any) -> NDArray[Any]:
    """Return the predictions of a model, by the costs of the rows if it takes them."""
    return np.asarray(model.predict(X, costs=costs) if takes_costs(inner_classifier(model)) else model.predict(X))


def even_threshold(mean: CostMatrix) -> float:
    """Return the probability above which a row is predicted positive if all rows of a class cost the same."""
    (_, fp), (fn, _) = mean.costs
    return fp / (fp + fn)


def mean_costs(costs: NDArray[np.float64], positive: NDArray[np.bool_], weights: Any) -> CostMatrix | None:
    """Return the cost measure with the mean cost of a mistake over these rows of each class.

    If the mean cost of a mistake is 0 or less, a tiny cost replaces it, because costs must be above 0. None if
    neither kind of mistake costs anything.
    """
    weights = np.ones(positive.size) if weights is None else weights
    fn = float(np.average((costs[:, 1, 0] - costs[:, 1, 1])[positive], weights=weights[positive]))
    fp = float(np.average((costs[:, 0, 1] - costs[:, 0, 0])[~positive], weights=weights[~positive]))
    least = _NEXT_TO_NOTHING * max(fn, fp)
    return CostMatrix(((0.0, max(fp, least)), (max(fn, least), 0.0))) if least > 0.0 else None
