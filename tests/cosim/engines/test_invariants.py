"""Invariants and step control: what rounding means counts where a block says so, for its own states."""

import numpy as np
import pytest

from blocks import PlantloopError
from cosim import Diagram, simulate
from tests.helpers.made import Made, alone


def circle(factor):
    """A point that goes round the unit circle, ever faster, told by its invariant."""

    def equations(b):
        x, y = b.continuous("x", 1.0), b.continuous("y", 0.0)
        w = 1.0 + 40.0 * np.exp(-50.0 * (b.time - 0.5) ** 2)
        b.derivative(x, -w * y)
        b.derivative(y, w * x)
        b.invariant(x * x + y * y - 1.0)
        if factor is not None:
            b.rounding_matters(factor)
        b.output("x", x)

    return equations


def exact(t):
    """x = cos of the integral of w."""
    from scipy.special import erf

    root = np.sqrt(50.0)
    return np.cos(t + 40.0 * np.sqrt(np.pi) / (2 * root) * (erf(root * (t - 0.5)) + erf(root * 0.5)))


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_every_error_counts_unless_rounding_matters(engine, solver):
    """The factor 1e14 calls errors of 1e-2 rounding: larger steps pass, and the answer shows it."""
    runs = {
        factor: simulate(alone(circle(factor)), 1.0, engine=engine, solver=solver, rtol=1e-9, atol=1e-11)
        for factor in (None, 0.0, 1e14)
    }
    assert runs[None]["it.x"].tobytes() == runs[0.0]["it.x"].tobytes()
    assert runs[None].statistics["rejected steps"] > 0
    assert runs[None]["it.x"][-1, 0] == pytest.approx(exact(1.0), abs=1e-6)
    assert runs[1e14].statistics["steps"] < runs[None].statistics["steps"]
    assert abs(runs[1e14]["it.x"][-1, 0] - exact(1.0)) > 1e-6


@pytest.mark.parametrize("rtol", [1e-9, 1e-3])
def test_both_engines_put_states_back_to_the_same_bits(rtol):
    """In every step: what is within a tenth of its tolerance stays, what is far off goes round again."""
    native, reference = (
        simulate(alone(circle(None)), 1.0, engine=engine, rtol=rtol, atol=0.01 * rtol, log_every="step")
        for engine in ("native", "reference")
    )
    assert native.time.tobytes() == reference.time.tobytes()
    assert native["it.x"].tobytes() == reference["it.x"].tobytes()


def test_the_factor_is_that_of_the_blocks_own_states():
    d = Diagram("two")
    d.add("first", Made(circle(3.0)))
    d.add("second", Made(circle(None)))
    assert d.system().rounding.tolist() == [3.0, 3.0, 0.0, 0.0]


@pytest.mark.parametrize("factor", [-1.0, np.nan])
def test_a_factor_that_is_none_is_refused(factor):
    with pytest.raises(PlantloopError, match="rounding_matters"):
        alone(circle(factor)).system()


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize(
    "how", [{"rtol": 1e-4}, {"solver": "rodas4", "rtol": 1e-4}, {"solver": "rk4", "step": 0.01}]
)
@pytest.mark.parametrize("direction", ["rising", "falling", "both"])
def test_a_crossing_on_a_circle_is_counted_once(engine, how, direction):
    """The way back onto the circle, between a step's solution and its event, is no crossing."""

    def equations(b):
        x, y, n = b.continuous("x", 1.0), b.continuous("y", 0.0), b.mode("n", 0.0)
        w = 1.0 + 40.0 * np.exp(-50.0 * (b.time - 0.5) ** 2)
        b.derivative(x, -w * y)
        b.derivative(y, w * x)
        b.invariant(x * x + y * y - 1.0)
        b.when(x[0] - 0.2, [(n, n + 1)], direction, "met")

    r = simulate(alone(equations), 1.0, engine=engine, **how)
    fine = exact(np.linspace(0.0, 1.0, 100_001)) > 0.2
    turns = np.flatnonzero(np.diff(fine.astype(int)))
    rising = fine[turns + 1]
    wanted = turns[{"rising": rising, "falling": ~rising, "both": rising | True}[direction]] * 1e-5
    assert [e.time for e in r.events] == pytest.approx(wanted, abs=0.02)
