"""A plant's equations of motion as numbers, at any state.

    H qdd = Q + J^T lam,      J qdd = gamma            (Haug, eq. 6.3.18, with lam of the other sign)

Multipliers of conditions whose reactions are left to the model's own forces (autobalance DISABLED) act
through Q instead.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import real_numbers
from blocks.contract.declared import Declared
from blocks.contract.event_memories import Branch
from blocks.contract.memories import AlgebraicUnknown, CountedInstants
from blocks.contract.symbols import hash_of
from blocks.errors import ModelError, near_miss
from plant.constraints.closure import Closure
from plant.constraints.solution import Solution, generalised
from plant.coordinates import Coordinates
from plant.equations.states import States
from plant.mechanics.dynamics import MotionAt, accelerations

ROUNDS = 50  # of Newton's method, for algebraic unknowns
ROOT = 1e-13  # relative: how well they are found


@dataclass(frozen=True, eq=False)
class Written:
    """The parts of a plant's equations, once they are written.

    closure : None without constraints
    """

    states: States
    closure: Closure | None
    solution: Solution


class EquationsAt:
    """The equations of a plant, to be evaluated at many states.

    Parameters
    ----------
    declared : Declared       all the plant declared
    written : Written         the same, stage by stage
    """

    def __init__(self, declared: Declared, written: Written) -> None:
        closure, solution = written.closure, written.solution
        tree = written.states.kinematics.tree
        links = tree.mechanism.links
        self._names = Coordinates(tree.mechanism)
        self.columns = tuple(f"{link.name}: {rate}" for link in links for rate in link.joint.rates)
        conditions = [] if closure is None else closure.conditions
        self.rows = tuple(f"{c.constraint.where}: {c.text}" for c in conditions)
        self._reacts = np.array([c.reacts for c in conditions], dtype=bool)
        q, qd = (ca.vertcat(ca.SX(0, 1), *parts) for parts in (tree.q, tree.qd))
        own = {hash_of(e) for e in [*q.nonzeros(), *qd.nonzeros()]}
        memories = [m for m in declared.memories if m.size and hash_of(m.symbol.nonzeros()[0]) not in own]
        unknowns = [m for m in memories if isinstance(m, AlgebraicUnknown)]
        rest = [m for m in memories if not isinstance(m, AlgebraicUnknown)]
        self._guess = np.concatenate([np.zeros(0), *[m.initial for m in unknowns]])
        self._values = {f"state {m.name}": m.initial for m in rest}
        self._values |= {f"inputs {i.name}": np.zeros(i.size) for i in declared.inputs}
        self._values |= {f"parameter {p.name}": p.value[p.mask] for p in declared.parameters}
        self._counts = {f"state {m.name}": m for m in rest if isinstance(m, CountedInstants)}
        self._values["ticks"] = np.zeros(declared.tick_symbols.numel())
        z = ca.vertcat(ca.SX(0, 1), *[m.symbol for m in unknowns])
        symbols = [m.symbol for m in rest] + [i.symbol for i in declared.inputs]
        symbols += [p.symbol for p in declared.parameters]
        arguments = [declared.time, q, qd, z, *symbols, declared.tick_symbols]
        wanted: list[Any] = [tree.mass_matrix(), generalised(tree, solution.loads), solution.lam]
        if closure is not None:
            wanted += [closure.J, closure.gamma, closure.value, closure.rate]
        self._motion = ca.Function("motion", arguments, [ca.densify(ca.SX(e)) for e in wanted])
        sides = {m.name: m.expression for m in rest if isinstance(m, Branch) and m.expression is not None}
        self._branches = [*sides]
        self._sides = ca.Function("sides", arguments, [ca.densify(e) for e in sides.values()])
        R = ca.vertcat(ca.SX(0, 1), *[m.equation for m in unknowns])
        self._equations = ca.Function("unknowns", arguments, [ca.densify(e) for e in (R, ca.jacobian(R, z))])

    def __call__(
        self,
        start: tuple[np.ndarray, np.ndarray],
        state: Mapping[str, Any],
        time: float,
        inputs: Mapping[str, Any],
    ) -> MotionAt:
        """The equations at a state; see `plant.block.Plant.motion_at`."""
        q, qd = (part.copy() for part in start)
        n, m = len(self.columns), len(self.rows)
        others = self._values | {key: memory.passed(time) for key, memory in self._counts.items()}
        own = {}
        for what, given in (("state", state), ("inputs", inputs)):
            for name, value in given.items():
                if (key := f"{what} {name}") in others:
                    others[key] = _numbers(what, name, value, others[key].size)
                elif what == "state":
                    own[name] = value
                else:
                    ports = [key.removeprefix("inputs ") for key in others if key.startswith("inputs ")]
                    raise ModelError(f"the plant has no input '{name}'; {near_miss(name, ports)}", path=name)
        for part, numbers in zip((q, qd), self._names.numbers(own, "state"), strict=True):
            for k, number in numbers.items():
                part[k] = number
        known: list[Any] = [float(time), q, qd]
        found = self._sides.call([ca.DM(e) for e in (*known, self._guess, *others.values())])
        for name, side in zip(self._branches, found, strict=True):
            if name not in state:
                others[f"state {name}"] = np.array(side).ravel()
        rest = list(others.values())
        found = self._motion.call([ca.DM(e) for e in (*known, self._root(known, rest), *rest)])
        H, Q, lam, *closed = (np.array(e) for e in found)
        J, gamma, Phi, rate = closed or (np.zeros((0, n)), *[np.zeros(0)] * 3)
        J, lam, gamma = J.reshape(m, n), lam.ravel(), gamma.ravel()
        qdd, lam[self._reacts] = accelerations(H, Q.ravel(), J, gamma, self._reacts)
        return MotionAt(H, -Q.ravel(), J, gamma, Phi.ravel(), rate.ravel(), qdd, lam, self.rows, self.columns)

    def _root(self, known: list[Any], rest: list[np.ndarray]) -> np.ndarray:
        """Algebraic unknowns: by Newton's method from their first guess."""
        z = self._guess
        for _ in range(ROUNDS if z.size else 0):
            r, slope = (np.array(e) for e in self._equations.call([ca.DM(e) for e in (*known, z, *rest)]))
            step = np.linalg.lstsq(slope, -r.ravel(), rcond=None)[0]
            z = z + step
            if np.abs(step).max() <= ROOT * max(1.0, float(np.abs(z).max())):
                return z
        if z.size:
            raise ModelError(
                "the equations of implicit variables and forces of the plant have no solution at this state: "
                f"Newton's method does not converge in {ROUNDS} rounds.",
                hint="Give a state nearer to the start, or implicit variables another ic.",
            )
        return z


def _numbers(what: str, name: str, value: Any, size: int) -> np.ndarray:
    try:
        found = real_numbers(value).ravel()
    except (TypeError, ValueError, OverflowError):
        found = np.zeros(0)
    if found.size != size or not np.isfinite(found).all():
        raise ModelError(f"{what}: '{name}' is {value!r}, expected {size} finite numbers.", path=name)
    return found
