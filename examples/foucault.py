"""Foucault's pendulum: its plane turns with the ground, by the sine of the latitude.

In the frame of the ground, x to the east and y to the north [m], about the point below its hook:

    x'' = -wn^2 x + 2 W sin(lat) y',   y'' = -wn^2 y - 2 W sin(lat) x'

Two second-order loops cross each other through gains. The known answer is in closed form: with
s = W sin(lat), z = x + i y = a exp(-i s t) (cos(p t) + i (s / p) sin(p t)), p^2 = wn^2 + s^2, for a bob that
is let go at x = a: an hour turns the plane by s 3600 s.

python examples/foucault.py
"""

from typing import NamedTuple

import numpy as np

from blocks import Integrator
from cosim import Diagram, simulate

G, LENGTH, DAY = 9.80665, 67.0, 86164.1  # m/s2, m, s: a day by the stars
LATITUDE = np.radians(48.846)  # Panthéon, Paris
START = 3.0  # m to the east
TURNS = 2 * np.pi / DAY * np.sin(LATITUDE)  # rad/s


class Swing(NamedTuple):
    """Places (n, 2) [m], those in closed form, and the turn of the plane in the time that was run [rad]."""

    place: np.ndarray
    known: np.ndarray
    turn: float
    known_turn: float


def pendulum() -> Diagram:
    """The bob over the turning ground."""
    d = Diagram("foucault")
    vx, x = d.add("vx", Integrator()), d.add("x", Integrator(START))
    vy, y = d.add("vy", Integrator()), d.add("y", Integrator())
    stiff = d.parameter("stiff", G / LENGTH)
    turns = d.parameter("turns", TURNS)
    (2.0 * turns * vy - stiff * x) >> vx >> x
    (-2.0 * turns * vx - stiff * y) >> vy >> y
    return d


def by_hand(t: np.ndarray) -> np.ndarray:
    """Places (n, 2) at times t [s]."""
    p = np.sqrt(G / LENGTH + TURNS**2)
    z = START * np.exp(-1j * TURNS * t) * (np.cos(p * t) + 1j * TURNS / p * np.sin(p * t))
    return np.transpose([z.real, z.imag])


def plane(place: np.ndarray) -> float:
    """Direction of the longest way from the middle, between 0 and pi [rad]."""
    far = place[np.argmax(np.hypot(*place.T))]
    return float(np.arctan2(far[1], far[0]) % np.pi)


def main(until: float = 3600.0) -> Swing:
    """Let it swing for an hour."""
    r = simulate(pendulum(), until=until, log_every=0.05, rtol=1e-10)
    place = np.column_stack([r["x.y"], r["y.y"]])
    period = round(2 * np.pi / np.sqrt(G / LENGTH) / 0.05)
    turned = (plane(place[:period]) - plane(place[-period:])) % np.pi
    answer = Swing(place, by_hand(r.time), turned, TURNS * until)
    print(f"at the end {place[-1].round(6)} m, known answer {answer.known[-1].round(6)} m")
    print(f"in an hour {np.degrees(turned):.2f} deg, known answer {np.degrees(answer.known_turn):.2f} deg")
    return answer


if __name__ == "__main__":
    main()
