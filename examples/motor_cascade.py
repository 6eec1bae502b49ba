"""A servo motor under three loops: current at 10 kHz, speed at 1 kHz, position at 100 Hz.

L i' = v - R i - k w,  J w' = k i - b w,  phi' = w. Each loop gives the next inner one its reference. All
ticks fall on those of the fastest loop, so that the whole is a linear map from tick to tick: propagated
with the matrix exponential, the controllers written down by hand, it gives the angle at every tick.

python examples/motor_cascade.py
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import expm

from blocks import Constant, Demux, DiscretePID, StateSpace
from cosim import Diagram, simulate

R, L, K, J, B = 1.0, 1e-3, 0.05, 1e-4, 1e-5  # ohm, H, N m/A, kg m2, N m s
FAST, MIDDLE, SLOW = 1e-4, 1e-3, 1e-2  # s
CURRENT, SPEED, POSITION = {"kp": 3.0, "ki": 3000.0}, {"kp": 0.4, "ki": 20.0}, {"kp": 20.0}
ANGLE = 1.0  # rad
A = np.array([[-R / L, -K / L, 0.0], [K / J, -B / J, 0.0], [0.0, 1.0, 0.0]])  # of i, w, phi
INPUT = np.array([[1.0 / L], [0.0], [0.0]])


class Cascade(NamedTuple):
    """Angles at the fast ticks [rad] of the run and of the map."""

    found: np.ndarray
    known: np.ndarray


def cascade() -> Diagram:
    """Motor and loops, from the outermost to the innermost."""
    d = Diagram("motor_cascade")
    d.add("motor", StateSpace(A, INPUT, np.eye(3)))
    d.add("sensors", Demux(3))  # i, w, phi
    d.add("wanted", Constant(ANGLE))
    d.add("angle", DiscretePID(**POSITION, weights=(1.0, 0.0), sample=SLOW))
    d.add("speed", DiscretePID(**SPEED, weights=(1.0, 0.0), sample=MIDDLE))
    d.add("current", DiscretePID(**CURRENT, weights=(1.0, 0.0), sample=FAST))
    d.connect("wanted.y -> angle.r", "angle.u -> speed.r", "speed.u -> current.r", "current.u -> motor.u")
    d.connect("motor.y -> sensors.in")
    d.connect("sensors.out1 -> current.y", "sensors.out2 -> speed.y", "sensors.out3 -> angle.y")
    return d


def by_hand(until: float) -> np.ndarray:
    """Angles at the fast ticks, from the map of the motor over one of them."""
    both = expm(FAST * np.block([[A, INPUT], [np.zeros((1, 4))]]))
    x, angles = np.zeros(3), []
    w_ref = i_ref = sum_w = sum_i = 0.0
    for n in range(round(until / FAST) + 1):
        angles.append(x[2])
        if n % round(SLOW / FAST) == 0:
            w_ref = POSITION["kp"] * (ANGLE - x[2])
        if n % round(MIDDLE / FAST) == 0:
            e = w_ref - x[1]
            i_ref = SPEED["kp"] * e + sum_w
            sum_w += MIDDLE * SPEED["ki"] * e
        e = i_ref - x[0]
        v = CURRENT["kp"] * e + sum_i
        sum_i += FAST * CURRENT["ki"] * e
        x = both[:3, :3] @ x + both[:3, 3] * v
    return np.array(angles)


def main(until: float = 0.5) -> Cascade:
    """Turn it by one radian, and compare the angle with the map at every fast tick."""
    r = simulate(cascade(), until=until, log_every=FAST, rtol=1e-10, atol=1e-12)
    found, known = r["sensors.out3"][:, 0], by_hand(until)
    print(f"angle after {until} s: {found[-1]:.9f} rad, known answer {known[-1]:.9f} rad")
    print(f"largest difference at {len(known)} ticks: {np.abs(found - known).max():.1e} rad")
    return Cascade(found, known)


if __name__ == "__main__":
    main()
