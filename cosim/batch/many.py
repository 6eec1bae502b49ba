"""Many runs of one diagram: parameter sweeps, Monte Carlo, sets of initial values.

The diagram is flattened and compiled once; the runs share the code and nothing else, so they are the same
bits for any number of threads or processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from blocks.arguments import is_number, is_whole, number, whole_number
from blocks.contract.block import Block
from blocks.contract.rate import Rate
from blocks.errors import PlantloopError, SimulationError, near_miss, shown
from cosim.batch.groups import BuiltRuns, groups_of, joined
from cosim.batch.runs import Runs
from cosim.batch.watched_runs import WatchedRuns, kept_for_warnings, warn_of_runs
from cosim.batch.ways import WAYS, way_for
from cosim.block_alone import system_of
from cosim.diagram import Diagram
from cosim.driven import driven
from cosim.engines.choose import choose
from cosim.engines.engine import Engine
from cosim.engines.reference.log import log_times
from cosim.engines.starts import DONE, RUNNING, WAITING, Starts
from cosim.names import mapped
from cosim.progress import Progress, telling
from cosim.run.context import Context
from cosim.run.memory import check_memory
from cosim.run.named_values import set_all
from cosim.run.parameter_checks import check_runs
from cosim.settings import Keywords, RunSettings, takes_settings
from cosim.signal_tree import SignalTree
from cosim.system import System

KEYS = ("parameters", "initial", "seed")
RUNS = 'Write [{"parameters": {"block.k": 1.0}, "seed": 1}], or {"parameters": {"block.k": [1.0, 2.0]}}.'


@takes_settings
def simulate_many(
    diagram: Diagram | Block | System,
    runs: int | Sequence[Mapping[str, Any]] | Mapping[str, Any],
    until: float | None = None,
    *,
    threads: int | None = None,
    settings: RunSettings | None = None,
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
    log_every: Rate | None = None,
    log_at: Sequence[float] | None = None,
    signals: Sequence[str] | None = None,
    progress: Progress | bool | None = None,
    **keywords: Unpack[Keywords],
) -> Runs:
    """Run a diagram many times from t = 0 to `until` [s]: in threads, or in processes if it contains Python.

    Parameters
    ----------
    runs : list of {"parameters": {name: value}, "initial": {name: value}, "seed": int}, every key optional;
        or one such dict of arrays whose first axis counts the runs: ``{"parameters": {"plant.m": masses}}``;
        or the number of runs, which then differ only in their random draws
    threads : int           how many runs at once, in threads or processes; default the number of processors
    parameters, initial     for all runs; values of a run take precedence. Parameters of the diagram itself
                            may be structural (a sample time, the instant of a step): it is built once per
                            value
    log_every, log_at       instants to log; default the end only
    inputs, signals         as for `simulate`, of all runs
    progress : callable     called with how many runs are done; True shows a bar
    settings : RunSettings  several of the following at once; run i draws with seed + i unless it names
                            its own
    **settings

    Returns
    -------
    runs : Runs     ``runs["plant.x"]`` is (runs, n, k); failed runs are in ``runs.errors``, runs ended by a
                    stop event in ``runs.stopped``, ``runs.time_of_stop`` and ``runs.message``. Blocks that
                    warn (`CheckRange`, `Assertion`) do so once, with the number of runs; ``runs.how`` says
                    how the runs were executed and why

    >>> found = simulate_many(d, {"parameters": {"plant.m": np.linspace(0.1, 1, 1000)}}, 10.0)
    """
    chosen = RunSettings.of(settings, **keywords)
    workers = _processors() if threads is None else whole_number(threads, "threads")
    times, until = _times(until, log_every, log_at)
    drawn, constants = driven(diagram, inputs)
    groups = groups_of(drawn, parameters, _listed(runs), chosen.solve_loops, chosen.driven)
    several, trees = [], []
    for group in groups:
        system = system_of(group.diagram, chosen.solve_loops, chosen.driven)
        start = Context.initial(system)
        _give(system, start, {"parameters": group.parameters, "initial": initial})
        set_all(system, start, "input", constants)
        names = system.chosen(signals)
        trees.append(system.tree(names))
        more = kept_for_warnings(system, names)
        logged = np.append(times, until) if more and not (len(times) and times[-1] >= until) else times
        given, shown_there = mapped(group.parameters, "parameters"), [*names, *more]
        several.append(_starts(system, chosen, start, given, group.runs, until, logged, shown_there))
    return _run_groups(groups, several, trees, times, workers, progress)


def _times(
    until: float | None, log_every: Rate | None, log_at: Sequence[float] | None
) -> tuple[np.ndarray, float]:
    """The instants to log and the end of the runs [s], checked."""
    if until is None:
        raise PlantloopError(
            "until is missing, expected a finite time of zero or more [s].",
            hint="Write simulate_many(d, runs, until=10.0).",
        )
    until = number(until, "until", "a finite time of zero or more [s]", least=0.0)
    at_end = log_every is None and log_at is None
    times = log_times(0.0, until, log_every, [until] if at_end else log_at)
    if times is None:
        raise PlantloopError("steps differ from run to run; give log_every as an interval, or log_at.")
    return times, until


def _run_groups(
    groups: Sequence[BuiltRuns],
    several: Sequence[Starts],
    trees: Sequence[SignalTree],
    times: np.ndarray,
    workers: int,
    progress: Progress | bool | None,
) -> Runs:
    """Run the starts of every group, and join the results in the order of the runs."""
    done, parts, watched = 0, [], []
    with telling(progress, sum(map(len, several)), "runs done") as tell:
        for starts, group, tree in zip(several, groups, trees, strict=True):
            numbers = [*group.runs]
            found = _all(starts, numbers, workers, _from(done, tell))
            table = found.table[:, : len(times), : tree.width]
            parts.append(replace(found, time=times, tree=tree, table=table))
            watched.append(WatchedRuns.of(starts, numbers))
            done += len(starts)
    warn_of_runs(watched)
    return joined(parts, groups)


def _from(done: int, tell: Callable[[int], None] | None) -> Callable[[int], None] | None:
    """The progress function of one group of runs, which adds the runs of the groups before it."""
    return tell if tell is None or not done else lambda k: tell(done + k)


def _processors() -> int:
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def _listed(runs: int | Sequence[Mapping[str, Any]] | Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """One dict per run, checked."""
    if is_whole(runs) and runs >= 1:
        check_memory(500.0 * min(int(runs), 2**999), f"runs={shown(runs)}", "Do fewer runs at once.")
        return [{} for _ in range(int(runs))]
    no_list = isinstance(runs, (str, bytes)) or getattr(runs, "shape", None) == ()
    if no_list or not isinstance(runs, Iterable):
        raise PlantloopError(
            f"runs is {shown(runs)}, expected a list of dicts, one dict of arrays, or how many.",
            value=runs,
            hint=RUNS,
        )
    listed = _split(runs) if isinstance(runs, Mapping) else list(runs)
    for k, run in enumerate(listed):
        if not isinstance(run, Mapping):
            raise PlantloopError(f"run {k} is {shown(run)}, expected a dict.", value=run, hint=RUNS)
        for key in run:
            if key not in KEYS:
                text = f"run {k} has a key '{key}'; {near_miss(str(key), KEYS)}"
                raise PlantloopError(text, value=key, hint=RUNS)
    return listed


def _split(arrays: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Arrays whose first axis counts the runs, as one dict per run."""
    for key in arrays:
        if key not in KEYS:
            raise PlantloopError(f"runs has a key {shown(key)}; {near_miss(key, KEYS)}", value=key, hint=RUNS)
    given = {kind: mapped(arrays.get(kind), kind) for kind in ("parameters", "initial")}
    lengths: dict[str, int] = {}
    for values in given.values():
        lengths |= {name: len(np.atleast_1d(v)) for name, v in values.items()}
    if "seed" in arrays:
        lengths["seed"] = len(np.atleast_1d(arrays["seed"]))
    if len(set(lengths.values())) > 1:
        raise PlantloopError(f"arrays of different numbers of runs: {lengths}.", value=lengths)
    count = next(iter(lengths.values()), 0)
    split: list[Mapping[str, Any]] = []
    for k in range(count):
        run: dict[str, Any] = {}
        for kind, values in given.items():
            run[kind] = {name: np.atleast_1d(v)[k] for name, v in values.items()}
        if "seed" in arrays:
            run["seed"] = np.atleast_1d(arrays["seed"])[k]
        split.append(run)
    return split


