"""Curves, levels and pairs of a fitted model as numbers, which displays and reports draw."""

from __future__ import annotations

import datetime
import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse
from scipy.special import expit

from ..decisions.calibrate import Calibration
from ..estimators._explain import Terms
from ..estimators._positive import PositiveClass
from ..estimators._prediction import LinearPrediction
from ..estimators._rows import validate_rows
from ..features.codecs import Boolean, Category, Codec, Date, Hashed, Ignored, Text
from ._scores import inner_classifier, names_inside, rows_inside

NORMAL_95 = 1.959964
"""Standard deviations that hold 95% of a normal distribution to either side."""

_CURVE_POINTS = 61
_PAIR_POINTS = 25
_MOST_LEVELS = 20
_MOST_CURVES = 2_000
_SAMPLED_ROWS = 10_000
_BANDED_PARTS = 2_000
_PENALTY = 0.4  # on the square of a weight: hinges vary little, and a larger one makes their bands too narrow
_PSEUDO_VALUES = 401  # drawn from stored quantiles
_WEEKDAYS, _MONTHS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"), "JFMAMJJASOND"
_PERIODS: dict[str, tuple[float, str, tuple[tuple[float, str], ...]]] = {
    "hour": (24.0, "hour of the day", tuple((float(hour), str(hour)) for hour in range(0, 25, 6))),
    "weekday": (7.0, "day of the week", tuple((day + 0.5, name) for day, name in enumerate(_WEEKDAYS))),
    "month": (12.0, "month of the year", tuple((month + 0.5, name) for month, name in enumerate(_MONTHS))),
}
_DATE_TICKS = 4

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Axis:
    """Values of one column, and their form in the matrix."""

    name: str
    term: int
    columns: NDArray[np.intp]
    """The columns of the matrix that the values set."""
    rows: Floats
    """The entries of these columns, a row per value."""
    points: Floats | None
    """The values, if they are numbers."""
    labels: list[str]
    """The values, if they are not numbers."""
    values: Floats | None = None
    """The values in the data, from rows or from quantiles; None if the data are not known."""
    shares: Floats | None = None
    """Of the labels."""
    ticks: tuple[tuple[float, str], ...] = ()
    """Values that have names, such as dates and days of the week; empty for plain numbers."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The contribution of a column to the score, at each of its values.

    Attributes
    ----------
    name : str
    points : array or None
        Values of a column of numbers.
    labels : list of str
        Values of a category or a boolean.
    values : array
        The contribution of each value to the score of the positive class.
    deviations : array or None
        The standard error of each contribution.
    missing : float or None
        The contribution of a missing value, if it is a separate level.
    importance : float
        The standard deviation of the contributions over the data.
    """

    name: str
    points: Floats | None
    labels: list[str]
    values: Floats
    deviations: Floats | None
    missing: float | None
    importance: float
    axis: Axis

    def density(self, bins: int = 40) -> tuple[Floats, Floats] | None:
        """Return the edges of bins over the points, and the share of the data in each."""
        if self.points is None or self.axis.values is None:
            return None
        values, ends = self.axis.values, (float(self.points[0]), float(self.points[-1]))
        if ends[1] - ends[0] > bins and (values == np.rint(values)).all():
            # The number of whole numbers per bin varies by one: each is spread evenly to half way to the next.
            values = values + (np.arange(values.size) * 0.6180339887 % 1.0 - 0.5)
        counts, edges = np.histogram(values, bins=bins, range=ends)
        return edges, counts / max(values.size, 1)


@dataclass(frozen=True, eq=False)
class Pair:
    """The joint contribution of two columns, beyond what each adds on its own.

    Attributes
    ----------
    name : str
    first, second : Axis
        The values across and upwards.
    values : array of shape (n_second, n_first)
    importance : float
    """

    name: str
    first: Axis
    second: Axis
    values: Floats
    importance: float


