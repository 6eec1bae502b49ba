"""Python functions inside continuous equations: values, derivatives, failures, names."""

import gc
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from blocks import Block, BlockError, Integrator, PythonFunction, SimulationError
from cosim import Diagram, linearize, simulate
from cosim.engines.methods.crossing_rates import crossings_of


def swing(function, **fields) -> Diagram:
    d = Diagram("swing")
    f = d.add("f", PythonFunction(function, {"q": 1, "v": 1}, sample=None, **fields))
    q, v = d.add("q", Integrator(0.3)), d.add("v", Integrator(0.0))
    d.connect(f["y"], v["u"])
    d.connect(v["y"], q["u"])
    d.connect(q["y"], f["q"])
    d.connect(v["y"], f["v"])
    return d


def torque(t, u):
    """Something no symbol can pass: it branches on values."""
    q, v = u
    return -9.0 * q - (0.5 * v if v > 0 else 0.25 * v)


def jacobian(t, u):
    return [[-9.0, -0.5 if u[1] > 0 else -0.25]]


@pytest.mark.slow
@pytest.mark.parametrize("fields", [{}, {"jacobian": jacobian}])
@pytest.mark.parametrize("solver", ["dopri5", "Radau"])
def test_an_untraceable_function_in_the_equations(solver, fields):
    d = swing(torque, **fields)
    gc.collect()  # the function lives as long as the system
    r = simulate(d, 1.0, solver=solver, log_at=[1.0], engine="auto")
    w = np.sqrt(9 - 0.125**2)  # v < 0 until the first turn at t = pi/w > 1
    assert r["q.y"][0, 0] == pytest.approx(
        0.3 * np.exp(-0.125) * (np.cos(w) + 0.125 / w * np.sin(w)), abs=1e-6
    )


@pytest.mark.parametrize("fields", [{}, {"jacobian": jacobian}])
def test_linear_models_take_its_jacobian(fields):
    d = Diagram("linear")
    u = d.inport("u", 2)
    f = d.add("f", PythonFunction(torque, 2, sample=None, **fields))
    x = d.add("x", Integrator())
    d.connect(u, f["u"])
    d.connect(f["y"], x["u"])
    d.outport("x", x["y"])
    B = np.asarray(linearize(d, at={"u": [0.1, -0.2]}).B)
    assert pytest.approx(np.array([[-9.0, -0.25]]), abs=1e-6) == B


def test_without_inputs_it_is_a_function_of_time():
    d = Diagram("time")
    f, x = d.add("f", PythonFunction(lambda t, u: np.cos(t), 0, sample=None)), d.add("x", Integrator())
    d.connect(f["y"], x["u"])
    assert simulate(d, 1.0, log_at=[1.0], engine="auto")["x.y"][0, 0] == pytest.approx(np.sin(1), abs=1e-8)


def test_blocks_with_such_functions_are_known_by_name():
    assert swing(torque).system().opaque == ("f",)
    assert Diagram("none").system().opaque == ()


def test_what_goes_wrong_inside_is_told():
    def fails(t, u):
        if t > 0.5:
            raise ValueError("no such row")
        return 0.0

    with pytest.raises(SimulationError, match=r"(?s)'f\.y'.*ValueError.*no such row") as caught:
        simulate(swing(fails), 1.0, engine="auto")
    assert caught.value.time == pytest.approx(0.5, abs=1e-6)
    with pytest.raises(SimulationError, match="cannot reshape"):
        simulate(swing(lambda t, u: [1.0, 2.0, 3.0]), 1.0, engine="auto")


def test_memory_needs_ticks_and_a_jacobian_none():
    class Memory:
        def save(self):
            return b""

        def load(self, state):
            pass

    with pytest.raises(BlockError, match="memory is given without a sample time"):
        PythonFunction(torque, 2, sample=None, memory=Memory())
    with pytest.raises(BlockError, match="jacobian is given with a sample time"):
        PythonFunction(torque, 2, sample=0.1, jacobian=jacobian)


@dataclass(frozen=True)
class Thresholds(Block):
    """x' = 1; one function gives x minus each of many thresholds, whose crossings count."""

    def define(self, b):
        x = b.continuous("x", 0.0)
        b.derivative(x, np.ones(1))
        levels = 0.1 * (1.0 + np.arange(30))
        z = b.opaque("z", lambda t, u: u[0] - levels, x, 30, lambda t, u: np.ones((30, 1)))
        n = b.mode("n", 0.0)
        for k in range(30):
            b.when(z[k], {n: n + 1.0}, direction="rising")
        b.output("n", n)


def test_crossings_that_one_function_gives_call_it_once():
    """Not once for each crossing: an FMU is asked for all its indicators at once."""
    d = Diagram("many")
    d.add("m", Thresholds())
    s = d.system()
    f = ca.Function("crossings", [s.t, s.x, s.h], [crossings_of(s)])
    assert [f.instruction_id(k) for k in range(f.n_instructions())].count(ca.OP_CALL) == 1
    r = simulate(d, 1.55, log_at=[0.55, 1.55], engine="reference")
    assert r["m.n"].ravel().tolist() == [5.0, 15.0]
