"""Inputs of a diagram over time: tables and functions become blocks in place of inports."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from blocks.arguments import real_numbers
from blocks.contract.block import Block
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError, near_miss, shown
from cosim.block_alone import ALONE, around
from cosim.compile.netlist import Inport
from cosim.diagram import Diagram
from cosim.names import mapped
from cosim.system import System

COURSES = "a number, (times, values), a function of time, or a pandas Series over time"
SECONDS = "frame.set_axis((frame.index - frame.index[0]).total_seconds())"


def driven(drawn: Any, inputs: Any) -> tuple[Any, dict[str, Any]]:
    """A diagram with courses in the place of its inputs, and the inputs that are constant.

    Parameters
    ----------
    drawn : Diagram, Block or System
    inputs : mapping, or a pandas DataFrame over time [s] with a column for each input
        a value is a number or (k,) numbers, which hold; ``(times, values)`` with times (n,) s and values
        (n,) or (n, k), straight lines in between, held beyond the ends, two equal times make a jump; a
        function of time written with NumPy, traced once; a pandas Series over time

    Raises
    ------
    PlantloopError    no such input, a course for a flat system, times that decrease, sizes that differ
    """
    given = {} if inputs is None else _columns(inputs)
    if isinstance(drawn, Block):
        drawn = _opened(drawn, given)
    if not given:
        return drawn, {}
    courses = {name: value for name, value in given.items() if _is_course(value)}
    constants = {name: value for name, value in given.items() if name not in courses}
    for name, value in constants.items():
        _check_constant(drawn, name, value)
    if not courses:
        return drawn, constants
    if isinstance(drawn, System):
        raise PlantloopError(
            "inputs over time need the diagram, and a flat system was given.",
            value=sorted(courses),
            hint="Call simulate with the diagram itself.",
        )
    base = around(drawn) if isinstance(drawn, Block) else drawn
    found = base.with_parameters()  # a copy
    for name, value in courses.items():
        full = name.removeprefix(base.prefix)
        if full not in base.inports:
            raise PlantloopError(
                f"'{base.name}' has no input '{name}'; {near_miss(name, base.inports)}",
                path=name,
                value=name,
                hint=f"If it is the time, make it the index: frame.set_index('{name}')."
                if _is_frame(inputs)
                else None,
            )
        _put(found, full, _source(full, value, base.inports[full]))
    return found, constants


def _opened(block: Block, given: Mapping[str, Any]) -> Block | Diagram:
    """A block whose other inputs are left open, where it matters to it; else itself."""
    if block.opened(frozenset()) is block:  # its equations need not be traced here
        return block
    base = around(block)
    left = base.inports.keys() - {name.removeprefix(base.prefix) for name in given}
    for name in sorted(left):
        port = base[ALONE][name]
        base.disconnect(port)
        base.ground(port)
    return base


def _columns(inputs: Any) -> dict[str, Any]:
    if _is_frame(inputs):
        _warn_of_rows(inputs.index, "the table of inputs")
        return {str(name): (inputs.index, inputs[name]) for name in inputs.columns}
    return mapped(inputs, "inputs")


def _is_frame(inputs: Any) -> bool:
    return hasattr(inputs, "columns") and hasattr(inputs, "index")


def _warn_of_rows(index: Any, what: str) -> None:
    """Warn where pandas numbered the rows, and nobody said that these numbers are times."""
    if type(index).__name__ == "RangeIndex":
        warn_user(
            f"{what} is indexed by the numbers of its rows, {index.start}, {index.start + index.step}, ..., "
            "which are taken for seconds. Make the times the index: frame.set_index('t') or "
            "frame.set_axis(t), and where rows are the seconds frame.set_axis(frame.index.astype(float))."
        )


def _is_course(value: Any) -> bool:
    pair = isinstance(value, tuple) and len(value) == 2 and np.ndim(value[0]) == 1
    return pair or callable(value) or (hasattr(value, "index") and hasattr(value, "to_numpy"))


def _check_constant(drawn: Any, name: str, value: Any) -> None:
    """Refuse an array that does not fit an input: likely it was meant as a course."""
    port = drawn.inports.get(name) if isinstance(drawn, Diagram) else None
    try:
        size = 1 if isinstance(value, str) else np.size(value)
    except ValueError:  # rows that differ in length
        raise PlantloopError(f"input '{name}' is {shown(value)}, expected {COURSES}.", path=name) from None
    if port is None or size in (1, port.size):
        return
    raise PlantloopError(
        f"input '{name}' got {size} numbers, expected {port.size}.",
        path=name,
        value=value,
        hint=f"Over time it is (times, values): inputs={{'{name}': (a[:, 0], a[:, 1:])}}.",
    )


def _source(name: str, value: Any, port: Inport) -> Block | Diagram:
    from blocks.library.sources import TimeTable

    if callable(value):
        return _of_function(value)
    if not isinstance(value, tuple):
        _warn_of_rows(value.index, f"input '{name}'")
    times, values = value if isinstance(value, tuple) else (value.index, value.to_numpy())
    try:
        table, instants = real_numbers(values), real_numbers(times)
    except (TypeError, ValueError):
        of_dates = np.asarray(times).dtype.kind in "mM"
        raise PlantloopError(
            f"input '{name}' is {shown(value)}, expected {COURSES}.",
            path=name,
            hint=f"Times are seconds: {SECONDS}." if of_dates else None,
        ) from None
    size = 1 if table.ndim == 1 else table.shape[-1]
    if table.ndim not in (1, 2) or len(table) != len(instants) or size != port.size:
        raise PlantloopError(
            f"input '{name}' has {len(instants)} times and values of shape {table.shape}, expected "
            f"({len(instants)}, {port.size}).",
            path=name,
            value=value,
        )
    return TimeTable(instants, table, interpolation="linear")


def _of_function(function: Callable[[Any], Any]) -> Diagram:
    from blocks.library.python_function import Function
    from blocks.library.sources import Clock

    inside = Diagram("course")
    value = inside.add("value", Function(function))
    inside.connect(inside.add("clock", Clock())["y"], value.the("input"))
    inside.outport("y", value["y"])
    return inside


def _put(diagram: Diagram, name: str, source: Block | Diagram) -> None:
    """A block with output "y" in place of an inport; the signal keeps its name."""
    readers = [(into, data["target"]) for _, into, data in diagram.graph.out_edges(name, data=True)]
    shown_at = [out for out, ref in diagram.outports.items() if ref.node == name]
    diagram.remove(name)
    node = diagram._node(name, source, of_port=True)
    for into, port in readers:
        diagram.connect(node["y"], diagram[into][port])
    for out in shown_at:
        diagram._show(out, node["y"])
    if name not in diagram.outports:
        diagram._show(name, node["y"])
