"""How all numbers of a system move with its states near one point: Jacobians, carried through unknowns.

`Tangent` stands at an operating point, takes numbers of the flat system (segments of the schedule, rates of
change, outputs) and their exact Jacobians there, and eliminates w: algebraic unknowns by the implicit
function theorem, delayed signals as `Delays` says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from blocks.contract.rate import simple
from blocks.errors import PlantloopError
from cosim.analysis.pade import Pade
from cosim.engines.methods.newton import newton
from cosim.engines.reference.bound import Bound
from cosim.run.context import Context
from cosim.slots import Sought
from cosim.system import System
from cosim.system_parts import Delay

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True)
class SparseJacobian:
    """Of some numbers by x, h and w; `value` are the numbers there. Overwritten when it is taken anew."""

    value: np.ndarray
    x: sp.csc_matrix
    h: sp.csc_matrix
    w: sp.csc_matrix


@dataclass(frozen=True)
class Moved:
    """Derivatives of all values by the quantities that a model varies, one column each.

    x (nx, n), z (nz, n) states of Padé approximants, h and next (nh, n), late (nw, n) what delays show
    """

    x: np.ndarray
    z: np.ndarray
    h: np.ndarray
    next: np.ndarray
    late: np.ndarray


@dataclass(frozen=True)
class ExactDelay:
    """A delay of a signal that is constant between instants: what it shows is what was there then.

    seconds : s; reads : places in h that the signal depends on
    """

    delay: Delay
    seconds: Fraction
    reads: frozenset[int]


@dataclass(frozen=True)
class RationalDelay:
    """A delay whose components are replaced by rational systems; places: of their states in z."""

    delay: Delay
    seconds: float
    pade: Pade
    start: int

    @property
    def order(self) -> int:
        """States per component."""
        return len(self.pade.A)

    def states(self, component: int) -> slice:
        """Of one component in z."""
        first = self.start + component * self.order
        return slice(first, first + self.order)


class Delays:
    """What stands for each delay of a system in a linear model."""

    def __init__(self, system: System, context: Context, pade: int | None, sampled: bool) -> None:
        self.exact: list[ExactDelay] = []
        self.rational: list[RationalDelay] = []
        self.order = 0  # states of all approximants
        arguments = [system.t, system.x, system.h, system.w, system.p]
        for d in system.delays:
            seconds = float(ca.Function("s", arguments, [d.seconds])(*_at(context)))
            moving = ca.vertcat(system.t, system.x, system.w)
            steady = not any(ca.which_depends(d.signal, moving, 1, True)) if moving.numel() else True
            if sampled and steady and not d.longest:
                reads = frozenset(ca.jacobian_sparsity(d.signal, system.h).get_triplet()[1])
                exact = simple(seconds)
                found = ExactDelay(d, Fraction(seconds) if exact is None else exact, reads)
                self.exact.append(found)
            elif pade is None:
                raise _no_states(d)
            else:
                self.rational.append(RationalDelay(d, seconds, Pade.of(seconds, pade), self.order))
                self.order += pade * len(d.places)

    def names(self) -> list[str]:
        """Of the states of approximants."""
        return [
            f"{r.delay.name}[{c}]_pade{k}" if len(r.delay.places) > 1 else f"{r.delay.name}_pade{k}"
            for r in self.rational
            for c in range(len(r.delay.places))
            for k in range(r.order)
        ]


def _no_states(delay: Delay) -> PlantloopError:
    return PlantloopError(
        f"'{delay.name}' is a delay, which has no linear model with finitely many states.",
        path=delay.name,
        hint="Ask for a rational approximation with pade=6, or put a Padé TransferFunction, or "
        "UnitDelays in a sampled diagram, in its place.",
    )


class Tangent:
    """A system at one point, and how it moves from there; the context is walked along."""

    def __init__(self, system: System, context: Context, delays: Delays) -> None:
        self.system, self.context, self.delays = system, context, delays
        self.unknown = system.residual.numel()
        self._time = np.zeros(1)
        self._bound: dict[Any, tuple[Bound, list[sp.csc_matrix]]] = {}

    # --- numbers and their Jacobians ------------------------------------------------------------------
    def function(self, key: Any, make: Callable[[], ca.SX]) -> ca.Function:
        """Numbers and their Jacobians, kept with the system."""
        s = self.system

        def made() -> ca.Function:
            e = make()
            parts = [ca.densify(e), *[ca.jacobian(e, v) for v in (s.x, s.h, s.w)]]
            return ca.Function("f", [s.t, s.x, s.h, s.w, s.p], parts)

        return s.derived.get(("tangent", key), made)

    def at(self, key: Any, make: Callable[[], ca.SX], later: float = 0.0) -> SparseJacobian:
        """Of what `make` gives, at the present point, or at a later time [s]."""
        if key not in self._bound:
            c, function = self.context, self.function(key, make)
            bound = Bound(function, [self._time, c.x, c.h, c.w, c.p])
            outputs = range(1, function.n_out())
            self._bound[key] = bound, [_sparse(function.sparsity_out(k), bound.outputs[k]) for k in outputs]
        bound, matrices = self._bound[key]
        self._time[0] = self.context.t + later
        return SparseJacobian(bound().copy(), *matrices)

    def reads(self, key: Any, make: Callable[[], ca.SX]) -> set[int]:
        """Places in h that some numbers depend on, through w as well."""
        f = self.function(key, make)
        found = set(_columns(f, 2))
        return found | self.behind_w if set(_columns(f, 3)) else found

    @property
    def behind_w(self) -> set[int]:
        """Places in h that what is found anew depends on."""
        found = set(_columns(self.function("residual", lambda: self.system.residual), 2))
        for k, d in enumerate(self.system.delays):
            found |= set(_columns(self.function(("delayed", k), lambda d=d: d.signal), 2))  # type: ignore[misc]
        return found

    def flow_reads(self) -> set[int]:
        """Places in h that the rates of change depend on."""
        return self.reads("derivative", lambda: self.system.derivative)

    # --- what is found anew ---------------------------------------------------------------------------
    def bring_to_rest(self, later: float = 0.0) -> None:
        """Bring w to what it is at rest: unknowns solved, delayed signals as they are now."""
        s, c = self.system, self.context
        if not len(c.w):
            return
        places = np.concatenate([np.arange(self.unknown), *[d.places for d in s.delays]]).astype(int)

        def residual() -> tuple[np.ndarray, np.ndarray]:
            parts = [self.at("residual", lambda: s.residual, later)]
            value, rows = [parts[0].value], [parts[0].w.toarray()]
            for k, d in enumerate(s.delays):
                v = self.at(("delayed", k), lambda d=d: d.signal, later)  # type: ignore[misc]
                value.append(c.w[d.places] - v.value)
                rows.append(np.eye(len(c.w))[d.places] - v.w.toarray())
            return np.concatenate(value), np.vstack(rows)[:, places]

        names = [*s.loops, *(Sought(d.name) for d in s.delays for _ in d.places)]
        newton(residual, c.w, places, names, c.t + later)

    def accept(self) -> None:
        """Take over accepted memories, as at the end of a step: what a rate limiter came from, and when."""
        values, places = self.system.accepted
        if values.numel():
            self.context.h[places] = self.at("accepted", lambda: values).value

    def unknowns(self, later: float = 0.0) -> Eliminated:
        """Which linear function of everything else w is."""
        s, nw = self.system, len(self.context.w)
        left, x, h = np.zeros((nw, nw)), np.zeros((nw, len(s.x0))), np.zeros((nw, len(s.h0)))
        z, late = np.zeros((nw, self.delays.order)), np.zeros((nw, nw))
        if self.unknown:
            r = self.at("residual", lambda: s.residual, later)
            n = self.unknown
            left[:n], x[:n], h[:n] = r.w.toarray(), -r.x.toarray(), -r.h.toarray()
        for found in self.delays.exact:
            left[found.delay.places, found.delay.places] = late[found.delay.places, found.delay.places] = 1.0
        for r_, v in self._delayed(later):
            p, d = r_.delay.places, r_.pade.D
            left[p] = np.eye(nw)[p] - d * v.w.toarray()
            x[p], h[p] = d * v.x.toarray(), d * v.h.toarray()
            for c, place in enumerate(p):
                z[place, r_.states(c)] = r_.pade.C
        return Eliminated(*(np.linalg.solve(left, m) for m in (x, h, z, late)))

    def _delayed(self, later: float = 0.0) -> Iterator[tuple[RationalDelay, SparseJacobian]]:
        for r in self.delays.rational:
            k = self.system.delays.index(r.delay)
            yield r, self.at(("delayed", k), lambda r=r: r.delay.signal, later)  # type: ignore[misc]

    # --- carried along --------------------------------------------------------------------------------
    def rows(self, of: SparseJacobian, moved: Moved, unknowns: Eliminated | None = None) -> np.ndarray:
        """How numbers move with everything."""
        found = of.x @ moved.x + of.h @ moved.h
        if of.w.nnz:
            found = found + of.w @ (unknowns or self.unknowns()).rows(moved)
        return np.asarray(found)

    def rates(self, later: float = 0.0) -> FlowMatrices:
        """FlowMatrices of change of (x, z), as matrices of x and z, of h and of what delays show."""
        u = self.unknowns(later)
        f = self.at("derivative", lambda: self.system.derivative, later)
        nx, nz = len(self.system.x0), self.delays.order
        own, held = np.zeros((nx + nz, nx + nz)), np.zeros((nx + nz, len(self.system.h0)))
        late = np.zeros((nx + nz, len(self.context.w)))
        own[:nx, :nx], own[:nx, nx:] = f.x.toarray() + f.w @ u.x, f.w @ u.z
        held[:nx], late[:nx] = f.h.toarray() + f.w @ u.h, f.w @ u.late
        for r, v in self._delayed(later):
            by_x, by_h, by_w = v.x.toarray(), v.h.toarray(), v.w.toarray()
            for c in range(len(r.delay.places)):
                at = slice(nx + r.states(c).start, nx + r.states(c).stop)
                own[at, :nx] = r.pade.B[:, None] * (by_x[c] + by_w[c] @ u.x)
                own[at, nx:] = r.pade.B[:, None] * (by_w[c] @ u.z)
                own[at, at] += r.pade.A
                held[at] = r.pade.B[:, None] * (by_h[c] + by_w[c] @ u.h)
                late[at] = r.pade.B[:, None] * (by_w[c] @ u.late)
        return FlowMatrices(own, held, late)


@dataclass(frozen=True)
class Eliminated:
    """w as a linear function of x, h, z and of what delays show."""

    x: np.ndarray
    h: np.ndarray
    z: np.ndarray
    late: np.ndarray

    def rows(self, moved: Moved) -> np.ndarray:
        """How w moves."""
        found = self.x @ moved.x + self.h @ moved.h + self.z @ moved.z + self.late @ moved.late
        return np.asarray(found)


@dataclass(frozen=True)
class FlowMatrices:
    """(x, z)' = own (x, z) + held h + late w."""

    own: np.ndarray
    held: np.ndarray
    late: np.ndarray


def _at(c: Context, later: float = 0.0) -> list[ca.DM]:
    return [ca.DM(c.t + later), ca.DM(c.x), ca.DM(c.h), ca.DM(c.w), ca.DM(c.p)]


def _sparse(pattern: ca.Sparsity, data: np.ndarray) -> sp.csc_matrix:
    """A matrix whose numbers are those of an array, also when they change."""
    import scipy.sparse as sp  # slow to import, and names alone need none

    found = sp.csc_matrix(pattern.shape)
    found.data = data
    found.indices, found.indptr = (np.array(a, dtype=np.int32) for a in (pattern.row(), pattern.colind()))
    return found


def _columns(function: ca.Function, output: int = 0) -> list[int]:
    """Columns of a sparse output that are not empty."""
    return sorted(set(function.sparsity_out(output).get_triplet()[1]))
