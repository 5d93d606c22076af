"""Sentences about parameters out of range, said the same way by every measure."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any


def require_positive(name: str, value: Any, owner: str) -> None:
    """Refuse anything but a finite number above zero."""
    if not isinstance(value, Real) or isinstance(value, bool) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{owner}: {name} must be a finite number above 0; got {value!r}.")
