"""Which cases of a study a call asks for: all, numbers, those that are missing or failed, so many at most."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

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
