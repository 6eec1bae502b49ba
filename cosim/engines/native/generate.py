"""The C files of a system: its functions in pieces, what they call, and the table that names them."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca

from blocks.errors import PlantloopError
from cosim.engines.methods.tableau import TABLEAUS, Tableau
from cosim.engines.native.bindings import ABI
from cosim.engines.native.emit import Emitted, Piece, Scratch, emit, number
from cosim.engines.native.host_calls import calls_python, outside_functions
from cosim.engines.reference.events import rate_along
from cosim.system import Segment, System, pick

SMALL = 3000  # operations; up to here a system is one file, so that the compiler can inline
FILE = 6000  # operations per file beyond
INLINE = 400  # operations of a derivative that is copied into every stage of a step
FEW_STATES = 16  # up to here a step is written out state by state
BLOCKS = 50  # signals; a system of fewer has no copies of blocks, whatever repeats inside a plant
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


def expressions(system: System) -> dict[str, ca.SX]:
    """Every function the native engine calls, by the name it has in C: a dense column."""
    found = {"derivative": _stacked(system.derivative)}
    found |= {f"segment{k}": _segment(system, s) for k, s in enumerate(system.schedule)}
    crossings = ca.vertcat(ca.SX(0, 1), *[e.crossing for e in system.events])
    found["crossings"] = _stacked(crossings)
    found["crossing_rates"] = _stacked(rate_along(crossings, system))
    resets = [value for e in system.events for _, _, value in e.resets]
    found["resets"] = _stacked(*resets)
    found["accepted"] = _stacked(system.accepted[0])
    jacobian = ca.jacobian(system.residual, system.w[: system.residual.numel()])
    found["residual"] = _stacked(system.residual, ca.vec(ca.densify(jacobian)))
    found["starting"] = _stacked(system.starting[0])
    found["delayed"] = _stacked(*[d.signal for d in system.delays])
    found["seconds"] = _stacked(*[d.seconds for d in system.delays])
    found["invariants"] = _stacked(system.invariants)
    found["correction"] = _stacked(*[system.correction] * bool(system.invariants.numel()))
    found["signals"] = _stacked(*[s.expression for s in system.signals.values()])
    return found


def whole(system: System) -> tuple[list[str], ca.Function]:
    """All of them as one function, and the names of its outputs; further outputs are values of blocks."""
    found = expressions(system)
    seams = [s.seams for s in system.schedule]
    return [*found], system.function("native", lambda: [*found.values(), ca.vertcat(ca.SX(0, 1), *seams)])


def _stacked(*parts: ca.SX) -> ca.SX:
    """All results of a function as one dense column."""
    return ca.densify(ca.vertcat(ca.SX(0, 1), *parts))


def _segment(system: System, segment: Segment) -> ca.SX:
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
    names, function = whole(system)
    scratch = Scratch(outside=outside_functions([function] if system.calls else []))
    emitted, prepare = emit(function, names, scratch, copies=len(system.signals) >= BLOCKS)
    files = _Files([*emitted.values(), prepare], scratch)
    derivative = emitted["derivative"]
    inlined = derivative.operations <= INLINE and not any(p.shapes for p in derivative.pieces)
    main = _main(system, emitted, prepare, scratch, inlined)
    sources = files.sources("model.c", main, [p.name for p in derivative.pieces] if inlined else ())
    signals = emitted["signals"].pieces
    note = {
        "needs": [sorted(p.needs) for p in signals],
        "outputs": [sorted(p.outputs) for p in signals],
        "operations": files.operations,
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
    scratch = Scratch(outside=outside_functions([whole(system)[1], function] if system.calls else []))
    emitted, prepare = emit(function, ["values"], scratch, copies=len(system.signals) >= BLOCKS)
    values = emitted["values"]
    files = _Files([values, prepare], scratch)
    sizes = f"{len(system.x0)}, {len(system.p0)}, {scratch.constants}, {scratch.doubles}, {scratch.integers}"
    main = (
        f"{_whole('values', values.pieces, False)}\n{_whole('prepare', prepare.pieces, False)}\n"
        f"static const pl_jacobian jacobian = {{{ABI}, {sizes}, prepare, values}};\n\n"
        "PL_EXPORT const pl_jacobian *pl_get_jacobian(void);\n"
        "const pl_jacobian *pl_get_jacobian(void) { return &jacobian; }\n"
    )
    return files.sources("jacobian.c", main)


class _Files:
    """Which pieces are printed in which file, and how files are compiled; a small system is one file."""

    def __init__(self, emitted: list[Emitted], scratch: Scratch) -> None:
        self.callees = scratch.callees
        self.operations = sum(e.operations for e in emitted) + scratch.shared
        self.level = "-O1" if self.operations > LARGE else "-O2"
        self.pieces = [piece for e in emitted for piece in e.pieces]
        self.shapes = {name: text for e in emitted for name, text in e.shapes.items()}

    def sources(self, name: str, main: str, inlined: Collection[str] = ()) -> list[Source]:
        """The main file, those with the other pieces, and those of the functions that are called."""
        head = _head(self.callees)
        called = [_callee(name, f) for name, f in self.callees.items()]
        if self.operations <= SMALL:
            kinds = dict.fromkeys(inlined, "PL_INLINE ")
            inside = [f"static {text}" for text in self.shapes.values()]
            inside += [f"{kinds.get(piece.name, 'static ')}{piece.text}" for piece in self.pieces]
            return [Source(name, "\n".join([head, *inside, main]), self.level), *called]
        declared = "".join(f"{_opening(piece.text)};\n" for piece in self.pieces)
        shapes = "".join(f"{_opening(text)};\n" for text in self.shapes.values())
        found = [Source(name, head + declared + main, self.level)]
        for k, group in enumerate(_groups([*self.shapes.values(), *(piece.text for piece in self.pieces)])):
            found.append(Source(f"part{k}.c", head + shapes + "\n".join(group), self.level))
        return found + called


def _opening(text: str) -> str:
    """What stands before the body of a function."""
    return text[: text.index("{")].rstrip()


WITH_W = """/* The derivative with delayed signals and algebraic unknowns brought up to date. */
static void derivative_with_w(const pl_args *a, double *restrict out)
{
    a->update_w(a->owner, a);
    derivative(a, out);
}
#define derivative derivative_with_w
"""


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


def _main(
    system: System, emitted: dict[str, Emitted], prepare: Emitted, scratch: Scratch, inlined: bool
) -> str:
    """Functions that call their pieces, the integration step, and the table of all of it."""
    called = {name: e.pieces for name, e in emitted.items() if name != "signals"}
    called["prepare"] = prepare.pieces
    lines = [_whole(name, parts, name == "derivative" and inlined) for name, parts in called.items()]
    if len(system.w0):
        lines.append(WITH_W)
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
        f"    prepare, derivative, steps, accepted, crossings, crossing_rates, resets,\n"
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
    """Whether x1 is finite; zero times anything else is nan."""
    if nx <= FEW_STATES:
        terms = [f"x1[{e}] * 0.0" for e in range(nx)] or ["0.0"]
        while len(terms) > 1:  # pairs, so that no sum waits for another
            terms = [f"({' + '.join(terms[k : k + 2])})" for k in range(0, len(terms), 2)]
        return f"        const int finite = {terms[0]} == 0.0;\n"
    loop = "for (int e = 0; e < NX; e++) zero += x1[e] * 0.0;"
    return f"        double zero = 0.0;\n        {loop}\n        const int finite = zero == 0.0;\n"


def _step(method: Tableau, nx: int) -> str:
    """Steps of a Runge-Kutta method: the sums of its tableau from left to right, without the zeros.

    For few states everything is written out, so that the compiler can keep the numbers in registers.
    """
    few = nx <= FEW_STATES
    here = "y" if few else "x"  # where the step begins

    def every(line: str) -> str:
        """A line for all states."""
        if not few:
            return f"        for (int e = 0; e < NX; e++) {line}\n"
        written = (line.replace("NX + e]", f"NX + {e}]").replace("[e]", f"[{e}]") for e in range(nx))
        return "".join(f"        {text}\n" for text in written)

    def moved(target: str, weights: tuple[float, ...]) -> str:
        terms = [f"(h * {number(w)}) * k[{j} * NX + e]" for j, w in enumerate(weights) if w != 0.0]
        return every(f"{target}[e] = {here}[e] + ({' + '.join(terms)});")

    stages = ""
    for i in range(1 if method.adaptive else 0, method.stages):
        if i > 0:
            stages += moved("trial", method.a[i])
        begins, place = method.c[i] == 0.0, "trial" if i > 0 else here
        stages += f"        s.t = {'t' if begins else f't + {number(method.c[i])} * h'};\n"
        stages += f"        s.x = {place};\n        derivative(&s, k + {i} * NX);\n"
    room = "    double *restrict trial = a->v + NV;\n"
    if few:
        room = f"    double y[NX + 1], trial[NX + 1];\n{every('y[e] = x[e];')}"
    return (
        f"static int64_t step_{method.name}(const pl_args *a, const pl_equal_steps *w, double *restrict x,\n"
        "    double *restrict k, double *restrict x1)\n{\n"
        "    const double h = w->h;\n    double t = w->t;\n    int64_t done = 0;\n    pl_args s = *a;\n"
        f"{room}    for (;;) {{\n{stages}{moved('x1', method.b)}{_finite(nx)}"
        "        if (!finite || ++done == w->count) break;\n"
        f"        t = w->begin + (double)(w->first + done) * h;\n{every(f'{here}[e] = x1[e];')}    }}\n"
        f"{every('x[e] = y[e];') if few else ''}    return done;\n}}\n\n"
    )


def _callee(name: str, function: ca.Function) -> Source:
    """A function that is called, printed by CasADi's own generator under a name of ours."""
    if calls_python(function):
        raise PlantloopError(f"'{function.name()}' has no C code.", hint="Use engine='reference'.")
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
    for name_of, sign in (("fmin", "<"), ("fmax", ">")):  # as CasADi's machine takes them, see functions.h
        body = body.replace(f"return {name_of}(x, y);", f"return x {sign}= y || y != y ? x : y;")
    size = body.count(";")
    return Source(f"{name}.c", body + own, "-O1" if size > LARGE else "-O2")
