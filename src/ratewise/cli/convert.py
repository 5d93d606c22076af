"""`ratewise convert` and `ratewise export`: rows as Feather, which reads fastest, and models as ONNX graphs."""

from __future__ import annotations

from typing import Any

import click

from ._options import Columns, NewFile, format_option, json_option, quiet_option, seed_option, sources_argument
from ._output import Meter, print_json

_MOST_COLUMNS = 4096


@click.command()
@sources_argument
@click.option("-o", "--output", type=NewFile(), required=True, help="A .feather file.")
@click.option("--target", metavar="COLUMN", help="A column to keep besides --features.")
@click.option("--features", type=Columns(), help="The columns to keep; all unless given.")
@click.option("--shuffle/--in-order", default=True, help="Mix the rows (default), or leave them as they are.")
@click.option("--compression", type=click.Choice(["lz4", "zstd", "none"]), default="lz4", show_default=True)
@seed_option
@format_option
@json_option
@quiet_option
def convert(
    sources: tuple[str, ...], output: str, target: str | None, features: list[str] | None, shuffle: bool,
    compression: str, seed: int, file_format: str | None, as_json: bool, quiet: bool,
) -> None:  # fmt: skip
    """Rewrite files as one Feather file, with the rows mixed.

    Rows are read a window at a time from many places at once and shuffled within the window, so that memory stays
    bounded and files sorted by label are mixed. A fit of many passes reads Feather several times as fast as CSV.
    """
    import numpy as np

    from ._data import open_sources, written

    if as_json and output == "-":
        raise click.UsageError("--json and -o - both want standard output.")
    stream = open_sources(sources, file_format, target=target, features=features)
    rng = np.random.default_rng(seed) if shuffle else None
    with Meter(quiet=quiet) as meter, written(output) as file:
        rows = _write(stream, rng, file, compression, meter)
    if as_json:
        print_json({"rows": rows, "output": output})
    elif not quiet:
        click.echo(f"{rows:,} rows in {output}.", err=output == "-")


def _write(stream: Any, rng: Any, file: Any, compression: str, meter: Meter) -> int:
    """Write the rows window by window; the first window decides the types of the columns."""
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
    writer, schema, done = None, None, 0
    for window in stream.raw_windows(rng, most_columns=_MOST_COLUMNS):
        if writer is None:
            schema = window.table.schema
            writer = pa.ipc.new_file(file, schema, options=options)
        try:
            table = window.table.cast(schema)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            raise ValueError(
                f"{window.where}: the columns are not of the types of the first rows ({error})."
            ) from error
        writer.write_table(table, max_chunksize=1 << 16)
        done += table.num_rows
        meter({"stage": "converting", "done_rows": done, "total_rows": stream.n_rows})
    if writer is None:
        raise ValueError("There are no rows to convert.")
    writer.close()
    return done


@click.command()
@click.argument("model")
@click.argument("output", type=NewFile())
def export(model: str, output: str) -> None:
    """Write MODEL as an ONNX graph to OUTPUT: rows of doubles in, labels and scores out."""
    from ..onnx import export_onnx
    from ._data import load, written

    classifier = load(model)
    with written(output) as file:
        export_onnx(classifier, file)
    if output != "-":
        click.echo(f"{output}: takes X, {classifier.n_features_in_:,} columns of doubles; gives label and score.")
    encoder = getattr(classifier, "encoder_", None)
    if encoder is not None and encoder.categories:
        note = "The model was learned from text columns; the graph takes them encoded, as its metadata name them."
        click.echo(note, err=True)
