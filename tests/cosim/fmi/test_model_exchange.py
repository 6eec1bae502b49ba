"""FMUs for model exchange in our engines: states, events, parameters, derivatives; both engines alike."""

from __future__ import annotations

import math
import pickle
import re

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from blocks import Constant, Gain, Mux, Sine, StateFeedback, Step, UnitDelay
from blocks.contract.callback import LiveCall
from blocks.errors import PlantloopError
from cosim import FMU, Diagram, Simulation, linearize, simulate
from cosim.fmi.fmi_errors import FMUCallError
from tests.helpers.fmus import build_fmu

VERSIONS = ("2.0", "3.0")
ENGINES = ("native", "reference")
both = pytest.mark.parametrize("engine", ENGINES)
versions = pytest.mark.parametrize("version", VERSIONS)


def alone(fmu: FMU, **inputs: float) -> Diagram:
    d = Diagram("alone")
    d.add("unit", fmu)
    for name, value in inputs.items():
        d.add(name, Constant(value))
        d.connect(f"{name}.y", f"unit.{name}")
    return d


def bounces(h: float, g: float, e: float, n: int) -> list[float]:
    """Times at which a ball that falls from h is on the floor."""
    t, v = math.sqrt(2 * h / g), math.sqrt(2 * g * h)
    found = []
    for _ in range(n):
        found.append(t)
        v *= e
        t += 2 * v / g
    return found


@versions
@both
def test_a_bouncing_ball(version: str, engine: str) -> None:
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    r = simulate(d, until=2.1, engine=engine, log_every=0.1)
    times = [e.time for e in r.events if e.name == "unit.event"][1:6]
    np.testing.assert_allclose(times, bounces(1.0, 9.81, 0.7, 5), rtol=0, atol=1e-8)
    assert r["unit.h"].min() > -1e-9
    v = math.sqrt(2 * 9.81)
    t1 = bounces(1.0, 9.81, 0.7, 1)[0]
    assert r.at(1.0, "unit.v") == pytest.approx(0.7 * v - 9.81 * (1.0 - t1), abs=1e-7)
    assert r["unit.bounces"][-1, 0] == 5


@pytest.mark.slow
@versions
def test_engines_agree_bit_for_bit_at_fixed_steps(version: str) -> None:
    for name, inputs in (("ball", {}), ("vanderpol", {}), ("mass", {"f": 1.5}), ("stair", {})):
        d = alone(FMU(build_fmu(name, version=version), kind="me"), **inputs)
        runs = [simulate(d, until=2.0, solver="rk4", step=0.01, engine=e) for e in ENGINES]
        for signal in runs[0].signals:
            assert runs[0][signal].tobytes() == runs[1][signal].tobytes(), (name, signal)


@pytest.mark.slow
@versions
@both
def test_van_der_pol_beside_scipy(version: str, engine: str) -> None:
    d = alone(FMU(build_fmu("vanderpol", version=version), kind="me"))
    r = simulate(d, until=10.0, engine=engine, rtol=1e-10, atol=1e-12, parameters={"unit.mu": 2.0})
    f = lambda t, x: [x[1], 2.0 * (1 - x[0] ** 2) * x[1] - x[0]]
    exact = solve_ivp(f, (0, 10), [2.0, 0.0], method="DOP853", rtol=1e-12, atol=1e-13).y[:, -1]
    np.testing.assert_allclose([r["unit.x0"][-1, 0], r["unit.x1"][-1, 0]], exact, atol=1e-7)


@versions
@pytest.mark.parametrize("directional", [True, False])
def test_linear_models_are_exact(version: str, directional: bool) -> None:
    """m x'' = f - c x' - k x, a = x''."""
    fmu = FMU(build_fmu("mass", version=version, directional=directional), kind="me", start={"m": 2.0})
    ss = linearize(fmu)
    tolerance = 1e-13 if directional else 1e-8
    np.testing.assert_allclose(ss.A, [[0, 1], [-50, -0.25]], atol=tolerance * 50)
    np.testing.assert_allclose(ss.B, [[0], [0.5]], atol=tolerance)
    np.testing.assert_allclose(ss.C, [[1, 0], [0, 1], [-50, -0.25]], atol=tolerance * 50)
    np.testing.assert_allclose(ss.D, [[0], [0], [0.5]], atol=tolerance)


