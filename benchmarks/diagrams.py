"""Diagrams of many blocks at three rates: time to flatten, to compile, and per block and step.

    python -m benchmarks.diagrams [--smoke] [100 1000 10000]

Three diagrams: one where three blocks in five are functions of their own, no two alike; one of ten kinds of
blocks with numbers of their own; and copies of five blocks. Each is one connected whole. Flattening covers
everything from the wiring to the finished system with its schedule, compiling everything from there to
machine code, with nothing from a cache. rk4 1 ms; the error is the difference from the reference engine after
20 ms, which should be nothing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.support.table import Row, built, heading, numbers, private_cache, seconds, show, smoke
from blocks import (
    Constant,
    DiscretePID,
    DiscreteStateSpace,
    Function,
    Gain,
    Hold,
    Integrator,
    Saturation,
    Sine,
    Sum,
    UnitDelay,
)
from cosim import Diagram, Simulation, simulate
from cosim.compile.flatten import flatten

STEP = 1e-3  # s
RATES = [
    (Fraction(1, 100), 0),
    (Fraction(1, 40), Fraction(1, 200)),
    (Fraction(1, 10), 0),
]  # s: period, offset
PER_CHAIN = 10


def mixed(n: int) -> Diagram:
    """A diagram of n blocks (rounded up to whole chains)."""
    d = Diagram(f"{n} blocks")
    last = d.add("start", Constant(0.0))["y"]
    for k in range(-(-n // PER_CHAIN)):
        fast, middle, slow = ({"sample": p, "offset": o} for p, o in RATES)
        blocks = {
            "source": Sine(amplitude=0.1, frequency=1.0 + 0.01 * k),
            "error": Sum("++-"),
            "pid": DiscretePID(1.0 + k / n, 0.5, 0.01, low=-2.0, high=2.0, **fast),
            "hold": Hold(1, **fast),
            "plant": Integrator(),
            "limit": Saturation(-5.0, 5.0),
            "gain": Gain(0.9),
            "filter": DiscreteStateSpace(0.8, 0.2, 1.0, **middle),
            "delay": UnitDelay(**slow),
            "shape": Function(np.tanh, **slow),
        }
        at = {name: d.add(f"{name}{k}", block) for name, block in blocks.items()}
        at["source"]["y"] >> at["error"]["in1"]
        last >> at["error"]["in2"]
        at["filter"]["y"] >> at["error"]["in3"]
        at["error"]["y"] >> at["pid"]["e"]
        at["pid"]["u"] >> at["hold"]["u"]
        at["hold"]["y"] >> at["plant"]["u"]
        at["plant"]["y"] >> at["limit"]["u"]
        at["limit"]["y"] >> at["gain"]["u"]
        at["gain"]["y"] >> at["filter"]["u"]
        at["gain"]["y"] >> at["delay"]["u"]
        at["delay"]["y"] >> at["shape"]["u"]
        last = at["shape"]["y"]
    return d


def drawn(draw: np.random.Generator) -> Callable[[Any], Any]:
    """A bounded function of a signal: three operations in a row, with numbers no other draw has."""
    a, b, c = draw.uniform(0.5, 1.5, 3)
    operations = [
        lambda v: a * v + 0.1 * b,
        lambda v: np.minimum(v, a) + 0.1 * v,
        lambda v: np.maximum(v, -b) * c,
        lambda v: np.abs(v) - b * v,
        lambda v: v / (c + v * v),
        lambda v: v * (b - 0.1 * v),
    ]
    chosen = [operations[k] for k in draw.integers(len(operations), size=3)]
    return lambda u: np.clip(chosen[2](chosen[1](chosen[0](u))), -a - b, a + c)


def different(n: int) -> Diagram:
    """A diagram of n blocks (rounded up): cells of a sum, an integrator and three functions of their own."""
    d, draw = Diagram(f"{n} blocks, different"), np.random.default_rng(3)
    ends = [d.add("start", Constant(0.1))["y"]]
    for k in range(-(-n // 5)):
        period, offset = RATES[k % 3]
        signs = str(draw.choice(["+-", "++-", "+--"]))
        total, state = d.add(f"total{k}", Sum(signs)), d.add(f"state{k}", Integrator())
        first, second = d.add(f"first{k}", Function(drawn(draw))), d.add(f"second{k}", Function(drawn(draw)))
        sampled = d.add(f"sampled{k}", Function(drawn(draw), sample=period, offset=offset))
        ends[-1] >> total["in1"]
        if len(signs) == 3:
            ends[int(draw.integers(len(ends)))] >> total["in2"]
        state["y"] >> total[f"in{len(signs)}"]
        total["y"] >> state["u"]
        state["y"] >> first["u"]
        first["y"] >> second["u"]
        second["y"] >> sampled["u"]
        ends.append((sampled if k % 4 == 3 else second)["y"])
    return d


def copies(n: int) -> Diagram:
    """A diagram of n blocks (rounded up): copies of five blocks, at three rates."""
    d = Diagram(f"{n} blocks, copied")
    ends = [d.add("start", Constant(0.1))["y"]]
    for k in range(-(-n // 5)):
        period = RATES[k % 3][0]
        total, state = d.add(f"total{k}", Sum("+-")), d.add(f"state{k}", Integrator())
        gain, limit = d.add(f"gain{k}", Gain(0.9)), d.add(f"limit{k}", Saturation(-5.0, 5.0))
        lag = d.add(f"lag{k}", DiscreteStateSpace(0.8, 0.2, 1.0, sample=period))
        ends[-1] >> total["in1"]
        state["y"] >> total["in2"]
        total["y"] >> state["u"]
        state["y"] >> gain["u"]
        gain["y"] >> limit["u"]
        limit["y"] >> lag["u"]
        ends.append((lag if k % 10 == 9 else limit)["y"])
    return d


def measure(d: Diagram, until: float) -> tuple[int, float, str, float, float]:
    """Blocks, time to flatten and to compile, ns per block and step, error of the states after 20 ms."""
    flat = min(seconds(lambda: flatten(d.netlist())) for _ in range(1 if until < 0.05 else 2))
    system = d.system()
    fixed = {"solver": "rk4", "step": STEP, "signals": []}
    with tempfile.TemporaryDirectory() as folder, private_cache(folder):
        compiling = built(lambda: Simulation(system, engine="native", **fixed))  # type: ignore[arg-type]
        run = lambda: simulate(system, until, engine="native", log_at=[until], **fixed)  # type: ignore[arg-type]
        wall = min(run().statistics["wall time [s]"] for _ in range(2 if until < 0.05 else 20))
        ends = []
        for engine in ("native", "reference"):
            simulation = Simulation(system, engine=engine, **fixed)  # type: ignore[arg-type]
            simulation.advance(0.02)
            ends.append(simulation.snapshot().x)
    blocks = d.graph.number_of_nodes()
    error = float(np.abs(ends[0] - ends[1]).max())
    return blocks, flat, compiling, 1e9 * wall / (until / STEP) / blocks, error


def main(sizes: list[int], short: bool = False) -> None:
    """Print a table for every size."""
    heading("diagrams of many blocks at three rates")
    kinds = {"no two alike": different, "ten kinds": mixed, "copies of five": copies}
    for n in sizes:
        rows = []
        for name, make in kinds.items():
            until = 0.02 if short else 1.0 if n <= 1000 else 0.05
            blocks, flat, compiling, per, error = measure(make(n), until)
            rows.append(Row(f"{blocks} blocks, {name}", (f"{flat:.2f}", compiling, f"{per:.2f}"), error))
        show(("", "flatten [s]", "compile [s] (cpu)", "ns/block-step", "error"), rows)


if __name__ == "__main__":
    main(numbers([100, 1000, 10_000], [20]), smoke())
