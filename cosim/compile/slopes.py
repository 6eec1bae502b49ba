"""How fast expressions change along the solution, and `slope` memories replaced by exactly that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate, islice

import casadi as ca

from blocks.contract.memories import Slope
from blocks.errors import BlockError
from cosim.compile.expressions import Expressions
from cosim.compile.placed_block import PlacedBlock
from cosim.system_parts import SystemEvent


def along(g: ca.SX, t: ca.SX, x: ca.SX, derivative: ca.SX, w: ca.SX, residual: ca.SX) -> ca.SX:
    """dg/dt where x' = derivative, algebraic unknowns moving with it; delayed signals are at rest.

    The first unknowns of w make the residual zero, and keep doing so.
    """
    rate = ca.jtimes(g, x, derivative) + ca.jtimes(g, t, ca.SX(1))
    n = residual.numel()
    if n == 0 or not ca.depends_on(g, w[:n]):
        return rate
    z, r = w[:n], residual
    drift = ca.jtimes(r, x, derivative) + ca.jtimes(r, t, ca.SX(1))
    return rate - ca.mtimes(ca.jacobian(g, z), ca.solve(ca.jacobian(r, z), drift))


Assumption = tuple[list[int], ca.SX, float]  # places of a slope, an unknown, what it is taken to be


class Slopes:
    """Stand-ins for slopes, and what they stand for once all derivatives are known."""

    def __init__(
        self,
        names: Sequence[str],
        symbols: ca.SX,
        values: ca.SX,
        assumed: Sequence[Assumption] = (),
        exact: Collection[int] = (),
    ) -> None:
        self._names, self._symbols, self._values = list(names), symbols, values
        self._assumed, self._exact = list(assumed), set(exact)

    @staticmethod
    def of(placed: Mapping[str, PlacedBlock], between: Expressions) -> Slopes:
        """Those of all blocks."""
        pairs = [(inst, m) for inst in placed.values() for m in inst.memories(Slope)]
        names, symbols, values, assumed, n = [], [ca.SX(0, 1)], [ca.SX(0, 1)], [], 0
        exact: list[int] = []
        for inst, m in pairs:
            names += [f"{inst.path}.{m.name}"] * m.size
            symbols.append(inst.symbols[m.name])
            values.append(between.memory(inst.path, m.name))
            places = list(range(n, n + m.size))
            assumed += [(places, inst.symbols[unknown], value) for unknown, value in m.assuming]
            exact += places if m.exact else []
            n += m.size
        return Slopes(names, ca.vertcat(*symbols), ca.vertcat(*values), assumed, exact)

    def found(self, t: ca.SX, x: ca.SX, derivative: ca.SX, w: ca.SX, residual: ca.SX) -> ca.SX:
        """The slopes themselves, (n,).

        Raises
        ------
        BlockError     one that depends on itself, through the derivative of a state it gives
        """
        return self._closed(along(self._values, t, x, derivative, w, residual))

    def into_residual(self, t: ca.SX, x: ca.SX, derivative: ca.SX, w: ca.SX, residual: ca.SX) -> ca.SX:
        """A residual with the slopes in it.

        Raises
        ------
        BlockError     one of a signal that depends on unknowns, or on a delay where it must be exact
        """
        if not self.uses(residual):
            return residual
        unknowns = w[: residual.numel()]
        for k, name in enumerate(self._names):
            value = self._values[k]
            if ca.depends_on(value, w if k in self._exact else unknowns) and ca.depends_on(
                residual, self._symbols[k]
            ):
                raise _unknown(name, delayed=not ca.depends_on(value, unknowns))
        rates = ca.jtimes(self._values, x, derivative) + ca.jtimes(self._values, t, ca.SX(1))
        return self.put(residual, self._closed(rates))

    def _closed(self, rates: ca.SX) -> ca.SX:
        """Slopes without slopes in them, each under what it assumes."""
        found = self._without(rates)
        for k, symbol, value in self._assumed:
            found[k] = ca.substitute(found[k], symbol, ca.SX(value))
        return found

    def _without(self, rates: ca.SX) -> ca.SX:
        found = rates
        for _ in self._names:
            if not ca.depends_on(found, self._symbols):
                return found
            found = ca.substitute(found, self._symbols, rates)
        if ca.depends_on(found, self._symbols):
            names = ", ".join(f"'{name}'" for name in dict.fromkeys(self._names))
            raise BlockError(
                f"slopes depend on themselves: {names}.",
                hint="Take the slope of a signal that does not depend on the state whose derivative it is.",
            )
        return found

    def __bool__(self) -> bool:
        return bool(self._names)

    def of_inputs(self, inputs: ca.SX, equations: Sequence[ca.SX]) -> dict[str, bool]:
        """Those of signals that depend on some inputs, by name: do equations depend on them?

        Nobody says how fast an input changes: its part in a slope is 0.
        """
        found: dict[str, bool] = {}
        for k, name in enumerate(self._names):
            if ca.depends_on(self._values[k], inputs):
                used = any(ca.depends_on(e, self._symbols[k]) for e in equations)
                found[name] = found.get(name, False) or used
        return found

    def uses(self, expression: ca.SX) -> bool:
        """Does an expression depend on a slope?"""
        return bool(ca.depends_on(expression, self._symbols))

    def used_by(self, expressions: Sequence[ca.SX]) -> list[bool]:
        """Which of some expressions, each a column, depend on a slope?"""
        rows = ca.densify(ca.vertcat(ca.SX(0, 1), *expressions))
        used = iter(ca.which_depends(rows, self._symbols, 1, True) if rows.numel() else ())
        return [any([*islice(used, e.numel())]) for e in expressions]

    def put_into(self, expressions: Sequence[ca.SX], slopes: ca.SX) -> list[ca.SX]:
        """Expressions, each a column, with the slopes in the place of what stands for them: all in one go."""
        mine = [k for k, used in enumerate(self.used_by(expressions)) if used]
        found = list(expressions)
        if mine:
            ends = [*accumulate((expressions[k].numel() for k in mine), initial=0)]
            whole = self.put(ca.densify(ca.vertcat(*[expressions[k] for k in mine])), slopes)
            for k, value in zip(mine, ca.vertsplit(whole, ends), strict=True):
                found[k] = value
        return found

    def put(self, expression: ca.SX, slopes: ca.SX) -> ca.SX:
        """An expression with the slopes in the place of what stands for them."""
        return ca.substitute(expression, self._symbols, slopes)


def with_slopes(events: Sequence[SystemEvent], slopes: Slopes, found: ca.SX) -> tuple[SystemEvent, ...]:
    """Events with the slopes in the place of what stands for them."""
    used = slopes.used_by([e.crossing for e in events])
    every = [[e.crossing, *(value for _, _, value in e.resets)] for e in events]
    put = iter(slopes.put_into([value for own in every for value in own], found))
    made = []
    for e, sloped in zip(events, used, strict=True):
        crossing = next(put)
        resets = tuple((vector, places, next(put)) for vector, places, _ in e.resets)
        made.append(replace(e, crossing=crossing, resets=resets, by_value=e.by_value or sloped))
    return tuple(made)


def _unknown(name: str, delayed: bool) -> BlockError:
    """The slope of a signal of which nobody knows how fast it changes, needed for a residual."""
    signal = "delayed" if delayed else "itself part of an algebraic loop"
    return BlockError(
        f"an equation depends on '{name}', how fast a signal changes, and that signal is {signal}.",
        path=name,
        hint="Put a state in between, as that of a lag, or take a law without a jump: "
        "STEP5 over a small speed in the place of SIGN.",
    )
