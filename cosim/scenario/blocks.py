"""Blocks from their tables: ``[blocks.controller]`` with the type of the block and its fields."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from blocks import Block, PlantloopError, library
from blocks.errors import near_miss
from blocks.files import is_file, is_inside, is_no_file
from cosim.scenario.keys import Expected, FilePlace, as_toml, check_known
from cosim.scenario.source import no_such_file

HARDWARE = ("UDPSend", "UDPReceive", "SharedMemoryWrite", "SharedMemoryRead")
"""Blocks for hardware in the loop, beside those of the library."""

FAULTS = (PlantloopError, TypeError, ValueError, ArithmeticError, MemoryError, RecursionError)
"""What a block raises for a bad field; all but the first are what its own checks overlooked."""


def block_type(name: object) -> type[Block]:
    """Find a block by name, in the library or among those for hardware in the loop; imports only its family.

    Raises
    ------
    PlantloopError      there is no block of this name
    """
    found = None
    if isinstance(name, str) and name in library.HOMES:
        found = getattr(library, name)
    elif name in HARDWARE:
        found = _hardware()[str(name)]
    if isinstance(found, type) and issubclass(found, Block):
        return found
    raise PlantloopError(f"no block type '{name}'; {near_miss(str(name), block_types())}", value=name)


def block_types() -> dict[str, type[Block]]:
    """Every block of the library, and those for hardware in the loop, by the name it is imported by."""
    listed = {name: getattr(library, name) for name in sorted(library.HOMES)}
    return {n: cls for n, cls in listed.items() if issubclass(cls, Block)} | _hardware()


def _hardware() -> dict[str, type[Block]]:
    from cosim import hardware_in_loop  # not every scenario's

    return {name: getattr(hardware_in_loop, name) for name in HARDWARE}


def files_read(tables: Mapping[str, Any]) -> list[str]:
    """The files that blocks of a scenario are made from, as they are named in its tables."""
    named: list[Any] = []
    for table in tables.get("blocks", {}).values():
        named += [table.get(field) for field in block_type(table["type"]).reads]
    return [name for name in named if isinstance(name, str)]


def _file(name: str, place: FilePlace) -> str | None:
    """Where a file that a block is made from lies; None, with a problem noted, if it may not be read."""
    folder = place.source.path.parent
    file = folder / name
    if not is_file(file) and not is_no_file(file):
        place.add_problem(no_such_file(file, "file"))
    elif not place.trust and not is_inside(file, [folder]):
        place.add_problem(
            f"{as_toml(name)} leads out of the scenario's folder; put it there, or allow it with --trust, or "
            "load_scenario(..., trust=True), if you trust whoever wrote the scenario."
        )
    else:
        return os.fspath(file)
    return None


def block(value: Any, place: FilePlace) -> Block | None:
    """Make the block a table describes; an error from its own checks becomes a problem at that place."""
    if not isinstance(value, dict):
        raise Expected("a table with the type and the fields of a block")
    cls = _type(value, place)
    if cls is None:
        return None
    known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]  # every block is a dataclass
    given = {name: item for name, item in value.items() if name != "type"}
    check_known(given, known, place)
    needed = [n for n, f in known.items() if f.default is MISSING and f.default_factory is MISSING]
    absent = [name for name in needed if name not in given]
    if absent:
        place.add_problem(f"{cls.__name__} needs {' and '.join(absent)}.")
    for name in [n for n, item in given.items() if n in known and _is_date(item)]:
        place.at(name).add_problem(f"got {given[name]}, expected numbers, text or a list, not a date.")
        absent.append(name)
    for name in cls.reads:
        if isinstance(given.get(name), str):
            given[name] = _file(given[name], place.at(name))
            absent += [name] if given[name] is None else []
    if absent or not given.keys() <= known.keys():
        return None
    try:
        return cls(**given)
    except (
        PlantloopError,
        TypeError,
        ValueError,
        ArithmeticError,
        MemoryError,
        RecursionError,
    ) as error:  # also what a block's own checks overlooked
        _place_of(error, cls, given, place).add_problem(str(error))
        return None


def _type(table: dict[str, Any], place: FilePlace) -> type[Block] | None:
    """The class named by the key ``type``; None, with a problem noted, if there is none."""
    if "type" not in table:
        place.add_problem("key 'type' is missing; write for instance type = \"StateFeedback\".")
        return None
    name = table["type"]
    try:
        cls = block_type(name)
    except PlantloopError as error:
        place.at("type").add_problem(str(error))
        return None
    if any("Callable" in str(f.type) for f in fields(cls)):  # type: ignore[arg-type]
        place.at("type").add_problem(
            f"a {name} holds Python code, which a scenario cannot; build the diagram in Python and name it "
            'with [diagram] factory = "module:function".'
        )
        return None
    return cls


def _place_of(error: Exception, cls: type[Block], given: dict[str, Any], place: FilePlace) -> FilePlace:
    """The place of the key that an error of a block is about: "StateFeedback: K is ..." starts with it."""
    first = re.match(rf"{cls.__name__}: (\w+)", str(error))
    name = first[1] if first else ""
    return place.at(name) if name in given else place


def _is_date(value: object) -> bool:
    if isinstance(value, list):
        return any(_is_date(item) for item in value)
    return not isinstance(value, (str, int, float, dict))
