"""Cruise control on a long hill too steep for the engine: what integral windup costs, and what prevents it.

m v' = F u - m g (C_r + sin(slope)) - k v^2, the throttle u within 0 and 1. A PI controller keeps 25 m/s; on
the hill full throttle is not enough. Without anti-windup the integral goes on growing there, and behind the
hill the car races on at full throttle. The speeds of full throttle on the hill and on level road are known
in closed form.

python examples/cruise_control.py
"""

from typing import NamedTuple

import numpy as np

from blocks import ODE, PID, Constant, Mux, Sum, TimeTable
from blocks.contract.symbols import Array
from cosim import Diagram, simulate

MASS, FORCE, G = 1600.0, 4000.0, 9.81  # kg, N at full throttle, m/s2
ROLL, DRAG = 0.01, 2.0  # -, N s2/m2
WANTED, SLOPE = 25.0, 0.184  # m/s, rad
HILL = (10.0, 1010.0)  # s
ROAD = FORCE - MASS * G * ROLL  # N that are left at full throttle on level road
TOP, UPHILL = np.sqrt(ROAD / DRAG), np.sqrt((ROAD - MASS * G * np.sin(SLOPE)) / DRAG)  # m/s


class Cruise(NamedTuple):
    """Speeds [m/s] at the end of the hill, and the highest behind it, without anti-windup and with it."""

    uphill: float
    wound_up: float
    overshoot: float


def car(t: float, v: Array, u: Array) -> Array:
    """v' [m/s2] for the throttle u[0] and the slope of the road u[1] [rad]."""
    return (FORCE * u[0] - DRAG * v**2) / MASS - G * (ROLL + np.sin(u[1]))


def cruise(anti_windup: str) -> Diagram:
    """The car, its controller and the road."""
    d = Diagram("cruise")
    d.add("wanted", Constant(WANTED))
    d.add("error", Sum("+-"))
    d.add("throttle", PID(kp=0.5, ki=0.1, low=0.0, high=1.0, anti_windup=anti_windup, tracking=5.0))
    d.add("road", TimeTable([0.0, *HILL], [0.0, SLOPE, 0.0], interpolation="previous"))
    d.add("both", Mux(2))
    d.add("car", ODE(car, [WANTED], inputs=2))
    d.connect("wanted.y -> error.in1", "car.y -> error.in2", "error.y -> throttle.e")
    d.connect("throttle.u -> both.in1", "road.y -> both.in2", "both.out -> car.u")
    return d


def main(until: float = 1500.0) -> Cruise:
    """Up the hill and on, with and without anti-windup."""
    highest = {}
    for kind in ("none", "back-calculation"):
        r = simulate(cruise(kind), until=until, log_every=0.5)
        v = r["car.y"][:, 0]
        highest[kind] = float(v[r.time > HILL[1]].max())
    uphill = float(v[r.time <= HILL[1]][-1])
    found = Cruise(uphill, highest["none"], highest["back-calculation"] - WANTED)
    print(f"speed up the hill: {found.uphill:.4f} m/s, known answer {UPHILL:.4f} m/s")
    print(f"speed behind it, wound up: {found.wound_up:.4f} m/s, known answer {TOP:.4f} m/s")
    print(f"overshoot with back-calculation: {found.overshoot:.4f} m/s")
    return found


if __name__ == "__main__":
    main()
