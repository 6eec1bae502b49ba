"""Operations that have no value while the part that they are in is inactive: nobody asks for it."""

import numpy as np

from blocks import (
    Constant,
    FirstOrder,
    Gain,
    Hold,
    Integrator,
    MathFunction,
    MinMaxRunning,
    Product,
    Relay,
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
