"""What is solved for at each evaluation: at the place that is asked for, whatever was asked before."""

import numpy as np
import pytest

from blocks import Constant, Function, Integrator, SimulationError, Sum
from cosim import Diagram, simulate
from cosim.engines.reference.interpreter import interpreter
from cosim.run.context import Context
from cosim.settings import RunSettings
from tests.helpers.made import Made, alone


def cubic() -> Diagram:
    """y + y^3 = x through a loop, x' = -y, and y as it was at the last accepted step."""

    def kept(b):
        u = b.input("u", 1)
        b.output("last", b.accepted("last", u, 0.0))

    d = Diagram("cubic")
    x, y, f = d.add("x", Integrator(2.0)), d.add("y", Sum("+-")), d.add("f", Function(lambda u: u**3))
    down, last = d.add("down", Function(lambda u: -u)), d.add("kept", Made(kept))
    x["y"] >> y["in1"]
    y["y"] >> f["u"]
    f["y"] >> y["in2"]
    y["y"] >> down["u"]
    down["y"] >> x["u"]
    y["y"] >> last["u"]
    return d


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("solver", ["rk4", "rodas4"])
def test_an_accepted_memory_sees_the_solution_at_the_end_of_the_step(solver, engine):
    """Not that of the last stage, which is tried elsewhere: steps of 0.5 s make much of the difference."""
    settings = {"step": 0.5} if solver == "rk4" else {"rtol": 1e-3, "atol": 1e-3}
    r = simulate(cubic(), 2.0, solver=solver, engine=engine, log_every="step", solve_loops=True, **settings)
    last, x = r["kept.last"][1:, 0], r["x.y"][1:, 0]
    assert len(x) >= 4
    np.testing.assert_allclose(last + last**3, x, rtol=1e-10)


def test_the_jacobian_is_that_of_the_place_asked_for():
    """d(-y)/dx = -1/(1 + 3 y^2) at x = 2, 10 and -30, where y = 1, 2 and -3; elsewhere between."""
    system = cubic().system(True)
    parts = interpreter(system, RunSettings(solver="rodas4"), Context.initial(system)).right_hand_side
    for x, y in ((2.0, 1.0), (10.0, 2.0), (-30.0, -3.0)):
        jacobian, slope = parts.linearise(0.3, np.array([x]))
        assert jacobian == pytest.approx(np.array([[-1 / (1 + 3 * y**2)]])) and slope == pytest.approx([0.0])
        assert parts.derivative(0.3, np.array([x + 1.0])) != pytest.approx([-y], rel=1e-3)
        assert parts.derivative(0.3, np.array([x])) == pytest.approx([-y])
        parts.derivative(0.3, np.array([0.5 * x]))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_what_fails_is_shown_as_it_was_at_the_first_bad_stage(engine):
    """x = 2 - t in a step of 6 s: sqrt(y) fails at its middle, where y + y^3 = -1; y ends at -1.38."""
    d = Diagram("root")
    x, y, f = d.add("x", Integrator(2.0)), d.add("y", Sum("+-")), d.add("f", Function(lambda u: u**3))
    root, z = d.add("root", Function(lambda u: np.sqrt(u))), d.add("z", Integrator())
    d.add("down", Constant(-1.0))["y"] >> x["u"]
    x["y"] >> y["in1"]
    y["y"] >> f["u"]
    f["y"] >> y["in2"]
    y["y"] >> root["u"]
    root["y"] >> z["u"]
    with pytest.raises(SimulationError, match=r"sqrt\(-0\.682327"):
        simulate(d, 6.0, solver="rk4", step=6.0, engine=engine, solve_loops=True)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_several_unknowns_each_start_from_where_they_were(engine):
    """sin(z - w t) = 0 has a solution every half turn; z = w t is followed, far from its start."""

    def equations(b):
        x = b.continuous("x", 0.0)
        b.derivative(x, [1.0])
        z = b.algebraic("z", [0.0, 0.0])
        b.residual(np.sin(z - np.array([2.0, 3.0]) * b.time))
        b.output("z", z)

    r = simulate(alone(equations), 4.0, engine=engine, solver="rk4", step=0.1)
    np.testing.assert_allclose(r["it.z"], np.outer(r.time, [2.0, 3.0]), atol=1e-8)