@pytest.mark.slow
@both
def test_a_stiff_solver_takes_the_derivatives_of_the_fmu(engine: str) -> None:
    d = alone(FMU(build_fmu("mass"), kind="me", start={"c": 2000.0, "k": 1000.0}), f=1.0)
    r = simulate(d, until=1.0, solver="rodas4", engine=engine)
    A, B = np.array([[0, 1], [-1000, -2000.0]]), np.array([0, 1.0])
    still = -np.linalg.solve(A, B)
    w, V = np.linalg.eig(A)
    x = V @ (np.exp(w) * np.linalg.solve(V, np.array([0.1, 0.0]) - still)) + still
    np.testing.assert_allclose([r["unit.x"][-1, 0], r["unit.v"][-1, 0]], x, atol=1e-7)
    assert r.statistics["steps"] < 200


@pytest.mark.slow
@versions
@both
def test_time_events_and_the_end_of_the_run(version: str, engine: str) -> None:
    fmu = FMU(build_fmu("stair", version=version), kind="me")
    r = simulate(alone(fmu), until=50.0, engine=engine, max_step=0.1)
    assert "terminateSimulation" in r.message
    assert r.time[-1] == pytest.approx(9.0, abs=1e-12)
    assert r["unit.counter"][-1, 0] == 10
    assert r.at(4.5, "unit.counter") == 5


@versions
@both
def test_the_end_of_the_run_after_an_accepted_step(version: str, engine: str) -> None:
    """States and outputs stay where that step ended: x' = -x, y = x."""
    asks = '<ModelExchange needsCompletedIntegratorStep="true" ' if version == "3.0" else "<ModelExchange "
    path = build_fmu("leaving", version=version, change=lambda text: text.replace("<ModelExchange ", asks))
    fmu = FMU(path, kind="me", outputs=["x", "y", "asked"])
    r = simulate(alone(fmu), until=1.0, engine=engine, log_every=0.05)
    assert "terminateSimulation" in r.message
    assert 0.25 < r.time[-1] < 1.0
    for name in ("unit.x", "unit.y"):
        np.testing.assert_allclose(r[name][:, 0], np.exp(-r.time), atol=1e-7)
    r = simulate(alone(fmu), until=2.0, engine=engine, log_at=[2.0], parameters={"unit.events": 1.0})
    assert not r.message
    assert r["unit.asked"][-1, 0] >= 2
    assert r["unit.x"][-1, 0] == pytest.approx(math.exp(-2.0), abs=1e-7)


@versions
@both
def test_discrete_inputs_are_read_at_events(version: str, engine: str) -> None:
    fmu = FMU(build_fmu("feedthrough", version=version), kind="me")
    d = Diagram("inputs")
    d.add("unit", fmu)
    for v in fmu.description.inputs:
        d.add(v.name, Step(time=0.5) if v.name == "Int32_input" else Constant(1.0))
        d.connect(f"{v.name}.y", f"unit.{v.name}")
    r = simulate(d, until=1.0, engine=engine, log_at=[0.25, 0.75])
    assert r["unit.Int32_output"].ravel().tolist() == [0.0, 1.0]
    assert r["unit.Float64_output"].ravel().tolist() == [1.0, 1.0]


@both
def test_arrays(engine: str) -> None:
    A = [[0.0, 1.0], [-1.0, 0.0]]
    start = {"n": 2, "m": 1, "r": 2, "A": A, "B": [[0.0], [1.0]], "C": np.eye(2), "D": [[0.0], [0.0]]}
    fmu = FMU(build_fmu("statespace", version="3.0"), kind="me", start=start | {"x0": [1.0, 0.0]})
    r = simulate(alone(fmu, u=0.0), until=1.0, engine=engine)
    np.testing.assert_allclose(r["unit.y"][-1], [math.cos(1.0), -math.sin(1.0)], atol=1e-7)
    other = simulate(alone(fmu, u=0.0), until=1.0, engine=engine, parameters={"unit.x0": [0.0, 1.0]})
    np.testing.assert_allclose(other["unit.y"][-1], [math.sin(1.0), math.cos(1.0)], atol=1e-7)


