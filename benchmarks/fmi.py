"""FMUs beside FMPy: a loop of two co-simulated units step by step, and two models for model exchange.

    python -m benchmarks.fmi [--smoke]

Coupled in a diagram: a loop of two units that cost next to nothing, on the native engine, beside the same
calls made by C alone in the same order; times of the processor.

The units are small C sources of the tests, the same files for both. The loop has two first-order lags, each
driven by the other; its time is that of one communication step (two steps, sets and gets) from Python,
what the units themselves need included; its error that against the exact map. The ball and the Van der
Pol oscillator run over 2 s and 20 s, with our solver and with FMPy's CVode, against closed form and a run at
1e-13: whole calls, ten in turns, `simulate` and `simulate_fmu`, each with an instance of its own and a result
of one signal at 21 instants. What is read, unpacked and flattened once is there before.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from benchmarks.support.cheap_fmu import cheap_fmu, cost_from_c
from benchmarks.support.table import Row, heading, show, smoke
from cosim import FMU, Diagram, Simulation, simulate
from tests.helpers.fmus import build_fmu

H = 0.01  # s
E, G = 0.7, 9.81  # of the ball


def exact_loop(n: int) -> np.ndarray:
    """Both outputs after n steps of the Jacobi map."""
    q, x = math.exp(-H), np.array([1.0, 0.0])
    for _ in range(n):
        x = q * x + (1 - q) * x[::-1]
    return x


def loop_of_ours(path: Path, n: int, output: str = "y") -> tuple[float, float]:
    """Time of the processor per step [s], and error."""
    with FMU(path, start={"x": 1.0}).open() as a, FMU(path).open() as b:
        a.initialize()
        b.initialize()
        ya, yb = 1.0, 0.0
        began = time.thread_time()
        for _ in range(n):
            a.set("u", yb)
            b.set("u", ya)
            a.step(H)
            b.step(H)
            ya, yb = a.get(output), b.get(output)
        spent = (time.thread_time() - began) / n
    return spent, float(np.abs([ya, yb] - exact_loop(n)).max())


def coupled(n: int, **keywords: Any) -> tuple[float, float]:
    """Time per step [s] of a coupled loop of cheap units, and its error where it is Jacobi's."""
    d, path = Diagram("loop"), cheap_fmu()
    d.add("a", FMU(path, sample="1/100", start={"x": 1.0}))
    d.add("b", FMU(path, sample="1/100"))
    d.connect("a.x", "b.u")
    d.connect("b.x", "a.u")
    with Simulation(d, engine="native", **keywords) as sim:
        sim.log([])
        sim.advance(H)
        began = time.thread_time()
        sim.advance(H * n)
        spent = (time.thread_time() - began) / (n - 1)
        found = np.array([sim.value("a.x")[0], sim.value("b.x")[0]])
    return spent, float(np.abs(found - exact_loop(n)).max())


def loop_of_fmpy(path: Path, n: int) -> tuple[float, float]:
    """The same with FMPy's classes."""
    import shutil

    import fmpy
    from fmpy.fmi2 import FMU2Slave

    folder = fmpy.extract(str(path))
    d = fmpy.read_model_description(str(path))
    refs = {v.name: [v.valueReference] for v in d.modelVariables}
    units = []
    for name, x in (("a", 1.0), ("b", 0.0)):
        unit = FMU2Slave(
            guid=d.guid,
            unzipDirectory=folder,
            modelIdentifier=d.coSimulation.modelIdentifier,
            instanceName=name,
        )
        unit.instantiate()
        unit.setReal(refs["x"], [x])
        unit.setupExperiment()
        unit.enterInitializationMode()
        unit.exitInitializationMode()
        units.append(unit)
    a, b = units
    u, y = refs["u"], refs["y"]
    ya, yb = 1.0, 0.0
    began = time.thread_time()
    for k in range(n):
        a.setReal(u, [yb])
        b.setReal(u, [ya])
        a.doStep(k * H, H)
        b.doStep(k * H, H)
        ya, yb = a.getReal(y)[0], b.getReal(y)[0]
    spent = (time.thread_time() - began) / n
    for unit in units:
        unit.terminate()
        unit.freeInstance()
    shutil.rmtree(folder, ignore_errors=True)
    return spent, float(np.abs([ya, yb] - exact_loop(n)).max())


def ball_at(t: float) -> float:
    """Height of the ball that falls from 1 m, at t [s]."""
    begin, v = -math.sqrt(2 / G), math.sqrt(2 * G)  # as if it had been thrown up before the start
    while t > begin + 2 * v / G:
        begin += 2 * v / G
        v *= E
    return v * (t - begin) - G / 2 * (t - begin) ** 2


def van_der_pol_at(t: float) -> float:
    """Its first state from (2, 0) with mu = 1."""
    f = lambda _, x: [x[1], (1 - x[0] ** 2) * x[1] - x[0]]
    return float(solve_ivp(f, (0, t), [2.0, 0.0], method="DOP853", rtol=1e-13, atol=1e-14).y[0, -1])


