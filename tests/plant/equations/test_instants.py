"""Instants at which the steps of a plant end: each is declared once."""

from __future__ import annotations

import casadi as ca

from blocks.contract.block import Equations
from blocks.contract.symbols import tracing
from plant.equations.instants import Instants


def test_only_what_is_still_to_come_and_not_known_yet_is_declared():
    with tracing():
        b = Equations({})
        instants = Instants(b)
        first = instants.passed((1.0, 2.0))
        assert ca.is_equal(instants.passed((1.0, 2.0)), first)
        instants.stops_at({3.0, 1.0, 0.0, -1.0, 2.5})
        instants.stops_at({2.0, 3.0, 0.0, -4.0})
        other = instants.passed((1.0,))  # a set of its own
        assert not ca.is_equal(other, first)
        b.output("y", first)
        memories = b.declared().memories
    assert [[float(t) for t in m.times] for m in memories] == [[1.0, 2.0], [2.5, 3.0], [1.0]]
