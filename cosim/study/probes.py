"""A system that shows more: formulas of its signals as signals of their own, and integrals as further states.

What is added changes nothing of what was there, not by a bit: formulas are only looked at, and the states of
integrals take no part in the choice of steps (their nominal size is infinite).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial

import casadi as ca
import numpy as np

from blocks.contract.memories import ContinuousState
from blocks.errors import PlantloopError
from cosim.slots import MemorySlot
from cosim.study.formulas import TIME, Formula, value
from cosim.system import System, stack
from cosim.system_parts import Signal

INSIDE = "@"  # no block may be called so: names of what is added begin with it


@dataclass(frozen=True)
class Probes:
    """What is added: formulas by the names of their signals, and integrands by those of integrals."""

    formulas: Mapping[str, Formula]
    integrands: Mapping[str, Formula]


def scalar(system: System, name: str) -> ca.SX:
    """Expression of a signal that is one number.

    Raises
    ------
    PlantloopError      no such signal, or it has several components
    """
    found = system.signal(name)
    if found.size != 1:
        raise PlantloopError(
            f"'{name}' has {found.size} components, expected one number.",
            path=name,
            hint=f"Write '{name}[0]'.",
        )
    return found.expression


def probed(system: System, probes: Probes) -> System:
    """The system with these signals and states besides its own.

    Raises
    ------
    PlantloopError      a formula names a signal that is not there, or one of several components
    """

    def expression(formula: Formula) -> ca.SX:
        found = value(formula, lambda n: system.t if n == TIME else scalar(system, n), symbolic=True)
        return ca.SX(found)

    signals = dict(system.signals)
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
        rates.append(expression(formula))
    for name, formula in probes.formulas.items():
        signals[name] = Signal(name, expression(formula), ("",), None, INSIDE)
    return replace(
        system,
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


def _again(system: System, probes: Probes) -> System:
    return probed(system, probes)
