"""A bouncing ball as an FMU for model exchange: its impacts are events of our solver, at known times.

The FMU is made here from a block of our own; one from any other tool would do.
"""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from blocks import Block, Equations
from cosim import FMU, Diagram, Result, export_fmu, simulate

HEIGHT = 10.0  # m, where it is let go
RESTITUTION = 0.8
GRAVITY = 9.81  # m/s^2


@dataclass(frozen=True)
class Ball(Block):
    """h' = v, v' = -g; where h falls through 0, v becomes -e v.  Output: h [m].  No inputs."""

    g: float = GRAVITY
    e: float = RESTITUTION

    def define(self, b: Equations) -> None:
        """Declare the states and the impact."""
        g, e = b.parameters(g=self.g, e=self.e)
        h, v = b.continuous("height", HEIGHT), b.continuous("speed", 0.0)
        b.derivative(h, v)
        b.derivative(v, -g)
        b.when(h[0], {v: -e * v}, "falling", "impact")
        b.output("h", h)


def main(folder: str | None = None) -> Result:
    """Export the ball, import it, drop it, and compare the impacts with t_n+1 = t_n + 2 e^n v_1/g."""
    with tempfile.TemporaryDirectory() as temporary:
        file = export_fmu(Ball(), Path(folder or temporary) / "ball.fmu", kinds=("me",))
        ball = FMU(file, kind="me")
        print(
            f"states {[v.name for v in ball.description.states]}, {ball.description.n_indicators} indicators"
        )

        d = Diagram("ball from an FMU")
        d.add("ball", ball)
        r = simulate(d, until=10.0, log_every=0.01)

    speed = f"ball.{ball.description.states[1].name}"
    events = [e for e in r.events if e.name == "ball.event"]
    impacts = np.array([e.time for e in events if e.before[speed][0] < 0 <= e.after[speed][0]])
    first = np.sqrt(2 * HEIGHT / GRAVITY)
    pauses = 2 * first * RESTITUTION ** np.arange(1, len(impacts))
    known = first + np.concatenate([[0.0], np.cumsum(pauses)])
    print(f"{len(impacts)} impacts, the last at {impacts[-1]:.9f} s, known {known[-1]:.9f} s")
    print(f"largest difference {np.abs(impacts - known).max():.1e} s")
    return r


if __name__ == "__main__":
    main()
