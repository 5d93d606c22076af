"""Sentences about parameters out of range, said the same way by every measure."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def require_positive(name: str, value: Any, owner: str) -> None:
    """Refuse anything but a finite number above zero."""
    if not _is_finite_number(value) or value <= 0:
        raise ValueError(f"{owner}: {name} must be a finite number above 0; got {value!r}.")


def require_share(name: str, value: Any, owner: str) -> None:
    """Refuse anything but a number strictly between zero and one."""
    if not _is_finite_number(value) or not 0 < value < 1:
        raise ValueError(f"{owner}: {name} must be a number above 0 and below 1; got {value!r}.")


def require_not_negative(name: str, value: Any, owner: str) -> None:
    """Refuse anything but a finite number of zero or more."""
    if not _is_finite_number(value) or value < 0:
        raise ValueError(f"{owner}: {name} must be a finite number of 0 or more; got {value!r}.")


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
