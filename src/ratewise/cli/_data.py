"""Read rows and models from files or standard input; write to files or standard output."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO

import click
import numpy as np

from .._atomic import atomic_write
from ._output import Meter, sentence


def open_sources(sources: tuple[str, ...], file_format: str | None, **columns: Any) -> Any:
    """Open a stream over these files. Errors that are visible without reading them are bad usage."""
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


def require_files(models: Sequence[str], sources: Sequence[str], file_format: str | None) -> None:
    """Raise an error for missing models and data, before imports that take seconds."""
    from ..streams.open import find_files

    for path in models:
        if path == "-":
            sys.stdin.buffer.readable()  # says so where it is closed
        elif not os.path.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if sources and "-" not in sources:
        find_files(list(sources), file_format)


def refuse_inputs_as_outputs(
    outputs: dict[str, str | None], sources: tuple[str, ...], file_format: str | None = None, *others: str | None
) -> None:
    """Raise an error if an output is also an input, under any name, before anything is read."""
    from ..streams.open import find_files

    inputs = [one for one in others if one is not None]
    with contextlib.suppress(ValueError, OSError):  # missing files raise an error when they are opened
        inputs += find_files(list(sources), file_format)[0] if sources and "-" not in sources else []
    for option, output in outputs.items():
        for one in inputs:
            if output is not None and _same_file(output, one):
                raise click.UsageError(
                    f"{option} {output} is the same file as {one}, which is read: name another."
                )


def _same_file(first: str, second: str) -> bool:
    """Return whether two names (or links) mean the same file. Devices may be read and written at the same time."""
    if not os.path.isfile(second) or "-" in (first, second):
        return False
    return os.path.exists(first) and os.path.samefile(first, second)


def columns_are(sources: tuple[str, ...], file_format: str | None) -> str | None:
    """Return how open_stream takes the columns of these files, judged by their names: for example "named"."""
    from ..streams.formats import FORMATS, format_of

    name = file_format or format_of(sources[0])
    return None if name is None else FORMATS[name].columns


def _typed(how: str | None, columns: dict[str, Any]) -> dict[str, Any]:
    """Return columns in open_stream's form: by name; by number for npy and npz; only their count for svmlight."""
    if how == "numbered":
        return {name: value if name == "decimal" else _numbered(value) for name, value in columns.items()}
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
    model: Any,
    sources: tuple[str, ...],
    *,
    target: str | None,
    file_format: str | None,
    weight: str | None = None,
    **more: Any,
) -> Any:
    """Open a stream over these files, with the columns of the model found by name.

    ``more`` are options of ``open_stream``: keep, decimal, drop_unlabelled.
    """
    encoder = getattr(model, "encoder_", None)
    names = getattr(model, "feature_names_in_", None)
    known: dict[str, Any] = {"encoder": encoder} if encoder is not None else {}
    if encoder is None and names is not None and columns_are(sources, file_format) == "named":
        known = {"features": names.tolist()}
    stream = open_sources(sources, file_format, target=target, weight=weight, **known, **more)
    if encoder is None and not stream.encoder.sparse_input:
        _leave_gaps(stream.encoder, sources[0])
    return stream


def _leave_gaps(encoder: Any, source: str) -> None:
    """Keep gaps as NaN, and raise an error for dates and texts: the model was fitted on numbers without gaps.

    An encoder learned from the new rows would fill a gap with their mean, which the model has never seen.
    """
    from ..features.codecs import Boolean, Number
    from ..features.kinds import DATE, NUMBER

    for name, kind in encoder.kinds.items():
        if kind == DATE:
            raise ValueError(f"{source}, column {name!r}: it holds dates, and the model was trained on numbers.")
    if encoder.named:  # texts may be true and false
        kinds = {name: Number if encoder.kind(name) == NUMBER else Boolean for name in encoder.columns}
        encoder.codecs = [kind(name, "", 0.0) for name, kind in kinds.items()]
    encoder.leaves_gaps = encoder.wide = encoder.fitted = True


def target_of(model: Any, target: str | None) -> str | None:
    """Return the label column: the given one, or the model's. Files without column names contain the labels."""
    encoder = getattr(model, "encoder_", None)
    if target is None and encoder is not None and encoder.named:
        return getattr(model, "target_", None)
    return target


