"""Many runs in threads: for engines that do not execute Python code during a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import repeat

from cosim.engines.engine import Engine
from cosim.engines.starts import Starts

BLOCK = 16  # runs a thread takes at a time


def in_threads(engine: Engine, starts: Starts, workers: int, progress: Callable[[int], None] | None) -> None:
    """Each thread has an instance of the engine and takes some runs at a time until none are left."""
    count = len(starts)
    size = max(1, min(BLOCK, -(-count // workers)))
    blocks: Iterator[int] = iter(range(0, count, size))
    more = min(workers, -(-count // size)) - 1
    engines = [engine, *(engine.another(starts.context(0), starts.settings) for _ in range(more))]

    def work(one: Engine) -> None:
        for begin in blocks:  # threads share the iterator: next() on a range holds the GIL
            one.run_starts(starts, begin, min(begin + size, count))

    with ThreadPoolExecutor(len(engines)) as pool:
        try:
            futures = list(map(pool.submit, repeat(work), engines))
            while wait(futures, timeout=0.1).not_done:
                if progress is not None:
                    progress(starts.done)
        except BaseException:
            for _ in blocks:
                pass
            for one in engines:
                one.cancel()
            raise
        for future in futures:
            future.result()
    if progress is not None:
        progress(starts.done)
