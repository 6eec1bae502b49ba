"""Conditional parts with continuous states inside each other, against exponentials between instants."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks import Gain, Ramp, TimeTable
from cosim import Diagram, Enabled, simulate
from tests.helpers.continuous_nests import Followed, built, continuous_nests
from tests.helpers.nests import signals

GRID, INSTANTS = 0.125, 10  # s
LEVELS = st.lists(st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0]), min_size=INSTANTS, max_size=INSTANTS)
FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))


def agrees(nest, u, levels, engine="reference"):
    d = Diagram("d")
    times = [k * GRID for k in range(INSTANTS)]
    node = d.add("nest", built(nest))
    for name, values in {"u": u, **levels}.items():
        d.add(name, TimeTable(times, values, interpolation="previous")) >> node[name]
    followed, wanted = Followed(nest), []
    for k in range(INSTANTS):
        now = {name: values[k] for name, values in levels.items()}
        followed.jump(now)
        wanted.append(followed.output(u[k], now))
        for _ in range(2):
            followed.flow(GRID / 2, u[k], now)
            wanted.append(followed.output(u[k], now))
        wanted.pop()  # the left limit at the next instant
    half = [k * GRID / 2 for k in range(2 * INSTANTS)]
    found = simulate(d, half[-1], engine=engine, log_at=half, rtol=1e-9, atol=1e-11)["nest.y"][:, 0]
    np.testing.assert_allclose(found, wanted, atol=1e-7, err_msg=f"{nest}, {u}, {levels}")


@pytest.mark.slow
@FEW
@given(st.data(), continuous_nests(3), LEVELS)
def test_nests_with_continuous_states_agree_with_exponentials(data, nest, u):
    agrees(nest, u, {name: data.draw(LEVELS) for name in signals(nest)})


LEAF, QUICK = ("leaf",), ("quick",)
ANEW = ("resettable", "either", "c2", LEAF)
U = [-1, 3, -1, 3, -1, 2, 2, 2, 3, 3]


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(
    ("nest", "levels"),
    [  # starts anew where it is active again; falls back to what no branch chosen at the start decides
        (
            ("enabled", True, False, "c0", ("enabled", False, False, "c1", ANEW)),
            [
                [0, 0, -1, 2, -1, -1, 1, 0.5, 0.5, -1],
                [2, 0.5, 1, -1, 1, 2, 0, -1, 1, 1],
                [1, 1, 0.5, 1, -1, 0.5, 1, 0, 0, 0],
            ],
        ),
        (
            ("enabled", False, True, "c0", ("if", True, "c1", ("if", True, "c2", LEAF, QUICK), LEAF)),
            [
                [1, -1, 1, 2, -1, 0.5, 0.5, 0, 0, 1],
                [2, 0, -1, -1, 2, 1, -1, 2, 0, 0.5],
                [0, 2, -1, 0.5, 0, 0, 1, 0.5, 1, 0],
            ],
        ),
    ],
)
def test_nests_that_were_wrong_once(nest, levels, engine):
    agrees(nest, U, {f"c{k}": values for k, values in enumerate(levels)}, engine)


@pytest.mark.slow
def test_a_condition_that_fell_meanwhile_leaves_what_was_last_active():
    """u = t; the outer part is active until 1 and from 2.1, at crossings within steps, the inner to 1.5."""
    inner, d = Diagram("inner"), Diagram("d")
    inner.connect(inner.inport("u"), inner.add("part", Enabled(Gain(1.0)))["u"])
    inner.connect(inner.inport("c"), inner["part"]["enable"])
    inner.outport("y", inner["part"]["y"])
    d.add("u", Ramp()) >> d.add("outer", Enabled(inner))["u"]
    d.add("c0", TimeTable([0.0, 0.5, 1.5, 2.7, 4.0], [1.0, 1.0, -1.0, 1.0, 1.0])) >> d["outer"]["enable"]
    d.add("c1", TimeTable([0.0, 0.5, 2.5, 4.0], [1.0, 1.0, -1.0, -1.0])) >> d["outer"]["c"]
    found = simulate(d, 4.0, engine="reference", log_at=[0.9, 1.2, 2.0, 2.2, 4.0])["outer.y"][:, 0]
    np.testing.assert_allclose(found, [0.9, 1.0, 1.0, 1.0, 1.0], atol=1e-12)
