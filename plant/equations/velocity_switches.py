"""Forces that jump where a velocity changes its sign, and hold it at zero where both sides lead back there.

Friction written as ``-mu*N*SIGN(1, VX(1, 2))`` or ``IF(WZ(1, 2): c, 0, -c)``. Such a force takes the value
between its two that keeps the velocity at zero, for as long as there is one (`SlidingSwitch`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import casadi as ca
import numpy as np

from blocks.contract.block import Equations
from blocks.contract.symbols import as_scalar, column, hash_of
from blocks.library.sliding import SlidingSwitch
from plant.assembly.start_numbers import StartNumbers
from plant.constraints.closure import Closure
from plant.mechanics.absolute import Bodies
from plant.mechanics.motion import MotionDerivatives
from plant.mechanics.tree import Tree

FIXED = 1e-9  # of a velocity: what constraints leave free of it, below which they fix it
SAME = 30  # nested operations that are compared to find a velocity again
POINTS = 16  # at which it is looked whether a force jumps
NOTHING = 1e-9  # of a jump where the velocity is not zero: below it there is none


@dataclass(frozen=True, eq=False)
class _Known:
    """A velocity with its switch."""

    v: ca.SX
    switch: SlidingSwitch


class VelocitySwitches:
    """The switches of a plant, one for each velocity.

    b : Equations        where they are declared
    mechanics : Tree or Bodies   coordinates and rates
    closure : Closure or None    constraints, which may fix a velocity: no force holds it then
    further : list of (1, 1)     integrals and filtered inputs, whose rates the motion knows
    inputs : list of (1, 1)      what comes from outside: a belt's speed
    """

    def __init__(
        self,
        b: Equations,
        mechanics: Tree | Bodies,
        closure: Closure | None,
        further: Iterable[ca.SX] = (),
        inputs: Iterable[ca.SX] = (),
    ) -> None:
        self._b, self._closure = b, closure
        self._q, self._qd = (ca.vertcat(ca.SX(0, 1), *parts) for parts in (mechanics.q, mechanics.qd))
        self._inputs = ca.vertcat(ca.SX(0, 1), *inputs)
        own = [self._q, self._qd, ca.SX(b.time), *further, self._inputs]
        self._states = {hash_of(e) for part in own for e in part.nonzeros()}
        self._known: list[_Known] = []

    def found(self, v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> ca.SX | None:
        """Value of an expression that is `below` where v < 0, `above` where v > 0; None: v has no switch."""
        known = next((k for k in self._known if ca.is_equal(k.v, v, SAME)), None)
        return None if known is None else _between(known.switch, below, above)

    def made(self, v: ca.SX, below: ca.SX, above: ca.SX, text: str) -> ca.SX | None:
        """The same, with a switch where the value jumps and v is a velocity that can change its sign.

        text : the expression, for names of events
        """
        value = self.found(v, below, above, text)
        if value is not None or not self._slides(v, above - below):
            return value
        name = f" of velocity {len(self._known) + 1}"
        about = f" in {text}" if all(text not in k.switch.about for k in self._known) else f"{name} in {text}"
        self._known.append(_Known(v, SlidingSwitch(self._b, as_scalar(v), name, about)))
        return self.found(v, below, above, text)

    def write_equations(self, motion: MotionDerivatives) -> None:
        """Write down what holds each velocity; motion : with the accelerations."""
        for known in self._known:
            slope = motion.rate(known.v) + self._rate_from_outside(known)
            own = ca.vertcat(known.switch.s, known.switch.side)
            above, below = (ca.substitute(slope, own, ca.DM([s, s])) for s in (1.0, -1.0))
            known.switch.close(as_scalar(slope), as_scalar(above), as_scalar(below), by_value=True)

    def _rate_from_outside(self, known: _Known) -> ca.SX:
        """How fast a velocity changes with the plant's inputs."""
        by_input = ca.jacobian(known.v, self._inputs)
        used = sorted(set(by_input.sparsity().get_triplet()[1]))
        if not used:
            return ca.SX(0)
        rate = self._b.slope(self._inputs[used], f"rate of the input{known.switch.about}", exact=True)
        return ca.SX(by_input[:, used] @ column(rate))

    def _slides(self, v: ca.SX, jump: ca.SX) -> bool:
        """Is v a velocity that states, inputs and TIME alone give, which is free, and does the force jump?"""
        if {hash_of(s) for s in ca.symvar(v)} - self._states - self._b.parameter_symbols:
            return False
        per_rate = ca.jacobian(v, self._qd)
        if not per_rate.nnz() or ca.depends_on(per_rate, ca.vertcat(self._qd, self._inputs)):
            return False
        return self._jumps(v, jump) and not self._fixed(per_rate)

    def _jumps(self, v: ca.SX, jump: ca.SX) -> bool:
        """False where the two values meet wherever v is zero, as those of ``SIGN(c*v*v, v)`` do."""
        if self._b.calls_python:
            return True
        others = [s for s in ca.symvar(ca.vertcat(v, jump)) if not ca.depends_on(self._qd, s)]
        f = ca.Function("jump", [self._qd, *others], [v, jump, ca.densify(ca.jacobian(v, self._qd))])
        rng, sizes = np.random.default_rng(20240401), []
        for _ in range(POINTS):
            rest = [ca.DM(x) for x in rng.standard_normal(len(others))]
            qd = rng.standard_normal(self._qd.numel())
            speed, before, slope = (np.array(e).ravel() for e in f.call([ca.DM(qd), *rest]))
            if not (length := float(slope @ slope)):
                continue
            (behind,) = np.array(f.call([ca.DM(qd - slope * speed / length), *rest])[1]).ravel()
            if np.isfinite(before[0]) and before[0]:
                sizes.append(abs(behind) > NOTHING * abs(before[0]))
        return any(sizes) or not sizes

    def _fixed(self, per_rate: ca.SX) -> bool:
        """Do constraints give the velocity, whatever forces do?"""
        closure = self._closure
        rows = [] if closure is None else closure.rows(lambda c: c.reacts)
        if closure is None or not rows:
            return False
        numbers = StartNumbers(self._b, self._q, self._qd, 0.0, closure.roots)
        at = {hash_of(s): x for many, x in self._b.known() for s, x in zip(many.nonzeros(), x, strict=True)}
        q, qd = (np.array([at[hash_of(e)] for e in part.nonzeros()]) for part in (self._q, self._qd))
        J, g = numbers(matrices=(closure.J[rows, :], per_rate))(q, qd)
        v, held = g.toarray().ravel(), J.toarray()
        left = v - held.T @ np.linalg.lstsq(held.T, v, rcond=None)[0]
        return bool(np.abs(left).max(initial=0.0) <= FIXED * np.abs(v).max(initial=0.0))


def _between(switch: SlidingSwitch, below: ca.SX, above: ca.SX) -> ca.SX:
    """The value on either side; while it slides the one in between that the switch says."""
    s, side = ca.SX(switch.s), ca.SX(switch.side)
    mean = (1 + s) / 2 * above + (1 - s) / 2 * below
    return ca.if_else(ca.fabs(side) > 0.5, ca.if_else(side > 0, above, below), mean)
