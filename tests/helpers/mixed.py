"""A diagram with a bit of everything that a snapshot has to keep, importable by another process."""

from __future__ import annotations

import pickle
import struct
import sys

import numpy as np

from blocks import (
    Constant,
    DiscretePID,
    Hold,
    Integrator,
    Pulse,
    PythonFunction,
    StateSpace,
    Step,
    Sum,
    TimeTable,
    UnitDelay,
)
from cosim import Diagram
from tests.helpers.runs import Simulation, build


class Counter:
    """An opaque function with memory: adds up what it is given."""

    def __init__(self) -> None:
        self.total = 0.0

    def __call__(self, t: float, u: np.ndarray) -> float:
        self.total += float(u[0])
        return self.total

    def save(self) -> bytes:
        return struct.pack("d", self.total)

    def load(self, state: bytes) -> None:
        (self.total,) = struct.unpack("d", state)


def mixed() -> Diagram:
    """Plant, sampled controller, extrapolating hold, several rates, instants, an opaque block with memory."""
    counter = Counter()
    blocks = {
        "r": Step(0.35, after=1.0),
        "e": Sum("+-"),
        "c": DiscretePID(3.0, 2.0, 0.05, sample="1/20", low=-4.0, high=4.0),
        "h": Hold(2, sample="1/30", offset="1/60"),
        "push": Sum("+++"),
        "p": StateSpace([[0.0, 1.0], [-4.0, -0.4]], [[0.0], [4.0]], [[1.0, 0.0]], initial=[0.2, -0.1]),
        "late": UnitDelay("1/7"),
        "count": PythonFunction(counter, sample="1/7", memory=counter),
        "pulse": Pulse(0.3, "1/4", "1/3"),
        "table": TimeTable([0.1, 0.4, 0.9], [0.0, 0.2, -0.1]),
        "x": Integrator(),
        "bias": Constant(0.0),
    }
    wires = (
        "r.y>e.in1 p.y>e.in2 e.y>c.e c.u>h.u h.y>push.in1 pulse.y>push.in2 table.y>push.in3 push.y>p.u "
        "p.y>late.u late.y>count.u count.y>x.u"
    )
    return build(wires, **blocks)


OPTIONS = {"rk4": {"solver": "rk4", "step": 0.004}, "dopri5": {"solver": "dopri5", "rtol": 1e-6}}


def carry_on(solver: str, until: float, state: bytes) -> bytes:
    """Advance a pickled snapshot."""
    sim = Simulation(mixed(), **OPTIONS[solver])
    sim.restore(pickle.loads(state))
    sim.advance(until)
    return pickle.dumps(sim.snapshot())


if __name__ == "__main__":  # python -m tests.helpers.mixed SOLVER UNTIL < snapshot > snapshot
    sys.stdout.buffer.write(carry_on(sys.argv[1], float(sys.argv[2]), sys.stdin.buffer.read()))
