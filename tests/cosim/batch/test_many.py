"""Many runs with events, draws and delays: compiled code alone, the same bits for any number of threads."""

import os
import time
from dataclasses import dataclass

import numpy as np
import pytest

from benchmarks.cartpole_model import closed_loop
from blocks import Integrator, StopWhen, TransportDelay
from blocks.contract.block import Block
from blocks.errors import PlantloopError, SimulationError
from cosim import Diagram, simulate, simulate_many
from cosim.engines.native import compiler, native
from tests.helpers.hybrid import FIXED, bouncing, falling_root, rates, relay
from tests.helpers.interrupts import ctrl_c

try:
    compiler.find()
except compiler.CompilerError as missing:  # pragma: no cover
    pytest.skip(f"no C compiler: {missing}", allow_module_level=True)


@dataclass(frozen=True)
class Hybrid(Block):
    """Noise that is sampled, a branch, a mode with resets, a peak, a stop and a moving start."""

    stop: float = 1e9

    def define(self, b):
        x, n = b.continuous("x", [1.0, 0.0]), b.mode("n", 0.0)
        noise = b.random(0.1)
        push = b.where_event(x[0] - 0.2, 1.0, -1.0)
        b.derivative(x, np.stack([x[1], -9.0 * x[0] + push + 0.3 * noise[0]]))
        b.when(x[1], [(x, np.stack([0.9 * x[0], 0.0 * x[1]])), (n, n + 1)], direction="falling", name="turn")
        b.stop(n[0] - self.stop, "enough", direction="rising")
        b.output("x", x)
        b.output("n", n)
        b.output("peak", b.accepted("peak", lambda old: np.maximum(old, x), 0.0, 2))
        b.output("held", b.sampled(x[0] + noise, 0.07))


def hybrid(**fields) -> Diagram:
    d = Diagram("hybrid")
    d.add("it", Hybrid(**fields))
    return d


def delayed() -> Diagram:
    """A delayed loop; a small history grows on the way."""
    d = Diagram("delayed")
    x, late = d.add("x", Integrator(1.0)), d.add("late", TransportDelay(0.3))
    d.connect(x["y"], late["u"])
    minus = d.add("minus", PlainGain(-2.0))
    d.connect(late["y"], minus["u"])
    d.connect(minus["y"], x["u"])
    return d


@dataclass(frozen=True)
class PlainGain(Block):
    k: float

    def define(self, b):
        (k,) = b.parameters(k=self.k)
        b.output("y", k * b.input("u"))


