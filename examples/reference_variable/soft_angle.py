"""A soft constraint on an angle, said in two ways: as a variable and as a force.

Both apply -1000 (theta - 60 deg) - 10 theta' as a torque. VARVAL of such a variable is the violation.

Source: reference page of Reference_Variable, example 6.

    python examples/reference_variable/soft_angle.py [PICTURE.png]
"""

import sys
from pathlib import Path

import numpy as np

from cosim import Diagram, Result, simulate
from plant import Plant

MODEL = Path(__file__).with_name("soft_angle.xml")
INERTIA, PENALTY, PENALTY1 = 0.5, 1000.0, 10.0  # kg m^2, N m/rad, N m s/rad
START, WANTED = 0.5, np.pi / 3  # rad


def closed_form(t: np.ndarray) -> np.ndarray:
    """Angle [rad] of the damped oscillator."""
    wn = np.sqrt(PENALTY / INERTIA)
    decay = PENALTY1 / (2 * INERTIA)
    wd = np.sqrt(wn**2 - decay**2)
    swing = np.cos(wd * t) + decay / wd * np.sin(wd * t)
    return WANTED + (START - WANTED) * np.exp(-decay * t) * swing


def main(picture: str | None = None) -> Result:
    """Let both rotors go at 0.5 rad, compare them with the closed form."""
    d = Diagram("soft angle")
    d.add("plant", Plant.read(MODEL))
    start = {"plant.first.q": -START, "plant.second.q": -START}  # a turn about -X leans z to +Y
    r = simulate(d, until=0.6, log_every=0.002, initial=start, rtol=1e-10, atol=1e-12)

    variable, force = r.at(0.1, "plant.angles")
    print(f"angle at 0.1 s: {variable:.9f} rad by the variable, {force:.9f} rad by the force, ", end="")
    print(f"known answer {closed_form(np.array(0.1)):.9f} rad")
    off = np.abs(r["plant.angles"] - closed_form(r.time)[:, None]).max()
    print(f"largest deviation from the closed form: {off:.1e} rad")
    if picture is not None:
        r.plot("plant.angles[0]", "plant.angles[1]", "plant.violation", path=picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
