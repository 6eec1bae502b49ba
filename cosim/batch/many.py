"""Many runs of one diagram: parameter sweeps, Monte Carlo, sets of initial values.

The diagram is flattened and compiled once; the runs share the code and nothing else, so they are the same
bits for any number of threads.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field, replace
from itertools import repeat
from typing import Any, Unpack

import numpy as np

from blocks.contract.block import Block
from blocks.contract.rate import Rate
from blocks.errors import PlantloopError, near_miss
from cosim.diagram import Diagram
from cosim.engines.choose import choose
from cosim.engines.engine import Engine
from cosim.engines.native import bindings as b
from cosim.engines.native.native import NativeEngine
from cosim.engines.reference.log import log_times
from cosim.names import Names
from cosim.run.context import Context
from cosim.run.given import set_initial, set_parameter
from cosim.settings import Keywords, RunSettings, takes_settings
from cosim.simulation import Simulation
from cosim.system import System

BLOCK = 16  # runs a thread takes at a time
KEYS = ("parameters", "initial", "seed")


@dataclass(frozen=True, repr=False)
class Runs:
    """What many runs leave behind.

    time : (n,) s                    instants logged, the same in all runs
    table : (runs, n, width)         all signals side by side; ``runs["plant.x"]`` is a view (runs, n, k)
    columns : name -> slice of width
    errors : run -> exception        runs that stopped before their end; what is missing of them is nan
    labels : name -> texts           of a signal's components; optional
    aliases : name -> signal         other names of signals: the outputs of the diagram

    >>> runs["plant.x"]                                # (runs, n, k)
    >>> runs["plant.x[0]"], runs["plant.x.theta"]      # (runs, n): one component, by number or label
    """

    time: np.ndarray
    table: np.ndarray
    columns: Mapping[str, slice]
    errors: Mapping[int, PlantloopError] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, name: str) -> np.ndarray:
        signal, component = self._names.locate(name)
        values = self.table[:, :, self.columns[signal]]
        return values if component is None else values[:, :, component]

    @property
    def _names(self) -> Names:
        size = lambda n: self.columns[n].stop - self.columns[n].start
        labels = lambda n: self.labels.get(n, ())
        return Names("signal", "the log", self.columns, self.aliases, size=size, labels=labels)

    def keys(self) -> list[str]:
        """Names of the logged signals."""
        return list(self.columns)

    def __repr__(self) -> str:
        failed = f", {len(self.errors)} stopped early" if self.errors else ""
        return f"<{len(self)} runs: {len(self.time)} instants, {len(self.columns)} signals{failed}>"


@takes_settings
def simulate_many(
    diagram: Diagram | Block | System,
    runs: Sequence[Mapping[str, Any]] | Mapping[str, Any],
    until: float,
    *,
    threads: int | None = None,
    settings: RunSettings | None = None,
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    log_every: Rate | None = None,
    log_at: Sequence[float] | None = None,
    signals: Sequence[str] | None = None,
    progress: Callable[[int], None] | None = None,
    **keywords: Unpack[Keywords],
) -> Runs:
    """Run a diagram many times from t = 0 to `until` [s], in threads where nothing in it is Python.

    Parameters
    ----------
    runs : list of {"parameters": {name: value}, "initial": {name: value}, "seed": int}, every key optional;
        or one such dict of arrays whose first axis counts the runs: ``{"parameters": {"plant.m": masses}}``
    threads : int           default: as many as there are processors
    parameters, initial     for all runs; those of a run come on top
    log_every, log_at       instants to log; default the end only
    signals                 as for `simulate`
    progress : callable     told how many runs are done
    settings : RunSettings  several of the following at once; run i draws with seed + i unless it names
                            its own
    **settings

    Returns
    -------
    runs : Runs     ``runs["plant.x"]`` is (runs, n, k); a run that fails is in ``runs.errors``

    >>> found = simulate_many(d, {"parameters": {"plant.m": np.linspace(0.1, 1, 1000)}}, 10.0)
    """
    chosen = RunSettings.of(settings, **keywords)
    if threads is not None and threads < 1:
        raise PlantloopError(f"threads is {threads}, expected one or more.", value=threads)
    at_end = log_every is None and log_at is None
    times = log_times(0.0, float(until), log_every, [float(until)] if at_end else log_at)
    if times is None:
        raise PlantloopError("steps differ from run to run; give log_every as an interval, or log_at.")
    base = Simulation(
        diagram, settings=chosen, engine="reference", initial=initial, parameters=parameters, signals=signals
    )
    batch = _Batch(base, chosen, _listed(runs), float(until), times, signals)
    return batch.run(threads or _processors(), progress)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _listed(runs: Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """One dict per run, checked."""
    listed = _split(runs) if isinstance(runs, Mapping) else list(runs)
    for k, run in enumerate(listed):
        if not isinstance(run, Mapping):
            raise PlantloopError(f"run {k} is a {type(run).__name__}, expected a dict.", value=run)
        for key in run:
            if key not in KEYS:
                raise PlantloopError(f"run {k} has a key '{key}'; {near_miss(str(key), KEYS)}", value=key)
    return listed


def _split(arrays: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Arrays whose first axis counts the runs, as one dict per run."""
    lengths: dict[str, int] = {}
    for kind in ("parameters", "initial"):
        lengths |= {name: len(np.atleast_1d(v)) for name, v in arrays.get(kind, {}).items()}
    if "seed" in arrays:
        lengths["seed"] = len(np.atleast_1d(arrays["seed"]))
    if len(set(lengths.values())) > 1:
        raise PlantloopError(f"arrays of different numbers of runs: {lengths}.", value=lengths)
    count = next(iter(lengths.values()), 0)
    unknown = {key: arrays[key] for key in arrays if key not in KEYS}  # refused by name later
    split: list[Mapping[str, Any]] = []
    for k in range(count):
        run: dict[str, Any] = dict(unknown)
        for kind in ("parameters", "initial"):
            run[kind] = {name: np.atleast_1d(v)[k] for name, v in arrays.get(kind, {}).items()}
        if "seed" in arrays:
            run["seed"] = int(np.atleast_1d(arrays["seed"])[k])
        split.append(run)
    return split


