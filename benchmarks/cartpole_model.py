"""The cart-pole of the benchmarks: a block with its equations, and the closed loop with a sampled controller.

Cart of mass M on a spring k and damper c to ground, uniform rod of mass m and half length l on a pin.
States s [m], theta [rad] (0 upright), v [m/s], omega [rad/s]; the force acts on the cart.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from blocks import Mux, StateFeedback
from blocks.contract.block import Block, Equations
from cosim import Diagram
from plant import Plant

DECK = Path(__file__).parents[1] / "examples" / "inverted_pendulum" / "inverted_pendulum.xml"
START = (0.0, 0.1, 0.0, 0.0)
GAIN = (-19.89148472630994, -55.60605640155979, -10.020738672851252, -14.405727192620363)  # LQR at 100 Hz


@dataclass(frozen=True)
class CartPole(Block):
    """Equations of motion with the 2 x 2 mass matrix solved by hand."""

    M: float = 1.0
    m: float = 0.1
    l: float = 0.5
    k: float = 10.0
    c: float = 1.0
    g: float = 9.81
    initial: tuple[float, ...] = START

    def define(self, b: Equations) -> None:
        """Declare force, state and motion."""
        force = b.input("force", size=1)[0]
        M, m, l, k, c, g = b.parameters(M=self.M, m=self.m, l=self.l, k=self.k, c=self.c, g=self.g)
        x = b.continuous("x", np.array(self.initial))
        s, theta, v, omega = x[0], x[1], x[2], x[3]
        inertia = m * (2 * l) ** 2 / 12 + m * l * l
        coupling = m * l * np.cos(theta)
        on_cart = force - k * s - c * v + m * l * np.sin(theta) * omega * omega
        on_pole = m * l * g * np.sin(theta)
        det = (M + m) * inertia - coupling * coupling
        a = (inertia * on_cart - coupling * on_pole) / det
        alpha = ((M + m) * on_pole - coupling * on_cart) / det
        b.derivative(x, np.stack([v, omega, a, alpha]))
        b.output("state", x)


def from_file(sample: float = 0.01) -> Diagram:
    """The inverted pendulum of the multibody deck with a sampled state feedback of its own."""
    plant = Plant.read(DECK).with_port("control_force", hold_order=0, sampling_period=sample)
    d = Diagram("inverted_pendulum")
    p, y = d.add("plant", plant), d.add("measured", Mux(2))
    control = d.add("controller", StateFeedback([[76.43, 18.41, -23.2, -13.97]], sample=sample))
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], control["x"])
    d.connect(control["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    return d


def closed_loop(sample: float = 0.01) -> Diagram:
    """Cart-pole with state feedback, sampled and held."""
    d = Diagram("cartpole")
    plant = d.add("plant", CartPole())
    control = d.add("controller", StateFeedback(np.array([GAIN]), sample=sample))
    d.connect(plant["state"], control["x"])
    d.connect(control["u"], plant["force"])
    return d
