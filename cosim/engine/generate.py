"""The C files of a system: its functions in pieces, what they call, and the table that names them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca

from blocks.errors import PlantloopError
from cosim.engine.bindings import ABI
from cosim.engine.emit import Emitted, Piece, Scratch, emit
from cosim.system import System

SMALL = 3000  # operations; up to here a system is one file, so that the compiler can inline
FILE = 6000  # operations per file beyond
LARGE = 20000  # operations; beyond, -O1 (it loses nothing there)


@dataclass(frozen=True)
class Source:
    """A C file and how much to optimise it."""

    name: str
    text: str
    level: str


@dataclass(frozen=True)
class Generated:
    """All C files of a system; `note` tells which piece computes which signals."""

    sources: list[Source]
    note: dict[str, Any]


def functions(system: System) -> dict[str, ca.Function]:
    """Every function the native engine calls, by the name it has in C."""

    def stacked(*parts: ca.SX) -> list[ca.SX]:
        return [ca.densify(ca.vertcat(ca.SX(0, 1), *parts))]

    found = {"derivative": system.function("derivative", lambda: stacked(system.derivative))}
    for k, segment in enumerate(system.schedule):
        found[f"segment{k}"] = system.function(f"segment{k}", lambda s=segment: stacked(s.expression))  # type: ignore[misc]
    crossings = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in system.events])
    along = ca.jtimes(crossings, system.x, system.derivative) + ca.jtimes(crossings, system.t, ca.SX(1))
    found["crossings"] = system.function("crossings", lambda: [crossings])
    found["crossing_rates"] = system.function("crossing rates", lambda: [along])
    found["accepted"] = system.function("accepted", lambda: stacked(system.accepted[0]))
    if system.invariants.numel():
        found["invariants"] = system.function("projection", lambda: stacked(*_invariants(system)))
    found["signals"] = system.function(
        "signals", lambda: stacked(*[s.expression for s in system.signals.values()])
    )
    return found


def _invariants(system: System) -> tuple[ca.SX, ca.SX]:
    residual = system.invariants
    return residual, ca.vec(ca.densify(ca.jacobian(residual, system.x)))


def generate(system: System) -> Generated:
    """Print a system as C.

    Raises
    ------
    PlantloopError      it calls a function that has no C code
    """
    scratch = Scratch()
    emitted: dict[str, Emitted] = {}
    prepares: list[Emitted] = []
    for name, function in functions(system).items():
        emitted[name], prepare = emit(name, function, scratch)
        prepares.append(prepare)
    everything = [*emitted.values(), *prepares]
    operations = sum(e.operations for e in everything)
    level = "-O1" if operations > LARGE else "-O2"
    pieces = [piece for e in everything for piece in e.pieces]
    inside, outside = (pieces, []) if operations <= SMALL else ([], pieces)
    head = _head(scratch.callees)
    main = _main(system, emitted, prepares, scratch, inside, outside)
    sources = [Source("model.c", head + main, level)]
    for k, group in enumerate(_groups(outside)):
        text = head + "\n".join(piece.text for piece in group)
        sources.append(Source(f"part{k}.c", text, level))
    sources += [_callee(name, f) for name, f in scratch.callees.items()]
    signals = emitted["signals"].pieces
    note = {
        "needs": [sorted(p.needs) for p in signals],
        "outputs": [sorted(p.outputs) for p in signals],
        "operations": operations,
    }
    return Generated(sources, note)


def _head(callees: Iterable[str]) -> str:
    declared = "".join(
        f"int {name}(const double **arg, double **res, long long *iw, double *w, int mem);\n"
        for name in callees
    )
    return f'#include "functions.h"\n\n{declared}\n'


def _groups(pieces: list[Piece]) -> list[list[Piece]]:
    """Pieces file by file, of about equal length."""
    groups: list[list[Piece]] = []
    size = FILE + 1
    for piece in pieces:
        lines = piece.text.count("\n")
        if size + lines > FILE:
            groups.append([])
            size = 0
        groups[-1].append(piece)
        size += lines
    return groups


def _main(
    system: System,
    emitted: dict[str, Emitted],
    prepares: list[Emitted],
    scratch: Scratch,
    inside: list[Piece],
    outside: list[Piece],
) -> str:
    """Functions that call their pieces, the integration step, and the table of all of it."""
    lines = [f"static {piece.text}" for piece in inside]
    lines += [f"void {piece.name}(const pl_args *a, double *restrict out);" for piece in outside]
    called = {name: e.pieces for name, e in emitted.items() if name != "signals"}
    called["prepare"] = [piece for e in prepares for piece in e.pieces]
    lines += [_whole(name, parts) for name, parts in called.items()]
    segments = [f"segment{k}" for k in range(len(system.schedule))]
    signals = [piece.name for piece in emitted["signals"].pieces]
    invariants = "invariants" if "invariants" in emitted else "0"
    lines.append(_table("segments", segments))
    lines.append(_table("signals", signals))
    sizes = [len(system.x0), len(system.h0), len(system.w0), len(system.p0), scratch.constants]
    sizes.append(sum(s.size for s in system.signals.values()))
    lines.append(
        f"#define PL_NX {len(system.x0)}\n"
        '#include "kernel.h"\n\n'
        "static void step(pl_args *a, const pl_method *m, double t, double h, const double *x, double *k,\n"
        "                 int start, double *trial, double *x1)\n"
        "{\n    pl_step_of(derivative, a, m, t, h, x, k, start, trial, x1);\n}\n\n"
        "static const pl_model model = {\n"
        f"    {ABI}, {', '.join(map(str, sizes))}, {scratch.doubles}, {scratch.integers},\n"
        f"    prepare, derivative, step, accepted, crossings, crossing_rates, {invariants},\n"
        f"    segments, {len(segments)},\n"
        f"    signals, {len(signals)},\n"
        "};\n\n"
        "PL_EXPORT const pl_model *pl_get_model(void);\n"
        "const pl_model *pl_get_model(void) { return &model; }\n"
    )
    return "\n".join(lines)


def _whole(name: str, pieces: list[Piece]) -> str:
    body = "".join(f"    {piece.name}(a, out);\n" for piece in pieces)
    return f"static void {name}(const pl_args *a, double *out)\n{{\n    (void)a, (void)out;\n{body}}}\n"


def _table(name: str, entries: list[str]) -> str:
    inside = ",\n    ".join([*entries, "0"])
    return f"static const pl_function {name}_table[] = {{\n    {inside},\n}};\n#define {name} {name}_table\n"


def _callee(name: str, function: ca.Function) -> Source:
    """A function that is called, printed by CasADi's own generator under a name of ours."""
    opaque = [f for f in (function, *function.find_functions()) if f.is_a("Callback")]
    if opaque:
        raise PlantloopError(f"'{opaque[0].name()}' has no C code.", hint="Use engine='reference'.")
    generator = ca.CodeGenerator(f"{name}_file.c", {"with_header": False})
    generator.add(function)
    with tempfile.TemporaryDirectory() as place:
        generator.generate(place + "/")
        text = (Path(place) / f"{name}_file.c").read_text()
    # CasADi exports the function and a dozen questions about it under its own name, which need not be
    # unique. Ours takes their place.
    start = text.find(f"CASADI_SYMBOL_EXPORT int {function.name()}(")
    if start < 0:
        raise PlantloopError(f"CasADi printed no C code for '{function.name()}'.")
    own = (
        f"int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem);\n"
        f"int {name}(const casadi_real **arg, casadi_real **res, casadi_int *iw, casadi_real *w, int mem)\n"
        "{\n    return casadi_f0(arg, res, iw, w, mem);\n}\n"
    )
    body = text[:start].replace('extern "C" {', "")
    size = body.count(";")
    return Source(f"{name}.c", body + own, "-O1" if size > LARGE else "-O2")
