"""The native engine: the same bits as the reference engine for fixed steps; what if it cannot run."""

import time
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.cartpole_model import closed_loop
from blocks import AlgebraicConstraint, Constant, Gain, Hold, Integrator, PythonFunction, Sine
from blocks.contract.block import Block
from blocks.errors import PlantloopError, SimulationError
from cosim import Diagram, Simulation, simulate
from cosim.engines.native import build, cache, compiler, native, rows, run_log
from cosim.settings import RunSettings
from tests.blocks.examples_table import EXAMPLES
from tests.helpers.hybrid import (
    DIAGRAMS,
    FIXED,
    Guard,
    Hopeless,
    both,
    driven,
    falling_root,
    fresh_diagram,
    same,
)
from tests.helpers.interrupts import ctrl_c

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("solver", "log"),
    [
        ("rk4", {"log_every": 0.05}),
        ("rk4", {"log_at": [0.0, 0.1234, 1.0]}),
        ("euler", {"log_every": "step"}),
    ],
)
@pytest.mark.parametrize("name", DIAGRAMS)
def test_fixed_steps_give_the_same_bits(diagrams, name, solver, log):
    reference, found = both(diagrams[name], solver=solver, step=0.013, seed=5, **log)
    same(reference, found)
    drop = ("wall time [s]", "time in Python [s]", "engine")
    assert {k: v for k, v in found.statistics.items() if k not in drop} == {
        k: v for k, v in reference.statistics.items() if k not in drop
    }


@pytest.mark.slow
@pytest.mark.parametrize("name", DIAGRAMS)
def test_adaptive_steps_agree(diagrams, name):
    reference, found = both(diagrams[name], log_every=0.05, seed=5)
    same(reference, found, 1e-9)
    assert found.statistics["steps"] == reference.statistics["steps"]


def drawn(seed: int) -> Diagram:
    """Blocks of the library at random, inputs taken from any earlier output of the right size, or a sine."""
    rng = np.random.default_rng(seed)
    d, outputs = Diagram(f"drawn{seed}"), {}
    every = [example for examples in EXAMPLES.values() for example in examples]
    for k in range(12):
        block, sizes = every[int(rng.integers(len(every)))]
        if isinstance(block, AlgebraicConstraint):
            continue  # other inputs may leave it without a root
        if native.obstacles(driven(Diagram("alone"), "block", block, sizes).system(), RunSettings()):
            continue
        node = d.add(f"b{k}", block)
        for port, size in sizes.items():
            fitting = [name for name, n in outputs.items() if n == size]
            if fitting and rng.random() < 0.8:
                source = fitting[int(rng.integers(len(fitting)))]
            else:
                wave = f"b{k}_{port}".replace(".", "_")
                source = f"{wave}.y"
                d.add(wave, Sine(0.5 + rng.random(size), 1 + rng.random(size), rng.random(), 0.05))
            d.connect(source, node[port])
        outputs |= {n: s.size for n, s in d.system().signals.items() if s.size and n.startswith("b")}
    return d


@pytest.mark.slow
@settings(max_examples=6, deadline=None, derandomize=True)
@given(st.integers(0, 10**6))
def test_diagrams_at_random_give_the_same_bits(seed):
    d = drawn(seed)
    same(*both(d, 0.7, log_every=0.05, seed=seed, **FIXED))


def test_max_step_and_tolerances_are_passed_on(diagrams):
    reference, found = both(diagrams["cartpole"], rtol=1e-4, atol=1e-6, max_step=0.003)
    same(reference, found, 1e-12)
    assert len(found.time) > 333


def test_parameters_and_initial_values_need_no_compiling(diagrams, monkeypatch):
    d = diagrams["cartpole"]
    simulate(d, 0.1, engine="native", **FIXED)
    monkeypatch.setattr(build, "_build", None)
    options = {"parameters": {"plant.m": 0.3}, "initial": {"plant.x[1]": 0.05}, "log_every": 0.1}
    same(*both(d, **options, **FIXED))
    same(*both(closed_loop(), **options, **FIXED))  # another diagram of the same equations: from disk


CHANGES = [
    {"parameters": {"g.k": -3.0}}, {"initial": {"x.x": 2.0}}, {"rtol": 1e-5, "atol": 1e-7}, {"until": 3.0},
    {"max_step": 0.01}, {"seed": 7}, {"log_every": 0.03}, {"log_every": "step"}, {"log_at": [0.1]},
    {"signals": ["x.y"]}, {"solver": "rk4", "step": 0.003}, {"solver": "euler", "step": 0.003},
]  # fmt: skip


def test_nothing_but_the_equations_is_compiled_again(monkeypatch, tmp_path):
    """Told by what is in the cache and by how often anything was made for it."""
    made = []
    original = build._compile
    build._runtime(compiler.find())  # not counted
    monkeypatch.setattr(build, "_compile", lambda *given: (made.append(given[2]), original(*given))[1])
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    d = fresh_diagram()
    simulate(d, 1.0, engine="native")
    assert len(made) == 1 == cache.info().entries
    for change in CHANGES:
        simulate(d, **({"until": 1.0} | change), engine="native")
    for gain in (2.0, 5.0):  # another diagram with another number
        reference, found = both(fresh_diagram(gain), **FIXED)
        same(reference, found)
        assert found["x.y"][-1, 0] == pytest.approx(np.exp(-gain), abs=1e-6)
    assert len(made) == 1 == cache.info().entries


