"""One scenario run in several ways: whole, with co-simulated blocks, as an FMU, with halved steps."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.contract.block import Block
from blocks.contract.driven import DrivenBlock
from blocks.contract.memories import ContinuousState
from blocks.contract.rate import rational
from blocks.contract.trace import LIBRARY, TraceCache
from blocks.errors import PlantloopError, near_miss
from cosim.compile.flatten import flatten
from cosim.compile.netlist import Inport, Netlist
from cosim.compile.sizes import resolve_sizes
from cosim.compile.wiring import expand
from cosim.diagram import Diagram
from cosim.fmi.coupling.coupling import Coupling
from cosim.fmi.simulated_unit import SimulatedUnit
from cosim.result.result import Result
from cosim.settings import RunSettings
from cosim.simulation import simulate
from cosim.system import System

if TYPE_CHECKING:
    from cosim.scenario.scenario import Scenario

Way = Callable[["Scenario", float], Result]


@dataclass(frozen=True)
class Differences:
    """Differences between runs of one scenario, each compared with the first run.

    ways : names of the runs; the others are compared with the first
    worst : (way, signal) -> largest difference at the logged instants, in the signal's unit
    size : signal -> its largest magnitude in the first run
    notes : what was run, in words
    """

    ways: tuple[str, ...]
    worst: Mapping[tuple[str, str], float]
    size: Mapping[str, float]
    notes: tuple[str, ...] = ()

    def relative(self, way: str, signal: str) -> float:
        """The largest difference over the largest magnitude."""
        size, worst = self.size[signal], self.worst[way, signal]
        return worst / size if size > 0 else (0.0 if worst == 0 else float("inf"))

    def coupling_share(self, signal: str) -> float | None:
        """The share of the co-simulated run's difference that is due to the coupling, 0 to 1.

        An FMU of the whole diagram has no coupling: its difference is due to solvers and sampling of logs.
        """
        if not {"cosim", "fmu"} <= set(self.ways[1:]):
            return None
        coupled, alone = (self.worst[way, signal] for way in ("cosim", "fmu"))
        return 0.0 if coupled == 0 else max(0.0, 1.0 - alone / coupled)

    def rows(self) -> Iterator[tuple[str, str]]:
        """Rows of a table: per signal the largest difference, absolute and relative to the signal."""
        for k, note in enumerate(self.notes):
            yield ("runs" if k == 0 else ""), note
        others = self.ways[1:]
        yield "compared with", f"{self.ways[0]}: largest difference (relative to the signal's largest value)"
        for signal in self.size:
            found = [f"{w} {self.worst[w, signal]:.3g} ({self.relative(w, signal):.2g})" for w in others]
            share = self.coupling_share(signal)
            more = "" if share is None else f"; coupling's share {100 * share:.0f} %"
            yield signal, "  ".join(found) + more


def differences(runs: Mapping[str, Result], notes: Sequence[str] = ()) -> Differences:
    """Compare runs, by name, that logged at the same instants."""
    (_, base), *others = runs.items()
    signals = [n for n in base if all(n in r for _, r in others)]
    worst: dict[tuple[str, str], float] = {}
    for way, result in others:
        rows = min(len(base.time), len(result.time))
        for name in signals:
            worst[way, name] = float(np.max(np.abs(base[name][:rows] - result[name][:rows]), initial=0.0))
    size = {n: float(np.max(np.abs(base[n]), initial=0.0)) for n in signals}
    return Differences(tuple(runs), worst, size, tuple(notes))


# --- halved steps -----------------------------------------------------------------------------------------
def halved_steps(scenario: Scenario, result: Result, engine: str | None = None) -> Differences:
    """Compare a run of a scenario with one in which every step is half as long.

    Steps of a fixed-step solver and communication steps of units are halved; an adaptive solver gets a tenth
    of its tolerances. Sample times of blocks are part of the diagram and are not changed.
    """
    settings = scenario.settings()
    notes = []
    if settings.adaptive:
        finer = RunSettings.of(settings, rtol=max(settings.rtol / 10, 1e-14), atol=settings.atol / 10)
        notes.append(f"rtol {settings.rtol:g} and {finer.rtol:g}, atol {settings.atol:g} and {finer.atol:g}")
    else:
        finer = RunSettings.of(settings, step=settings.step / 2)
        notes.append(f"solver's step {settings.step:g} s and {finer.step:g} s")
    drawn, units = _halved(scenario.diagram().netlist())
    notes += [f"unit '{name}': step {step:g} s and {step / 2:g} s" for name, step in units]
    system = flatten(drawn, finer.solve_loops, driven=finer.driven)
    if settings.coupling is not None and settings.coupling.rtol is not None:
        tighter = replace(settings.coupling, rtol=settings.coupling.rtol / 10)
        finer = RunSettings.of(finer, coupling=tighter)
        notes.append(f"rtol of the coupling {settings.coupling.rtol:g} and {tighter.rtol:g}")
    again = scenario.run(engine=engine, system=system, settings=finer)
    return differences({"as it is": result, "halved": again}, notes)


def _halved(netlist: Netlist, path: str = "") -> tuple[Netlist, list[tuple[str, float]]]:
    """A diagram whose units step twice as often, and the steps that they had before."""
    from cosim.fmi.fmu import FMU

    nodes: dict[str, Any] = {}
    units: list[tuple[str, float]] = []
    for name, node in netlist.nodes.items():
        if isinstance(node, Netlist):
            nodes[name], more = _halved(node, f"{path}{name}/")
            units += more
        elif isinstance(node, FMU) and node.interface.kind == "cs":
            assert node.sample is not None  # there is one in co-simulation
            step = rational(node.sample)
            nodes[name] = replace(node, sample=step / 2)
            units.append((f"{path}{name}", float(step)))
        else:
            nodes[name] = node
    return replace(netlist, nodes=nodes), units


# --- ways -------------------------------------------------------------------------------------------------
def compared(
    scenario: Scenario, ways: Sequence[str] = ("monolithic", "cosim", "fmu"), step: float | None = None
) -> Differences:
    """Run one scenario in several ways and compare the results.

    ways : the others are compared with the first

    ==========  ==================================================================================
    monolithic  the scenario as it is written
    cosim       every block with states or ticks is a co-simulated unit with a run of its own; FMUs for
                co-simulation are units already
    fmu         the whole diagram, written by `export_fmu` and run by its binary; left out, with a note,
                where something in it cannot be exported
    ==========  ==================================================================================

    step : communication step [s]; a sampled unit has that of its block, others default to the fastest of
        these, or a thousandth of the run

    Raises
    ------
    PlantloopError      a way that does not exist, or fewer than two that are possible
    """
    for way in ways:
        if way not in WAYS:
            raise PlantloopError(f"no way '{way}' to run a scenario; {near_miss(way, WAYS)}")
    if len(set(ways)) < 2 or len(set(ways)) < len(ways):
        raise PlantloopError(f"ways are {', '.join(ways) or 'none'}, expected two or three different ones.")
    scenario.refuse_replay("comparing ways")
    system = scenario.system()
    if step is None:
        periods = [float(rate.period) for rate in system.rates]
        step = min(periods, default=scenario.tables.run.until / 1000)
    if not step > 0:
        raise PlantloopError(f"step is {step}, expected a positive number of seconds.", value=step)
    refused = _refused(scenario) if "fmu" in ways else ""
    possible = [way for way in ways if way != "fmu" or not refused]
    if len(possible) < 2:
        raise PlantloopError(f"only {possible[0]} is possible of the ways {', '.join(ways)}. fmu: {refused}")
    runs = {way: WAYS[way](scenario, step) for way in possible}
    notes = [f"communication step {step:g} s", f"ways: {', '.join(possible)}"]
    return differences(runs, notes + ([f"not fmu: {refused}"] if refused else []))


def _refused(scenario: Scenario) -> str:
    """The reason why a scenario's diagram cannot be exported as an FMU, "" if it can."""
    from cosim.fmi.export.fmu_file import refuse_python

    settings = scenario.settings()
    try:
        refuse_python(scenario.diagram().system(settings.solve_loops), settings)
    except PlantloopError as error:
        return str(error)
    return ""


