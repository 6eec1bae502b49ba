"""The native engine: the same bits as the reference engine for fixed steps; what if it cannot run."""

import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.cartpole_model import closed_loop
from blocks import Constant, Function, Gain, Hold, Integrator, PythonFunction, Sine, Sum, TimeTable
from blocks.block import Block
from blocks.errors import PlantloopError, SimulationError
from cosim import Diagram, Simulation, simulate, simulate_many
from cosim.cli import app
from cosim.engine import build, cache, compiler, native
from cosim.engine.engine import SolverSettings
from tests.blocks.examples_table import EXAMPLES

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)

FIXED = {"solver": "rk4", "step": 0.013}


# --- diagrams -------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Ball(Block):
    """Bouncing ball: two resets at one crossing."""

    restitution: float = 0.8

    def define(self, b):
        (e,) = b.parameters(e=self.restitution)
        h, v = b.continuous("h", 1.0), b.continuous("v", 0.0)
        b.derivative(h, v)
        b.derivative(v, -9.81 + 0.0 * v)
        b.when(h[0], [(v, -e * v)], direction="falling")
        b.output("h", h)
        b.output("v", v)


@dataclass(frozen=True)
class Relay(Block):
    """Switches at +-width; its state is a mode."""

    width: float = 0.3

    def define(self, b):
        u = b.input("u", size=1)
        on = b.mode("on", 1.0)
        b.when(u[0] - self.width, [(on, 0.0 * on)], direction="rising", name="off")
        b.when(u[0] + self.width, [(on, 0.0 * on + 1.0)], direction="falling", name="on")
        b.output("y", 2 * on - 1)


@dataclass(frozen=True)
class Peak(Block):
    """Largest value after an accepted step."""

    def define(self, b):
        u = b.input("u", size=1)
        peak = b.accepted("peak", np.maximum(u, 0.0), 0.0)
        b.output("y", peak)


@dataclass(frozen=True)
class Noise(Block):
    """Draws of both kinds."""

    def define(self, b):
        b.output("normal", b.random(0.1, "normal"))
        b.output("uniform", b.random(0.07, "uniform"))


@dataclass(frozen=True)
class Guard(Block):
    """Ends the run where u rises through a level."""

    level: float = 0.9

    def define(self, b):
        u = b.input("u", size=1)
        b.stop(u[0] - self.level, "high enough", direction="rising")
        b.output("y", u)


@dataclass(frozen=True)
class Root(Block):
    """sqrt(u), which is not finite below zero."""

    def define(self, b):
        u = b.input("u", size=1)
        b.output("y", np.sqrt(u))


@dataclass(frozen=True)
class CubeRoot(Block):
    """z with z^3 + z = u: an implicit unknown."""

    def define(self, b):
        u = b.input("u", size=1)
        z = b.algebraic("z", 0.1)
        b.residual(z**3 + z - u)
        b.output("z", z)


@dataclass(frozen=True)
class Hopeless(Block):
    """z with z^2 + 1 = u, which has no solution for u < 1."""

    def define(self, b):
        u = b.input("u", size=1)
        z = b.algebraic("z", 0.7)
        b.residual(z * z + 1 - u)
        b.output("z", z)


@dataclass(frozen=True)
class Pendulum(Block):
    """Pendulum in Cartesian coordinates: length and its rate are invariants."""

    def define(self, b):
        q, v = b.continuous("q", [1.0, 0.0]), b.continuous("v", [0.0, 0.0])
        lam = (v[0] * v[0] + v[1] * v[1] - 9.81 * q[1]) / (q[0] * q[0] + q[1] * q[1])
        b.derivative(q, v)
        b.derivative(v, np.stack([-lam * q[0], -9.81 - lam * q[1]]))
        b.invariant(q[0] * q[0] + q[1] * q[1] - 1.0)
        b.invariant(q[0] * v[0] + q[1] * v[1])
        b.output("q", q)


def loops() -> Diagram:
    """Algebraic loops between ticks, at ticks and through both, and an implicit unknown."""
    d = Diagram("loops")
    sine = d.add("sine", Sine(1.0, 3.0))
    e, g = d.add("e", Sum("+-")), d.add("g", Gain(0.5))
    d.connect(sine["y"], e["in1"])
    d.connect(e["y"], g["u"])
    d.connect(g["y"], e["in2"])
    f = d.add("f", Function(lambda u, v: 0.5 * np.cos(v) - 0.2 * u, sample=0.1))
    h = d.add("h", Function(lambda u: u - 0.1 * u * u, sample=0.1))
    d.connect(sine["y"], f["u"])
    d.connect(h["y"], f["v"])
    d.connect(f["y"], h["u"])
    root, x = d.add("root", CubeRoot()), d.add("x", Integrator(0.3))
    total = d.add("total", Sum("+++"))
    for port, source in (("in1", g["y"]), ("in2", h["y"]), ("in3", x["y"])):
        d.connect(source, total[port])
    d.connect(total["y"], root["u"])
    d.connect(root["z"], x["u"])
    return d


