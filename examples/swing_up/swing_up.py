"""Swing the pendulum of inverted_pendulum/ up from hanging, and catch it: a chart chooses the control.

The chart is in "swing" until the rod is nearly upright and slow, then in "hold". While swinging, an energy
control pumps: with E the energy of the rod about its hinge above that of standing upright, the force drives E
to zero. Once it is caught, the regulator of the linearised plant holds it.

python examples/swing_up/swing_up.py
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import control
import numpy as np

from blocks import Block, Equations, Mux, State, StateChart, StateFeedback, Transition
from cosim import Diagram, If, linearize, simulate
from plant import Plant

MODEL = Path(__file__).parents[1] / "inverted_pendulum" / "inverted_pendulum.xml"
SAMPLE = 0.01  # s
MASS, LEVER, INERTIA, GRAVITY = 0.1, 0.5, 0.1 / 3, 9.81  # of the rod about its hinge: kg, m, kg m2, m/s2
OUTPUTS = ["pendulum[0]", "pendulum[1]", "slider[0]", "slider[1]"]  # theta, omega, x, v
Q, R = np.diag([100.0, 1.0, 10.0, 1.0]), [[0.1]]


class Outcome(NamedTuple):
    """When the rod was caught [s], how often, and the largest angle in the last second [rad]."""

    caught: float
    catches: float
    rest: float


@dataclass(frozen=True)
class EnergyControl(Block):
    """F = -gain E omega cos(theta), within +-limit: the energy E of the rod goes to that of standing upright.

    From J theta'' = m l (g sin(theta) + a cos(theta)), a the acceleration of the slider:
    dE/dt = m l a omega cos(theta).

    Source: Åström & Furuta, Swinging up a pendulum by energy control, Automatica 36 (2000) 287-295.
    """

    gain: float = 60.0  # 1/m
    limit: float = 8.0  # N

    def define(self, b: Equations) -> None:
        """Declare the measured outputs and the force."""
        theta, omega, _, _ = b.input("x", size=4)
        gain, limit = b.parameters(gain=self.gain, limit=self.limit)
        E = 0.5 * INERTIA * omega**2 + MASS * GRAVITY * LEVER * (np.cos(theta) - 1.0)
        b.output("u", np.clip(-gain * E * omega * np.cos(theta), -limit, limit), sample=SAMPLE)


@dataclass(frozen=True)
class FromUpright(Block):
    """The measured outputs with the angle from upright in (-pi, pi]."""

    def define(self, b: Equations) -> None:
        """Declare the outputs of the plant and the wrapped ones."""
        y = b.input("y", size=4)
        b.output("x", np.stack([np.arctan2(np.sin(y[0]), np.cos(y[0])), *y[1:]]), sample=SAMPLE)
        b.output("theta", np.arctan2(np.sin(y[0]), np.cos(y[0])), sample=SAMPLE)
        b.output("omega", y[1], sample=SAMPLE)


def regulator(plant: Plant) -> np.ndarray:
    """LQR gain (1, 4) on theta, omega, x, v, for the plant sampled upright."""
    model = linearize(plant)
    C = model.C[[model.output_labels.index(name) for name in OUTPUTS]]
    force = [model.input_labels.index("control_force")]
    discrete = control.c2d(control.ss(model.A, model.B[:, force], C, np.zeros((4, 1))), SAMPLE, "zoh")
    K, _, _ = control.dlqr(discrete, C.T @ Q @ C, R)
    return K @ np.linalg.inv(C)


def chart() -> StateChart:
    """Swing until nearly upright and slow; swing again when it falls."""
    return StateChart(
        inputs=["theta", "omega"],
        outputs={"caught": 0.0},
        data={"catches": 0.0},
        sends=["catch"],
        states=[State("swing", entry="caught = 0"), State("hold", entry="caught = 1; send(catch)")],
        transitions=[
            Transition("swing", "hold", "abs(theta) < 0.35 and abs(omega) < 1.2"),
            Transition("hold", "swing", "abs(theta) > 0.8"),
        ],
        sample=SAMPLE,
    )


def swing_up() -> Diagram:
    """The plant with its chart and both controllers."""
    plant = Plant.read(MODEL)
    d = Diagram("swing_up")
    p = d.add("plant", plant)
    y, x, c = d.add("y", Mux(2)), d.add("x", FromUpright()), d.add("chart", chart())
    u = d.add("control", If(StateFeedback(regulator(plant), sample=SAMPLE), EnergyControl()))
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], x["y"])
    for name in ("theta", "omega"):
        d.connect(x[name], c[name])
    d.connect(x["x"], u["x"])
    d.connect(c["caught"], u["condition"])
    d.connect(u["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    return d


def main(until: float = 15.0) -> Outcome:
    """Hang it, push it slightly, and see it stand."""
    r = simulate(swing_up(), until=until, initial={"plant.hinge.q": np.pi - 0.1}, log_every=SAMPLE)
    caught = r["chart.caught"][:, 0] > 0.5
    last = r.time > until - 1.0
    found = Outcome(
        float(r.time[np.flatnonzero(~caught)[-1] + 1]) if caught[-1] else float("nan"),
        float(r["chart.catch"][-1, 0]),
        float(np.abs(r["x.theta"][last]).max()),
    )
    print(f"caught at t = {found.caught:.2f} s at try {found.catches:g}")
    print(f"angle in the last second: {found.rest:.1e} rad, known answer 0 (upright)")
    return found


if __name__ == "__main__":
    main()
