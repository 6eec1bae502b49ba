"""A scenario read from a file: the diagram it describes, and how to run it."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property, partial
from itertools import accumulate, combinations
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from blocks.arguments import is_number
from blocks.errors import LOOKED_UP, PlantloopError, SimulationError, WiringError, near_miss
from cosim.block_names import ends_naming
from cosim.diagram import Diagram
from cosim.result.record import SettingValue
from cosim.result.result import Result
from cosim.run.context import Context
from cosim.run.named_values import set_initial, set_parameter
from cosim.scenario.factory import make_diagram
from cosim.scenario.fmu_tables import fmu_blocks
from cosim.scenario.keys import FilePlace
from cosim.scenario.replay import Recording, played, put
from cosim.scenario.schema import ConnectEntry, ModelTable, Tables
from cosim.scenario.source import ScenarioFile
from cosim.settings import RunSettings
from cosim.simulation import Simulation, simulate
from cosim.system import System

if TYPE_CHECKING:
    from plant import Plant


@dataclass(frozen=True)
class Scenario:
    """A run described in a file: the diagram, its numbers, the settings, and the outputs.

    Parameters
    ----------
    source : Source     the file
    tables : Tables     the contents of the file; ``scenario.tables.run.until`` and so on
    trust : bool        whether the Python code it names may be run

    Made by `load_scenario`.
    """

    source: ScenarioFile
    tables: Tables
    trust: bool = False

    @property
    def name(self) -> str:
        """The name of the run: ``[scenario] name``, else the name of the file."""
        return self.tables.scenario.name or self.source.path.stem

    def plant(self) -> Plant | None:
        """The block of ``[model]`` with the scenario's changes to its ports, None without a model.

        Raises
        ------
        ModelError        the model is wrong
        ScenarioError     the model has no such ports, or they cannot be changed in this way
        """
        model = self.tables.model
        if model is None:
            return None
        from plant import Plant

        file = self.source.path.parent / model.file
        return self._with_ports(Plant.read(file, trust=self.trust, coordinates=model.coordinates), model)

    def _with_ports(self, plant: Plant, model: ModelTable) -> Plant:
        place = self._place("model", "ports")
        known = [*plant.inputs, *plant.outputs]
        for port, hold in model.ports.items():
            given = {f.name: getattr(hold, f.name) for f in fields(hold)}
            if port not in known:
                place.at(port).add_problem(f"'{model.file}' has no port '{port}'; {near_miss(port, known)}")
                continue
            try:
                plant = plant.with_port(port, **{k: v for k, v in given.items() if v is not None})
                plant = _with_origin(plant, port, self.source.path.name)
            except PlantloopError as error:
                place.at(port).add_problem(str(error))
        place.raise_problems()
        return plant

    def diagram(self) -> Diagram:
        """The diagram, built anew; with a factory this runs its Python code.

        Raises
        ------
        ModelError, ScenarioError     the model, its ports or the factory are wrong
        """
        if self.tables.diagram is not None:
            return make_diagram(self.tables.diagram.factory, self._place("diagram", "factory"))
        d = Diagram(self.name)
        units: dict[str, dict[str, Any]] = {}
        for name, unit in self.tables.units.items():
            block, _, port = name.partition(".")
            units.setdefault(block, {})[port] = unit
        plant = self.plant()
        if plant is not None and self.tables.model is not None:
            d.add(self.tables.model.block, plant, units=units.get(self.tables.model.block))
        for name, made in self.tables.blocks.items():
            d.add(name, made, units=units.get(name))
        for name, fmu in fmu_blocks(self.tables.fmus, self._place("fmus")).items():
            d.add(name, fmu, units=units.get(name))
        for connection in self.tables.wiring.connect:
            self._connect(d, connection)
        for port in self.tables.wiring.ground:
            d.ground(port.strip())
        return d

    def settings(self) -> RunSettings:
        """The settings in ``[run]``."""
        return RunSettings.of(origin=f"{self.source.path.name} [run]", **self.tables.run.settings)

    @contextlib.contextmanager
    def wiring_located(self) -> Iterator[None]:
        """Wiring problems that come up inside are those of the file, with their lines.

        Raises
        ------
        ScenarioError           all of them together
        """
        place = self._place()
        try:
            yield
        except WiringError as error:
            for problem in error.problems:
                text = re.sub(r"ground\('(\S+)'\)", r'ground = ["\1"]', problem)  # as a file writes it
                text = re.sub(
                    r"expects (.*)connect\(\.\.\., convert=True\)",
                    r"expects \1[wiring] convert = [...]",
                    text,
                )
                text = re.sub(
                    r"add\('(\S+)', \.\.\., units=\{'(\S+)': \.\.\.\}\)", r'[units] "\1.\2" = ...', text
                )
                self._wiring_place(problem, place).add_problem(text, self._connection_named_in(problem))
            raise place.error() from error

    def system(self) -> System:
        """The flat system of the diagram; every name the scenario uses is checked against it.

        Raises
        ------
        ScenarioError           wrong ports, sizes, parameters, states or signals, all together
        AlgebraicLoopError      as for any diagram
        """
        diagram, place, settings = self.diagram(), self._place(), self.settings()
        with self.wiring_located():
            if self.tables.replay is not None:
                from cosim.scenario.handles import with_handles  # it imports `plant`

                opened = with_handles(diagram.netlist())
                system = opened.system(settings.solve_loops, settings.driven)
            else:
                system = diagram.system(settings.solve_loops, driven=settings.driven)
        self._check_numbers(system, place)
        self._check_signals(system, place)
        self._check_replay(system, place)
        place.raise_problems()
        return system

    def run(
        self,
        *,
        engine: str | None = None,
        progress: Callable[[float], None] | None = None,
        system: System | None = None,
        settings: RunSettings | None = None,
    ) -> Result:
        """Run the scenario with the settings in ``[run]``.

        Parameters
        ----------
        engine : str            instead of the scenario's
        progress : callable     called with the simulated time [s] after every stop
        system : System         what `system` returned, where it is at hand already
        settings : RunSettings  instead of those of ``[run]``

        Raises
        ------
        ScenarioError       a name or number does not fit the diagram
        SimulationError     the run stopped before its end; ``error.result`` has what was computed
        """
        ready, run = system or self.system(), self.tables.run
        settings = settings or self.settings()
        if engine is not None:
            settings = RunSettings.of(settings, engine=engine)
        logged: Any = {
            "parameters": self.tables.parameters,
            "initial": self.tables.initial,
            "signals": self.signals_to_log(ready),
        }
        try:
            if (recording := self.recording()) is not None:
                sim = Simulation(ready, settings=settings, **logged)
                result = played(sim, recording, run.until, (run.log_every, run.log_at), progress)
            else:
                result = simulate(
                    ready,
                    run.until,
                    settings=settings,
                    log_every=run.log_every,
                    log_at=run.log_at,
                    progress=progress,
                    **logged,
                )
        except SimulationError as error:
            if error.result is not None:
                error.result = self._with_scenario_setting(error.result)
            raise
        return self._with_scenario_setting(result)

    def export(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write the diagram with the scenario's numbers and settings as an FMU; see `cosim.export_fmu`.

        Its outputs are those of the diagram, or, where it has none, the signals the scenario logs.
        """
        from cosim.fmi.export.fmu_file import export_fmu

        self.refuse_replay("an FMU")
        system, t = self.system(), self.tables
        logged = self.signals_to_log(system)
        signals = None if logged is None else [name for name in logged if name in system.signals]
        return export_fmu(
            system, path, parameters=t.parameters, initial=t.initial, settings=self.settings(),
            outputs=None if system.outports else signals, stop=t.run.until,
            interval=t.run.log_every if is_number(t.run.log_every) else None, **options,
        )  # fmt: skip

    def recording(self) -> Recording | None:
        """The recorded actions in ``[replay]``; None without this table."""
        return None if self.tables.replay is None else self.tables.replay.recording()

    def refuse_replay(self, what: str) -> None:
        """Raise if the file has a table [replay], which `what` cannot use because it is about a single run.

        Raises
        ------
        ScenarioError      there is a table [replay]
        """
        if self.tables.replay is not None:
            place = self._place("replay")
            place.add_problem(f"{what} cannot replay a session: run the file, or take this table out.")
            raise place.error()

    # --- inside ---------------------------------------------------------------------------------
    def _connect(self, d: Diagram, entry: ConnectEntry) -> None:
        converted = self._converted
        for source, target in entry.pairs:
            try:
                d.connect(source, target, convert=target.strip() in converted)
            except WiringError as error:  # the block has several ports, or none
                place = self._place("wiring", "connect")
                for problem in error.problems:
                    place.add_problem(problem, entry.written)
                raise place.error() from error

    @cached_property
    def _converted(self) -> set[str]:
        """The ends of connections at which units are converted."""
        return ends_naming(self.tables.wiring.convert)

    def _place(self, *keys: str) -> FilePlace:
        return FilePlace(self.source, keys)

    def _wiring_place(self, problem: str, place: FilePlace) -> FilePlace:
        """The place in the file that a wiring problem is about, as far as its text tells."""
        if self._connection_named_in(problem):
            return place.at("wiring", "connect")
        if problem.startswith(("units of", "the unit of")):
            return place.at("units")
        blocks = re.findall(r"'([^'.\s]+)[.']", problem)
        named = next((name for name in blocks if name in self.tables.blocks), None)
        return place.at("blocks", named) if named else place.at("wiring")

    def _connection_named_in(self, problem: str) -> str | None:
        """The connection of which a wiring problem names both ports, or else one of them."""
        named = list(re.findall(r"'([^'\s]+\.[^'\s]+)'", problem))
        named += [f"{block}.{port}" for block, port in re.findall(r"'(\S+)' has \w+ \w+ '(\S+)'", problem)]
        both = [
            self._connections[pair]
            for pair in combinations(sorted(set(named)), 2)
            if pair in self._connections
        ]
        one = [self._connections[(name,)] for name in named if (name,) in self._connections]
        return min(both or one)[1] if both or one else None

    @cached_property
    def _connections(self) -> dict[tuple[str, ...], tuple[int, str]]:
        """The first connection with a port, or with two: its number and how it is written."""
        found: dict[tuple[str, ...], tuple[int, str]] = {}
        for k, entry in enumerate(self.tables.wiring.connect):
            for pair in entry.pairs:
                for ports in {tuple(sorted(set(pair))), *((port,) for port in pair)}:
                    found.setdefault(ports, (k, entry.written))
        return found

    def _check_numbers(self, system: System, place: FilePlace) -> None:
        """Check names and sizes of parameters and initial values, one by one to report all problems."""
        for table, give in (("parameters", set_parameter), ("initial", set_initial)):
            for name, value in getattr(self.tables, table).items():
                if _full(place):
                    return
                try:
                    give(system, Context.initial(system), name, value)
                except PlantloopError as error:
                    said = self._written_elsewhere(system, table, name) or str(error)
                    place.at(table, *self._keys(table, name)).add_problem(said)

    def _written_elsewhere(self, system: System, table: str, name: str) -> str:
        """Where the file says it: in the other table, or what a block is built with; "" for other names."""
        kind, other = ("state", "initial") if table == "parameters" else ("parameter", "parameters")
        own = "parameter" if table == "parameters" else "state"
        if system.names(own).find(name) is None and system.names(kind).find(name) is not None:
            return f"'{name}' is a {kind}, not a {own}: write it in [{other}]."
        block, _, key = name.rpartition(".")
        known = {"blocks": self.tables.blocks, "fmus": self.tables.fmus}
        home = next((home for home, named in known.items() if block in named), None)
        if home is None or name in system.parameters or system.fields.get(name) != "":
            return ""
        return f"'{name}' is structural: no run can change it. Write {key} = ... in [{home}.{block}]."

    def _keys(self, table: str, name: str) -> Iterable[str]:
        """Keys of a dotted name; the file may write it as one quoted key or as nested tables."""
        inside, keys, rest = self.source.tables[table], [], name
        while isinstance(inside, dict) and rest not in inside:
            words = accumulate(rest.split("."), "{}.{}".format)
            first = next(k for k in words if k in inside)
            keys.append(first)
            inside, rest = inside[first], rest[len(first) + 1 :]
        return [*keys, rest]

    def _check_replay(self, system: System, place: FilePlace) -> None:
        """Check names and sizes of replayed changes, and that each is before the end of the run."""
        if self.tables.replay is None or not self.tables.replay.changes:
            return
        sim = Simulation(system)
        for k, change in enumerate(self.tables.replay.changes):
            here = place.at("replay", "changes", k)
            if change.at > self.tables.run.until:
                here.add_problem(f"at {change.at:g} s the run is over.")
            try:
                put(sim, change.name, change.value)
            except PlantloopError as error:
                here.add_problem(str(error))

    def _check_signals(self, system: System, place: FilePlace) -> None:
        def check(at: FilePlace, name: str, find: Callable[[str], object]) -> None:
            if _full(place):
                return
            try:
                find(name)
            except PlantloopError as error:
                at.add_problem(str(error), name)

        for k, name in enumerate(self.tables.outputs.signals):
            check(place.at("outputs", "signals", k), name, system.chosen)
        for at, name in self._single_signals(place):
            check(at, name, partial(signal_of, system))

    def _single_signals(self, place: FilePlace) -> Iterable[tuple[FilePlace, str]]:
        """The single signals that pictures and checks name."""
        outputs, checks = self.tables.outputs, self.tables.checks
        for k, plot in enumerate(outputs.plots):
            for i, row in enumerate(plot.signals):
                at = place.at("outputs", "plots", k, "signals", i)
                if isinstance(row, str):
                    yield at, row
                else:
                    yield from ((at.at(j), name) for j, name in enumerate(row))
        for f in fields(checks):
            for name in getattr(checks, f.name):
                yield place.at("checks", f.name, name), name

    def signals_to_log(self, system: System) -> list[str] | None:
        """The signals to log: the listed ones and those that pictures and checks need; None for all."""
        listed = self.tables.outputs.signals
        if not listed:
            return None
        return system.chosen([*listed, *(name for _, name in self._single_signals(self._place()))])

    def _with_scenario_setting(self, result: Result) -> Result:
        """The result, with the scenario's file added to its settings."""
        scenario = SettingValue(str(self.source.path), self.tables.scenario.description or "file")
        return replace(result, settings={**result.settings, "scenario": scenario})


def _with_origin(plant: Plant, port: str, file: str) -> Plant:
    """The plant, with the file recorded as the origin of the hold of one of its ports."""
    ports = plant.inputs if port in plant.inputs else plant.outputs
    named = MappingProxyType({**ports, port: replace(ports[port], origin=file)})
    return replace(plant, inputs=named) if ports is plant.inputs else replace(plant, outputs=named)


def signal_of(system: System, name: str) -> str:
    """The signal of this name, or with a component of this name (``signal[i]``, ``signal.label``).

    Raises
    ------
    PlantloopError     no such signal or component
    """
    return system.locate(name)[0]


def _full(place: FilePlace) -> bool:
    """Whether there are so many problems that no other names are looked up; one of them says so."""
    if len(place.problems) == LOOKED_UP:
        place.add_problem(f"there are more than {LOOKED_UP} problems; other names are not looked up.")
    return len(place.problems) > LOOKED_UP
