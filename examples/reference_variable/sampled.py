"""A controller that lives in a VARSUB: discrete states that change every 0.1 s only.

Source: reference page of Reference_Variable, comment 9.

    python examples/reference_variable/sampled.py [PICTURE.png]
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from cosim import Diagram, Result, simulate
from plant import Plant, PlantWarning

MODEL = Path(__file__).with_name("sampled.xml")
MASS, START = 2.0, 0.5  # kg, m
PERIOD, STIFFNESS, DAMPING = 0.1, 20.0, 12.0  # s, N/m, N s/m
UNTIL = 4.0  # s
PER_SAMPLE = 5  # logged rows per period
ROW = PERIOD / PER_SAMPLE  # s


def known() -> np.ndarray:
    """Places and velocities at the samples, (n, 2): between them the force is constant."""
    x, v, before = START, 0.0, START
    found = []
    for _ in range(round(UNTIL / PERIOD) + 1):
        found.append((x, v))
        a = (-STIFFNESS * x - DAMPING * (x - before) / PERIOD) / MASS
        x, v, before = x + v * PERIOD + a * PERIOD**2 / 2, v + a * PERIOD, x
    return np.array(found)


def main(picture: str | None = None) -> Result:
    """Let the mass go at 0.5 m; compare with the sampled motion step by step."""
    d = Diagram("sampled control")
    with warnings.catch_warnings():  # the subroutine branches and remembers: it is called at run time
        warnings.simplefilter("ignore", PlantWarning)
        d.add("plant", Plant.read(MODEL, trust=True))  # the deck runs sampled_control.py
        r = simulate(d, until=UNTIL, log_every=ROW)

    expected = known()
    x = r.at(2.0, "plant.mass")[0]
    print(f"x at 2 s: {x:.12f} m, known answer {expected[20, 0]:.12f} m")
    off = np.abs(r["plant.mass"][::PER_SAMPLE] - expected).max()
    print(f"largest deviation from the sampled motion: {off:.1e}")
    if picture is not None:
        r.plot("plant.mass[0]", "plant.mass[1]", "plant.force", path=picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
