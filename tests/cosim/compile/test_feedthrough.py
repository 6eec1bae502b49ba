"""Direct feedthrough by ports: what an output shows of an input at the same instant."""

from dataclasses import dataclass

import numpy as np

from blocks import Gain, Integrator, Sine, StateFeedback, StateSpace, UnitDelay
from blocks.contract.block import Block
from cosim import Diagram


@dataclass(frozen=True, eq=False)
class TwoWays(Block):
    """z of z^3 + z = a: `solved` shows a, `kept` only b, `both` b and a."""

    def define(self, b):
        a, c = b.input("a"), b.input("b")
        z = b.algebraic("z", guess=0.0)
        b.residual(z**3 + z - a)
        b.output("solved", z)
        b.output("kept", 2.0 * c)
        b.output("both", c + z)


def feeds(block, *into, sampled=False):
    d = Diagram("one")
    n = d.add("b", block)
    for port, k in into:
        d.connect(d.add(f"s_{port}", Sine(np.ones(k), 1.0))["y"], n[port])
    found = d.system().feeds().get("b", ())
    return {(f.input, f.output, f.at_ticks) for f in found}


def test_what_passes_at_once():
    assert feeds(Gain(2.0), ("u", 1)) == {("u", "y", False)}
    assert feeds(Integrator(0.0), ("u", 1)) == set()
    D = lambda x: StateSpace([[-1.0]], [[1.0]], [[1.0]], [[x]])
    assert feeds(D(0.0), ("u", 1)) == set()
    assert feeds(D(3.0), ("u", 1)) == {("u", "y", False)}


def test_what_passes_at_ticks_only():
    assert feeds(StateFeedback(2.0, sample="0.1"), ("x", 1)) == {("x", "u", True)}
    assert feeds(UnitDelay(sample="0.1"), ("u", 1)) == set()


def test_unknowns_pass_what_they_follow_from():
    found = feeds(TwoWays(), ("a", 1), ("b", 1))
    assert found == {("a", "solved", False), ("b", "kept", False), ("b", "both", False), ("a", "both", False)}
