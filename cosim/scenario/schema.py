"""All tables and keys of a scenario file, and the values they accept.

A file describes either a diagram (``[model]``, ``[blocks]``, ``[wiring]``) or names a Python function that
makes one (``[diagram]``), then how to run it and what to show::

    [model]
    file = "inverted_pendulum.xml"

    [blocks.controller]
    type = "StateFeedback"
    K = [[76.4, 18.4, -23.2, -14.0]]
    sample = 0.01

    [wiring]
    connect = ["controller.u -> plant.control_force"]

    [run]
    until = 10.0
"""

# ruff: noqa: RUF009 (a field is made by `key`, which is dataclasses.field with a check)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from blocks import Block
from blocks.errors import WiringError
from cosim.block_names import FORBIDDEN, written_connections
from cosim.scenario.blocks import block
from cosim.scenario.fmu_tables import FMUTable
from cosim.scenario.keys import (
    Check,
    Expected,
    FilePlace,
    duration,
    either,
    file_name,
    integer,
    interval,
    key,
    keys_among,
    list_of,
    matching,
    moments,
    number,
    numbers_in,
    one_of,
    quantities,
    record,
    table_of,
    text,
    unit_texts,
)
from cosim.scenario.replay import Change, Recording
from cosim.settings import SETTINGS

PICTURES = (".png", ".svg", ".pdf")
RESULTS = (".nc", ".npz", ".csv")
COORDINATES = ("joint", "absolute")

plain_name = matching(
    r"(?!.:)[^\s./\\\x00-\x1f\x7f-\x9f][^/\\\x00-\x1f\x7f-\x9f]*",
    "a name",
    "It also names the folder of the results: leave / and \\ out, and characters that move a cursor.",
)
port = matching(
    r"\s*[^.\s]+\.\S+\s*", 'text "block.port"', 'A port is named by its block: "plant.control_force".'
)
function = matching(
    r"[\w.]+:\w+", 'text "module:function"', "The module is a Python file beside the scenario."
)


def block_name(value: Any, place: FilePlace) -> str:
    """A check of the name of a block in a diagram."""
    if not isinstance(value, str) or not value or FORBIDDEN & set(value):
        raise Expected("a block name without . / [ ] and blanks")
    return value


@dataclass(frozen=True, kw_only=True)
class About:
    """``[scenario]``: the name of the run, by default that of the file, and a description."""

    name: str = key(plain_name, default="")
    description: str = key(text, default="")


@dataclass(frozen=True, kw_only=True)
class PortTable:
    """``[model.ports.<port>]``: values of one port in place of the model's; see `plant.Plant.with_port`."""

    hold_order: int | None = key(integer(least=0), default=None)
    sampling_period: Any = key(duration(least=0), default=None)  # s; 0 takes the rate of what drives the port
    offset_time: Any = key(duration(least=0), default=None)  # s
    filter: float | None = key(number(least=0, unit="s"), default=None)  # of an input; 0 for none


@dataclass(frozen=True, kw_only=True)
class ModelTable:
    """``[model]``: a multibody model that becomes a block of the diagram."""

    file: str = key(text)  # relative to the scenario file
    block: str = key(block_name, default="plant")  # its name in the diagram
    coordinates: str = key(one_of(COORDINATES), default="joint")
    ports: Mapping[str, PortTable] = key(table_of(record(PortTable)), default_factory=dict)


@dataclass(frozen=True)
class ConnectEntry:
    """One entry of `WiringTable.connect`: pairs of output and input, each ``block.port`` or ``block``."""

    pairs: tuple[tuple[str, str], ...]
    written: str


def connection(value: Any, place: FilePlace) -> ConnectEntry:
    """Text as `Diagram.connect` takes it: ``"a.y -> b.u, c.u"``, or a series ``"a -> b -> c.u"``."""
    try:
        pairs = written_connections(value)
    except WiringError:
        pairs = [("", "")]
    for end in (end for pair in pairs for end in pair):
        block, dot, name = end.partition(".")
        if not block or bool(dot) != bool(name) or set(end) & set(" \t"):
            raise Expected('text "block.output -> block.input"')
    return ConnectEntry(tuple(pairs), value)


@dataclass(frozen=True, kw_only=True)
class WiringTable:
    """``[wiring]``: which output drives which input, and which inputs are left open (zero) on purpose."""

    connect: tuple[ConnectEntry, ...] = key(list_of(connection), default=())
    convert: tuple[str, ...] = key(list_of(port), default=())  # inputs that get signals in their own units
    ground: tuple[str, ...] = key(list_of(port), default=())


@dataclass(frozen=True, kw_only=True)
class Factory:
    """``[diagram]``: a Python function without arguments that returns the Diagram; runs with trust only."""

    factory: str = key(function)


