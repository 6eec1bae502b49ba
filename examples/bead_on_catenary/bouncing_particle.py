"""A particle falls into a V-groove, bounces from wall to wall and comes to rest: unilateral penalties.

A wall pushes only where the particle is below it, and its force is ramped up over the smoothing factor.

    python examples/bead_on_catenary/bouncing_particle.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("bouncing_particle.xml")
X, Z = 0, 1  # numbers of the output "particle": x, z [mm]
MASS, GRAVITY, PENALTY = 4.0, 9810.0, 1e4  # t, mm/s^2, N/mm, as in the model
Z_REST = 1.0 - MASS * GRAVITY / (2 * PENALTY)  # mm: both walls carry the weight, beyond the ramp


def draw(r: Result, picture: str) -> None:
    """Coordinates over time, and the path in the groove."""
    x, z = r["plant.particle"][:, X], r["plant.particle"][:, Z]
    figure = Figure(figsize=(9.0, 4.0), dpi=120, layout="constrained")
    over_time, path = figure.subplots(1, 2)
    over_time.plot(r.time, x, color="#0072B2", label="x")
    over_time.plot(r.time, z, color="#D55E00", label="z")
    over_time.set(xlabel="time [s]", ylabel="place of the particle [mm]", xlim=(0.0, r.time[-1]))
    over_time.legend(frameon=False)
    wall = np.array([-30.0, 0.0, 120.0])
    path.fill_between(wall, 1 + np.abs(wall), -30.0, color="#DDDDDD", label="below a wall")
    path.plot(x, z, color="#009E73", label="path")
    path.set(xlabel="x [mm]", ylabel="z [mm]", aspect="equal", ylim=(-30.0, 125.0), xlim=(-30.0, 120.0))
    path.legend(frameon=False, loc="upper left")
    over_time.grid(True, color="#DDDDDD")
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Let it fall, and compare where it rests with the balance of forces."""
    d = Diagram("bouncing particle")
    d.add("plant", Plant.read(MODEL))
    r = simulate(d, until=1.0, log_every=0.002, rtol=1e-9, atol=1e-9)

    x, z = r["plant.particle"][-1, [X, Z]]
    print(f"rests at x = {x:.6f} mm, z = {z:.6f} mm, known answer 0 and {Z_REST:.6f} mm")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
