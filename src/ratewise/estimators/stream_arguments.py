"""The arguments of ``fit_stream``, checked before anything is read."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..solvers import Solver


def check_stream_arguments(stream: Any, passes: Any, checkpoint_every: Any) -> None:
    if passes != "auto" and (not isinstance(passes, Integral) or isinstance(passes, bool) or passes < 1):
        raise ValueError(f"passes must be 'auto' or a whole number above 0; got {passes!r}.")
    if not hasattr(stream, "windows"):
        raise TypeError(
            f"fit_stream takes what open_stream returns; got {type(stream).__name__}. Rows in memory: fit."
        )
    if checkpoint_every is not None and (not isinstance(checkpoint_every, Integral) or checkpoint_every < 1):
        raise ValueError(f"checkpoint_every must be a whole number above 0; got {checkpoint_every!r}.")


def require_once_enough(solver: Solver, checkpoint: Any) -> None:
    """Refuse what needs more than one reading of a stream that can be read only once."""
    if not solver.streaming:
        raise ValueError(
            f"{solver.label} needs all rows at once, and this stream can be read once only. Use solver='auto'."
        )
    if checkpoint is not None:
        raise ValueError(
            "A stream that can be read once only cannot be gone on with: leave out checkpoint=, or give the "
            "rows as files or as a list of batches."
        )
