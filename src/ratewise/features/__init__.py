"""Encode raw columns as numbers, and transform the numbers."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .transformer import SplineBasis

__all__ = ["SplineBasis"]


def __getattr__(name: str) -> Any:
    if name != "SplineBasis":  # the only name that needs scikit-learn
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(".transformer", __name__).SplineBasis
