"""The input of an executor: a plan, a place for results, and chunks in pieces of a suitable size."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import Chunk, Tally

PIECE = 1.0  # s that a piece of work should take at least
HAND_OUT = 0.01  # s of processor time to hand out a piece at most, in client and scheduler together
MOST_CHUNKS = 64  # most chunks in a piece


@dataclass(frozen=True)
class Job:
    """The work to do, and the number of workers.

    begun : called with where to look at the work, such as the address of a dashboard
    """

    plan: StudyPlan
    store: StudyStore
    chunks: list[Chunk]
    workers: int
    scheduler: str | None = None
    begun: Callable[[str], None] = lambda text: None


Tell = Callable[[Tally], None]


class Pieces:
    """The remaining chunks, in pieces whose size follows the time they take."""

    def __init__(self, chunks: list[Chunk], workers: int) -> None:
        self.left = deque(chunks)
        self._workers, self._size = workers, 1
        self._wanted = max(PIECE, HAND_OUT * workers)  # s: the time to hand out pieces to all other workers

    def next(self) -> list[Chunk]:
        """The next chunks; fewer towards the end, so that all workers finish at about the same time."""
        fair = max(1, len(self.left) // (2 * self._workers))
        return [self.left.popleft() for _ in range(min(self._size, fair, len(self.left)))]

    def took(self, chunks: int, seconds: float) -> None:
        """Note the time a worker took for some chunks, without the time they waited for it."""
        wanted = chunks * self._wanted / max(seconds, 1e-3)
        self._size = int(max(1, min(MOST_CHUNKS, 2 * self._size, wanted)))
