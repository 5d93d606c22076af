"""`ratewise predict`: a label and a score for every row."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import click

from ._options import NewFile, format_option, quiet_option, sources_argument
from ._output import Meter

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
@format_option
@quiet_option
def predict(model: str, sources: tuple[str, ...], output: str, file_format: str | None, quiet: bool) -> None:
    """Write a label and a score for every row of DATA, in order.

    A score above 0 speaks for the second class in sorted order. Rows need no labels.
    """
    from ._data import load_two_class, refuse_inputs_as_outputs, stream_for, written

    if model == "-" and "-" in sources:
        raise click.UsageError("The model and the data cannot both be standard input.")
    kind = "csv" if output == "-" else _SUFFIXES.get(Path(output).suffix.lower())
    if kind is None and Path(output).exists() and not Path(output).is_file():
        kind = "csv"  # a device or a pipe
    if kind is None:
        raise click.UsageError(f"{output}: the name must end in {', '.join(_SUFFIXES)}.")
    refuse_inputs_as_outputs({"-o": output}, sources, file_format, model)
    classifier = load_two_class(model)
    stream = stream_for(classifier, sources, target=None, file_format=file_format)
    with Meter(quiet=quiet) as meter, written(output) as file:
        predictions = _predictions(classifier, stream, meter)
        if kind == "csv":
            _write_csv(predictions, file)
        else:
            _write_arrow(predictions, file, classifier, kind)


def _predictions(classifier: Any, stream: Any, meter: Meter) -> Iterator[tuple[Any, Any]]:
    import numpy as np

    from ._data import scores_of, windows_with_progress

    for window in windows_with_progress(stream, meter, "predicting"):
        scores = scores_of(classifier, window)
        yield classifier.classes_[(scores > 0).astype(np.intp)], scores


def _write_csv(predictions: Iterator[tuple[Any, Any]], file: BinaryIO) -> None:
    text = io.TextIOWrapper(file, encoding="utf-8", newline="", write_through=True)
    try:
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(("label", "score"))
        for labels, scores in predictions:
            rows.writerows(zip(labels.tolist(), scores.tolist(), strict=True))
    finally:
        text.detach()  # else it would close the file


def _write_arrow(predictions: Iterator[tuple[Any, Any]], file: BinaryIO, classifier: Any, kind: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    label_type = pa.array(classifier.classes_.tolist()).type
    schema = pa.schema([("label", label_type), ("score", pa.float64())])
    writer = pq.ParquetWriter(file, schema) if kind == "parquet" else pa.ipc.new_file(file, schema)
    with writer:
        for labels, scores in predictions:
            columns = [pa.array(labels.tolist(), type=label_type), pa.array(scores)]
            writer.write_batch(pa.record_batch(columns, schema=schema))
