"""A default run of every block agrees with one at a thousandth of the tolerance and of the step.

Inputs are sines of their own rate and size; outputs are looked at as they are and integrated, so that what a
block hides from the step control shows. Held outputs may differ beside an instant at which they change.
"""

import numpy as np
import pytest

from blocks import PID, Integrator, LookupTable1D, Product, PythonFunction, Saturation, Sine, StopWhen
from blocks.contract.trace import trace
from cosim import Diagram, simulate
from tests.blocks.examples_table import EXAMPLES

RTOL = 1e-8  # the default of adaptive solvers
CASES = [
    pytest.param(block, sizes, id=f"{cls.__name__}{k}")
    for cls, examples in EXAMPLES.items()
    for k, (block, sizes) in enumerate(examples)
    if cls is not StopWhen  # has no output; test_stopping looks at it
]
# Their corners are left to error control, as they say: what it lets pass where a step lies over a corner.
CORNERS = {PID: 2e-6, Saturation: 1e-5, LookupTable1D: 3e-6}
UNTIL, APART = 4.0, 1e-6


def driven(block, sizes) -> Diagram:
    d = Diagram("accuracy")
    node = d.add("it", block)
    start = 0
    for name, size in sizes.items():
        k = np.arange(start, start + size)
        bias = 4.0 if isinstance(block, Product) else 0.0  # it divides
        sine = Sine((1.5 + 0.2 * k).tolist(), (2.0 + 0.7 * k).tolist(), (0.3 * k).tolist(), bias)
        wave = d.add(f"wave_{name}", sine)
        d.connect(wave["y"], node[name])
        start += size
    for output in trace(block, sizes).declared.outputs:
        integral = d.add(f"integral_{output.name}", Integrator(np.zeros(output.size).tolist()))
        d.connect(node[output.name], integral["u"])
    return d


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize(("block", "sizes"), CASES)
def test_a_default_run_agrees_with_one_of_a_thousandth_of_step_and_tolerance(block, sizes, engine):
    engine = "auto" if isinstance(block, PythonFunction) else engine
    times = np.linspace(0.013, UNTIL, 97)
    once = simulate(driven(block, sizes), UNTIL, log_at=times, engine=engine)
    finer = {"rtol": 1e-3 * RTOL, "atol": 1e-13, "max_step": UNTIL / 2000}
    fine = simulate(driven(block, sizes), UNTIL, log_at=times, engine=engine, **finer)
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
