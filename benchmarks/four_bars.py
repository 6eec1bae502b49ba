"""N four-bar loops side by side (IFToMM benchmark A02), 10 s through singular poses.

    python -m benchmarks.four_bars [--smoke] [1 10 40 100 400]

N + 1 upright cranks of 1 m and 1 kg, N couplers, the tip of the first crank starts with 1 m/s along x and
turns clockwise. A row has the largest step of a list that keeps the energy within 0.1 J, looked at 20 times a
second, as the benchmark asks; since that asks little, a second one of ours has the largest step whose error
is no larger than that of any other library. The error is that of the first tip's place after 10 s against
the one differential equation of the parallelogram motion, by DOP853 at 1e-12. Ours is rk4 with projection
after every step; its time is that of the whole `simulate()` with its result, as it is the whole loop of the
others, and beside it that inside the engine. Beyond 100 loops ours runs alone, 50 ms whatever the drift, to
see how the cost grows.
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.support.compiled import derivative
from benchmarks.support.peers_four_bars import PEERS, Outcome
from benchmarks.support.table import (
    Row,
    built,
    heading,
    in_turn,
    installed,
    numbers,
    private_cache,
    show,
    smoke,
)
from cosim import Diagram, Simulation, simulate
from plant import Plant
from plant.reporting import PlantWarning

G, LIMIT, UNTIL = 9.81, 0.1, 10.0
LOOK = 0.05  # s between two looks at the energy
COMPARED = 100  # loops
WRONG = 0.01  # m
STEPS = (0.05, 0.02, 0.01, 5e-3, 2e-3, 1e-3, 5e-4, 2e-4)  # s, tried in turn
UP = 'a00="0" a10="1" a20="0" a01="-1" a11="0" a21="0" a02="0" a12="0" a22="1"'


def deck(n: int) -> bytes:
    """XML deck; output `tops` has x, y, vx, vy of the tops of all cranks."""
    lines = [
        '<MotionSolve><Model><Force_Gravity grav_y="-9.81"/>',
        '<Body_Rigid id="1" label="Ground" isground="TRUE"/>',
    ]
    joints = 0

    def rod(body: int, label: str, x: float, y: float, turned: str, more: str = "") -> None:
        lines.append(
            f'<Body_Rigid id="{body}" label="{label}" cg_id="{10 * body}" mass="1" inertia_xx="0.001" '
            f'inertia_yy="0.08333333333333333" inertia_zz="0.08333333333333333" {more}/>'
            f'<Reference_Marker id="{10 * body}" body_id="{body}" pos_x="{x}" pos_y="{y}" {turned}/>'
        )

    def pin(first: int, second: int, x: float, y: float) -> None:
        nonlocal joints
        joints += 1
        i, j = 100_000 + 2 * joints, 100_001 + 2 * joints
        lines.append(
            f'<Reference_Marker id="{i}" body_id="{first}" pos_x="{x}" pos_y="{y}"/>'
            f'<Reference_Marker id="{j}" body_id="{second}" pos_x="{x}" pos_y="{y}"/>'
            f'<Constraint_Joint id="{joints}" type="REVOLUTE" i_marker_id="{i}" j_marker_id="{j}"/>'
        )

    for k in range(n + 1):
        rod(2 + k, f"crank {k}", k, 0.5, UP, 'v_ic_x="0.5"' if k == 0 else "")
        lines.append(f'<Reference_Marker id="{10 * (2 + k) + 1}" body_id="{2 + k}" pos_x="{k}" pos_y="1"/>')
        pin(2 + k, 1, k, 0.0)
    for k in range(n):
        rod(n + 3 + k, f"coupler {k}", k + 0.5, 1.0, "")
        pin(n + 3 + k, 2 + k, k, 1.0)
        pin(n + 3 + k, 3 + k, k + 1, 1.0)
    variables = 0
    for k in range(n + 1):
        for function in ("DX", "DY", "VX", "VY"):
            variables += 1
            text = f"{function}({10 * (2 + k) + 1})"
            lines.append(f'<Reference_Variable id="{variables}" type="EXPRESSION" expr="{text}"/>')
    listed = " ".join(map(str, range(1, variables + 1)))
    lines.append(f'<Control_PlantOutput id="1" label="tops" variable_id_list="{listed}"/>')
    return "\n".join([*lines, "</Model></MotionSolve>"]).encode()


def energy(tops: np.ndarray) -> np.ndarray:
    """Mechanical energy (rows,) [J]: rods between points whose places and velocities are known."""
    points = tops.reshape(len(tops), -1, 4)
    y, v = points[:, :, 1], points[:, :, 2:]
    cranks = (v**2).sum(axis=(1, 2)) / 6 + G * y.sum(axis=1) / 2
    a, b = v[:, :-1], v[:, 1:]
    couplers = (a**2 + a * b + b**2).sum(axis=(1, 2)) / 6 + G * (y[:, :-1] + y[:, 1:]).sum(axis=1) / 2
    return cranks + couplers


def exact(n: int, until: float) -> np.ndarray:
    """Place of the first tip (2,) [m]."""
    inertia, weight = 2 * ((n + 1) / 6 + n / 2), G * ((n + 1) / 2 + n)
    f = lambda t, y: [y[1], weight / inertia * np.sin(y[0])]
    angle = solve_ivp(f, (0, until), [0.0, 1.0], "DOP853", rtol=1e-12, atol=1e-12).y[0, -1]
    return np.array([np.sin(angle), np.cos(angle)])


@dataclass
class Ours:
    """The mechanism compiled, in joint or absolute coordinates.

    equations, compiling : time from the text of the deck to the flat system, and from there to machine code
    with nothing from a cache, as text
    """

    n: int
    coordinates: str

    def __post_init__(self) -> None:
        self.d = Diagram("four bars")

        def flat() -> None:
            self.d.add("plant", Plant.read(deck(self.n), coordinates=self.coordinates))
            self.d.system()

        self.equations = built(flat)
        with tempfile.TemporaryDirectory() as folder, private_cache(folder):
            self.compiling = built(lambda: self._simulation(0.05))

    def _simulation(self, step: float) -> Simulation:
        return Simulation(self.d, engine="native", solver="rk4", step=step)

    def run(self, step: float, until: float) -> Outcome:
        """rk4 with a step, projection and log included."""
        began = time.perf_counter()
        r = simulate(self.d, until, engine="native", solver="rk4", step=step, log_every=LOOK)
        whole = time.perf_counter() - began
        found = energy(r["plant.tops"])
        drift = float(np.abs(found - found[0]).max())
        return Outcome(whole, drift, r["plant.tops"][-1, :2], r.statistics["wall time [s]"])

    def facts(self, short: bool) -> tuple[str, ...]:
        """The last columns of the table."""
        return f"{self.evaluation(short):.3g}", self.equations, self.compiling

    def evaluation(self, short: bool) -> float:
        """One evaluation of the derivative [us], in a pose that is nothing special."""
        simulation = self._simulation(0.05)
        simulation.advance(0.3)
        f, times = derivative(simulation), 10 if short else max(10, 20_000 // self.n)
        best = in_turn({"f": lambda: f.in_c(times)}, 2 if short else 50)["f"]
        if not np.isfinite(f.out).all():
            raise ArithmeticError(f"derivative of {self.n} four-bar loops: not finite")
        return 1e6 * best / times


Run = Callable[[float], Outcome]  # of a step [s]


def largest_step(run: Run, error: Callable[[Outcome], float], most: float = math.inf) -> float | None:
    """The largest step [s] that keeps the energy, with an error [m] of no more than `most`."""
    for step in STEPS:
        found = run(step)
        if found.drift < LIMIT and error(found) <= most:
            return step
        if found.seconds > 30:
            break
    return None


def measure(n: int, short: bool) -> list[Row]:
    """Lines of the table for n loops."""
    until = 0.5 if short else UNTIL
    place = exact(n, until)

    def error(o: Outcome) -> float:
        return float(np.hypot(*(o.tip - place)))

    ours = {f"native rk4, {c} coordinates": Ours(n, c) for c in coordinates(n)}
    runs: dict[str, Run] = {name: lambda h, o=o: o.run(h, until) for name, o in ours.items()}
    steps: dict[str, float | None]
    if n > COMPARED:
        steps = dict.fromkeys(runs, STEPS[0])
    else:
        for name, (package, run) in PEERS.items():
            if installed(package) and (package != "exudyn" or n <= 40):  # half a minute at 100
                runs[name] = lambda h, run=run: run(n, h, until)
        steps = {name: largest_step(run, error) for name, run in runs.items()}
        others = [error(runs[name](h)) for name, h in steps.items() if h is not None and name not in ours]
        for name in list(ours) if others else []:
            again = f"{name}, no less accurate"
            finer = largest_step(runs[name], error, min(others))
            if finer != steps[name]:
                runs[again], steps[again], ours[again] = runs[name], finer, ours[name]
    outcomes: dict[str, list[Outcome]] = {name: [] for name in runs}

    def timed(name: str, step: float) -> float:
        outcomes[name].append(runs[name](step))
        return outcomes[name][-1].seconds

    met = {name: lambda name=name, h=h: timed(name, h) for name, h in steps.items() if h is not None}
    best = in_turn(met, 1 if short else 20, 6.0, clock=lambda call: call())
    rows = []
    for name in runs:
        h, facts = steps[name], ours[name].facts(short) if name in ours else ("-", "-", "-")
        if h is None:
            rows.append(Row(f"N = {n}: {name}", ("not met", "-", "-", "-", *facts)))
            continue
        found = outcomes[name][0]
        spent = [o.inside for o in outcomes[name] if o.inside is not None]
        inside = f"{min(spent):.3g}" if spent else "-"
        cells = (f"{best[name]:.3g}", inside, f"{1e3 * h:g}", f"{found.drift:.1e}", *facts)
        rows.append(Row(f"N = {n}: {name}", cells, error(found)))
    return rows


def coordinates(n: int) -> tuple[str, ...]:
    """Both choices, as long as that is compiled within a minute or so."""
    return ("joint", "absolute") if n <= COMPARED else ("joint",)


def main(sizes: list[int], short: bool = False) -> None:
    """Print a table for every size."""
    heading("N four-bar loops, energy within 0.1 J over 10 s", *(package for package, _ in PEERS.values()))
    warnings.simplefilter("ignore", PlantWarning)  # a flat mechanism of spatial joints repeats conditions
    columns = (
        "",
        "s",
        "inside [s]",
        "step [ms]",
        "drift [J]",
        "us per f",
        "flatten [s] (cpu)",
        "compile [s] (cpu)",
        "error [m]",
    )
    for n in sizes:
        show(columns, measure(n, short), WRONG)


if __name__ == "__main__":
    main(numbers([1, 10, 40, 100, 400], [1]), smoke())
