"""A planar robot of two links whose second angle is geared to the first: q2 = 2 sin q1.

The constraint is a function q = gamma(y); its Jacobian and rates are found by automatic differentiation. A
constant torque of 1 N m on joint 1 does the work q1, and nothing is lost: the kinetic energy is q1 as well.

Source: R. Featherstone, Describing Constraints with gamma_q, 2012.

    python examples/planar2g.py [PICTURE.png]
"""

import sys

import numpy as np

from blocks import Constant
from cosim import Diagram, Result, simulate
from plant.gamma_q import RobotPlant, gamma, planar

TORQUE = [1.0, 0.0]  # N m at the two joints
TSTAB = 0.1  # s; time constant with which errors of the constraint are taken back
Q1_KNOWN = 18.6898780588  # rad at 10 s: t = int sqrt(M(y)/(2 y)) dy by quadrature


def main(picture: str | None = None) -> Result:
    """Turn it for 10 s and compare angle, work and kinetic energy."""
    d = Diagram("planar2g")
    geared = gamma(lambda y: [y[0], 2 * np.sin(y[0])], independent=[0], Tstab=TSTAB)
    robot = d.add("robot", RobotPlant(planar(2), constraint=geared))
    torque = d.add("torque", Constant(TORQUE))
    d.connect(torque["y"], robot["tau"])
    r = simulate(d, until=10.0, log_every=0.01, rtol=1e-10, atol=1e-12)

    q1, q2 = r["robot.q"].T
    KE = r["robot.KE"][:, 0]
    print(f"q1 at 10 s: {q1[-1]:.9f} rad, known answer {Q1_KNOWN:.9f} rad")
    print(f"kinetic energy at 10 s: {KE[-1]:.9f} J, known: the work done, {TORQUE[0] * q1[-1]:.9f} J")
    print(f"largest |KE - work| {np.abs(KE - TORQUE[0] * q1).max():.1e} J, ", end="")
    print(f"|q2 - 2 sin q1| {np.abs(q2 - 2 * np.sin(q1)).max():.1e} rad")
    if picture is not None:
        r.plot("robot.q", "robot.qd", "robot.KE", path=picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
