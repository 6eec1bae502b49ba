"""Our own blocks go back to the beginning of a step of the coupling: nothing of a context stays new."""

from dataclasses import dataclass, fields

import numpy as np

from blocks import Block
from blocks.contract.rate import Ticks
from cosim import Diagram, Simulation
from cosim.fmi.coupling.rollback import Mark
from cosim.run.context import Context


class Adding:
    """Opaque, with a memory: the sum of what it was given."""

    def __init__(self):
        self.sum = 0.0

    def call(self, t, u):
        self.sum += float(u[0])
        return np.array([self.sum])

    def save(self):
        return np.float64(self.sum).tobytes()

    def load(self, state):
        self.sum = float(np.frombuffer(state)[0])

    def close(self):
        pass


@dataclass(frozen=True)
class Everything(Block):
    """A memory of each kind, changing all the time."""

    def define(self, b):
        x, k = b.continuous("x", 0.5), b.discrete("k", 0.25, "1/10")
        b.derivative(x, np.cos(7.0 * b.time) + 0 * x)
        b.update(k, 1.1 * k + x)
        b.output("sampled", x, sample="1/10")
        b.output("sum", b.external("sum", Adding, x, 1, Ticks.of("1/10")))
        mode = b.mode("m", 0.0)
        b.when(np.sin(20.0 * b.time), [(mode, mode + 1.0)], "both", "turn")
        b.output("larger", b.accepted("a", lambda old: np.maximum(old, x), 0.0))
        z = b.algebraic("z", 0.0)
        b.residual(z + z**3 - x)
        b.output("late", b.delayed(x, 0.15, name="d"))
        b.output("drawn", b.random("1/10", name="r"))
        b.output("passed", b.instants([0.1, 0.33, 0.48, 0.55], name="i"))
        b.output("z", z)
        b.output("mode", mode)


def told(value):
    """What a value holds, to be compared."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [told(v) for v in value]
    if isinstance(value, dict):
        return {k: told(v) for k, v in value.items()}
    if hasattr(value, "rows"):  # a history: as far as it is filled
        return [value.count, *(told(rows[: value.count]) for rows in value.rows)]
    return value


def state(context):
    copied = context.copy()
    return {f.name: told(getattr(copied, f.name)) for f in fields(Context) if f.name != "instances"}


def test_everything_goes_back_as_often_as_one_likes():
    d = Diagram("d")
    d.add("it", Everything())
    with Simulation(d, engine="reference", rtol=1e-8) as sim:
        sim.advance(0.37)
        context, instances = sim._engine.context, sim._engine.instances
        before, stops = state(context), list(context.stops)
        mark = Mark(context, instances, ())
        for until in (0.62, 0.5):
            sim.advance(until)
            context.stopped = "a unit says so"
            after = state(context)
            assert {name for name in before if after[name] != before[name]} >= {
                "t", "x", "h", "w", "next", "ticks", "instants", "signs", "solution", "histories", "opaque",
                "step", "stopped",
            }  # fmt: skip
            mark.back()
            assert state(context) == before and context.stops == stops
