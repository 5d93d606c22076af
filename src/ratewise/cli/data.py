"""Rows from files, as a model wants them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .options import source_of
from .progress import Meter


def stream_for(model: Any, sources: tuple[str, ...], *, target: str | None, file_format: str | None) -> Any:
    """The rows of these files, with the columns of the model found by name."""
    from ..streams import open_stream

    encoder = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    known: dict[str, Any] = {"encoder": encoder} if encoder is not None else {}
    if encoder is None and names is not None:
        known = {"features": names.tolist()}
    return open_stream(source_of(sources), target=target, format=file_format, **known)


def windows_with_progress(stream: Any, meter: Meter, stage: str) -> Iterator[Any]:
    """One pass in the order of the files, reported on."""
    done = 0
    for window in stream.windows():
        yield window
        done += window.X.shape[0]
        meter({"stage": stage, "done_rows": done, "total_rows": stream.n_rows})
