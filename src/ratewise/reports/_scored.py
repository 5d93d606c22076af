"""A classifier on labelled rows, as counts: what a report holds instead of rows."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..measures import Measure, Rates, get_measure, measure_name, measure_names
from ..measures.counts import (
    DRAWS,
    Confusion,
    drawn_counts,
    interval,
    normal_draws,
    rates_of_counts,
    resampled,
    values_of,
)

_STOPS_PER_CLASS = 950
_BARS = 48
_CALIBRATION_BINS = 12
_OWN_MEASURE_DRAWS = 400
_MOST_VALUES = 12

NORMALS = normal_draws(0)
"""The draws behind every interval: the page has the same."""

# What measures.js computes, at any prevalence. Other measures come as tables over the thresholds.
MEASURES_OF_THE_PAGE = frozenset(
    [
        "BalancedAccuracy",
        "CohenKappa",
        "Constrained",
        "CostMatrix",
        "FBeta",
        "FowlkesMallows",
        "GMean",
        "GowerLegendre",
        "HMean",
        "Jaccard",
        "MatthewsCorrelation",
        "MeasureAtPrevalence",
        "MinRate",
        "NetBenefit",
        "PrecisionAtRecall",
        "PseudoLinear",
        "PseudoLinearAtPrevalence",
        "QMean",
        "RecallAtPrecision",
        "RecallAtPrecisionAndPrevalence",
        "TPRAtFPR",
        "TPRAtTNR",
        "Tversky",
        "WeightedMin",
    ]
)


class Estimate(NamedTuple):
    """A number and the ends of its 95% interval."""

    value: float
    low: float
    high: float


class ReportedRows(NamedTuple):
    """Which rows are positive, what they weigh (None if all weigh the same), and what the classes are called."""

    positive: NDArray[np.bool_]
    weights: NDArray[np.float64] | None
    names: tuple[str, str]

    @property
    def totals(self) -> tuple[float, float]:
        """The weight of the positives and of the negatives."""
        if self.weights is None:
            return int(self.positive.sum()), int((~self.positive).sum())
        return float(self.weights[self.positive].sum()), float(self.weights[~self.positive].sum())

    def confusion(
        self, predicted: NDArray[np.bool_], rows: Any = slice(None)
    ) -> tuple[Confusion, Confusion | None]:
        """Return the counts of some rows, and the sums of squared weights if there are weights."""
        positive, weights = self.positive[rows], None if self.weights is None else self.weights[rows]
        counts = Confusion().plus(positive, predicted[rows], weights)
        return counts, None if weights is None else Confusion().plus(positive, predicted[rows], weights**2)


class Stops(NamedTuple):
    """Thresholds, and the weight of each class above each; a row is called positive if it scores above."""

    thresholds: NDArray[np.float64]
    above: NDArray[np.float64]  # (2, n_stops): positives, negatives
    squares: NDArray[np.float64] | None  # the same of the squared weights
    own: int

    @classmethod
    def of(cls, rows: ReportedRows, scores: NDArray[np.float64], threshold: float) -> Stops:
        """Take the quantiles of each class, so that a rate changes little from one stop to the next.

        The first stop lies below every score. The threshold in use is one of them, exactly.
        """
        order = np.argsort(scores, kind="stable")
        ranked, positive = scores[order], rows.positive[order]
        cuts = [np.array([0, ranked.size])]
        for members in (np.flatnonzero(positive), np.flatnonzero(~positive)):
            picked = members[np.linspace(0, members.size - 1, min(_STOPS_PER_CLASS, members.size)).astype(np.intp)]
            cuts.append(np.searchsorted(ranked, ranked[picked], side="right"))
        own_cut = int(np.searchsorted(ranked, threshold, side="right"))
        cut = np.unique(np.concatenate([*cuts, [own_cut]]))
        thresholds = np.where(cut > 0, ranked[np.maximum(cut, 1) - 1], -np.inf)
        own = int(np.searchsorted(cut, own_cut))
        thresholds[own] = threshold

        def above(weights: NDArray[np.float64] | None) -> NDArray[np.float64]:
            return np.array([_above(positive, weights, cut), _above(~positive, weights, cut)])

        weights = None if rows.weights is None else rows.weights[order]
        squares = None if weights is None else above(weights**2)
        return cls(thresholds, above(weights), squares, own)


def _above(members: NDArray[np.bool_], weights: NDArray[np.float64] | None, cut: NDArray[Any]) -> NDArray[Any]:
    """Return the weight of the members behind each cut."""
    behind = np.cumsum((members if weights is None else members * weights)[::-1])[::-1]
    above: NDArray[Any] = np.append(behind, 0)[cut]
    return above


@dataclass
class ScoredModel:
    """One classifier on the rows of a report.

    ``facts`` holds what else is known of the model: what it was trained for, the path of its fit, what its scores
    depend on, its rates by group.
    """

    name: str
    rows: ReportedRows
    scores: NDArray[np.float64]
    threshold: float
    measure: Measure
    probabilities: bool = False
    facts: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def stops(self) -> Stops:
        return Stops.of(self.rows, self.scores, self.threshold)

    @property
    def predicted(self) -> NDArray[np.bool_]:
        return self.scores > self.threshold

    def confusion(self, stop: int | None = None) -> tuple[Confusion, Confusion | None]:
        """Return the counts at a stop (the model's own threshold unless given), and those of squared weights."""
        stop = self.stops.own if stop is None else stop

        def counts(above: NDArray[Any]) -> Confusion:
            (hits, alarms), (positives, negatives) = above[:, stop].tolist(), above[:, 0].tolist()
            return Confusion(hits, positives - hits, alarms, negatives - alarms)

        return counts(self.stops.above), None if self.stops.squares is None else counts(self.stops.squares)

    def at(self, stop: int | None = None, prevalence: float | None = None) -> dict[str, Estimate]:
        """Return TPR, TNR, precision and every measure at a stop, as the page shows them.

        At a prevalence of your own, that is known; that of the rows is as uncertain as the rates are.
        """
        confusion, squares = self.confusion(stop)
        return estimates(self.measures, confusion, squares, prevalence)

    @cached_property
    def measures(self) -> dict[str, Measure]:
        return measures_with(self.measure)

    def histogram(self) -> dict[str, Any]:
        """Return the share of each class in bars of equal width; the outermost bars hold all that lies beyond."""
        ends = [
            np.quantile(self.scores[of_class], [0.002, 0.998])
            for of_class in (self.rows.positive, ~self.rows.positive)
        ]
        low, high = min(ends[0][0], ends[1][0], self.threshold), max(ends[0][1], ends[1][1], self.threshold)
        if not np.isfinite([low, high]).all() or low == high:
            low, high = float(self.scores.min()) - 0.5, float(self.scores.max()) + 0.5
        edges = np.linspace(low, high, _BARS + 1)
        bar = np.clip(np.searchsorted(edges, self.scores, side="right") - 1, 0, _BARS - 1)
        weights = np.ones(self.scores.size) if self.rows.weights is None else self.rows.weights
        shares = {}
        for name, of_class in (("positives", self.rows.positive), ("negatives", ~self.rows.positive)):
            counts = np.bincount(bar[of_class], weights[of_class], minlength=_BARS)
            shares[name] = [round(float(share), 5) for share in counts / counts.sum()]
        return {"low": significant(low), "high": significant(high), **shares}

    def calibration(self) -> list[dict[str, Any]]:
        """Return the share of positives among rows with like scores, in groups of about equal size."""
        edges = np.unique(np.quantile(self.scores, np.linspace(0, 1, _CALIBRATION_BINS + 1)[1:-1]))
        group = np.searchsorted(edges, self.scores, side="left")
        found = []
        for number in np.unique(group):
            members = group == number
            share = _share_of_positives(self.rows, members)
            weights = None if self.rows.weights is None else self.rows.weights[members]
            score = np.average(self.scores[members], weights=weights) if weights is None or weights.any() else None
            if share is not None and score is not None:
                found.append({"score": significant(score), **_plain(share), "rows": int(members.sum())})
        return found

    def groups(self, columns: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
        """Return the rates of the rows that share a value of a column; the worst first.

        The measure is taken at the prevalence of all rows, so that a group with few positives is not called worse
        for that alone. A group is worse if its interval lies below the value of all rows, an interval so wide that
        the chance of one false alarm among all groups is 5%.
        """
        whole, predicted = self.at()[self.measure_name], self.predicted
        prevalence = self.confusion()[0].rates.prevalence
        members = [
            (column, str(value), codes == code)
            for column, (values, codes) in ((name, grouped(values)) for name, values in columns.items())
            for code, value in enumerate(values)
        ]
        found = []
        for column, value, rows in members:
            confusion, squares = self.rows.confusion(predicted, rows)
            hits, misses, alarms, quiet = confusion
            if hits + misses == 0 or alarms + quiet == 0:
                continue
            named = {self.measure_name: self.measure}
            here = estimates(named, confusion, squares, prevalence)
            wide = estimates(named, confusion, squares, prevalence, share=1.0 - 0.05 / len(members))
            found.append(
                {
                    "column": column,
                    "value": value,
                    "rows": int(rows.sum()),
                    "prevalence": (hits + misses) / (hits + misses + alarms + quiet),
                    "tpr": _plain(here["TPR"]),
                    "tnr": _plain(here["TNR"]),
                    "measure": _plain(here[self.measure_name]),
                    "worse": wide[self.measure_name].high < whole.value,
                }
            )
        return sorted(found, key=lambda one: (not one["worse"], one["measure"]["high"]))

    @property
    def measure_name(self) -> str:
        """The name under which the measure stands in the tables."""
        return next(name for name, measure in self.measures.items() if measure == self.measure)

    def table_of(self, measure: Measure) -> dict[str, Any]:
        """Return a measure that the page cannot compute: its values and intervals at every stop."""
        tables: dict[str, list[float]] = {"value": [], "low": [], "high": []}
        for stop in range(self.stops.thresholds.size):
            one = estimates({"own": measure}, *self.confusion(stop))["own"]
            for end, number in zip(tables.values(), one, strict=True):
                end.append(round(number, 6))
        return tables


def difference(one: ScoredModel, other: ScoredModel) -> Estimate:
    """Return by how much the measure of one model is above that of another, both at their own thresholds.

    The rows are the same, so errors that both models make cancel out: the interval comes from the counts of all
    eight outcomes of a row, and is narrower than those of the two values suggest.
    """
    outcome = 4 * ~one.rows.positive + 2 * ~one.predicted + ~other.predicted
    weights = one.rows.weights
    counts = np.bincount(outcome, weights, minlength=8)
    squares = None if weights is None else np.bincount(outcome, weights**2, minlength=8)

    def above(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        cells = counts.reshape(-1, 2, 2, 2)  # positive, called so by one, called so by the other
        first, second = (cells.sum(axis=axis).reshape(-1, 4) for axis in (3, 2))
        of_one, of_other = (values_of(one.measure, rates_of_counts(part)) for part in (first, second))
        return of_one - of_other

    normals = np.hstack([NORMALS, normal_draws(1)])
    value = float(above(counts.astype(np.float64))[0])
    return Estimate(value, *interval(above(drawn_counts(counts, normals, squares, more=0.25)), value))


def estimates(
    measures: dict[str, Measure],
    confusion: Confusion,
    squares: Confusion | None = None,
    prevalence: float | None = None,
    share: float = 0.95,
) -> dict[str, Estimate]:
    """Return TPR, TNR, precision and these measures with their intervals."""
    rates: Rates = confusion.rates
    draws: Any = resampled(confusion, NORMALS, squares)
    if prevalence is not None:
        rates, draws = rates._replace(prevalence=prevalence), draws._replace(prevalence=np.full(DRAWS, prevalence))

    def entry(values: NDArray[np.float64], value: float) -> Estimate:
        return Estimate(value, *interval(values, value, share))

    found = {
        "TPR": entry(draws.tpr, rates.tpr),
        "TNR": entry(draws.tnr, rates.tnr),
        "precision": entry(draws.precision, float(rates.precision)),
    }
    for name, measure in measures.items():
        few = Rates(*(one[:_OWN_MEASURE_DRAWS] for one in draws))
        drawn = few if formula_of(measure) is None else draws
        found[name] = entry(values_of(measure, drawn), float(measure.value(*rates)))
    return found


def measures_with(measure: Measure) -> dict[str, Measure]:
    """Return all measures by name, this one first if it has none."""
    known = {name: get_measure(name) for name in measure_names()}
    return known if measure in known.values() else {measure_name(measure): measure} | known


def formula_of(measure: Measure) -> dict[str, Any] | None:
    """Return a measure as the page takes it, by class and parameters; None if the page does not know it."""
    ours = type(measure).__module__.startswith("ratewise.measures.")
    if not ours or type(measure).__name__ not in MEASURES_OF_THE_PAGE or not dataclasses.is_dataclass(measure):
        return None
    formula: dict[str, Any] = {"kind": type(measure).__name__}
    for one in dataclasses.fields(measure):
        value = getattr(measure, one.name)
        if isinstance(value, Measure):
            value = formula_of(value)
            if value is None:
                return None
        formula[one.name] = value
    return formula


def grouped(values: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    """Return the names of the groups of a column and the group of each row: its values, or quarters of numbers."""
    if values.dtype.kind in "fiu":
        numbers = values.astype(np.float64)
        distinct = np.unique(numbers[np.isfinite(numbers)])
        if distinct.size > _MOST_VALUES:
            edges = np.unique(np.quantile(numbers[np.isfinite(numbers)], [0.25, 0.5, 0.75]))
            codes = np.searchsorted(edges, numbers, side="left")
            ends = [f"{edge:.4g}" for edge in edges]
            names = [f"at most {ends[0]}", *(f"{a} to {b}" for a, b in pairwise(ends))]
            missing = ~np.isfinite(numbers)
            return [*names, f"above {ends[-1]}", "missing"], np.where(missing, edges.size + 1, codes)
    found, codes = np.unique(values.astype(str), return_inverse=True)
    if found.size > _MOST_VALUES:
        common = np.argsort(-np.bincount(codes), kind="stable")[:_MOST_VALUES]
        place = np.full(found.size, _MOST_VALUES)
        place[common] = np.arange(_MOST_VALUES)
        return [*found[common].tolist(), "all others"], place[codes]
    return found.tolist(), codes.astype(np.intp)


def significant(number: float, digits: int = 6) -> float:
    """Return a number with so many digits: short in a file."""
    return float(f"{number:.{digits}g}")


def _share_of_positives(rows: ReportedRows, members: NDArray[np.bool_]) -> Estimate | None:
    """Return the share of positives among some rows, or None if they weigh nothing."""
    (positives, _, negatives, _), squares = rows.confusion(np.ones(members.size, dtype=bool), members)
    if positives + negatives == 0:
        return None
    counts = Confusion(positives, negatives)
    squared = None if squares is None else Confusion(squares.true_positives, squares.false_positives)
    return estimates({}, counts, squared)["TPR"]


def _plain(one: Estimate) -> dict[str, float]:
    return {end: round(number, 6) for end, number in one._asdict().items()}