def setting(name: str) -> Check:
    """A check of a setting of a run, by the setting's own rule."""
    rule = SETTINGS[name].metadata["rule"]

    def check(value: Any, place: FilePlace) -> Any:
        if not rule.accepts(value):
            raise Expected(rule.expected, rule.cure(value))
        return rule.kept(value)

    return check


@dataclass(frozen=True, kw_only=True)
class Run:
    """``[run]``: the length of the run and its settings; the same as the arguments of `cosim.simulate`."""

    until: float = key(number(least=0, unit="s"))
    log_every: Any = key(either(one_of(["step"]), duration(above=0)), default=None)  # s, or "step"
    log_at: tuple[float, ...] | None = key(moments, default=None)  # s
    settings: Mapping[str, Any] = keys_among({name: setting(name) for name in SETTINGS})  # given ones only


def row_of_plot(value: Any, place: FilePlace) -> Any:
    """A signal, or a list of those that share axes."""
    return list_of(text)(value, place) if isinstance(value, list) and value else text(value, place)


@dataclass(frozen=True, kw_only=True)
class Plot:
    """``[[outputs.plots]]``: one picture, a row per signal, or per list of signals."""

    file: str = key(file_name(*PICTURES))
    signals: tuple[str | tuple[str, ...], ...] = key(list_of(row_of_plot))
    title: str | None = key(text, default=None)
    labels: tuple[str, ...] = key(list_of(text), default=())  # over the rows, in place of the names
    time: tuple[float, float] | None = key(interval, default=None)  # s, the part of the run to show


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """``[outputs]``: signals to log and files to write; without `signals` everything is logged."""

    signals: tuple[str, ...] = key(list_of(text), default=())
    result: str = key(file_name(*RESULTS), default="result.nc")
    plots: tuple[Plot, ...] = key(list_of(record(Plot)), default=())


@dataclass(frozen=True, kw_only=True)
class Final:
    """``[checks.final]``: a signal is `value` at the end, within `tolerance` if that is given."""

    value: float = key(number())
    tolerance: float | None = key(number(least=0), default=None)


@dataclass(frozen=True, kw_only=True)
class Largest:
    """``[checks.largest]``: the largest magnitude a signal reaches, at most `limit` if that is given."""

    limit: float | None = key(number(least=0), default=None)


@dataclass(frozen=True, kw_only=True)
class Settling:
    """``[checks.settling]``: when a signal enters ``value +- band`` for good, at most `within`."""

    band: float = key(number(above=0))
    value: float = key(number(), default=0.0)
    within: float | None = key(number(above=0, unit="s"), default=None)


@dataclass(frozen=True, kw_only=True)
class Checks:
    """``[checks]``: numbers to report of a run, by signal; one with a limit passes or fails."""

    final: Mapping[str, Final] = key(table_of(record(Final)), default_factory=dict)
    largest: Mapping[str, Largest] = key(table_of(record(Largest)), default_factory=dict)
    settling: Mapping[str, Settling] = key(table_of(record(Settling)), default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class ReplayChange:
    """``[[replay.changes]]``: a value given to a parameter or an input at an instant [s]."""

    at: float = key(number(least=0, unit="s"))
    name: str = key(text)
    value: Any = key(numbers_in)


@dataclass(frozen=True, kw_only=True)
class ReplayTable:
    """``[replay]``: the actions on a run that was watched; see `cosim.scenario.replay`."""

    every: Any = key(duration(above=0))  # s
    stops: tuple[float, ...] = key(list_of(number(least=0)), default=())  # s
    changes: tuple[ReplayChange, ...] = key(list_of(record(ReplayChange)), default=())

    def recording(self) -> Recording:
        """The changes and stops as a `Recording`, in the order of time."""
        changes = sorted((Change(c.at, c.name, c.value) for c in self.changes), key=lambda c: c.at)
        return Recording(self.every, sorted(self.stops), changes)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """A whole scenario file."""

    scenario: About = key(record(About), default=About())
    model: ModelTable | None = key(record(ModelTable), default=None)
    blocks: Mapping[str, Block] = key(table_of(block, names=block_name), default_factory=dict)
    fmus: Mapping[str, FMUTable] = key(table_of(record(FMUTable), names=block_name), default_factory=dict)
    wiring: WiringTable = key(record(WiringTable), default=WiringTable())
    diagram: Factory | None = key(record(Factory), default=None)
    units: Mapping[str, Any] = key(unit_texts, default_factory=dict)  # of ports and parameters, by name
    parameters: Mapping[str, Any] = key(quantities, default_factory=dict)
    initial: Mapping[str, Any] = key(quantities, default_factory=dict)
    run: Run = key(record(Run))
    replay: ReplayTable | None = key(record(ReplayTable), default=None)
    outputs: Outputs = key(record(Outputs), default=Outputs())
    checks: Checks = key(record(Checks), default=Checks())
