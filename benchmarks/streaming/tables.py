"""Made-up tables of float32 columns, written to files of any size in bounded memory."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, ipc, parquet

COLUMNS = 40
BLOCK = 1 << 18
GROUP = 1 << 16
ROW_BYTES = 4 * COLUMNS + 1


@functools.lru_cache(maxsize=4)
def block(number: int) -> pa.Table:
    """Some rows: correlated columns, about one in seven positive."""
    rng = np.random.default_rng(number)
    turn = np.random.default_rng(0).normal(size=(COLUMNS, COLUMNS)).astype(np.float32)
    X = rng.standard_normal((BLOCK, COLUMNS), dtype=np.float32) @ turn
    score = X[:, :8].sum(axis=1) / 12.0 + rng.standard_normal(BLOCK, dtype=np.float32)
    columns = {f"x{j}": np.ascontiguousarray(X[:, j]) for j in range(COLUMNS)}
    return pa.table({**columns, "label": (score > 2.0).astype(np.int8)})


def blocks(rows: int):
    """So many rows; after the first million they are the same again."""
    for number, start in enumerate(range(0, rows, BLOCK)):
        yield block(number % 4).slice(0, min(BLOCK, rows - start))


def write_parquet(path: Path, rows: int) -> None:
    with parquet.ParquetWriter(path, block(0).schema, compression="lz4", use_dictionary=False) as writer:
        for table in blocks(rows):
            writer.write_table(table, row_group_size=GROUP)


def write_feather(path: Path, rows: int) -> None:
    """An uncompressed Arrow file, which is what Feather 2 is."""
    with ipc.new_file(path, block(0).schema) as writer:
        for table in blocks(rows):
            writer.write_table(table, max_chunksize=GROUP)


def write_csv(path: Path, rows: int) -> None:
    with csv.CSVWriter(path, block(0).schema) as writer:
        for table in blocks(rows):
            writer.write_table(table)


WRITERS = {
    "Feather": ("rows.feather", write_feather),
    "Parquet, lz4": ("rows.parquet", write_parquet),
    "CSV": ("rows.csv", write_csv),
}
