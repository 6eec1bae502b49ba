"""Mixed-rate diagrams of many blocks: time to flatten, which should grow with their number and no faster.

    python -m benchmarks.diagrams 100 1000 10000

Chains of ten blocks each (source, sum with feedback, sampled PID, extrapolating hold, integrator, saturation,
gain, sampled lag, delay, sampled function) at three rates with offsets; every chain passes its signal to the
next one, so that the whole is one diagram and not many. Flattening covers everything from the wiring to the
finished system with its schedule. Each size is measured three times, the best counts.
"""

from __future__ import annotations

import platform
import sys
import time
from fractions import Fraction

import casadi as ca
import networkx as nx
import numpy as np

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
from cosim import Diagram
from cosim.flatten import flatten

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


def measure(n: int, times: int = 3) -> tuple[int, float, int]:
    """Blocks, best time [s] to flatten them, segments of the schedule."""
    d = mixed(n)
    best = np.inf
    for _ in range(times):
        start = time.perf_counter()
        system = flatten(d)
        best = min(best, time.perf_counter() - start)
    return d.graph.number_of_nodes(), float(best), len(system.schedule)


def main(sizes: list[int]) -> list[tuple[int, float, int]]:
    """Print and return (blocks, seconds, segments) for every size."""
    versions = f"Python {platform.python_version()}, casadi {ca.CasadiMeta.version()}"
    print(f"{platform.platform()}, {platform.processor() or platform.machine()}")
    print(f"{versions}, networkx {nx.__version__}, numpy {np.__version__}")
    print(f"{'blocks':>8} {'flatten [s]':>12} {'per block [us]':>15} {'segments':>9}")
    rows = []
    for n in sizes:
        blocks, seconds, segments = measure(n)
        rows.append((blocks, seconds, segments))
        print(f"{blocks:8d} {seconds:12.3f} {1e6 * seconds / blocks:15.1f} {segments:9d}", flush=True)
    return rows


if __name__ == "__main__":
    main([int(argument) for argument in sys.argv[1:]] or [100, 1000, 10_000])