def test_a_parameter_may_change_on_the_way(diagrams):
    ends = []
    for engine in ("reference", "native"):
        sim = Simulation(diagrams["cartpole"], engine=engine, **FIXED)
        sim.advance(0.2)
        sim.set_parameter("plant.g", 4.0)
        before = sim.snapshot()
        sim.advance(0.5)
        first = sim.value("plant.state")
        sim.restore(before)
        assert sim.time == 0.2
        sim.advance(0.5)
        assert sim.value("plant.state").tobytes() == first.tobytes()
        assert sim.step() == 0.51
        ends.append(first.tobytes())
    assert ends[0] == ends[1]


@pytest.mark.slow
def test_only_what_is_logged_is_computed(diagrams):
    d = diagrams["every block"]
    some = ["Gain1.y", "Integrator0.y"]
    whole = both(d, log_every=0.1, **FIXED)[1]
    part = both(d, log_every=0.1, signals=some, **FIXED)[1]
    assert list(part.signals) == some
    for name in some:
        assert part[name].tobytes() == whole[name].tobytes()


def test_long_logs_come_in_chunks(diagrams, monkeypatch):
    monkeypatch.setattr(rows, "ROWS", 400)
    monkeypatch.setattr(native, "FIRST_BUDGET", 7)
    same(*both(diagrams["cartpole"], log_every=0.001, **FIXED))
    same(*both(diagrams["rates"], **FIXED))


@dataclass(frozen=True)
class Extremes(Block):
    """Larger and smaller of two numbers, also inside a function that is called."""

    def define(self, b):
        u, v = b.input("u", size=1), b.input("v", size=1)
        b.output("max", np.maximum(u, v))
        b.output("min", np.minimum(u, v))
        a, c = ca.SX.sym("a"), ca.SX.sym("c")
        inner = ca.Function("inner", [a, c], [ca.fmax(a, c), ca.fmin(a, c)], {"never_inline": True})
        for name, value in zip(("called_max", "called_min"), inner.call([u, v], False, True), strict=True):
            b.output(name, value)


@pytest.mark.parametrize("v", [-0.0, 0.0, 1.0, -1.0])
@pytest.mark.parametrize("u", [-0.0, 0.0, 1.0, -1.0])
def test_maximum_and_minimum_of_zeros(u, v):
    d = Diagram("extremes")
    e = d.add("e", Extremes())
    d.connect(d.add("u", Constant(u))["y"], e["u"])
    d.connect(d.add("v", Constant(v))["y"], e["v"])
    reference, found = both(d, 0.1, **FIXED)
    same(reference, found)
    for name, expected in (("max", max(u, v)), ("min", min(u, v))):  # Python's keep the first of equal ones
        assert found[f"e.called_{name}"][-1].tobytes() == np.array([expected]).tobytes(), name
        assert found[f"e.{name}"][-1] == expected, name  # NumPy leaves the sign of zero open


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.integers(0, 2**63 - 1), st.integers(1, 2**63 - 1))
def test_times_on_the_grid_are_rounded_once(position, grid):
    """As Python divides integers, also those longer than the digits of a double."""
    seconds = build._runtime(compiler.find()).pl_seconds
    assert seconds(position, grid) == position / grid
    assert seconds(grid, position or 1) == grid / (position or 1)
    assert seconds(2**53 + position % 2**20, grid) == (2**53 + position % 2**20) / grid


def test_times_on_the_grid_halfway_between_doubles():
    seconds = build._runtime(compiler.find()).pl_seconds
    for position, grid in ((2**54 + 2, 1), (2**54 + 6, 1), (2**54 + 3, 1), (2**62 + 2**9, 1), (2**53 + 1, 2)):
        assert seconds(position, grid) == position / grid
        assert seconds(position, 3 * grid) == position / (3 * grid)


def test_why_auto_takes_the_reference_engine_is_told(diagrams):
    setting = simulate(diagrams["cartpole"], 0.1, solver="BDF").settings["engine"]
    assert setting.value == "reference"
    assert setting.origin == "engine='auto': solver 'BDF' runs in Python"
    assert repr(simulate(diagrams["cartpole"], 0.1, solver="BDF")).endswith(", reference engine>")
    found = simulate(diagrams["cartpole"], 0.1)
    assert found.settings["engine"].origin == "engine='auto'"
    assert repr(found).endswith("0 events, native engine>")


def test_opaque_blocks_are_called_in_order():
    d = Diagram("opaque")
    x = d.add("x", Integrator(1.0))
    f = d.add("f", PythonFunction(lambda t, u: -2 * u + t, sample=0.05))
    g = d.add("g", Gain(0.5))
    d.connect(x["y"], f["u"])
    d.connect(f["y"], g["u"])
    d.connect(g["y"], x["u"])
    same(*both(d, **FIXED))
    with pytest.raises(PlantloopError, match="'f' is a Python function"):
        simulate(d, 1.0, engine="native")


