"""The data of an exported model as C constants: the arrays that the native engine gives its runtime.

Structures are printed from those cffi reads of the runtime's header, field by field, so that nothing of them
is written down twice. Numbers are printed with all their digits.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from cosim.engines.methods.rosenbrock import RODAS
from cosim.engines.methods.stiff import JacobianPlan
from cosim.engines.methods.tolerances import nominal_sizes
from cosim.engines.native import bindings
from cosim.engines.native.methods import run_settings, take
from cosim.engines.native.tables import tables_of
from cosim.fmi.export.exported_variables import Variables
from cosim.fmi.export.model_structure import Structure
from cosim.fmi.export.parameter_limits import Limit, Limits
from cosim.run.context import Context
from cosim.settings import RunSettings
from cosim.system import System

WORDS = {"d": "double", "i": "int32_t", "l": "int64_t", "q": "int64_t", "L": "uint64_t", "Q": "uint64_t"}


def number(value: float) -> str:
    """A number in C that is read back to the last bit."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value))


def array(name: str, values: Sequence[float] | np.ndarray, kind: str = "") -> str:
    """A constant array of numbers; an empty one gets an entry that is never read."""
    found = np.asarray(values)
    kind = kind or WORDS[found.dtype.char]
    show = number if kind == "double" else (lambda v: f"{int(v)}{'u' * (kind == 'uint64_t')}")
    inside = ", ".join(show(v) for v in found.tolist()) or "0"
    return f"static const {kind} {name}[] = {{{inside}}};\n"


def texts(name: str, values: Iterable[str]) -> str:
    """A constant array of texts."""
    inside = ", ".join([*map(quoted, values), "0"])
    return f"static const char *const {name}[] = {{{inside}}};\n"


def quoted(text: str) -> str:
    """A text as a C literal: ASCII and ends of lines, everything else as "?", which begins no trigraph."""
    plain = "".join(c if c in "\n\t" or (c.isascii() and c.isprintable()) else "?" for c in text)
    return json.dumps(plain).replace("?", "\\?")


def initialiser(data: Any, type_of: Any, pointers: Mapping[str, str]) -> str:
    """The values of a structure of cffi as an initialiser; pointers by the names of their targets."""
    if type_of.kind == "struct":
        parts = []
        for name, field in type_of.fields:
            if field.type.kind in ("pointer", "function"):
                value = pointers.get(name, "0")
            elif field.type.kind == "array" and name in pointers:
                value = pointers[name]
            else:
                value = initialiser(getattr(data, name), field.type, pointers)
            parts.append(f".{name} = {value}")
        return "{" + ", ".join(parts) + "}"
    if type_of.kind == "array":
        return "{" + ", ".join(initialiser(v, type_of.item, pointers) for v in data) + "}"
    return number(data) if isinstance(data, float) else str(int(data))


def tables(
    system: System,
    settings: RunSettings,
    context: Context,
    variables: Variables,
    pieces: Sequence[int],
    stiff_plan: JacobianPlan | None,
    *,
    structure: Structure,
    name: str,
    token: str,
    derivatives: Sequence[str] = (),
) -> str:
    """The file tables.c.

    context : with the start values
    pieces : of the code of signals that the shown ones need
    derivatives : of "forward" and "adjoint", those there is code for
    """
    found, arrays = tables_of(system)
    arrays["nominal"] = nominal_sizes(system, context.p)
    pointers = {key: f"t_{key}" for key in arrays}
    inputs = [p for v in variables.of("UNIT_INPUT") for p in v.places]
    lines = ['#include "unit.h"\n\n#include <math.h>\n']
    lines += [array(f"t_{key}", values) for key, values in arrays.items()]
    lines.append(_constant("pl_system", "t_system", found, pointers))
    lines.append(_constant("pl_settings", "t_settings", run_settings(system, settings), {}))
    if stiff_plan is not None:
        lines.append(_stiff(stiff_plan))
    lines += [array(f"start_{vector}", getattr(context, vector)) for vector in ("x", "h", "w", "p")]
    lines += _numbers(variables, structure, inputs, pieces)
    lines += _names(system)
    code = {f".{d}": f"unit_{d}_code" for d in derivatives}
    lines += [f"const pl_jacobian *{function}(void);\n" for function in code.values()]
    if stiff_plan is not None:
        lines.append("const pl_jacobian *unit_stiff_code(void);\n")
        code |= {".stiff": "&t_stiff", ".jacobian": "unit_stiff_code"}
    entries = {
        ".name": quoted(name), ".token": quoted(token), ".system": "&t_system", ".settings": "&t_settings",
        **code, ".x": "start_x", ".h": "start_h", ".w": "start_w", ".p": "start_p",
        ".n_numbers": str(len(variables.numbers)), ".numbers": "numbers", ".sizes": "sizes",
        ".depends": "depends", ".n_limits": str(len(_limited(variables))), ".limits": "limits",
        ".n_inputs": str(len(inputs)), ".inputs": "inputs",
        ".input_slopes": str(int(bool(system.input_slopes))), ".n_shown": str(len(variables.shown)),
        ".shown": "shown", ".n_pieces": str(len(pieces)), ".pieces": "pieces", ".state_names": "state_names",
        ".event_names": "event_names", ".segment_names": "segment_names",
    }  # fmt: skip
    inside = ",\n".join(f"    {field} = {value}" for field, value in entries.items())
    lines.append(f"\nconst unit_model unit_exported = {{\n{inside},\n}};\n")
    return "".join(lines)


