"""Search for the case that ends its process, in ever smaller parts of what ran when a worker died.

Parts of one chunk are tried one after the other, since they go to the same files.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from cosim.study.job import Job, Tell
from cosim.study.running import refused_outcome
from cosim.study.work import Chunk, Tally, case_columns

Attempt = Callable[[Chunk], Tally | str]  # the tally of some cases, or a text about how their process ended


def find_culprits(job: Job, suspects: list[Chunk], attempt: Attempt, tell: Tell) -> None:
    """Run all cases of these chunks; one that ends its process by itself becomes a row.

    attempt : works at some cases of a chunk where that harms nobody else
    """
    if not suspects:
        return
    done = job.store.done()
    left = [(chunk, np.setdiff1d(cases, done)) for chunk, cases in suspects]
    while left:
        chunk, cases = left.pop()
        if not len(cases):
            continue
        found = attempt((chunk, cases))
        if isinstance(found, Tally):
            tell(found)
        elif len(cases) == 1:
            tell(lost_case(job, chunk, int(cases[0]), f"{found}, without a message"))
        else:
            half = len(cases) // 2
            left += [(chunk, cases[half:]), (chunk, cases[:half])]


def lost_case(job: Job, chunk: int, case: int, message: str) -> Tally:
    """Write the row of a case without results."""
    cases = np.array([case])
    found = refused_outcome(job.plan, cases, [message])
    signals = None
    if job.store.manifest.stored:
        width = sum(size for size, _ in job.store.manifest.stored.values())
        signals = np.full((1, len(job.store.manifest.times), width), np.nan, job.store.manifest.dtype)
    found = replace(found, table=found.table | {"wall_time": np.full(1, np.nan)}, signals=signals)
    job.store.commit(chunk, found, case_columns(job.plan, cases))
    return Tally(1, 1, 0)
