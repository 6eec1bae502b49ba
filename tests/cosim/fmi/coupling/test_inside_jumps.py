"""Jumps inside the steps of units: error control finds what they cost, and where they are."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from cosim import FMU, Coupling, Diagram, simulate
from cosim.fmi.coupling.inside_jumps import Halves
from tests.helpers.fmus import build_fmu, needs_compiler
from tests.helpers.units import LinearUnit

TOLERANCE = 1e-5
WAYS = [
    Coupling(rtol=TOLERANCE),
    Coupling(rtol=TOLERANCE, extrapolation=2),
    Coupling(rtol=TOLERANCE, iterate=True),
    Coupling(rtol=TOLERANCE, iterate="newton", extrapolation=1),
    Coupling(rtol=TOLERANCE, order="gauss-seidel"),
    Coupling(rtol=TOLERANCE, order="gauss-seidel", extrapolation=1),
]
TIMES = np.array([1.3, 2.5])


def lagged(t, jumps=(0.0, 1.0, 2.0, 3.0, 4.0)):
    """x' = u - x, where u rises by 1 at each of these times [s]."""
    return sum(np.where(t > s, 1.0 - np.exp(-(t - s)), 0.0) for s in jumps)


def stairs(through: bool, sample="3/10") -> Diagram:
    """A counter of seconds drives a lag, `through` an FMU whose output follows its input at once."""
    d = Diagram("stairs")
    d.add("a", FMU(build_fmu("stair"), kind="cs", sample=sample))
    d.add("b", FMU(build_fmu("lag"), kind="cs", sample=sample, start={"x": 0.0}))
    if through:
        d.add("f", FMU(build_fmu("feedthrough"), kind="cs", sample=sample))
        for name in ("Int32_input", "Boolean_input", "Enumeration_input"):
            d.ground(f"f.{name}")
        d.connect("a.counter", "f.Float64_input")
    d.connect("f.Float64_output" if through else "a.counter", "b.u")
    return d


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("coupling", "through"), [(c, k in (0, 2, 5)) for k, c in enumerate(WAYS)], ids=str)
def test_what_jumps_inside_steps_cost_is_within_the_tolerance(coupling, through):
    """Jumps in first and second halves of steps of 0.3 s: two halves erred by up to 8500 times it."""
    found = [
        simulate(stairs(through), 2.5, coupling=coupling, log_at=TIMES, engine=engine)
        for engine in ("native", "reference")
    ]
    assert np.array_equal(found[0]["b.y"], found[1]["b.y"])
    assert found[0].coupling.macro_steps == found[1].coupling.macro_steps < 500
    error = np.abs(found[0]["b.y"].ravel() - lagged(TIMES))
    assert (error <= TOLERANCE * lagged(TIMES)).all()


@needs_compiler
@pytest.mark.parametrize("engine", ["native", "reference"])
def test_jumps_where_steps_end_cost_nothing(engine):
    """What was held up to the jump was right: no step is made again."""
    r = simulate(
        stairs(False, "1/4"),
        4.0,
        coupling=Coupling(rtol=TOLERANCE),
        log_at=np.arange(1, 17) / 4,
        engine=engine,
    )
    assert r["b.y"].ravel() == pytest.approx(lagged(np.arange(1, 17) / 4), abs=1e-9)
    assert r.coupling.rejected == 0


@dataclass(frozen=True, eq=False)
class Shaped(LinearUnit):
    """An output that is a function of time, and is said to be continuous."""

    shape: Callable = float

    def driven(self):
        block = super().driven()

        def make():
            unit = block.make()
            unit.outputs = lambda: np.array([self.shape(unit.z[0])])
            return unit

        return replace(block, make=make)


STEPS = {0.337: 1.0, 0.7: -2.0, 1.381: 1.0}


