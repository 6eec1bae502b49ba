"""A ball bounces until it rests: an event with resets, a mode, and impact times known in closed form."""

from dataclasses import dataclass

import numpy as np

from blocks import Block, Equations
from cosim import Diagram, Result, simulate

HEIGHT = 10.0  # m, where it is let go
RESTITUTION = 0.8
GRAVITY = 9.81  # m/s^2
REST = 0.5  # m/s; slower impacts end the bouncing


@dataclass(frozen=True)
class Ball(Block):
    """h' = v, v' = -g while it flies; where h falls through 0, v becomes -e v, or it lies.

    Output: h [m], v [m/s].  No inputs.
    """

    g: float = GRAVITY
    e: float = RESTITUTION

    def define(self, b: Equations) -> None:
        """Declare the states and the impact."""
        g, e = b.parameters(g=self.g, e=self.e)
        h, v = b.continuous("h", HEIGHT), b.continuous("v", 0.0)
        flies = b.mode("flies", 1.0)
        b.derivative(h, v * flies)
        b.derivative(v, -g * flies)
        slow = np.abs(v) < REST
        b.when(
            h[0], [(v, np.where(slow, 0.0, -e * v)), (flies, np.where(slow, 0.0, 1.0))], "falling", "impact"
        )
        b.output("h", h)
        b.output("v", v)


def main() -> Result:
    """Drop the ball and compare the impacts with t_n+1 = t_n + 2 e^n v_1/g."""
    d = Diagram("bouncing ball")
    d.add("ball", Ball())
    r = simulate(d, until=15.0, log_every=0.01)

    first = np.sqrt(2 * HEIGHT / GRAVITY)
    impacts = np.array([e.time for e in r.events])
    pauses = 2 * first * RESTITUTION ** np.arange(1, len(impacts))
    known = first + np.concatenate([[0.0], np.cumsum(pauses)])
    print(f"{len(impacts)} impacts, the last at {impacts[-1]:.9f} s, known {known[-1]:.9f} s")
    print(f"largest difference {np.abs(impacts - known).max():.1e} s")
    return r


if __name__ == "__main__":
    main()