def _numbers(
    variables: Variables, structure: Structure, inputs: Sequence[int], pieces: Sequence[int]
) -> list[str]:
    """The places of the numbers of variables, and their dependencies."""
    numbers = ", ".join(f"{{{kind}, {place}}}" for kind, place in variables.numbers)
    return [
        f"static const unit_number numbers[] = {{{numbers}}};\n",
        _depends(structure),
        _limits(variables),
        array("sizes", np.array(variables.sizes, np.int32)),
        array("inputs", np.array(inputs, np.int32)),
        array("shown", np.array(variables.shown, np.int32)),
        array("pieces", np.array(pieces, np.int32)),
    ]


def _limited(variables: Variables) -> list[tuple[int, str, Limits]]:
    """Parameters with limits: places in p in rising order, names, limits."""
    found = [
        (v.places[k], name, v.limits[k])
        for v in variables.of("UNIT_PARAMETER")
        for name, k in v.scalars()
        if k in v.limits
    ]
    return sorted(found, key=lambda limited: limited[0])


def _limits(variables: Variables) -> str:
    rows = [
        f"{{{place}, {number(low.value if low else 0.0)}, {number(high.value if high else 0.0)}, "
        f"{_closed_or_open(low)}, {_closed_or_open(high)}, {quoted(name)}, {quoted(limits.text)}}}"
        for place, name, limits in _limited(variables)
        for low, high in ((limits.low, limits.high),)
    ]
    return f"static const unit_limit limits[] = {{{', '.join(rows) or '{0}'}}};\n"


def _closed_or_open(limit: Limit | None) -> int:
    return 0 if limit is None else 1 + limit.open


def _names(system: System) -> list[str]:
    """Names in messages of an instance."""
    states = [slot.place(int(k)) for slot in system.states.values() for k in slot.index]
    return [
        texts("state_names", map(str, states)),
        texts("event_names", (e.stop or e.name for e in system.events)),
        texts("segment_names", (s.path for s in system.schedule)),
    ]


def _depends(structure: Structure) -> str:
    """The dependencies of every computed variable."""
    computed = [*structure.outputs, *structure.derivatives, *structure.indicators]
    starts: list[int] = []
    on: list[int] = []
    rows: list[str] = []
    for u in computed:
        rows.append(f"{{{u.variable.reference}, {u.variable.size}, d_start + {len(starts)}, d_on}}")
        starts.append(len(on))
        for depends in u.depends:
            on.extend(depends)
            starts.append(len(on))
    inside = ", ".join([*rows, "{0, 0, 0, 0}"])
    text = array("d_start", np.array(starts, np.int32)) + array("d_on", np.array(on, np.int64), "uint32_t")
    return text + f"static const unit_depends depends[] = {{{inside}}};\n"


def _stiff(plan: JacobianPlan) -> str:
    """The tables of the stiff method."""
    table = bindings.new("pl_stiff")
    take(table, RODAS)
    note = plan.note()
    lists = {key: values for key, values in note.items() if isinstance(values, list)}
    table.n_colours, table.sparse = len(plan.colour_start) - 1, plan.sparse
    text = "".join(array(f"s_{key}", np.array(values, np.int32)) for key, values in lists.items())
    pointers = {key: f"s_{key}" for key in lists}
    return text + _constant("pl_stiff", "t_stiff", table, pointers)


def _constant(type_name: str, name: str, data: Any, pointers: Mapping[str, str]) -> str:
    """A constant structure."""
    inside = initialiser(data[0], bindings.ffi().typeof(type_name), pointers)
    return f"static const {type_name} {name} = {inside};\n"
