"""Tables in .csv and .parquet files, which strangers may have written, as data frames of bounded size."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

from blocks.files import read_whole

if TYPE_CHECKING:
    import pandas as pd

SUFFIXES = (".csv", ".parquet", ".pq")
MOST_COLUMNS = 10_000  # of a file: the time of pandas grows with the square of columns that are called alike
MOST_NUMBERS = 2**25  # as many as a text of the largest size that is read can hold


def read_table(path: Path) -> pd.DataFrame:
    """The table in a file, read whole.

    Raises
    ------
    OSError         it cannot be read, is no regular file, or too large
    Exception       whatever a damaged file makes pandas and pyarrow raise
    """
    import pandas as pd  # slow to import

    data = read_whole(path)
    if path.suffix.lower() == ".csv":
        names, first = _rows(data)
        _check_columns(len(names))
        if len(first) > len(names):  # pandas takes what is too much for names of rows
            below = f"{len(names)} name{'s' * (len(names) > 1)}"
            raise ValueError(
                f"rows of {len(first)} columns are below {below}; write 1.5, not 1,5, and a name over every "
                "column"
            )
        return pd.read_csv(io.BytesIO(data))
    _check_parquet(data)
    return pd.read_parquet(io.BytesIO(data))


def _rows(data: bytes) -> tuple[list[str], list[str]]:
    """The first two rows of a .csv file that are not empty."""
    text = io.TextIOWrapper(io.BytesIO(data), encoding="utf-8-sig", errors="replace", newline="")
    rows = (row for row in csv.reader(text) if row)
    return next(rows, []), next(rows, [])


def _check_parquet(data: bytes) -> None:
    """Refuse what grows when it is read: a few bytes can stand for any number of equal rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = pq.ParquetFile(io.BytesIO(data))
    _check_columns(len(file.schema_arrow))
    count = file.metadata.num_rows * len(file.schema_arrow)
    if count > MOST_NUMBERS:
        raise ValueError(f"it holds {count:.3g} numbers, and at most {MOST_NUMBERS:.3g} are read")
    for column in file.schema_arrow:
        kind = column.type
        if not (pa.types.is_primitive(kind) or pa.types.is_null(kind)):
            raise ValueError(f"its column '{column.name}' holds {kind}, not numbers")


def _check_columns(count: int) -> None:
    if count > MOST_COLUMNS:
        raise ValueError(f"it has {count} columns, and at most {MOST_COLUMNS} are read")
