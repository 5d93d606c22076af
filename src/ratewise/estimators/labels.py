"""Which classes there are, and which of them is the positive one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import type_of_target


def positive_label(classes: NDArray[Any], pos_label: Any) -> Any:
    """The class called positive: the second unless the user says otherwise."""
    if pos_label is None:
        return classes[1]
    if pos_label not in classes:
        raise ValueError(f"pos_label={pos_label!r} is not among the classes {classes.tolist()}.")
    return pos_label


def announced_classes(classes: Any) -> NDArray[Any]:
    """The classes named in the first call of partial_fit."""
    if classes is None:
        raise ValueError(
            "The first call of partial_fit needs classes=: all labels that will ever occur, because the first "
            "rows may not show them all."
        )
    found = np.unique(np.asarray(classes))
    if found.size < 2:
        raise ValueError(f"classes={found.tolist()} names fewer than two classes: a classifier needs two.")
    return found


def require_same_classes(classes: Any, known: NDArray[Any]) -> None:
    """Refuse other classes in a later call of partial_fit than in the first."""
    if classes is not None and not np.array_equal(np.unique(np.asarray(classes)), known):
        raise ValueError(
            f"classes={np.unique(np.asarray(classes)).tolist()} differ from those of the first call, "
            f"{known.tolist()}."
        )


def require_known(found: NDArray[Any], classes: NDArray[Any]) -> None:
    """Refuse labels that the first call of partial_fit did not name."""
    if not np.isin(found, classes).all():
        strangers = found[~np.isin(found, classes)].tolist()
        raise ValueError(
            f"y contains labels that partial_fit has not been told of: {strangers}; the classes are "
            f"{classes.tolist()}. Name all classes in the first call: partial_fit(X, y, classes=...)."
        )


def is_indicator(y: Any) -> bool:
    """Whether y has a column of 0 and 1 for each of several labels; other tables are refused."""
    if y is None:
        return False
    if not sparse.issparse(y):
        y = np.asarray(y)
        if y.ndim != 2 or y.shape[1] < 2:
            return False
    if type_of_target(y) == "multilabel-indicator":
        return True
    raise ValueError(
        f"y has shape {y.shape}, which is for labels that a row may have several of: a column a label, of 0 and 1 "
        "only. For one class a row give y as one column."
    )


def require_no_positive(pos_label: Any, what: str) -> None:
    """Refuse ``pos_label`` where every class, or label, is the positive one in its turn."""
    if pos_label is not None:
        raise ValueError(
            f"pos_label={pos_label!r} is for two classes; with {what} each is the positive one in its turn. "
            "Leave it out."
        )
