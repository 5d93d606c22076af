"""`ratewise predict`: a label, a score and a probability for every row."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from ._costs import OF_THE_FIT, costs_for, costs_options, decided_by_costs, given_costs, require_fitted_to_costs
from ._options import (
    NewFile,
    columns_option,
    decimal_option,
    format_option,
    quiet_option,
    sensitive_option,
    sources_argument,
)
from ._output import Meter, printable

_SUFFIXES = {".csv": "csv", ".feather": "feather", ".arrow": "feather", ".parquet": "parquet"}


@click.command()
@click.argument("model")
@sources_argument
@click.option(
    "-o",
    "--output",
    type=NewFile(),
    default="-",
    help=".csv, .feather or .parquet; CSV to standard output if not given.",
)
@columns_option("--id", "ids", help="Columns of DATA to write in front, such as a row's name.")
@sensitive_option
@costs_options(OF_THE_FIT)
@decimal_option
@format_option
@quiet_option
def predict(
    model: str,
    sources: tuple[str, ...],
    output: str,
    ids: list[str],
    sensitive: str | None,
    costs: tuple[str, str] | None,
    true_positive_cost: str | None,
    decimal: str,
    file_format: str | None,
    quiet: bool,
) -> None:
    """Write a label, a score and a probability for each row.

    Rows need no labels, and keep their order. The higher the score, the more likely is the positive class, which
    `ratewise inspect` names. Rows with a score above 0, or above the threshold of their group, are predicted
    positive. The probability is that of the positive class.

    A model that was fitted to costs per row predicts the class that is expected to cost least. With more than two
    classes there is no score, and the probability is that of the label.
    """
    from ..streams.prefetch import Prefetched
    from ._data import (
        column_of_groups,
        load_of_classes,
        refuse_inputs_as_outputs,
        require_files,
        stream_for,
        written,
    )

    if model == "-" and "-" in sources:
        raise click.UsageError("The model and the data cannot both be standard input.")
    kind = "csv" if output == "-" else _SUFFIXES.get(Path(output).suffix.lower())
    if kind is None and Path(output).exists() and not Path(output).is_file():
        kind = "csv"  # a device or a pipe
    if kind is None:
        raise click.UsageError(f"{output}: the name must end in {', '.join(_SUFFIXES)}.")
    refuse_inputs_as_outputs({"-o": output}, sources, file_format, model)
    require_files([model], sources, file_format)
    from ..estimators._costs import named_columns

    classifier = load_of_classes(model)
    if taken := {"label", "score", "probability"} & set(ids):
        raise click.UsageError(f"--id {taken.pop()}: the output has a column of that name already.")
    groups = column_of_groups(classifier, model, sensitive)
    given = given_costs(costs, true_positive_cost)
    require_fitted_to_costs(classifier, model, given)
    by_row = costs_for(classifier, model, given)
    keep = list(dict.fromkeys([*ids, *([] if groups is None else [groups]), *named_columns(by_row)]))
    stream = stream_for(classifier, sources, target=None, file_format=file_format, keep=keep, decimal=decimal)
    with (
        Meter(quiet=quiet) as meter,
        written(output) as file,
        Prefetched(
            _predictions(classifier, stream, ids, groups, by_row, meter)
        ) as predictions,  # made while others are written
    ):
        if kind == "csv":
            _write_csv(predictions, file, to_terminal=output == "-" and sys.stdout.isatty())
        else:
            _write_arrow(predictions, file, classifier, kind)


def _predictions(
    classifier: Any, stream: Any, ids: list[str], groups: str | None, costs: Any, meter: Meter
) -> Iterator[dict[str, list[Any]]]:
    """Yield the columns of the output, window by window."""
    from ._data import scores_of, windows_with_progress

    for window in windows_with_progress(stream, meter, "predicting"):
        scores = scores_of(classifier, window)
        least = classifier._row_thresholds(None if groups is None else window.kept[groups], scores.shape[0])
        found = predicted_columns(classifier, scores, least)
        if costs is not None:
            found["label"] = decided_by_costs(classifier, scores, costs, window).tolist()
        yield {name: window.kept[name] for name in ids} | found


def predicted_columns(classifier: Any, scores: Any, least: Any = 0.0) -> dict[str, list[Any]]:
    """Return label, score and probability of rows, given the scores from ``decision_function``.

    ``least`` are scores above which the second class is predicted.
    """
    import numpy as np
    from scipy.special import expit, softmax

    from ..decisions.calibrate import Calibration
    from ..estimators._positive import PositiveClass

    curve = getattr(classifier, "calibration_", None)  # a file of an early version has none
    if classifier.classes_.size > 2:
        best = scores.argmax(axis=1)
        found = {"label": classifier.classes_[best].tolist()}
        if curve is not None:
            shares = softmax(classifier._log_odds(scores), axis=1)
            found["probability"] = shares[np.arange(best.size), best].tolist()
        return found
    positive = PositiveClass.of_model(classifier)
    found = {"label": classifier.classes_[(scores > least).astype(np.intp)].tolist()}
    found["score"] = positive.scores(scores).tolist()
    if curve is not None:
        odds = Calibration.of_numbers(curve[0]).log_odds(scores)  # of the second class
        found["probability"] = expit(positive.sign * odds).tolist()
    return found


def _write_csv(predictions: Iterator[dict[str, list[Any]]], file: BinaryIO, *, to_terminal: bool) -> None:
    """Write rows of text. For a terminal, control characters in class names are spelled out."""
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        rows = csv.writer(text, lineterminator="\n")
        for number, found in enumerate(predictions):  # the first may be refused, before anything is written
            if number == 0:
                rows.writerow([printable(name) if to_terminal else name for name in found])
            if to_terminal:
                found = {
                    name: [printable(one) if isinstance(one, str) else one for one in values]
                    for name, values in found.items()
                }
            rows.writerows(zip(*found.values(), strict=True))
    finally:
        text.detach()  # else it would close the file


def _write_arrow(predictions: Iterator[dict[str, list[Any]]], file: BinaryIO, classifier: Any, kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer: Any = None
    types = {"label": pa.array(classifier.classes_.tolist()).type}
    try:
        for found in predictions:
            batch = pa.record_batch({name: pa.array(values, types.get(name)) for name, values in found.items()})
            if writer is None:  # the first rows show the types of the columns in front
                types = dict(zip(batch.schema.names, batch.schema.types, strict=True))
                is_parquet = kind == "parquet"
                writer = (
                    pq.ParquetWriter(file, batch.schema) if is_parquet else pa.ipc.new_file(file, batch.schema)
                )
            writer.write_batch(batch)
    finally:
        if writer is not None:
            writer.close()
