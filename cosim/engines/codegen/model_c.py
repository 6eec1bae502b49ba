"""The C files of a system: its functions in pieces, what they call, and the table that names them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from cosim.engines.codegen import print_c
from cosim.engines.codegen.callee_c import callee
from cosim.engines.codegen.copies_c import SHORT, in_place, shape, tabled
from cosim.engines.codegen.host_functions import host_functions
from cosim.engines.codegen.number_tables import NumberTables
from cosim.engines.codegen.parts_c import by_place, lasting, parts, table
from cosim.engines.codegen.plan import FunctionPlan, Plain, Plan, Shared
from cosim.engines.codegen.planner import planned
from cosim.engines.codegen.steps_c import step
from cosim.engines.codegen.system_functions import CROSSINGS, crossing_places, whole
from cosim.engines.methods.corners import corners_of
from cosim.engines.methods.tableau import TABLEAUS, Tableau
from cosim.system import System

SMALL = 3000  # operations; up to here a system is one file, so that the compiler can inline
FILE = 6000  # lines per file beyond
INLINE = 400  # operations of a derivative that is copied into every stage of a fixed step
ADAPTIVE = (
    60  # the same of an adaptive step, which is looked at by itself: beyond, the call is 1 % of it at most
)
LASTING = ("accepted", "held_crossings")  # functions of which only what something changed is evaluated
BLOCKS = 50  # signals; a system of fewer has no copies of blocks, whatever repeats inside a plant
LARGE = 8000  # operations; beyond, -O1, which loses nothing there and compiles twice as fast


@dataclass(frozen=True)
class CFile:
    """A C file and how much to optimise it."""

    name: str
    text: str
    level: str


@dataclass(frozen=True)
class Generated:
    """All C files of a system; `note` says which piece computes which signals."""

    sources: list[CFile]
    note: dict[str, Any]


def generate(
    system: System, methods: Collection[str] = tuple(TABLEAUS), tables: NumberTables | None = None
) -> Generated:
    """Print a system as C, with the steps of these methods.

    tables : those that are handed to the code; by default it has their numbers in it

    Raises
    ------
    PlantloopError      it calls a function that has no C code
    """
    names, function = whole(system)
    host = host_functions([function] if system.calls else [])
    share = len(system.signals) >= BLOCKS
    plan, called = planned(function, names, host, share, [*CROSSINGS], tables)
    derivative = plan.functions["derivative"]
    inlined = derivative.cost <= INLINE and not derivative.shapes
    main = _main(system, plan, inlined, methods)
    names_inlined = [piece.name for piece in derivative.pieces] if inlined else []
    signals = plan.functions["signals"].pieces
    note = {
        "needs": [sorted(p.needs) for p in signals],
        "outputs": [sorted(p.outputs) for p in signals],
        "operations": plan.cost,
    }
    return Generated(_files("model.c", main, plan, called, names_inlined), note)


def generate_jacobian(
    system: System, function: ca.Function, tables: NumberTables | None = None
) -> list[CFile]:
    """Print the linearised derivative of a system, see stiff.py, as a library of its own.

    tables : as of `generate`

    Raises
    ------
    PlantloopError      it calls a function that has no C code
    """
    host = host_functions([whole(system)[1], function] if system.calls else [])
    share = len(system.signals) >= BLOCKS
    plan, called = planned(function, ["values"], host, share, tables=tables)
    sizes = f"{len(system.x0)}, {len(system.p0)}, {plan.constants}, {plan.doubles}, {plan.integers}"
    main = (
        f"{_calls(plan.functions['values'], False)}\n{_calls(plan.prepare, False)}\n"
        f"static const pl_jacobian jacobian = {{PL_ABI, {sizes}, prepare, values}};\n\n"
        "const pl_jacobian *pl_get_jacobian(void) { return &jacobian; }\n"
    )
    return _files("jacobian.c", main, plan, called)


# --- files ----------------------------------------------------------------------------------------------
def _files(
    name: str, main: str, plan: Plan, called: Sequence[ca.Function], inlined: Collection[str] = ()
) -> list[CFile]:
    """The main file, those with the other pieces, and those of the functions that are called.

    A small system is one file.
    """
    level = "-O1" if plan.cost > LARGE else "-O2"
    printed = [c for c in plan.callees if c.host is None and c.code == c.number]
    head = _head([print_c.callee_name(c) for c in printed])
    callees = [_callee(print_c.callee_name(c), called[c.number]) for c in printed]
    pieces = [p for f in plan.every for p in f.pieces]
    plain = {p.name: print_c.piece(p, plan.callees) for p in pieces if isinstance(p, Plain)}
    shared = [p for p in pieces if isinstance(p, Shared)]
    shapes = tabled(plan.every)
    loops = [shape(s) for s in shapes if len(s.operations) <= SHORT]
    loops += [print_c.piece(p, plan.callees) for p in shared if in_place(p)]
    calls = [shape(s) for s in shapes if len(s.operations) > SHORT]
    calls += [print_c.piece(p, plan.callees) for p in shared if not in_place(p)]
    around = head + _declared(loops + calls)  # they call each other across files
    found = [
        CFile(f"{name}{k}.c", "\n".join([around, *group]), how)
        for name, texts, how in (("loops", loops, "-O3"), ("copies", calls, level))  # long ones gain nothing
        for k, group in enumerate(_groups(texts))
    ]
    if plan.cost <= SMALL:
        kinds = dict.fromkeys(inlined, "PL_INLINE ")
        inside = [f"{kinds.get(name, 'static ')}{text}" for name, text in plain.items()]
        return [CFile(name, "\n".join([around, *inside, main]), level), *found, *callees]
    main_file = CFile(name, around + _declared([*plain.values()]) + main, "-O3")  # loops over all states
    for k, group in enumerate(_groups([*plain.values()])):
        found.append(CFile(f"part{k}.c", "\n".join([head, *group]), level))
    return [main_file, *found, *callees]


def _declared(functions: Sequence[str]) -> str:
    return "".join(f"{_opening(text)};\n" for text in functions)


def _head(callees: Sequence[str]) -> str:
    declared = "".join(
        f"int {name}(const double **arg, double **res, long long *iw, double *w, int mem);\n"
        for name in callees
    )
    return f'#include "functions.h"\n\n{declared}\n'


def _callee(name: str, function: ca.Function) -> CFile:
    text = callee(name, function)
    return CFile(f"{name}.c", text, "-O1" if text.count(";") > LARGE else "-O2")


def _opening(text: str) -> str:
    """What stands before the body of a function; only where it is defined there are several of it."""
    return text[: text.index("{")].rstrip().removeprefix("PL_WIDE ")


def _groups(texts: list[str]) -> list[list[str]]:
    """C functions file by file, of about equal length."""
    groups: list[list[str]] = []
    size = FILE + 1
    for text in texts:
        lines = text.count("\n")
        if size + lines > FILE:
            groups.append([])
            size = 0
        groups[-1].append(text)
        size += lines
    return groups


# --- the main file --------------------------------------------------------------------------------------
WITH_W = """/* The derivative with delayed signals and algebraic unknowns brought up to date. */
static void derivative_with_w(const pl_args *a, double *restrict out)
{
    a->update_w(a->owner, a);
    derivative(a, out);
}
#define derivative derivative_with_w
"""
CALLED = """/* The derivative where it is not copied. */
static PL_APART void derivative_called(const pl_args *a, double *restrict out) { derivative(a, out); }

