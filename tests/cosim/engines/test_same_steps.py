"""Adaptive steps are the same bits on both engines: sizes, rejections, errors, dense output, delays, looks.

Both engines are written from the same rules, each on its own, so each notices a mistake of the other.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from blocks import Hold, SimulationError, TransportDelay
from cosim import Diagram, simulate
from tests.helpers.hybrid import same
from tests.helpers.made import Made, alone

ENGINES = ("reference", "native")
WALL = ("wall time [s]", "time in Python [s]", "engine")


def counted(result):
    """Steps, rejections, evaluations, events, ticks, and the state that limited most."""
    return {name: value for name, value in result.statistics.items() if name not in WALL}


def alike(d: Diagram, until: float, **options):
    """Both engines' results are the same, whatever is logged; the one of the reference engine."""
    close = 1e-5 if options.get("solver") == "rodas4" else 0.0  # linear equations are solved in another order
    for log in ({"log_every": "step"}, {"log_every": until / 7.3}):
        reference, found = (simulate(d, until, engine=engine, **log, **options) for engine in ENGINES)
        same(reference, found, close)
        np.testing.assert_allclose(found.time, reference.time, rtol=close)
        assert counted(found) == counted(reference)
    return reference


def uneven(b):
    """Van der Pol beside driven states of other sizes, one that starts at zero, and a crossing."""
    x, v = b.continuous("x", 2.0, nominal=2.0), b.continuous("v", 0.0)
    b.derivative(x, v)
    b.derivative(v, 3.0 * (1.0 - x * x) * v - x)
    big = b.continuous("big", [1e5, 0.0], nominal=1e4)
    b.derivative(big, np.stack([-3.0 * big[0] + 1e5 * np.cos(b.time) + 0 * v[0], big[0] + 0.0]))
    late = b.continuous("late", 0.0)
    b.derivative(late, np.exp(-40.0 * (b.time - 1.5) ** 2) * (1.0 + 0.2 * x) - 0.1 * late)
    b.when(x[0] - 0.7, [(late, 0.5 * late)], "both", "halved")
    b.output("x", x)
    b.output("rest", np.concatenate([v, big, late]))


@pytest.fixture(scope="module")
def uneven_diagram():
    return alone(uneven)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rtol": 1e-3, "atol": 1e-4},
        {"rtol": 1e-10, "atol": 1e-12},
        {"max_step": 0.03},
        {"initial": {"it.x": 0.0, "it.big": [0.0, 0.0]}},
        {"initial": {"it.big": [1e200, 0.0]}, "atol": 1e-120, "rtol": 1e-2},
        {"solver": "rodas4"},
        {"solver": "rodas4", "rtol": 1e-3, "atol": 1e-4},
        {"solver": "rodas4", "max_step": 0.1},
    ],
    ids=str,
)
def test_step_sizes(uneven_diagram, options):
    r = alike(uneven_diagram, 5.0, **options)
    assert r.statistics["steps"] > 20
    assert "initial" in options or len(r.events) > 0
    assert "max_step" in options or r.statistics["rejected steps"] > 0


# --- delays ----------------------------------------------------------------------------------------------


def feedback(b):
    """What is fed back a while later, slowly and fast, and how much later depends on a state."""
    u = b.input("u", size=2)
    x = b.continuous("x", [1.0, 0.3])
    b.derivative(x, np.stack([-1.3 * u[0] + 0.0 * x[0], np.cos(25.0 * b.time) * u[1] - x[1]]))
    b.output("x", x)
    b.output("later", 0.4 + 0.1 * x[0] * x[0])


@pytest.fixture(scope="module")
def delayed():
    d = Diagram("delayed")
    f, past = d.add("f", Made(feedback)), d.add("past", TransportDelay(0.37, [1.0, 0.2]))
    d.connect(f["x"], past["u"])
    d.connect(past["y"], f["u"])
    d.connect(past["y"], d.add("sampled", Hold(0, sample="1/3"))["u"])
    return d


@pytest.mark.parametrize("options", [{}, {"rtol": 1e-3, "atol": 1e-4}, {"rtol": 1e-7, "atol": 1e-9}], ids=str)
def test_steps_over_delays(delayed, options):
    alike(delayed, 2.5, **options)


# --- looks at what depends on time alone -----------------------------------------------------------------


@pytest.mark.parametrize("size", [1e-3, 1e3])
@pytest.mark.parametrize("step", [100.0, 0.3])
@pytest.mark.parametrize("states", [False, True], ids=["stateless", "with a state"])
def test_a_wave_that_gets_faster_is_followed_in_any_size(size, states, step):
    """size sin(exp(t)) is zero at ln(k pi), also far inside a step and after ticks between two stretches."""

    def wave(b):
        counted = b.mode("counted", 0.0)
        b.when(size * np.sin(np.exp(b.time)), [(counted, counted + 1.0)], "both", "zero")
        b.output("y", counted)
        if states:
            x = b.continuous("x", 0.0)
            b.derivative(x, 1.0 + 0.0 * x)

    d = alone(wave)
    d.connect("it.y", d.add("sampled", Hold(0, sample="17/10"))["u"])
    r = alike(d, 4.0, max_step=step)
    k = np.arange(1, 18)
    assert [e.time for e in r.events] == pytest.approx(np.log(k * np.pi), abs=1e-12)
    time, seen = r.ticks("sampled.y")
    assert time.tolist() == [0.0, 1.7, 3.4] and seen[:, 0].tolist() == [0.0, 1.0, 9.0]


# --- steps that cannot go on -----------------------------------------------------------------------------


def runs_away(b):
    """x = 1 / (1 - t / end)"""
    (end,) = b.parameters(end=1.0)
    x = b.continuous("x", 1.0)
    b.derivative(x, x * x / end)


def jumps(b):
    """No step over the end is small enough."""
    (end,) = b.parameters(end=1.0)
    x = b.continuous("x", 1.0)
    b.derivative(x, 1e30 * (b.time > end) + 0.0 * x)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*switches")
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
@pytest.mark.parametrize("equations", [runs_away, jumps])
@pytest.mark.parametrize("end", [0.003, 1.0, 1000.0])
def test_what_cannot_go_on_ends_both_runs_alike(equations, solver, end):
    """Near zero, where steps may get smaller, and late in a run, where they may not."""
    told, d, given = [], alone(equations), {"it.end": end}
    for engine in ENGINES:
        with pytest.raises(SimulationError) as caught:
            simulate(d, 2.0 * end, engine=engine, solver=solver, parameters=given)
        assert caught.value.time == pytest.approx(end, rel=1e-6)
        told.append((str(caught.value), caught.value.path, counted(caught.value.result)))
    assert told[0] == told[1]
    if equations is jumps:
        step = float(re.search("collapsed to (.*) s at", told[0][0])[1])
        assert 1e-16 * max(end, 0.01) < step < 1e-14 * max(end, 0.01)