def _starts(
    system: System,
    settings: RunSettings,
    start: Context,
    common: Iterable[str],
    runs: Mapping[int, Mapping[str, Any]],
    until: float,
    times: np.ndarray,
    names: list[str],
) -> Starts:
    """The start of each run: the start with the common parameters, and the run's own numbers on top."""
    count, mask = len(runs), 2**64 - 1
    x, h, w, p = (np.tile(v, (count, 1)) for v in (start.x, start.h, start.w, start.p))
    seeds = np.array(
        [_seed(run.get("seed", settings.seed + k), k) & mask for k, run in runs.items()], np.uint64
    )
    for row, (k, run) in enumerate(runs.items()):
        own = replace(start, x=x[row], h=h[row], w=w[row], p=p[row], next=h[row].copy())
        _give(system, own, run, f"run {k}: ")
    own_names = (name for run in runs.values() for name in run.get("parameters") or ())
    check_runs(system, p, dict.fromkeys((*common, *own_names)), [*runs])
    width, stop = system.tree(names).width, any(system.stops)
    check_memory(
        8.0 * count * (len(times) + stop) * (1 + width),
        f"{count} runs with {len(times)} rows of {width} numbers",
        "Log less often (log_every=), fewer signals (signals=), or do fewer runs at once.",
    )
    return Starts(
        system, settings, system.snapped(until), names, times, x, h, w, p, seeds,
        rows=np.full((count, len(times) + stop, 1 + width), np.nan),
        logged=np.zeros(count, np.int64),
        stopped=np.zeros(count, np.int32),
        ended=np.zeros(count),
        state=np.full(count, WAITING, np.int32),
    )  # fmt: skip


