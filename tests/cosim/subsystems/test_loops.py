"""For and While against loops by hand."""

from dataclasses import dataclass

import numpy as np
import pytest

from blocks import (
    Block,
    Constant,
    DiscreteIntegrator,
    Equations,
    Gain,
    Integrator,
    Product,
    Ramp,
    Sum,
    UnitDelay,
)
from blocks.errors import PlantloopError
from cosim import Diagram, For, While, simulate

ENGINES = ("reference", "native")


@dataclass(frozen=True)
class Newton(Block):
    """new = (x + u/x)/2, wrong = |new**2 - u| - 1e-9."""

    def define(self, b: Equations) -> None:
        u, x = b.input("u", size=1), b.input("x", size=1)
        new = 0.5 * (x + u / x)
        b.output("new", new)
        b.output("wrong", np.abs(new * new - u) - 1e-9)


def square_root():
    """Newton's iteration for x**2 = u, from 1: condition = |x**2 - u| - 1e-9."""
    d = Diagram("newton")
    u = d.inport("u")
    x = d.add("x", UnitDelay(sample=1.0, initial=1.0))
    step = d.add("step", Newton())
    d.connect(u, step["u"])
    d.connect(x["y"], step["x"])
    d.connect(step["new"], x["u"])
    d.outport("y", step["new"])
    d.outport("condition", step["wrong"])
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_newtons_method_within_a_tick(engine):
    d = Diagram("d")
    d.add("u", Ramp(slope=1.0, initial=0.5))
    d.add("root", While(square_root(), sample=0.25))
    d.connect("u.y", "root.u")
    r = simulate(d, until=2.0, engine=engine, log_every=0.25)
    assert r["root.y"][:, 0] == pytest.approx(np.sqrt(0.5 + r.time), abs=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("states", ["held", "reset"])
def test_a_sum_over_an_index(engine, states):
    """y = sum of k * u over the repetitions of a tick, held or from 0."""
    d = Diagram("d")
    d.add("k", Constant(1.0))
    d.add("n", Ramp(slope=4.0))
    d.add("fixed", For(scalar(), 5, sample=0.5, states=states))
    d.add("given", For(scalar(), sample=0.5, states=states))
    d.connect("n.y", "given.count")
    for name in ("fixed", "given"):
        d.connect("k.y", f"{name}.u")
    r = simulate(d, until=2.0, engine=engine, log_every=0.5)
    fixed, given, total = [], [], 0.0
    last = 0.0
    for tick in range(5):
        fixed.append(10.0 * (tick + 1 if states == "held" else 1))
        n = 2 * tick
        new = sum(range(n))
        total = (total if states == "held" else 0.0) + new
        last = total if n else last
        given.append(last)
    assert r["fixed.y"][:, 0].tolist() == fixed
    assert r["given.y"][:, 0].tolist() == given


def scalar():
    """y = sum so far of index * u."""
    inner = Diagram("inner")
    k, u = inner.inport("index"), inner.inport("u")
    p, i, s = (
        inner.add("p", Product("**")),
        inner.add("i", DiscreteIntegrator(sample=1.0)),
        inner.add("s", Sum("++")),
    )
    inner.connect(k, p["in1"])
    inner.connect(u, p["in2"])
    inner.connect(p["y"], i["u"])
    inner.connect(i["y"], s["in1"])
    inner.connect(p["y"], s["in2"])
    inner.outport("y", s["y"])
    return inner


def test_gains_inside_are_parameters_of_a_run():
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("part", For(Gain(2.0), 3, sample=0.5))
    d.connect("u.y", "part.u")
    assert simulate(d, until=0.5, parameters={"part/body.inner.k": 7.0})["part.y"][-1] == 7.0


def test_what_cannot_be_repeated_is_named():
    for inner, what in (
        (Integrator(), "'x' is a continuous state, which a subsystem that is repeated"),
        (two_rates(), "several rates"),
    ):
        d = Diagram("d")
        d.add("u", Constant(1.0))
        d.add("part", For(inner, 3, sample=0.5))
        d.connect("u.y", "part.u")
        with pytest.raises(PlantloopError, match=what):
            d.system()
    with pytest.raises(PlantloopError, match="has no output 'condition'"):
        While(Gain(1.0), sample=0.1).netlist()
    with pytest.raises(PlantloopError, match="count is 2.5"):
        For(Gain(1.0), 2.5, sample=0.1)


def two_rates():
    inner = Diagram("inner")
    inner.connect(inner.inport("u"), inner.add("a", UnitDelay(sample=0.1))["u"])
    inner.connect("a.y", inner.add("b", UnitDelay(sample=0.2))["u"])
    inner.outport("y", "b.y")
    return inner
