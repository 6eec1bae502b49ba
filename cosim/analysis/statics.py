"""Static equilibrium of a system with constraints: Newton's method on what the constraints leave free.

At rest all rates qd are zero. The coordinates may move by dq = E N y, where q' = E qd and N spans the rates
the constraints (invariants) allow; first-order states z may change too. An equilibrium has::

    N^T qd' = 0,   z' = 0,   every invariant = 0

Each round projects onto the invariants, takes the exact Jacobian of these equations (algebraic unknowns by
the implicit function theorem) and a Newton step, shortened until Deuflhard's natural monotonicity test holds.
Where the Jacobian is singular, as for a pendulum held out horizontally, where no length helps, or where a
long Newton step would go uphill, the step goes downhill instead: (s 1 - J) y = r, which is a step of the
system in treacle (pseudo-transient continuation).

Near a hilltop, or on it, Newton's method finds or keeps the unstable equilibrium; its result says
whether it is stable.

Source: Deuflhard, Newton Methods for Nonlinear Problems, sections 3.3, 4.4; Kelley and Keyes, SIAM J. Numer.
Anal. 35 (1998) 508.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import null_space

from blocks.contract.memories import ContinuousState
from blocks.errors import PlantloopError
from cosim.analysis.operating import SystemAtPoint, static_of
from cosim.slots import MemorySlot, Slot

ROUNDS = 200
CONVERGED = 1e-11  # of a coordinate, or absolutely: the last Newton step is no longer
UNEXPLAINED = 1e-8  # of the forces at the start: what may be left where the Jacobian is singular
SHORTEST = 1 / 32  # Newton steps that would have to be shorter are not taken
CLOSING = 40  # rounds of projection
SLACK = 1e3  # tolerances of the invariants within which a start counts as closed
FIRST_MOVE = 0.3  # rad or length: about how far a first step goes; Newton steps that succeed may grow
DRAGS = 40  # how often drag is quadrupled before a step downhill is given up
SLOW = 1e-4  # of the fastest swing: slower ones are taken to be held by nothing
SINGULAR = 1e-11  # of the largest singular value
GROWING = 1e-6  # of the largest eigenvalue: a growth beyond it is unstable


class StaticsError(PlantloopError):
    """No equilibrium was found; ``state`` names the worst, ``value`` is what it still accelerates by.

    part : what of its block that state belongs to, such as a joint, "" where the block says nothing
    """

    def __init__(self, message: str, state: str = "", part: str = "", **more: Any) -> None:
        super().__init__(message, **more)
        self.state, self.part = state, part


@dataclass(frozen=True)
class Equilibrium:
    """What statics found; the model's context stands there.

    rounds : int         Newton rounds it took
    residual : float     largest acceleration left, in units of the states per s^2 (or per s)
    growth : float       1/s^2: largest real part among the eigenvalues of the accelerations' Jacobian
    stable : bool        whether none of them grows
    """

    rounds: int
    residual: float
    growth: float
    stable: bool


@dataclass(frozen=True, eq=False)
class _Point:
    """The equations at one state.

    r : (n,) residual; jacobian : (n, n); N : (nr, nf) rates that are free
    directions : (nx, n)     how the states move along the nf free rates and the first-order states
    """

    r: np.ndarray
    jacobian: np.ndarray
    N: np.ndarray
    directions: np.ndarray

    @property
    def free(self) -> int:
        """How many of the n are mechanical."""
        return self.N.shape[1]


def equilibrium_near(model: SystemAtPoint, rounds: int = ROUNDS) -> Equilibrium:
    """Take a model to an equilibrium near its state; see the module text.

    Raises
    ------
    StaticsError     not found; the context stands where it was given up
    """
    with model.looking():
        return _Statics(model).solve(rounds)


def pace(model: SystemAtPoint) -> tuple[float, float]:
    """Times of the fastest and of the slowest motion from rest where a model stands [s].

    A motion's time is 1/omega of a small swing about there, or what the forces there take to move it a bit.
    """
    with model.looking():
        statics = _Statics(model)
        statics.move(model.context.x.copy())
        at = statics.point()
    pushed = float(np.abs(at.r[: at.free]).max(initial=0.0))
    omega = np.sqrt(np.abs(np.linalg.eigvals(at.jacobian[: at.free, : at.free])))
    largest = float(omega.max(initial=0.0))
    times = [1 / float(w) for w in omega if w > SLOW * largest]
    if pushed:
        times.append(np.sqrt(2 * FIRST_MOVE / pushed))
    return (min(times), max(times)) if times else (1.0, 1.0)


class _Statics:
    def __init__(self, model: SystemAtPoint) -> None:
        self.model, self.system, self.context = model, model.system, model.context
        s = self.system
        rates = {n: slot for n, slot in s.states.items() if static_of(slot) == "zero"}
        owners = {_owner(slot) for slot in rates.values()}
        solved = {n: slot for n, slot in s.states.items() if static_of(slot) == "solve"}
        self.r_index = _places(rates)
        self.q_index = _places({n: slot for n, slot in solved.items() if _owner(slot) in owners})
        self.z_index = _places({n: slot for n, slot in solved.items() if _owner(slot) not in owners})
        self._derivative = s.function("derivative", lambda: [s.derivative])
        self._invariants = s.function("statics:invariants", lambda: [s.invariants, s.correction])
        self._slopes = s.function(
            "statics:slopes", lambda: [ca.densify(ca.jacobian(s.invariants, s.x)[:, self._columns])]
        )
        self._accepted = s.function("accepted", lambda: [s.accepted[0]])
        self.scale = 0.0

    @property
    def _columns(self) -> list[int]:
        return [int(k) for k in self.r_index]

    # --- evaluation -----------------------------------------------------------------------------------
    def _rates(self) -> np.ndarray:
        """x' at the state, with everything else held."""
        self.model.find_unknowns()
        return np.array(self._derivative(*self.model.arguments()), dtype=float).ravel()

    def point(self) -> _Point:
        """The equations where the context stands."""
        whole = self.model.continuous()[0]
        f = self._rates()
        r, q, z = self.r_index, self.q_index, self.z_index
        N = self._allowed()
        E = whole[np.ix_(q, r)] @ N
        directions = np.zeros((len(f), N.shape[1] + len(z)))
        directions[q, : N.shape[1]] = E
        directions[z, N.shape[1] :] = np.eye(len(z))
        moved = whole @ directions
        jacobian = np.vstack([N.T @ moved[r], moved[z]])
        return _Point(self._residual(f, N), jacobian, N, directions)

    def _residual(self, f: np.ndarray, N: np.ndarray) -> np.ndarray:
        return np.concatenate([N.T @ f[self.r_index], f[self.z_index]])

    def _allowed(self) -> np.ndarray:
        """(nr, n) orthonormal rates the invariants allow."""
        if not self.system.invariants.numel():
            return np.eye(len(self.r_index))
        G = np.array(self._slopes(*self.model.arguments()), dtype=float)
        G = G.reshape(-1, len(self.r_index))
        sizes = np.linalg.norm(G, axis=1)
        G = G[sizes > 0] / sizes[sizes > 0, None]
        return np.asarray(null_space(G, rcond=1e-9)) if len(G) else np.eye(len(self.r_index))

    # --- moving ---------------------------------------------------------------------------------------
    def move(self, x: np.ndarray) -> bool:
        """Go to a state, at rest and on the invariants; False where these cannot be met from there."""
        c = self.context
        c.x[:] = x
        c.x[self.r_index] = 0.0
        if not self.close() <= SLACK:
            return False
        expression, places = self.system.accepted
        if expression.numel():
            self.model.find_unknowns()
            c.h[places] = np.array(self._accepted(*self.model.arguments()), dtype=float).ravel()
        return True

    def close(self) -> float:
        """Bring the invariants to zero; the largest left, in tolerances."""
        if not self.system.invariants.numel():
            return 0.0
        c, worst = self.context, np.inf
        step = np.zeros(len(c.x))
        for _ in range(CLOSING):
            found, step = (
                np.array(e, dtype=float).ravel() for e in self._invariants.call(self.model.arguments())
            )
            now = float((np.abs(found) / self.system.tolerances).max(initial=0.0))
            if now <= 1.0 or not np.isfinite(now) or (now >= worst and now < SLACK):
                return now
            worst = min(worst, now)
            c.x += step
            c.x[self.r_index] = 0.0
        return worst

    # --- solving --------------------------------------------------------------------------------------
    def solve(self, rounds: int) -> Equilibrium:
        """Newton's method from where the context stands."""
        if not self.move(self.context.x.copy()):
            raise StaticsError(f"no static equilibrium: its constraints cannot be closed ({self._open()}).")
        at = self.point()
        self.scale = 1.0 + float(np.abs(at.r).max(initial=0.0))
        drag, reach = 0.0, FIRST_MOVE
        for done in range(rounds):
            if not np.isfinite(at.r).all() or not np.isfinite(at.jacobian).all():
                raise self._given_up("is not finite")
            step, inverse = _newton(at)
            left = float(np.abs(at.r + at.jacobian @ step).max(initial=0.0))
            explained = left <= UNEXPLAINED * self.scale
            far = float(np.abs(at.directions @ step).max(initial=0.0))
            if explained and far <= CONVERGED * max(1.0, float(np.abs(self.context.x).max(initial=0.0))):
                return self._found(self._polished(at, step), done)
            taken = None
            if explained and (far <= reach or float(at.r @ step) > 0):
                taken = self._newton_step(at, step, inverse, min(1.0, reach / far))
                reach *= 4 if taken is not None and far > reach else 1
            if taken is None:
                taken, drag = self._downhill(at, drag)
            else:
                drag = 0.0
            at = taken
        hint = "Start nearer to it, hold what nothing holds, or let energy attrition (MKEAM) find it."
        raise self._given_up(f"was not found in {rounds} rounds", hint)

    def _newton_step(
        self, at: _Point, step: np.ndarray, inverse: np.ndarray, longest: float
    ) -> _Point | None:
        """The longest share of a Newton step that brings the equilibrium nearer; None if none does.

        Natural monotonicity: with the same Jacobian the next step would be shorter (Deuflhard, 3.3).
        """
        start, h = self.context.x.copy(), self.context.h.copy()
        size, share = float(np.linalg.norm(step)), longest
        while share >= SHORTEST * longest:
            closed = self.move(start + share * (at.directions @ step))
            f = self._rates()
            if closed and np.isfinite(f).all():
                next_step = inverse @ self._residual(f, at.N)
                if float(np.linalg.norm(next_step)) <= (1 - share / 4) * size:
                    return self.point()
            share /= 2
            self.context.x[:], self.context.h[:] = start, h
        return None

    def _polished(self, at: _Point, step: np.ndarray) -> _Point:
        """With the last step taken as well, if that leaves less."""
        start, h = self.context.x.copy(), self.context.h.copy()
        closed = self.move(start + at.directions @ step)
        new = self.point()
        if closed and np.linalg.norm(new.r) <= np.linalg.norm(at.r):
            return new
        self.context.x[:], self.context.h[:] = start, h
        return at

    def _downhill(self, at: _Point, drag: float) -> tuple[_Point, float]:
        """A step along the forces, shorter where the system is stiff; and the drag [1/s^2] for the next one.

        It is taken where the forces do not push back harder than they pushed.
        """
        start, h = self.context.x.copy(), self.context.h.copy()
        stiff = float(np.abs(at.jacobian).sum(axis=1).max(initial=0.0))
        drag = drag or max(1e-3 * stiff, float(np.abs(at.r).max()) / FIRST_MOVE)
        for _ in range(DRAGS):
            weight = np.full(len(at.r), drag)
            weight[at.free :] = np.sqrt(drag)
            step = np.linalg.lstsq(np.diag(weight) - at.jacobian, at.r, rcond=SINGULAR)[0]
            pushed = float(at.r @ step)
            closed = self.move(start + at.directions @ step)
            f = self._rates()
            if closed and pushed > 0 and np.isfinite(f).all():
                pushes = float(self._residual(f, at.N) @ step)
                if pushes > -pushed / 2:
                    return self.point(), drag / 3 if pushes > pushed / 4 else drag
            drag *= 4
            self.context.x[:], self.context.h[:] = start, h
        return at, drag

    # --- telling --------------------------------------------------------------------------------------
    def _found(self, at: _Point, rounds: int) -> Equilibrium:
        own = np.linalg.eigvals(at.jacobian[: at.free, : at.free])
        growth = float(own.real.max(initial=-np.inf)) if at.free else -np.inf
        stable = growth <= GROWING * float(np.abs(own).max(initial=0.0)) or not at.free
        return Equilibrium(rounds, float(np.abs(at.r).max(initial=0.0)), growth, bool(stable))

    def _worst(self) -> tuple[int, float]:
        """Place of the state whose rate is the farthest from rest, and that rate."""
        f = self._rates()
        places = np.concatenate([self.r_index, self.z_index])
        bad = np.where(np.isfinite(f[places]), np.abs(f[places]), np.inf)
        k = int(places[int(np.argmax(bad))])
        return k, float(f[k])

    def _given_up(self, what: str, hint: str | None = None) -> StaticsError:
        k, value = self._worst()
        rate = "accelerates by" if k in self.r_index else "changes by"
        name = self.model.state_names[k]
        slot = next(s for s in self.system.states.values() if k in s.index)
        return StaticsError(
            f"a static equilibrium {what}: '{name}' still {rate} {value:.6g}.",
            name, slot.memory.part, value=value, hint=hint,
        )  # fmt: skip

    def _open(self) -> str:
        found = np.array(self._invariants(*self.model.arguments())[0], dtype=float).ravel()
        return f"largest residual {np.abs(found).max(initial=0.0):.6g}"


def _newton(at: _Point) -> tuple[np.ndarray, np.ndarray]:
    """Newton step (n,) of least length and the inverse (n, n) it came from, columns scaled."""
    if not len(at.r):
        return np.zeros(0), np.zeros((0, 0))
    sizes = np.linalg.norm(at.jacobian, axis=0)
    sizes = np.where(sizes > 0, sizes, 1.0)
    inverse = np.linalg.pinv(at.jacobian / sizes, rcond=SINGULAR) / sizes[:, None]
    return -inverse @ at.r, inverse


def _owner(slot: MemorySlot[ContinuousState]) -> tuple[str, str]:
    """What a state belongs to: a block, and the part of it, such as a joint."""
    return slot.path, slot.memory.part


def _places(slots: Mapping[str, Slot]) -> np.ndarray:
    return np.concatenate([np.zeros(0, int), *[slot.index for slot in slots.values()]])
