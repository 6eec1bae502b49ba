"""A clutch is pressed together and let go again: when does it lock, and when does it slip?

An engine and a car with inertias Ie, Iv turn at e and v. While the clutch slips it passes on the torque
mu_k R F in the direction of the slip, F the clamping force; from where the slip is zero it holds both
together by whatever torque that takes, until that is more than mu_s R F. Locking and slipping are modes of
a block, with events in between. Each stretch is linear: speeds and instants are known in closed form.

python examples/clutch.py
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from blocks import Block, Constant, Equations, TimeTable
from cosim import Diagram, simulate

ENGINE, CAR = 1.0, 5.0  # kg m2
DRAG_E, DRAG_V = 0.2, 0.1  # N m s
TORQUE, START = 10.0, 20.0  # N m, and rad/s of the engine; the car stands
FORCE, MOST = (1.0, 3.0, 6.0, 8.0), 120.0  # s between which it grows and falls, and N in between
SLIDING, STICKING, RADIUS = 0.8, 1.2, 0.5  # -, -, m


@dataclass(frozen=True)
class Clutch(Block):
    """Two wheels that turn, with a clutch between them.

    Derivative: ENGINE e' = torque - DRAG_E e - passed, CAR v' = passed - DRAG_V v.
    Output: e, v [rad/s], locked.  Direct feedthrough: none.
    """

    def define(self, b: Equations) -> None:
        """Declare ports, speeds, the mode and what changes it."""
        torque, force = b.input("torque", size=1)[0], b.input("force", size=1)[0]
        e, v = b.continuous("e", START), b.continuous("v", 0.0)
        way = b.mode("way", 1.0)  # 1 and -1: who is faster, 0: locked
        both = ENGINE + CAR
        holds = (CAR * torque - (CAR * DRAG_E - ENGINE * DRAG_V) * e[0]) / both
        slips = np.abs(way) > 0.5
        passed = np.where(slips, way * SLIDING * RADIUS * force, holds)
        most = STICKING * RADIUS * force
        together = (ENGINE * e + CAR * v) / both
        b.derivative(e, (torque - DRAG_E * e - passed) / ENGINE)
        b.derivative(v, (passed - DRAG_V * v) / CAR)
        after = np.where(np.abs(holds) <= most, 0.0, np.sign(holds))
        slip = np.where(slips, way * (e[0] - v[0]), 1.0)
        b.when(slip, {way: after, e: together, v: together}, "falling", name="locks")
        for sign, name in ((1.0, "slips, the engine ahead"), (-1.0, "slips, the car ahead")):
            b.when(np.where(slips, -1.0, sign * holds - most), {way: sign}, "rising", name=name)
        b.output("e", e)
        b.output("v", v)
        b.output("locked", np.where(slips, 0.0, 1.0))


class Engaged(NamedTuple):
    """When it locks and slips again [s], and both speeds at the end [rad/s]."""

    locks: float
    slips: float
    engine: float
    car: float


def course(inertia: float, drag: float, start: float, begin: float, offset: float, slope: float):
    """w(t) of inertia w' = -drag w + offset + slope (t - begin), w(begin) = start."""
    rate, p1 = drag / inertia, slope / drag
    p0 = (offset - inertia * p1) / drag
    return lambda t: p0 + p1 * (t - begin) + (start - p0) * np.exp(-rate * (t - begin))


def known(until: float) -> Engaged:
    """In closed form: free until 1 s, pressed together, locked, let go from 6 s on, and past 8 s free."""
    from scipy.optimize import brentq

    begin, _, let_go, off = FORCE
    up, force = SLIDING * RADIUS * MOST / 2.0, lambda t: MOST * (1 - (t - let_go) / 2.0)  # N m/s, N
    free = course(ENGINE, DRAG_E, START, 0.0, TORQUE, 0.0)(begin)
    e = course(ENGINE, DRAG_E, free, begin, TORQUE, -up)
    v = course(CAR, DRAG_V, 0.0, begin, 0.0, up)
    locks = brentq(lambda t: e(t) - v(t), begin + 1e-6, FORCE[1])
    w = course(ENGINE + CAR, DRAG_E + DRAG_V, v(locks), locks, TORQUE, 0.0)
    held = lambda t: (CAR * TORQUE - (CAR * DRAG_E - ENGINE * DRAG_V) * w(t)) / (ENGINE + CAR)
    slips = brentq(lambda t: held(t) - STICKING * RADIUS * force(t), let_go, off)
    left = SLIDING * RADIUS * force(slips)
    e = course(ENGINE, DRAG_E, w(slips), slips, TORQUE - left, up)
    v = course(CAR, DRAG_V, w(slips), slips, left, -up)
    engine = course(ENGINE, DRAG_E, e(off), off, TORQUE, 0.0)(until)
    return Engaged(locks, slips, engine, course(CAR, DRAG_V, v(off), off, 0.0, 0.0)(until))


def clutch() -> Diagram:
    """The engine, the foot on the pedal, and the clutch."""
    d = Diagram("clutch")
    drive = d.add("drive", Clutch())
    d.add("engine", Constant(TORQUE)) >> drive["torque"]
    d.add("foot", TimeTable([0.0, *FORCE], [0.0, 0.0, MOST, MOST, 0.0])) >> drive["force"]
    return d


def main(until: float = 10.0) -> tuple[Engaged, Engaged]:
    """Run it, and print it beside what is known."""
    r = simulate(clutch(), until=until, rtol=1e-9, atol=1e-10)
    times = {event.name.removeprefix("drive."): event.time for event in r.events}
    found = Engaged(
        times["locks"], times["slips, the engine ahead"], r["drive.e"][-1, 0], r["drive.v"][-1, 0]
    )
    answer = known(until)
    for name, unit in zip(Engaged._fields, ("s", "s", "rad/s", "rad/s"), strict=True):
        print(f"{name}: {getattr(found, name):.8f}, known answer {getattr(answer, name):.8f} {unit}")
    return found, answer


if __name__ == "__main__":
    main()
