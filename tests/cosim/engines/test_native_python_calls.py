"""Python functions inside continuous equations on the native engine: all around them is compiled code."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from blocks import Function, Gain, Integrator, PythonFunction, SimulationError, Sine, Sum
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, simulate, simulate_many
from cosim.engines.native import compiler, native
from tests.cosim.engines.test_python_calls import jacobian, swing, torque
from tests.helpers.hybrid import same
from tests.helpers.made import Made

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

FIXED = {"solver": "rk4", "step": 0.013}


def both(d, until=1.0, **options):
    """Results of both engines; "auto" must not have fallen back."""
    found = simulate(d, until, engine="auto", **options)
    assert found.settings["engine"].value == "native"
    return simulate(d, until, engine="reference", **options), found


def kinked(t, u):
    """Branches on values."""
    return [u[0] if u[0] > 0 else 0.5 * u[0], u[1] * t]


def with_events() -> Diagram:
    """A crossing of an opaque signal, with a reset that is opaque too."""

    def equations(b):
        x = b.continuous("x", [1.0, -0.5])
        y = b.opaque("y", kinked, x, 2)
        b.derivative(x, np.stack([-20.0 * x[1], 5.0 * (y[0] + y[1])]))
        n = b.mode("n", 0.0)
        b.when(y[0] - 0.2, [(x, 0.9 * b.opaque("r", kinked, x, 2)), (n, n + 1)], "both", "kink")
        b.output("y", y)
        b.output("n", n)

    d = Diagram("with_events")
    d.add("it", Made(equations))
    return d


def with_a_loop(given=None) -> Diagram:
    """An algebraic loop through an opaque function, between ticks and at ticks."""
    d = Diagram("with_a_loop")
    sine, e = d.add("sine", Sine(1.0, 3.0)), d.add("e", Sum("+-"))
    f = d.add("f", PythonFunction(lambda t, u: np.tanh(u) + 0.2 * u, sample=None, jacobian=given))
    h, x = d.add("h", Function(lambda u: 0.5 * u, sample=0.1)), d.add("x", Integrator(0.3))
    d.connect(sine["y"], e["in1"])
    d.connect(e["y"], f["u"])
    d.connect(f["y"], e["in2"])
    d.connect(f["y"], h["u"])
    d.connect(h["y"], x["u"])
    return d


def with_delay_and_peak() -> Diagram:
    """Opaque signals that are delayed, sampled and kept."""

    def equations(b):
        x = b.continuous("x", [1.0, 0.0])
        y = b.opaque("y", kinked, x, 2)
        past = b.delayed(y, 0.11, 0.3)
        b.derivative(x, np.stack([x[1], -4.0 * x[0] - past[0]]))
        b.output("peak", b.accepted("peak", lambda old: np.maximum(old, y), 0.0, 2))
        b.output("held", b.sampled(y + past, 0.07))

    d = Diagram("with_delay_and_peak")
    d.add("it", Made(equations))
    return d


DIAGRAMS = {
    "swing": lambda: swing(torque), "jacobian": lambda: swing(torque, jacobian=jacobian),
    "events": with_events, "loop": with_a_loop, "delay and peak": with_delay_and_peak,
    "loop with jacobian": lambda: with_a_loop(lambda t, u: [1 / np.cosh(u) ** 2 + 0.2]),
}  # fmt: skip


@pytest.fixture(scope="module")
def diagrams():
    return {name: make() for name, make in DIAGRAMS.items()}


# --- the same numbers -----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("log", [{"log_every": 0.05}, {"log_every": "step"}])
@pytest.mark.parametrize("solver", ["rk4", "euler"])
@pytest.mark.parametrize("name", DIAGRAMS)
def test_fixed_steps_give_the_same_bits(diagrams, name, solver, log):
    reference, found = both(diagrams[name], solver=solver, step=0.013, solve_loops=True, **log)
    same(reference, found)
    assert found.statistics["steps"] == reference.statistics["steps"]
    assert name != "events" or len(found.events) > 2


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["dopri5", "rodas4"])
@pytest.mark.parametrize("name", DIAGRAMS)
def test_adaptive_steps_agree(diagrams, name, solver):
    reference, found = both(diagrams[name], solver=solver, rtol=1e-6, solve_loops=True, log_every=0.1)
    same(reference, found, 1e-7)


def test_functions_that_look_alike_are_told_apart():
    """Nothing but which function is called where differs: compiled code is shared or not, as it must."""

    def pair(first, second):
        d = Diagram("pair")
        for name, function in (("a", first), ("b", second)):
            f, x = d.add(f"{name}_f", PythonFunction(function, 0, sample=None)), d.add(name, Integrator())
            d.connect(f["y"], x["u"])
        return d

    def one(t, u):
        return 1.0

    def two(t, u):
        return 2.0

    for first, second, expected in ((one, two, [1, 2]), (one, one, [1, 1]), (two, one, [2, 1])):
        r = both(pair(first, second), log_at=[1.0], **FIXED)[1]
        assert [r["a.y"][0, 0], r["b.y"][0, 0]] == pytest.approx(expected)


def test_a_function_may_keep_what_it_was_given():
    kept = []

    def keeps(t, u):
        kept.append((t, u))
        return -u

    simulate(swing(lambda t, u: keeps(t, u)[:1]), 0.1, engine="auto", **FIXED)
    assert len({id(u) for _, u in kept}) == len(kept)
    assert len({u.tobytes() for _, u in kept}) > 10


def test_a_snapshot_of_one_engine_goes_on_in_the_other(diagrams):
    first = Simulation(diagrams["events"], engine="auto", **FIXED)
    first.advance(0.5)
    second = Simulation(diagrams["events"], engine="reference", **FIXED)
    second.restore(first.snapshot())
    for sim in (first, second):
        sim.advance(1.0)
    assert first.value("it.y").tobytes() == second.value("it.y").tobytes()


# --- who runs what --------------------------------------------------------------------------------------


def test_native_refuses_by_name(diagrams):
    with pytest.raises(PlantloopError, match="block 'f' is a Python function") as caught:
        simulate(diagrams["swing"], 1.0, engine="native")
    assert "auto" in str(caught.value)
    assert native.obstacles(diagrams["swing"].system(), Simulation(diagrams["swing"]).settings) == []


def slow(t, u):
    time.sleep(2e-4)
    return -9.0 * u[0]


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_the_share_of_time_in_python_is_told(engine):
    r = simulate(swing(slow), 0.5, engine=engine, solver="rk4", step=0.01)
    spent = r.statistics["time in Python [s]"]
    assert list(spent) == ["f"]
    assert 50 * 4 * 2e-4 <= spent["f"] <= r.statistics["wall time [s]"]
    told = r.statistics["engine"]
    assert told.startswith(f"{'native' if engine == 'auto' else 'reference'} engine; ")
    assert f"{100 * spent['f'] / r.statistics['wall time [s]']:.0f} % of the time in Python: 'f'" in told


def test_the_share_of_ticked_blocks_too_and_none_without_python(diagrams):
    d = Diagram("ticked")
    x, c = d.add("x", Integrator(1.0)), d.add("controller", PythonFunction(slow, sample=0.01))
    d.connect(x["y"], c["u"])
    d.connect(c["y"], x["u"])
    for engine in ("auto", "reference"):
        spent = simulate(d, 0.1, engine=engine, **FIXED).statistics["time in Python [s]"]
        assert list(spent) == ["controller"]
        assert spent["controller"] >= 11 * 2e-4
    plain = Diagram("plain")
    plain.add("x", Integrator(1.0))
    plain.ground("x.u")
    assert "time in Python [s]" not in simulate(plain, 0.1, **FIXED).statistics


def test_many_runs_have_the_bits_of_single_ones_and_tell_how_they_went(diagrams):
    runs = [{"initial": {"q.x": k / 10}} for k in range(4)]
    found = simulate_many(diagrams["swing"], runs, 0.2, threads=2, **FIXED)
    assert "'f'" in str(found.how)
    for k, run in enumerate(runs):
        single = simulate(diagrams["swing"], 0.2, log_at=[0.2], engine="reference", **run, **FIXED)
        assert found["q.y"][k].tobytes() == single["q.y"].tobytes()


# --- what goes wrong ------------------------------------------------------------------------------------


def fails_late(t, u):
    if t > 0.5:
        raise ValueError("no such row")
    return -u[0]


@pytest.mark.parametrize("options", [FIXED, {}])
def test_an_error_stops_the_run_and_is_the_cause(options):
    told = []
    for engine in ("reference", "auto"):
        with pytest.raises(SimulationError, match=r"'f\.y'.*ValueError.*no such row") as caught:
            simulate(swing(fails_late), 1.0, engine=engine, log_every=0.1, **options)
        assert isinstance(caught.value.__cause__, ValueError)
        assert caught.value.__cause__.__traceback__.tb_next is not None  # shows the user's own line
        told.append((str(caught.value), caught.value.time, caught.value.result["q.y"].tobytes()))
    assert told[0] == told[1]
    assert len(caught.value.result.time) == 5  # the step that failed covers 0.5


def test_too_many_numbers_are_an_error():
    with pytest.raises(SimulationError, match="cannot reshape"):
        simulate(swing(lambda t, u: [1.0, 2.0, 3.0]), 1.0, engine="auto", **FIXED)
    with pytest.raises(SimulationError, match="returned None"):
        simulate(swing(lambda t, u: None), 1.0, engine="auto", **FIXED)


def test_a_trial_value_that_fails_is_rejected_only():
    """The first trial step is far too long and leaves the domain; shorter ones do not."""

    def root(t, u):
        if u[1] > 30.0:
            raise ValueError("outside")
        return 50.0 if t < 0.1 else -50.0 * u[1]

    for engine in ("auto", "reference"):
        r = simulate(swing(root), 1.0, engine=engine, rtol=1e-4, log_at=[1.0])
        assert r.complete


sent: list[float] = []  # when the newest Ctrl-C was sent


class Interrupting:
    """A function that sends Ctrl-C once, at its hundredth call or while others go on."""

    def __init__(self, where: str) -> None:
        self.where, self.calls = where, 0

    def __call__(self, t, u):
        self.calls += 1
        if self.calls == 100 and self.where == "in the function":
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)
        elif self.calls == 100:
            threading.Timer(0.05, self.send).start()
        return -9.0 * u[0]

    def send(self) -> None:
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["in the function", "around it"])
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.parametrize("options", [{"solver": "rk4", "step": 1e-3}, {"max_step": 1e-3}])
def test_ctrl_c_returns_what_was_computed(engine, where, options):
    for _ in range(3):
        r = simulate(swing(Interrupting(where)), 1e4, engine=engine, log_every=0.01, **options)
        assert time.perf_counter() - sent[-1] < 30.0  # the whole would take many minutes
        assert not r.complete
        assert "interrupted" in r.message
        assert len(r.time) > 1
        assert np.isfinite(r["q.y"]).all()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("where", ["in the function", "around it"])
@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_a_run_goes_on_after_ctrl_c(engine, where):
    sim = Simulation(swing(Interrupting(where)), solver="rk4", step=1e-3, engine=engine)
    with pytest.raises(KeyboardInterrupt):
        sim.advance(1e4)
    assert np.isfinite(sim.value("f.y")).all()
    sim.advance(sim.time + 0.1)
    assert np.isfinite(sim.value("q.y")).all()


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_what_ends_a_look_at_a_signal_is_passed_on_too(engine):
    leave = []

    def leaves(t, u):
        if leave:
            raise SystemExit(3)
        return -u[0]

    sim = Simulation(swing(leaves), engine=engine, **FIXED)
    sim.advance(0.1)
    leave.append(True)
    with pytest.raises(SystemExit):
        sim.value("f.y")
    leave.clear()
    assert np.isfinite(sim.value("f.y")).all()


def test_sys_exit_ends_the_run_with_its_result():
    def leaves(t, u):
        raise SystemExit(3)

    for engine in ("auto", "reference"):
        with pytest.raises(SimulationError, match=r"sys\.exit\(3\) was called"):
            simulate(swing(leaves), 1.0, engine=engine, **FIXED)


def test_gain_around_it_is_compiled():
    """The share of work outside Python runs as C: a long chain around one call costs next to nothing."""
    d = Diagram("chain")
    f = d.add("f", PythonFunction(lambda t, u: -u, sample=None))
    x = d.add("x", Integrator(1.0))
    source = f["y"]
    for k in range(300):
        g = d.add(f"g{k}", Gain(1.0))
        d.connect(source, g["u"])
        source = g["y"]
    d.connect(source, x["u"])
    d.connect(x["y"], f["u"])
    reference, found = both(d, log_at=[1.0], signals=["x.y"], solver="rk4", step=1e-3)
    same(reference, found)


@pytest.mark.parametrize("engine", ["auto", "reference"])
def test_looks_inside_a_step_cost_one_call_at_its_end(engine):
    """Two steps of four stages, and the slope at the end of the one that is looked into, however often."""
    calls = []

    def law(t, u):
        calls.append(t)
        return -u

    def equations(b):
        x = b.continuous("x", 1.0)
        b.derivative(x, b.opaque("y", law, x, 1))
        b.output("x", x)

    d = Diagram("looks")
    d.add("it", Made(equations))
    d.system()  # which tries the function
    calls.clear()
    at = np.linspace(0.55, 0.95, 50)
    r = simulate(d, 1.0, engine=engine, solver="rk4", step=0.5, log_at=at, signals=["it.x"])
    assert len(calls) == 9
    np.testing.assert_allclose(r["it.x"][:, 0], np.exp(-at), rtol=4e-3)  # a step of 0.5 s of a lag of 1 s
