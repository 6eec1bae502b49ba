"""Equations that jump where a condition switches, and are left to the solver's error control.

``np.where``, ``np.sign``, ``np.floor`` and comparisons in continuous equations are no events. Where both
sides agree at the switch (``np.clip``, ``np.abs``, a well-made contact) a solver hardly notices; where they
differ a fixed step is wrong by what it steps over and an adaptive one creeps up to it.

When a diagram is flattened only those conditions are looked at whose place is plain to see: an affine
function of one signal, state or time (``x > 3``, ``np.sign(2 * u - 1)``). Both sides of it are compared.
What depends on several signals at once is searched by ``cosim.check`` (`cosim/analysis/check.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.memories import ContinuousState
from blocks.contract.symbols import hash_of
from blocks.contract.trace import Traced
from blocks.contract.user_lines import warn_user
from cosim.compile.expressions import Expressions
from cosim.compile.placed_block import PlacedBlock

SWITCHES = {
    code: name
    for name, code in (
        ("a comparison", ca.OP_LT),
        ("a comparison", ca.OP_LE),
        ("np.sign", ca.OP_SIGN),
        ("np.floor", ca.OP_FLOOR),
        ("np.ceil", ca.OP_CEIL),
        ("a remainder", ca.OP_FMOD),
        ("a remainder", ca.OP_REMAINDER),
    )
}
LARGEST = 20000  # nodes; larger blocks are not looked at, for a diagram has to be built quickly
FEW = 8  # equations that are looked at one by one
SHAPES = 200  # shapes of blocks with switches that are looked at, for the same reason
SHOWN = 20  # places that one note lists
BESIDE = 16 * float(np.finfo(float).eps)  # how near to a switch its sides are compared, relative
ELSEWHERE = 4  # values of all that does not switch
JUMP = 1e-6  # relative; less is rounding at a steep place
STEEP = 10.0  # a jump is more than so many times what one side alone changes by as near, by slope or rounding

Sides = Iterator[tuple[int, np.ndarray, np.ndarray]]  # a condition; the equations before and behind it


class JumpWarning(UserWarning):
    """Equations jump at a switch that is no event."""


@dataclass(frozen=True)
class Jump:
    """One equation that jumps.

    path, kind : of the block; what : the equation; size : how far it jumps; by : what switches
    in_time : the switch is at a certain time
    cure : what to do about it
    """

    path: str
    kind: str
    what: str
    size: float
    by: str
    in_time: bool
    cure: str = ""

    def __str__(self) -> str:
        when = "at a certain time" if self.in_time else f"at a switch ({self.by})"
        return f"'{self.path}' ({self.kind}): {self.what} jumps by {self.size:.3g} {when}"


def warn_of_jumps(placed: Mapping[str, PlacedBlock], between: Expressions) -> None:
    """Warn once of all blocks whose continuous equations jump at a place that is plain to see."""
    found = list(jumps(placed, between, plain_sides, SHAPES))
    if lines := [str(jump) for jump in found]:
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN], f"and {len(lines) - SHOWN} more"]
        warn_user(
            "equations jump where a condition switches, which is left to the solver's error control:\n  "
            + "\n  ".join(lines)
            + "".join(f"\n{cure}" for cure in cures_of(found)),
            JumpWarning,
        )


def cures_of(found: Iterable[Jump]) -> list[str]:
    """Cures of jumps, each listed once."""
    return list(dict.fromkeys(jump.cure for jump in found))


def jumps(
    placed: Mapping[str, PlacedBlock],
    between: Expressions,
    sides_of: Callable[[Switching], Sides],
    shapes: float = np.inf,
) -> Iterator[Jump]:
    """Jumps of every block without ``switches_by_design``, the largest of each equation.

    sides_of : looks at both sides of conditions; shapes : how many shapes of blocks are looked at
    """
    looked: set[int] = set()
    for inst in placed.values():
        shape = id(inst.traced)
        if inst.block.switches_by_design or (len(looked) >= shapes and shape not in looked):
            continue
        parts = _parts(inst.traced)
        if not parts:
            continue
        looked.add(shape)
        moving = tuple(_is_moving(between, driver) for driver in inst.drivers)
        found = inst.traced.derived.get(  # blocks of one shape jump alike
            ("jumps", sides_of, moving), partial(_largest, inst, parts, moving, sides_of)
        )
        kind = type(inst.block).__name__
        for jump in found:
            yield replace(jump, path=inst.path, kind=kind, cure=inst.block.jump_cure)


class Switching:
    """Continuous equations of one block with its conditions, as numbers.

    conditions : (k,) SX, their values; surfaces : (k,) SX, zero where each switches; names : what they are
    f : function of the block's arguments for equations and conditions
    points : where its arguments may stand
    """

    def __init__(self, inst: PlacedBlock, parts: Mapping[str, ca.SX], moving: tuple[bool, ...]) -> None:
        self.traced, self.parts = inst.traced, parts
        expressions = ca.vertcat(*parts.values())
        found = _conditions(self.traced, expressions)
        self.conditions = ca.vertcat(ca.SX(0, 1), *[value for value, _, _ in found])
        self.surfaces = ca.vertcat(ca.SX(0, 1), *[surface for _, surface, _ in found])
        self.names = [name for _, _, name in found]
        self.f = ca.Function("f", self.traced.arguments, [expressions, self.conditions])
        self.points = Points(inst, moving)

    def at(self, f: ca.Function, rows: np.ndarray) -> list[np.ndarray]:
        """Outputs of a function of the block's arguments at each row, (n, m)."""
        found = f.map(len(rows)).call([ca.DM(part.T) for part in self.points.split(rows)])
        return [np.array(part, dtype=float).T for part in found]