def pendulum() -> Diagram:
    d = Diagram("pendulum")
    d.add("p", Pendulum())
    return d


def driven(d: Diagram, name: str, block: Block, sizes: dict[str, int]) -> Diagram:
    """Add a block, each input driven by a sine of its own."""
    node = d.add(name, block)
    for j, (port, size) in enumerate(sizes.items()):
        amplitude, frequency = 0.7 + 0.1 * np.arange(size), 1.0 + 0.1 * j + 0.2 * np.arange(size)
        d.connect(d.add(f"{name}_{port}", Sine(amplitude, frequency, 0.3 + j, 0.05))["y"], node[port])
    return d


def every_block() -> Diagram:
    """All blocks of the library in one diagram, except those left to the reference engine."""
    d = Diagram("every_block")
    for cls, examples in EXAMPLES.items():
        for k, (block, sizes) in enumerate(examples):
            alone = driven(Diagram("alone"), "block", block, sizes)
            if not native.obstacles(alone.system(), SolverSettings()):
                driven(d, f"{cls.__name__}{k}", block, sizes)
    return d


def bouncing() -> Diagram:
    d = Diagram("bouncing")
    d.add("ball", Ball())
    return d


def relay() -> Diagram:
    d = Diagram("relay")
    r, i = d.add("relay", Relay()), d.add("integral", Integrator())
    d.connect(r["y"], i["u"])
    d.connect(i["y"], r["u"])
    d.connect(i["y"], d.add("peak", Peak())["u"])
    return d


def rates() -> Diagram:
    """Three rates with offsets, holds, noise and listed instants."""
    d = Diagram("rates")
    n, s = d.add("noise", Noise()), d.add("sum", Sum("++"))
    d.connect(n["normal"], s["in1"])
    d.connect(n["uniform"], s["in2"])
    x = d.add("x", Integrator())
    d.connect(s["y"], x["u"])
    h = d.add("hold", Hold(1, sample="1/30", offset="1/70"))
    d.connect(x["y"], h["u"])
    table = d.add("table", TimeTable([0.1, 0.25, 0.5], [0.0, 1.0, -1.0], "previous"))
    y = d.add("y", Integrator())
    total = d.add("total", Sum("++"))
    d.connect(h["y"], total["in1"])
    d.connect(table["y"], total["in2"])
    d.connect(total["y"], y["u"])
    return d


def no_states() -> Diagram:
    """Nothing to integrate; a crossing in time."""
    d = Diagram("no_states")
    s = d.add("sine", Sine(1.0, 3.0))
    d.connect(s["y"], d.add("relay", Relay())["u"])
    d.connect(s["y"], d.add("sampled", Hold(0, sample=0.07))["u"])
    return d


DIAGRAMS = {
    "cartpole": closed_loop, "every block": every_block, "bouncing": bouncing, "relay": relay, "rates": rates,
    "no states": no_states, "loops": loops, "pendulum": pendulum,
}  # fmt: skip


@pytest.fixture(scope="module")
def diagrams():
    """Each diagram once, so that its code is compiled once."""
    return {name: make() for name, make in DIAGRAMS.items()}


def both(d, until=1.0, **options):
    """Results of both engines."""
    options["solve_loops"] = d.name == "loops"
    system = d.system(options["solve_loops"])
    engine = "auto" if system.opaque or any(s.external for s in system.schedule) else "native"
    found = simulate(d, until, engine=engine, **options)
    assert found.settings["engine"].value == "native"
    return simulate(d, until, engine="reference", **options), found


