"""Diagrams that are exported in tests, one for each thing an engine can do, and FMUs of them run by FMPy."""

from __future__ import annotations

import dataclasses
from functools import cache
from pathlib import Path

import numpy as np

import blocks as B
from blocks import Block
from blocks.errors import SimulationError
from cosim import Diagram, Simulation
from cosim.engines.native import native
from cosim.settings import RunSettings
from plant import Plant
from tests.blocks.examples_table import EXAMPLES
from tests.helpers import hybrid
from tests.helpers.hybrid import driven

MODELS = Path(__file__).parents[2] / "examples"
COUNTED = 60  # entries of the table of `counting`, at multiples of 0.1 s
K = [[76.42764284, 18.41168527, -23.1954329, -13.96660046]]


@dataclasses.dataclass(frozen=True)
class Ball(Block):
    """A ball that bounces: h' = v, v' = -9.81; v -> -e v where h falls through zero."""

    e: float = 0.8

    def define(self, b):
        (e,) = b.parameters(e=self.e)
        h, v = b.continuous("h", 1.0), b.continuous("v", 0.0)
        b.derivative(h, v)
        b.derivative(v, -9.81)
        b.when(h, {v: -e * v}, direction="falling", name="bounce")
        b.output("h", h)
        b.output("v", v)


def pendulum() -> Diagram:
    """The inverted pendulum read from XML with its feedback at 100 Hz, pushed from outside."""
    d = Diagram("inverted_pendulum")
    p = d.add("plant", Plant.read(MODELS / "inverted_pendulum" / "inverted_pendulum.xml"))
    y, c = d.add("y", B.Mux(2)), d.add("controller", B.StateFeedback(K, sample=0.01))
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.connect(d.inport("push"), p["disturbance_force"])
    d.outport("pendulum", p["pendulum"])
    d.outport("slider", p["slider"])
    d.outport("force", c["u"])
    return d


def ball() -> Diagram:
    """A bouncing ball."""
    d = Diagram("ball")
    n = d.add("ball", Ball())
    d.outport("h", n["h"])
    d.outport("v", n["v"])
    return d


@cache
def first() -> Diagram:
    """x' = u - x, y = (x, x + 2 u): feedthrough, a vector output, an input."""
    d = Diagram("first")
    plant = d.add("lag", B.StateSpace([[-1.0]], [[1.0]], [[1.0], [1.0]], [[0.0], [2.0]], initial=[0.5]))
    d.connect(d.inport("u"), plant["u"])
    d.outport("y", plant["y"])
    return d


def columns(found: np.ndarray, name: str, size: int) -> np.ndarray:
    """(n, size) a signal of what FMPy returns, of either version."""
    if name in found.dtype.names:
        return found[name].reshape(len(found), -1)
    return np.column_stack([found[f"{name}[{k + 1}]"] for k in range(size)])


def every_block() -> Diagram:
    """All blocks of the library that are exported and start so, each driven by sines of its own."""
    d = Diagram("every_block")
    for cls, examples in EXAMPLES.items():
        for k, (block, sizes) in enumerate(examples):
            alone = driven(Diagram("alone"), "block", block, sizes)
            system = alone.system()
            if native.obstacles(system, RunSettings()) or system.opaque:
                continue
            ticked = any(s.external is not None for s in system.schedule)
            if not ticked and (not system.residual.numel() or starts(alone)):
                driven(d, f"{cls.__name__}{k}", block, sizes)
    return d


def starts(d: Diagram) -> bool:
    """Has it a solution at t = 0?"""
    try:
        Simulation(d, engine="reference").advance(0.0)
    except SimulationError:
        return False
    return True


def delayed() -> Diagram:
    """x' = -x(t - 0.3), x = 1 before: a delay in a loop."""
    d = Diagram("delayed")
    x, past, gain = (
        d.add("x", B.Integrator(1.0)),
        d.add("past", B.TransportDelay(0.3, 1.0)),
        d.add("k", B.Gain(-1.0)),
    )
    d.connect(x["y"], past["u"])
    d.connect(past["y"], gain["u"])
    d.connect(gain["y"], x["u"])
    d.outport("x", x["y"])
    return d


def counting() -> Diagram:
    """How many instants there were: of a table every 0.1 s, of a clock every 0.1 s from 0.05 s on."""
    d = Diagram("counting")
    times = np.arange(COUNTED + 1) / 10
    table = d.add("table", B.TimeTable(times, np.arange(COUNTED + 1.0), interpolation="previous"))
    late = d.add("late", B.Hold(sample="1/10", offset="1/20"))
    d.connect(d.add("clock", B.Clock())["y"], late["u"])
    d.outport("listed", table["y"])
    d.outport("held", late["y"])
    return d


def jumping() -> Diagram:
    """A step of 2 at 0.2 s comes out of a delay at 0.5 s and out of another at 0.9 s, and is integrated."""
    d = Diagram("jumping")
    d.add("step", B.Step(0.2, 0.0, 2.0))
    for name, source, delay in (("first", "step.y", 0.3), ("second", "first.y", 0.4)):
        d.add(name, B.TransportDelay(delay))
        d.connect(source, f"{name}.u")
    x = d.add("x", B.Integrator())
    d.connect("second.y", x["u"])
    for name in ("first", "second", "x"):
        d.outport(f"{name}_y", f"{name}.y")
    return d


def four_bar() -> Diagram:
    """A closed-loop mechanism read from XML."""
    d = Diagram("four_bar")
    p = d.add("plant", Plant.read(MODELS / "four_bar" / "four_bar.xml"))
    block = d.graph.nodes["plant"]["block"]
    for name in block.inputs:
        d.connect(d.inport(name), p[name])
    for name in block.outputs:
        d.outport(name, p[name])
    return d


def guard() -> Diagram:
    """sin(t), until it rises through 0.9."""
    d = Diagram("guard")
    s, g = d.add("sine", B.Sine(1.0, 1.0)), d.add("guard", hybrid.Guard())
    d.connect(s["y"], g["u"])
    d.outport("y", g["y"])
    return d


DIAGRAMS = {
    **hybrid.DIAGRAMS,
    "every block": every_block,
    "inverted pendulum": pendulum,
    "delayed": delayed,
    "four-bar": four_bar,
    "feedthrough": first,
}