CASES = {
    "hybrid": (hybrid, "it.x", [[1.0 + 0.01 * k, 0.0] for k in range(40)]),
    "relay": (relay, "integral.x", [0.01 * k for k in range(40)]),
    "bouncing": (bouncing, "ball.h", [1.0 + 0.02 * k for k in range(40)]),
    "rates": (rates, "x.x", [0.01 * k for k in range(40)]),
    "delayed": (delayed, "x.x", [1.0 + 0.01 * k for k in range(40)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("solver", [FIXED, {}, {"solver": "rodas4", "rtol": 1e-5}])
@pytest.mark.parametrize("name", CASES)
def test_runs_are_single_ones_for_any_number_of_threads(monkeypatch, name, solver):
    make, state, values = CASES[name]
    d = make()
    runs = {"initial": {state: values}}
    monkeypatch.setattr(native.NativeEngine, "run_start", lambda *_: pytest.fail("a run needed Python"))
    monkeypatch.setattr(native, "PIECES", 260)  # hardly more than a step may ask for: histories must grow
    found = [simulate_many(d, runs, 1.5, threads=n, log_every=0.1, seed=4, **solver) for n in (1, 2, 5)]
    assert len({f.table.tobytes() for f in found}) == 1
    assert [(f.how.way, f.how.workers) for f in found] == [("threads", 1), ("threads", 2), ("threads", 5)]
    assert np.isfinite(found[0].table).all()
    for k in (0, 17, 39):
        single = simulate(d, 1.5, log_every=0.1, initial={state: values[k]}, seed=4 + k, **solver)
        assert single.settings["engine"].value == "native"
        for name_of in single:
            assert single[name_of].tobytes() == found[0][name_of][k].tobytes(), name_of


def test_a_run_that_stops_keeps_what_it_had():
    d = hybrid(stop=1.5)
    runs = {"initial": {"it.x": [[0.5 + 0.1 * k, 0.0] for k in range(6)]}}
    found = simulate_many(d, runs, 6.0, log_every=0.1, **FIXED)
    single = simulate(d, 6.0, log_every=0.1, initial={"it.x": [0.7, 0.0]}, seed=2, **FIXED)
    assert single.message == "enough"
    n = len(single.time)
    assert 3 < n < 61
    assert found["it.x"][2, :n].tobytes() == single["it.x"].tobytes()
    assert (found["it.x"][2, n:] == single["it.x"][-1]).all()
    assert found.errors == {} and found.stopped[2] and found.message[2] == "enough"
    assert found.time_of_stop[2] == single.time[-1] == single.events[-1].time


@pytest.mark.parametrize("engine", ["native", "reference"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("log", [{}, {"log_every": 0.5}, {"log_at": [0.0, 0.1]}])
def test_runs_that_a_stop_event_ends_say_so_and_show_the_stop(engine, threads, log):
    """x0 exp(-t) falls to 1/2 at ln(2 x0); the third run does not get there and the fourth starts below."""
    d = Diagram("decay")
    x, minus = d.add("x", Integrator(1.0)), d.add("minus", PlainGain(-1.0))
    half = d.add("half", StopWhen("half", 0.5, "falling"))
    d.connect(x["y"], minus["u"])
    d.connect(minus["y"], x["u"])
    d.connect(x["y"], half["u"])
    starts = np.array([1.0, 2.0, 10.0, 0.4])
    found = simulate_many(d, {"initial": {"x.x": starts}}, 2.0, engine=engine, threads=threads, **log)
    assert found.errors == {} and "2 stopped by an event" in repr(found)
    assert found.stopped.tolist() == [True, True, False, False]
    assert found.message == ("half", "half", "", "")
    assert found.time_of_stop[:2] == pytest.approx(np.log(2 * starts[:2]), abs=1e-7)
    assert np.isnan(found.time_of_stop[2:]).all()
    shown = np.fmin(found.time, found.time_of_stop[:, None])
    assert found["x.y[0]"] == pytest.approx(starts[:, None] * np.exp(-shown), abs=1e-7)


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_ends_all_threads():
    d = relay()
    simulate_many(d, [{}], 0.1, **FIXED)
    began = time.perf_counter()
    with ctrl_c() as later, pytest.raises(KeyboardInterrupt):
        later(0.3)
        simulate_many(d, [{}] * 40, 1e5, threads=3, solver="rk4", step=1e-3)
    assert time.perf_counter() - began < 60.0  # all of them would take many minutes


def test_failures_among_runs_with_events_are_told_as_alone():
    d = bouncing()
    runs = [{"parameters": {"ball.e": e}} for e in (0.9, 0.1, 0.8)]
    found = simulate_many(d, runs, 2.0, log_every=0.5)
    assert list(found.errors) == [1]
    with pytest.raises(SimulationError, match="chattering or Zeno") as caught:
        simulate(d, 2.0, parameters={"ball.e": 0.1}, log_every=0.5)
    assert str(found.errors[1]) == str(caught.value)
    assert np.isfinite(found["ball.h"][[0, 2]]).all()


def test_components_are_found_as_in_results():
    d = closed_loop()
    d.outport("state", "plant.state")
    runs = simulate_many(d, [{}, {}], 0.2, log_every=0.1, **FIXED)
    single = simulate(d, 0.2, log_every=0.1, **FIXED)
    assert runs["plant.state"].shape == (2, 3, 4)
    for name in ("plant.state[1]", "state", "state[3]"):
        assert runs[name][0].tobytes() == single[name].tobytes()
    for label in single.labels.get("plant.state", ()):
        assert runs[f"plant.state.{label}"][1].tobytes() == single[f"plant.state.{label}"].tobytes()
    with pytest.raises(PlantloopError, match=r"no component 4 in 'plant\.state'"):
        runs["plant.state[4]"]
    with pytest.raises(PlantloopError, match="did you mean 'plant.state'"):
        runs["plant.stat"]


def test_labels_name_components(tmp_path):
    @dataclass(frozen=True)
    class Labelled(Block):
        def define(self, b):
            x = b.continuous("x", [1.0, 2.0])
            b.derivative(x, -x)
            b.output("y", x, labels=("theta [rad]", "omega"))

    d = Diagram("labelled")
    d.add("it", Labelled())
    runs = simulate_many(d, [{}], 0.1, **FIXED)
    assert runs["it.y.theta"].tobytes() == runs["it.y"][:, :, 0].tobytes()
    assert runs["it.y.omega"].tobytes() == runs["it.y[1]"].tobytes()


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
    assert "1 failed" in repr(roots)


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


def test_inputs_are_those_of_all_runs():
    d = Diagram("d")
    k = d.parameter("k", 1.0)
    d.connect(d.inport("u"), d.add("x", Integrator(initial=k))["u"])
    times = np.array([0.0, 1.0, 2.0])
    for inputs in ({"u": 3.0}, {"u": (times, [0.0, 1.0, 0.0])}, {"u": lambda t: np.sin(t)}):
        many = simulate_many(d, {"parameters": {"k": [0.5, 2.0]}}, 2.0, inputs=inputs)
        alone = [simulate(d, 2.0, parameters={"k": v}, inputs=inputs)["x.y"][-1, 0] for v in (0.5, 2.0)]
        assert many["x.y"][:, -1, 0].tolist() == alone
    with pytest.raises(PlantloopError, match="has no input 'v'"):
        simulate_many(d, 2, 2.0, inputs={"v": 1.0})
