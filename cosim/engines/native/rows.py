"""Rows that the runtime writes into buffers of its host: a log, or samples at the ticks of a rate."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from blocks.contract.user_lines import warn_user
from cosim.engines.native import bindings as b
from cosim.engines.native.build import Compiled

SAMPLES = 32 * 2**20  # bytes; samples at ticks of one rate, which grow with the run and not with the log
ROWS = 4 * 2**20  # bytes; buffers grow up to this, for which NumPy asks for large pages


def _most_rows(width: int) -> int:
    """Rows of so many numbers in a buffer that has grown: at least ROWS bytes."""
    return max(16, math.ceil(ROWS / (8 * width)))


class Rows:
    """Rows the runtime writes: a buffer it fills and what was taken out of it before."""

    def __init__(
        self, code: Compiled, names: Sequence[str], buffer: b.Structure, most: float = math.inf
    ) -> None:
        self._names, self._left = names, most  # bytes it may still take
        self._where = found = code.row(tuple(names))
        self._rows = np.empty((0, 1 + found.width))
        self._taken: list[np.ndarray] = []
        self.buffer = buffer
        buffer.width, buffer.n_pieces, buffer.n_inner = found.width, found.n_pieces, found.n_inner
        buffer.places, buffer.pieces, buffer.inner = found.pointers
        self.held: np.ndarray | None = None  # where in h the same numbers are, where that is known

    def stand_at(self, held: Sequence[int]) -> None:
        """The numbers are in h at these places too, -1 for one that is not: nothing needs to be evaluated."""
        self.held = np.array(held, dtype=np.int32)
        if len(held) and min(held) >= 0:
            self.buffer.held = b.pointer(self.held)

    def reserve(self, rows: int) -> None:
        """Have room for at least some of so many more rows."""
        free = self.buffer.capacity - self.buffer.count
        if free >= rows or self._left <= 0:
            return
        width = self._rows.shape[1]
        most = _most_rows(width)
        if free and self.buffer.capacity >= most:
            return
        self._take()
        self._rows = np.empty((min(max(rows, 16), most), width))
        self.buffer.rows, self.buffer.capacity = b.pointer(self._rows), len(self._rows)

    def _take(self) -> None:
        if self.buffer.count:
            self._keep(self._rows[: self.buffer.count].copy())

    def _keep(self, rows: np.ndarray) -> None:
        self._taken.append(rows)
        self.buffer.taken += len(rows)
        self._left -= rows.nbytes
        self.buffer.count = 0

    def renew(self) -> None:
        """Keep a full buffer without a copy and begin another; none when it has taken all it may."""
        self._keep(self._rows[: self.buffer.count])
        if self._left <= 0:
            self.buffer.width = self.buffer.capacity = 0
            warn_user(
                f"samples of {', '.join(self._names)} at their ticks fill {SAMPLES >> 20} MB at "
                f"t={self._taken[-1][-1, 0]:.6g} s; later ones are not kept. The log goes on; "
                "choose signals= to keep fewer."
            )
            return
        width = self._rows.shape[1]
        more = max(len(self._rows), min(2 * len(self._rows), _most_rows(width)))
        self._rows = np.empty((more, width))
        self.buffer.rows, self.buffer.capacity = b.pointer(self._rows), more

    def __len__(self) -> int:
        """Rows so far."""
        return sum(map(len, self._taken)) + int(self.buffer.count)

    def back(self, rows: int) -> None:
        """Forget all rows but the first so many."""
        more = len(self) - rows
        if more <= self.buffer.count:
            self.buffer.count -= more
            return
        self._take()
        self._taken = [self.all()[:rows]]
        self.buffer.taken = rows

    def all(self) -> np.ndarray:
        """Every row so far, time first; pieces are joined one by one, so that no row is in memory twice."""
        if not self._taken:
            return self._rows[: self.buffer.count].copy()
        self._take()
        end = sum(map(len, self._taken))
        joined = np.empty((end, self._rows.shape[1]))
        while self._taken:
            piece = self._taken.pop()
            joined[end - len(piece) : end] = piece
            end -= len(piece)
        self._taken = [joined]
        return joined
