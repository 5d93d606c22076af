"""Further facts of a report: the history of the fit, the influence of columns, and how columns were encoded."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators._costs import takes_costs
from ..estimators._positive import PositiveClass
from ..measures import Measure
from ..plots._scores import inner_classifier, names_inside, rows_inside
from ._scored import significant

_MOST_RUNS = 40
_MOST_POINTS = 60
_LARGEST = 20
_PERMUTED_ROWS = 2000
_PERMUTED_COLUMNS = 60
_REPEATS = 5
_MOST_SLICED = 60


def path_of(model: Any) -> list[dict[str, list[float]]]:
    """Return the value of the measure at the checkpoints of each run of the fit, thinned to what can be seen."""
    history = getattr(inner_classifier(model), "history_", None)
    if not history or "value" not in history or len(history["value"]) == 0:
        return []
    values = np.asarray(history["value"], dtype=np.float64)
    across = next((key for key in ("points", "round", "pass") if key in history), None)
    places = np.arange(values.size) if across is None else np.asarray(history[across], dtype=np.float64)
    runs = np.asarray(history["run"]) if "run" in history else np.zeros(values.size)
    found = []
    for run in np.unique(runs)[:_MOST_RUNS]:
        rows = np.flatnonzero((runs == run) & np.isfinite(values))
        if rows.size:
            rows = rows[np.unique(np.linspace(0, rows.size - 1, _MOST_POINTS).astype(np.intp))]
            found.append(
                {
                    "points": [significant(one) for one in places[rows]],
                    "values": [significant(one) for one in values[rows]],
                }
            )
    return found


def influences_of(model: Any, X: Any, y: Any, measure: Measure, positive: PositiveClass) -> dict[str, Any] | None:
    """Return the columns with the most influence: by coefficients of a linear model, else by permutation.

    A coefficient above 0 raises the score of the positive class.
    """
    classifier = inner_classifier(model)
    coef = np.asarray(getattr(classifier, "coef_", np.zeros(0)), dtype=object)
    if coef.dtype == object and coef.ndim == 2 and coef.shape[0] == 1:
        return _coefficients(model, classifier, X, positive)
    # A scorer cannot give a model the groups or the costs of rows.
    if X is None or hasattr(classifier, "group_thresholds_") or takes_costs(classifier):
        return None
    return _permuted(model, X, y, measure, positive.label)


def _coefficients(model: Any, classifier: Any, X: Any, positive: PositiveClass) -> dict[str, Any] | None:
    coef = positive.coef(classifier)
    spread = getattr(classifier, "feature_spread_", None)
    if spread is None and X is not None:
        spread = _spread(rows_inside(model, X), coef.size)
    if spread is None:
        return None
    effect = coef * np.asarray(spread, dtype=np.float64)
    names = names_inside(model, classifier)
    if hasattr(classifier, "basis_"):  # the columns of the model may differ from the columns of X
        names = list(map(str, classifier.get_feature_names_out(names)))
    if names is None or len(names) != coef.size:
        names = [f"x{j}" for j in range(coef.size)]
    largest = np.argsort(-np.abs(effect), kind="stable")[:_LARGEST]
    return {
        "kind": "coefficients",
        "columns": coef.size,
        "rows": [
            {"name": names[j], "value": significant(effect[j]), "raw": significant(coef[j])} for j in largest
        ],
    }


def _spread(X: Any, columns: int) -> NDArray[np.float64] | None:
    """Return the standard deviation of each column, from at most a few thousand rows."""
    some = X[:20_000] if not hasattr(X, "iloc") else X.iloc[:20_000]
    try:
        some = np.asarray(some.toarray() if hasattr(some, "toarray") else some, dtype=np.float64)
    except (TypeError, ValueError):
        return None
    return np.nanstd(some, axis=0) if some.ndim == 2 and some.shape[1] == columns else None


def _permuted(model: Any, X: Any, y: Any, measure: Measure, positive: Any) -> dict[str, Any] | None:
    from sklearn.inspection import permutation_importance

    columns = X.shape[1]
    if columns > _PERMUTED_COLUMNS or hasattr(X, "toarray"):
        return None
    rng = np.random.default_rng(0)
    some = np.sort(rng.permutation(X.shape[0])[:_PERMUTED_ROWS])
    labels = np.asarray(y)[some]
    if np.unique(labels).size < 2:
        return None
    rows = X.iloc[some] if hasattr(X, "iloc") else X[some]
    found = permutation_importance(
        model, rows, labels, scoring=measure.scorer(pos_label=positive), n_repeats=_REPEATS, random_state=0
    )
    names = column_names(X) or [f"x{j}" for j in range(columns)]
    largest = np.argsort(-found.importances_mean, kind="stable")[:_LARGEST]
    return {
        "kind": "importances",
        "columns": columns,
        "sampled": int(some.size),
        "rows": [
            {
                "name": names[j],
                "value": significant(found.importances_mean[j]),
                "low": significant(found.importances[j].min()),
                "high": significant(found.importances[j].max()),
            }
            for j in largest
        ],
    }


def column_names(X: Any) -> list[str] | None:
    """Return the names of the columns of a data frame."""
    columns = getattr(X, "columns", None)
    return None if columns is None else [str(name) for name in columns]


def sliced_columns(X: Any, slices: Any, n_rows: int) -> dict[str, NDArray[Any]]:
    """Return the columns to group rows by: those given, by name or as arrays, or all columns of a small table."""
    if slices is None:
        names = column_names(X)
        slices = names if names is not None and len(names) <= _MOST_SLICED else []
    if isinstance(slices, str):
        slices = [slices]
    if not isinstance(slices, dict):
        known = column_names(X)
        unknown = [name for name in slices if known is None or name not in known]
        if unknown:
            raise ValueError(
                f"slices: X has no column {unknown[0]!r}. Name columns of a data frame, or give a dict of "
                "name and array."
            )
        slices = {name: X[name] for name in slices}
    found = {}
    for name, values in slices.items():
        values = np.asarray(values)
        if values.shape != (n_rows,):
            raise ValueError(f"slices: {name!r} has shape {values.shape}, but there are {n_rows} rows.")
        found[str(name)] = values
    return found
