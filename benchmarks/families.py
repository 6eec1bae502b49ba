"""Families of blocks, many of each: time to flatten, to compile, and per block and step; charts per tick.

    python -m benchmarks.families [--smoke] [1000 10000]

Every cell is a first-order lag of one sine, with a time constant of its own, and four blocks of a family
behind it. Flattening covers everything from the wiring to the finished system, compiling everything from
there to machine code, with nothing from a cache. rk4 1 ms; a step is one the solver took, so that those which
end at an event count too. The error is the difference from the reference engine after 10 ms, which should be
nothing. Charts are rings of states with one transition per tick.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.support.table import Row, built, heading, numbers, private_cache, seconds, show, smoke
from blocks import (
    Abs,
    Backlash,
    Block,
    Butterworth,
    CompareToConstant,
    Counter,
    CounterFreeRunning,
    DeadZone,
    Delay,
    DetectRise,
    DiscreteIntegrator,
    FirstOrder,
    Gain,
    LeadLag,
    LogicalOperator,
    LookupTable1D,
    MathFunction,
    MinMaxRunning,
    MovingAverage,
    Polynomial,
    Quantizer,
    RateLimiter,
    Relay,
    Saturation,
    SecondOrder,
    Selector,
    Sine,
    State,
    StateChart,
    TappedDelay,
    Transition,
    Wrap,
)
from cosim import Diagram, Simulation, simulate
from cosim.compile.flatten import flatten

STEP = 1e-3  # s
POINTS = np.linspace(-1.0, 1.0, 9)

Family = Callable[[float], Sequence[Block]]  # of a number in 0..1 that no other cell has
FAMILIES: dict[str, Family] = {
    "logic": lambda v: (
        CompareToConstant(">", 0.9 * v),
        LogicalOperator("not"),
        DetectRise(0.01),
        Counter(sample=0.01),
    ),
    "math": lambda v: (Polynomial([0.3, v, 0.1]), Abs(), MathFunction("square"), Wrap(-1.0 - v, 2.0)),
    "continuous": lambda v: (
        SecondOrder(1.0, 10.0 + v),
        LeadLag(1.0, 0.1, 0.01 + v),
        Butterworth(2, 20.0 + v),
        Gain(v),
    ),
    "discrete": lambda v: (
        Delay(3, 0.01),
        DiscreteIntegrator(0.01, initial=v),
        MovingAverage(4, sample=0.01),
        RateLimiter(1.0 + v, sample=0.01),
    ),
    "nonlinear": lambda v: (
        DeadZone(-0.1 * v, 0.1 + v),
        Quantizer(0.05 + v),
        Saturation(-0.5 * v, 0.5),
        Gain(v),
    ),
    "events and modes": lambda v: (Relay(0.5 * v, -0.5 * v), Gain(v), Backlash(0.1 + v), MinMaxRunning()),
    "lookup": lambda v: (
        LookupTable1D(POINTS, np.tanh((1.0 + v) * POINTS)),
        Gain(1.0 + v),
        LookupTable1D(POINTS, POINTS**2 + v, "cubic"),
        Gain(v),
    ),
    "routing": lambda v: (TappedDelay(3, 0.01), Selector([2, 0]), Gain(v), Selector([1])),
}


def cells(family: Family, n: int) -> Diagram:
    """A diagram of n blocks (rounded up to whole cells of five)."""
    d, count = Diagram(f"{n} blocks"), -(-n // 5)
    source = d.add("sine", Sine(amplitude=1.0, frequency=1.0))["y"]
    for k in range(count):
        v = (k + 1) / (count + 1)
        last = d.add(f"lag{k}", FirstOrder(1.0, 0.05 + v))
        d.connect(source, last.the("input"))
        for j, block in enumerate(family(v)):
            node = d.add(f"b{k}_{j}", block)
            d.connect(last[last.ports.outputs[0]], node[node.ports.inputs[0]])
            last = node
    return d


def chart(n: int) -> Diagram:
    """A ring of n states, which goes on to the next one at every tick."""
    d = Diagram("chart")
    states = [State(f"s{k}", entry="seen = u", during=f"sum = sum + {k}") for k in range(n)]
    moves = [Transition(f"s{k}", f"s{(k + 1) % n}", "u > seen") for k in range(n)]
    it = d.add("chart", StateChart(["u"], {"sum": 0.0}, states, moves, {"seen": 0.0}, sample=STEP))
    d.connect(d.add("u", CounterFreeRunning(30, sample=STEP))["y"], it["u"])
    return d


def measure(d: Diagram, until: float) -> tuple[float, str, float, float]:
    """Time to flatten and to compile [s], ns of processor time per step that was taken, error after 10 ms."""
    flat = seconds(lambda: flatten(d.netlist()))
    system = d.system()

    def begun(engine: str) -> Simulation:
        return Simulation(system, engine=engine, solver="rk4", step=STEP, signals=[])  # type: ignore[arg-type]

    with tempfile.TemporaryDirectory() as folder, private_cache(folder):
        compiling = built(lambda: begun("native"))
        once = simulate(system, until, engine="native", solver="rk4", step=STEP, signals=[])
        took = []
        for _ in range(3 if until < 0.5 else 10):
            run = begun("native")
            before = time.thread_time()
            run.advance(until)
            took.append(time.thread_time() - before)
        ends = []
        for engine in ("native", "reference"):
            run = begun(engine)
            run.advance(0.01)
            state = run.snapshot()
            ends.append(np.concatenate([state.x, state.h]))
    error = float(np.abs(ends[0] - ends[1]).max(initial=0.0))
    return flat, compiling, 1e9 * min(took) / max(once.statistics["steps"], until / STEP), error


def main(sizes: list[int], short: bool = False) -> None:
    """Print a table for every size."""
    heading("families of blocks")
    for n in sizes:
        rows = []
        for name, family in FAMILIES.items():
            until = 0.02 if short else 1.0 if n <= 1000 else 0.1
            d = cells(family, n)
            flat, compiling, per, error = measure(d, until)
            each = per / d.graph.number_of_nodes()
            rows.append(Row(f"{n} blocks, {name}", (f"{flat:.2f}", compiling, f"{each:.2f}"), error))
        show(("", "flatten [s]", "compile [s] (cpu)", "ns/block-step", "error"), rows)
    rows = []
    for n in (10,) if short else (10, 100):
        flat, compiling, per, error = measure(chart(n), 0.1 if short else 10.0)
        rows.append(Row(f"chart of {n} states", (f"{flat:.2f}", compiling, f"{per:.0f}"), error))
    show(("", "flatten [s]", "compile [s] (cpu)", "ns/tick", "error"), rows)


if __name__ == "__main__":
    main(numbers([1000, 10_000], [20]), smoke())
