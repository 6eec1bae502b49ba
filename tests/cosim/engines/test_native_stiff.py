"""The stiff integrator on the native engine: steps, Jacobian and factors beside the reference engine's."""

from __future__ import annotations

from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest

from benchmarks.chain import deck
from blocks import Constant, Gain, Hold, Integrator, Sine, StateSpace, Sum
from blocks.contract.block import Block, Equations
from blocks.errors import SimulationError
from cosim import Diagram, Simulation, simulate, simulate_many
from cosim.engines.methods.stiff import linearised, plan
from cosim.engines.native import build
from cosim.engines.native.native import NativeEngine, obstacles
from cosim.engines.reference.interpreter import interpreter
from cosim.run.context import Context
from cosim.settings import RunSettings
from plant import Plant
from tests.cosim.engines.test_stiff import Riccati, VanDerPol, one


@dataclass(frozen=True)
class Tooth(Block):
    """A fast state chases a slow one that falls and is set back to 1 where it reaches zero."""

    def define(self, b: Equations) -> None:
        slow, fast = b.continuous("slow", initial=1.0), b.continuous("fast", initial=0.0)
        b.derivative(slow, -1.0 - 0.1 * fast)
        b.derivative(fast, 1e4 * (np.cos(slow) - fast) + np.sin(3.0 * b.time))
        b.when(slow, [(slow, 1.0)], direction="falling")
        b.output("y", fast)
        b.output("s", slow)


@dataclass(frozen=True)
class Runaway(Block):
    """x' = x^2: infinite at t = 1."""

    def define(self, b: Equations) -> None:
        x = b.continuous("x", initial=1.0)
        b.derivative(x, x * x)
        b.output("y", x)


@dataclass(frozen=True)
class Root(Block):
    """x' = -sqrt(x) - 1: no number soon after x has reached zero."""

    def define(self, b: Equations) -> None:
        x = b.continuous("x", initial=1.0)
        b.derivative(x, -np.sqrt(x) - 1.0)
        b.output("y", x)


def rod(n: int = 60) -> Diagram:
    """Heat equation, driven at its end."""
    a = (np.diag(-2.0 * np.ones(n)) + np.diag(np.ones(n - 1), 1) + np.diag(np.ones(n - 1), -1)) * (n + 1) ** 2
    b = np.zeros((n, 1))
    b[-1] = (n + 1) ** 2
    d = Diagram("rod")
    d.add("end", Constant(1.0))["y"] >> d.add("rod", StateSpace(a, b, np.eye(n), np.zeros((n, 1))))["u"]
    return d


def loop() -> Diagram:
    """x' = -1e4 y with y = x - 1000 y + sin t."""
    d = Diagram("loop")
    x, y = d.add("x", Integrator(1.0)), d.add("y", Sum("+-+"))
    inner, outer, drive = d.add("inner", Gain(1000.0)), d.add("outer", Gain(-1e4)), d.add("drive", Sine())
    x["y"] >> y["in1"]
    y["y"] >> inner["u"]
    inner["y"] >> y["in2"]
    drive["y"] >> y["in3"]
    y["y"] >> outer["u"]
    outer["y"] >> x["u"]
    return d


def sampled() -> Diagram:
    """A stiff oscillator fed back through a hold."""
    d = Diagram("sampled")
    v, h = d.add("v", VanDerPol(50.0)), d.add("hold", Hold(1, sample="1/20"))
    v["y"] >> h["u"]
    h["y"] >> d.add("x", Integrator())["u"]
    return d


def chain(n: int) -> Diagram:
    """Rods in a row, through call nodes when they are many."""
    d = Diagram("chain")
    d.add("c", Plant.read(deck(n)))
    return d


def both(d: Diagram, until: float, **options):
    """Results of both engines with rodas4."""
    options |= {"solver": "rodas4"}
    return [simulate(d, until, engine=engine, **options) for engine in ("reference", "native")]


CASES = {
    "van der Pol": (lambda: one(VanDerPol()), 1000.0, {"log_every": 100.0, "rtol": 1e-6}),
    "in time": (lambda: one(Riccati()), 3.0, {"log_every": "step"}),
    "rod": (rod, 0.5, {"log_every": 0.05}),
    "loop": (loop, 1.0, {"log_every": 0.1, "solve_loops": True}),
    "events": (lambda: one(Tooth()), 5.0, {"log_every": 0.1}),
    "ticks": (sampled, 2.0, {"log_every": 0.1}),
    "plant": (lambda: chain(2), 0.3, {"log_every": 0.05}),
    "chain": (lambda: chain(25), 0.02, {"log_every": 0.01, "rtol": 1e-5}),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_engines_agree(name):
    make, until, options = CASES[name]
    reference, found = both(make(), until, **options)
    assert found.settings["engine"].value == "native"
    for signal in reference.signals:
        np.testing.assert_allclose(found[signal], reference[signal], rtol=1e-7, atol=1e-8, err_msg=signal)
    assert [e.name for e in found.events] == [e.name for e in reference.events]
    assert name != "events" or len(found.events) > 3
    for count in ("steps", "rejected steps", "evaluations"):
        assert found.statistics[count] == pytest.approx(reference.statistics[count], rel=0.01), count


@pytest.mark.parametrize("name", ["in time", "rod", "loop", "chain"])
def test_jacobian_is_that_of_the_reference_engine(name):
    system = CASES[name][0]().system(name == "loop")
    parts = interpreter(system, RunSettings(solver="rodas4"), Context.initial(system))
    x = np.random.default_rng(1).normal(size=len(system.x0))
    expected, slope = parts.right_hand_side.linearise(0.3, x)
    expected = expected if isinstance(expected, np.ndarray) else expected.toarray()
    function, where = linearised(system)
    n, w, groups = len(x), parts.workspace.context.w, len(where.colour_start) - 1
    found, rows = np.zeros((n, n)), np.array(where.rows, int)
    columns = np.repeat(np.arange(n), np.diff(where.column_start))

    def at_point(states: np.ndarray) -> np.ndarray:
        return function(0.3, states, system.h0, w, system.p0).full().ravel()

    if groups:
        assert name in ("loop", "chain")
        assert sorted(where.colour_columns) == list(range(n))
        for k in range(groups):
            direction = np.zeros(n + 1)
            chosen = where.colour_columns[where.colour_start[k] : where.colour_start[k + 1]]
            direction[chosen] = 1.0
            rate = at_point(np.concatenate([x, direction]))
            at = np.isin(columns, chosen)
            found[rows[at], columns[at]] = rate[rows[at]]
        found_slope = at_point(np.concatenate([x, np.zeros(n), [1.0]]))
    else:
        values = at_point(x)
        found[rows, columns], found_slope = values[: len(rows)], values[len(rows) :]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found_slope, slope, rtol=1e-9, atol=1e-9)


