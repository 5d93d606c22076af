"""The operations on rows that the compiled loops use: hand-written LLVM, or plain numba where that fails.

The choice is made once, at import. RATEWISE_PLAIN_KERNELS=1 in the environment asks for plain numba.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from . import rows


def _choose() -> ModuleType:
    if os.environ.get("RATEWISE_PLAIN_KERNELS") == "1":
        return rows
    try:
        from . import _llvm

        _llvm.build_all()
    except Exception as error:  # whatever a changed compiler raises
        warnings.warn(
            f"The vector instructions cannot be built with the installed llvmlite ({type(error).__name__}: "
            f"{error}). Slower loops give the same results. RATEWISE_PLAIN_KERNELS=1 silences this warning.",
            RuntimeWarning,
            stacklevel=2,
        )
        return rows
    return _llvm


chosen = _choose()
add_rows = chosen.add_rows
count_values = chosen.count_values
learned_in_blocks = chosen.learned_in_blocks
look_ahead = chosen.look_ahead
prefetch_row = chosen.prefetch_row
row_dot = chosen.row_dot
squared_row = chosen.squared_row
standardize_row = chosen.standardize_row
whiten_rows = chosen.whiten_rows


@cache
def fingerprint() -> str:
    """Return a digest of the kernels' sources and of the chosen operations, for the keys of numba's disk cache.

    numba stamps a cached loop with the time of its own file only. It would miss an edit to a function that is
    called in another file, and it would take a loop of the other version of the operations for this one.
    """
    content = hashlib.sha256(chosen.__name__.encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        content.update(path.read_bytes())
    return content.hexdigest()


def named_by_fingerprint(function: Callable[..., Any]) -> Callable[..., Any]:
    """Rename a function, after which numba names its cache files, so that each fingerprint has its own.

    For loops that use the operations and take no measure or reward; the types of those hold the fingerprint.
    """
    function.__qualname__ += f"_{fingerprint()[:12]}"
    return function
