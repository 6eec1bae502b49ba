"""A particle falls on a frictionless slope, bounces and slides: a one-sided penalty.

The wall pushes across the line only, so along it the particle moves as if the wall were not there.

    python examples/bead_on_catenary/sloping_line.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.optimize import brentq

from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("sloping_line.xml")
MASS, G, PENALTY = 1.0, 9.81, 1e4  # kg, m/s^2, N/m
START = np.array([10.0, 11.2])  # m
UNTIL = 12.0  # s


def ramped(g: float) -> float:
    """Balance across the line with STEP(g, 0, 0, 1, 1) as the ramp: 2 penalty g ramp = m G."""
    return 2 * PENALTY * g * g * g * (3 - 2 * g) - MASS * G


DEPTH_KNOWN = float(brentq(ramped, 0.0, 1.0))  # m of 1 + x - y once it slides


def draw(r: Result, picture: str) -> None:
    """The path beside the line, and how deep the particle is below it."""
    x, y = r["plant.particle"].T
    figure = Figure(figsize=(9.0, 4.0), dpi=120, layout="constrained")
    path, depth = figure.subplots(1, 2)
    early = r.time <= 3.0
    line = np.array([x[early].min(), x.max()])
    path.fill_between(line, 1 + line, 1 + line.min(), color="#DDDDDD", label="y < 1 + x")
    path.plot(x[early], y[early], color="#0072B2", label="path, 3 s")
    path.set(xlabel="x [m]", ylabel="y [m]", aspect="equal")
    path.legend(frameon=False)
    depth.plot(r.time, 1 + x - y, color="#D55E00")
    depth.axhline(DEPTH_KNOWN, color="black", linewidth=0.8, linestyle="--", label="balance of forces")
    depth.set(xlabel="time [s]", ylabel="1 + x - y [m]", xlim=(0.0, r.time[-1]))
    depth.legend(frameon=False)
    depth.grid(True, color="#DDDDDD")
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Let it fall; compare where it is along the line, and how deep, with the known answers."""
    d = Diagram("sloping line")
    d.add("plant", Plant.read(MODEL))
    r = simulate(d, until=UNTIL, log_every=0.005, rtol=1e-9, atol=1e-11)

    x, y = r["plant.particle"][-1]
    along = START.sum() - G * UNTIL**2 / 2  # m: (x + y)'' = -G
    print(f"x + y at {UNTIL:g} s: {x + y:.6f} m, known answer {along:.6f} m")
    print(f"depth below the line: {1 + x - y:.6f} m, known answer {DEPTH_KNOWN:.6f} m")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
