"""Every function an engine calls of a system, as one function of many outputs: what code is made of."""

from __future__ import annotations

import casadi as ca

from cosim.columns import pick, stack
from cosim.engines.methods.corners import corners_of
from cosim.engines.methods.crossing_rates import crossing_rates, moving
from cosim.segments import Segment, SolveSegment
from cosim.system import System

CROSSINGS = {"held_crossings": False, "moving_crossings": True}
"""The functions that give crossings: those that change inside a step?"""


def expressions(system: System) -> dict[str, ca.SX]:
    """Every function by the name it has in code: a dense column."""
    found = {"derivative": _stacked(system.derivative)}
    found |= {f"segment{k}": _segment(system, s) for k, s in enumerate(system.schedule)}
    for name, places in crossing_places(system).items():
        found[name] = _stacked(*[system.events[k].crossing for k in places])
    found["crossing_rates"] = _stacked(crossing_rates(system))
    resets = [value for e in system.events for _, _, value in e.resets]
    found["resets"] = _stacked(*resets)
    found["accepted"] = _stacked(system.accepted[0])
    found["residual"] = _residual(system)
    found["starting"] = _stacked(system.starting[0])
    found["delayed"] = _stacked(*[d.signal for d in system.delays])
    found["seconds"] = _stacked(*[d.seconds for d in system.delays])
    found["invariants"] = _stacked(system.invariants)
    found["correction"] = _stacked(*[system.correction] * bool(system.invariants.numel()))
    found["unit_inputs"] = _stacked(*[u.inputs for u in system.units])
    found["corners"] = _stacked(corners_of(system))
    found["signals"] = _stacked(*[s.expression for s in system.signals.values()])
    return found


def crossing_places(system: System) -> dict[str, list[int]]:
    """Which crossings the two functions of crossings give, in order."""
    moves = moving(system)
    return {name: [k for k, m in enumerate(moves) if m == which] for name, which in CROSSINGS.items()}


def whole(system: System) -> tuple[list[str], ca.Function]:
    """All of them as one function, and the names of its outputs; further outputs are values of blocks."""
    return system.derived.get("whole", lambda: _whole(system))


def _whole(system: System) -> tuple[list[str], ca.Function]:
    found = expressions(system)
    seams = [s.seams for s in system.schedule]
    return [*found], system.function("native", lambda: [*found.values(), stack(seams)])


def _residual(system: System) -> ca.SX:
    """The mismatch of loops, and its Jacobian in the unknowns."""
    if not system.residual.numel():
        return _stacked()
    jacobian = ca.jacobian(system.residual, system.w[: system.residual.numel()])
    return _stacked(system.residual, ca.vec(ca.densify(jacobian)))


def _stacked(*parts: ca.SX) -> ca.SX:
    """All results of a function as one dense column."""
    whole = stack(parts)
    return whole if whole.is_dense() else ca.densify(whole)


def _segment(system: System, segment: Segment) -> ca.SX:
    """What a segment computes.

    For a loop at a tick its mismatch, and the Jacobian in what it writes and in the unknowns of w.
    """
    if not isinstance(segment, SolveSegment):
        return _stacked(segment.expression)
    own = pick(system.h, segment.writes)
    unknowns = ca.vertcat(own, system.w[: system.residual.numel()])
    mismatch = ca.vertcat(segment.mismatch(own), system.residual)
    return _stacked(mismatch, ca.vec(ca.densify(ca.jacobian(mismatch, unknowns))))
