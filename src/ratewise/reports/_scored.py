"""A classifier on labelled rows, as counts, which a report holds instead of rows."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..counts import Counts
from ..decisions.draws import DRAWS, drawn_counts, interval, normal_draws, resampled, values_of
from ..measures import Measure, Rates, get_measure, measure_name, measure_names

_STOPS_PER_CLASS = 950
_BARS = 48
_CALIBRATION_BINS = 12
_OWN_MEASURE_DRAWS = 400
_MOST_VALUES = 12

NORMALS = normal_draws(0)
"""The random draws behind every interval: the page uses the same."""

# The measures that measures.js computes, at any prevalence. Other measures become tables over the thresholds.
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
        "RecallAtAlertRate",
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
    """Which rows are positive, their weights (None if all are equal), and the names of the classes."""

    positive: NDArray[np.bool_]
    weights: NDArray[np.float64] | None
    names: tuple[str, str]

    @property
    def totals(self) -> tuple[float, float]:
        """The weight of the positives and of the negatives."""
        if self.weights is None:
            return int(self.positive.sum()), int((~self.positive).sum())
        return float(self.weights[self.positive].sum()), float(self.weights[~self.positive].sum())

    def counts(self, predicted: NDArray[np.bool_], rows: Any = slice(None)) -> Counts:
        """Return the counts of some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Counts.of_labels(self.positive[rows], predicted[rows], weights)


class Stops(NamedTuple):
    """Thresholds, and the weight of each class above them; a row is predicted positive if it scores above."""

    thresholds: NDArray[np.float64]
    above: NDArray[np.float64]  # (2, n_stops): positives, negatives
    squares: NDArray[np.float64] | None  # the same of the squared weights
    own: int

    @classmethod
    def of(cls, rows: ReportedRows, scores: NDArray[np.float64], threshold: float) -> Stops:
        """Use the quantiles of each class as stops, so that a rate changes little from one stop to the next.

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
    """Return the weight of the members above each cut."""
    behind = np.cumsum((members if weights is None else members * weights)[::-1])[::-1]
    above: NDArray[Any] = np.append(behind, 0)[cut]
    return above


@dataclass
class ScoredModel:
    """One classifier on the rows of a report.

    ``facts`` holds further facts: the measure the model was trained for, the path of its fit, the columns with the
    most influence, and its rates by group.
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

    def counts(self, stop: int | None = None) -> Counts:
        """Return the counts at a stop (the model's own threshold unless given)."""
        stop = self.stops.own if stop is None else stop

        def table(above: NDArray[Any]) -> NDArray[Any]:
            predicted = above[::-1, stop]  # of negatives, then of positives
            return np.column_stack([above[::-1, 0] - predicted, predicted])

        return Counts(table(self.stops.above), None if self.stops.squares is None else table(self.stops.squares))

    def at(self, stop: int | None = None, prevalence: float | None = None) -> dict[str, Estimate]:
        """Return TPR, TNR, precision, alert rate and every measure at a stop, as the page shows them.

        A given prevalence counts as known; the prevalence of the rows is as uncertain as the rates.
        """
        return estimates(self.measures, self.counts(stop), prevalence)

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
        """Return the share of positives among rows with similar scores, in groups of about equal size."""
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
        """Return the rates of the rows that share a value of a column, the worst first.

        The measure is taken at the prevalence of all rows, so that a group is not marked as worse only because it
        has few positives. A group is worse if its interval lies below the value of all rows, an interval so wide
        that the chance of one false alarm among all groups is 5%.
        """
        whole, predicted = self.at()[self.measure_name], self.predicted
        prevalence = self.counts().rates.prevalence
        members = [
            (column, str(value), codes == code)
            for column, (values, codes) in ((name, grouped(values)) for name, values in columns.items())
            for code, value in enumerate(values)
        ]
        found = []
        for column, value, rows in members:
            counts = self.rows.counts(predicted, rows)
            if not counts.weights.sum(axis=1).all():
                continue
            named = {self.measure_name: self.measure}
            here = estimates(named, counts, prevalence)
            wide = estimates(named, counts, prevalence, share=1.0 - 0.05 / len(members))
            found.append(
                {
                    "column": column,
                    "value": value,
                    "rows": int(rows.sum()),
                    "prevalence": counts.rates.prevalence,
                    "tpr": _plain(here["TPR"]),
                    "tnr": _plain(here["TNR"]),
                    "measure": _plain(here[self.measure_name]),
                    "worse": wide[self.measure_name].high < whole.value,
                }
            )
        return sorted(found, key=lambda one: (not one["worse"], one["measure"]["high"]))

    @property
    def measure_name(self) -> str:
        """The name of the measure in the tables."""
        return next(name for name, measure in self.measures.items() if measure == self.measure)

    def table_of(self, measure: Measure) -> dict[str, Any]:
        """Return a measure that the page cannot compute: its values and intervals at every stop."""
        tables: dict[str, list[float]] = {"value": [], "low": [], "high": []}
        for stop in range(self.stops.thresholds.size):
            one = estimates({"own": measure}, self.counts(stop))["own"]
            for end, number in zip(tables.values(), one, strict=True):
                end.append(round(number, 6))
        return tables