def _monolithic(scenario: Scenario, step: float) -> Result:
    return scenario.run()


def _cosim(scenario: Scenario, step: float) -> Result:
    """Run blocks with states or ticks as units that exchange only their signals."""
    settings = scenario.settings()
    own = RunSettings.of(settings, coupling=None)
    netlist = scenario.diagram().netlist()
    cache = TraceCache(library=LIBRARY)
    wired = resolve_sizes(expand(netlist, cache), cache)
    nodes: dict[str, Any] = {}
    used: set[str] = set()
    for name, node in netlist.nodes.items():
        nodes[name] = node
        if isinstance(node, (Inport, Netlist)) or isinstance(node.driven(), DrivenBlock):
            continue
        found = _dynamics(node)
        if found is not None:
            mine = {k: v for k, v in scenario.tables.initial.items() if k.startswith(f"{name}.")}
            used |= set(mine)
            initial = {k.removeprefix(f"{name}."): v for k, v in mine.items()}
            sizes = {i.name: i.size for i in wired[name].declared.inputs}
            nodes[name] = SimulatedUnit(node, found or step, settings=own, initial=initial, sizes=sizes)
    system = flatten(replace(netlist, nodes=nodes), settings.solve_loops, driven=True)
    coupling = settings.coupling or Coupling()
    return _run(scenario, system, RunSettings.of(settings, coupling=coupling), used)


