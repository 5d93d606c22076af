"""Check the groups of rows that a user passes for bounds per group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._input_checks import array_of
from ..measures import Measure
from .scores import Sensitive


def checked_sensitive(values: Any, n_rows: int) -> Sensitive | None:
    """Return the group of each row, checked; None if there are no groups."""
    if values is None:
        return None
    found = group_of_each_row(values, n_rows)
    names, codes = np.unique(found, return_inverse=True)
    if names.size < 2:
        raise ValueError(
            f"sensitive_features holds one group only ({names.tolist()[0]!r}): bounds on groups need two or more."
        )
    return Sensitive(codes.reshape(-1), names)


def group_of_each_row(values: Any, n_rows: int) -> NDArray[Any]:
    """Return a value per row; refuse missing ones and values that cannot be distinguished."""
    found = array_of(values)
    if found.ndim == 2 and found.shape[1] == 1:
        found = found[:, 0]
    if found.ndim != 1 or (found.dtype == object and any(isinstance(value, tuple | list) for value in found)):
        raise ValueError(
            "sensitive_features must be one column, the group of each row; got several. Join them into one first."
        )
    if found.shape[0] != n_rows:
        raise ValueError(f"sensitive_features has {found.shape[0]} values, but X has {n_rows} rows.")
    if found.dtype.kind == "f" and not np.isfinite(found).all():
        raise ValueError("sensitive_features contains NaN or infinity; every row needs a group.")
    if found.dtype.kind in "OT":
        if any(value is None or value != value for value in found.tolist()):
            raise ValueError("sensitive_features contains missing values; every row needs a group.")
        kinds = {type(value) for value in found.tolist()}
        if len(kinds) > 1:
            shown = ", ".join(sorted(kind.__name__ for kind in kinds))
            raise ValueError(f"sensitive_features mixes values of different types ({shown}): give all one type.")
        found = np.array(found.tolist())
    return found


def require_sensitive(measure: Measure, given: bool) -> None:
    """Refuse a measure with bounds on groups where rows have none."""
    if measure.group_bounds and not given:
        raise ValueError(
            f"{measure.label} has bounds on groups of rows: fit it to rows in memory or to files, with "
            "sensitive_features= (the group of each row; of files the name of a column)."
        )


def require_rates(measure: Measure, sensitive: Sensitive | None, signed_weights: NDArray[Any]) -> None:
    """Refuse bounds on a rate of a group that has no rows to estimate it."""
    if sensitive is None:
        return
    for bound in measure.group_bounds:
        true = bound.denominator[0]
        if true is None:
            continue
        mine = signed_weights > 0 if true == 1 else signed_weights < 0
        missing = np.flatnonzero(np.bincount(sensitive.codes[mine], minlength=sensitive.names.size) == 0)
        if missing.size:
            raise ValueError(
                f"{bound.label[0].upper()}{bound.label[1:]} cannot be kept: group "
                f"{sensitive.names[missing[0]].item()!r} of sensitive_features has no "
                f"{('negative', 'positive')[true]} row."
            )
