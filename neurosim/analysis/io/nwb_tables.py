"""Columns of the tables of an NWB file, copied so that they outlive it."""

from typing import Any, TypeAlias

import numpy as np

#: Columns by name: arrays, or lists of arrays where rows have any number of entries.
Columns: TypeAlias = dict[str, Any]


def read_table(table: Any, *, without: tuple[str, ...] = (), rows: Any = None) -> Columns:
    """The columns of a table by name, its `id` first.

    Columns with several entries in a row come as a list of arrays. Rows of another table come as
    their places there, objects of the file as their names. Columns of references to time series,
    and of lists of lists, are left out.

    **Arguments:**

    - `table`: a `DynamicTable` of hdmf.
    - `without`: columns that are not read.
    - `rows`: the places of the rows to be read; by default all.
    """
    every = list(range(len(table.id))) if rows is None else [int(row) for row in rows]
    found: Columns = {"id": np.asarray(table.id[:])[every]}
    for name in table.colnames:
        if name in without or _is_reference(table[name]):
            continue
        column = table[name]
        if is_ragged(column):
            found[str(name)] = [read_entry(column, row) for row in every]
        else:
            found[str(name)] = _plain(column, column.data[:])[every]
    return found


def is_ragged(column: Any) -> bool:
    """Whether a column has any number of entries in a row: it is an index into another one."""
    return hasattr(column, "target")


def read_entry(column: Any, row: int) -> np.ndarray:
    """The entries of one row of a ragged column, in their order; nothing else is read.

    Asked for rows of another table, hdmf gives a part of that table; the places are what is stored.
    """
    stop = int(column.data[row])
    start = int(column.data[row - 1]) if row > 0 else 0
    return _plain(column.target, column.target.data[start:stop])


def _is_reference(column: Any) -> bool:
    target = column.target if is_ragged(column) else column
    return is_ragged(target) or type(target).__name__ == "TimeSeriesReferenceVectorData"


def _plain(column: Any, data: Any) -> np.ndarray:
    if getattr(column, "elements", None) is not None:
        return np.asarray(column.elements.data[:])[np.asarray(data, int)]
    values = list(data) if not isinstance(data, np.ndarray) else data
    if len(values) > 0 and hasattr(values[0], "object_id"):
        return np.asarray([value.name for value in values])
    array = np.asarray(values)
    if array.dtype == object and array.ndim == 1:
        texts = [x.decode() if isinstance(x, bytes) else x for x in array.tolist()]
        if all(isinstance(text, str) for text in texts):
            return np.asarray(texts, dtype=str)
    return array
