"""Rows from files, as commands and models want them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click

from .errors import sentence
from .progress import Meter


def open_sources(sources: tuple[str, ...], file_format: str | None, **columns: Any) -> Any:
    """A stream over these files. What can be seen to be wrong without reading them is bad usage."""
    from ..streams import DataError, open_stream

    if "-" in sources and len(sources) > 1:
        raise click.UsageError("Standard input (-) cannot be mixed with files.")
    source = sources[0] if len(sources) == 1 else list(sources)
    try:
        return open_stream(source, format=file_format, **_typed(_columns_are(sources, file_format), columns))
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise click.UsageError(sentence(ValueError(str(error)))) from error


def _columns_are(sources: tuple[str, ...], file_format: str | None) -> str | None:
    """Return how the columns of these files are given to open_stream, as far as names tell."""
    from ..streams.formats import FORMATS, format_of

    name = file_format or format_of(sources[0])
    return None if name is None else FORMATS[name].columns


def is_table(sources: tuple[str, ...], file_format: str | None) -> bool:
    """Columns surely have names, and the target has to be named."""
    return _columns_are(sources, file_format) == "named"


def _typed(how: str | None, columns: dict[str, Any]) -> dict[str, Any]:
    """Columns as open_stream takes them: by name; by number for npy and npz; for svmlight only how many."""
    if how == "numbered":
        return {option: _numbered(value) for option, value in columns.items()}
    features = columns.get("features")
    if how == "counted" and features is not None:
        if len(features) != 1 or not features[0].isdecimal():
            raise click.UsageError("svmlight: --features takes the number of columns.")
        return columns | {"features": int(features[0])}
    return columns


def _numbered(value: Any) -> Any:
    if isinstance(value, list):
        return [_numbered(one) for one in value]
    return int(value) if isinstance(value, str) and value.isdecimal() else value


def stream_for(
    model: Any, sources: tuple[str, ...], *, target: str | None, file_format: str | None, weight: str | None = None
) -> Any:
    """The rows of these files, with the columns of the model found by name."""
    encoder = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    known: dict[str, Any] = {"encoder": encoder} if encoder is not None else {}
    if encoder is None and names is not None and is_table(sources, file_format):
        known = {"features": names.tolist()}
    return open_sources(sources, file_format, target=target, weight=weight, **known)


def labels_column(model: Any, given: str | None) -> str | None:
    """The target as the user names it, or as the model knows it; files without names carry their own labels."""
    encoder = getattr(model, "encoder_", None)
    if given is not None or encoder is None or not encoder.named:
        return given
    return getattr(model, "target_", None)


def scores_of(model: Any, window: Any) -> Any:
    """The decision function. The columns were found by name when they were read, and are a bare matrix now."""
    import numpy as np

    if window.X.shape[1] != model.n_features_in_:
        raise ValueError(
            f"{window.where}: {window.X.shape[1]:,} columns, where the model has {model.n_features_in_:,}."
        )
    return np.asarray(window.X @ model.coef_[0]) + model.intercept_[0]


def windows_with_progress(
    stream: Any, meter: Meter, stage: str, so_far: Callable[[], dict[str, Any]] = dict
) -> Iterator[Any]:
    """One pass in the order of the files, reported on, with what the reader of the windows knows by then."""
    done = 0
    for window in stream.windows():
        yield window
        done += window.X.shape[0]
        meter({"stage": stage, "done_rows": done, "total_rows": stream.n_rows, **so_far()})
