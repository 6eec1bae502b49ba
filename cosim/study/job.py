"""What an executor is given: a plan, where results go, and chunks in pieces of a good size."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan
from cosim.study.work import Chunk, Tally

PIECE = 1.0  # s that a piece of work should take at least
HAND_OUT = 0.01  # s of a processor that handing out a piece takes at most, client and scheduler together
MOST_CHUNKS = 64  # in a piece


@dataclass(frozen=True)
class Job:
    """What is to be done, and by how many.

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
    """Chunks that are left, in pieces whose size follows the time they take."""

    def __init__(self, chunks: list[Chunk], workers: int) -> None:
        self.left = deque(chunks)
        self._workers, self._size = workers, 1
        self._wanted = max(PIECE, HAND_OUT * workers)  # s: as long as handing out to all others takes

    def next(self) -> list[Chunk]:
        """Some chunks; towards the end fewer, so that all workers end at about the same time."""
        fair = max(1, len(self.left) // (2 * self._workers))
        return [self.left.popleft() for _ in range(min(self._size, fair, len(self.left)))]

    def took(self, chunks: int, seconds: float) -> None:
        """So many chunks took a worker so long, without the time they waited for it."""
        wanted = chunks * self._wanted / max(seconds, 1e-3)
        self._size = int(max(1, min(MOST_CHUNKS, 2 * self._size, wanted)))
