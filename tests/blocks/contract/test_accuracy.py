"""A default run of every block agrees with one at a thousandth of the tolerance and of the step.

Inputs are sines of their own rate and size; outputs are looked at as they are and integrated, so that what a
block hides from the step control shows. Held outputs may differ beside an instant at which they change.
"""

from functools import lru_cache

import numpy as np
import pytest

from blocks import (
    MPC,
    AlgebraicConstraint,
    BitwiseOperator,
    Integrator,
    MatrixInverse,
    Memory,
    Prelookup,
    Product,
    PythonFunction,
    Sine,
    StopWhen,
)
from blocks.contract.trace import trace
from cosim import Diagram, simulate
from cosim.settings import RunSettings
from cosim.system import System
from tests.blocks.examples_table import EXAMPLES

LEFT_OUT = (
    StopWhen,  # has no output: its end is looked at below
    BitwiseOperator,  # is for sampled signals
    AlgebraicConstraint,  # its input must depend on its output
    Prelookup,  # the number of a place jumps, and its part: together they are smooth
    Memory,  # depends on the steps by design
)
RTOL = 1e-8  # the default of adaptive solvers
CASES = {
    f"{cls.__name__}{k}": example
    for cls, examples in EXAMPLES.items()
    for k, example in enumerate(examples)
    if cls not in LEFT_OUT
}
# A jump, and corners of tables that are called: of more than 32 rows, of cubics, of several axes.
LEFT_TO_ERROR_CONTROL = {
    "TrigonometricFunction1": 2e-6,
    "LookupTable1D4": 3e-6,
    "LookupTable1D6": 3e-6,
    "LookupTableND0": 3e-6,
}
UNTIL, APART = 4.0, 1e-6
TIMES = np.linspace(0.013, UNTIL, 97)
FINER = {"rtol": 1e-3 * RTOL, "atol": 1e-13, "max_step": UNTIL / 2000}
TOGETHER = 8  # blocks in one diagram, which is compiled once


def driven(d: Diagram, it: str, block, sizes) -> None:
    node = d.add(it, block)
    start = 0
    for name, size in sizes.items():
        k = np.arange(start, start + size)
        bias = 4.0 if isinstance(block, (Product, MatrixInverse)) else 0.0  # they divide
        sine = Sine((1.5 + 0.2 * k).tolist(), (2.0 + 0.7 * k).tolist(), (0.3 * k).tolist(), bias)
        wave = d.add(f"{it}_wave_{name.replace('.', '_')}", sine)
        d.connect(wave["y"], node[name])
        start += size
    for output in trace(block, sizes).declared.outputs:
        integral = d.add(f"{it}_integral_{output.name}", Integrator(np.zeros(output.size).tolist()))
        d.connect(node[output.name], integral["u"])


def grouped() -> list[list[str]]:
    """Names of cases by diagram: those that only the reference engine runs are alone."""
    alone = [name for name, (block, _) in CASES.items() if isinstance(block, (MPC, PythonFunction))]
    others = [name for name in CASES if name not in alone]
    return [others[k : k + TOGETHER] for k in range(0, len(others), TOGETHER)] + [[name] for name in alone]


GROUPS = grouped()


@lru_cache(maxsize=1)
def system(*names) -> System:
    """Some cases in one diagram."""
    d = Diagram("accuracy")
    for name in names:
        driven(d, name, *CASES[name])
    return d.system()


def run(names, engine, **settings):
    return simulate(system(*names), UNTIL, log_at=TIMES, engine=engine, **settings)


def compare(once, fine, name):
    """A case in a default run and in a fine one."""
    changes = np.array([e.time for e in fine.events])
    held = np.abs(TIMES[:, None] - changes[None, :]).min(axis=1, initial=np.inf) > APART
    assert held.sum() > 80  # rows
    signals = [s for s in once if s.startswith((f"{name}.", f"{name}_"))]
    assert signals
    for signal in signals:
        size = max(1.0, float(np.abs(fine[signal]).max()))
        error = np.abs(once[signal] - fine[signal]) / size
        rows = slice(None) if "_integral_" in signal else held
        assert error[rows].max() <= LEFT_TO_ERROR_CONTROL.get(name, 100 * RTOL), (
            signal,
            TIMES[rows][error[rows].max(axis=1).argmax()],
        )


@pytest.mark.slow
@pytest.mark.parametrize("names", GROUPS, ids=lambda names: f"{names[0]} to {names[-1]}")
def test_default_runs_agree_with_one_of_a_thousandth_of_step_and_tolerance(names):
    """Compiled together, and each by itself on the reference engine.

    Together the error is a mean over all states: so that of one block is no larger than if it were alone.
    """
    fine = run(names, "auto", **FINER)
    if len(names) > 1:
        once = run(names, "native", rtol=RTOL / TOGETHER, atol=RunSettings().atol / TOGETHER)
        for name in names:
            compare(once, fine, name)
    for name in names:
        compare(run([name], "reference"), fine, name)


@pytest.mark.slow
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
