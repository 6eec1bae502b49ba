"""Which conditions repeat others, near the start and, where they change with TIME or place, also elsewhere.

A loop with joints to spare has redundant conditions wherever it is closed, so that a few poses near the start
tell them. A model's own expression may repeat another one at the start alone: ``DZ - TIME * DX`` and ``DZ``
at TIME 0, a STEP that begins further on. Conditions with such gradients, and driven ones, are looked at again
at other instants and in poses further away; what is independent of the others anywhere repeats nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np

from blocks.errors import ModelError
from plant.assembly.closing import Assembler
from plant.assembly.repeated_conditions import repetitions
from plant.mechanics.rank import Triangle

if TYPE_CHECKING:
    from scipy.sparse import csr_array

NEAR = (0.0, 0.05, 0.1)  # rad or size of the mechanism: the poses that all mechanisms are looked at in
FAR = (0.01, 0.1, 1.0, 10.0)  # s and size of the mechanism: instants and poses where conditions may differ
AT_MOST = 12  # numbers in the expressions that are taken as such besides
ROUNDS = 4  # instants and poses are paired at random, so often
GIVE_UP = 8  # places at which the mechanism does not close
SHARE = 1e-6  # of a repeated row: smaller factors of others are none
CLOSED = 1e-10  # of a condition's natural size: what is open further tells nothing of closed mechanisms


@dataclass(frozen=True, eq=False)
class Redundancy:
    """What repeats what.

    lines : list of str       one for each element with conditions that hold by themselves or repeat others
    rank : int                number of independent conditions
    design : (k, n) sparse    Jacobian of the conditions that count where their rank is the largest
    in_line : list of str     joints that are in line: fewer rows are independent at the start than beside it
    late : list of str        elements with expressions that are independent of others only later or elsewhere
    """

    lines: list[str]
    rank: int
    design: csr_array
    in_line: list[str]
    late: list[str]


@dataclass(frozen=True, eq=False)
class _Look:
    """Conditions that count at one pose and instant: their triangle, and their Jacobian (k, n)."""

    triangle: Triangle
    J: csr_array

    @cached_property
    def taking_part(self) -> np.ndarray:
        """(d, k) bool: the rows in each combination that vanishes, the repeated one included."""
        W = np.abs(self.triangle.combinations().T)
        own = W[np.arange(len(W)), self.triangle.repeated]
        return np.asarray(SHARE * own[:, None] < W)


def redundancy(assembler: Assembler, q: np.ndarray) -> Redundancy:
    """Analyse the conditions of a mechanism that is closed at q.

    What repeats others only at a singular pose is not reported: poses next to it are looked at too.
    """
    first, best = _near(assembler, q)
    in_line = assembler.elements(first.triangle.combinations()) if _more(best, first) else []
    near, late = best, []
    if _may_change(assembler, best):
        for look in _elsewhere(assembler, q):
            if _more(look, best):
                best = look
                if not _may_change(assembler, best):
                    break
    if _more(best, near):
        names = assembler.elements(near.triangle.combinations())
        if _uneven(assembler, near):
            late = names
        else:
            in_line = in_line or names
    return Redundancy(
        repetitions(assembler.closure, _lost(assembler, best)), best.triangle.rank, best.J, in_line, late
    )


def _more(a: _Look, b: _Look) -> bool:
    return a.triangle.rank > b.triangle.rank


def _near(assembler: Assembler, q: np.ndarray) -> tuple[_Look, _Look]:
    """The start, and that of a few poses near it where the most conditions are independent."""
    rng = np.random.default_rng(20240301)
    found: list[_Look] = []
    for stretch in NEAR:
        look = _looked_at(assembler, q, stretch, rng)
        if look is None:
            continue
        found.append(look)
        if not len(look.triangle.repeated):
            break
    return found[0], max(found, key=lambda look: look.triangle.rank)  # the first of the largest


def _looked_at(assembler: Assembler, q: np.ndarray, stretch: float, rng: np.random.Generator) -> _Look | None:
    """The conditions at a closed pose so far from q; None where the mechanism does not close there."""
    pose, flow = q, assembler.flow
    if stretch:
        try:
            pose = assembler.positions_closed(assembler.moved(q, stretch * assembler.way(q, rng)))
        except ModelError:
            return None
    if flow is not None:
        flow = flow + stretch * rng.standard_normal(len(flow))
    if assembler.curved and not stretch:
        assembler.refuse_unfelt(np.arange(assembler.closure.size), [(pose, flow)])
    return _Look(*assembler.triangle(pose, flow))


# --- other instants, and poses further away -----------------------------------------------------------
def _uneven(assembler: Assembler, look: _Look) -> bool:
    """Whether an expression whose gradient differs from place to place takes part in a repetition."""
    rows = assembler.kept[look.taking_part.any(axis=0)]
    return any(assembler.closure.conditions[k].uneven for k in rows)


def _may_change(assembler: Assembler, look: _Look) -> bool:
    """Whether a repetition may be one only here: an expression or a motion takes part in it."""
    rows = assembler.kept[look.taking_part.any(axis=0)]
    return any(c.uneven or c.driven for c in (assembler.closure.conditions[k] for k in rows))


def _elsewhere(assembler: Assembler, q: np.ndarray) -> Iterator[_Look]:
    """The conditions at random instants, and in random poses near and far, where the mechanism closes."""
    rng, now, failed = np.random.default_rng(20240302), assembler.time, 0
    times, ways = _scales(assembler)
    for _ in range(ROUNDS):
        there = q  # goes along with a driven mechanism from instant to instant
        for late, far in zip(times, rng.permutation(ways), strict=True):
            with assembler.at(now + late * rng.uniform(1.0, 2.0)):
                try:
                    there = _closed(assembler, there)
                    found = _beside(assembler, there, far * rng.uniform(1.0, 3.0), rng)
                except (ModelError, np.linalg.LinAlgError):
                    found = []
            failed += not found
            yield from found
            if failed > GIVE_UP:
                return


def _closed(assembler: Assembler, q: np.ndarray) -> np.ndarray:
    """The pose nearest to q that is closed at the present instant, which may be far away."""
    try:
        return assembler.positions_closed(q)
    except ModelError:
        return assembler.positions_closed(q, longest=np.inf)


def _beside(assembler: Assembler, q: np.ndarray, stretch: float, rng: np.random.Generator) -> list[_Look]:
    """The conditions at two poses about so far from q, on opposite sides, as far as they are closed well."""
    way, flow, found = stretch * assembler.way(q, rng), assembler.flow, []
    if flow is not None:
        flow = flow + min(stretch, 1.0) * assembler.sizes.rates * rng.standard_normal(len(flow))
    for step in (way, -way) if way.any() else (way,):
        try:
            pose = assembler.positions_closed(assembler.moved(q, step))
        except ModelError:
            continue
        if assembler.gaps(pose).max(initial=0.0) <= CLOSED:
            found.append(_Look(*assembler.triangle(pose, flow)))
    return found


def _scales(assembler: Assembler) -> tuple[list[float], list[float]]:
    """Spans of time [s], and ways [rad or size of the mechanism], at which expressions may differ.

    They are of all sizes, and what the expressions contain as numbers.
    """
    changing = [c for c in assembler.closure.conditions if c.uneven or c.driven]
    parts = ca.vertcat(ca.SX(0, 1), *[e for c in changing for e in (c.value, c.drive)])
    f = ca.Function("constants", ca.symvar(parts), [parts])
    written = {
        abs(float(f.instruction_constant(k)))
        for k in range(f.n_instructions())
        if f.instruction_id(k) == ca.OP_CONST
    }
    known = sorted(c for c in written if 1e-6 < c < 1e6)
    known = known[:: max(1, -(-len(known) // AT_MOST))]
    return sorted([*FAR, *known]), [*FAR, *(c / assembler.sizes.length for c in known)]


# --- what is said of them -----------------------------------------------------------------------------
def _lost(assembler: Assembler, look: _Look) -> dict[int, set[int]]:
    """Conditions that hold by themselves or repeat others, with those that they repeat."""
    lost: dict[int, set[int]] = {}
    kept = assembler.kept
    if not assembler.mechanism.planar:  # where bodies have planar coordinates the others hold by design
        lost = {k: set() for k in range(assembler.closure.size) if k not in kept}
    for column, k in enumerate(look.triangle.repeated):
        others = look.taking_part[column].copy()
        others[k] = False
        lost[int(kept[k])] = set(kept[others].tolist())
    return lost
