"""Chain of 100 rods with the stiff method: its exact Jacobian, how much code that is, and a step.

    python -m benchmarks.stiff [--smoke] [100]

The Jacobian is one directional derivative per group of columns, or symbolic for a short chain, in a loop in
C; its error, relative to its largest entry, is the difference from complex steps through equations written by
hand. Code is counted in bytes of C. A step is one of rodas4 at 1e-6 from rest over 0.2 s, factors included,
beside dopri5 at the same tolerance; nothing is stiff here, so dopri5 needs less. The error is that of the tip
against dopri5 at 1e-12.
"""

from __future__ import annotations

import tempfile
import warnings

import casadi as ca
import numpy as np

from benchmarks.chain import at_pose, deck, exact, pose
from benchmarks.support.compiled import derivative, linearised
from benchmarks.support.table import Row, built, heading, in_turn, numbers, private_cache, show, smoke
from cosim import Diagram, Simulation, simulate
from cosim.engines.codegen.model_c import generate_jacobian
from cosim.engines.methods import stiff
from cosim.system import System
from plant import Plant
from plant.reporting import PlantWarning

UNTIL = 0.2  # s


def by_hand(n: int) -> np.ndarray:
    """Jacobian (2n, 2n) of the derivative at the pose, by complex steps."""
    q, qd = pose(n)
    j = np.zeros((2 * n, 2 * n))
    j[:n, n:] = np.eye(n)
    for k in range(2 * n):
        step = np.zeros(2 * n, complex)
        step[k] = 1e-100j
        j[n:, k] = exact(q + step[:n], qd + step[n:]).imag * 1e100
    return j


def code(system: System, function: ca.Function) -> int:
    """Bytes of C of a function of the states, with all it calls."""
    return sum(len(source.text) for source in generate_jacobian(system, function))


def jacobian(d: Diagram, n: int, short: bool) -> list[Row]:
    """The derivative and its whole Jacobian."""
    system = d.system()
    with tempfile.TemporaryDirectory() as folder, private_cache(folder):
        plain = built(lambda: Simulation(d, engine="native", solver="dopri5"))
        exactly = built(lambda: Simulation(d, engine="native", solver="rodas4"))
        simulation = at_pose(d, solver="rodas4")
    f, g = derivative(simulation), linearised(simulation)
    found, known = g.matrix(), by_hand(n)
    f.from_python()
    times = 10 if short else 200
    calls = {"f": lambda: f.in_c(times), "J": lambda: g.function.in_c(g.calls)}
    best = in_turn(calls, 2 if short else 50)
    sizes = [code(system, e) for e in (system.function("derivative", list), stiff.linearised(system)[0])]
    slope = np.concatenate([pose(n)[1], exact(*pose(n))])
    errors = [np.abs(a - b).max() / np.abs(b).max() for a, b in ((f.out, slope), (found, known))]
    took = (1e3 * best["f"] / times, 1e3 * best["J"])
    ratios = ("1", f"{sizes[1] / sizes[0]:.2f}")
    compiling = (plain, exactly)
    return [
        Row(f"n = {n}: {name}", (f"{took[k]:.3g}", f"{sizes[k]}", ratios[k], compiling[k]), errors[k])
        for k, name in enumerate(("derivative", f"Jacobian, {g.calls} calls"))
    ]


def steps(d: Diagram, n: int, short: bool) -> list[Row]:
    """Steps of the stiff method and of an explicit one."""

    def run(**more: float | str) -> tuple[np.ndarray, float, int]:
        r = simulate(d, UNTIL, engine="native", log_at=[UNTIL], **more)  # type: ignore[arg-type]
        tried = r.statistics["steps"] + r.statistics["rejected steps"]
        return r["plant.tip"][-1], r.statistics["wall time [s]"], tried

    known, _, _ = run(rtol=1e-12, atol=1e-14)
    solvers = ("rodas4", "dopri5")
    calls = {s: (lambda s=s: run(rtol=1e-6, atol=1e-8, solver=s)[1]) for s in solvers}
    best = in_turn(calls, 1 if short else 5, clock=lambda call: call())
    rows = []
    for solver in solvers:
        place, _, tried = run(rtol=1e-6, atol=1e-8, solver=solver)
        cells = (f"{1e3 * best[solver]:.3g}", f"{tried}", f"{1e3 * best[solver] / tried:.3g}")
        rows.append(Row(f"n = {n}: {solver}", cells, float(np.abs(place - known).max())))
    return rows


def main(sizes: list[int], short: bool = False) -> None:
    """Print the tables."""
    heading("Jacobian and stiff steps of a chain")
    warnings.simplefilter("ignore", PlantWarning)
    evaluated, stepped = [], []
    for n in sizes:
        d = Diagram("chain")
        d.add("plant", Plant.read(deck(n)))
        evaluated += jacobian(d, n, short)
        stepped += steps(d, n, short)
    show(("", "ms", "bytes of C", "x derivative", "compile [s] (cpu)", "rel. error"), evaluated)
    show(("", "ms", "steps", "ms per step", "error [m]"), stepped)


if __name__ == "__main__":
    main(numbers([100], [5]), smoke())
