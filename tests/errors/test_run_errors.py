"""What a run that cannot start, or stops on the way, says, word for word."""

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from blocks import (
    Block,
    Clock,
    Constant,
    Function,
    Gain,
    Integrator,
    PlantloopError,
    PythonFunction,
    SimulationError,
    Sine,
    StateSpace,
    Step,
    UnitDelay,
)
from blocks.errors import StepCollapsed
from cosim import Diagram, linearize, trim
from tests.helpers.runs import Simulation, build, simulate

LOOK = "Look there for a division by zero, a root of a negative number, or too long a step."


def of(term):
    """What is said about the first operation that gives no number."""
    return f"First non-finite term: {term}. {LOOK}"


def lag():
    d = Diagram("lag")
    d.connect(d.inport("u"), d.add("plant", StateSpace(-1.0, 1.0, 1.0))["u"])
    d.connect("plant.y", d.add("gain", Gain([[1.0], [0.0]]))["u"])
    return d


START = {
    "signal": (
        lambda: simulate(lag(), 1.0, signals=["plant.v"]),
        "'lag' has no signal 'plant.v'; did you mean 'plant.y'?",
    ),
    "parameter": (
        lambda: simulate(lag(), 1.0, parameters={"plant.a": 1.0}),
        "'lag' has no parameter 'plant.a'; did you mean 'plant.A'?",
    ),
    "parameter size": (
        lambda: simulate(lag(), 1.0, parameters={"plant.A": [1.0, 2.0]}),
        "parameter 'plant.A' got 2 numbers, expected (1, 1).",
    ),
    "structural parameter": (
        lambda: simulate(lag(), 1.0, parameters={"gain.k": [[1.0], [2.0]]}),
        "'gain.k' in 'lag' is structural (a zero of a matrix, or not a tunable number). Build the block anew "
        "with the other value and add it to a diagram.",
    ),
    "state": (
        lambda: simulate(lag(), 1.0, initial={"plant.q": 1.0}),
        "'lag' has no state 'plant.q'; did you mean 'plant.x'?",
    ),
    "state size": (
        lambda: simulate(lag(), 1.0, initial={"plant.x": [1.0, 2.0]}),
        "'plant.x' got 2 numbers, expected 1.",
    ),
    "state component": (
        lambda: simulate(lag(), 1.0, initial={"plant.x[1]": 2.0}),
        "no component 1 in 'plant.x': it has 1, counted from 0.",
    ),
    "input": (lambda: simulate(lag(), 1.0, inputs={"v": 1.0}), "'lag' has no input 'v'; there is 'u'."),
    "input value": (lambda: simulate(lag(), 1.0, inputs={"u": np.nan}), "'u' is not finite: nan."),
    "end": (lambda: simulate(lag(), -1.0), "until is -1.0, expected a finite time of zero or more [s]."),
    "log times": (
        lambda: simulate(lag(), 1.0, log_at=[0.0, 2.0]),
        "log_at goes from 0 to 2 s, outside the run from 0 to 1 s. Leave the others out, or run longer: "
        "until=.",
    ),
    "log order": (
        lambda: simulate(lag(), 1.0, log_at=[1.0, 0.0]),
        "log_at: entry 1 is 0 s, after one of 1 s; expected times that do not decrease. Sort them: "
        "np.sort(t), or np.unique(t) for each one once.",
    ),
    "log twice": (
        lambda: simulate(lag(), 1.0, log_at=[1.0], log_every=0.1),
        "log_every and log_at exclude each other; give one of them.",
    ),
    "log interval": (
        lambda: simulate(lag(), 1.0, log_every=0),
        "log_every is 0 s, expected a positive interval.",
    ),
    "step of an adaptive solver": (
        lambda: simulate(lag(), 1.0, step=0.1),
        "step= does not apply to solver 'dopri5', which is adaptive; give rtol, atol, max_step.",
    ),
    "tolerance of a fixed step": (
        lambda: simulate(lag(), 1.0, solver="rk4", atol=0.1),
        "atol= does not apply to solver 'rk4', which is fixed-step; give step.",
    ),
    "tolerance": (lambda: simulate(lag(), 1.0, rtol=0), "rtol is 0, expected a positive number."),
    "grid": (
        lambda: simulate(build("", a=Sine(sample=Fraction(10**6, 999983)), b=Sine(sample="1/999979")), 1.0),
        "rates 999979 Hz and every 1.00002 s have no common time grid that fits 64-bit integers. "
        "Give sample times "
        "whose ratio is a simple fraction.",
    ),
    "nothing to run": (lambda: simulate(3, 1.0), "expected a Diagram or a Block to simulate, got int."),
    "backwards": (
        lambda: Simulation(lag()).advance(-1.0),
        "advance(-1): expected a finite time not before the present 0 s.",
    ),
    "foreign snapshot": (
        lambda: Simulation(lag()).restore(Simulation(build("", c=Clock())).snapshot()),
        "this snapshot was taken of another diagram: 'x' has the shape (0,), expected (1,).",
    ),
    "rates that hardly ever meet": (
        lambda: linearize(build("", a=Sine(sample="1/99991"), b=Sine(sample="1/99989"))),
        "the rates of 'd' (99991 Hz, 99989 Hz) have 199980 ticks in their common period of 1 s; a linear "
        "model over it may have 50000 at most. Give sample times whose ratios are simple, or linearise a "
        "part of the diagram.",
    ),
    "no equilibrium": (
        lambda: trim(lag(), u={"u": 1.0}, y={}, fixed=["plant.x"]),
        "no equilibrium found: the derivative of state 'plant.x' is 1. Free an input or a state, "
        "widen the bounds, or "
        "start from a better guess.",
    ),
    "sampled trim": (
        lambda: trim(PythonFunction(lambda t, u: u, sample=0.1)),
        "trim knows no rest of 'plant': it calls Python at ticks. Trim the diagram without it, with its "
        "outputs as inports.",
    ),
}