@pytest.mark.slow
def test_code_of_a_long_chain_grows_like_the_chain():
    system = chain(100).system()
    function, where = linearised(system)
    plain = system.function("derivative", lambda: [system.derivative])
    assert function.n_instructions() <= 4 * plain.n_instructions()
    assert where.sparse


def test_fill_is_found_in_advance():
    """An arrow: without an order it fills up, with one it does not."""
    n = 60
    arrow = np.eye(n)
    arrow[0] = arrow[:, 0] = 1.0
    found = plan(ca.sparsify(ca.DM(arrow)).sparsity(), np.zeros(1, int), np.zeros(0, int))
    assert found.sparse
    assert len(found.lu_column) == 3 * n - 2
    assert found.order[-1] == 0 or found.order[-2] == 0


@pytest.mark.parametrize("block", [Runaway(), Root()])
def test_failures_are_told_alike(block):
    told = []
    for engine in ("reference", "native"):
        with pytest.raises(SimulationError) as caught:
            simulate(one(block), 3.0, solver="rodas4", engine=engine)
        told.append(caught.value)
    assert told[0].path == told[1].path
    assert told[0].time == pytest.approx(told[1].time, rel=1e-6)
    assert str(told[0])[:20] == str(told[1])[:20]


def test_pivots_are_sought_where_the_diagonal_has_none():
    """Pairs of states that turn at 1e9 rad/s follow a slow drive: the diagonal has no good pivots."""
    n, speed = 60, 1e9
    a = speed * np.diag(np.sign(np.arange(n) - n / 2 + 0.5)) @ np.eye(n)[::-1]
    b = np.linspace(1.0, 2.0, n)[:, None] * speed
    d = Diagram("turning")
    d.add("drive", Sine(1.0, 1.0))["y"] >> d.add("s", StateSpace(a, b, np.eye(n), np.zeros((n, 1))))["u"]
    simulation = Simulation(d, solver="rodas4", engine="native", rtol=1e-6)
    simulation.advance(1.0)
    assert simulation._engine._stiff.table.sparse
    assert simulation._engine._stiff.table.pivoted
    still = -np.linalg.solve(a, b[:, 0] * np.sin(1.0))
    np.testing.assert_allclose(simulation.value("s.y"), still, rtol=1e-6, atol=1e-6)


@pytest.mark.slow
def test_parameters_change_without_compiling_and_others_do_not_pay(monkeypatch):
    d = one(VanDerPol(10.0))
    simulate(d, 1.0, engine="native")
    assert "_compiled_jacobian" not in d.system().__dict__
    simulate(d, 1.0, solver="rodas4", engine="native")
    monkeypatch.setattr(build.Compiler, "compile", None)
    stiffness = [1.0, 100.0, 1000.0]
    times = np.linspace(0.0, 20.0, 5)
    many = simulate_many(d, {"parameters": {"b.mu": stiffness}}, until=20.0, solver="rodas4", log_at=times)
    for k, mu in enumerate(stiffness):
        alone = simulate(one(VanDerPol(mu)), 20.0, solver="rodas4", log_at=times, engine="reference")
        np.testing.assert_allclose(many["b.y"][k], alone["b.y"], rtol=1e-6, atol=1e-7)


def test_nothing_stands_in_the_way():
    system = rod().system()
    assert obstacles(system, RunSettings(solver="rodas4")) == []
    assert isinstance(
        NativeEngine(system, RunSettings(solver="rodas4"), Context.initial(system)), NativeEngine
    )


def test_without_states_there_is_nothing_to_integrate():
    d = Diagram("none")
    d.add("sine", Sine(1.0, 3.0))
    reference, found = both(d, 1.0, log_every=0.1)
    assert np.array_equal(reference["sine.y"], found["sine.y"])


def test_a_rate_of_one_state_that_only_time_gives_has_its_slope():
    """No numbers of J come before df/dt then; one too many made it 0, and 250 times as many steps."""
    d = Diagram("driven")
    d.add("wave", Sine(2.0, 3.0))["y"] >> d.add("x", Integrator(0.0))["u"]
    function, _ = linearised(d.system())
    assert function.numel_out() == 1
