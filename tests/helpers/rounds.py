"""Rounds of a loop by hand: blocks inside For and While, and what they give tick by tick."""

from blocks import DiscreteStateSpace, Function, Ramp
from cosim import Diagram, simulate

ENGINES = ("reference", "native")
T = 0.25  # s, of the ticks of loops
INSTANTS = [k * T for k in range(6)]


def leaf(factor=1.0):
    """y = x + 10 u, x becomes x + factor u."""
    return DiscreteStateSpace(1.0, factor, 1.0, 10.0, sample=1)


class Leaf:
    def __init__(self, factor=1.0):
        self.factor, self.x = factor, 0.0

    def tick(self, u):
        y = self.x + 10 * u
        self.x += self.factor * u
        return y


def inside(part, port, condition):
    """A part whose input u is u + index, and whose control port is a function of the index."""
    d = Diagram("inside")
    k, node, control = d.inport("index"), d.add("part", part), d.add("control", Function(condition))
    (d.inport("u") + k) >> node["u"]
    k >> control["k"]
    control >> node[port]
    d.outport("y", node["y"])
    return d


def found(part, engine="native", times=INSTANTS, **more):
    """The output y of a part whose input u is 1 + 4 t."""
    d = Diagram("d")
    d.add("u", Ramp(slope=4.0, initial=1.0)) >> d.add("part", part)["u"]
    return simulate(d, times[-1], engine=engine, log_at=times, **more)["part.y"][:, 0].tolist()


def by_hand(step, rounds, states, make, times=INSTANTS):
    """What it gives after the last round of every tick: `step(memory, u, k)` is one round."""
    memory, shown, y = make(), [], 0.0
    for t in times:
        if states == "reset":
            memory = make()
        for k in range(rounds):
            y = step(memory, 1 + 4 * t + k, k)
        shown.append(y)
    return shown
