"""Rows and models, from files and standard input and to files and standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

import click
import numpy as np

from .._atomic import atomic_write
from ._output import Meter, sentence


def open_sources(sources: tuple[str, ...], file_format: str | None, **columns: Any) -> Any:
    """Open a stream over these files. What is seen to be wrong without reading them is bad usage."""
    from ..streams import DataError, open_stream

    if "-" in sources and len(sources) > 1:
        raise click.UsageError("Standard input (-) cannot be mixed with files.")
    if "-" in sources:
        sys.stdin.buffer.readable()  # says so where it is closed
    source = sources[0] if len(sources) == 1 else list(sources)
    try:
        return open_stream(source, format=file_format, **_typed(columns_are(sources, file_format), columns))
    except DataError:
        raise
    except (TypeError, ValueError) as error:
        raise click.UsageError(sentence(ValueError(str(error)))) from error


def refuse_inputs_as_outputs(
    outputs: dict[str, str | None], sources: tuple[str, ...], file_format: str | None = None, *others: str | None
) -> None:
    """Refuse to write to a file that is read, whatever it is called, before anything is read."""
    from ..streams.open import find_files

    inputs = [one for one in others if one is not None]
    with contextlib.suppress(ValueError, OSError):  # what cannot be found is refused when it is opened
        inputs += find_files(list(sources), file_format)[0] if sources and "-" not in sources else []
    for option, output in outputs.items():
        for one in inputs:
            if output is not None and _same_file(output, one):
                raise click.UsageError(
                    f"{option} {output} is the same file as {one}, which is read: name another."
                )


def _same_file(first: str, second: str) -> bool:
    """Return whether two names, links among them, are of one file. Devices may be read and written at once."""
    if not os.path.isfile(second) or "-" in (first, second):
        return False
    return os.path.exists(first) and os.path.samefile(first, second)


def columns_are(sources: tuple[str, ...], file_format: str | None) -> str | None:
    """Return how open_stream takes the columns of these files, as far as names tell: "named", for instance."""
    from ..streams.formats import FORMATS, format_of

    name = file_format or format_of(sources[0])
    return None if name is None else FORMATS[name].columns


def _typed(how: str | None, columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns as open_stream takes them: by name; by number for npy and npz; for svmlight only how many."""
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
    """Open a stream over these files, with the columns of the model found by name."""
    encoder = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    known: dict[str, Any] = {"encoder": encoder} if encoder is not None else {}
    if encoder is None and names is not None and columns_are(sources, file_format) == "named":
        known = {"features": names.tolist()}
    return open_sources(sources, file_format, target=target, weight=weight, **known)


def target_of(model: Any, target: str | None) -> str | None:
    """Return the column with the labels: the one given, or the model's own. Files without names hold labels."""
    encoder = getattr(model, "encoder_", None)
    if target is None and encoder is not None and encoder.named:
        return getattr(model, "target_", None)
    return target


def scores_of(model: Any, window: Any) -> Any:
    """Return the decision function. Columns were found by name when they were read, and are a bare matrix now."""
    if window.X.shape[1] != model.coef_.shape[1]:
        raise ValueError(
            f"{window.where}: {window.X.shape[1]:,} columns, where the model has {model.coef_.shape[1]:,}."
        )
    return np.asarray(window.X @ model.coef_[0]) + model.intercept_[0]


def windows_with_progress(
    stream: Any, meter: Meter, stage: str, so_far: Callable[[], dict[str, Any]] = dict
) -> Iterator[Any]:
    """Yield the windows of one pass in the order of the files, and report progress and what ``so_far`` returns."""
    done = 0
    for window in stream.windows():
        yield window
        done += window.X.shape[0]
        meter({"stage": stage, "done_rows": done, "total_rows": stream.n_rows, **so_far()})


def load(path: str) -> Any:
    """Return the model of a file, or of standard input."""
    from ..estimators import MeasureClassifier
    from ..persistence import load_model

    model = load_model(sys.stdin.buffer if path == "-" else path)
    if not isinstance(model, MeasureClassifier):
        raise click.UsageError(
            f"{path} is a {type(model).__name__}, and commands take a MeasureClassifier. In Python: "
            "ratewise.load_model(...), then predict."
        )
    return model


def load_two_class(path: str) -> Any:
    """Return a model for commands that need one positive class."""
    model = load(path)
    if model.multilabel_ or model.classes_.size > 2:
        what = f"{model.coef_.shape[0]} {'labels' if model.multilabel_ else 'classes'}"
        raise click.UsageError(
            f"{path} is a model of {what}, and this command is for two classes. In Python: "
            "ratewise.load_model(...), then predict or score; or `ratewise export`."
        )
    return model


@contextlib.contextmanager
def written(path: str) -> Iterator[BinaryIO]:
    """Open a file that is there whole or not at all, or standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


def interval_words(model: Any) -> str | None:
    """Return between what a model's rates lie on new rows; None for a model that does not know."""
    from ..measures import measure_name

    found = getattr(model, "rates_interval_", None)
    if found is None:
        return None
    ends = {"TPR": found.tpr, "TNR": found.tnr, measure_name(model.measure_): found.value}
    said = ", ".join(f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in ends.items())
    return f"{said} ({found.confidence:.0%} intervals)"