def ours(path: Path, name: str, until: float, rtol: float) -> Callable[[], tuple[float, float]]:
    """A whole run on the native engine; time of the processor [s] and the final value."""
    d, signal = Diagram("one"), f"unit.{name}"
    d.add("unit", FMU(path, kind="me"))

    def run() -> tuple[float, float]:
        began = time.thread_time()
        r = simulate(
            d, until, engine="native", rtol=rtol, atol=rtol / 100, signals=[signal], log_every=until / 20
        )
        return time.thread_time() - began, float(r[signal][-1, 0])

    return run


def fmpys(path: Path, name: str, until: float, rtol: float) -> Callable[[], tuple[float, float]]:
    """The same with FMPy's CVode; files are unpacked and read before."""
    import fmpy

    folder = fmpy.extract(str(path))
    d = fmpy.read_model_description(folder)

    def run() -> tuple[float, float]:
        began = time.thread_time()
        r = fmpy.simulate_fmu(
            folder, model_description=d, fmi_type="ModelExchange", stop_time=until, relative_tolerance=rtol,
            output=[name], output_interval=until / 20, record_events=False,
        )  # fmt: skip
        return time.thread_time() - began, float(r[name][-1])

    return run


ORDERS = ("jacobi", "gauss-seidel")
WAYS: dict[str, dict[str, Any]] = {
    "nothing given": {},
    "no samples kept": {"signals": []},
    **{order: {"coupling": order} for order in ORDERS},
}


def show_cheap_units(n: int, rounds: int) -> None:
    """Coupled cheap units beside the same calls by C, and in ratio to them; the best rounds."""
    steps = 10 * n
    calls: dict[str, list[float]] = {order: [] for order in ORDERS}
    runs: dict[str, list[tuple[float, float]]] = {way: [] for way in ("Python, opened", *WAYS)}
    for _ in range(rounds):
        for order, spent in calls.items():
            spent.append(cost_from_c(order))
        runs["Python, opened"].append(loop_of_ours(cheap_fmu(), n, "x"))
        for way, keywords in WAYS.items():
            runs[way].append(coupled(steps, **keywords))
    rows = [Row(f"calls from C, {order}", figures(min(spent), 0.0), None) for order, spent in calls.items()]
    for way, found in runs.items():
        bare = min(calls["gauss-seidel" if way == "gauss-seidel" else "jacobi"])
        error = found[0][1] if way != "gauss-seidel" else None  # it has another map
        rows.append(Row(way, figures(min(spent for spent, _ in found), bare), error))
    show(("two cheap units in a diagram", "us/step", "above", "above/C", "error"), rows, 1e-9)


def figures(spent: float, calls: float) -> tuple[str, str, str]:
    """Of a step: its time, what is above the calls alone [us], and that in multiples of these."""
    above = spent - calls if calls else 0.0
    return f"{1e6 * spent:.3f}", f"{1e6 * above:.3f}", f"{above / calls:.1f}" if calls else "0"


def main() -> None:
    """Print the tables."""
    heading("FMUs", "fmpy", "pyfmi", "OMSimulator")
    n, rounds = (100, 1) if smoke() else (20000, 8)
    lag = build_fmu("lag")
    loops = {"plantloop": loop_of_ours, "FMPy": loop_of_fmpy}
    found = {name: [loop(lag, n) for _ in range(rounds)] for name, loop in loops.items()}
    rows = [
        Row(name, (f"{1e6 * min(spent for spent, _ in runs):.2f}",), runs[0][1])
        for name, runs in found.items()
    ]
    show(("two units for co-simulation", "us/step", "error"), rows, 1e-9)
    show_cheap_units(n, rounds)
    for unit, name, until, exact, rtols in (
        ("ball", "h", 2.0, ball_at(2.0), (1e-3, 1e-8)),
        ("vanderpol", "x0", 20.0, van_der_pol_at(20.0), (1e-7, 1e-9)),
    ):
        path, rows = build_fmu(unit), []
        runs = {
            "plantloop": ours(path, name, until, rtols[0]),
            "FMPy, CVode": fmpys(path, name, until, rtols[1]),
        }
        done: dict[str, list[tuple[float, float]]] = {who: [] for who in runs}
        for _ in range(rounds):  # each several times in a row: the other leaves nothing in the caches
            for who, run in runs.items():
                done[who] += [run() for _ in range(10)]
        for who, found in done.items():
            spent = sorted(time for time, _ in found)
            times = f"{1e3 * spent[0]:.3f}", f"{1e3 * spent[len(spent) // 2]:.3f}"
            rows.append(Row(who, times, abs(found[0][1] - exact)))
        show((f"{unit}, model exchange, {until:g} s", "ms", "median", "error"), rows, 1e-5)


if __name__ == "__main__":
    main()