@versions
@both
def test_initial_values_and_parameters_of_a_run(version: str, engine: str) -> None:
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    with Simulation(d, engine=engine, initial={"unit.h": 2.0}, parameters={"unit.g": -1.62}) as sim:
        sim.advance(1.0)
        assert sim.value("unit.h")[0] == pytest.approx(2.0 - 0.81, abs=1e-9)
        sim.set_parameter("unit.e", 0.5)  # tunable
        t1 = math.sqrt(2 * 2.0 / 1.62)
        sim.advance(t1 + 0.1)
        assert sim.value("unit.v")[0] == pytest.approx(0.5 * 1.62 * t1 - 0.162, abs=1e-7)
        sim.set_parameter("unit.g", -9.81)  # fixed
        said = r"^block 'unit': FMU '.*': 'g' is fixed and was changed in a run, .*parameters= or start=\.$"
        with pytest.raises(FMUCallError, match=said) as caught:
            sim.advance(t1 + 0.2)
        assert caught.value.path == "unit" and caught.value.port == "g"
        assert caught.value.time == pytest.approx(t1 + 0.1)


@pytest.mark.slow
@versions
@both
def test_snapshots(version: str, engine: str, tmp_path: object) -> None:
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    with Simulation(d, engine=engine, solver="rk4", step=0.01) as sim:
        sim.advance(0.8)
        before = sim.snapshot()
        sim.save(f"{tmp_path}/ball.npz")
        sim.advance(1.6)
        after = (sim.value("unit.h"), sim.value("unit.bounces"))
        sim.restore(before)
        sim.advance(1.6)
        assert (sim.value("unit.h"), sim.value("unit.bounces")) == after
    with Simulation(pickle.loads(pickle.dumps(d)), engine=engine, solver="rk4", step=0.01) as other:
        other.load(f"{tmp_path}/ball.npz")
        other.advance(1.6)
        assert (other.value("unit.h"), other.value("unit.bounces")) == after


@versions
@both
def test_an_event_happens_again_after_the_run_went_back(version: str, engine: str) -> None:
    """At the instant and with the states of the newest one, which compiled code took for that one."""
    d = alone(FMU(build_fmu("calendar", version=version), kind="me"))
    with Simulation(d, engine=engine, solver="rk4", step=0.05) as sim:
        sim.advance(0.35)
        before = sim.snapshot()
        for _ in range(2):
            sim.advance(0.45)
            assert sim.value("unit.days") == 4
            sim.restore(before)
            assert sim.value("unit.days") == 3


def test_no_snapshot_without_states() -> None:
    d = alone(FMU(build_fmu("ball", rollback=False), kind="me"))
    with Simulation(d) as sim:
        sim.advance(0.3)
        with pytest.raises(PlantloopError, match=r"block 'unit': .*canSerializeFMUState"):
            sim.snapshot()


@pytest.mark.slow
@both
def test_one_fmu_twice_in_a_diagram_and_in_a_subsystem(engine: str) -> None:
    fmu = FMU(build_fmu("ball"), kind="me")
    inner = Diagram("inner")
    inner.add("ball", fmu)
    inner.outport("h", "ball.h")
    d = Diagram("three")
    d.add("a", fmu)
    d.add("b", fmu)
    d.add("sub", inner)
    d.add("gain", Gain(1.0))
    d.connect("sub.h", "gain.u")
    r = simulate(d, until=1.6, engine=engine, initial={"b.h": 0.5})
    for name, h in (("a", 1.0), ("b", 0.5), ("sub/ball", 1.0)):
        times = [e.time for e in r.events if e.name == f"{name}.event"][1:4]
        np.testing.assert_allclose(times, bounces(h, 9.81, 0.7, 3), atol=1e-8)


