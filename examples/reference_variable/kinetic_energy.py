"""The kinetic energy of a tumbling body, by expression and by a Python subroutine.

Source: reference page of Reference_Variable, examples 1 and 2.

    python examples/reference_variable/kinetic_energy.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("kinetic_energy.xml")
MASS, G = 4.0, 9.81  # kg, m/s^2
V, W = np.array([0.5, -0.2, 3.0]), np.array([0.3, 8.0, -0.2])  # m/s, rad/s at the start
INERTIA = np.array([0.006, 0.005, 0.004])  # kg m^2
START = (MASS * V @ V + INERTIA @ W**2) / 2  # J; all axes are global at the start


def draw(r: Result, picture: str) -> None:
    """Both readings of the angular velocity; what gravity takes is added again."""
    figure = Figure(figsize=(8.0, 4.0), dpi=120, layout="constrained")
    axes = figure.subplots()
    work = MASS * G * (r["plant.height"][:, 0] - r["plant.height"][0, 0])
    gained = 1e3 * (r["plant.kinetic_energy"] + work[:, None] - START)
    axes.plot(r.time, gained[:, 0], color="#D55E00", label="angular velocity along global axes")
    axes.plot(r.time, gained[:, 2], color="#0072B2", label="along the body's own axes")
    axes.set(xlabel="time [s]", ylabel="energy gained since the start [mJ]", xlim=(0.0, r.time[-1]))
    axes.grid(True, color="#DDDDDD")
    axes.legend(frameon=False)
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Throw it, and compare its energy after 3 s with the start and the work of gravity."""
    d = Diagram("kinetic energy")
    d.add("plant", Plant.read(MODEL, trust=True))  # the deck runs varsub.py
    r = simulate(d, until=3.0, log_every=0.005, rtol=1e-10, atol=1e-12)

    by_expression, by_subroutine = r["plant.kinetic_energy"][-1, 2:]
    known = START - MASS * G * (V[2] * 3.0 - G * 3.0**2 / 2)
    print(f"after 3 s: {by_expression:.9f} J by expression, {by_subroutine:.9f} J by subroutine, ", end="")
    print(f"known answer {known:.9f} J")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
