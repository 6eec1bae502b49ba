"""A wheel brakes on dry asphalt: with blocked wheels, and with the slip kept where the road holds best.

The friction over the slip s is that of Burckhardt, mu = c1 (1 - exp(-c2 s)) - c3 s: it is largest at a slip
of about 0.17 and falls until the wheel is blocked, s = 1. The brake is an on-off valve, a lag and a
pressure that builds up; the controller opens the valve while the slip is too small and drains it while it
is too large. SciPy, stopped at every switch, goes the same way; with blocked wheels the way from there is
known in closed form.

python examples/abs_braking.py
"""

from typing import NamedTuple

import numpy as np

from blocks import Constant, FirstOrder, Function, Integrator, Relay, StopWhen
from cosim import Diagram, simulate

MASS, INERTIA, RADIUS, G = 300.0, 1.0, 0.3, 9.81  # kg and kg m2 of a wheel's share, m, m/s2
SPEED, SLOW = 30.0, 5.0  # m/s at the start, and where the run ends
C1, C2, C3 = 1.2801, 23.99, 0.52  # dry asphalt
WANTED, BAND = 0.17, 0.01  # slip that is kept, and half the width of the relay
FILL, LAG, MOST = 1.2e4, 0.01, 1600.0  # N m/s of the brake, s, N m


class Stop(NamedTuple):
    """Ways [m] until it is slow: with the slip kept, and with blocked wheels."""

    kept: float
    blocked: float


def grip(s):
    """Friction over weight at a slip s."""
    return C1 * (1 - np.exp(-C2 * s)) - C3 * s


def braking(kept: bool) -> Diagram:
    """Car, wheel and brake; with `kept` the valve is a relay on the slip, else always open."""
    d = Diagram("braking")
    v, w = d.add("v", Integrator(SPEED)), d.add("w", Integrator(SPEED / RADIUS, low=0.0))
    d.add("way", Integrator())
    slip = d.add("slip", Function(lambda v, w: 1 - RADIUS * w / v))
    force = d.add("force", Function(lambda s: MASS * G * grip(s)))
    lag, brake = d.add("lag", FirstOrder(FILL, LAG)), d.add("brake", Integrator(0.0, low=0.0, high=MOST))
    d.connect("v -> slip.v, way", "w -> slip.w", "slip -> force")
    force * (-1 / MASS) >> v
    (RADIUS * force - brake) * (1 / INERTIA) >> w
    valve = d.add("valve", Relay(BAND, -BAND, on_value=1.0, off_value=-1.0) if kept else Constant(1.0))
    if kept:
        WANTED - slip >> valve
    valve >> lag >> brake
    d.add("slow", StopWhen("the car is slow", direction="falling"))
    v - SLOW >> d["slow"]
    return d


def by_scipy() -> float:
    """The way with the slip kept [m]: states are v, w, way, lag and brake, stopped at every switch."""
    from scipy.integrate import solve_ivp

    def rates(valve):
        def of(_, y):
            v, w, _, lag, brake = y
            force = MASS * G * grip(1 - RADIUS * w / v)
            return [-force / MASS, (RADIUS * force - brake) / INERTIA, v, (FILL * valve - lag) / LAG, lag]

        return of

    t, y, valve = 0.0, np.array([SPEED, SPEED / RADIUS, 0.0, 0.0, 0.0]), 1.0
    while True:

        def switch(_, y, level=WANTED + valve * BAND):
            return 1 - RADIUS * y[1] / y[0] - level

        def slow(_, y):
            return y[0] - SLOW

        switch.terminal, switch.direction, slow.terminal = True, valve, True
        part = solve_ivp(
            rates(valve),
            (t, t + 1.0),
            y,
            "DOP853",
            events=[switch, slow],
            rtol=1e-11,
            atol=1e-11,
            max_step=0.01,
        )
        t, y, valve = part.t[-1], part.y[:, -1], -valve
        if part.t_events[1].size:
            return float(y[2])


def main() -> tuple[Stop, Stop]:
    """Brake twice, and print the ways."""
    kept, blocked = (
        simulate(braking(kept), until=20.0, log_at=[0.5, 20.0], rtol=1e-9, atol=1e-9)
        for kept in (True, False)
    )
    found = Stop(kept["way.y"][-1, 0], blocked["way.y"][-1, 0])
    v, way = blocked["v.y"][0, 0], blocked["way.y"][0, 0]  # at 0.5 s the wheel stands
    answer = Stop(by_scipy(), way + (v**2 - SLOW**2) / (2 * G * grip(1.0)))
    for name in Stop._fields:
        print(f"{name}: {getattr(found, name):.7f} m, known answer {getattr(answer, name):.7f} m")
    return found, answer


if __name__ == "__main__":
    main()
