"""Andrews' squeezing mechanism: seven bodies, ten pins and four loops, driven by a motor of 0.033 N m.

Seven angles with their first and second rates and six pin forces after 0.03 s, beside the published ones.

Source: Test Set for IVP Solvers, problem andrews (reference run PSIDE with tolerances 1e-14).

    python examples/andrews_squeezer/andrews_squeezer.py [PICTURE.png]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant, PlantWarning

MODEL = Path(__file__).with_name("andrews_squeezer.xml")
ANGLES = ("beta", "Theta", "gamma", "Phi", "delta", "Omega", "epsilon")
UNITS = ("rad", "rad/s", "rad/s^2", "N")
PUBLISHED = (  # angles, rates, accelerations, multipliers
    (15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
     0.5244099658805303, 0.5347301163226948, 1.048080741042263),
    (1139.920302151208, -1424.379294994111, 11.03291221937134, 19.29337464421385,
     0.5735699284790808, -19.29337464421385, 0.3231791658026955),
    (-24631.76316945196, 51850.37701610329, 324102.5686413781, 566749.3645176213,
     16743.62929479361, -566749.3645176222, 9826.520791458423),
    (199.175333373191, -29.75531228015052, 23.06654119098399, 31.45271365475927,
     22.64249232082739, 11.61740700019673),
)  # fmt: skip


def angles(r: Result, kind: int) -> np.ndarray:
    """The seven angles at every instant (n, 7) from those of the bodies; kind 0, 1, 2: value and rates."""
    k1, k2, k3, k4, k5, k6, k7 = r["plant.bodies"].reshape(-1, 7, 5)[:, :, 2 + kind].T
    return np.stack([k1, k2 - k1, k3, k4 - k5, k5, k6 - k7, k7], axis=1)


def draw(r: Result, picture: str) -> None:
    """The fast angles above, the slow ones below, as the test set shows them."""
    figure = Figure(figsize=(8.0, 6.0), dpi=120, layout="constrained")
    fast, slow = figure.subplots(2, 1, sharex=True)
    for k, (name, signal) in enumerate(zip(ANGLES, angles(r, 0).T, strict=True)):
        (fast if k < 2 else slow).plot(1e3 * r.time, signal, label=name)
    slow.set(xlabel="time [ms]", xlim=(0.0, 1e3 * r.time[-1]))
    for axes in (fast, slow):
        axes.set_ylabel("angle [rad]")
        axes.grid(True, color="#DDDDDD")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    figure.savefig(picture)


def main(picture: str | None = None) -> Result:
    """Run 0.03 s and compare 27 numbers with the published ones."""
    d = Diagram("Andrews' squeezer")
    with warnings.catch_warnings():  # pins of a planar mechanism say too much out of the plane: harmless
        warnings.simplefilter("ignore", PlantWarning)
        d.add("plant", Plant.read(MODEL))
    r = simulate(d, until=0.03, log_every=1e-4, rtol=1e-11, atol=1e-11)

    found = [*(angles(r, kind)[-1] for kind in range(3)), -r["plant.pins"][-1, 4:10]]
    for numbers, known, unit in zip(found, PUBLISHED, UNITS, strict=True):
        off = np.abs(numbers / np.array(known) - 1).max()
        print(
            f"{numbers[0]:.8f} {unit}, known answer {known[0]:.8f} {unit}; worst of {len(known)}: {off:.0e}"
        )
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
