"""Which cases of a study a call asks for: all, numbers, those that are missing or failed, so many at most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from blocks.arguments import is_whole
from blocks.errors import PlantloopError, shown
from cosim.study.cases import parsed_cases
from cosim.study.store import StudyStore


def named(only: str | Sequence[int] | None, count: int) -> np.ndarray | None:
    """Cases that are named by their numbers, of `count`; None of those that only the store knows.

    Raises
    ------
    PlantloopError     there is no such case
    """
    if only is None or (isinstance(only, str) and only in ("missing", "failed")):
        return None
    if not isinstance(only, (str, Sequence, np.ndarray)) or np.ndim(only) > 1:
        raise PlantloopError(
            f"only is {shown(only)}, expected numbers of cases.",
            value=only,
            hint="Write only=[3, 7], '0-9', 'missing' or 'failed'.",
        )
    return np.array(parsed_cases(only if isinstance(only, str) else ",".join(map(str, only)), count))


def unfinished(
    store: StudyStore | None, only: str | Sequence[int] | None, count: int, requirements: Sequence[str]
) -> np.ndarray:
    """Numbers of the cases that are not done, or with "failed" of those that are wrong; None: nothing is."""
    if store is None:
        return np.arange(0 if only == "failed" else count)
    if only != "failed":
        return np.setdiff1d(np.arange(count), store.done())
    table = store.table()
    bad = table["status"] == "failed"
    for name in requirements:
        bad |= ~table[name].astype(bool)
    return np.asarray(table.index.to_numpy()[bad.to_numpy(dtype=bool)])


def numbers_of_cases(given: Sequence[int] | np.ndarray, count: int) -> np.ndarray:
    """Numbers of cases that a caller lists, of `count`, one at least.

    Raises
    ------
    PlantloopError     no such list, or no such case
    """
    listed = isinstance(given, (Sequence, np.ndarray)) and not isinstance(given, (str, bytes, bytearray))
    found = list(given) if listed and np.ndim(np.asarray(given, dtype=object)) == 1 else []
    if not found or not all(is_whole(k) and 0 <= k < count for k in found):
        raise PlantloopError(
            f"cases is {shown(given)}, expected a list of numbers from 0 to {count - 1}.", value=given
        )
    return np.array(found, dtype=np.int64)