@pytest.mark.parametrize("coupling", [WAYS[1], WAYS[2], WAYS[5]], ids=str)
def test_jumps_of_what_else_is_smooth(coupling):
    """x' = u - x, u = t / 5 + jumps, in a loop that nothing comes back through."""
    clock = {"A": np.array([[0.0, 1.0], [0.0, 0.0]]), "B": np.zeros((2, 1)), "z0": np.array([0.0, 1.0])}
    shape = lambda t: 0.2 * t + sum(size for s, size in STEPS.items() if t >= s)
    d = Diagram("shaped")
    d.add("a", Shaped(**clock, C=np.eye(1), sample="1/20", shape=shape))
    d.add("b", LinearUnit(-np.eye(1), np.eye(1), np.eye(1), np.zeros(1), "1/20"))
    d.connect("a.y", "b.u")
    d.connect("b.y", "a.u")
    loose = replace(coupling, rtol=3e-3, atol=3e-3)
    r = simulate(d, 2.0, coupling=loose, log_at=[0.6, 2.0], engine="reference")
    exact = [
        0.2 * (t - 1.0 + np.exp(-t)) + sum(size * lagged(t, (s,)) for s, size in STEPS.items())
        for t in (0.6, 2.0)
    ]
    assert r["b.y"].ravel() == pytest.approx(exact, abs=6e-3)


def passed_on(t, jumps=STEPS):
    """x' = y - x, y = z + u / 2, z' = u - z of the same u."""
    found = 0.3 * (t - 1.0 + np.exp(-t)) - 0.2 * (1.0 - np.exp(-t)) + 0.2 * t * np.exp(-t)
    after = [(size, t - s) for s, size in jumps.items() if t > s]
    return found + sum(size * (1.5 * (1.0 - np.exp(-s)) - s * np.exp(-s)) for size, s in after)


@pytest.mark.parametrize("coupling", [WAYS[1], WAYS[5]], ids=str)
def test_jumps_that_a_unit_passes_on_at_once(coupling):
    """It makes its steps again with what has jumped by their end, which halves of steps do not show."""
    clock = {"A": np.array([[0.0, 1.0], [0.0, 0.0]]), "B": np.zeros((2, 1)), "z0": np.array([0.0, 1.0])}
    shape = lambda t: 0.2 * t + sum(size for s, size in STEPS.items() if t >= s)
    one, d = np.eye(1), Diagram("passed on")
    d.add("a", Shaped(**clock, C=one, sample="1/20", shape=shape))
    d.add("f", LinearUnit(-one, one, one, np.zeros(1), "1/20", D=one / 2))
    d.add("b", LinearUnit(-one, one, one, np.zeros(1), "1/20"))
    d.ground("a.u")
    d.connect("a.y", "f.u")
    d.connect("f.y", "b.u")
    loose = replace(coupling, rtol=3e-3, atol=3e-3)
    r = simulate(d, 2.0, coupling=loose, log_at=[0.6, 2.0], engine="reference")
    assert r["b.y"].ravel() == pytest.approx([passed_on(0.6), passed_on(2.0)], abs=6e-3)


def test_what_counts_as_a_jump():
    """One half changes eight times what the other does, and more than is tolerated."""
    passed = [np.zeros(5), np.array([0.9, 0.1, 0.1, 0.0, 9.0]), np.array([1.0, 1.0, 0.8, 1e-3, 9.0])]
    step = Halves(1.0, 1.5, passed, np.full(5, 1e-2), np.arange(5) < 4)
    assert step.jumped.tolist() == [True, True, False, False, False]
    assert step.first.tolist() == [True, False, False, False, False]
    assert step.most.tolist() == pytest.approx([0.9, 0.9, 0.7, 1e-3, 9.0])
    assert [step.stays(step.most * f) for f in (1.0, 1.4, 1.5)] == [True, True, False]
    assert step.is_at_end(np.array([0.1, 0.1, 0.9, 1.0, 0.0]))
    assert not step.is_at_end(np.array([0.0, 0.9, 0.0, 0.0, 0.0]))
    assert step.h == 0.5


def test_limits_of_what_counts_as_a_jump():
    """Just eight times, and just the tolerance, are none: all numbers here are exact."""
    passed = [np.zeros(3), np.array([2.0, 2.125, 0.25]), np.array([2.25, 2.375, 0.25])]
    step = Halves(0.0, 1.0, passed, np.full(3, 0.25), np.ones(3, bool))
    assert step.jumped.tolist() == [False, True, False]