def _python_blocks(system: System) -> str:
    """Blocks that call Python, in words; empty if there are none."""
    paths = [s.path for s in system.schedule if s.external is not None]
    listed = [f"'{path}'" for path in dict.fromkeys([*system.opaque, *paths])]
    return ", ".join(listed[:3]) + (f" and {len(listed) - 3} more" if len(listed) > 3 else "")


class _Batch:
    """Start values of all runs, and room for what they log."""

    def __init__(
        self,
        base: Simulation,
        settings: RunSettings,
        runs: list[Mapping[str, Any]],
        until: float,
        times: np.ndarray,
        signals: Sequence[str] | None,
    ) -> None:
        self.system, self.settings = base.system, settings
        self.until, self.times, self.count = base.system.snapped(until), times, len(runs)
        self.names = self.system.chosen(signals)
        start = base.snapshot_of_start()
        self.x, self.h, self.w, self.p = (
            np.tile(v, (self.count, 1)) for v in (start.x, start.h, start.w, start.p)
        )
        mask = 2**64 - 1
        self.seeds = np.array(
            [int(run.get("seed", self.settings.seed + k)) & mask for k, run in enumerate(runs)], np.uint64
        )
        for k, run in enumerate(runs):
            self._apply(k, run, start)
        self.columns, width = {}, 0
        for name in self.names:
            size = self.system.signal(name).size
            self.columns[name] = slice(width, width + size)
            width += size
        self.rows = np.full((self.count, len(times), 1 + width), np.nan)
        self.logged = np.zeros(self.count, np.int64)
        self.reason = np.full(self.count, b.CANCELLED, np.int32)
        self.errors: dict[int, PlantloopError] = {}

    def _apply(self, k: int, run: Mapping[str, Any], start: Context) -> None:
        context = replace(start, x=self.x[k], h=self.h[k], w=self.w[k], p=self.p[k], next=self.h[k].copy())
        try:
            for name, value in run.get("parameters", {}).items():
                set_parameter(self.system, context, name, value)
            for name, value in run.get("initial", {}).items():
                set_initial(self.system, context, name, value)
        except PlantloopError as error:
            raise PlantloopError(f"run {k}: {error}", path=error.path, value=error.value) from error

    def run(self, threads: int, progress: Callable[[int], None] | None) -> Runs:
        """Do all runs; the compiled ones in threads, the others one after the other."""
        first = self._engine(0) if self.count else None
        if isinstance(first, NativeEngine) and first.runs_alone:
            self._compiled(first, threads, progress)
        elif self.count > 1 and (python := _python_blocks(self.system)):
            warnings.warn(
                f"'{self.system.name}' has Python in it ({python}): the runs go one after the other, in one "
                "thread.",
                stacklevel=3,
            )
        for k in np.flatnonzero(self.reason != b.DONE):
            self._one(int(k))
            if progress is not None:
                progress(int((self.reason == b.DONE).sum()))
        signals = [self.system.signals[n] for n in self.names]
        labels = {s.name: s.labels for s in signals if s.labels}
        aliases = {a: s for a, s in self.system.outports.items() if s in self.columns}
        return Runs(self.times, self.rows[:, :, 1:], self.columns, self.errors, labels, aliases)

    def _engine(self, k: int) -> Engine:
        """An engine with the start of one run."""
        settings = replace(self.settings, seed=int(self.seeds[k]))
        context = Context.initial(self.system)
        context.x[:], context.h[:], context.w[:], context.p[:] = self.x[k], self.h[k], self.w[k], self.p[k]
        context.next[:] = self.h[k]
        engine = choose(self.system, settings, context)
        engine.start_log(self.names, self.times)
        return engine

    def _compiled(self, first: NativeEngine, threads: int, progress: Callable[[int], None] | None) -> None:
        batch = b.Batch(
            self.until, *(b.address(v) for v in (self.x, self.h, self.w, self.p, self.seeds)),
            b.address(self.rows), b.address(self.logged), b.address(self.reason),
        )  # fmt: skip
        size = max(1, min(BLOCK, -(-self.count // threads)))
        blocks: Iterator[int] = iter(range(0, self.count, size))
        engines: list[NativeEngine] = []

        def work(engine: NativeEngine) -> None:
            for begin in blocks:  # threads share the iterator: next() on a range holds the GIL
                engine.run_batch(batch, begin, min(size, self.count - begin))

        for k in range(min(threads, -(-self.count // size))):
            engine = first if k == 0 else self._engine(0)
            assert isinstance(engine, NativeEngine)  # as the first
            engines.append(engine)
        with ThreadPoolExecutor(len(engines)) as pool:
            futures = list(map(pool.submit, repeat(work), engines))
            try:
                while wait(futures, timeout=0.1).not_done:
                    if progress is not None:
                        progress(int((self.reason == b.DONE).sum()))
            except BaseException:
                for _ in blocks:
                    pass
                for engine in engines:
                    engine.cancel()
                raise
            for future in futures:
                future.result()

    def _one(self, k: int) -> None:
        """A run with Python in it, or with a failure to be explained."""
        engine = self._engine(k)
        try:
            engine.advance(self.until)
        except PlantloopError as error:
            self.errors[k] = error
        logged = engine.logged()
        self.rows[k] = np.nan
        self.rows[k, : len(logged.time)] = np.column_stack(
            [logged.time, *(logged.signals[n] for n in self.names)]
        )
        self.reason[k] = b.DONE
