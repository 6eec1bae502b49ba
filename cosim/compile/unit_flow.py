"""Which units come out of a block when those of its inputs and parameters are known: its equations are asked.

Sums have the unit of their terms, products the product of units, a state the unit of its rate times s. What
a written number stands for is not known: a product with one has no known unit, nor has a sum with such a
product. A gain of 1 is not even written: what equations of users' own make is noted, never refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import casadi as ca

from blocks.contract.memories import ContinuousState, StateMemory
from blocks.contract.trace import Traced
from blocks.contract.units import ONE, SECOND, Found, PhysicalUnit

MOST = 20_000  # operations of a block that are looked at
ROUNDS = 3  # for states that depend on each other

CHOICES = {ca.OP_FMIN, ca.OP_FMAX}
ALIKE = CHOICES | {ca.OP_ADD, ca.OP_SUB}  # both operands, and the outcome, have one unit
KEPT = {ca.OP_ASSIGN, ca.OP_NEG, ca.OP_FABS}
NUMBERS = {
    ca.OP_SIN, ca.OP_COS, ca.OP_TAN, ca.OP_EXP, ca.OP_LOG, ca.OP_SIGN, ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE,
    ca.OP_NOT, ca.OP_AND, ca.OP_OR, ca.OP_TANH,
}  # fmt: skip

Unit = PhysicalUnit | None
Mixed = dict[tuple[str, str], tuple[PhysicalUnit, PhysicalUnit]]


@dataclass(frozen=True)
class UnitFlow:
    """Units of the outputs and states of a block by name, one per component; and pairs that were added."""

    outputs: Mapping[str, Found]
    states: Mapping[str, Found]
    mixed: tuple[tuple[PhysicalUnit, PhysicalUnit], ...] = ()


@dataclass(slots=True)
class _Step:
    """The unit of one intermediate value, as far as it is known."""

    unit: Unit = None
    constant: float | None = None
    product: bool = False  # of a number whose unit is not known: no sum with it has a known unit
    half: bool = False  # of a choice between two

    def bare(self) -> bool:
        """Is it a number, or a parameter or input without a unit?"""
        return self.unit is None and not self.product


def unit_flow(
    traced: Traced,
    inputs: Sequence[Found],
    parameters: Mapping[str, PhysicalUnit],
    follows: bool = True,
) -> UnitFlow:
    """Units of what a block gives.

    inputs : of every input in order, one per component; parameters : of those whose unit is known
    follows : False where a number may hide in the equations: units of sums and products are `followed`
    """
    d = traced.declared
    p = [parameters.get(q.name) for q in d.parameters for _ in range(q.size)]
    free: list[Unit] = [None] * traced.own.numel()
    ticks: list[Unit] = [None] * d.tick_symbols.numel()
    algebra = _Algebra(follows)
    asked: dict[str, _Asked] = {}

    def units(name: str, expression: ca.SX, own: list[Unit], mixed: Mixed) -> list[Unit]:
        f = traced.part(name, expression)
        read = [own[k] for k in f.own]
        before = asked.get(name)
        if before is None or any(a is not b for a, b in zip(before.read, read, strict=True)):
            operations = _operations(f.function) if before is None else before.operations
            arguments: list[Sequence[Unit]] = [
                [None],
                read,
                [p[k] for k in f.p],
                ticks,
                *(inputs[k] for k in f.inputs),
            ]
            here: Mixed = {}
            found = algebra.outcome(operations, arguments, f.function.nnz_out(0), here)
            asked[name] = before = _Asked(read, operations, found, here)
        for pair, both in before.mixed.items():
            mixed.setdefault(pair, both)
        return before.found

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
                found = [_integrated(u, follows) for u in found]
            own[place] = [b if a is None else a for a, b in zip(own[place], found, strict=True)]
        if own == before:
            break
    inside: Mixed = {}
    for m in traced.evolving:
        units(f"m:{m.name}", m.equation, own, inside)
    if inside.keys() - mixed.keys():  # x' = u - x: a time constant of 1 s is not written
        own = free
    outputs = {o.name: tuple(units(f"y:{o.name}", o.expression, own, {})) for o in d.outputs}
    states = {m.name: tuple(own[traced.slices[m.name]]) for m in d.memories_of(StateMemory)}
    return UnitFlow(outputs, states, tuple(mixed.values()))


def shown_states(traced: Traced, outputs: Mapping[str, Found]) -> dict[str, Found]:
    """Units of states that outputs show as they are, by name: those of the outputs."""
    d = traced.declared
    units = {
        o.expression[k].element_hash(): outputs[o.name][k]
        for o in d.outputs
        for k in range(o.size)
        if outputs.get(o.name) and o.expression[k].is_symbolic()
    }
    hashes = {m.name: [m.symbol[k].element_hash() for k in range(m.size)] for m in d.memories_of(StateMemory)}
    return {name: tuple(units.get(k) for k in places) for name, places in hashes.items()}


def _integrated(rate: Unit, follows: bool) -> Unit:
    unit = None if rate is None else rate.times(SECOND)
    return unit if unit is None or follows else unit.behind_equations()


_Operation = tuple[int, list[int], list[int], float | None]  # code, places read and written; of a constant


@dataclass
class _Asked:
    """What was found of an expression when it was asked last: with these units of memories."""

    read: list[Unit]
    operations: list[_Operation] | None
    found: list[Unit]
    mixed: Mixed


def _operations(f: ca.Function) -> list[_Operation] | None:
    """All operations of a function of scalars; None where they are too many."""
    count = f.n_instructions()
    if count > MOST:
        return None
    codes = [f.instruction_id(k) for k in range(count)]
    return [
        (
            code,
            f.instruction_input(k),
            f.instruction_output(k),
            f.instruction_constant(k) if code == ca.OP_CONST else None,
        )
        for k, code in enumerate(codes)
    ]


class _Algebra:
    """Units of what operations make of others; `follows` as in `unit_flow`."""

    def __init__(self, follows: bool) -> None:
        self._follows = follows
        # by the operation and its operands, which are kept so that no others take their identities
        self._products: dict[tuple[int, int, int, float | None], tuple[Unit, Unit, Unit]] = {}

    def outcome(
        self,
        operations: list[_Operation] | None,
        arguments: Sequence[Sequence[Unit]],
        count: int,
        mixed: Mixed,
    ) -> list[Unit]:
        """Units of the `count` numbers that operations give."""
        found: list[Unit] = [None] * count
        if operations is None:
            return found
        work: dict[int, _Step] = {}
        for op, into, out, constant in operations:
            if op == ca.OP_INPUT:
                given = arguments[into[0]]
                work[out[0]] = _Step(given[into[1]] if into[1] < len(given) else None)
            elif op == ca.OP_OUTPUT:
                found[out[1]] = work[into[0]].unit
            elif op == ca.OP_CONST:
                work[out[0]] = _Step(constant=constant)
            elif len(out) == 1 and len(into) <= 2 and op != ca.OP_CALL:
                work[out[0]] = self._of(op, work[into[0]], work[into[-1]], mixed)
            else:  # a call: a plant, a spline
                work.update({place: _Step(product=True) for place in out})
        return found

    def _of(self, op: int, first: _Step, last: _Step, mixed: Mixed) -> _Step:
        """The unit behind one operation, as far as it is known."""
        a, b = first.unit, last.unit
        if op in ALIKE:
            if a is None or b is None:
                known = (b if a is None else a) if first.bare() or last.bare() else None
                return _Step(known, product=known is None and (first.product or last.product))
            if not a.is_same(b):
                mixed.setdefault((a.name, b.name), (a, b))
                return _Step(product=True)
            common = a if a.sure else b
            chosen = op in CHOICES or (first.half and last.half)
            return _Step(common if self._follows or chosen else common.behind_equations())
        if op in KEPT:
            return _Step(a, product=first.product, half=first.half)
        if op in NUMBERS:
            return _Step(ONE)
        if op == ca.OP_IF_ELSE_ZERO:
            return _Step(b, product=last.product, half=True)
        if op == ca.OP_COPYSIGN:
            return _Step(a, product=first.product)
        unit = self._product(op, a, b, last.constant)
        return _Step(unit, product=unit is None)

    def _product(self, op: int, a: Unit, b: Unit, exponent: float | None) -> Unit:
        key = (op, id(a), id(b), exponent)
        if key not in self._products:
            unit = _product(op, a, b, exponent)
            if unit is not None and not self._follows:
                unit = unit.behind_equations()
            self._products[key] = (a, b, unit)
        return self._products[key][2]


def _product(op: int, a: Unit, b: Unit, exponent: float | None) -> Unit:
    """The unit of what is multiplied, divided or raised."""
    if a is None or b is None:
        if op in (ca.OP_CONSTPOW, ca.OP_POW) and a is not None and exponent is not None:
            return a.power(Fraction(exponent).limit_denominator(100))
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
