"""Pictures of a run of an observed plant: curves of everything that moves, the mechanism drawn and animated.

    plant = Plant.read("four_bar.xml").observed()
    d.add("plant", plant)
    r = simulate(d, until=15.0)
    curves(r, plant, "pictures")                   # one picture per body, joint, force, and the residuals
    draw(r, plant, "at_rest.png", at=15.0)
    animate(r, plant, "motion.gif")                # or .mp4, where ffmpeg is

Figures are made with `matplotlib.figure.Figure`, without pyplot: nothing global changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.arguments import file_path, number
from blocks.errors import ModelError
from blocks.figure_file import save_figure
from plant.equations.observed import JOINT, RESIDUAL, observed
from plant.figures import Motion, check_run, motion_of
from plant.film import Film, writer_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#333333")
NOTHING = 1e-9  # share of the largest component of a row below which a component is not drawn
MOST_FRAMES = 20_000  # of an animation; each takes 3 to 30 ms
LEAST = 1e-17  # residuals below it are drawn as this
Row = tuple[str, np.ndarray, Sequence[str]]
"""Label of the axis, curves (k, n), their names."""


# --- curves ---------------------------------------------------------------------------------------------
def curves(result: Any, plant: Any, folder: Any = None, path: str = "plant") -> dict[str, Figure]:
    """A figure of every body, joint and force of a plant, and of the residuals of its constraints.

    Parameters
    ----------
    result : cosim.Result   of a run with the observed plant at `path`
    plant : Plant           as it is in the diagram
    folder : path           where pictures are written to, ``<name>.png``; None: nowhere

    Bodies show place, angle, velocities and accelerations of their centre of mass (angles: about the normal
    of a planar mechanism, else yaw, pitch and roll; continuous in time), joints the reaction along global
    axes and along both markers, springs what spring and damper do. Components that stay zero are left out.

    Raises
    ------
    ModelError    the plant in the run was not observed
    """
    check_run(result, plant)
    if not plant.observe:
        raise ModelError(
            f"curves of '{path}': what moves and acts in a plant is logged where it is observed.",
            path=path,
            hint="Add plant.observed() to the diagram instead of plant, and log its outputs.",
        )
    motion = motion_of(result, plant, path)
    time = np.asarray(result.time)
    shown = observed(plant.model, plant.mechanism)
    found = {name: _sheet(name, time, _of_body(motion, name)) for name in motion.bodies}
    for name in shown.joints:
        found[name] = _sheet(name, time, _of_joint(np.asarray(result[f"{path}.{name}"])))
    for name in [*shown.forces, *shown.springs]:
        if f"{path}.{name}" in result:
            parts = np.asarray(result[f"{path}.{name}"]).T
            labels = ("spring", "damper", "sum")
            rows = _pairs("on I", parts) if len(parts) == 6 else [("force or torque", parts, labels)]
            found[name] = _sheet(name, time, rows)
    residual = f"{path}.{RESIDUAL}"
    if residual in result:
        size = np.maximum(np.abs(np.asarray(result[residual])).T, LEAST)
        found[RESIDUAL] = _sheet(RESIDUAL, time, _by_joint(size, result.labels[residual]), log=True)
    if folder is not None:
        for name, figure in found.items():
            save_figure(figure, file_path(folder, "the folder of pictures", "pictures") / f"{name}.png")
    return found


def _of_body(motion: Motion, name: str) -> list[Row]:
    """Place and angles, their rates, and the rates of these."""
    body = motion.bodies[name]
    along, normal = motion.axes, motion.normal
    labels = ["xyz"[k] for k in along]
    turned: Sequence[str]
    spin: Sequence[str]
    if normal is None:
        w, al = body.w.T, body.al.T
        turned, spin = ("yaw", "pitch", "roll"), ("about x", "about y", "about z")
    else:
        w, al = (body.w @ normal)[None], (body.al @ normal)[None]
        turned, spin = ("angle",), ("about the normal",)
    return [
        ("place", body.r.T[along], labels),
        ("angle [rad]", body.angles(normal).T, turned),
        ("velocity", body.v.T[along], labels),
        ("angular velocity [rad/s]", w, spin),
        ("acceleration", body.a.T[along], labels),
        ("angular acceleration", al, spin),
    ]


def _of_joint(values: np.ndarray) -> list[Row]:
    where = ("on I, global axes", "on I, axes of I", "on J, axes of J")
    assert values.shape[1] == len(JOINT)
    return [row for k, text in enumerate(where) for row in _pairs(text, values.T[6 * k : 6 * k + 6])]


def _pairs(text: str, parts: np.ndarray) -> list[Row]:
    """Force and torque, the latter where there is any."""
    rows: list[Row] = [
        (f"force {text}", parts[:3], ("x", "y", "z")),
        (f"torque {text}", parts[3:], ("x", "y", "z")),
    ]
    largest = np.nanmax(np.abs(parts), initial=0.0)
    kept = [row for row in rows if np.nanmax(np.abs(row[1]), initial=0.0) > NOTHING * largest]
    return kept or rows[:1]


def _by_joint(sizes: np.ndarray, labels: Sequence[str]) -> list[Row]:
    """One row per element, its conditions as curves."""
    elements = list(dict.fromkeys(label.partition(": ")[0] for label in labels))
    found: list[Row] = []
    for element in elements:
        own = [k for k, label in enumerate(labels) if label.partition(": ")[0] == element]
        found.append((element, sizes[own], [labels[k].partition(": ")[2] for k in own]))
    return found


def _sheet(name: str, time: np.ndarray, rows: Sequence[Row], log: bool = False) -> Figure:
    from matplotlib.figure import Figure  # slow to import, and only pictures need it

    figure = Figure(figsize=(8.5, 0.8 + 1.7 * max(len(rows), 2)), dpi=100, layout="constrained")
    every = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (label, values, names) in zip(every, rows, strict=True):
        _curves(axes, time, values, names, all_of_them=log)
        axes.set_ylabel(label, fontsize="small")
        if log:
            axes.set_yscale("log")
    every[-1].set_xlabel("time [s]")
    figure.suptitle(name)
    return figure


def _curves(
    axes: Axes, time: np.ndarray, values: np.ndarray, names: Sequence[str], all_of_them: bool
) -> None:
    sizes = np.nanmax(np.abs(values), axis=1, initial=0.0)
    for k, (curve, name) in enumerate(zip(values, names, strict=True)):
        if all_of_them or sizes[k] > NOTHING * max(float(sizes.max()), 1e-300):
            axes.plot(time, curve, label=name, color=COLOURS[k % len(COLOURS)], linewidth=1.2)
    axes.grid(True, color="#DDDDDD")
    if axes.lines:
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False, fontsize="small")


# --- drawings -------------------------------------------------------------------------------------------
def draw(result: Any, plant: Any, file: Any = None, at: float = 0.0, path: str = "plant") -> Figure:
    """The mechanism at the logged instant nearest to `at` [s]: bodies as lines between their markers.

    file : where the picture goes, None for nowhere; other arguments and errors as in `curves`
    """
    at = number(at, "at", "a finite time [s]", error=ModelError)
    motion = motion_of(result, plant, path)
    time = np.asarray(result.time)
    k = int(np.argmin(np.abs(time - at)))
    figure, show = _stage(motion)
    show(k, f"{plant.model.name}, t = {time[k]:.4g} s")
    if file is not None:
        save_figure(figure, file)
    return figure


def animate(
    result: Any, plant: Any, file: Any, fps: float = 25.0, slower: float = 1.0, path: str = "plant"
) -> int:
    """Write a run as an animated picture; returns the number of frames.

    Parameters
    ----------
    file : path          .gif, or .mp4 where ffmpeg is installed
    fps : frames per second of the picture; slower : times longer than real

    A frame shows the logged instant nearest to it: log at least every 1 / (fps slower) seconds. Other
    arguments and errors as in `curves`.

    Raises
    ------
    ModelError    another kind of file, no ffmpeg for .mp4, numbers that are no rates
    """
    fps = number(fps, "fps", "a number above 0", above=0.0, error=ModelError)
    slower = number(slower, "slower", "a number above 0", above=0.0, error=ModelError)
    target = file_path(file, "the file of an animation", "run.gif")
    write = writer_of(target)
    motion = motion_of(result, plant, path)
    time = np.asarray(result.time)
    if (count := (time[-1] - time[0]) * fps * slower) > MOST_FRAMES:
        raise ModelError(
            f"an animation of {count:.3g} frames, expected at most {MOST_FRAMES}.",
            value=count,
            hint="Give a smaller fps or slower.",
        )
    instants = np.arange(time[0], time[-1] + 0.5 / (fps * slower), 1 / (fps * slower))
    rows = np.abs(time[:, None] - instants).argmin(axis=0)
    figure, show = _stage(motion)

    film = Film(figure, show(int(rows[0]), ""))

    def frames() -> Iterator[np.ndarray]:
        for k in rows:
            show(int(k), f"t = {time[k]:.2f} s")
            yield film.frame()

    write(target, frames(), fps)
    return len(rows)


def _stage(motion: Motion) -> tuple[Figure, Any]:
    """A figure with the mechanism in it, and the function (row, title) that puts it in its place."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.8), dpi=90, layout="constrained")
    flat = len(motion.axes) == 2
    axes: Any = figure.add_subplot(projection=None if flat else "3d")
    low, high = motion.extent()
    names = ["xyz"[k] for k in motion.axes]
    for name, a, b in zip(names, low, high, strict=True):
        getattr(axes, f"set_{'xyz'[names.index(name)]}lim")(a, b)
        getattr(axes, f"set_{'xyz'[names.index(name)]}label")(name)
    if flat:
        axes.set_aspect("equal")
        axes.grid(True, color="#EEEEEE")
    else:
        axes.set_box_aspect(high - low)
    ground = motion.ground()
    if len(ground):
        axes.plot(*ground.T, "k^", markersize=8, linestyle="none")
    lines = []
    for k, body in enumerate(motion.bodies.values()):
        start = body.line(0)[:, motion.axes]
        (line,) = axes.plot(*start.T, "o-", linewidth=3, markersize=4, color=COLOURS[k % len(COLOURS)])
        lines.append((line, body))
    title = axes.set_title("t")
    figure.draw_without_rendering()  # laid out once, not for every frame
    figure.set_layout_engine("none")

    def show(row: int, text: str) -> list[Any]:
        for line, body in lines:
            places = body.line(row)[:, motion.axes].T
            line.set_data(*places[:2])
            if not flat:
                line.set_3d_properties(places[2])
        title.set_text(text)
        return [*[line for line, _ in lines], title]

    return figure, show
