"""Folds that every model can learn from."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold, check_cv
from sklearn.utils.validation import check_consistent_length

from .crossfit import Fold

_FOLDS = 5


def make_folds(cv: Any, X: Any, y: NDArray[Any], groups: Any) -> list[Fold]:
    """(learn, held out) rows of each fold, both classes among those learned from."""
    if groups is not None:
        check_consistent_length(y, groups)
    splitter = _splitter(cv, y, groups)
    folds = [(np.asarray(learn), np.asarray(held)) for learn, held in splitter.split(X, y, groups)]
    classes = np.unique(y)
    for number, (learn, _) in enumerate(folds, start=1):
        present = np.unique(y[learn])
        if present.size < classes.size:
            missing = np.setdiff1d(classes, present).tolist()[0]
            raise ValueError(
                f"Fold {number} of {len(folds)} leaves no row of class {missing!r} to learn from. Use fewer folds "
                "(cv=), or a splitter that stratifies."
            )
    held_out = np.unique(y[np.concatenate([held for _, held in folds])])
    if held_out.size < classes.size:
        raise ValueError(f"cv={cv!r} holds out rows of one class only: no threshold can be drawn by them.")
    return folds


def _splitter(cv: Any, y: NDArray[Any], groups: Any) -> Any:
    if isinstance(cv, bool) or (cv is not None and not isinstance(cv, Integral)):
        return check_cv(cv, y=y, classifier=True)
    wanted = _FOLDS if cv is None else int(cv)
    if wanted < 2:
        raise ValueError(f"cv must be 2 folds or more, a splitter or an iterable of splits; got {cv!r}.")
    labels, counts = np.unique(y, return_counts=True)
    if counts.min() < 2:
        raise ValueError(
            f"There is only 1 row of class {labels[counts.argmin()].tolist()!r}: some must be there to "
            "learn from and some to hold out, so at least 2 of each class are needed."
        )
    if groups is None:
        return StratifiedKFold(min(wanted, int(counts.min())))
    return StratifiedGroupKFold(min(wanted, int(counts.min()), np.unique(np.asarray(groups)).size))