class Shapes:
    """The curves and pairs of one model of a fitted classifier.

    ``X`` are rows for the density of the data and the certainty of the curves. Without them the density comes from
    the quantiles that a basis keeps.
    """

    def __init__(self, estimator: Any, X: Any = None, label: Any = None):
        classifier = inner_classifier(estimator)
        if not isinstance(classifier, LinearPrediction):
            raise ValueError(
                f"{type(classifier).__name__} is not a MeasureClassifier: only a linear model, or one of curves "
                "and pairs, is a sum of shapes that can be drawn."
            )
        self.classifier: Any = classifier
        self.terms = Terms.of(classifier)
        self.model = _model_of(classifier, label)
        self.weights: Floats = self.terms.weights[self.model]
        self.base = float(self.terms.base[self.model])
        self.X: Any = None
        if X is not None:
            inside = validate_rows(classifier, rows_inside(estimator, X))  # type: ignore[type-var]
            if inside.shape[0] > _SAMPLED_ROWS:
                drawn = np.random.default_rng(0).choice(inside.shape[0], _SAMPLED_ROWS, replace=False)
                inside = inside[np.sort(drawn)]
            self.X = inside.tocsc() if sparse.issparse(inside) else inside.astype(np.float64, copy=False)
        self.names = self.terms.names[: self.terms.n_columns]
        given = names_inside(estimator, classifier)
        if not hasattr(classifier, "encoder_") and given is not None and len(given) == len(self.names):
            self.names = given
        two = len(self.terms.weights) == 1
        self.positive = str(PositiveClass.of_model(classifier).label if two else label)
        self.omitted: list[str] = []
        """Columns without a shape: those of texts."""

    def curves(self, names: Sequence[str] | None = None) -> list[Curve]:
        """Return the curves of these columns, or of all; a date has one for each of its parts."""
        wanted = self.names if names is None else names
        if len(wanted) > _MOST_CURVES:
            raise ValueError(f"The model has {len(wanted):,} columns: name those to draw, columns=[...].")
        terms = [self.names.index(name) for name in wanted]
        return [self.curve(axis) for term in terms for axis in self.axes_of(term)]

    def pairs(self, number: int) -> list[Pair]:
        """Return the most important pairs; a date is shown by its days only."""
        found = []
        for place, terms in enumerate(self.terms.pairs):
            axes = [self.axes_of(term, _PAIR_POINTS)[:1] for term in terms]
            if all(axes):
                (first,), (second,) = axes
                mine = self._parts_along(self.terms.n_columns + place, first, second)
                found.append((self._importance_of(mine), first, second, mine))
        largest = sorted(found, key=lambda one: -one[0])[:number]
        return [self._pair(*one) for one in largest if one[0] > 0]

    def curve(self, axis: Axis) -> Curve:
        """Return the contributions of the values of an axis, with standard errors if rows are known."""
        mine = self._parts_along(axis.term, axis)
        parts = self._parts_at(axis, mine)
        values = parts @ self.weights[mine]
        if self.covariance is None:
            deviations = None
        else:
            mixed = parts @ self.covariance[np.ix_(mine, mine)]
            deviations = np.sqrt(np.maximum(np.einsum("ij,ij->i", mixed, parts), 0.0))
        return Curve(
            axis.name,
            axis.points,
            axis.labels,
            values,
            deviations,
            self._missing(axis, mine),
            _spread_of(axis, values),
            axis,
        )

    def axes_of(self, term: int, points: int = _CURVE_POINTS) -> list[Axis]:
        """Return the axes of a column: no axis for a text, several for a date."""
        columns = np.flatnonzero(self.terms.of_column == term)
        codec, name = self._codec(term), self.names[term]
        if isinstance(codec, (Text, Hashed)):
            if name not in self.omitted:
                self.omitted.append(name)
            return []
        if isinstance(codec, Category):
            return [self._levels(codec, name, term, columns)]
        if isinstance(codec, Date) and codec.parts:
            title = codec.titles()[0]
            return [
                self._numbers(title, term, columns[:1], points),
                *(self._period(part, name, term, columns[1 + 2 * place : 3 + 2 * place]) for place, part in
                  enumerate(codec.parts)),
            ]  # fmt: skip
        if columns.size != 1:
            return []
        return [self._numbers(name, term, columns, points)]

    @property
    def note(self) -> str:
        """Sentences on the data behind the density and the band, and on the columns that are not shown."""
        basis = self.terms.basis
        if self.X is not None:
            known = "Density: of the rows given."
        elif basis is not None and basis.quantiles is not None:
            known = "Density: from the quantiles that the model keeps. Give rows (X) for a band."
        else:
            known = "The model keeps no quantiles of its columns. Give rows (X) for a density and a band."
        if self.covariance is not None:
            known += " Band: 95%, by the curvature of the logistic loss."
        elif self.X is not None:
            known += f" No band: the model has more than {_BANDED_PARTS:,} coefficients, or no probabilities."
        return known + (f" Without a shape, being texts: {', '.join(self.omitted[:5])}." if self.omitted else "")

    @functools.cached_property
    def covariance(self) -> Floats | None:
        """The covariance of the weights of all parts, in the units of the score; None without rows."""
        calibration = getattr(self.classifier, "calibration_", None)
        if self.X is None or self.X.shape[0] < 2 or self.weights.size > _BANDED_PARTS or calibration is None:
            return None
        parts = self._parts_of_rows
        sign = 1.0 if len(self.terms.weights) > 1 else PositiveClass.of_model(self.classifier).sign
        scores = parts @ self.weights + self.base
        odds = sign * Calibration.of_numbers(calibration[self.model]).log_odds(sign * scores)
        survey = getattr(self.classifier, "survey_", None)
        known = getattr(self.classifier, "n_samples_fit_", None) or getattr(survey, "rows", None)
        times = 1.0 if known is None else known / parts.shape[0]
        plain = self.terms.basis is None
        scale = self.classifier.feature_spread_ if plain else np.ones(self.weights.size)
        return covariance_of_weights(parts / scale, scores, odds, times) / np.outer(scale, scale)

    def _codec(self, term: int) -> Codec | None:
        encoder = getattr(self.classifier, "encoder_", None)
        if encoder is None or not encoder.codecs:
            return None
        used: list[Codec] = [codec for codec in encoder.codecs if not isinstance(codec, Ignored)]
        return used[term]

    def _parts_at(self, axis: Axis, mine: NDArray[np.intp]) -> Floats:
        if self.terms.basis is None:
            return axis.rows - self.terms.centre[axis.columns]
        return np.asarray(self.terms.parts(self._rows(axis))[:, mine])

    def _rows(self, axis: Axis, other: Axis | None = None) -> Floats:
        """Return rows of the matrix with the values of one or two axes, and the mean in all other columns."""
        across = axis.rows if other is None else np.tile(axis.rows, (len(other.rows), 1))
        rows = np.tile(self.terms.centre, (len(across), 1))
        rows[:, axis.columns] = across
        if other is not None:
            rows[:, other.columns] = np.repeat(other.rows, len(axis.rows), axis=0)
        return rows

    def _missing(self, axis: Axis, mine: NDArray[np.intp]) -> float | None:
        if axis.points is None or not self._may_miss(axis.columns):
            return None
        row = self.terms.centre[np.newaxis, :].copy()
        row[0, axis.columns] = np.nan
        return float(self.terms.parts(row)[0, mine] @ self.weights[mine])

    def _may_miss(self, columns: NDArray[np.intp]) -> bool:
        """Return whether a missing value of a column is a separate level."""
        basis = self.terms.basis
        return basis is not None and columns.size == 1 and int(columns[0]) in basis.missing.column

    def _parts_along(self, term: int, *axes: Axis) -> NDArray[np.intp]:
        """Return the parts of a term that depend on these axes alone."""
        along = np.zeros(self.terms.of_column.size, dtype=bool)
        along[np.concatenate([axis.columns for axis in axes])] = True
        basis = self.terms.basis
        if basis is not None:
            products = along[basis.products.first] & along[basis.products.second]
            along = np.concatenate([along, along[basis.missing.column], along[basis.hinges.column], products])
        return np.flatnonzero(along & (self.terms.of_part == term))

    def _pair(self, importance: float, first: Axis, second: Axis, mine: NDArray[np.intp]) -> Pair:
        values = self.terms.parts(self._rows(first, second))[:, mine] @ self.weights[mine]
        name = " * ".join(self.names[one.term] for one in (first, second))
        return Pair(name, first, second, values.reshape(len(second.rows), -1), importance)

    def _importance_of(self, mine: NDArray[np.intp]) -> float:
        """Return the deviation of a pair's contribution over the rows; from its weights if there are no rows."""
        if self.X is None:
            assert self.terms.basis is not None
            products = self.terms.basis.products
            places = mine - (self.terms.of_part.size - products.first.size)
            return float(np.linalg.norm(self.weights[mine] * (products.factor * products.spread)[places]))
        return float(np.std(self._parts_of_rows[:, mine] @ self.weights[mine]))

    @functools.cached_property
    def _parts_of_rows(self) -> Floats:
        parts = self.terms.parts(self.X)
        return np.asarray(parts.toarray() if sparse.issparse(parts) else parts)

    def _numbers(self, name: str, term: int, columns: NDArray[np.intp], number: int) -> Axis:
        """Return the axis of a column of numbers: most of its range, including all knots."""
        column, basis = int(columns[0]), self.terms.basis
        values = self._values(column)
        if values is None:
            spread = float(getattr(self.classifier, "feature_spread_", np.ones(column + 1))[column])
            low, high = self.terms.centre[column] - 2.0 * spread, self.terms.centre[column] + 2.0 * spread
        else:
            few, many = np.quantile(values, [0.05, 0.95])
            # A value far from all others would compress the curve.
            margin = 0.5 * (many - few) if many > few else np.inf
            low, high = max(values.min(), few - margin), min(values.max(), many + margin)
        if isinstance(self._codec(term), Boolean) or (values is not None and np.isin(values, (0.0, 1.0)).all()):
            rows, labels = np.array([[0.0], [1.0]]), ["no", "yes"]
            share = None if values is None else np.array([np.mean(values < 0.5), np.mean(values >= 0.5)])
            if self._may_miss(columns):
                rows, labels = np.append(rows, [[np.nan]], axis=0), [*labels, "missing"]
                if share is not None:
                    gaps = 0.0 if self.X is None else float(np.isnan(self.X[:, column]).mean())
                    share = np.append(share * (1.0 - gaps), gaps)
            return Axis(name, term, columns, rows, None, labels, values, share)
        if not low < high:
            low, high = low - 1.0, high + 1.0
        knots = basis.knots[column] if basis is not None else np.zeros(0)
        inside = knots[(knots > low) & (knots < high)]
        points = np.unique(np.concatenate([np.linspace(low, high, number), inside]))
        codec = self._codec(term)
        ticks = _dates(codec, low, high) if isinstance(codec, Date) else ()
        return Axis(name, term, columns, points[:, np.newaxis], points, [], values, ticks=ticks)

    def _period(self, part: str, name: str, term: int, columns: NDArray[np.intp]) -> Axis:
        """Return the axis of a part of a date, which the matrix has as a sine and a cosine."""
        length, words, ticks = _PERIODS[part]
        turn = np.linspace(0.0, 2.0 * np.pi, _CURVE_POINTS)
        rows, values = np.column_stack([np.sin(turn), np.cos(turn)]), None
        if self.X is not None:
            waves = self.X[:, columns].toarray() if sparse.issparse(self.X) else self.X[:, columns]
            waves = waves[~np.isnan(waves).any(axis=1)]
            values = np.arctan2(waves[:, 0], waves[:, 1]) % (2.0 * np.pi) * length / (2.0 * np.pi)
        points = turn * length / (2.0 * np.pi)
        return Axis(f"{name}: {words}", term, columns, rows, points, [], values, ticks=ticks)

    def _values(self, column: int) -> Floats | None:
        """Return the values of a column of the matrix, or enough of them for its quantiles."""
        if self.X is not None:
            there = self.X[:, [column]].toarray().ravel() if sparse.issparse(self.X) else self.X[:, column]
            there = there[~np.isnan(there)]
            if there.size:
                return np.asarray(there)
        quantiles = None if self.terms.basis is None else self.terms.basis.quantiles
        if quantiles is None:
            return None
        mine, steps = quantiles[column], np.linspace(0.0, 1.0, quantiles.shape[1])
        return np.asarray(np.interp(np.linspace(0.0, 1.0, _PSEUDO_VALUES), steps, mine))

    def _levels(self, codec: Category, name: str, term: int, columns: NDArray[np.intp]) -> Axis:
        """Return the axis of a category: its most frequent values."""
        labels = [*codec.levels, *["other"] * codec.other, *["missing"] * codec.missing]
        shares = self.terms.centre[columns] if self.X is None else np.ravel(self.X[:, columns].mean(axis=0))
        kept = np.sort(np.argsort(-shares, kind="stable")[:_MOST_LEVELS])
        known = shares[kept] if self.X is not None or shares.any() else None
        return Axis(
            name, term, columns, np.eye(columns.size)[kept], None, [labels[place] for place in kept], None, known
        )


