"""Mechanisms that lock, or are driven beyond their reach: the run ends there and names the constraint.

A bar of length 1 hangs on a hinge at the origin; its tip is to be at the distance c + 0.5 t from a point
0.5 beside the hinge. The farthest it gets is 1.5, at t = 2 (1.5 - c).
"""

from __future__ import annotations

import numpy as np
import pytest

from blocks import SimulationError
from cosim import Diagram
from cosim import simulate as run
from tests.helpers.decks import ALONG_Y, body, joint, marker, ran, simulate
from tests.helpers.made import Made

START = float(np.hypot(0.5, 1.0))
LOCKS = 2 * (1.5 - START)
BAR = (
    marker(10, 1, axes=ALONG_Y) + marker(11, 1, x=0.5) + body(2, 2.0, 0.1, 0.0, 0.0, -0.5)
    + marker(21, 2, axes=ALONG_Y) + marker(22, 2, z=-1.0) + joint(1, "REVOLUTE", 21, 10)
    + '<Post_Request id="1" label="tip" type="EXPRESSION" expr1="DM(22,11)"/>'
)  # fmt: skip
DRIVEN = BAR + f'<Constraint_General id="1" type="EXPRESSION" expr="DM(22,11) - {START!r} - 0.5 * TIME"/>'
FAR = simulate("Transient", end_time=2, num_steps=40)
HALT = '<Sensor_Event id="1" type="EXPRESSION" expr="DM(22,11)" value="1.499" compare="GE" halt="TRUE"/>'


@pytest.mark.parametrize(
    ("engine", "coordinates", "how"),
    [
        ("reference", "joint", {"rtol": 1e-5}),
        ("native", "joint", {"rtol": 1e-5}),
        ("native", "absolute", {"rtol": 1e-5}),
        ("reference", "absolute", {"solver": "rk4", "step": 1e-2}),
        ("native", "joint", {"solver": "rk4", "step": 1e-2}),
        ("native", "joint", {"solver": "rodas4", "rtol": 1e-5}),
        ("reference", "joint", {"solver": "rodas4", "rtol": 1e-5}),
    ],
)
def test_a_run_ends_where_a_constraint_cannot_be_met(engine, coordinates, how):
    with pytest.raises(SimulationError, match="id=1 cannot be met any more at t=0.7[67]") as caught:
        ran(DRIVEN, FAR, coordinates=coordinates, engine=engine, **({"rtol": None} | how))
    assert LOCKS - 1e-6 < caught.value.time < LOCKS + how.get("step", 1e-6)
    result = caught.value.result
    assert result.time[-1] == pytest.approx(0.75)  # what was reached is there, and true
    assert result["plant.request_tip"][:, 0] == pytest.approx(START + 0.5 * result.time, abs=1e-9)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_sensor_before_it_ends_the_run_as_it_says(engine):
    found = ran(DRIVEN + HALT, FAR, engine=engine, solver="rk4", step=1e-3, rtol=None)
    assert found.result.time[-1] == pytest.approx(2 * (1.499 - START), abs=1e-6)
    assert found.result["plant.request_tip"][-1, 0] == pytest.approx(1.499, abs=1e-6)


def test_a_motion_that_stays_within_reach_runs_on():
    below = DRIVEN.replace("0.5 * TIME", "0.38 * SIN(TIME)")  # 0.002 short of the stretched pose
    found = ran(below, simulate("Transient", end_time=4, num_steps=40), engine="native")
    expected = START + 0.38 * np.sin(found.result.time)
    assert found.result["plant.request_tip"][:, 0] == pytest.approx(expected, abs=1e-9)


def unreachable(b):
    """x^2 = 1 - t: no real x beyond t = 1."""
    x = b.continuous("x", 1.0)
    b.derivative(x, -0.5 / x)
    b.invariant(x * x - 1 + b.time, what="the square of x")
    b.output("y", x)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_invariants_of_blocks_are_named(engine):
    d = Diagram()
    d.add("root", Made(unreachable))
    with pytest.raises(SimulationError, match=r"'root': the square of x cannot be met any more at t=1\.\d"):
        run(d, 1.5, solver="rk4", step=0.15, engine=engine)


def test_a_text_for_each_component_of_an_invariant():
    def two(b):
        x = b.continuous("x", [1.0, 2.0])
        b.derivative(x, 0 * x)
        b.invariant(x - 1.0, what=["first"])

    d = Diagram()
    d.add("two", Made(two))
    with pytest.raises(Exception, match=r"what=\['first'\].*each of 2"):
        run(d, 1.0)
