"""Packages that only some files need, imported when they do."""

from __future__ import annotations

from typing import Any


def need_pyarrow(what: str) -> Any:
    """The pyarrow package, or one sentence on how to get it."""
    try:
        import pyarrow
    except ImportError:
        raise ImportError(f'Reading {what} needs pyarrow: pip install "ratewise[files]"') from None
    return pyarrow