def _dates(codec: Date, low: float, high: float) -> tuple[tuple[float, str], ...]:
    """Return a few days from ``low`` to ``high``, evenly spaced, as dates; empty for a time of day."""
    if codec.order in ("time", "seconds"):
        return ()
    step = max(-(-(high - low) // _DATE_TICKS), 1.0)
    began = datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=codec.origin)
    days = np.arange(np.ceil(low), high, step)
    return tuple((float(day), str((began + datetime.timedelta(days=float(day))).date())) for day in days)


def covariance_of_weights(parts: Floats, scores: Floats, odds: Floats, times: float) -> Floats:
    """Return the inverse curvature of the logistic loss at these log odds, as a covariance of the score's weights.

    Parameters
    ----------
    parts : array of shape (n_rows, n_weights)
        Columns with deviation 1 or less.
    scores, odds : arrays
        The model's scores of the rows, and its log odds.
    times : float
        The number of rows of the fit that each row represents.
    """
    share = expit(odds)
    curvature = np.maximum(share * (1.0 - share), 1e-12)
    centred = scores - np.average(scores, weights=curvature)
    slope = (curvature * centred) @ odds / max((curvature * centred) @ centred, 1e-300)
    columns = np.column_stack([parts, np.ones(scores.size)])
    information = (columns.T * (times * curvature)) @ columns
    information[np.diag_indices(parts.shape[1])] += _PENALTY  # keeps every band finite
    found: Floats = linalg.inv(information)[:-1, :-1] / max(slope, 1e-12) ** 2
    return found


def _spread_of(axis: Axis, values: Floats) -> float:
    """Return the deviation of the contributions over the data, or over the axis if the data are not known."""
    if axis.points is None and axis.shares is not None and axis.shares.sum() > 0:
        shares = axis.shares / axis.shares.sum()
        return float(np.sqrt(shares @ (values - shares @ values) ** 2))
    if axis.points is None or axis.values is None:
        return float(np.std(values))
    return float(np.std(np.interp(axis.values, axis.points, values)))


def _model_of(classifier: Any, label: Any) -> int:
    """Return the index of the model to draw: the only one, or that of a class or a label."""
    if classifier.coef_.shape[0] == 1:
        if label is not None:
            raise ValueError("label is for more than two classes; of two, shapes speak for the positive class.")
        return 0
    known: list[Any] = np.asarray(classifier.classes_).tolist()
    if label not in known:
        raise ValueError(f"Say whose shapes to draw: label must be one of {known[:10]}; got {label!r}.")
    return known.index(label)