def require_positive(model: Any, path: str, positive: str | None) -> None:
    """Raise an error for a positive class other than the model's, because the threshold is for the model's."""
    from ..estimators._positive import PositiveClass

    if model.classes_.size > 2:
        if positive is not None:
            raise click.UsageError(f"{path} is a model of {model.classes_.size} classes: leave out --positive.")
        return
    own = PositiveClass.of_model(model).label
    if positive is not None and positive != str(own):
        raise click.UsageError(
            f"The positive class of {path} is {own}, not {positive}: a model for {positive} is fitted with "
            f"--positive {positive}."
        )


def scores_of(model: Any, window: Any) -> Any:
    """Return the decision function, with a column per class for more than two classes.

    Columns were found by name when they were read; here they are a matrix without names.
    """
    from ..estimators._rows import linear_scores

    basis = getattr(model, "basis_", None)
    coef, intercept = model.coef_.T, model.intercept_
    if coef.shape[1] == 1:
        coef, intercept = coef[:, 0], intercept[0]
    columns = model.coef_.shape[1] if basis is None else basis.n_columns
    if window.X.shape[1] != columns:
        raise ValueError(f"{window.where}: {window.X.shape[1]:,} columns, where the model has {columns:,}.")
    if basis is not None:
        return basis.scores(window.X, coef, intercept)
    scores = linear_scores(window.X, coef, intercept)
    if np.isnan(scores).any() and isinstance(window.X, np.ndarray) and np.isnan(window.X).any():
        column = int(np.argmax(np.isnan(window.X).any(axis=0)))
        name = getattr(model, "feature_names_in_", range(column + 1))[column]
        raise ValueError(
            f"{window.where}: a number is missing (NaN) in column {name!r}, and the model was fitted on rows "
            "without gaps, so that it has nothing to put there. Fill it first, or fit the model from a file."
        )
    return scores


def check_labels(window: Any, classes: Any) -> None:
    """Raise an error for rows without labels, or with a label that the model does not know."""
    if window.labels is None:
        raise ValueError("There are no labels to compare with: name their column with --target.")
    unknown = ~np.isin(window.labels, classes)
    if unknown.any():
        label = window.labels[unknown][:1].tolist()[0]
        raise ValueError(
            f"{window.where}: the label {label!r} is unknown to the model, whose classes are {classes.tolist()}."
        )


def decisions_of(model: Any, window: Any, column: str | None) -> Any:
    """Return scores minus the threshold of each row's group: above 0 if the second class is predicted."""
    groups = None if column is None else window.kept[column]
    scores = scores_of(model, window)
    return scores - model._row_thresholds(groups, scores.size)


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


def load_of_classes(path: str) -> Any:
    """Return a model with one label per row."""
    model = load(path)
    if model.multilabel_:
        raise click.UsageError(
            f"{path} is a model of {model.coef_.shape[0]} labels, and this command is for one class per row. In "
            "Python: ratewise.load_model(...), then predict or score; or `ratewise export`."
        )
    return model


def column_of_groups(model: Any, path: str, given: str | None) -> str | None:
    """Return the column with the group of each row: the given one, or the column of the model's thresholds."""
    if given is not None and model.classes_.size > 2:
        raise click.UsageError(f"{path} is a model of {model.classes_.size} classes: leave out --sensitive.")
    if given is not None or not hasattr(model, "group_thresholds_"):
        return given
    if not hasattr(model, "sensitive_column_"):
        raise click.UsageError(
            f"{path} is a model with a threshold for each group ({', '.join(map(str, model.groups_))}): name the "
            "column of the groups with --sensitive."
        )
    column: str = model.sensitive_column_
    return column


@contextlib.contextmanager
def written(path: str) -> Iterator[BinaryIO]:
    """Open a file that is written completely or not at all, or standard output."""
    if path == "-":
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with atomic_write(path) as file:
            yield file


def columns_of(model: Any) -> list[dict[str, Any]] | None:
    """Return the kind of each column, and the reason; None for a model of numbers."""
    encoder = getattr(model, "encoder_", None)
    return None if encoder is None else encoder.described()


def interval_words(model: Any) -> str | None:
    """Return the intervals of a model's rates on new rows in words; None for a model without them."""
    from ..measures import measure_name

    found = getattr(model, "rates_interval_", None)
    if found is None:
        return None
    ends = {"TPR": found.tpr, "TNR": found.tnr, measure_name(model.measure_): found.value}
    said = ", ".join(f"{name} {low:.4g} to {high:.4g}" for name, (low, high) in ends.items())
    return f"{said} ({found.confidence:.0%} intervals)"
