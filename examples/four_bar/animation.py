"""The first seconds of the four-bar linkage as an animated picture, drawn by the plant itself.

python examples/four_bar/animation.py [PICTURE.gif]
"""

import sys
import warnings
from pathlib import Path

import numpy as np

from cosim import Diagram, Result, simulate
from plant import Plant, PlantWarning
from plant.pictures import animate

MODEL = Path(__file__).with_name("four_bar.xml")
LENGTH = 18.0  # m, of bar 3
FRAMES = 20  # per s of the picture
SLOWER = 2  # times than real


def end_of_bar_3(r: Result) -> np.ndarray:
    """Place of joint 4 at every instant, (n, 2) m: half a bar from the centre."""
    x, y, phi = r["plant.bar_3"][:, :3].T
    return np.stack([x + LENGTH / 2 * np.cos(phi), y + LENGTH / 2 * np.sin(phi)], axis=1)


def main(picture: str | None = None, *, until: float = 2.0) -> Result:
    """Run, check that the bars stay closed, and draw."""
    with warnings.catch_warnings():  # three revolute joints too many out of the plane: found and harmless
        warnings.simplefilter("ignore", PlantWarning)
        plant = Plant.read(MODEL).observed()
        d = Diagram("four-bar")
        d.add("plant", plant)
        r = simulate(d, until=until, log_every=1 / (FRAMES * SLOWER))
    last = end_of_bar_3(r)[-1]
    print(f"joint 4 in the last frame: {np.round(last, 12) + 0.0} m, known answer [20. 0.] m")
    if picture is not None:
        animate(r, plant, picture, fps=FRAMES, slower=SLOWER)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
