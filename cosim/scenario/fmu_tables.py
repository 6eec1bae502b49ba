"""FMUs in a scenario: ``[fmus.motor]`` with its file and arguments. They run with trust only."""

# ruff: noqa: RUF009 (a field is made by `key`, which is dataclasses.field with a check)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blocks.errors import PlantloopError
from blocks.files import is_file
from cosim.scenario.keys import (
    Expected,
    FilePlace,
    boolean,
    duration,
    key,
    list_of,
    number,
    one_of,
    text,
)
from cosim.scenario.source import no_such_file

if TYPE_CHECKING:
    from cosim.fmi.fmu import FMU

IMPORTERS = ("native", "fmpy", "pyfmi")


def start_values(value: Any, place: FilePlace) -> dict[str, Any]:
    """Start values by name; the FMU checks later which names it has."""
    if not isinstance(value, dict):
        raise Expected("values by name, as in { J = 0.1 }")
    return dict(value)


@dataclass(frozen=True, kw_only=True)
class FMUTable:
    """``[fmus.<name>]``: an FMU as a block of that name; the keys are the arguments of `cosim.FMU`."""

    file: str = key(text)  # relative to the scenario file
    kind: str | None = key(one_of(("cs", "me", "se")), default=None)
    sample: Any = key(duration(above=0), default=None)  # s
    offset: Any = key(duration(least=0), default=0)  # s
    start: Mapping[str, Any] = key(start_values, default_factory=dict)
    outputs: tuple[str, ...] | None = key(list_of(text), default=None)
    isolate: bool = key(boolean, default=False)
    importer: str = key(one_of(IMPORTERS), default="native")
    timeout: float | None = key(number(above=0, unit="s"), default=None)
    event_mode: bool | None = key(boolean, default=None)
    stop_time: float | None = key(number(unit="s"), default=None)
    start_time: float = key(number(unit="s"), default=0.0)


def check_fmus(tables: Mapping[str, FMUTable], place: FilePlace, trust: bool) -> None:
    """Check that the files of the FMUs exist and may be run."""
    for name, table in tables.items():
        file = place.source.path.parent / table.file
        if not is_file(file):
            place.at(name, "file").add_problem(no_such_file(file, "FMU"))
        elif not trust:
            place.at(name, "file").add_problem(
                f"running this scenario would run the native code in '{file}'. If you trust it, allow that "
                "with --trust, or load_scenario(..., trust=True)."
            )


def fmu_blocks(tables: Mapping[str, FMUTable], place: FilePlace) -> dict[str, FMU]:
    """The FMUs of the tables as blocks.

    Raises
    ------
    ScenarioError      an FMU cannot be used so, with the table it is in
    """
    if not tables:
        return {}
    from cosim.fmi.fmu import FMU

    found = {}
    for name, table in tables.items():
        given = {f.name: getattr(table, f.name) for f in fields(table) if f.name != "file"}
        path: Path = place.source.path.parent / table.file
        try:
            found[name] = FMU(path, **given)
        except PlantloopError as error:
            place.at(name).add_problem(str(error))
    place.raise_problems()
    return found
