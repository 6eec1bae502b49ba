"""A bead slides along y = cosh x, held there by a soft constraint.

The force is -penalty g - penalty1 g' along the gradient of g = y - cosh x, so the bead runs a little beside
the curve: by about its load over the penalty.

    python examples/bead_on_catenary/bead_on_catenary.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("bead_on_catenary.xml")
X, Y, G = 0, 1, 4  # numbers of the output "bead": x, y [m], violation g [m]
X_KNOWN = 0.868925613284  # m at 5 s: equations in x and y written by hand, solved to 1e-13
X_HARD = 0.866155473902  # m at 5 s on a rigid curve: x'' = -(sinh x cosh x x'^2 + g sinh x)/cosh^2 x


def draw(r: Result, picture: str) -> None:
    """The path on its curve, and how far it is off."""
    figure = Figure(figsize=(7.0, 6.0), dpi=120, layout="constrained")
    path, off = figure.subplots(2, 1)
    x = np.linspace(-1.2, 1.2, 200)
    path.plot(x, np.cosh(x), color="#0072B2", linewidth=4, alpha=0.4, label="y = cosh x")
    path.plot(r["plant.bead"][:, X], r["plant.bead"][:, Y], color="#D55E00", label="bead")
    path.set(xlabel="x [m]", ylabel="y [m]", aspect="equal", title="path of the bead", xlim=(-1.3, 1.3))
    path.legend(frameon=False)
    off.plot(r.time, 1e3 * r["plant.bead"][:, G], color="#D55E00")
    off.set(
        xlabel="time [s]", ylabel="g = y - cosh x [mm]", title="violation of the constraint", xlim=(0.0, 5.0)
    )
    for axes in (path, off):
        axes.grid(True, color="#DDDDDD")
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Let the bead go at x = 1 m, compare its place after 5 s with the known one."""
    d = Diagram("bead on a catenary")
    d.add("plant", Plant.read(MODEL))
    d.ground("plant.push")
    r = simulate(d, until=5.0, log_every=0.01, rtol=1e-10, atol=1e-12)

    x = float(r["plant.bead"][-1, X])
    print(f"x at 5 s: {x:.9f} m, known answer {X_KNOWN:.9f} m; on a rigid curve {X_HARD:.9f} m")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
