"""A note about equations that jump where a condition switches, and are left to the solver's error control.

``np.where``, ``np.sign``, ``np.floor`` and comparisons in continuous equations are no events. Where both
sides agree at the switch (``np.clip``, ``np.abs``, a well-made contact) a solver hardly notices; where they
differ a fixed step is wrong by what it steps over and an adaptive one creeps up to it. Such places are found
by numbers: along lines through random points the conditions are bisected down to neighbouring floats, and the
equations compared on both sides. A jump that no line meets is not told.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.trace import Traced
from cosim.compile.expressions import Expressions
from cosim.compile.instances import Instance

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
SAMPLES = 200
LINES = 4  # that are bisected for each condition
BISECTIONS = 56  # down to neighbouring floats
JUMP = 1e-6  # relative; less is rounding at a steep place


class JumpWarning(UserWarning):
    """Equations jump at a switch that is no event."""


@dataclass(frozen=True)
class _Jump:
    """What jumps, by how much, and what does it."""

    what: str
    size: float
    by: str
    in_time: bool


def warn_of_jumps(instances: Mapping[str, Instance], between: Expressions) -> None:
    """Warn once of all blocks whose continuous equations jump."""
    looked: set[int] = set()
    lines = [line for inst in instances.values() for line in _lines(inst, between, looked)]
    if lines:
        if len(lines) > SHOWN:
            lines = [*lines[:SHOWN], f"and {len(lines) - SHOWN} more"]
        warnings.warn(
            "equations jump where a condition switches, which is left to the solver's error control:\n  "
            + "\n  ".join(lines)
            + "\nMake it an event: b.where_event(condition, a, b) instead of np.where, b.instants for times.",
            JumpWarning,
            stacklevel=2,
        )


def _lines(inst: Instance, between: Expressions, looked: set[int]) -> Iterator[str]:
    """What is to be said of one block; `looked` has the shapes looked at so far."""
    traced = inst.traced
    if inst.block.switches_by_design or (len(looked) >= SHAPES and id(traced) not in looked):
        return
    parts = _parts(traced)
    if not parts:
        return
    looked.add(id(traced))
    moving = tuple(_is_moving(between, driver) for driver in inst.drivers)
    kind = type(inst.block).__name__
    for jump in traced.derived.get(("jumps", moving), lambda: list(_jumps(inst, parts, moving))):
        when = "at a certain time" if jump.in_time else f"at a switch ({jump.by})"
        yield f"'{inst.path}' ({kind}): {jump.what} jumps by {jump.size:.3g} {when}"


def _parts(traced: Traced) -> dict[str, ca.SX]:
    """Continuous equations of a block that contain switches, found once per shape."""
    return traced.derived.get("switching", lambda: _switching(traced))


def _switching(traced: Traced) -> dict[str, ca.SX]:
    d = traced.declared
    states = [m for m in d.memories if m.kind == "continuous"]
    found = [(f"the derivative of '{m.name}'", f"m:{m.name}", m.equation) for m in states]
    found += [(f"output '{o.name}'", f"y:{o.name}", o.expression) for o in d.outputs if not o.auxiliary]
    found = [(what, name, ca.SX(e)) for what, name, e in found if e is not None and e.numel()]
    if len(found) > FEW:  # all at once first: equations of a plant share most of their nodes
        together = ca.Function("f", traced.arguments, [ca.vertcat(*[e for _, _, e in found])])
        found = found if _has_switch(together) else []
    return {what: e for what, name, e in found if _switches(traced, name, e)}


def _switches(traced: Traced, name: str, expression: ca.SX) -> bool:
    """Whether a switch is among the operations; the function is the one the system is written down with."""
    return ca.n_nodes(expression) <= LARGEST and _has_switch(traced.function(name, expression))


def _has_switch(f: ca.Function) -> bool:
    return any(f.instruction_id(k) in SWITCHES for k in range(f.n_instructions()))


def _is_moving(between: Expressions, driver: tuple[str, str] | None) -> bool:
    expression = None if driver is None else between.find(driver)
    if expression is None:
        return False
    return any(s.element_hash() in between.moving for s in ca.symvar(expression))


# --- numbers ----------------------------------------------------------------------------------------------
def _jumps(inst: Instance, parts: Mapping[str, ca.SX], moving: tuple[bool, ...]) -> Iterator[_Jump]:
    """Jumps of a block, the largest of each equation."""
    traced = inst.traced
    expressions = ca.vertcat(*parts.values())
    conditions, names = _conditions(traced, expressions)
    f = ca.Function("f", traced.arguments, [expressions, ca.vertcat(*conditions)])
    points = _Points(inst, moving)
    if not points.vary.any():
        return
    sides = _sides(f, points, len(conditions))
    cuts = np.cumsum([e.numel() for e in parts.values()])[:-1]
    clock = traced.declared.time.element_hash()
    best: dict[str, _Jump] = {}
    for k, below, above, difference in sides:
        for what, part, size in zip(
            parts, np.split(difference, cuts), np.split(np.abs(below) + np.abs(above), cuts), strict=True
        ):
            if (
                np.any(part > JUMP * (1 + size))
                and part.max() > best.get(what, _Jump("", 0.0, "", False)).size
            ):
                timed = all(s.element_hash() == clock for s in ca.symvar(conditions[k]))
                best[what] = _Jump(what, float(part.max()), names[k], timed)
    yield from best.values()


def _conditions(traced: Traced, expressions: ca.SX) -> tuple[list[ca.SX], list[str]]:
    """Values of all switches as expressions, and what they are."""
    f = ca.Function("f", traced.arguments, [expressions])
    work: dict[int, Any] = {}  # SX; the elements of one have a type of their own
    found: list[ca.SX] = []
    names: list[str] = []
    for k in range(f.n_instructions()):
        code, out, into = f.instruction_id(k), f.instruction_output(k), f.instruction_input(k)
        if code == ca.OP_INPUT:
            work[out[0]] = ca.SX(traced.arguments[into[0]]).nonzeros()[into[1]]
        elif code == ca.OP_CONST:
            work[out[0]] = ca.SX(f.instruction_constant(k))
        elif code == ca.OP_OUTPUT:
            continue
        elif code == ca.OP_CALL:
            return [ca.SX(0)], ["nothing"]  # what is behind a call is its own affair
        else:
            given = [work[i] for i in into]
            value = ca.SX.unary(code, given[0]) if len(given) == 1 else ca.SX.binary(code, *given)
            work[out[0]] = value
            if code in SWITCHES:
                found.append(value)
                names.append(SWITCHES[code])
    return found, names


class _Points:
    """Random values of all that moves between ticks; everything else as it is at the start."""

    def __init__(self, inst: Instance, moving: tuple[bool, ...]) -> None:
        d, traced = inst.traced.declared, inst.traced
        own = np.concatenate([np.zeros(0), *[inst.values.initial[m.name] for m in d.memories]])
        numbers = [inst.values.parameters[q.name] for q in d.parameters]
        p = np.concatenate([np.zeros(0), *[v[q.mask] for v, q in zip(numbers, d.parameters, strict=True)]])
        ticks, signals = np.zeros(d.tick_symbols.numel()), [np.zeros(i.size) for i in d.inputs]
        base = [np.zeros(1), own, p, ticks, *signals]
        own_moves = np.zeros(len(own), dtype=bool)
        for m in d.memories:
            own_moves[traced.slices[m.name]] = m.kind in ("continuous", "algebraic", "delayed")
        inputs = [np.full(i.size, m) for i, m in zip(d.inputs, moving, strict=True)]
        fixed = [np.zeros(len(p), dtype=bool), np.zeros(d.tick_symbols.numel(), dtype=bool)]
        self.vary = np.concatenate([[True], own_moves, *fixed, *inputs])
        self._whole = np.concatenate(base)
        self._cuts = np.cumsum([len(v) for v in base])[:-1]
        self._sizes = np.abs(p[p != 0])

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


def _sides(
    f: ca.Function, points: _Points, count: int
) -> Iterable[tuple[int, np.ndarray, np.ndarray, np.ndarray]]:
    """For each condition, the equations just before and behind it on a few lines, and their difference."""
    rng = np.random.default_rng(20240401)

    def at(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Equations and conditions at each row, (n, m) and (n, count)."""
        found = f.map(len(rows)).call([ca.DM(part.T) for part in points.split(rows)])
        value, condition = (np.array(part, dtype=float).T for part in found)
        return value, condition

    drawn = np.array([points.draw(rng) for _ in range(SAMPLES)])
    switched = at(drawn)[1]
    change = np.isfinite(switched[1:] - switched[:-1]) & (switched[1:] != switched[:-1])
    lines = [(k, i) for k in range(count) for i in np.flatnonzero(change[:, k])[:LINES]]
    if not lines:
        return
    which, begin = (np.array(part) for part in zip(*lines, strict=True))
    old, every = switched[begin, which], np.arange(len(lines))
    low, high = np.zeros((len(lines), 1)), np.ones((len(lines), 1))
    place = lambda s: drawn[begin] + s * (drawn[begin + 1] - drawn[begin])
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        same = (at(place(middle))[1][every, which] == old)[:, None]
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    below, above = at(place(low))[0], at(place(high))[0]
    for n in np.flatnonzero(np.isfinite(below - above).all(axis=1)):
        yield int(which[n]), below[n], above[n], np.abs(above[n] - below[n])