def _dynamics(block: Block) -> Any:
    """The period of a sampled block, 0 for one with continuous states, None for one without a memory."""
    from cosim.block_alone import around

    system = around(block).system()
    if system.states and any(isinstance(s.memory, ContinuousState) for s in system.states.values()):
        return 0
    return min((rate.period for rate in system.rates), default=None)


def _run(scenario: Scenario, system: System, settings: RunSettings, used: set[str]) -> Result:
    """Run a system at the scenario's log instants, with its numbers except the initial values in `used`."""
    run = scenario.tables.run
    wanted = [n for n in scenario.signals_to_log(scenario.system()) or () if n in system.signals]
    return simulate(
        system, run.until, settings=settings, log_every=run.log_every, log_at=run.log_at,
        parameters=scenario.tables.parameters,
        initial={k: v for k, v in scenario.tables.initial.items() if k not in used},
        signals=wanted or None,
    )  # fmt: skip


def _fmu(scenario: Scenario, step: float) -> Result:
    """Run the whole diagram as an FMU whose variables include its signals."""
    from cosim.fmi.export.fmu_file import export_fmu
    from cosim.fmi.fmu import FMU

    system, settings = scenario.system(), scenario.settings()
    names = [n for n in (scenario.signals_to_log(system) or system.signals) if n in system.signals]
    run = scenario.tables.run
    with tempfile.TemporaryDirectory() as folder:
        path = export_fmu(
            scenario.diagram(), Path(folder) / "whole.fmu", kinds=("cs",), locals=names, sources=False,
            parameters=scenario.tables.parameters, initial=scenario.tables.initial, settings=settings,
        )  # fmt: skip
        described = FMU(path, kind="cs", sample=1).description
        shown = {n: _variables(n, system.signal(n).size, described.variables) for n in names}
        sample = step if run.log_at is not None else _log_interval(run.log_every, run.until)
        unit = FMU(path, kind="cs", sample=sample, outputs=[v for found in shown.values() for v in found])
        d = Diagram("as an FMU")
        d.add("whole", unit)
        for v in unit.description.inputs:
            d.ground(d["whole"][v.name])
        r = simulate(d, run.until, log_every=run.log_every, log_at=run.log_at, coupling="jacobi")
    signals = {n: np.column_stack([r[f"whole.{v}"] for v in found]) for n, found in shown.items() if found}
    return Result(name="as an FMU", time=r.time, signals=signals)


def _log_interval(log_every: Any, until: float) -> Any:
    """The time between two rows of the log [s], at which the FMU is stepped."""
    return until / 1000 if log_every is None or isinstance(log_every, str) else log_every


def _variables(name: str, size: int, known: Mapping[str, Any]) -> list[str]:
    """Names of a signal in an exported FMU, one of an array or one per component; none if it lacks it."""
    names = [name] if size == 1 or name in known else [f"{name}[{k + 1}]" for k in range(size)]
    return names if all(n in known for n in names) else []


WAYS: Mapping[str, Way] = {"monolithic": _monolithic, "cosim": _cosim, "fmu": _fmu}
"""Ways to run a scenario, by their names."""