@both
def test_a_sampled_controller_around_it(engine: str) -> None:
    """m x'' = f with f = -K (x, v) held for 0.05 s: the exact map of the held input."""
    fmu = FMU(build_fmu("mass"), kind="me", start={"k": 0.0, "c": 0.0, "x": 1.0})
    d = Diagram("loop")
    d.add("mass", fmu)
    c = d.add("control", StateFeedback([[4.0, 3.0]], sample=0.05))
    d.add("mux", Mux(2))
    d.connect("mass.x", "mux.in1")
    d.connect("mass.v", "mux.in2")
    d.connect("mux.out", c["x"])
    d.connect(c["u"], "mass.f")
    r = simulate(d, until=1.0, engine=engine, log_every=0.05)
    h, x, v = 0.05, 1.0, 0.0
    for k in range(20):
        assert r["mass.x"][k, 0] == pytest.approx(x, abs=1e-8)
        f = -4 * x - 3 * v
        x, v = x + h * v + h * h / 2 * f, v + h * f


def test_no_python_in_the_loop() -> None:
    """Compiled code asks the host at the start, and not from step to step."""
    d = alone(FMU(build_fmu("mass"), kind="me"), f=1.0)
    with Simulation(d, engine="native") as sim:
        sim.advance(0.1)
        calls = sim._engine.instances.calls.values()
        spent = [live.spent for live in calls]
        sim.advance(5.0)
        assert [live.spent for live in calls] == spent
        assert sim.result().statistics["evaluations"] > 500


