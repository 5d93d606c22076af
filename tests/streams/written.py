"""The same rows in every format."""

from __future__ import annotations

import bz2
import gzip

import numpy as np
import pytest
from scipy import sparse

TABLE_FORMATS = ["parquet", "feather", "lz4.feather", "arrows", "csv", "csv.gz"]
MATRIX_FORMATS = ["npy", "npz", "packed.npz", "csr.npz", "csr.packed.npz", "svm", "svm.gz", "svm.bz2"]


def write_table(path, columns, *, rows_at_once=50):
    """Write named columns; the format is told by the path."""
    pa = pytest.importorskip("pyarrow")
    from pyarrow import csv, feather, parquet

    table = pa.table(columns)
    name = str(path)
    if name.endswith("parquet"):
        parquet.write_table(table, name, row_group_size=rows_at_once)
    elif name.endswith("feather"):
        compression = "lz4" if "lz4" in name else "uncompressed"
        feather.write_feather(table, name, compression=compression, chunksize=rows_at_once)
    elif name.endswith("arrows"):
        with pa.ipc.new_stream(name, table.schema) as writer:
            writer.write_table(table, rows_at_once)
    else:
        with pa.output_stream(name) as file:
            csv.write_csv(table, file)
    return name


def write_matrix(path, X, y):
    """Write a matrix and labels; returns the keywords for ``open_stream``."""
    name = str(path)
    if name.endswith("npy"):
        np.save(name, np.column_stack([X, y]).astype(np.float32))
        return {"source": name, "target": -1}
    if name.endswith("npz"):
        save = np.savez_compressed if "packed" in name else np.savez
        if "csr" in name:
            rows = sparse.csr_array(X)
            save(name, data=rows.data, indices=rows.indices, indptr=rows.indptr, shape=rows.shape, y=y)
        else:
            save(name, X=X, y=y)
        return {"source": name}
    lines = [
        f"{label:g} " + " ".join(f"{j + 1}:{float(value)!r}" for j, value in enumerate(row) if value)
        for row, label in zip(X, y, strict=True)
    ]
    opener = {"gz": gzip.open, "z2": bz2.open}.get(name[-2:], open)
    with opener(name, "wb") as file:
        file.write(("\n".join(lines) + "\n").encode())
    return {"source": name}
