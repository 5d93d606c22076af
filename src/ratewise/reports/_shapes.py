"""The curves and pairs of a model for the page, which can compute the score of any row from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..decisions.calibrate import Calibration
from ..estimators._positive import PositiveClass
from ..estimators._prediction import LinearPrediction
from ..features.splines import FAR, NEAR
from ..plots._scores import inner_classifier
from ..plots._terms import NORMAL_95, Axis, Curve, Pair, Shapes
from ._scored import significant

_MOST_COLUMNS = 30
_MOST_PAIRS = 6
_FAINT = 0.02  # pairs of less than this share of the first column's importance are not drawn
_DENSITY_BINS = 30
_BAND_POINTS = 31
_DIGITS = 7


def shapes_of(model: Any, X: Any, positive: PositiveClass) -> dict[str, Any] | None:
    """Return the shapes of a MeasureClassifier, or of a pipeline that ends in one; None for any other model.

    No rows are kept, only quantiles, densities and typical values of the columns.
    """
    classifier = inner_classifier(model)
    if not isinstance(classifier, LinearPrediction) or PositiveClass.of_model(classifier) != positive:
        return None
    found = Shapes(model, X)
    if found.terms.n_columns > 1_000:  # a text: its words are among the largest coefficients
        return None
    curves = sorted(found.curves(), key=lambda one: -one.importance)[:_MOST_COLUMNS]
    if not curves:
        return None
    row = _typical_row(found)
    set_by_reader = {one.axis.term: place for place, one in enumerate(curves) if _is_whole(found, one.axis)}
    explained = found.terms.explanation(row[np.newaxis, :]).contributions[0]
    fixed = [term for term in range(found.terms.n_columns) if term not in set_by_reader]
    return {
        "base": found.base + float(explained[fixed].sum()),
        "note": found.note,
        "columns": [
            (_numbers if one.points is not None else _levels)(found, one, row, one.axis.term in set_by_reader)
            for one in curves
        ],
        "pairs": _pairs(found, set_by_reader),
        "maps": [_map(one) for one in found.pairs(_MOST_PAIRS) if one.importance > _FAINT * curves[0].importance],
        "typical": _standardized(found, row),
        "calibration": _calibration(classifier, positive),
    }


def _is_whole(found: Shapes, axis: Axis) -> bool:
    """Return whether an axis sets everything derived from its column; the axis of a part of a date does not."""
    return int((found.terms.of_column == axis.term).sum()) == axis.columns.size


def _typical_row(found: Shapes) -> Any:
    """Return a row of the matrix with the median of each column of numbers and the most frequent categories."""
    row = found.terms.centre.copy()
    for term in range(found.terms.n_columns):
        for axis in found.axes_of(term)[:1]:
            if axis.points is None and axis.shares is not None:
                row[axis.columns] = axis.rows[int(np.argmax(axis.shares))]
            elif axis.points is not None and axis.values is not None:
                row[axis.columns[0]] = float(f"{np.median(axis.values):.4g}")
    return row


def _numbers(found: Shapes, curve: Curve, row: Any, settable: bool) -> dict[str, Any]:
    """Return a curve: straight lines between knots, constant beyond the limits at which values are clipped."""
    axis, basis = curve.axis, found.terms.basis
    assert curve.points is not None
    low, high = float(curve.points[0]), float(curve.points[-1])
    points, values = curve.points, curve.values
    if settable:
        column = int(axis.columns[0])
        if basis is None:
            ends, knots = np.array([low, high]), np.zeros(0)
        else:
            ends = basis.centre[column] + FAR * np.array([-1.0, 1.0]) * basis.spread[column]
            knots = basis.knots[column]
        points = np.unique(np.concatenate([ends, knots]))
        exact = Axis(axis.name, axis.term, axis.columns, points[:, np.newaxis], points, [])
        values = found.curve(exact).values
    density = curve.density(_DENSITY_BINS)
    thin = np.unique(np.linspace(0, curve.points.size - 1, _BAND_POINTS).astype(np.intp))
    return {
        "name": curve.name,
        "settable": settable,
        "straight": basis is None,
        "matrix": axis.columns.tolist(),
        "ticks": list(axis.ticks) or None,
        "low": significant(low),
        "high": significant(high),
        "points": _short(points),
        "values": _short(values),
        "band": None
        if curve.deviations is None
        else [_short(curve.points[thin]), _short(NORMAL_95 * curve.deviations[thin])],
        "density": None if density is None else _short(density[1]),
        "missing": None if curve.missing is None else significant(curve.missing, _DIGITS),
        "now": significant(float(row[axis.columns[0]]), _DIGITS),
    }


def _levels(found: Shapes, curve: Curve, row: Any, settable: bool) -> dict[str, Any]:
    axis = curve.axis
    spread = np.ones(axis.columns.size) if found.terms.basis is None else found.terms.basis.spread[axis.columns]
    chosen = int(np.nanargmin(np.abs(axis.rows - row[axis.columns]).sum(axis=1)))
    standardized = np.nan_to_num((axis.rows - found.terms.centre[axis.columns]) / spread, nan=0.0)
    return {
        "name": curve.name,
        "settable": settable,
        "matrix": axis.columns.tolist(),
        "labels": curve.labels,
        "values": _short(curve.values),
        "band": None if curve.deviations is None else _short(NORMAL_95 * curve.deviations),
        "density": None if axis.shares is None else _short(axis.shares),
        "standardized": [_short(one) for one in standardized],
        "now": chosen,
    }


def _pairs(found: Shapes, set_by_reader: dict[int, int]) -> list[dict[str, Any]]:
    """Return every pair as products of standardized columns of the matrix: first, second, weight and mean."""
    basis, terms = found.terms.basis, found.terms
    if basis is None:
        return []
    products = basis.products
    weights = found.weights[-products.first.size :] * products.factor if products.first.size else np.zeros(0)
    of_product = terms.of_part[terms.of_part.size - products.first.size :]
    pairs = []
    for place, columns in enumerate(terms.pairs):
        mine = np.flatnonzero(of_product == terms.n_columns + place)
        pairs.append(
            {
                "name": " * ".join(found.names[one] for one in columns),
                "columns": [set_by_reader.get(one) for one in columns],
                "products": [
                    [
                        int(products.first[j]),
                        int(products.second[j]),
                        significant(weights[j], _DIGITS),
                        significant(products.mean[j], _DIGITS),
                    ]
                    for j in mine
                ],
            }
        )
    return pairs


def _map(pair: Pair) -> dict[str, Any]:
    sides = [
        {"name": one.name, "points": None if one.points is None else _short(one.points), "labels": one.labels}
        for one in (pair.first, pair.second)
    ]
    return {
        "name": pair.name,
        "across": sides[0],
        "up": sides[1],
        "values": [_short(one, 3) for one in pair.values],
    }


def _standardized(found: Shapes, row: Any) -> dict[str, Any]:
    """Return the columns that products are of, in deviations from the mean, with the mean and the deviation."""
    basis = found.terms.basis
    if basis is None or basis.products.first.size == 0:
        return {"limit": NEAR, "columns": {}}
    used = np.unique(np.concatenate([basis.products.first, basis.products.second]))
    z = (row - basis.centre) / basis.spread
    return {
        "limit": NEAR,
        "columns": {str(j): _short([z[j], basis.centre[j], basis.spread[j]]) for j in used.tolist()},
    }


def _calibration(classifier: Any, positive: PositiveClass) -> list[float] | None:
    """Return the numbers of the curve from scores to log odds of the positive class."""
    numbers = getattr(classifier, "calibration_", None)
    if numbers is None:
        return None
    curve = Calibration.of_numbers(numbers[0])
    curve = curve if positive.sign > 0 else curve.of_the_other_class()
    steps = [number for pair in zip(curve.knots, curve.gains, strict=True) for number in pair]
    return _short([curve.slope, curve.constant, *steps])


def _short(numbers: Any, digits: int = _DIGITS) -> list[float]:
    return [significant(float(one), digits) for one in numbers]