"""


def _main(system: System, plan: Plan, inlined: bool, methods: Collection[str]) -> str:
    """Functions that call their pieces, the integration step, and the table of all of it."""
    functions = [f for f in plan.every if f.name not in ("signals", *LASTING)]
    lines = [_calls(f, f.name == "derivative" and inlined) for f in functions]
    if len(system.w0):
        lines.append(WITH_W)
    crossings = [plan.functions[name] for name in CROSSINGS]
    place_of = places_of_crossings(system, plan)
    held = len(set(plan.arranged["held_crossings"]))  # places of those that depend on what is held only
    lines.append(_calls(FunctionPlan("crossings", [p for f in crossings for p in f.pieces], 0), False))
    lines.append(parts("crossings", crossings, len(system.x0), plan.callees, place_of))
    lines += [lasting(plan.functions[name], len(system.h0), plan.callees) for name in LASTING]
    lines += [table(name, numbers) for name, numbers in by_place(place_of).items()]
    for name in ("crossing_rates", "resets"):
        lines.append(parts(name, [plan.functions[name]], len(system.x0), plan.callees))
    segments = [f"segment{k}" for k in range(len(system.schedule))]
    signals = [piece.name for piece in plan.functions["signals"].pieces]
    lines.append(_table("segments", segments))
    lines.append(_table("signals", signals))
    sizes = [len(system.x0), len(system.h0), len(system.w0), len(system.p0), plan.constants]
    sizes.append(sum(s.size for s in system.signals.values()))
    steps = [f"step_{name}" if name in methods else "0" for name in TABLEAUS]
    apart = inlined and plan.functions["derivative"].cost > ADAPTIVE
    alone = "derivative_called" if apart else "derivative"
    lines.append(
        f"enum {{ NX = {len(system.x0)}, NV = {plan.doubles} }};\n\n"
        + CALLED * apart
        + "".join(_step(TABLEAUS[name], len(system.x0), alone) for name in methods)
        + f"static const pl_step steps[] = {{{', '.join(steps)}}};\n\n"
        "static const pl_model model = {\n"
        f"    PL_ABI, {', '.join(map(str, sizes))}, NV + NX, {plan.integers},\n"
        f"    prepare, {alone}, steps, &accepted, &crossings_parts, &held_crossings, moving_crossings,\n"
        f"    {held}, {len(set(place_of))}, place_of, event_start, event_at,\n"
        "    &crossing_rates_parts, &resets_parts,\n"
        f"    invariants, correction, residual, starting, delayed, seconds, segments, signals,\n"
        f"    {len(segments)}, {len(signals)}, unit_inputs, {corners_of(system).numel()}, corners,\n"
        "};\n\n"
        "const pl_model *pl_get_model(void) { return &model; }\n"
    )
    return "\n".join(lines)


def places_of_crossings(system: System, plan: Plan) -> list[int]:
    """Of every event the place of its crossing among those the code gives."""
    found = {
        event: place
        for name, events in crossing_places(system).items()
        for event, place in zip(events, plan.arranged[name], strict=True)
    }
    return [found[k] for k in range(len(system.events))]


def _step(method: Tableau, nx: int, alone: str) -> str:
    """Steps of a method; those that are looked at one by one evaluate the derivative by the name `alone`."""
    return step(method, nx, alone if method.adaptive else "derivative")


def _calls(f: FunctionPlan, inlined: bool) -> str:
    """A function that calls its pieces."""
    kind = "PL_INLINE" if inlined else "static"
    body = "".join(f"    {piece.name}(a, out);\n" for piece in f.pieces)
    return (
        f"{kind} void {f.name}(const pl_args *a, double *restrict out)\n"
        f"{{\n    (void)a, (void)out;\n{body}}}\n"
    )


def _table(name: str, entries: list[str]) -> str:
    inside = ",\n    ".join([*entries, "0"])
    return f"static const pl_function {name}_table[] = {{\n    {inside},\n}};\n#define {name} {name}_table\n"
