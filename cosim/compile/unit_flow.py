"""Which units come out of a block when those of its inputs and parameters are known: its equations are asked.

Sums have the unit of their terms, products the product of units, a state the unit of its rate times s. What a
written number stands for is not known, so that a product with one has no known unit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca

from blocks.contract.memories import ContinuousState
from blocks.contract.trace import Traced
from blocks.contract.units import ONE, SECOND, Found, PhysicalUnit

MOST = 20_000  # operations of a block that are looked at
ROUNDS = 3  # for states that depend on each other

ALIKE = {ca.OP_ADD, ca.OP_SUB, ca.OP_FMIN, ca.OP_FMAX}  # both operands, and the outcome, have one unit
KEPT = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_FABS, ca.OP_TWICE}
NUMBERS = {
    ca.OP_SIN, ca.OP_COS, ca.OP_TAN, ca.OP_EXP, ca.OP_LOG, ca.OP_SIGN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE,
    ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_TANH,
}  # fmt: skip

Unit = PhysicalUnit | None
Mixed = dict[tuple[str, str], tuple[PhysicalUnit, PhysicalUnit]]


@dataclass(frozen=True)
class UnitFlow:
    """Units of the outputs of a block by name, one per component; and pairs that were added to each other."""

    outputs: Mapping[str, Found]
    mixed: tuple[tuple[PhysicalUnit, PhysicalUnit], ...] = ()


def unit_flow(traced: Traced, inputs: Sequence[Found], parameters: Mapping[str, PhysicalUnit]) -> UnitFlow:
    """Units of what a block gives.

    inputs : of every input in order, one per component; parameters : of those whose unit is known
    """
    d = traced.declared
    p = [parameters.get(q.name) for q in d.parameters for _ in range(q.size)]
    free: list[Unit] = [None] * traced.own.numel()

    def units(name: str, expression: ca.SX, own: list[Unit], mixed: Mixed) -> list[Unit]:
        f = traced.function(name, expression)
        return _outcome(f, [[None], own, p, [None] * d.tick_symbols.numel(), *inputs], mixed)

    mixed: Mixed = {}  # of inputs alone: what a state is in may hide in a number that is not written
    for o in d.outputs:
        units(f"y:{o.name}", o.expression, free, mixed)
    for m in traced.evolving:
        units(f"m:{m.name}", m.equation, free, mixed)
    own = list(free)
    for _ in range(ROUNDS):
        before = list(own)
        for m in traced.evolving:
            place = traced.slices[m.name]
            if not isinstance(m, ContinuousState) and ca.depends_on(m.equation, m.symbol):
                continue  # a sum over ticks: the sample time in it may be 1 and not written
            found = units(f"m:{m.name}", m.equation, own, {})
            if isinstance(m, ContinuousState):
                found = [None if u is None else u.times(SECOND) for u in found]
            own[place] = [b if a is None else a for a, b in zip(own[place], found, strict=True)]
        if own == before:
            break
    inside: Mixed = {}
    for m in traced.evolving:
        units(f"m:{m.name}", m.equation, own, inside)
    if inside.keys() - mixed.keys():  # x' = u - x: a time constant of 1 s is not written
        own = free
    outputs = {o.name: tuple(units(f"y:{o.name}", o.expression, own, {})) for o in d.outputs}
    return UnitFlow(outputs, tuple(mixed.values()))


def _outcome(
    f: ca.Function,
    arguments: Sequence[Sequence[Unit]],
    mixed: Mixed,
) -> list[Unit]:
    """Units of the one output of a function of scalars."""
    count = f.nnz_out(0)
    found: list[Unit] = [None] * count
    if f.n_instructions() > MOST:
        return found
    work: dict[int, Unit] = {}
    constants: dict[int, float] = {}
    for k in range(f.n_instructions()):
        op, into, out = f.instruction_id(k), f.instruction_input(k), f.instruction_output(k)
        if op == ca.OP_INPUT:
            given = arguments[into[0]]
            work[out[0]] = given[into[1]] if into[1] < len(given) else None
            constants.pop(out[0], None)
        elif op == ca.OP_OUTPUT:
            found[out[1]] = work[into[0]]
        elif op == ca.OP_CONST:
            work[out[0]], constants[out[0]] = None, f.instruction_constant(k)
        elif len(out) == 1 and len(into) <= 2 and op != ca.OP_CALL:
            unit = _of(op, [work[i] for i in into], [constants.get(i) for i in into], mixed)
            constants.pop(out[0], None)
            work[out[0]] = unit
        else:  # a call: a plant, a spline
            for place in out:
                work[place] = None
                constants.pop(place, None)
    return found


def _of(
    op: int,
    units: Sequence[Unit],
    constants: Sequence[float | None],
    mixed: Mixed,
) -> Unit:
    """The unit of one operation."""
    a, b = units[0], units[-1]
    if op in ALIKE:
        if a is None or b is None:
            return b if a is None else a
        if not a.is_same(b):
            mixed.setdefault((a.name, b.name), (a, b))
            return None
        return a if a.sure else b
    if op in KEPT:
        return a
    if op in NUMBERS:
        return ONE
    if op in (ca.OP_IF_ELSE_ZERO, ca.OP_COPYSIGN):
        return b if op == ca.OP_IF_ELSE_ZERO else a
    if a is None or b is None:
        if op in (ca.OP_CONSTPOW, ca.OP_POW) and a is not None and constants[1] is not None:
            return a.power(Fraction(constants[1]).limit_denominator(100))
        return None
    match op:
        case ca.OP_MUL:
            return a.times(b)
        case ca.OP_DIV:
            return a.times(b, -1)
        case ca.OP_INV:
            return a.power(Fraction(-1))
        case ca.OP_SQ:
            return a.times(a)
        case ca.OP_SQRT:
            return a.power(Fraction(1, 2))
    return None