@versions
def test_python_is_asked_only_where_a_run_begins_otherwise(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not from its own height, and from another one where compiled code looks at its indicators first."""
    asked, value = [], LiveCall.value

    def noted(live: LiveCall, t: float, u: np.ndarray) -> np.ndarray:
        asked.append(live.call.name())
        return value(live, t, u)

    monkeypatch.setattr(LiveCall, "value", noted)
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    for h, also in ((1.0, []), (1.0, []), (2.0, ["opaque_indicators", "opaque_event"])):
        r = simulate(d, until=2.0, engine="native", initial={"unit.h": h})
        assert dict.fromkeys(asked) == dict.fromkeys(also)
        events = [e.time for e in r.events if e.name == "unit.event"]
        assert events[1] == pytest.approx(math.sqrt(2 * h / 9.81))
        asked.clear()


@pytest.mark.slow
@versions
@both
def test_runs_beside_each_other_are_as_alone(version: str, engine: str) -> None:
    """What is kept of an FMU for all runs holds nothing of one: other heights, parameters, one run twice."""
    d = alone(FMU(build_fmu("ball", version=version), kind="me"))
    heights, signals = (1.0, 1.0, 2.0, 0.5), ("unit.h", "unit.v", "unit.bounces")

    def started(h: float) -> Simulation:
        return Simulation(d, engine=engine, initial={"unit.h": h}, parameters={"unit.e": 0.4 + 0.1 * h})

    by_turns = [started(h) for h in heights]
    for t in (0.3, 0.9, 1.5):
        for sim in by_turns:
            sim.advance(t)
    for h, sim in zip(heights, by_turns, strict=True):
        with started(h) as one:
            for t in (0.3, 0.9, 1.5):
                one.advance(t)
            for name in signals:
                assert sim.value(name).tobytes() == one.value(name).tobytes(), (h, name)
        first = math.sqrt(2 * h / 9.81)
        events = [e.time for e in sim.result().events if e.name == "unit.event"]
        assert events[1] == pytest.approx(first, abs=1e-8)
        sim.close()


@versions
@both
def test_a_closed_run_asks_its_fmu_no_more(version: str, engine: str) -> None:
    """It went on with an instance that was freed, and crashed."""
    sim = Simulation(alone(FMU(build_fmu("ball", version=version), kind="me")), engine=engine)
    sim.advance(0.1)
    sim.close()
    with pytest.raises(PlantloopError, match=r"block 'unit': .* is called after the simulation was closed"):
        sim.advance(0.2)
    assert sim.result().time[-1] == pytest.approx(0.1)


@both
def test_a_driven_one_beside_the_exact_solution(engine: str) -> None:
    d = Diagram("driven")
    d.add("sine", Sine(1.0, 3.0))
    d.add("lag", FMU(build_fmu("lag"), kind="me", start={"T": 0.5}))
    d.connect("sine.y", "lag.u")
    r = simulate(d, until=2.0, engine=engine)
    w, T, t = 3.0, 0.5, 2.0
    exact = (math.sin(w * t) - w * T * math.cos(w * t) + w * T * math.exp(-t / T)) / (1 + w * w * T * T)
    assert r["lag.y"][-1, 0] == pytest.approx(exact, abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("directional", [True, False])
@pytest.mark.parametrize("version", VERSIONS)
def test_derivatives_by_parameters(version: str, directional: bool, isolate: bool) -> None:
    """der_v = (f - k x - c v) / m; what the unit tells of c is wrong, which is noticed."""
    d = Diagram("one")
    d.add("one", FMU(build_fmu("mass", version=version, directional=directional), kind="me", isolate=isolate))
    d.connect(d.add("force", Constant(2.0))["y"], "one.f")
    f = d.system().derivatives
    x, v = 0.3, -0.2
    p = dict(zip(f.columns["p"], f.p0, strict=True)) | {"one.m": 2.0, "one.k": 50.0}
    found = f.by_p(0.0, np.array([x, v]), p=np.array([*p.values()]))
    assert f(0.0, np.array([x, v]), p=np.array([*p.values()]))[1] == pytest.approx((2 - 15 + 0.1) / 2)
    by = dict(zip(p, found[1], strict=True))
    exact = {"one.m": -(2 - 15 + 0.1) / 4, "one.k": -x / 2, "one.c": -v / 2, "force.value": 0.5}
    assert by == pytest.approx(exact, rel=1e-7)
    np.testing.assert_array_equal(found[0], np.zeros(len(p)))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_no_states_are_left_by_structural_parameters(engine: str) -> None:
    """y = D u alone, in a diagram and by hand."""
    start = {"n": 0, "m": 2, "r": 2, "D": [[1.0, 2.0], [3.0, 4.0]], "u": [5.0, 6.0]}
    fmu = FMU(build_fmu("statespace", version="3.0"), kind="me", start=start)
    d = Diagram("d")
    d.add("s", fmu)
    d.add("u", Constant([1.0, -1.0]))
    d.connect("u.y", "s.u")
    np.testing.assert_array_equal(simulate(d, until=1.0, engine=engine)["s.y"][-1], [-1.0, -1.0])
    with fmu.open() as m:
        m.initialize()
        m.step(0.5)
        np.testing.assert_array_equal(m.get("y"), [17.0, 39.0])


def test_what_fails_while_it_is_initialised_is_an_error_of_the_fmu() -> None:
    """A guid that is not the binary's; counts that are not; in a subsystem too."""
    wrong = build_fmu("ball", version="3.0", change=lambda text: text.replace("{ball-1.0}", "{other}"))
    outer = Diagram("outer")
    outer.add("part", alone(FMU(wrong, kind="me")))
    with pytest.raises(FMUCallError, match=r"block 'part/unit': .* could not be instantiated.*\n.*\{other\}"):
        simulate(outer, until=0.1, engine="reference")
    with pytest.raises(FMUCallError, match="block 'unit': .* could not be instantiated"):
        linearize(alone(FMU(wrong, kind="me")))
    fewer = lambda text: re.sub("<EventIndicator .*?/>", "", text)
    lying = build_fmu("ball", version="3.0", change=fewer)
    with pytest.raises(FMUCallError, match="has 0 event indicators, its binary 1"):
        simulate(alone(FMU(lying, kind="me")), until=0.1, engine="reference")


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("start", [0.0, 2.0, 123.4])
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_time_events_at_ticks_of_other_blocks(version: str, start: float, engine: str) -> None:
    """Events at 0.1 k, some of which are behind the ticks at k/10 by rounding: none is lost, all come first.

    The FMU takes no time before the one it announced for it, and none behind it either.
    """
    d = Diagram("d")
    d.add("unit", FMU(build_fmu("calendar", version=version), kind="me", start_time=start))
    d.add("memory", UnitDelay(sample="1/10"))
    d.connect("unit.days", "memory.u")
    r = simulate(d, 5.0, log_every=0.1, engine=engine)
    first = round(start * 10)
    assert r["unit.days"][:, 0].tolist() == list(range(first, first + 51))
    assert r["memory.y"][1:, 0].tolist() == list(range(first, first + 50))
    assert r["unit.x"][-1, 0] == pytest.approx(((5 + start) ** 2 - start**2) / 2, rel=1e-9)
