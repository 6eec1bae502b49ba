"""A default run of every block agrees with one at a thousandth of the tolerance and of the step.

Inputs are sines of their own rate and size; outputs are looked at as they are and integrated, so that what a
block hides from the step control shows. Held outputs may differ beside an instant at which they change.
"""

import numpy as np
import pytest

from blocks import (
    MPC,
    PID,
    AlgebraicConstraint,
    BitwiseOperator,
    Integrator,
    LookupTable1D,
    LookupTableND,
    MatrixInverse,
    Memory,
    Norm,
    PipeDelay,
    Prelookup,
    Product,
    PythonFunction,
    Saturation,
    ScheduledPID,
    Sine,
    StopWhen,
    TrigonometricFunction,
)
from blocks.contract.trace import trace
from cosim import Diagram, simulate
from tests.blocks.examples_table import EXAMPLES

LEFT_OUT = (
    StopWhen,  # has no output: its end is looked at below
    BitwiseOperator,  # is for sampled signals
    AlgebraicConstraint,  # its input must depend on its output
    Prelookup,  # the number of a place jumps, and its part: together they are smooth
    Memory,  # depends on the steps by design
)
RTOL = 1e-8  # the default of adaptive solvers
CASES = [
    pytest.param(block, sizes, id=f"{cls.__name__}{k}")
    for cls, examples in EXAMPLES.items()
    for k, (block, sizes) in enumerate(examples)
    if cls not in LEFT_OUT
]
# Their corners are left to error control, as they say: what it lets pass where a step lies over a corner.
CORNERS = {
    PID: 2e-6,
    Saturation: 1e-5,
    LookupTable1D: 3e-6,
    Norm: 5e-6,
    TrigonometricFunction: 1e-5,
    LookupTableND: 3e-6,
    ScheduledPID: 2e-5,
    PipeDelay: 1e-5,  # of what entered, where it leaves
}
UNTIL, APART = 4.0, 1e-6


def driven(block, sizes) -> Diagram:
    d = Diagram("accuracy")
    node = d.add("it", block)
    start = 0
    for name, size in sizes.items():
        k = np.arange(start, start + size)
        bias = 4.0 if isinstance(block, (Product, MatrixInverse)) else 0.0  # they divide
        sine = Sine((1.5 + 0.2 * k).tolist(), (2.0 + 0.7 * k).tolist(), (0.3 * k).tolist(), bias)
        wave = d.add(f"wave_{name.replace('.', '_')}", sine)
        d.connect(wave["y"], node[name])
        start += size
    for output in trace(block, sizes).declared.outputs:
        integral = d.add(f"integral_{output.name}", Integrator(np.zeros(output.size).tolist()))
        d.connect(node[output.name], integral["u"])
    return d


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(("block", "sizes"), CASES)
def test_a_default_run_agrees_with_one_of_a_thousandth_of_step_and_tolerance(block, sizes, engine):
    engine = "auto" if isinstance(block, (MPC, PythonFunction)) else engine
    times = np.linspace(0.013, UNTIL, 97)
    once = simulate(driven(block, sizes), UNTIL, log_at=times, engine=engine)
    finer = {"rtol": 1e-3 * RTOL, "atol": 1e-13, "max_step": UNTIL / 2000}
    fine = simulate(driven(block, sizes), UNTIL, log_at=times, **finer)  # compiled where it can be
    changes = np.array([e.time for e in fine.events])
    held = np.abs(times[:, None] - changes[None, :]).min(axis=1, initial=np.inf) > APART
    for name in once:
        size = max(1.0, float(np.abs(fine[name]).max()))
        error = np.abs(once[name] - fine[name]) / size
        rows = slice(None) if name.startswith("integral") else held
        assert error[rows].max() <= CORNERS.get(type(block), 100 * RTOL), (
            name,
            times[rows][error[rows].max(axis=1).argmax()],
        )


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("log", [{}, {"log_every": 0.07}, {"log_every": "step"}, {"log_at": [0.0, 0.3, 2.0]}])
@pytest.mark.parametrize("direction", ["rising", "falling", "both"])
def test_a_default_run_stops_where_a_finer_one_does_and_shows_it_in_its_last_row(direction, log, engine):
    d = Diagram("stopping")
    wave, integral = d.add("wave", Sine(1.5, 2.0, 0.3)), d.add("integral", Integrator([0.1]))
    over = d.add("over", StopWhen("over", 0.85, direction))
    d.connect(wave["y"], integral["u"])
    d.connect(integral["y"], over["u"])

    def x(t):
        return 0.1 + 0.75 * (np.cos(0.3) - np.cos(2.0 * t + 0.3))

    ends = []
    for settings in ({}, {"rtol": 1e-3 * RTOL, "atol": 1e-13, "max_step": UNTIL / 2000}):
        r = simulate(d, UNTIL, engine=engine, **log, **settings)
        assert r.complete and r.message == "over"
        assert r.time[-1] == r.events[-1].time and (np.diff(r.time) > 0).all()
        assert r["integral.y"][:, 0] == pytest.approx(x(r.time), abs=100 * RTOL)
        ends.append((r.time[-1], r["integral.y"][-1, 0], r["wave.y"][-1, 0]))
    (t, y, wave_at_end), fine = ends
    assert [t, y, wave_at_end] == pytest.approx(fine, abs=100 * RTOL)
    assert y == pytest.approx(0.85, abs=1e-12)
    assert (wave_at_end > 0) == (direction != "falling")
