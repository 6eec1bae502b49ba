"""The C files of a system: its functions in pieces, what they call, and the table that names them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca

from blocks.errors import PlantloopError
from cosim.engine.bindings import ABI
from cosim.engine.emit import Emitted, Piece, Scratch, emit, number
from cosim.engine.events import rate_along
from cosim.engine.tableau import TABLEAUS, Tableau
from cosim.system import Segment, System, pick

SMALL = 3000  # operations; up to here a system is one file, so that the compiler can inline
FILE = 6000  # operations per file beyond
INLINE = 400  # operations of a derivative that is copied into every stage of a step
FEW_STATES = 16  # up to here a step is written out state by state
LARGE = 8000  # operations; beyond, -O1, which loses nothing there and compiles twice as fast


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

    found = {"derivative": system.function("derivative", lambda: _stacked(system.derivative))}
    for k, segment in enumerate(system.schedule):
        found[f"segment{k}"] = system.function(f"native segment{k}", partial(_segment, system, segment))
    crossings = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in system.events])
    found["crossings"] = system.function("crossings", lambda: [crossings])
    found["crossing_rates"] = system.function("crossing rates", lambda: [rate_along(crossings, system)])
    found["accepted"] = system.function("accepted", lambda: _stacked(system.accepted[0]))
    unknowns = system.w[: system.residual.numel()]
    jacobian = ca.jacobian(system.residual, unknowns)
    found["residual"] = system.function(
        "native residual", lambda: _stacked(system.residual, ca.vec(ca.densify(jacobian)))
    )
    found["starting"] = system.function("starting", lambda: _stacked(system.starting[0]))
    delays = system.delays
    found["delayed"] = system.function("native delayed", lambda: _stacked(*[d.signal for d in delays]))
    found["seconds"] = system.function("native seconds", lambda: _stacked(*[d.seconds for d in delays]))
    found["invariants"] = system.function("invariants", lambda: _stacked(system.invariants))
    found["correction"] = system.function("correction", lambda: _stacked(system.correction))
    found["signals"] = system.function(
        "signals", lambda: _stacked(*[s.expression for s in system.signals.values()])
    )
    return found


def _stacked(*parts: ca.SX) -> list[ca.SX]:
    """All results of a function as one dense column."""
    return [ca.densify(ca.vertcat(ca.SX(0, 1), *parts))]


def _segment(system: System, segment: Segment) -> list[ca.SX]:
    """What a segment computes.

    For a loop at a tick its mismatch, and the Jacobian in what it writes and in the unknowns of w.
    """
    if segment.kind != "solve":
        return _stacked(segment.expression)
    own = pick(system.h, segment.writes)
    unknowns = ca.vertcat(own, system.w[: system.residual.numel()])
    mismatch = ca.vertcat(segment.expression - own, system.residual)
    return _stacked(mismatch, ca.vec(ca.densify(ca.jacobian(mismatch, unknowns))))


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


def generate_jacobian(system: System, function: ca.Function) -> list[Source]:
    """Print the linearised derivative of a system, see stiff.py, as a library of its own.

    Raises
    ------
    PlantloopError      it calls a function that has no C code
    """
    scratch = Scratch()
    values, prepare = emit("values", function, scratch)
    operations, pieces = values.operations + prepare.operations, [*values.pieces, *prepare.pieces]
    level = "-O1" if operations > LARGE else "-O2"
    inside, outside = (pieces, []) if operations <= SMALL else ([], pieces)
    head = _head(scratch.callees)
    lines = [f"static {piece.text}" for piece in inside]
    lines += [f"void {piece.name}(const pl_args *a, double *restrict out);" for piece in outside]
    lines += [_whole("values", values.pieces, False), _whole("prepare", prepare.pieces, False)]
    sizes = f"{len(system.x0)}, {len(system.p0)}, {scratch.constants}, {scratch.doubles}, {scratch.integers}"
    lines.append(
        f"static const pl_jacobian jacobian = {{{ABI}, {sizes}, prepare, values}};\n\n"
        "PL_EXPORT const pl_jacobian *pl_get_jacobian(void);\n"
        "const pl_jacobian *pl_get_jacobian(void) { return &jacobian; }\n"
    )
    sources = [Source("jacobian.c", head + "\n".join(lines), level)]
    for k, group in enumerate(_groups(outside)):
        sources.append(Source(f"part{k}.c", head + "\n".join(piece.text for piece in group), level))
    return sources + [_callee(name, f) for name, f in scratch.callees.items()]


FIND = """/* The derivative with delayed signals and algebraic unknowns brought up to date. */
static void derivative_found(const pl_args *a, double *restrict out)
{
    a->find(a->owner, a);
    derivative(a, out);
}
#define derivative derivative_found
"""


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
    inlined = emitted["derivative"].operations <= INLINE
    copied = emitted["derivative"].pieces if inlined else []
    lines = [f"{'PL_INLINE' if piece in copied else 'static'} {piece.text}" for piece in inside]
    lines += [f"void {piece.name}(const pl_args *a, double *restrict out);" for piece in outside]
    called = {name: e.pieces for name, e in emitted.items() if name != "signals"}
    called["prepare"] = [piece for e in prepares for piece in e.pieces]
    lines += [_whole(name, parts, name == "derivative" and inlined) for name, parts in called.items()]
    if len(system.w0):
        lines.append(FIND)
    segments = [f"segment{k}" for k in range(len(system.schedule))]
    signals = [piece.name for piece in emitted["signals"].pieces]
    lines.append(_table("segments", segments))
    lines.append(_table("signals", signals))
    sizes = [len(system.x0), len(system.h0), len(system.w0), len(system.p0), scratch.constants]
    sizes.append(sum(s.size for s in system.signals.values()))
    lines.append(
        f"enum {{ NX = {len(system.x0)}, NV = {scratch.doubles} }};\n\n"
        + "".join(_step(method, len(system.x0)) for method in TABLEAUS.values())
        + f"static const pl_step steps[] = {{{', '.join(f'step_{name}' for name in TABLEAUS)}}};\n\n"
        "static const pl_model model = {\n"
        f"    {ABI}, {', '.join(map(str, sizes))}, NV + NX, {scratch.integers},\n"
        f"    prepare, derivative, steps, accepted, crossings, crossing_rates,\n"
        f"    invariants, correction, residual, starting, delayed, seconds, segments, {len(segments)},\n"
        f"    signals, {len(signals)},\n"
        "};\n\n"
        "PL_EXPORT const pl_model *pl_get_model(void);\n"
        "const pl_model *pl_get_model(void) { return &model; }\n"
    )
    return "\n".join(lines)


def _whole(name: str, pieces: list[Piece], inlined: bool) -> str:
    kind = "PL_INLINE" if inlined else "static"
    body = "".join(f"    {piece.name}(a, out);\n" for piece in pieces)
    return (
        f"{kind} void {name}(const pl_args *a, double *restrict out)\n{{\n    (void)a, (void)out;\n{body}}}\n"
    )


def _table(name: str, entries: list[str]) -> str:
    inside = ",\n    ".join([*entries, "0"])
    return f"static const pl_function {name}_table[] = {{\n    {inside},\n}};\n#define {name} {name}_table\n"


def _finite(nx: int) -> str:
    """Return whether x1 is finite; zero times anything else is nan."""
    if nx <= FEW_STATES:
        terms = [f"x1[{e}] * 0.0" for e in range(nx)] or ["0.0"]
        while len(terms) > 1:  # pairs, so that no sum waits for another
            terms = [f"({' + '.join(terms[k : k + 2])})" for k in range(0, len(terms), 2)]
        return f"    return {terms[0]} == 0.0;\n"
    loop = "for (int e = 0; e < NX; e++) zero += x1[e] * 0.0;"
    return f"    double zero = 0.0;\n    {loop}\n    return zero == 0.0;\n"


def _step(method: Tableau, nx: int) -> str:
    """One step of a Runge-Kutta method: the sums of its tableau from left to right, without the zeros.

    For few states everything is written out, so that the compiler can keep the numbers in registers.
    """

    def moved(target: str, weights: tuple[float, ...]) -> str:
        terms = [f"{number(w)} * k[{j} * NX + e]" for j, w in enumerate(weights) if w != 0.0]
        line = f"{target}[e] = x[e] + h * ({' + '.join(terms) if terms else '0.0'});\n"
        if nx > FEW_STATES:
            return f"    for (int e = 0; e < NX; e++) {line}"
        return "".join(
            "    " + line.replace("NX + e]", f"NX + {e}]").replace("[e]", f"[{e}]") for e in range(nx)
        )

    stages = ""
    for i in range(1 if method.adaptive else 0, method.stages):
        stages += moved("trial", method.a[i])
        stages += f"    s.t = t + {number(method.c[i])} * h;\n    derivative(&s, k + {i} * NX);\n"
    room = "    double trial[NX + 1];\n" if nx <= FEW_STATES else "    double *restrict trial = a->v + NV;\n"
    body = f"    pl_args s = *a;\n{room}    s.x = trial;\n{stages}{moved('x1', method.b)}{_finite(nx)}"
    return (
        f"static int step_{method.name}(const pl_args *a, double t, double h, const double *restrict x,\n"
        f"    double *restrict k, double *restrict x1)\n{{\n{body}}}\n\n"
    )


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
