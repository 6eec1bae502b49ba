"""Blocks to linearise and to trim: a pendulum with friction, a spacecraft with a quaternion."""

from dataclasses import dataclass

import numpy as np

from blocks import Block


@dataclass(frozen=True)
class Pendulum(Block):
    """Angle q [rad] from hanging, rate v; torque u and viscous friction. m = l = 1."""

    friction: float = 0.5
    g: float = 9.81

    def define(self, b):
        u = b.input("u", size=1)
        friction, g = b.parameters(friction=self.friction, g=self.g)
        q, v = b.continuous("q", 0.0), b.continuous("v", 0.0, static="zero")
        b.derivative(q, v)
        b.derivative(v, u - g * np.sin(q) - friction * v)
        b.output("angle", q)
        b.output("height", 1.0 - np.cos(q))


@dataclass(frozen=True)
class Spacecraft(Block):
    """Attitude quaternion q (scalar first), rates w, torque; principal moments J."""

    J: tuple[float, float, float] = (1.0, 2.0, 3.0)

    def define(self, b):
        torque = b.input("torque", size=3)
        (J,) = b.parameters(J=self.J)
        q = b.continuous("q", [1.0, 0.0, 0.0, 0.0], static="solve")
        w = b.continuous("w", 0.0, size=3, static="zero")
        x, y, z = w[0], w[1], w[2]
        b.derivative(q, 0.5 * np.stack([
            -q[1] * x - q[2] * y - q[3] * z,
            q[0] * x + q[2] * z - q[3] * y,
            q[0] * y + q[3] * x - q[1] * z,
            q[0] * z + q[1] * y - q[2] * x,
        ]))  # fmt: skip
        H = J * w
        gyro = np.stack([y * H[2] - z * H[1], z * H[0] - x * H[2], x * H[1] - y * H[0]])
        b.derivative(w, (torque - gyro) / J)
        b.invariant(np.sum(q * q) - 1.0)
        b.output("q", q)
