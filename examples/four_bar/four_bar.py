"""Forward dynamics of a four-bar linkage with a stiff rotational spring-damper, let go at 70 degrees.

Draws all coordinates, velocities and accelerations, the torque of the spring-damper, the reaction in joint 3
and the gaps of the joints: with projection, and in absolute coordinates with Baumgarte's stabilisation at
alpha = 10, beta = 200 and at alpha = 1, beta = 20, at the default tolerances of an explicit RK45.

Source: E. J. Haug, Computer-Aided Kinematics and Dynamics, 2nd ed., equations 6.3.18, 6.6.8 and 7.3.8.

    python examples/four_bar/four_bar.py [FOLDER]
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from cosim import Diagram, Result, simulate
from plant import Baumgarte, Plant, PlantWarning

MODEL = Path(__file__).with_name("four_bar.xml")
UNTIL = 15.0  # s
PAIRS = (Baumgarte(10.0, 200.0), Baumgarte(1.0, 20.0))  # alpha, beta [1/s]
COARSE = {"rtol": 1e-3, "atol": 1e-6}  # the defaults of SciPy's RK45, a method like dopri5
REACTION = 24932.06739  # N at t = 0: 9 coordinates and 8 multipliers by hand
ANGLES = np.array([2.0254988486936303, 0.3541277662144543, 4.712681685807306])  # rad at rest: one equation


def fall(
    stabilisation: str | Baumgarte, coordinates: str = "joint", rtol: float = 1e-10, atol: float = 1e-12
) -> Result:
    """The linkage let go at rest."""
    with warnings.catch_warnings():  # three revolute joints too many out of the plane: found and harmless
        warnings.simplefilter("ignore", PlantWarning)
        plant = Plant.read(MODEL, stabilisation=stabilisation, coordinates=coordinates)
    d = Diagram("four-bar")
    d.add("plant", plant)
    return simulate(d, until=UNTIL, log_every=0.01, solver="dopri5", rtol=rtol, atol=atol)


def sheet(path: Path, time: np.ndarray, rows: list[tuple[str, np.ndarray, str]], log: bool = False) -> None:
    """One picture: for every row the label of its axis, its curves (k, n) and their names."""
    figure = Figure(figsize=(8.0, 0.6 + 2.2 * len(rows)), dpi=110, layout="constrained")
    all_axes = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (label, curves, names) in zip(all_axes, rows, strict=True):
        styles = ("-", "-", "--")
        for curve, name, style in zip(curves, names.split(", "), styles, strict=False):
            axes.plot(time, curve, style, label=name, linewidth=1.3)
        axes.set(ylabel=label, xlim=(0.0, UNTIL), yscale="log" if log else "linear")
        axes.grid(True, color="#DDDDDD")
        axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), frameon=False)
    all_axes[-1].set_xlabel("time [s]")
    figure.savefig(path)


def draw(r: Result, fed_back: list[Result], folder: Path) -> None:
    """All pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    names = ("x [m], y [m], phi [rad]", "x [m/s], y [m/s], phi [rad/s]", "x [m/s²], y [m/s²], phi [rad/s²]")
    kinds = ("position", "velocity", "acceleration")
    for bar in ("bar_1", "bar_2", "bar_3"):
        parts = np.split(r[f"plant.{bar}"].T, 3)
        sheet(folder / f"{bar}.png", r.time, list(zip(kinds, parts, names, strict=True)))
    T = r["plant.spring_and_damper_torque"].T / 1e3
    torques = np.vstack([T, T.sum(axis=0)])
    sheet(folder / "torque.png", r.time, [("torque on bar 3 [kN m]", torques, "spring, damper, sum")])
    F3, local3, local2 = np.split(r["plant.joint_3_reaction"].T / 1e3, 3)
    F = (F3, local3, -F3, local2)  # what acts on bar 2 is the opposite
    labels = [f"on bar {k}, {axes} [kN]" for k in (3, 2) for axes in ("global", "local")]
    frames = ("x, y", "along bar, across", "x, y", "along bar, across")
    sheet(folder / "reaction.png", r.time, list(zip(labels, F, frames, strict=True)))
    gaps = np.array([np.linalg.norm(run["plant.gaps"], axis=1) for run in (r, *fed_back)])
    names = ", ".join(["projection", *[f"alpha {p.alpha:g} beta {p.beta:g}" for p in PAIRS]])
    residual = [("gaps of the joints [m]", np.maximum(gaps, 1e-16), names)]
    sheet(folder / "residual.png", r.time, residual, log=True)


def main(folder: str | None = None) -> Result:
    """Let go, compare the force in joint 3 and the angles at rest with the known ones."""
    r = fall("projection")
    force = float(np.hypot(*r["plant.joint_3_reaction"][0, :2]))
    angles = np.array([r[f"plant.bar_{k}"][-1, 2] for k in (1, 2, 3)])
    print(f"force in joint 3 at t = 0: {force:.5f} N, known answer {REACTION:.5f} N")
    print(f"angles at rest: {np.round(angles, 9)} rad, known answer {np.round(ANGLES, 9)} rad")
    if folder is not None:
        draw(r, [fall(pair, "absolute", **COARSE) for pair in PAIRS], Path(folder))
    return r


if __name__ == "__main__":
    main(*sys.argv[1:])
