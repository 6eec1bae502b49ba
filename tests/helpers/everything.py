"""A diagram with every kind of state in play, for snapshots; run as a script it goes on from saved ones.

``python -m tests.helpers.everything UNTIL (SNAPSHOT SOLVER ENGINE)...`` prints digests of contexts at UNTIL.
"""

from __future__ import annotations

import hashlib
import struct
import sys
from functools import cache

import numpy as np

from blocks import (
    Constant,
    DiscreteIntegrator,
    Function,
    Gain,
    Hold,
    Integrator,
    PeakHold,
    PythonFunction,
    RandomNumber,
    RateLimiter,
    Relay,
    Sine,
    Step,
    Sum,
    Switch,
    TransportDelay,
    TurnCounter,
    UnitDelay,
)
from cosim import Diagram, Enabled, For, Simulation, Triggered
from cosim.run.context import Context
from tests.helpers.made import Made


class Counter:
    """Opaque function with a memory of its own."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, t: float, u: np.ndarray) -> float:
        self.calls += 1
        return float(u[0]) + 1e-3 * self.calls

    def save(self) -> bytes:
        return struct.pack("q", self.calls)

    @staticmethod
    def count_in(state):
        """What `save` has written down."""
        return struct.unpack("q", state)[0]

    def load(self, state: bytes) -> None:
        (self.calls,) = struct.unpack("q", state)


def implicit(b):
    """z + z^3 = u, a unit vector kept by an invariant, a state that bounces, and a clock that rings."""
    u = b.input("u")
    z = b.algebraic("z", 0.0)
    b.residual(z + z**3 - u)
    q = b.continuous("q", [1.0, 0.0])
    b.derivative(q, np.stack([-q[1], q[0]]) * (1 + 0.1 * z[0]))
    b.invariant(np.sum(q * q) - 1)
    h, v = b.continuous("h", 0.3), b.continuous("v", 0.0)
    b.derivative(h, v)
    b.derivative(v, -9.81 + 0 * v)
    bounces = b.mode("bounces", 0.0)
    b.when(h[0], [(v, -0.9 * v), (bounces, bounces + 1)], "falling", "bounce")
    rung = b.mode("rung", 0.0)
    b.event_at("ring", 0.11, lambda ring: {rung: rung + 1, ring: ring + 0.17}, "ring")
    b.output("z", z + h + 0.01 * rung)


def everything() -> Diagram:
    """Continuous, discrete and sampled states, holds, modes, branches, accepted memories, unknowns, delays,
    draws, instants, an opaque block with memory, and an algebraic loop."""
    d = Diagram("everything")
    u, noise, push = (
        d.add("u", Sine(frequency=3.0)),
        d.add("noise", RandomNumber(sample="1/30")),
        d.add("push", Step(0.4)),
    )
    total, x = d.add("total", Sum("+++-")), d.add("x", Integrator(0.1, low=-0.6, high=0.7))
    past, k = d.add("past", TransportDelay(0.13)), d.add("k", Gain(0.8))
    d.connect(u["y"], total["in1"])
    d.connect(noise["y"], total["in2"])
    d.connect(push["y"], total["in3"])
    d.connect(k["y"], total["in4"])
    d.connect(total["y"], x["u"])
    d.connect(x["y"], past["u"])
    d.connect(past["y"], k["u"])
    relay, switch, off = (
        d.add("relay", Relay(0.3, -0.2)),
        d.add("switch", Switch(0.1)),
        d.add("off", Constant(-1.0)),
    )
    d.connect(x["y"], relay["u"])
    d.connect(relay["y"], switch["in1"])
    d.connect(x["y"], switch["control"])
    d.connect(off["y"], switch["in2"])
    hold, count = (
        d.add("hold", Hold(1, sample=0.05)),
        d.add("count", PythonFunction(counter := Counter(), sample=0.1, memory=counter)),
    )
    d.connect(switch["y"], hold["u"])
    d.connect(hold["y"], count["u"])
    area, last = (
        d.add("area", DiscreteIntegrator(0.1, method="trapezoidal")),
        d.add("last", UnitDelay("1/30", 0.01)),
    )
    d.connect(count["y"], area["u"])
    d.connect(x["y"], last["u"])
    peak, slow, it = d.add("peak", PeakHold()), d.add("slow", RateLimiter(1.0)), d.add("it", Made(implicit))
    d.connect(last["y"], peak["u"])
    d.connect(hold["y"], slow["u"])
    d.connect(x["y"], it["u"])
    d.connect(x["y"], d.add("turns", TurnCounter(0.5))["u"])
    sum_, gain = d.add("sum", Sum("+-")), d.add("gain", Function(lambda u: 2.0 * np.tanh(u)))
    d.connect(it["z"], sum_["in1"])
    d.connect(gain["y"], sum_["in2"])
    d.connect(sum_["y"], gain["u"])
    end = d.add("end", Integrator())
    d.connect(gain["y"], end["u"])
    part, called = (
        d.add("part", Enabled(Integrator(), reset=True)),
        d.add("called", Triggered(UnitDelay(sample=0.1))),
    )
    several = d.add("several", For(UnitDelay(sample=0.1), 3, sample=0.1))
    for node, control in ((part, "enable"), (called, "trigger")):
        d.connect(u["y"], node[control])
        d.connect(x["y"], node["u"])
    d.connect(x["y"], several["u"])
    return d


@cache
def _flat_once() -> Diagram:
    """One diagram for all runs, so that it is flattened and compiled once."""
    return everything()


def simulation(solver: str = "dopri5", engine: str = "reference") -> Simulation:
    """A run of it; with "auto" on the native engine, which calls the opaque block at its ticks."""
    settings = {"step": 0.01} if solver == "rk4" else {"rtol": 1e-7}
    return Simulation(_flat_once(), solver=solver, seed=11, solve_loops=True, engine=engine, **settings)  # type: ignore[arg-type]


def digest(context: Context) -> str:
    """All bits of a context."""
    found = hashlib.sha256()
    for name, value in sorted(vars(context).items()):
        if name == "histories":
            value = [(n, [part.tobytes() for part in h.parts().values()]) for n, h in value.items()]
        found.update(
            name.encode() + (value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode())
        )
    return found.hexdigest()


if __name__ == "__main__":
    until, *runs = sys.argv[1:]
    for file, solver, engine in zip(runs[::3], runs[1::3], runs[2::3], strict=True):
        sim = simulation(solver, engine)
        sim.load(file)
        sim.advance(float(until))
        print(digest(sim.snapshot()))