# --- what goes wrong ------------------------------------------------------------------------------------
@pytest.mark.parametrize("options", [FIXED, {}, {"log_every": "step"}])
def test_failures_are_told_as_by_the_reference_engine(options):
    d = falling_root()
    told = []
    for engine in ("reference", "native"):
        with pytest.raises(SimulationError) as caught:
            simulate(d, 2.0, engine=engine, **options)
        told.append((str(caught.value), caught.value.path, len(caught.value.result.time)))
    assert told[0] == told[1]
    assert "root.y" in told[1][0]


def test_a_sampled_failure_names_the_signal():
    d = falling_root()
    h = d.add("sampled", Hold(0, sample=0.1))
    d.connect("root.y", h["u"])
    with pytest.raises(SimulationError, match="root") as caught:
        simulate(d, 2.0, engine="native", solver="euler", step=0.3)
    assert caught.value.time > 1.0


def test_a_loop_without_solution_is_named_alike():
    d = Diagram("hopeless")
    x = d.add("x", Integrator(2.0))
    d.connect(d.add("minus", Constant(-1.0))["y"], x["u"])
    d.connect(x["y"], d.add("none", Hopeless())["u"])
    d.connect("none.z", d.add("y", Integrator())["u"])
    told = []
    for engine in ("reference", "native"):
        with pytest.raises(SimulationError, match="none") as caught:
            simulate(d, 2.0, engine=engine, **FIXED)
        told.append((str(caught.value), caught.value.time, len(caught.value.result.time)))
    assert told[0] == told[1]


def test_a_stop_event_ends_the_run():
    d = Diagram("stop")
    s = d.add("sine", Sine(1.0, 1.0))
    x = d.add("x", Integrator())
    d.connect(s["y"], x["u"])
    d.connect(x["y"], d.add("guard", Guard(0.5))["u"])
    reference, found = both(d, 5.0, log_every=0.1, **FIXED)
    same(reference, found)
    assert found.message == reference.message == "high enough"


@pytest.mark.parametrize(("name", "signal"), [("cartpole", "plant.state"), ("relay", "integral.y")])
def test_an_interrupt_returns_what_was_computed(diagrams, name, signal):
    d = diagrams[name]
    simulate(d, 0.1, engine="native", **FIXED)
    under_way = []
    with ctrl_c() as later:

        def progress(t):
            if t > 200.0:  # some rows are there, however busy the machine is
                later(0.1)
                under_way.append(time.perf_counter())

        r = simulate(
            d,
            1e6,
            engine="native",
            solver="rk4",
            step=1e-3,
            log_every=100.0,
            signals=[signal],
            progress=progress,
        )
    assert time.perf_counter() - under_way[0] < 30.0  # the whole would take many minutes
    assert not r.complete
    assert "interrupted" in r.message
    assert len(r.time) > 1


def test_a_log_of_every_step_ends_where_an_interrupted_run_stands():
    d = fresh_diagram()
    simulate(d, 0.1, engine="native")
    sim = Simulation(d, engine="native", max_step=1e-2)  # logs every step
    slices: list[float] = []
    with ctrl_c() as later:

        def progress(t: float) -> None:
            """Ctrl-C soon after the second slice: somewhere in a stretch."""
            slices.append(t)
            if len(slices) % 2 == 0:
                later(0.02)

        for k in range(2):
            with pytest.raises(KeyboardInterrupt):
                sim.advance(1e6, progress)
            slices += [sim.time] * (len(slices) % 2)
            t = sim.result().time
            assert t[-1] == sim.time, k
            assert np.all(np.diff(t) > 0)  # the second part goes on where the first one ended
    assert len(slices) >= 4  # though the buffer of the log is full more often than a slice is over


def test_samples_of_very_long_runs_are_bounded(diagrams, monkeypatch):
    monkeypatch.setattr(run_log, "SAMPLES", 400)
    monkeypatch.setattr(rows, "ROWS", 200)
    with pytest.warns(UserWarning, match="controller.u at their ticks"):
        r = simulate(diagrams["cartpole"], 2.0, log_every=0.5, **FIXED)
    t, u = r.ticks("controller.u")
    assert 16 <= len(t) < 100
    assert len(r.time) == 5
    whole = simulate(diagrams["cartpole"], 2.0, log_every=0.5, engine="reference", **FIXED)
    assert u.tobytes() == whole.ticks("controller.u").values[: len(u)].tobytes()


@pytest.mark.slow
def test_steps_of_the_plant_are_not_shared_between_simulations(diagrams):
    """Two runs of one compiled system, advanced in turns."""
    a, b = (Simulation(diagrams["cartpole"], engine="native", **FIXED) for _ in range(2))
    for k in range(1, 6):
        a.advance(0.1 * k)
        b.advance(0.1 * k)
    assert a.snapshot().same(b.snapshot())
