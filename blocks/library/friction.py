"""Friction that sticks and slips, as a law of the speed and as a mass that it holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.contract import checks
from blocks.contract.block import Block, Equations
from blocks.contract.symbols import Array
from blocks.library.expansion import together
from blocks.library.sliding import sliding_sign

__all__ = ["CoulombFriction", "StickSlip"]


def _check(block: Any, dims: tuple[int, ...]) -> None:
    for name in ("coulomb", "static", "stribeck", "viscous"):
        if name == "static" and block.static is None:
            continue
        checks.assign(block, **{name: checks.numbers(block, name, dims=dims)})
        if np.any(np.asarray(getattr(block, name)) < 0):
            raise checks.fault(block, name, f"is {getattr(block, name)}", "0 or more")
    checks.positive(block, "stribeck")
    if block.static is not None and np.any(np.asarray(block.static) < np.asarray(block.coulomb)):
        raise checks.fault(block, "static", f"is {block.static}", f"at least coulomb = {block.coulomb}")


def _law(speed: Array, p: dict[str, Array]) -> Array:
    """Size of the friction that slips at a speed above 0, without its viscous part."""
    if "static" not in p:
        return p["coulomb"]
    ratio = speed / p["stribeck"]
    return p["coulomb"] + (p["static"] - p["coulomb"]) * np.exp(-ratio * ratio)


def _parameters(b: Equations, block: Any) -> dict[str, Array]:
    names = ["coulomb", "viscous"] + ([] if block.static is None else ["static", "stribeck"])
    return {name: b.parameter(name, getattr(block, name)) for name in names}


@dataclass(frozen=True)
class CoulombFriction(Block):
    """Friction as a law of the speed, elementwise; each change of direction is an event.

    Output: y = sign(u) (coulomb + (static - coulomb) exp(-(u/stribeck)^2)) + viscous u; 0 while u rests at 0.
    Direct feedthrough: u to y.

    In a loop that y brakes to rest the direction chatters: nothing in a law of the speed holds a mass still.
    `StickSlip` is the mass with friction that does. With sliding=True the friction here does so too: between
    -static and static it is what keeps u at 0, see `Sign`.

    coulomb : number or (n,), 0 or more, unit of y; tunable
    viscous : number or (n,), 0 or more, unit of y per unit of u; tunable
    static : number or (n,), at least coulomb, friction next to rest; None for no Stribeck effect; tunable
    stribeck : number or (n,) above 0, unit of u, speed at which the effect has fallen to 1/e; tunable
    sliding : structural

    Use::

        drag = d.add("drag", CoulombFriction(2.0, viscous=0.1))
        d.connect(source["y"], drag["u"])

    Source: Armstrong-Hélouvry, Dupont & Canudas de Wit, Automatica 30 (1994) 1083-1138, eq. 5.
    """

    coulomb: ArrayLike = 1.0
    viscous: ArrayLike = 0.0
    static: ArrayLike | None = None
    stribeck: ArrayLike = 0.01
    sliding: bool = False

    def __post_init__(self) -> None:
        _check(self, (0, 1))
        checks.assign(self, sliding=checks.flag(self, "sliding"))

    def define(self, b: Equations) -> None:
        """Declare ports and the branches of every component."""
        p = _parameters(b, self)
        u, *values = together(b, self, u=b.input("u"), **p)
        of = dict(zip(p, values, strict=True))
        rows = []
        for k in range(u.size):
            if self.sliding:
                direction = sliding_sign(b, u[k], "" if u.size == 1 else f"[{k}]")
            else:
                direction = b.where_event(-u[k], 0.0, 1.0) - b.where_event(u[k], 0.0, 1.0)
            law = _law(u[k], {name: value[k] for name, value in of.items()})
            rows.append(direction * law + of["viscous"][k] * u[k])
        b.output("y", np.stack(rows))


@dataclass(frozen=True)
class StickSlip(Block):
    """A mass on a surface that holds it until a force breaks it away; sticking and slipping are modes.

    Derivative: x' = v = w + support; sticking w' = 0, slipping mass w' = u - friction,
    friction = direction (coulomb + (static - coulomb) exp(-(w/stribeck)^2)) + viscous w.
    It sticks from where w passes 0 with |u| at most static until |u| is larger than that; all these are
    events.
    Output: x, v, friction (u itself while it sticks, by which the forces balance), sticks (1 or 0).
    Initial value: x = initial, v = initial_speed; it starts sticking where that is the speed of the support.
    Direct feedthrough: u to friction.

    mass : above 0; tunable
    coulomb : 0 or more, unit of u; tunable
    viscous : 0 or more, unit of u per unit of v; tunable
    static : at least coulomb, what breaks it away; None for coulomb; tunable
    stribeck : above 0, unit of v, speed at which static friction has fallen to 1/e; tunable
    support : speed of the surface, such as a belt; structural
    initial : unit of x; initial_speed : unit of v; structural

    Use::

        block = d.add("block", StickSlip(mass=1.0, coulomb=2.0, static=3.0))
        d.connect(source["y"], block["u"])

    Source: Karnopp, J. Dyn. Sys. Meas. Control 107 (1985) 100-103; the law as in `CoulombFriction`.
    """

    mass: float = 1.0
    coulomb: float = 1.0
    viscous: float = 0.0
    static: float | None = None
    stribeck: float = 0.01
    support: float = 0.0
    initial: float = 0.0
    initial_speed: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mass", "support", "initial", "initial_speed"):
            checks.assign(self, **{name: checks.numbers(self, name, dims=(0,))})
        checks.positive(self, "mass")
        _check(self, (0,))

    def define(self, b: Equations) -> None:
        """Declare ports, states, the mode and its events."""
        p = _parameters(b, self)
        (mass,) = b.parameters(mass=self.mass)
        u = b.input("u", size=1)[0]
        w0 = float(self.initial_speed) - float(self.support)
        x = b.continuous("x", float(self.initial))
        w = b.continuous("w", w0, static="zero")
        most = p.get("static", p["coulomb"])
        sense = b.mode("direction", float(np.sign(w0)), size=1, at_ticks=lambda old: _away(old, u, most))
        slips = np.abs(sense[0]) > 0.5
        friction = np.where(slips, sense[0] * _law(w[0], p) + p["viscous"] * w[0], u)
        friction = np.where(np.isnan(u), u, friction)
        b.derivative(x, w + float(self.support))
        b.derivative(w, np.where(slips, (u - friction) / mass, 0.0))
        stops = np.where(slips, sense[0] * w[0], 1.0)
        after = np.where(np.abs(u) <= most, 0.0, np.sign(u))
        b.when(stops, [(sense, after), (w, 0.0)], "falling", "stops")
        b.when(np.where(slips, -1.0, u - most), [(sense, 1.0)], "rising", "breaks away upwards")
        b.when(np.where(slips, -1.0, -u - most), [(sense, -1.0)], "rising", "breaks away downwards")
        b.output("x", x)
        b.output("v", w + float(self.support))
        b.output("friction", friction)
        b.output("sticks", np.where(slips, 0.0, 1.0))


def _away(old: Array, u: Array, most: Array) -> Array:
    """The direction after a jump of the force: a mass that sticks may break away."""
    broken = np.where(u > most, 1.0, np.where(u < -most, -1.0, 0.0))
    return np.where(np.abs(old) > 0.5, old, broken)