def _largest(
    inst: PlacedBlock,
    parts: Mapping[str, ca.SX],
    moving: tuple[bool, ...],
    sides_of: Callable[[Switching], Sides],
) -> list[Jump]:
    """The largest jump of each equation of a block."""
    switching, clock = Switching(inst, parts, moving), inst.traced.declared.time.element_hash()
    if not switching.names or not switching.points.vary.any():
        return []
    cuts = np.cumsum([e.numel() for e in parts.values()])[:-1]
    best: dict[str, Jump] = {}
    for k, below, above in sides_of(switching):
        sizes = np.split(np.abs(below) + np.abs(above), cuts)
        for what, part, size in zip(parts, np.split(np.abs(above - below), cuts), sizes, strict=True):
            if np.any(part > JUMP * (1 + size)) and (what not in best or part.max() > best[what].size):
                timed = all(hash_of(s) == clock for s in ca.symvar(switching.conditions[k]))
                best[what] = Jump("", "", what, float(part.max()), switching.names[k], timed)
    return list(best.values())


def plain_sides(switching: Switching) -> Sides:
    """Both sides of conditions that switch at a value of one argument, at a few values of all others."""
    points, every = switching.points, [e for a in switching.traced.arguments for e in a.nonzeros()]
    place = {hash_of(e): k for k, e in enumerate(every) if points.vary[k]}
    of = []  # (condition, the argument it switches at)
    for k in range(len(switching.names)):
        own = [place[hash_of(s)] for s in ca.symvar(switching.surfaces[k]) if hash_of(s) in place]
        if len(own) == 1:
            of.append((k, own[0]))
    if not of:
        return
    rng = np.random.default_rng(20240401)
    which, column = (np.array(part) for part in zip(*of, strict=True))
    lines = np.repeat(np.arange(len(of)), ELSEWHERE)  # each condition with several values of the others
    rows = np.array([points.start() if n % ELSEWHERE == 0 else points.draw(rng) for n in range(len(lines))])
    line, varied = np.arange(len(lines)), column[lines]
    g = ca.Function("g", switching.traced.arguments, [switching.surfaces])

    def each(f: ca.Function, values: Sequence[np.ndarray | float]) -> list[tuple[np.ndarray, ...]]:
        """Outputs of a function with each of some values of what is varied; all in one call."""
        moved = np.tile(rows, (len(values), 1, 1))
        for k, value in enumerate(values):
            moved[k, line, varied] = value
        found = switching.at(f, moved.reshape(-1, rows.shape[1]))
        return list(zip(*(np.split(part, len(values)) for part in found), strict=True))

    at0, at1, at2 = (found[line, which[lines]] for (found,) in each(g, (0.0, 1.0, 2.0)))
    slope = at1 - at0
    with np.errstate(all="ignore"):
        affine = (np.abs(at2 - 2 * at1 + at0) <= 1e-9 * np.abs(slope)) & (slope != 0)
        where = -at0 / slope
    where[~np.isfinite(where)] = 0.0  # never affine there
    near = BESIDE * np.maximum(np.abs(where), 1.0)
    beside = [where + distance * near for distance in (-1.0, 1.0, -2.0, 2.0)]
    (below, before), (above, behind), (lower, _), (higher, _) = each(switching.f, beside)
    switched = before[line, which[lines]] != behind[line, which[lines]]
    with np.errstate(all="ignore"):
        steep = np.maximum(np.abs(below - lower), np.abs(higher - above))  # on one side
        above = np.where(np.abs(above - below) > STEEP * steep, above, below)
    for n in np.flatnonzero(affine & switched & np.isfinite(below - above).all(axis=1)):
        yield int(which[lines[n]]), below[n], above[n]


def _parts(traced: Traced) -> dict[str, ca.SX]:
    """Continuous equations of a block that contain switches, found once per shape."""
    return traced.derived.get("switching", lambda: _switching(traced))


