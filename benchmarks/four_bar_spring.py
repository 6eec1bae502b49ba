"""A four-bar linkage with a rotational spring-damper, let go at 70 degrees: 15 s to 1e-6 rad.

    python -m benchmarks.four_bar_spring [--smoke]

A row has the loosest tolerance, or the largest step, whose three angles stay within 1e-6 rad of the reference
at 21 instants: a scalar equation for the closed loop, by DOP853 at 1e-13. Then the same with a damper a
thousand times as strong, where an explicit method has to creep; there dopri5 at 1e-12 is the reference. Times
are those inside the engine.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.support.table import Row, heading, in_turn, installed, show, smoke
from cosim import Diagram, simulate
from cosim.system import System
from plant import Plant
from plant.reporting import PlantWarning

DATA = Path(__file__).parents[1] / "tests" / "data"
REFERENCE = json.loads((DATA / "reference" / "fourbar.json").read_text())
ROWS = np.array(REFERENCE["reference"]["rows"])
WANTED = 1e-6  # rad
TOLERANCES = tuple(float(f"{a}e-{k}") for k in range(2, 11) for a in (5, 2, 1))
STEPS = (1e-2, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4, 1e-4, 5e-5, 2e-5)  # s
DAMPING = "plant.rotational_spring_damper.damping"

Run = Callable[[float], tuple[float, np.ndarray]]  # of a tolerance or step: seconds, angles (instants, 3)


@dataclass(frozen=True)
class Problem:
    """The linkage with a damper [N m s/rad], and its angles (instants, 3) [rad] at some times [s]."""

    name: str
    damping: float
    times: np.ndarray
    angles: np.ndarray


def linkage(coordinates: str) -> System:
    d = Diagram("four-bar")
    d.add("plant", Plant.read(DATA / "models" / "four_bar.xml", coordinates=coordinates))
    d.ground("plant.crank_torque")
    return d.system()


def ours(system: System, solver: str, problem: Problem) -> Run:
    def run(rtol: float) -> tuple[float, np.ndarray]:
        r = simulate(
            system, problem.times[-1], engine="native", solver=solver, rtol=rtol, atol=rtol / 100,
            log_at=problem.times.tolist(), signals=["plant.angles_and_rates"],
            parameters={DAMPING: problem.damping},
        )  # fmt: skip
        return r.statistics["wall time [s]"], r["plant.angles_and_rates"][:, :3]

    return run


def exudyn(problem: Problem) -> Run:
    """Generalised-alpha with a spectral radius of 0.9 on three planar bodies, timed when nobody looks."""

    def run(step: float) -> tuple[float, np.ndarray]:
        _, angles = _exudyn(problem, step, look=True)
        return _exudyn(problem, step, look=False)[0], angles

    return run


def _exudyn(problem: Problem, step: float, look: bool) -> tuple[float, np.ndarray]:
    import exudyn as package
    from exudyn import itemInterface as item

    p, start = REFERENCE["parameters"], np.reshape(REFERENCE["initial_state"]["q0"], (3, 3))
    system = package.SystemContainer().AddSystem()
    ground = system.AddObject(item.ObjectGround())

    def marker(body: Any, place: list[float]) -> Any:
        return system.AddMarker(item.MarkerBodyPosition(bodyNumber=body, localPosition=place))

    ends, nodes = [marker(ground, [0, 0, 0])], []
    for k, place in enumerate(start):
        half = p[f"L{k + 1}"] / 2
        node = system.AddNode(item.NodeRigidBody2D(referenceCoordinates=list(place)))
        body = system.AddObject(
            item.ObjectRigidBody2D(mass=p[f"m{k + 1}"], inertia=p["J_assumed"][k], nodeNumber=node)
        )
        mass = system.AddMarker(item.MarkerBodyMass(bodyNumber=body))
        system.AddLoad(item.LoadMassProportional(markerNumber=mass, loadVector=[0, -p["g"], 0]))
        ends += [marker(body, [-half, 0, 0]), marker(body, [half, 0, 0])]
        nodes.append(node)
    ends.append(marker(ground, [p["ground_span"], 0, 0]))
    for pair in zip(ends[::2], ends[1::2], strict=True):
        system.AddObject(item.ObjectJointRevolute2D(markerNumbers=list(pair)))
    fixed = system.AddNode(item.NodePointGround())
    turned = [
        system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=n, coordinate=c))
        for n, c in ((fixed, 0), (nodes[2], 2))
    ]
    offset = p["free_angle_phi3"] - start[2, 2]  # it acts on the displacement from the reference angle
    system.AddObject(
        item.CoordinateSpringDamper(
            markerNumbers=turned, stiffness=p["k"], damping=problem.damping, offset=offset
        )
    )
    system.Assemble()
    s = package.SimulationSettings()
    until = problem.times[-1]
    s.timeIntegration.numberOfSteps, s.timeIntegration.endTime = round(until / step), until
    s.timeIntegration.verboseMode, s.solution.file.write = 0, False
    s.timeIntegration.generalizedAlpha.spectralRadius = 0.9
    wanted, found, done = {round(t / step) for t in problem.times}, [], 0

    def watch(_system: Any, _t: float) -> bool:  # called before every step
        nonlocal done
        if done in wanted:
            found.append(system.systemData.GetODE2Coordinates()[[2, 5, 8]] + start[:, 2])
        done += 1
        return True

    if look:
        system.SetPreStepUserFunction(watch)
    began = time.perf_counter()
    try:
        system.SolveDynamic(s, solverType=package.DynamicSolverType.GeneralizedAlpha)
    except (SystemError, ValueError, RuntimeError):  # Newton failed
        return np.inf, np.full((len(problem.times), 3), np.inf)
    seconds = time.perf_counter() - began
    found.append(system.systemData.GetODE2Coordinates()[[2, 5, 8]] + start[:, 2])
    return seconds, np.array(found)


def measure(problem: Problem, systems: dict[str, System], short: bool) -> list[Row]:
    """Lines of the table for one damper."""
    runs: dict[str, Run] = {
        f"native {solver}, {coordinates} coordinates": ours(system, solver, problem)
        for coordinates, system in systems.items()
        for solver in ("dopri5", "rodas4")
    }
    lists = dict.fromkeys(runs, TOLERANCES)
    if installed("exudyn"):
        runs["Exudyn, generalised-alpha"], lists["Exudyn, generalised-alpha"] = exudyn(problem), STEPS

    def error(angles: np.ndarray) -> float:
        return float(np.abs(angles - problem.angles).max())

    met: dict[str, tuple[float, float]] = {}
    for name, run in runs.items():
        for setting in lists[name]:
            found = error(run(setting)[1])
            if found <= WANTED:
                met[name] = setting, found
                break
    calls = {name: (lambda name=name, v=v: runs[name](v)[0]) for name, (v, _) in met.items()}
    best = in_turn(calls, 1 if short else 20, 5.0, clock=lambda call: call())
    rows = []
    for name in runs:
        cells = (f"{1e3 * best[name]:.3g}", f"{met[name][0]:g}") if name in met else ("not met", "-")
        rows.append(Row(f"{problem.name}: {name}", cells, met[name][1] if name in met else None))
    return rows


def main(short: bool = False) -> None:
    """Print the table."""
    heading("four-bar linkage with a spring-damper, 15 s to 1e-6 rad", "exudyn")
    warnings.simplefilter("ignore", PlantWarning)  # four pins of a flat loop repeat conditions, see the deck
    systems = {c: linkage(c) for c in (("joint",) if short else ("joint", "absolute"))}
    kept = ROWS[ROWS[:, 0] <= (0.1 if short else 15.0)]
    damping = REFERENCE["parameters"]["c"]
    problems = [Problem("as it is", damping, kept[:, 0], kept[:, 1:4])]
    if not short:
        strong = Problem("strong damper", 1000 * damping, kept[:, 0], kept[:, 1:4])
        _, angles = ours(systems["joint"], "dopri5", strong)(1e-12)
        problems.append(Problem("strong damper", 1000 * damping, kept[:, 0], angles))
    rows = [row for problem in problems for row in measure(problem, systems, short)]
    show(("", "ms", "rtol or s", "error [rad]"), rows)


if __name__ == "__main__":
    main(smoke())
