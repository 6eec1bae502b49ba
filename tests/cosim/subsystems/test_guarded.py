"""Operations that have no value while the part that they are in is inactive: nobody asks for it."""

import numpy as np
import pytest

from blocks import (
    AlgebraicConstraint,
    Constant,
    FirstOrder,
    Gain,
    Hold,
    Integrator,
    MathFunction,
    MinMaxRunning,
    Product,
    Relay,
    Sine,
    Sum,
    TimeTable,
    TransportDelay,
)
from cosim import Diagram, Enabled, If, Triggered, simulate


def behind_a_logarithm(d, u):
    """Blocks that remember, each behind log(u) in a part that is active where u > 0: at 1 <= t < 2, u = 4."""
    memories = {
        "lag": FirstOrder(1.0, 0.3),
        "relay": Relay(),
        "top": MinMaxRunning(function="max"),
        "late": TransportDelay(0.2),
        "held": Hold(0, sample=0.1),
        "twice": Enabled(Gain(2.0)),
    }
    for name, block in memories.items():
        inner = Diagram("inner")
        log, m = inner.add("log", MathFunction("log")), inner.add("m", block)
        inner.inport("u") >> log >> m["u"]
        if name == "twice":
            log >> m["enable"]
        inner.outport("y", m["y"])
        part = d.add(name, Enabled(inner))
        u >> part["u"]
        u >> part["enable"]
    x = np.log(4.0)
    at_half = x * (1 - np.exp(-0.5 / 0.3))
    return {
        "lag": [0, at_half, x * (1 - np.exp(-1 / 0.3))],
        "relay": [0, 1, 1],
        "top": [0, x, x],
        "late": [0, x, x],
        "held": [0, x, x],
        "twice": [0, 2 * x, 2 * x],
    }


def test_what_is_guarded_needs_no_value_while_it_is_inactive():
    d = Diagram("d")
    u = d.add("u", TimeTable([0.0, 1.0, 2.0], [-1.0, 4.0, -1.0], interpolation="previous"))
    b = d.add("b", TimeTable([0.0, 1.0, 2.0], [0.0, 4.0, 0.0], interpolation="previous"))
    ratio, at = d.add("ratio", If(Product("*/"), Constant(-1.0))), d.add("at", Triggered(MathFunction("log")))
    two = d.add("two", Constant(2.0))
    for signal, port in ((two, "in1"), (b, "in2"), (b, "condition")):
        signal >> ratio[port]
    for port in ("u", "trigger"):
        u >> at[port]
    ratio >> d.add("sum", Integrator())
    known = {**behind_a_logarithm(d, u), "at": [0, np.log(4.0), np.log(4.0)]}
    known |= {"ratio": [-1.0, 0.5, -1.0], "sum": [-0.5, -0.75, -1.0]}
    r = simulate(d, until=3.0, log_at=[0.5, 1.5, 2.5], engine="reference")
    for name, wanted in known.items():
        np.testing.assert_allclose(r[f"{name}.y"][:, 0], wanted, atol=1e-5, err_msg=name)


def roots(guess):
    """z^2 = u, which has no solution below 0; the guess decides which root it is."""
    d = Diagram("roots")
    z = d.add("z", AlgebraicConstraint(d.parameter("guess", guess)))
    (z * z - d.inport("u")) >> z["f"]
    d.outport("y", z["z"])
    return d


def circle():
    """y = u - y^2 as a loop, which has no solution where 1 + 4 u is below 0."""
    d = Diagram("circle")
    square = d.add("square", MathFunction("square"))
    y = d.inport("u") - square
    y >> square
    d.outport("y", y)
    return d


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_equations_of_an_inactive_part_need_no_solution(engine):
    """u = 4 sin 2t, parts active above 1; from rise to rise unknowns go on where they were, closed form."""
    d = Diagram("d")
    u = d.add("u", Sine(amplitude=4.0, frequency=2.0))
    parts = {
        "above": Enabled(roots(1.0)),
        "below": Enabled(roots(1.0)),
        "loop": Enabled(circle()),
        "anew": Enabled(circle(), reset=True),
        "called": Triggered(roots(-0.5)),
    }
    for name, part in parts.items():
        node = d.add(name, part)
        u >> node["u"]
        (u - 1.0) >> node["trigger" if name == "called" else "enable"]
    # without states, crossings are looked for in pieces of max_step
    more = {"solve_loops": True, "parameters": {"below.guess": -2.0}, "engine": engine, "max_step": 0.02}
    r = simulate(d, until=8.0, log_every=0.1, **more)
    rise, fall = 0.5 * np.arcsin(0.25), 0.5 * np.pi - 0.5 * np.arcsin(0.25)
    phase = r.time % np.pi
    begun = r.time > rise
    now = np.where((phase > rise) & (phase < fall), 4.0 * np.sin(2.0 * r.time), 1.0)[begun]
    solved = 0.5 * (np.sqrt(1.0 + 4.0 * now) - 1.0)
    wanted = {"above": np.sqrt(now), "below": -np.sqrt(now), "loop": solved, "anew": solved, "called": -1.0}
    for name, values in wanted.items():
        assert r[f"{name}.y"][begun, 0] == pytest.approx(values, abs=1e-7), name
    assert r["below.y"][0, 0] == -2.0


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_signals_inside_an_inactive_part_are_0_where_they_have_no_value(engine):
    """1/u at u = 0; and u - 3 y = y of a loop that is not solved while nobody asks for it."""
    d = Diagram("d")
    u = d.add("u", TimeTable([0.0, 1.0, 2.0], [0.0, 4.0, 0.0], interpolation="previous"))
    for name in ("divided", "solved"):
        inner = Diagram(name)
        y = inner.add("y", MathFunction("reciprocal") if name == "divided" else Sum("+-"))
        inner.inport("u") >> y["u" if name == "divided" else "in1"]
        if name == "solved":
            y >> inner.add("triple", Gain(3.0)) >> y["in2"]
        inner.outport("shown", "y.y")
        part = d.add(name, Enabled(inner))
        u >> part["u"]
        u >> part["enable"]
    r = simulate(d, until=3.0, log_at=[0.5, 1.5, 2.5], engine=engine, solve_loops=True)
    assert r["divided/y.y"][:, 0].tolist() == [0.0, 0.25, 0.0] and r["divided.shown"][-1, 0] == 0.25
    assert r["solved/y.y"][:, 0] == pytest.approx([0.0, 1.0, 0.0]) and r["solved.shown"][-1, 0] == 1.0
    assert r["solved/triple.y"][:, 0] == pytest.approx([0.0, 3.0, 0.0])
