"""Which torques make the tip of a two-link arm follow a path: a servo constraint.

Two algebraic variables ask that the tip is where two splines say, with autobalance disabled: their
multipliers do not push at the tip but act where the model uses them, as torques of the motors in both joints.

    python examples/robot_2d/robot_2d.py [PICTURE.png]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant, PlantWarning

MODEL = Path(__file__).with_name("robot_2d.xml")
KNOWN = {  # N m at J1 and J2: inverse kinematics and inverse dynamics of the path in closed form
    0.0: (22.023868351, -1.02209317375),
    1.5: (31.4510177871, 0.583153569376),
    3.0: (26.3816455357, 2.36564517566),
}


def draw(r: Result, picture: str) -> None:
    """The arm along its path, and the torques."""
    q1, _, tip_x, tip_y = r["plant.arm_pose"].T
    figure = Figure(figsize=(9.0, 4.0), dpi=120, layout="constrained")
    arm, torque = figure.subplots(1, 2)
    for n in np.linspace(0, len(r.time) - 1, 9).astype(int):
        elbow = np.cos(q1[n]), np.sin(q1[n])  # the first link is 1 m long
        arm.plot([0, elbow[0], tip_x[n]], [0, elbow[1], tip_y[n]], "o-", color="#BBBBBB", markersize=4)
    arm.plot(tip_x, tip_y, color="#D55E00", linewidth=2, label="path of the tip")
    arm.plot(0, 0, "k^", markersize=9)
    arm.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    for k, signal in enumerate(r["plant.motor_torques"].T, start=1):
        torque.plot(r.time, signal, label=f"J{k}")
    torque.set(xlabel="time [s]", ylabel="torque of the motor [N m]", xlim=(0.0, r.time[-1]))
    for axes in (arm, torque):
        axes.grid(True, color="#DDDDDD")
        axes.legend(frameon=False)
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Follow the path, compare the torques with the known ones."""
    d = Diagram("2D robot")
    with warnings.catch_warnings():  # the model says it has no reaction at the tip: meant so
        warnings.simplefilter("ignore", PlantWarning)
        d.add("plant", Plant.read(MODEL))
    d.ground("plant.tip_load")
    r = simulate(d, until=3.0, log_every=0.01, rtol=1e-9, atol=1e-11)

    for t, known in KNOWN.items():
        torques = r.at(t, "plant.motor_torques")
        print(f"torques at {t} s: {np.round(torques, 6)} N m, known answer {np.round(known, 6)} N m")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
