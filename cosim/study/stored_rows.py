"""Rows of a study's table as its files give them: the columns the manifest names, and each case once."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError

if TYPE_CHECKING:
    import pandas as pd


@contextmanager
def damage_named(url: str, name: str, hint: str) -> Iterator[None]:
    """A context that turns whatever reading a file of a study raises into one error.

    Raises
    ------
    PlantloopError     the file is damaged
    """
    try:
        yield
    except PlantloopError:
        raise
    except Exception as error:  # pyarrow, Zarr and its codecs raise many kinds
        raise PlantloopError(
            f"'{url}/{name}' is damaged: {str(error).rstrip('.')}.", path=name, hint=hint
        ) from error


def read_rows(content: bytes, like: pd.DataFrame, count: int) -> pd.DataFrame:
    """The rows in a file of the table.

    like : a table without rows, its columns those that are needed; count : cases of the study

    Raises
    ------
    ValueError         a column is missing, or is of another kind; a case that the study does not have
    others             of pyarrow, for a damaged file
    """
    import pandas as pd

    _check_length(content, count)
    frame = pd.read_parquet(io.BytesIO(content), page_checksum_verification=True)
    check_cases(frame["case"].to_numpy(), count)
    for name, column in like.items():
        if name not in frame:
            raise ValueError(f"it has no column '{name}'")
        texts = pd.api.types.infer_dtype(frame[name], skipna=False) in ("string", "empty")
        if not (texts if column.dtype.kind not in "biuf" else frame[name].dtype.kind in "biuf"):
            wanted = "numbers" if column.dtype.kind in "biuf" else "texts"
            raise ValueError(f"column '{name}' is of {frame[name].dtype}, expected {wanted}")
    return frame


def read_cases(content: bytes, count: int) -> np.ndarray:
    """Numbers of the cases in a file of the table; errors as of `read_rows`."""
    import pyarrow.parquet as pq

    _check_length(content, count)
    found = pq.read_table(io.BytesIO(content), columns=["case"])["case"].to_numpy()
    check_cases(found, count)
    return found


def check_cases(cases: np.ndarray, count: int) -> None:
    """Check that these are numbers of cases, each of them once.

    Raises
    ------
    ValueError         they are not
    """
    if cases.dtype.kind not in "iu" or (len(cases) and not 0 <= cases.min() <= cases.max() < count):
        raise ValueError(f"column 'case' has other values than numbers from 0 to {count - 1}")
    if len(np.unique(cases)) < len(cases):
        raise ValueError("a case is there twice")


def _check_length(content: bytes, count: int) -> None:
    """Refuse more rows than there are cases before they take memory: columns of one value need no bytes."""
    import pyarrow.parquet as pq

    rows = pq.read_metadata(io.BytesIO(content)).num_rows
    if rows > count:
        raise ValueError(f"it has {rows} rows, and the study {count} cases")