def same(a, b, tolerance=0.0):
    """Equal times, signals, ticks and events."""
    assert a.time.tobytes() == b.time.tobytes() or tolerance
    assert list(a.signals) == list(b.signals)
    for name in a.signals:
        np.testing.assert_allclose(b[name], a[name], rtol=tolerance, atol=tolerance, err_msg=name)
        if not tolerance:
            assert a[name].tobytes() == b[name].tobytes(), name
    assert list(a.ticks_of) == list(b.ticks_of)
    for name, ticks in a.ticks_of.items():
        assert ticks.time.tobytes() == b.ticks_of[name].time.tobytes()
        np.testing.assert_allclose(b.ticks_of[name].values, ticks.values, rtol=tolerance, atol=tolerance)
    assert [(e.name, e.after if not tolerance else None) for e in a.events] == [
        (e.name, e.after if not tolerance else None) for e in b.events
    ]
    np.testing.assert_allclose([e.time for e in b.events], [e.time for e in a.events], rtol=tolerance)


# --- parity ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("log", [{"log_every": 0.05}, {"log_every": "step"}, {"log_at": [0.0, 0.1234, 1.0]}])
@pytest.mark.parametrize("solver", ["rk4", "euler"])
@pytest.mark.parametrize("name", DIAGRAMS)
def test_fixed_steps_give_the_same_bits(diagrams, name, solver, log):
    reference, found = both(diagrams[name], solver=solver, step=0.013, seed=5, **log)
    same(reference, found)
    drop = ("wall time [s]", "time in Python [s]", "engine")
    assert {k: v for k, v in found.statistics.items() if k not in drop} == {
        k: v for k, v in reference.statistics.items() if k not in drop
    }


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
        if native.obstacles(driven(Diagram("alone"), "block", block, sizes).system(), SolverSettings()):
            continue
        node = d.add(f"b{k}", block)
        for port, size in sizes.items():
            fitting = [name for name, n in outputs.items() if n == size]
            if fitting and rng.random() < 0.8:
                source = fitting[int(rng.integers(len(fitting)))]
            else:
                source = f"b{k}_{port}.y"
                d.add(f"b{k}_{port}", Sine(0.5 + rng.random(size), 1 + rng.random(size), rng.random(), 0.05))
            d.connect(source, node[port])
        outputs |= {n: s.size for n, s in d.system().signals.items() if s.size and n.startswith("b")}
    return d


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


def test_only_what_is_logged_is_computed(diagrams):
    d = diagrams["every block"]
    some = ["Gain1.y", "Integrator0.y"]
    whole = both(d, log_every=0.1, **FIXED)[1]
    part = both(d, log_every=0.1, signals=some, **FIXED)[1]
    assert list(part.signals) == some
    for name in some:
        assert part[name].tobytes() == whole[name].tobytes()


def test_long_logs_come_in_chunks(diagrams, monkeypatch):
    monkeypatch.setattr(native, "ROWS", 400)
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
def test_signs_of_zero_survive_maximum_and_minimum(u, v):
    d = Diagram("extremes")
    e = d.add("e", Extremes())
    d.connect(d.add("u", Constant(u))["y"], e["u"])
    d.connect(d.add("v", Constant(v))["y"], e["v"])
    reference, found = both(d, 0.1, **FIXED)
    same(reference, found)
    for name, expected in (("max", max(u, v)), ("min", min(u, v))):  # Python's keep the first of equal ones
        for signal in (f"e.{name}", f"e.called_{name}"):
            assert found[signal][-1].tobytes() == np.array([expected]).tobytes(), signal


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
    assert simulate(diagrams["cartpole"], 0.1).settings["engine"].origin == "engine='auto'"


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
def falling_root() -> Diagram:
    d = Diagram("root")
    x, r = d.add("x", Integrator(1.0)), d.add("root", Root())
    d.connect(d.add("minus", Constant(-1.0))["y"], x["u"])
    d.connect(x["y"], r["u"])
    z = d.add("z", Integrator())
    d.connect(r["y"], z["u"])
    return d


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

    def progress(t):
        if not under_way:
            threading.Timer(0.1, lambda: os.kill(os.getpid(), 2)).start()
        under_way.append(time.perf_counter())

    r = simulate(
        d, 1e6, engine="native", solver="rk4", step=1e-3, log_every=100.0, signals=[signal], progress=progress
    )
    assert time.perf_counter() - under_way[0] < 3.0
    assert not r.complete
    assert "interrupted" in r.message
    assert len(r.time) > 1


# --- compiler and cache ---------------------------------------------------------------------------------
def fresh_diagram(gain: float = 1.0) -> Diagram:
    """A small diagram nobody has compiled yet in this process."""
    d = Diagram("fresh")
    x, g = d.add("x", Integrator(1.0)), d.add("g", Gain(-gain))
    d.connect(x["y"], g["u"])
    d.connect(g["y"], x["u"])
    return d


