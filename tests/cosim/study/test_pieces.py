"""Pieces of work: as long as handing one to every worker takes, by the time workers say they took."""

import numpy as np
import pytest

from cosim.study.estimate import _timed
from cosim.study.job import Pieces
from cosim.study.work import Tally


@pytest.mark.parametrize(("workers", "seconds"), [(2, 1.0), (100, 1.0), (300, 3.0), (1000, 10.0)])
def test_more_workers_get_longer_pieces(workers, seconds):
    one = np.arange(1)
    pieces = Pieces([(k, one) for k in range(100_000)], workers)
    sizes = []
    for _ in range(40):
        sizes.append(len(pieces.next()))
        pieces.took(sizes[-1], 0.25 * sizes[-1])  # s: a chunk takes a quarter of a second
    assert sizes[0] == 1 and sizes[-1] == seconds / 0.25


def test_all_chunks_are_handed_out_once_and_the_last_pieces_are_small():
    pieces = Pieces([(k, np.arange(1)) for k in range(500)], 4)
    found, sizes = [], []
    while pieces.left:
        piece = pieces.next()
        found += [chunk for chunk, _ in piece]
        sizes.append(len(piece))
        pieces.took(len(piece), 0.01 * len(piece))
    assert found == list(range(500))
    assert max(sizes) > 8 and sizes[-1] == 1


def test_tallies_add_up():
    assert Tally(1, 2, 3, 0.5) + Tally(10, 20, 30, 0.25) == Tally(11, 22, 33, 0.75)


class RunnerWithAnOverhead:
    """A batch takes 20 ms and 0.1 ms per case, on a clock of its own."""

    def __init__(self):
        self.clock, self.done = 0.0, 0

    def run(self, cases):
        self.clock += 0.02 + 1e-4 * len(cases)
        self.done += len(cases)


@pytest.mark.parametrize(
    ("cases", "seconds"), [(1_000_000, 1.39e-4), (20_000, 1.5e-4), (100, 2.6e-3), (3, 6.8e-3)]
)
def test_the_time_of_a_case_is_not_that_of_its_batch(cases, seconds, monkeypatch):
    """Else chunks of quick cases are so small that writing them takes as long as running them."""
    runner = RunnerWithAnOverhead()
    monkeypatch.setattr("cosim.study.estimate.time.perf_counter", lambda: runner.clock)
    assert _timed(runner, cases) == pytest.approx(seconds, rel=0.05)
    assert runner.done <= max(16, cases // 20)