def _switching(traced: Traced) -> dict[str, ca.SX]:
    d = traced.declared
    states = d.memories_of(ContinuousState)
    found = [(f"the derivative of '{m.name}'", f"m:{m.name}", m.equation) for m in states]
    found += [(f"output '{o.name}'", f"y:{o.name}", o.expression) for o in d.outputs if not o.auxiliary]
    found = [(what, name, ca.SX(e)) for what, name, e in found if e is not None and e.numel()]
    if len(found) > FEW:  # all at once first: equations of a plant share most of their nodes
        together = ca.Function("f", traced.arguments, [ca.vertcat(*[e for _, _, e in found])])
        found = found if _has_switch(together) else []
    return {what: e for what, name, e in found if _switches(traced, name, e)}


def _switches(traced: Traced, name: str, expression: ca.SX) -> bool:
    """Whether a switch is among the operations; the function is the one the system is written down with."""
    return ca.n_nodes(expression) <= LARGEST and _has_switch(traced.part(name, expression).function)


def _has_switch(f: ca.Function) -> bool:
    return any(f.instruction_id(k) in SWITCHES for k in range(f.n_instructions()))


def _is_moving(between: Expressions, driver: tuple[str, str] | None) -> bool:
    expression = None if driver is None else between.find(driver)
    if expression is None:
        return False
    return any(hash_of(s) in between.moving for s in ca.symvar(expression))


def _conditions(traced: Traced, expressions: ca.SX) -> list[tuple[ca.SX, ca.SX, str]]:
    """All switches: their value, an expression that is zero where they switch, and their kind."""
    f = ca.Function("f", traced.arguments, [expressions])
    work: dict[int, Any] = {}  # SX; the elements of one have a type of their own
    found: list[tuple[ca.SX, ca.SX, str]] = []
    for k in range(f.n_instructions()):
        code, out, into = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
        if code == ca.OP_INPUT:
            work[out[0]] = ca.SX(traced.arguments[into[0]]).nonzeros()[into[1]]
        elif code == ca.OP_CONST:
            work[out[0]] = ca.SX(f.instruction_constant(k))
        elif code == ca.OP_OUTPUT:
            continue
        elif code == ca.OP_CALL:
            return []  # what is behind a call is its own affair
        else:
            given = [work[i] for i in into]
            value = ca.SX.unary(code, given[0]) if len(given) == 1 else ca.SX.binary(code, *given)
            work[out[0]] = value
            if code in SWITCHES:
                found.append((value, _surface(code, given), SWITCHES[code]))
    return found


def _surface(code: int, given: list[Any]) -> ca.SX:
    """An expression that is zero at one of the places of a switch: floor, ceil and remainders have many."""
    if code in (ca.OP_FLOOR, ca.OP_CEIL):
        return ca.SX(given[0] - 1)
    return ca.SX(given[0] - given[1] if len(given) == 2 else given[0])


class Points:
    """Random values of all that moves between ticks; everything else as it is at the start."""

    def __init__(self, inst: PlacedBlock, moving: tuple[bool, ...]) -> None:
        d, traced = inst.traced.declared, inst.traced
        own = np.concatenate([np.zeros(0), *[inst.values.initial[m.name] for m in d.memories]])
        numbers = [inst.values.parameters[q.name] for q in d.parameters]
        p = np.concatenate([np.zeros(0), *[v[q.mask] for v, q in zip(numbers, d.parameters, strict=True)]])
        ticks, signals = np.zeros(d.tick_symbols.numel()), [np.zeros(i.size) for i in d.inputs]
        base = [np.zeros(1), own, p, ticks, *signals]
        own_moves = np.zeros(len(own), dtype=bool)
        for m in d.memories:
            own_moves[traced.slices[m.name]] = m.moves
        inputs = [np.full(i.size, m) for i, m in zip(d.inputs, moving, strict=True)]
        fixed = [np.zeros(len(p), dtype=bool), np.zeros(d.tick_symbols.numel(), dtype=bool)]
        self.vary = np.concatenate([[True], own_moves, *fixed, *inputs])
        self._whole = np.concatenate(base)
        self._cuts = np.cumsum([len(v) for v in base])[:-1]
        self._sizes = np.abs(p[p != 0])

    def start(self) -> np.ndarray:
        """All as at the start of a run."""
        return self._whole.copy()

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """One point; its size is anything from 0.01 to 1000, or that of a parameter."""
        size = 10 ** rng.uniform(-2, 3)
        if len(self._sizes) and rng.random() < 0.4:
            size = 2 * rng.choice(self._sizes)
        point = self._whole.copy()
        point[self.vary] = size * rng.standard_normal(int(self.vary.sum()))
        point[0] = abs(point[0])
        return point

    def split(self, rows: np.ndarray) -> list[np.ndarray]:
        """Columns of each argument."""
        return np.split(rows, self._cuts, axis=1)