def test_no_compiler(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    monkeypatch.setenv("CC", "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(compiler.importlib.util, "find_spec", lambda name: None)
    with pytest.warns(UserWarning, match="plantloop\\[cc\\]"):
        assert simulate(fresh_diagram(), 0.1).settings["engine"].value == "reference"
    with pytest.raises(compiler.CompilerError, match="no C compiler"):
        simulate(fresh_diagram(), 0.1, engine="native")


def test_a_failing_compiler_tells_file_and_message(monkeypatch, tmp_path):
    broken = tmp_path / "broken-cc"
    broken.write_text("#!/bin/sh\necho 'disk on fire' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("CC", str(broken))
    with pytest.raises(compiler.CompilerError, match="disk on fire") as caught:
        simulate(fresh_diagram(), 0.1, engine="native")
    assert ".c" in str(caught.value)
    with pytest.warns(UserWarning, match="reference engine"):
        assert simulate(fresh_diagram(), 0.1).settings["engine"].value == "reference"
    monkeypatch.setenv("CC", "not-there")
    with pytest.raises(compiler.CompilerError, match="not-there"):
        simulate(fresh_diagram(), 0.1, engine="native")


def test_an_unwritable_cache_is_replaced_for_this_process(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(cache, "_temporary", [])
    with pytest.warns(UserWarning, match="cannot be written"):
        simulate(fresh_diagram(), 0.1, engine="native")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(fresh_diagram(), 0.1, engine="native")


def test_a_full_disk_is_an_error(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))

    def no_room(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(build, "_compile", no_room)
    with pytest.raises(cache.CacheError, match="disk is full"):
        simulate(fresh_diagram(), 0.1, engine="native")
    assert list(tmp_path.glob("making-*")) == []


@pytest.mark.parametrize("damage", ["truncate", "foreign", "no note", "bad note"])
def test_damaged_entries_are_made_anew(monkeypatch, tmp_path, damage):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    sound = simulate(fresh_diagram(), 0.1, engine="native", **FIXED)
    for place in tmp_path.glob("[0-9a-f]*"):
        library, note = place / cache.LIBRARY, place / cache.NOTE
        library.chmod(0o644)
        if damage == "truncate":
            data = library.read_bytes()
            library.unlink()
            library.write_bytes(data[: len(data) // 2])
        elif damage == "foreign":
            library.unlink()
            library.write_bytes(b"something else")
        elif damage == "no note":
            note.unlink()
        else:
            note.write_text("{")
    again = simulate(fresh_diagram(), 0.1, engine="native", **FIXED)
    same(sound, again)
    assert list(tmp_path.glob("making-*")) == []


def test_processes_that_compile_at_once_agree(tmp_path):
    script = """
        from benchmarks.cartpole_model import closed_loop
        from cosim import simulate
        r = simulate(closed_loop(), 0.5, engine="native", solver="rk4", step=0.01)
        print(r["plant.state"][-1].tobytes().hex())
    """
    environment = os.environ | {"PLANTLOOP_CACHE": str(tmp_path), "PYTHONPATH": os.getcwd()}
    command = [sys.executable, "-c", textwrap.dedent(script)]
    runs = [subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    killed = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    time.sleep(0.7)
    killed.kill()
    killed.wait()
    assert len({run.communicate()[0] for run in runs}) == 1
    assert [run.returncode for run in runs] == [0, 0, 0]
    entries = [p for p in tmp_path.iterdir() if not p.name.startswith("making-")]
    assert len(entries) == 2
    assert all(cache._read(p) is not None for p in entries)


def test_the_cache_is_bounded_and_can_be_cleared(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    (tmp_path / "mine.txt").write_text("somebody else's")
    monkeypatch.setattr(cache, "LIMIT", 1)

    def make(folder):
        (folder / cache.LIBRARY).write_bytes(b"x" * 100)
        return {}

    for key in ("a", "b", "c"):
        cache.get(key, make)
        time.sleep(0.01)
    assert cache.info().entries == 1
    assert cache.get("c", lambda folder: pytest.fail("it was there")).library.exists()
    assert cache.clear().entries == 1
    assert [p.name for p in tmp_path.iterdir()] == ["mine.txt"]


def test_the_command_line_shows_and_clears_the_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("PLANTLOOP_CACHE", str(tmp_path))
    simulate(fresh_diagram(), 0.1, engine="native")
    shown = CliRunner().invoke(app, ["cache", "info"])
    assert str(tmp_path) in shown.stdout
    assert "compiled libraries" in shown.stdout
    assert CliRunner().invoke(app, ["cache", "clear"]).exit_code == 0
    assert list(tmp_path.iterdir()) == []


def test_samples_of_very_long_runs_are_bounded(diagrams, monkeypatch):
    monkeypatch.setattr(native, "SAMPLES", 400)
    monkeypatch.setattr(native, "ROWS", 200)
    with pytest.warns(UserWarning, match="controller.u at their ticks"):
        r = simulate(diagrams["cartpole"], 2.0, log_every=0.5, **FIXED)
    t, u = r.ticks("controller.u")
    assert 16 <= len(t) < 100
    assert len(r.time) == 5
    whole = simulate(diagrams["cartpole"], 2.0, log_every=0.5, engine="reference", **FIXED)
    assert u.tobytes() == whole.ticks("controller.u").values[: len(u)].tobytes()


def test_steps_of_the_plant_are_not_shared_between_simulations(diagrams):
    """Two runs of one compiled system, advanced in turns."""
    a, b = (Simulation(diagrams["cartpole"], engine="native", **FIXED) for _ in range(2))
    for k in range(1, 6):
        a.advance(0.1 * k)
        b.advance(0.1 * k)
    assert a.snapshot().same(b.snapshot())


# --- many runs ------------------------------------------------------------------------------------------
def test_many_runs_equal_single_ones_for_any_number_of_threads(diagrams):
    d, rng = diagrams["cartpole"], np.random.default_rng(0)
    runs = {
        "parameters": {"plant.m": np.linspace(0.05, 0.2, 40)},
        "initial": {"plant.x": rng.normal(size=(40, 4))},
    }
    found = [simulate_many(d, runs, 0.5, threads=n, log_every=0.1, **FIXED) for n in (1, 2, 5)]
    assert len({f.table.tobytes() for f in found}) == 1
    assert found[0]["plant.state"].shape == (40, 6, 4)
    for k in (0, 17, 39):
        single = simulate(
            d, 0.5, log_every=0.1, **FIXED,
            parameters={"plant.m": runs["parameters"]["plant.m"][k]},
            initial={"plant.x": runs["initial"]["plant.x"][k]},
        )  # fmt: skip
        assert single["plant.state"].tobytes() == found[0]["plant.state"][k].tobytes()


def test_many_runs_with_seeds_events_and_failures(diagrams):
    noisy = simulate_many(diagrams["rates"], [{}, {}, {"seed": 3}], 0.5, seed=3, signals=["x.y"], **FIXED)
    assert noisy["x.y"].shape == (3, 1, 1)
    assert noisy["x.y"][0] == noisy["x.y"][2] != noisy["x.y"][1]
    balls = simulate_many(
        diagrams["bouncing"], [{"parameters": {"ball.e": e}} for e in (0.5, 0.9)], 1.0, **FIXED
    )
    single = simulate(diagrams["bouncing"], 1.0, log_at=[1.0], parameters={"ball.e": 0.9}, **FIXED)
    assert balls["ball.h"][1].tobytes() == single["ball.h"].tobytes()
    roots = simulate_many(
        falling_root(), [{"initial": {"x.x": v}} for v in (3.0, 1.0)], 2.0, log_every=0.5, **FIXED
    )
    assert list(roots.errors) == [1]
    assert "root.y" in str(roots.errors[1])
    assert np.isfinite(roots["z.y"][0]).all()
    assert np.isnan(roots["z.y"][1, -1]).all()
    assert "1 stopped early" in repr(roots)


@pytest.mark.parametrize(
    ("runs", "options", "message"),
    [
        ([{"parameter": {}}], {}, "did you mean 'parameters'"),
        ([{"parameters": {"plant.M2": 1.0}}], {}, "run 0: .*plant.M"),
        ([3], {}, "expected a dict"),
        ({"parameters": {"plant.m": [1.0, 2.0], "plant.M": [1.0]}}, {}, "different numbers of runs"),
        ([], {"threads": 0}, "threads"),
        ([], {"log_every": "step"}, "steps differ"),
    ],
)
def test_mistakes_in_runs_are_named(diagrams, runs, options, message):
    with pytest.raises(PlantloopError, match=message):
        simulate_many(diagrams["cartpole"], runs, 1.0, **options)


def test_no_runs_at_all(diagrams):
    assert len(simulate_many(diagrams["cartpole"], [], 1.0)) == 0
