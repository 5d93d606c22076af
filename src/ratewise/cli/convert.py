"""`ratewise convert`: any format to Feather, which reads fastest, for many passes, or to Parquet."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ._options import ColumnNames, NewFile, format_option, json_option, quiet_option, seed_option, sources_argument
from ._output import Meter, print_json


@click.command()
@sources_argument
@click.option("-o", "--output", type=NewFile(), required=True, help="A .feather or .parquet file.")
@click.option("--target", metavar="COLUMN", help="A column to keep in addition to --features.")
@click.option("--features", type=ColumnNames(), help="The columns to keep; all unless given.")
@click.option("--shuffle/--in-order", default=True, help="Mix the rows (default), or leave them as they are.")
@click.option("--compression", type=click.Choice(["lz4", "zstd", "none"]), default="lz4", show_default=True)
@seed_option
@format_option
@json_option
@quiet_option
def convert(
    sources: tuple[str, ...],
    output: str,
    target: str | None,
    features: list[str] | None,
    shuffle: bool,
    compression: str,
    seed: int,
    file_format: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Write files as one Feather or Parquet file, rows shuffled.

    Rows are read a window at a time from many places at once and shuffled within the window, so that memory stays
    bounded and files sorted by label are mixed. A fit of many passes reads Feather several times as fast as CSV.
    """
    import numpy as np

    from ..streams.formats import format_of
    from ._data import open_sources, refuse_inputs_as_outputs, written

    if as_json and output == "-":
        raise click.UsageError("--json and -o - both want standard output.")
    kind = format_of(output) if output != "-" else "feather"
    if kind not in ("feather", "parquet") and (not Path(output).exists() or Path(output).is_file()):
        raise click.UsageError(f"{output}: the name must end in .feather, .arrow or .parquet.")
    refuse_inputs_as_outputs({"-o": output}, sources, file_format)
    stream = open_sources(sources, file_format, target=target, features=features)
    rng = np.random.default_rng(seed) if shuffle else None
    with Meter(quiet=quiet) as meter, written(output) as file:
        rows = _write(stream, rng, file, kind == "parquet", compression, meter)
    if as_json:
        print_json({"rows": rows, "output": output})
    elif not quiet:
        click.echo(f"{rows:,} rows in {output}.", err=output == "-")


def _write(stream: Any, rng: Any, file: Any, as_parquet: bool, compression: str, meter: Meter) -> int:
    """Write the rows window by window; the first window decides the types of the columns."""
    writer, schema, done = None, None, 0
    for table, file_read in stream.raw_windows(rng):
        if writer is None:
            schema = table.schema
            writer = _writer(file, schema, as_parquet, compression)
        writer.write_table(_as_first(table, schema, file_read), 1 << 16)
        done += table.num_rows
        meter({"stage": "converting", "done_rows": done, "total_rows": stream.n_rows})
    if writer is None:
        raise ValueError("There are no rows to convert.")
    writer.close()
    return done


def _writer(file: Any, schema: Any, as_parquet: bool, compression: str) -> Any:
    import pyarrow as pa
    import pyarrow.parquet as pq

    if as_parquet:
        return pq.ParquetWriter(file, schema, compression=compression)
    options = pa.ipc.IpcWriteOptions(compression=None if compression == "none" else compression)
    return pa.ipc.new_file(file, schema, options=options)


def _as_first(table: Any, schema: Any, where: str) -> Any:
    import pyarrow as pa

    try:
        return table.cast(schema)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
        raise ValueError(f"{where}: the columns are not of the types of the first rows ({error}).") from error
