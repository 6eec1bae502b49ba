"""A system with probes: formulas of its signals as further signals, and integrals as further states.

What is added changes nothing of what was there, not by a bit: formulas and their slopes are only looked at,
and the states of integrals take no part in the choice of steps (their nominal size is infinite).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import casadi as ca
import numpy as np

from blocks.contract.memories import AcceptedMemory, ContinuousState
from blocks.errors import PlantloopError
from cosim.columns import stack
from cosim.compile.slopes import along
from cosim.slots import MemorySlot
from cosim.study.formulas import TIME, Formula, value
from cosim.system import System
from cosim.system_parts import Signal

INSIDE = "@"  # names of what is added begin with it; no block may have such a name
JUMPS = f"{INSIDE}jumps"  # the number of events so far, if there can be any
SAME = 1e-11  # relative: two times that close are one


@dataclass(frozen=True)
class Probes:
    """The additions: formulas by the names of their signals, and integrands by those of integrals.

    slopes : formulas, also among those, by the names of the signals of their slopes; 0 where they cannot be
    known
    """

    formulas: Mapping[str, Formula]
    integrands: Mapping[str, Formula]
    slopes: Mapping[str, Formula] = field(default_factory=dict)

    @property
    def steep(self) -> tuple[str, ...]:
        """Names of the formulas whose slopes are needed."""
        wanted = set(self.slopes.values())
        return tuple(name for name, formula in self.formulas.items() if formula in wanted)

    @property
    def names(self) -> tuple[str, ...]:
        """Signals of all probes, except `JUMPS`."""
        return (*self.formulas, *self.integrands, *self.slopes)


class FormulaError(PlantloopError):
    """A formula names something that is not a signal."""


def scalar(system: System, name: str) -> ca.SX:
    """Expression of a signal that is one number.

    Raises
    ------
    FormulaError      no such signal, or it has several components
    """
    try:
        found = system.signal(name)
    except PlantloopError as error:
        driver = system.driver(name)
        raise FormulaError(
            f"'{name}' is an input, expected a signal." if driver else str(error),
            path=name,
            hint=f"Write '{driver}', which drives it." if driver else None,
        ) from error
    if found.size != 1:
        raise FormulaError(
            f"'{name}' has {found.size} components, expected one number.",
            path=name,
            hint=f"Write '{name}[0]'.",
        )
    return found.expression


def expression_of(system: System, formula: Formula) -> ca.SX:
    """A formula of a system's signals as an expression."""
    return ca.SX(value(formula, lambda n: system.t if n == TIME else scalar(system, n), symbolic=True))


def slopes_of(system: System, formulas: Sequence[Formula]) -> list[ca.SX]:
    """The rates of change of formulas along the solution; 0, a value that claims nothing, where unknown.

    So it is where it is infinite, as of a distance sqrt(x^2 + y^2) that is 0: the formula itself has a value.

    Not asked for: opaque functions (they would be called more often), delayed signals, loops that these are
    part of, and systems without states of their own that have events. All are found in one pass, whose time
    grows with their number and that of the states, not with the product of both.
    """
    n = system.residual.numel()
    unknown = bool(system.opaque) or bool(system.calls) or (bool(system.events) and not len(system.x0))
    if unknown or not formulas:
        return [ca.SX(0)] * len(formulas)
    g, delayed = ca.vertcat(*(expression_of(system, f) for f in formulas)), system.w[n:]
    reached = _depend(g, delayed)
    if n and delayed.numel() and ca.depends_on(system.residual, delayed):
        reached = reached | _depend(g, system.w[:n])
    slope = along(g, system.t, system.x, system.derivative, system.w, system.residual)
    known = ca.if_else(ca.fabs(slope) < math.inf, slope, 0)
    return [ca.SX(0) if late else one for late, one in zip(reached, ca.vertsplit(known), strict=True)]


def _depend(expressions: ca.SX, symbols: ca.SX) -> np.ndarray:
    """Which rows of a column depend on any of some symbols, (n,) bool."""
    if not symbols.numel():
        return np.zeros(expressions.numel(), bool)
    return np.array(ca.which_depends(expressions, symbols, 1, True), dtype=bool)


def which_follow_held(system: System, formulas: Sequence[Formula]) -> list[bool]:
    """Which formulas or their slopes depend on values held between instants, and jump with them."""
    if not formulas:
        return []
    held = ca.vertcat(system.h, system.w)
    own = _depend(ca.vertcat(*(expression_of(system, f) for f in formulas)), held)
    return [bool(one) for one in own | _depend(ca.vertcat(*slopes_of(system, formulas)), held)]


def probed(system: System, probes: Probes) -> System:
    """The system with these signals and states added.

    Raises
    ------
    PlantloopError      a formula names a signal that is not there, or one of several components
    """
    slopes = dict(zip(probes.slopes, slopes_of(system, list(probes.slopes.values())), strict=True))
    counted = _counted(system) if any(not e.is_zero() for e in slopes.values()) else system
    signals = dict(counted.signals)
    states = dict(system.states)
    added: list[ca.SX] = []
    rates: list[ca.SX] = []
    nominal = math.inf if len(system.x0) else 1.0  # alone, they choose the steps
    for name, formula in probes.integrands.items():
        symbol = ca.SX.sym(name, 1)
        memory = ContinuousState(name, symbol, np.zeros(1), static="hold", nominal=nominal)
        index = np.array([len(system.x0) + len(added)])
        states[name] = MemorySlot(name, index, np.zeros(1), memory, INSIDE)
        signals[name] = Signal(name, symbol, ("",), None, INSIDE)
        added.append(symbol)
        rates.append(expression_of(system, formula))
    for name, formula in probes.formulas.items():
        signals[name] = Signal(name, expression_of(system, formula), ("",), None, INSIDE)
    for name, slope in slopes.items():
        signals[name] = Signal(name, slope, ("",), None, INSIDE)
    return replace(
        counted,
        x=stack([system.x, *added]),
        states=states,
        derivative=ca.vertcat(system.derivative, *rates),
        correction=ca.vertcat(system.correction, ca.SX(len(added), 1))
        if system.correction.numel()
        else system.correction,
        rounding=np.concatenate([system.rounding, np.zeros(len(added))]),
        signals=signals,
        x0=np.concatenate([system.x0, np.zeros(len(added))]),
        remake=None if system.remake is None else partial(_again, system, probes),
    )


def _counted(system: System) -> System:
    """A system that counts its events: accepted memories are refreshed twice at the time of one."""
    if not (system.events and len(system.x0)):
        return system
    symbol, first = ca.SX.sym(JUMPS, 2), len(system.h0)
    initial = np.array([0.0, -1.0])
    slot = MemorySlot(
        JUMPS, np.array([first, first + 1]), initial, AcceptedMemory(JUMPS, symbol, initial), INSIDE
    )
    expressions, places = system.accepted
    again = system.t - symbol[1] <= SAME * system.t
    return replace(
        system,
        h=stack([system.h, symbol]),
        h0=np.concatenate([system.h0, initial]),
        held={**system.held, JUMPS: slot},
        accepted=(ca.vertcat(expressions, symbol[0] + again, system.t), np.concatenate([places, slot.index])),
        signals={**system.signals, JUMPS: Signal(JUMPS, symbol[0], ("",), None, INSIDE)},
    )


def _again(system: System, probes: Probes) -> System:
    return probed(system, probes)
