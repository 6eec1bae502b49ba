"""Steering back to a lane at any speed: gains scheduled with it, from a table of operating points.

y' = v sin(theta + slip), theta' = v cos(slip) tan(delta) / b, tan(slip) = a tan(delta) / b: a bicycle. At
every speed of the table the feedback of y and theta puts both poles of the linear model at -w: the car is
back in the lane in the same time at all speeds. There y(t) = (y0 + (y'(0) + w y0) t) exp(-w t), while the
gains of 30 m/s kept at lower speeds give other poles.

python examples/scheduled_steering.py

Source: Astrom & Murray, Feedback Systems, 2nd ed., examples 3.11 and 8.12.
"""

from dataclasses import dataclass
from typing import NamedTuple

import control
import numpy as np

from blocks import Block, Constant, Equations, Mux
from cosim import Diagram, OperatingPoint, gain_schedule, simulate, trim

BASE, REAR = 3.0, 1.5  # m, wheel base b and from the rear axle to the centre a
OMEGA, START = 1.0, 0.01  # rad/s, m
SPEEDS = (10.0, 20.0, 30.0)  # m/s


class Lanes(NamedTuple):
    """Largest differences from the closed form [m] by speed; and with the gains of the highest speed."""

    difference: dict[float, float]
    unscheduled: dict[float, float]


@dataclass(frozen=True)
class Car(Block):
    """A car as a bicycle: lateral place and heading.

    Outputs: y [m], theta [rad].  Inputs: v [m/s], delta [rad].  Direct feedthrough: none.
    """

    def define(self, b: Equations) -> None:
        """Declare ports, place and heading."""
        v, delta = b.input("v", size=1), b.input("delta", size=1)
        y, theta = b.continuous("y", START), b.continuous("theta", 0.0)
        slip = np.arctan(REAR * np.tan(delta) / BASE)
        b.derivative(y, v * np.sin(theta + slip))
        b.derivative(theta, v * np.cos(slip) * np.tan(delta) / BASE)
        b.output("y", y)
        b.output("theta", theta)


def both_poles(model: control.StateSpace) -> np.ndarray:
    """The gain on y and theta for two poles at -OMEGA."""
    return control.acker(model.A, model.B, [-OMEGA, -OMEGA])


def straight_on(v: float) -> OperatingPoint:
    """In the middle of the lane at a speed."""
    return trim(Car(), x={"y": 0.0}, u={"v": v}, fixed=["y"])


LAW = gain_schedule(Car(), SPEEDS, straight_on, both_poles, inputs=["delta"], outputs=["y", "theta"])


def lane(v: float, p: float) -> Diagram:
    """The car at a speed v, under the gains of a speed p."""
    d = Diagram("lane")
    d.add("v", Constant(v))
    d.add("p", Constant(p))
    d.add("car", Car())
    d.add("x", Mux(2))
    d.add("law", LAW)
    d.connect("v.y -> car.v", "p.y -> law.p", "car.y -> x.in1", "car.theta -> x.in2")
    d.connect("x.out -> law.x", "law.u -> car.delta")
    return d


def closed_form(v: float, t: np.ndarray) -> np.ndarray:
    """y [m] of the linear model at one of the speeds."""
    k = LAW.K[SPEEDS.index(v)][0][0]
    return START * (1.0 + (OMEGA - v * REAR / BASE * k) * t) * np.exp(-OMEGA * t)


def main(until: float = 8.0) -> Lanes:
    """Back into the lane at three speeds, with the gains of each and with those of the highest."""
    difference, unscheduled = {}, {}
    for v in SPEEDS:
        known = closed_form(v, np.linspace(0.0, until, 161))
        more = {"until": until, "log_every": 0.05, "rtol": 1e-10, "atol": 1e-13}
        y, fixed = (simulate(lane(v, p), **more)["car.y"][:, 0] for p in (v, SPEEDS[-1]))
        difference[v], unscheduled[v] = (float(np.abs(found - known).max()) for found in (y, fixed))
        print(
            f"at {v:g} m/s, after 2 s: {1e3 * y[40]:.5f} mm, known answer {1e3 * known[40]:.5f} mm", end="; "
        )
        print(f"{1e3 * fixed[40]:.5f} mm with the gains of {SPEEDS[-1]:g} m/s")
    return Lanes(difference, unscheduled)


if __name__ == "__main__":
    main()
