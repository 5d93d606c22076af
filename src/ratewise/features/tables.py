"""Tables of pandas, polars, Arrow and others as named columns of Arrow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from scipy import sparse

from .._errors import ARROW_ERRORS, DataError, Place, need_pyarrow, shortened
from .values import as_column

Schema = dict[str, Any]  # column name -> Arrow or numpy type, in the order of the table


def library_of(item: Any) -> str:
    return type(item).__module__.partition(".")[0]


def is_table(item: Any) -> bool:
    """Return whether columns have names: a dict of arrays, or a table of pandas, polars, Arrow or similar."""
    if isinstance(item, np.ndarray):
        return False
    known = _is_dict(item) or library_of(item) in ("pandas", "polars", "pyarrow")
    return known or hasattr(item, "__arrow_c_stream__")


def refuse_dicts(X: Any) -> None:
    """Raise an error in one sentence for a dict of columns, or a list of dicts."""
    if _is_dict(X):
        raise TypeError("X is a dict, which is not a table yet. Make one with pandas.DataFrame(X).")
    if isinstance(X, (list, tuple)) and X and _is_dict(X[0]):
        raise TypeError(
            "X is a list of dicts, which is not a table yet. Make one with pandas.DataFrame(X) or "
            "pyarrow.Table.from_pylist(X)."
        )


def _is_dict(item: Any) -> bool:
    """Return whether an item is a dict, except for a sparse matrix of keys (dok), which is also a dict."""
    return isinstance(item, Mapping) and not sparse.issparse(item)


def unique_names(names: list[str], file: str) -> list[str]:
    """Return the names of columns, or raise an error for a name that occurs twice."""
    if len(set(names)) < len(names):
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise DataError(f"{file}: there are two columns {shortened(twice)!r}. Rename one of them.")
    return names


def table_schema(table: Any, name: str) -> Schema:
    """Return the types of a table's columns."""
    columns, _, _ = next(parts_of(table, name), ({}, 0, None))
    return {
        key: column.dtype if isinstance(column, np.ndarray) else column.type for key, column in columns.items()
    }


def parts_of(table: Any, name: str) -> Iterator[tuple[dict[str, Any], int, Place]]:
    """Yield, for each record batch of a table, its columns by name, its number of rows and their place."""
    start = 0
    for columns in _as_columns(table, name):
        rows = len(next(iter(columns.values()))) if columns else 0
        yield columns, rows, Place(name, start)
        start += rows


def _as_columns(table: Any, name: str) -> Iterator[dict[str, Any]]:
    if isinstance(table, Mapping):
        arrays = {str(key): as_array(values) for key, values in table.items()}
        lengths = {key: len(array) for key, array in arrays.items()}
        if len(set(lengths.values())) > 1:
            raise DataError(f"{name}: its columns must be of one length, and are of {lengths}.")
        yield {key: as_column(array, key, Place(name)) for key, array in arrays.items()}
        return
    library = library_of(table)
    pa = need_pyarrow(f"tables of {library}")
    if type(table).__name__ == "Series":
        raise TypeError(f"{name}: a Series is one column; a table is needed, such as its to_frame().")
    if library == "pandas":
        unique_names(list(map(str, table.columns)), name)
        table = arrow_of_pandas(table, name)
    elif not isinstance(table, pa.Table | pa.RecordBatch):
        if not hasattr(table, "__arrow_c_stream__"):
            raise TypeError(
                f"{name}: a {type(table).__name__} is not a table of rows yet; call collect() on it first."
            )
        table = pa.table(table)
    unique_names(table.schema.names, name)
    batches = table.to_batches() if isinstance(table, pa.Table) else [table]
    for batch in batches or [pa.RecordBatch.from_pylist([], schema=table.schema)]:
        yield dict(zip(batch.schema.names, batch.columns, strict=True))


def arrow_of_pandas(table: Any, name: str) -> Any:
    """Return a pandas table as an Arrow table, or name the column that cannot be converted in an error."""
    pa = need_pyarrow("tables of pandas")
    try:
        return pa.Table.from_pandas(table, preserve_index=False)
    except (*ARROW_ERRORS, OverflowError) as error:
        column = next((one for one in table.columns if not _converts(pa, table[one])), None)
        shown = f", column {shortened(str(column))!r}" if column is not None else ""
        raise DataError(
            f"{name}{shown}: it holds values of different types, or of one that is neither number, text nor time. "
            f"Make them all numbers or all text, for instance with .astype(str), or drop it. ({error.args[-1]})"
        ) from error


def _converts(pa: Any, column: Any) -> bool:
    try:
        pa.Array.from_pandas(column)
    except (*ARROW_ERRORS, OverflowError):
        return False
    return True


def as_array(values: Any) -> Any:
    """Return labels, weights or a column of a dict as an Arrow or a numpy array."""
    if library_of(values) == "polars":
        values = values.to_arrow()
    if library_of(values) == "pyarrow":
        return values.combine_chunks() if hasattr(values, "combine_chunks") else values
    array = np.asarray(values)
    return array.reshape(-1) if array.ndim == 2 and array.shape[1] == 1 else array
