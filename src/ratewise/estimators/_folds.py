"""Folds of a meta-estimator: shuffled, with groups and copies of a row kept together, or given by the user."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.model_selection import PredefinedSplit, StratifiedGroupKFold, StratifiedKFold, check_cv

from ..training.folds import GivenFolds, folds_of_rows
from ._targets import group_numbers

Fold = tuple[NDArray[np.intp], NDArray[np.intp]]

_FOLDS = 5


def is_number_of_folds(cv: Any) -> TypeGuard[int]:
    return isinstance(cv, Integral) and not isinstance(cv, bool)


def draws_own_folds(cv: Any) -> bool:
    """Return whether the folds are drawn here, not by the user's splitter."""
    return cv is None or is_number_of_folds(cv)


def _shown(cv: Any) -> str:
    """Return folds in the form for a message: a splitter, but not the rows of all folds."""
    return (
        repr(cv)
        if isinstance(cv, int | np.integer) or hasattr(cv, "split")
        else f"[{type(cv).__name__} of splits]"
    )


def given_splits(cv: Any, y: Any, groups: Any) -> NDArray[np.int8] | None:
    """Return the role of the rows in each fold of a splitter: 1 for training, -1 for validation, 0 for neither.

    Return None if the user gave no folds. A splitter needs only the number of rows of X.
    """
    if draws_own_folds(cv) or y is None:
        return None
    n_rows = int(np.shape(y)[0])
    folds = list(check_cv(cv, y=y, classifier=True).split(np.zeros(n_rows), y, groups))
    if len(folds) < 2:
        raise ValueError(f"cv={_shown(cv)} gives {len(folds)} fold: at least 2 are needed.")
    splits = np.zeros((n_rows, len(folds)), np.int8)
    for number, (train, held) in enumerate(folds):
        splits[train, number] = 1
        if splits[held, number].any():
            raise ValueError(f"Fold {number + 1} of cv={_shown(cv)} learns from rows that it holds out.")
        splits[held, number] = -1
    if ((splits < 0).sum(axis=1) > 1).any():
        raise ValueError(
            f"cv={_shown(cv)} holds out some rows in more than one fold: take a splitter that holds out each row "
            "at most once, such as StratifiedKFold, GroupKFold or TimeSeriesSplit."
        )
    labels = np.asarray(y) if getattr(y, "ndim", 1) == 1 else np.zeros(n_rows)
    if np.unique(labels[(splits < 0).any(axis=1)]).size < np.unique(labels).size:
        raise ValueError(f"cv={_shown(cv)} holds out no row of some class: no threshold can be chosen by them.")
    return splits


def splits_by_time(times: NDArray[np.float64], name: str) -> NDArray[np.int8]:
    """Return folds like ``given_splits``: tenths of the later half, each with all earlier rows for training."""
    ordered = np.sort(times)
    cuts = np.unique(ordered[[times.size * tenth // 10 for tenth in range(5, 10)]])
    cuts = cuts[cuts > ordered[0]]
    if cuts.size < 2:
        raise ValueError(
            f"{name!r} has too few different times to validate by: more than half of the rows share one."
        )
    splits = np.zeros((times.size, cuts.size), np.int8)
    for fold, (start, stop) in enumerate(pairwise([*cuts.tolist(), np.inf])):
        splits[times < start, fold] = 1
        splits[(times >= start) & (times < stop), fold] = -1
    return splits


def make_folds(cv: Any, X: Any, y: NDArray[Any], groups: Any) -> tuple[list[Fold], NDArray[np.intp] | None]:
    """Return the training and validation rows of each fold, with both classes among the training rows.

    By default rows are shuffled, and the rows of a group are in one fold. Without groups, the copies of a row are
    in one fold and are returned as groups.
    """
    numbers = group_numbers(groups, y.size)
    if draws_own_folds(cv):
        splits, numbers = _own_folds(_FOLDS if cv is None else int(cv), X, y, groups, numbers)
    else:
        splits = check_cv(cv, y=y, classifier=True).split(X, y, groups)
    folds = [(np.asarray(train), np.asarray(held)) for train, held in splits]
    classes = np.unique(y)
    for number, (train, _) in enumerate(folds, start=1):
        missing = np.setdiff1d(classes, y[train]).tolist()
        if missing:
            raise ValueError(
                f"Fold {number} of {len(folds)} leaves no row of class {missing[0]!r} to learn from. Use fewer "
                "folds (cv=), or a splitter that stratifies."
            )
    if np.unique(y[np.concatenate([fold[1] for fold in folds])]).size < classes.size:
        raise ValueError(f"cv={_shown(cv)} holds out rows of one class only: no threshold can be drawn by them.")
    return folds, numbers


def kept_splits(cv: Any, X: Any, y: NDArray[Any], groups: Any, kept: NDArray[np.intp]) -> Any:
    """Return ``cv`` for some of the rows: a splitter's splits of all rows, without the other rows."""
    if draws_own_folds(cv):
        return cv
    place = np.full(y.size, -1)
    place[kept] = np.arange(kept.size)
    splits = check_cv(cv, y=y, classifier=True).split(X, y, groups)
    places = ((place[train], place[held]) for train, held in splits)
    found = [(train[train >= 0], held[held >= 0]) for train, held in places]
    return [(train, held) for train, held in found if held.size]


def _own_folds(
    wanted: int, X: Any, y: NDArray[Any], groups: Any, numbers: NDArray[np.intp] | None
) -> tuple[Any, NDArray[np.intp] | None]:
    if wanted < 2:
        raise ValueError(f"cv must be 2 folds or more, a splitter or an iterable of splits; got {wanted!r}.")
    labels, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"There is only 1 row of class {labels[counts.argmin()].tolist()!r}: some must be there to "
            "learn from and some to hold out, so at least 2 of each class are needed."
        )
    wanted = min(wanted, int(counts.min()))
    if groups is not None:
        most = np.unique(np.asarray(groups)).size
        return StratifiedGroupKFold(min(wanted, most), shuffle=True, random_state=0).split(X, y, groups), numbers
    hashable, given = _rows_as_numbers(X), GivenFolds()
    if hashable is not None:
        given = folds_of_rows(hashable, None, codes, wanted, np.random.default_rng(0))
    if given.fold_of_row is None:
        return StratifiedKFold(wanted, shuffle=True, random_state=0).split(np.zeros(y.size), y), None
    return PredefinedSplit(given.fold_of_row).split(), given.groups


def _rows_as_numbers(X: Any) -> Any:
    """Return X as rows that can be hashed; None if that would be slow or is unknown.

    A data frame becomes two numbers per row: one for every second column and one for the other columns.
    """
    if hasattr(X, "hash_rows"):  # polars
        halves = [X.columns[::2], X.columns[1::2]]
        return np.column_stack([X.select(half).hash_rows().to_numpy() for half in halves if half])
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        import pandas

        halves = [X.iloc[:, ::2], X.iloc[:, 1::2]]
        hashed = [pandas.util.hash_pandas_object(half, index=False) for half in halves if half.shape[1]]
        return np.column_stack([one.to_numpy() for one in hashed])
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2 or X.dtype.kind not in "fiub":
        return None
    return X if X.dtype in (np.float32, np.float64) else X.astype(np.float64)