def _seed(value: Any, k: int) -> int:
    """The seed of run k."""
    if is_whole(value):
        return int(value)
    exact = is_number(value) and abs(value) < 2**53  # beyond, neighbours of a float are not whole numbers
    if not exact or value != int(value):
        raise PlantloopError(f"run {k}: seed is {shown(value)}, expected a whole number.", value=value)
    return int(value)


def _give(system: System, context: Context, values: Mapping[str, Any], where: str = "") -> None:
    """Put parameters and initial values into a context."""
    try:
        set_all(system, context, "parameter", mapped(values.get("parameters"), "parameters"))
        set_all(system, context, "state", mapped(values.get("initial"), "initial"))
    except PlantloopError as error:
        if not where:
            raise
        raise PlantloopError(f"{where}{error}", path=error.path, value=error.value) from error


def _all(
    starts: Starts, numbers: Sequence[int], workers: int, progress: Callable[[int], None] | None
) -> Runs:
    """Do all runs in the fastest way that is possible; repeat those that failed, to find the reason.

    numbers : what each is called in messages
    """
    tree = starts.system.tree(starts.names)
    errors: dict[int, PlantloopError] = {}
    table = starts.rows[:, : len(starts.times), 1:]
    if not len(starts):
        return Runs(starts.times, table, tree)
    engine = choose(starts.system, starts.settings, starts.context(0))
    engine.instances.close()  # every run has its own: what these hold, such as ports, is free for them
    how = way_for(engine, len(starts), workers)
    WAYS[how.way](engine, starts, how.workers, progress)
    for k in map(int, np.flatnonzero(starts.state != DONE)):
        if (error := _repeated(engine, starts, k, numbers[k])) is not None:
            errors[k] = error
    messages = tuple(starts.system.stops[k - 1] if k else "" for k in starts.stopped)
    stopped = starts.stopped > 0
    for k in map(int, np.flatnonzero(stopped)):  # the last logged row is that of the stop
        starts.rows[k, starts.logged[k] :] = starts.rows[k, starts.logged[k] - 1]
    time_of_stop = np.where(stopped, starts.ended, np.nan)
    return Runs(starts.times, table, tree, errors, how, stopped, time_of_stop, messages)


def _repeated(engine: Engine, starts: Starts, k: int, number: int) -> PlantloopError | None:
    """The reason why a run ended early; it is repeated where that is not known."""
    if starts.state[k] == RUNNING:
        starts.rows[k] = np.nan
        return SimulationError(
            f"run {number} ended with its process, without a message.",
            value=number,
            hint="A function of the diagram ended the program; look for it with threads=1.",
        )
    if (known := starts.errors.get(k)) is not None:
        return known
    try:
        engine.run_start(starts, k)
    except PlantloopError as error:
        return error
    return None