def difference(one: ScoredModel, other: ScoredModel) -> Estimate:
    """Return the measure of one model minus that of another, each at its own threshold.

    The rows are the same, so errors that both models make cancel out: the interval comes from the counts of all
    eight outcomes of a row, and is narrower than those of the two values suggest.
    """
    outcome = 4 * ~one.rows.positive + 2 * ~one.predicted + ~other.predicted
    weights = one.rows.weights
    counts = np.bincount(outcome, weights, minlength=8)
    squares = None if weights is None else np.bincount(outcome, weights**2, minlength=8)

    def above(counts: NDArray[np.float64]) -> NDArray[np.float64]:
        # Axes: is positive, predicted positive by one, by the other; negatives come first.
        cells = counts.reshape(-1, 2, 2, 2)[:, ::-1, ::-1, ::-1]
        of_one, of_other = (values_of(one.measure, Counts(cells.sum(axis=axis)).rates) for axis in (3, 2))
        return of_one - of_other

    normals = np.hstack([NORMALS, normal_draws(1)])
    value = float(above(counts.astype(np.float64))[0])
    return Estimate(value, *interval(above(drawn_counts(counts, normals, squares, more=0.25)), value))


def estimates(
    measures: dict[str, Measure],
    counts: Counts,
    prevalence: float | None = None,
    share: float = 0.95,
) -> dict[str, Estimate]:
    """Return TPR, TNR, precision, alert rate and these measures with their intervals."""
    rates: Rates = counts.rates
    draws: Any = resampled(counts, NORMALS)
    if prevalence is not None:
        rates, draws = rates._replace(prevalence=prevalence), draws._replace(prevalence=np.full(DRAWS, prevalence))

    def entry(values: NDArray[np.float64], value: float) -> Estimate:
        return Estimate(value, *interval(values, value, share))

    found = {
        "TPR": entry(draws.tpr, rates.tpr),
        "TNR": entry(draws.tnr, rates.tnr),
        "precision": entry(draws.precision, float(rates.precision)),
        "alert rate": entry(draws.alert_rate, float(rates.alert_rate)),
    }
    for name, measure in measures.items():
        few = Rates(*(one[:_OWN_MEASURE_DRAWS] for one in draws))
        drawn = few if formula_of(measure) is None else draws
        found[name] = entry(values_of(measure, drawn), float(measure.value(*rates)))
    return found


def measures_with(measure: Measure) -> dict[str, Measure]:
    """Return all measures by name; a measure that is not among them comes first."""
    known = {name: get_measure(name) for name in measure_names()}
    return known if measure in known.values() else {measure_name(measure): measure} | known


def formula_of(measure: Measure) -> dict[str, Any] | None:
    """Return a measure in the page's form, class and parameters; None if the page does not know it."""
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
    if values.dtype.kind in "fiuM":
        numbers = values.astype(np.float64)
        if values.dtype.kind == "M":
            numbers[np.isnat(values)] = np.nan
        distinct = np.unique(numbers[np.isfinite(numbers)])
        if distinct.size > _MOST_VALUES:
            edges = np.unique(np.quantile(numbers[np.isfinite(numbers)], [0.25, 0.5, 0.75]))
            codes = np.searchsorted(edges, numbers, side="left")
            ends = [_date(edge, values.dtype) if values.dtype.kind == "M" else written_out(edge) for edge in edges]
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


def written_out(number: float) -> str:
    """Return a number with four significant digits, in ordinary notation."""
    if number == 0 or not 1e-5 <= abs(number) < 1e15:
        return f"{number:.4g}"
    digits = 3 - math.floor(math.log10(abs(number)))
    text = f"{round(number, digits):,.{max(digits, 0)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _date(number: float, dtype: Any) -> str:
    """Return a date of numpy without the parts of a day that it does not need."""
    text = str(np.array(round(number)).astype(dtype).astype("datetime64[m]"))
    return text.removesuffix("T00:00").replace("T", " ")


def significant(number: float, digits: int = 6) -> float:
    """Return a number rounded to this number of significant digits, which keeps files small."""
    return float(f"{number:.{digits}g}")


def _share_of_positives(rows: ReportedRows, members: NDArray[np.bool_]) -> Estimate | None:
    """Return the share of positives among some rows, or None if their weight is 0."""
    counts = rows.counts(np.ones(members.size, dtype=bool), members)
    if not counts.weights.any():
        return None

    def as_one_class(table: NDArray[Any]) -> NDArray[Any]:
        return np.array([[0, 0], table[:, 1]])

    squares = None if counts.squares is None else as_one_class(counts.squares)
    return estimates({}, Counts(as_one_class(counts.weights), squares))["TPR"]


def _plain(one: Estimate) -> dict[str, float]:
    return {end: round(number, 6) for end, number in one._asdict().items()}
