"""A thrust-vectored aircraft (PVTOL) hovers by LQG: only x, y and theta are seen.

m x'' = F1 cos(theta) - F2 sin(theta) - c x',  m y'' = F1 sin(theta) + F2 cos(theta) - m g - c y',  J
theta'' = r F1; F2 is what is above the weight. The plant is linearised where it hovers; separation says
that the poles of the closed loop are those of the regulator and of the filter together.

python examples/pvtol_lqg.py

Source: Astrom & Murray, Feedback Systems, 2nd ed., examples 3.12 and 7.9.
"""

from typing import NamedTuple

import control
import numpy as np

from blocks import LQG, ODE
from blocks.contract.symbols import Array
from cosim import Diagram, linearize, simulate

M, J, RADIUS, G, DRAG = 4.0, 0.0475, 0.25, 9.81, 0.05  # kg, kg m2, m, m/s2, N s/m
Q, R = np.diag([100.0, 10.0, 36.0, 1.0, 1.0, 1.0]), np.diag([10.0, 1.0])
QN, RN = np.diag([0.0, 0.0, 0.0, 1.0, 1.0, 1.0]), np.diag([1e-3, 1e-3, 1e-4])


class Hover(NamedTuple):
    """Poles of the loop and those known [1/s], and where the aircraft is at the end [m]."""

    poles: np.ndarray
    known: np.ndarray
    place: np.ndarray


def aircraft(t: float, x: Array, u: Array) -> list[Array]:
    """State derivative: x, y, theta and their rates; u = F1, F2 - m g."""
    c, s, lift = np.cos(x[2]), np.sin(x[2]), u[1] + M * G
    return [
        *x[3:],
        (u[0] * c - lift * s - DRAG * x[3]) / M,
        (u[0] * s + lift * c - M * G - DRAG * x[4]) / M,
        RADIUS / J * u[0],
    ]


PLANT = ODE(aircraft, np.zeros(6), lambda t, x, u: x[:3], inputs=2)


def loop() -> Diagram:
    """The aircraft and its regulator, made of the model where it hovers."""
    d = Diagram("pvtol")
    d.add("aircraft", PLANT)
    d.add("pilot", LQG(linearize(PLANT), Q=Q, R=R, Qn=QN, Rn=RN))
    d.connect("aircraft.y -> pilot.y", "pilot.u -> aircraft.u")
    return d


def main(until: float = 30.0) -> Hover:
    """Start beside the place, and fly there."""
    d, model = loop(), linearize(PLANT)
    poles = np.sort_complex(np.linalg.eigvals(linearize(d).A))
    _, _, regulator = control.lqr(model, Q, R)
    _, _, observer = control.lqe(model.A, np.eye(6), model.C, QN, RN)
    known = np.sort_complex(np.concatenate([regulator, observer]))
    r = simulate(d, until=until, initial={"aircraft.x": [1.0, -0.5, 0.2, 0, 0, 0]}, log_every=0.01)
    place = r["aircraft.y"][-1]
    for pole, right in zip(poles, known, strict=True):
        print(f"pole {pole:.6f}, known answer {right:.6f}")
    print(f"place at the end: {place[0]:.1e} m, {place[1]:.1e} m, known answer 0")
    return Hover(poles, known, place)


if __name__ == "__main__":
    main()
