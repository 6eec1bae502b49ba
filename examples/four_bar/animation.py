"""The first seconds of the four-bar linkage as an animated picture.

python examples/four_bar/animation.py [PICTURE.gif]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter
from matplotlib.artist import Artist
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Plant, PlantWarning

MODEL = Path(__file__).with_name("four_bar.xml")
LENGTHS = np.array([10.0, 26.0, 18.0])  # m, of the three bars
FRAMES = 40  # pictures per s of motion
FINER = 5  # instants per picture, for a smooth trace
SLOWER = 2  # times than real


def pins(r: Result) -> np.ndarray:
    """Places of joints 1 to 4 at every instant, (n, 4, 2) m: half a bar from each centre."""
    found = []
    for k, length in enumerate(LENGTHS, start=1):
        x, y, phi = r[f"plant.bar_{k}"][:, :3].T
        half = length / 2 * np.array([np.cos(phi), np.sin(phi)])
        found += [(np.array([x, y]) - half).T] if k == 1 else []
        found.append((np.array([x, y]) + half).T)
    return np.stack(found, axis=1)


def draw(r: Result, picture: str) -> None:
    """Write the animation: the bars, and where joint 3 has been."""
    places = pins(r)
    figure = Figure(figsize=(5.6, 3.6), dpi=80, layout="constrained")
    axes = figure.subplots()
    axes.set(xlim=(-12, 34), ylim=(-3, 23), aspect="equal", xlabel="x [m]", ylabel="y [m]")
    axes.grid(True, color="#EEEEEE")
    axes.plot(*places[0, [0, 3]].T, "k^", markersize=10)  # the ground
    (trace,) = axes.plot([], [], color="#D55E00", linewidth=1)
    bars = [axes.plot([], [], "o-", linewidth=4, color=c)[0] for c in ("#0072B2", "#009E73", "#CC79A7")]
    clock = axes.set_title("t = 0.00 s")

    def frame(n: int) -> list[Artist]:
        for k, bar in enumerate(bars):
            bar.set_data(*places[n, k : k + 2].T)
        trace.set_data(*places[: n + 1, 2].T)
        clock.set_text(f"t = {r.time[n]:.2f} s")
        return [*bars, trace, clock]

    film = FuncAnimation(figure, frame, frames=range(0, len(r.time), FINER), blit=False)
    film.save(picture, writer=PillowWriter(fps=FRAMES // SLOWER))


def main(picture: str | None = None, *, until: float = 2.0) -> Result:
    """Run, check that the bars stay closed, and draw."""
    d = Diagram("four-bar")
    with warnings.catch_warnings():  # three revolute joints too many out of the plane: found and harmless
        warnings.simplefilter("ignore", PlantWarning)
        d.add("plant", Plant.read(MODEL))
    r = simulate(d, until=until, log_every=1 / (FRAMES * FINER))
    last = pins(r)[-1, 3]
    print(f"joint 4 in the last frame: {np.round(last, 12) + 0.0} m, known answer [20. 0.] m")
    if picture is not None:
        draw(r, picture)
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
