"""Assembly: a start that obeys all constraints, found before anything runs.

Positions first, by Newton-Raphson with the change that is least in the mass metric, starting from the design
configuration; then velocities: of all that obey the constraints those nearest to the given ones, and of these
those with the least kinetic energy. On the way it is found which conditions hold by themselves (a planar
loop in space) and which repeat others.

Source: Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., section 4.6; Featherstone, RBDA, section 8.5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from scipy.linalg import null_space

from blocks.block import Equations
from blocks.errors import ModelError
from plant.dynamics.closure import Closing, Closure
from plant.dynamics.initial import Wish
from plant.dynamics.mechanism import GROUND, Mechanism
from plant.notes import PlantWarning

ROUNDS = 60
CLOSED = 1e-12  # of the size of the mechanism: how well positions are closed
GAP = 1e-7  # of the size of the mechanism: beyond it a loop counts as open
WORTH_TELLING = 1e-6  # length or rad: moves beyond it are told
STRIDE = 0.3  # rad or size of the mechanism: longest Newton step
NOTHING_LEFT = 1e-11  # of a condition's natural size: below it an entry is zero
DEPENDENT = 1e-7  # sine of the angle to the others below which a condition repeats them


@dataclass(frozen=True, eq=False)
class Assembly:
    """Outcome of an assembly.

    q, qd : tuples of (nq,), (nv,)     coordinates and rates of each link at the start
    closing : Closing or None          which conditions count; None without constraints
    moved : dict                       state -> how far it is from the design configuration
    redundant : tuple of str           one line per element with conditions that repeat others
    dof : int                          degrees of freedom
    """

    q: tuple[np.ndarray, ...]
    qd: tuple[np.ndarray, ...]
    closing: Closing | None
    moved: dict[str, float]
    redundant: tuple[str, ...]
    dof: int


class _Numbers:
    """Functions of (q, qd, t) with every other symbol of the equations at its initial value."""

    def __init__(self, b: Equations, q: ca.SX, qd: ca.SX) -> None:
        self._b, self._q, self._qd = b, q, qd
        self._time = ca.SX(b.time)

    def __call__(self, *expressions: Any) -> Callable[..., list[np.ndarray]]:
        others = self._b.known([self._q, self._qd])
        symbols = ca.vertcat(ca.SX(0, 1), *[s for s, _ in others])
        values = np.concatenate([np.zeros(0), *[v for _, v in others]])
        f = ca.Function(
            "sample", [self._q, self._qd, self._time, symbols], [ca.densify(ca.SX(e)) for e in expressions]
        )

        def evaluate(q: np.ndarray, qd: np.ndarray | None = None, t: float = 0.0) -> list[np.ndarray]:
            rates = np.zeros(self._qd.numel()) if qd is None else qd
            found = f.call([ca.DM(q), ca.DM(rates), ca.DM(t), ca.DM(values)])
            return [np.array(e).reshape(e.shape) for e in found]

        return evaluate


class Assembler:
    """Closes a mechanism.

    Parameters
    ----------
    b : Equations           where the scratch equations were declared
    closure : Closure       all conditions
    """

    def __init__(self, b: Equations, closure: Closure) -> None:
        self.closure, self.mechanism = closure, closure.mechanics.mechanism
        mechanics, links = closure.mechanics, self.mechanism.links
        q, qd = (ca.vertcat(ca.SX(0, 1), *parts) for parts in (mechanics.q, mechanics.qd))
        numbers = _Numbers(b, q, qd)
        rates = [link.joint.qdot(*pair) for link, *pair in zip(links, mechanics.q, mechanics.qd, strict=True)]
        self._qdot = numbers(ca.vertcat(ca.SX(0, 1), *rates))
        self._system = numbers(closure.value, closure.rate, closure.J, mechanics.mass_matrix())
        self.size = self._size()
        squares = ca.SX(closure.size, 1)
        for c, t in closure.wrenches.values():
            squares += max(self.size, 1.0) ** 2 * ca.sum2(c * c) + ca.sum2(t * t)
        self._natural = numbers(ca.sqrt(squares))
        self.q_cuts = np.cumsum([link.joint.nq for link in links])[:-1]
        self.cuts = np.cumsum([link.joint.nv for link in links])[:-1]
        self.positions = np.array(closure.positions, dtype=int)
        self.velocities = np.array(closure.velocities, dtype=int)
        self._kept = np.arange(closure.size)

    def _size(self) -> float:
        model = self.mechanism.model
        used = [model.frames[id][0] for id in self.closure.wrenches]
        return float(max((np.abs(r).max() for r in used), default=1.0)) or 1.0

    # --- which conditions count -----------------------------------------------------------------------
    def closing(self) -> Closing:
        """Conditions that restrict the coordinates, found at random poses."""
        rng = np.random.default_rng(20240229)
        q0 = np.concatenate([np.zeros(0), *[link.q0 for link in self.mechanism.links]])
        largest = np.zeros(self._system(q0)[2].shape)
        compliance, n = np.zeros(len(largest)), len(largest.T)
        for _ in range(3):
            q = self._moved(q0, 0.4 * np.asarray(rng.standard_normal(n)))
            _, _, J, H = self._system(q)
            natural = np.maximum(self._natural(q)[0].ravel(), 1e-300)
            largest = np.maximum(largest, np.abs(J) / natural[:, None])
            compliance = np.maximum(compliance, np.einsum("ij,ji->i", J, np.linalg.solve(H, J.T)))
        pattern = largest > NOTHING_LEFT
        kept = np.flatnonzero(pattern.any(axis=1))
        self._kept = kept
        return Closing(tuple(kept.tolist()), pattern[kept], 1 / np.sqrt(compliance[kept]))

    # --- positions ------------------------------------------------------------------------------------
    def _moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Coordinates after unit time at rates `step`; quaternions stay of length 1."""
        q = q + self._qdot(q, step)[0].ravel()
        parts = np.split(q, self.q_cuts)
        for part, link in zip(parts, self.mechanism.links, strict=True):
            units = [k for k, (_, unit) in enumerate(link.joint.coordinates) if unit == "1"]
            if units:
                part[units] /= np.linalg.norm(part[units])
        return np.concatenate([np.zeros(0), *parts])

    def _starts(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Residual, Jacobian of all conditions on the start's positions, and the mass matrix."""
        value, _, J, H = self._system(q)
        rows = [k for k in range(len(value)) if k in set(self.positions) or self._start_of(k) is not None]
        start = np.array([self._start_of(k) or 0.0 for k in rows])
        return value.ravel()[rows] - start, J[rows], H

    def _start_of(self, k: int) -> float | None:
        return self.closure.conditions[k].start

    def positions_closed(self, q: np.ndarray) -> np.ndarray:
        """Coordinates near q at which every condition on positions holds.

        Raises
        ------
        ModelError    naming the element that stays open the widest
        """
        for _ in range(ROUNDS):
            residual, J, H = self._starts(q)
            if not len(residual) or np.abs(residual).max() <= CLOSED * max(self.size, 1.0):
                return q
            root = np.linalg.cholesky(H)
            scaled = np.linalg.solve(root, J.T).T
            norms = np.linalg.norm(scaled, axis=1)
            norms = np.where(norms > 1e-9 * max(norms.max(), 1e-300), norms, np.inf)
            step = np.linalg.lstsq(scaled / norms[:, None], -residual / norms, rcond=1e-8)[0]
            step = np.linalg.solve(root.T, step)
            longest = np.abs(step).max() / max(self.size, 1.0)
            before, q = q, self._moved(q, step * min(1.0, STRIDE / max(longest, 1e-300)))
            if np.abs(q - before).max() <= 1e-15 * max(1.0, np.abs(q).max()):
                break
        return self._check(q)

    def _check(self, q: np.ndarray) -> np.ndarray:
        residual, _, _ = self._starts(q)
        worst = int(np.argmax(np.abs(residual)))
        if np.abs(residual[worst]) <= GAP * max(self.size, 1.0):
            return q
        rows = [
            k for k in range(self.closure.size) if k in set(self.positions) or self._start_of(k) is not None
        ]
        condition = self.closure.conditions[rows[worst]]
        open_ones = {
            self.closure.conditions[rows[k]].element.where: None
            for k in np.argsort(-np.abs(residual))
            if np.abs(residual[k]) > GAP * max(self.size, 1.0)
        }
        others = ", ".join(list(open_ones)[1:4])
        raise ModelError(
            f"{condition.element.where}: cannot be closed: after {ROUNDS} Newton-Raphson rounds its "
            f"{condition.text} is off by {abs(residual[worst]):.6g}, expected 0"
            + (f" (also open: {others})" if others else "")
            + ".",
            path=condition.element.where,
            value=float(residual[worst]),
            hint="Check marker positions and axes of the loop, or start nearer to a pose that closes.",
        )

    # --- velocities -----------------------------------------------------------------------------------
    def rates(self, q: np.ndarray, wishes: Sequence[Wish]) -> np.ndarray:
        """Rates that obey the constraints, come nearest to the wishes, and have the least energy besides."""
        _, rate, J, H = self._system(q)
        constrained = set(self.velocities)
        wanted = {k: c.start_rate for k, c in enumerate(self.closure.conditions) if c.start_rate is not None}
        rows = [k for k in range(len(rate)) if k in constrained or k in wanted]
        target = np.array([wanted.get(k, 0.0) for k in rows]) - rate.ravel()[rows]
        root = np.linalg.cholesky(H)
        C = np.linalg.solve(root, J[rows].T).T
        norms = np.linalg.norm(C, axis=1)
        good = norms > 0
        C, target = C[good] / norms[good, None], target[good] / norms[good]
        x = np.linalg.lstsq(C, target, rcond=1e-8)[0] if len(C) else np.zeros(len(H))
        if len(C) and np.abs(C @ x - target).max() > 1e-8 * max(1.0, np.abs(target).max()):
            worst = [k for k, ok in zip(rows, good, strict=True) if ok][
                int(np.argmax(np.abs(C @ x - target)))
            ]
            element = self.closure.conditions[worst].element
            raise ModelError(
                f"{element.where}: contradicts the other constraints: no velocities obey them all.",
                path=element.where,
                hint="Remove one of the motions or constraints that fix the same velocity.",
            )
        if wishes:
            A = np.linalg.solve(root, np.array([w.J for w in wishes]).T).T
            b = np.array([w.value for w in wishes])
            N = null_space(C, rcond=1e-8) if len(C) else np.eye(len(H))
            if N.shape[1]:
                x = x + N @ np.linalg.lstsq(A @ N, b - A @ x, rcond=1e-10)[0]
        found = np.linalg.solve(root.T, x)
        found[np.abs(found) < 1e-15 * max(1.0, np.abs(found).max(initial=0.0))] = 0.0
        return np.asarray(found)

    # --- redundancy -----------------------------------------------------------------------------------
    def redundant(self, q: np.ndarray, closing: Closing) -> tuple[list[str], int]:
        """A line for each element with conditions that hold by themselves or repeat others; rank.

        What repeats others only at a singular pose is not told: a pose next to it is looked at as well.
        """
        rng = np.random.default_rng(20240301)
        best: tuple[int, dict[int, list[int]]] = (-1, {})
        for stretch in (0.0, 0.05, 0.1):
            pose = q
            if stretch:
                _, _, J, _ = self._system(q)
                free = null_space(J[self._kept], rcond=1e-8)
                try:
                    pose = self.positions_closed(
                        self._moved(q, stretch * free @ rng.standard_normal(free.shape[1]))
                    )
                except ModelError:
                    continue
            _, _, J, H = self._system(pose)
            rank, repeats = _dependencies(np.linalg.solve(np.linalg.cholesky(H), J[self._kept].T).T)
            if rank > best[0]:
                best = rank, repeats
        lost: dict[int, set[int]] = {}
        if not self.mechanism.planar:  # where bodies have planar coordinates the others hold by design
            lost = {k: set() for k in range(self.closure.size) if k not in self._kept}
        lost |= {int(self._kept[k]): {int(self._kept[o]) for o in others} for k, others in best[1].items()}
        return self._told(lost), best[0]

    def _told(self, lost: dict[int, set[int]]) -> list[str]:
        conditions = self.closure.conditions
        lines = []
        for element in dict.fromkeys(conditions[k].element for k in lost):
            own = [k for k in lost if conditions[k].element is element]
            others = dict.fromkeys(conditions[o].element for k in own for o in sorted(lost[k]))
            names = [f"{e.tag} {e.id}" for e in others if e is not element]
            if not names or any(not lost[k] for k in own):
                names += [n for n in self._loop(element) if n not in names]
            total = sum(c.element is element for c in conditions)
            lines.append(
                f"{element.where}: {len(own)} of its {total} conditions "
                f"({', '.join(conditions[k].text for k in sorted(own))}) repeat what "
                f"{', '.join(names) or 'the other joints'} fix already; motion unaffected, but how these "
                "joints share the reactions is not determined (the smallest are taken)."
            )
        return lines

    def _loop(self, element: Any) -> list[str]:
        """Joints of the tree between an element's markers."""
        mechanism: Mechanism = self.mechanism
        if getattr(element, "i_marker_id", None) is None:
            return []
        ends = [mechanism.place(id).link for id in (element.i_marker_id, element.j_marker_id)]
        paths = [set(mechanism.path(link)) if link != GROUND else set() for link in ends]
        between = sorted(paths[0] ^ paths[1])
        joints = [mechanism.links[k].element for k in between]
        return [f"{j.tag} {j.id}" for j in joints if j is not None]


def _dependencies(A: np.ndarray) -> tuple[int, dict[int, list[int]]]:
    """Rank of A, and for each row that depends on rows before it those it depends on."""
    unit = A / np.maximum(np.linalg.norm(A, axis=1), 1e-300)[:, None]
    smallest = np.linalg.svd(unit, compute_uv=False).min(initial=np.inf)
    if len(unit) <= unit.shape[1] and smallest > DEPENDENT:
        return len(unit), {}
    basis = np.zeros((0, unit.shape[1]))
    used: list[int] = []
    repeats: dict[int, list[int]] = {}
    for k, row in enumerate(unit):
        rest = row - (basis @ row) @ basis
        rest -= (basis @ rest) @ basis  # twice is enough (Kahan)
        size = float(np.linalg.norm(rest))
        if size > DEPENDENT:
            basis = np.vstack([basis, rest / size])
            used.append(k)
        else:
            weights = np.linalg.lstsq(unit[used].T, row, rcond=None)[0]
            repeats[k] = [u for u, w in zip(used, weights, strict=True) if abs(w) > 1e-6]
    return len(basis), repeats


def assemble(b: Equations, closure: Closure, wishes: Callable[[np.ndarray], list[Wish]]) -> Assembly:
    """Close a mechanism and find out about its constraints.

    wishes : function of the start's q that gives the initial velocities asked for
    """
    assembler = Assembler(b, closure)
    mechanism = assembler.mechanism
    closing = assembler.closing()
    q0 = np.concatenate([np.zeros(0), *[link.q0 for link in mechanism.links]])
    q = assembler.positions_closed(q0)
    qd = assembler.rates(q, wishes(q))
    lines, rank = assembler.redundant(q, closing)
    moved = _moves(mechanism, q0, q, assembler.q_cuts)
    told = {name: d for name, d in moved.items() if abs(d) > WORTH_TELLING}
    if told:
        most = sorted(told.items(), key=lambda item: -abs(item[1]))[:6]
        warnings.warn(
            "assembly moved the start to close all constraints: "
            + ", ".join(f"{name} by {d:.6g}" for name, d in most)
            + (f" and {len(told) - 6} more" if len(told) > 6 else "")
            + ". Correct the design configuration if that is not meant.",
            PlantWarning,
            stacklevel=2,
        )
    for line in lines:
        warnings.warn(line, PlantWarning, stacklevel=2)
    return Assembly(
        tuple(np.split(q, assembler.q_cuts)) if mechanism.links else (),
        tuple(np.split(qd, assembler.cuts)) if mechanism.links else (),
        closing,
        moved,
        tuple(lines),
        mechanism.dof - rank,
    )


def _moves(mechanism: Mechanism, q0: np.ndarray, q: np.ndarray, cuts: np.ndarray) -> dict[str, float]:
    moved = {}
    for link, a, b in zip(mechanism.links, np.split(q0, cuts), np.split(q, cuts), strict=True):
        for (name, _), before, after in zip(link.joint.coordinates, a, b, strict=True):
            if after != before:
                moved[f"{link.name}.q ({name})"] = float(after - before)
    return moved
