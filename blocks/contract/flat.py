"""``a.flat`` of an array of symbols: its elements in turn, read, put and looped over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_np: Any = np  # its functions take our arrays by protocol, which its stubs cannot know


class Flat:
    """What ``np.ndarray.flat`` is: an iterator with places, whose elements are those of the array.

    Parameters
    ----------
    array : the array of symbols; what is put here is put there
    """

    def __init__(self, array: Any) -> None:
        self.base, self.index = array, 0

    @property
    def coords(self) -> tuple[int, ...]:
        """Indices of the element that comes next; behind the last one, and of none, NumPy's own."""
        rest, found = self.index, list[int]()
        for n in reversed(self.base.shape[1:]):
            rest, k = divmod(rest, n or 1)
            found.append(k)
        return tuple(reversed([*found, rest][: self.base.ndim]))

    def __len__(self) -> int:
        return int(self.base.size)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.index >= len(self):
            raise StopIteration
        self.index += 1
        return self.base.flatten()[self.index - 1]

    def __getitem__(self, key: Any) -> Any:
        return self.base.flatten()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        _np.put(self.base, np.arange(len(self))[key], value)

    def copy(self) -> Any:
        """All elements, with one axis."""
        return self.base.flatten()
