"""Algebraic loops at ticks in conditional parts, solved: y = x + T (1 - 3 y), so y = (x + T) / (1 + 3 T)."""

import numpy as np
import pytest

from blocks import Constant, DiscreteIntegrator, Gain, Hold, Sum, TimeTable
from cosim import Diagram, Enabled, Resettable, Triggered, simulate

LEVELS = [0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1]
T = 0.1  # s


def looped():
    inner = Diagram("inner")
    inner.add("x", DiscreteIntegrator(T, method="backward"))
    inner.add("g", Gain(-3.0)), inner.add("sum", Sum("++"))
    inner.connect(inner.inport("u"), inner["sum"]["in1"])
    inner.connect("g.y -> sum.in2", "sum.y -> x.u", "x.y -> g.u")
    inner.outport("y", inner["x"]["y"])
    return inner


PARTS = {
    "enable": (Enabled(looped()), lambda now, before: now),
    "trigger": (Triggered(looped(), edge="either"), lambda now, before: now != before),
    "reset": (Resettable(looped()), lambda now, before: True),
}


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize("port", PARTS)
def test_a_loop_at_a_tick_is_solved_where_its_part_runs(port, held, engine):
    part, runs = PARTS[port]
    d = Diagram("d")
    d.add("one", Constant(1.0)) >> d.add("part", part)["u"]
    d.add("level", TimeTable(T * np.arange(11), LEVELS, interpolation="previous"))
    signal = d["level"] >> d.add("hold", Hold(sample=T)) if held else d["level"]
    signal >> d["part"][port]
    x, y, wanted = 0.0, 0.0, []
    for now, before in zip(LEVELS, [LEVELS[0], *LEVELS], strict=False):
        x = 0.0 if port == "reset" and now > before else x
        if runs(now, before):
            x = y = (x + T) / (1.0 + 3.0 * T)
        wanted.append(y)
    found = simulate(d, 1.0, log_every=T, engine=engine, solve_loops=True)["part.y"][:, 0]
    np.testing.assert_allclose(found, wanted, atol=1e-12)