@pytest.mark.parametrize("case", START)
def test_a_run_that_cannot_start_says(case):
    act, text = START[case]
    with pytest.raises(PlantloopError) as caught:
        act()
    assert str(caught.value) == text


@dataclass(frozen=True)
class Root(Block):
    """Derivative sqrt(0.35 - t) in the block itself; 0.3 + 0.1/2 is a little more than 0.35."""

    def define(self, b):
        x = b.continuous("x", 0.0)
        b.derivative(x, np.sqrt(0.35 - b.time))
        b.output("y", x)


def raises(t, u):
    raise RuntimeError("no such device")


RUN = {
    "division by zero": (
        lambda: build("c.y>f.u f.y>x.u", c=Clock(), f=Function(lambda u: 1.0 / (0.25 - u)), x=Integrator()),
        f"non-finite signal 'f.y' = inf in block 'f' at t=0.25 s (last finite t=0.2 s). {of('1 / 0')}",
    ),
    "root of a negative number": (
        lambda: build("", p=Root()),
        "non-finite derivative of 'p.x' = nan in block 'p' at t=0.35 s (last finite t=0.3 s). "
        + of("sqrt(-5.55111512e-17)"),
    ),
    "nothing reads it": (
        lambda: build("c.y>f.u", c=Clock(), f=Function(lambda u: np.log(u - 0.3))),
        f"non-finite signal 'f.y' = nan in block 'f' at t=0 s (last finite t=0 s). {of('log(-0.3)')}",
    ),
    "sampled": (
        lambda: build("c.y>f.u", c=Clock(), f=Function(lambda u: np.sqrt(0.25 - u), sample=0.1)),
        f"non-finite signal 'f.y' = nan in block 'f' at t=0.3 s (last finite t=0.3 s). {LOOK}",
    ),
    "component": (
        lambda: build("s.y>g.u g.y>x.u", s=Step(0.5, after=[1.0, 1e308]), g=Gain(10.0), x=Integrator()),
        "non-finite signal 'g.y[1]' = inf in block 'g' at t=0.5 s (last finite t=0.5 s). "
        + of("10 * 1e+308"),
    ),
    "python function, nan": (
        lambda: build("", f=PythonFunction(lambda t, u: np.nan, 0, sample=0.1)),
        f"non-finite signal 'f.y' = nan in block 'f' at t=0 s (last finite t=0 s). {LOOK}",
    ),
    "python function, error": (
        lambda: build("", f=PythonFunction(raises, 0, sample=0.1)),
        "the function of block 'f' raised RuntimeError at t=0 s: no such device.",
    ),
    "python function, size": (
        lambda: build("", f=PythonFunction(lambda t, u: [1.0, 2.0], 0, sample=0.1)),
        "the function of block 'f' returned 2 values at t=0 s, expected 1. Return as many numbers "
        "as the block's "
        "size says.",
    ),
}


@pytest.mark.parametrize("case", RUN)
def test_a_run_that_stops_says(case):
    make, text = RUN[case]
    with pytest.raises(SimulationError) as caught:
        simulate(make(), 1.0, solver="rk4", step=0.1, log_every=0.1)
    error = caught.value
    assert str(error) == text
    assert error.path and error.time is not None and not error.result.complete


def test_a_step_size_that_collapses_says():
    d = build("x.y>f.x f.y>x.u", x=Integrator(1.0), f=Function(lambda x: x**2))
    with pytest.raises(SimulationError) as caught:
        simulate(d, 2.0)
    head, _, tail = str(caught.value).partition(" at t=1 s: ")
    assert head.startswith("step size collapsed to ") and head.endswith(" s")
    assert tail == (
        "its error stays above the tolerance; the state that limits it is 'x.x'. Loosen rtol and "
        "atol, use a stiff "
        "solver, or look for a discontinuity there."
    )


@dataclass(frozen=True)
class RootAhead(Block):
    """x = sqrt(1 - t) ends at t = 1, and 1/x passes multiples of pi ever faster before."""

    def define(self, b):
        """One state, and an event that changes nothing of it."""
        x, n = b.continuous("x", 1.0), b.mode("n", 0.0)
        b.derivative(x, -0.5 / x)
        b.when(np.sin(1.0 / x[0]), [(n, n + 1.0)], "both", "wave")
        b.output("y", x)


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
def test_a_step_size_that_collapses_where_events_crowd_says_so(solver):
    with pytest.raises(StepCollapsed, match=r"^step size collapsed to .*'b\.x'") as caught:
        simulate(build("", b=RootAhead()), 2.0, solver=solver)
    crowd = r"Events crowd before it, the last 20 within \S+ s: 'b\.wave'\. What makes them come ever faster"
    assert re.search(crowd, str(caught.value))
    assert caught.value.result.message == str(caught.value)


def test_a_bad_sample_time_is_told_where_it_is_written():
    for make in (lambda: Sine(sample=0.1000001), lambda: Constant(np.nan), lambda: UnitDelay(-1)):
        with pytest.raises(PlantloopError, match="Sine|Constant|UnitDelay"):
            make()
