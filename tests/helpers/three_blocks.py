"""A diagram of three blocks that are not connected, and the wires of a diagram."""

from blocks import Gain, Integrator, Sine
from cosim import Diagram


def ends(d):
    return {(f"{a}.{e['source']}", f"{b}.{e['target']}") for a, b, e in d.graph.edges(data=True)}


def three():
    d = Diagram("d")
    return d, d.add("a", Sine()), d.add("b", Gain(2.0)), d.add("c", Integrator(0.0))
