"""An FMU for co-simulation in a diagram: the exact maps of held inputs, types, sizes, ends and snapshots."""

from __future__ import annotations

import math
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

from blocks import Clock, Constant, Function, Gain
from blocks.errors import PlantloopError, SimulationError
from cosim import FMU, Diagram, Enabled, Simulation, simulate, simulate_many
from tests.helpers.fmus import build_fmu

VERSIONS = ("2.0", "3.0")
ENGINES = ("auto", "reference")


def ramp_into_lag(fmu: FMU) -> Diagram:
    d = Diagram("ramp")
    d.add("ramp", Clock())
    d.add("lag", fmu)
    d.connect("ramp.y", "lag.u")
    return d


def held_ramp(h: float, n: int, T: float = 1.0, offset: float = 0.0) -> np.ndarray:
    """T x' = u - x over steps h with u held at the ramp's value at the begin of each."""
    a, x = math.exp(-h / T), [0.0]
    for k in range(n):
        x.append(a * x[-1] + (1 - a) * (offset + k * h))
    return np.array(x)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_map_of_a_held_input(version: str, engine: str) -> None:
    d = ramp_into_lag(FMU(build_fmu("lag", version=version), kind="cs", sample="1/10"))
    r = simulate(d, until=2.0, engine=engine, log_every=0.1)
    np.testing.assert_allclose(r["lag.y"].ravel(), held_ramp(0.1, 20), rtol=0, atol=1e-13)


@pytest.mark.filterwarnings("ignore::cosim.compile.conditions.UnitInPartWarning")
@pytest.mark.parametrize("engine", ENGINES)
def test_the_map_of_held_inputs_in_a_conditional_part(engine: str) -> None:
    """What follows its inputs at once shows at each point what they were at the one before."""
    names = ("Float64", "Int32", "Boolean", "Enumeration")
    d = Diagram("d")
    d.add("part", Enabled(FMU(build_fmu("feedthrough"), kind="cs", sample="1/10")))
    d.add("lagging", Enabled(FMU(build_fmu("lag"), kind="cs", sample="1/10")))
    d.add("ramp", Clock())
    d.add("steps", Function(lambda u: np.floor(10.0 * u + 0.5) + 1.0))
    d.connect("ramp.y", "steps.u")
    for port, source in zip(names, ("ramp.y", "steps.y"), strict=False):
        d.connect(source, f"part.{port}_input")
    d.connect(d.add("one", Constant(1.0))["y"], "part.Boolean_input")
    d.connect(d.add("two", Constant(2.0))["y"], "part.Enumeration_input")
    d.connect("ramp.y", "lagging.u")
    for part in ("part", "lagging"):
        d.connect("one.y", f"{part}.enable")
    r = simulate(d, until=1.0, engine=engine, log_every=0.1)
    assert r["part.Float64_output"][1:, 0] == pytest.approx(np.arange(10) / 10, abs=1e-12)
    assert r["part.Int32_output"][1:, 0].tolist() == [k + 1.0 for k in range(10)]
    assert r["part.Boolean_output"][1:, 0].tolist() == [1.0] * 10
    assert r["part.Enumeration_output"][1:, 0].tolist() == [2.0] * 10
    assert r["lagging.y"].ravel() == pytest.approx(held_ramp(0.1, 10), abs=1e-13)


def test_offset_and_another_rate() -> None:
    d = ramp_into_lag(FMU(build_fmu("lag"), sample="1/4", offset="1/20", start={"T": 0.3}))
    r = simulate(d, until=1.06, log_at=[0.05 + 0.25 * k for k in range(5)])
    expected = held_ramp(0.25, 4, T=0.3, offset=0.05)
    expected[0] = 0.0
    np.testing.assert_allclose(r["lag.y"].ravel(), expected, rtol=0, atol=1e-13)


def test_an_output_does_not_depend_on_the_input_of_its_instant() -> None:
    """Two units in a ring are no loop: each reads what the other said before."""
    path = build_fmu("lag")
    d = Diagram("ring")
    for name in ("a", "b"):
        d.add(name, FMU(path, sample=0.1, start={"x": 1.0 if name == "a" else 0.0}))
    d.connect("a.y", "b.u")
    d.connect("b.y", "a.u")
    r = simulate(d, until=1.0, log_every=0.1)
    q, x = math.exp(-0.1), np.array([1.0, 0.0])
    for _ in range(10):
        x = q * x + (1 - q) * x[::-1]
    np.testing.assert_allclose([r["a.y"][-1, 0], r["b.y"][-1, 0]], x, atol=1e-13)


@pytest.mark.parametrize("version", VERSIONS)
def test_parameters_of_a_run(version: str) -> None:
    d = ramp_into_lag(FMU(build_fmu("lag", version=version), sample=0.1))
    r = simulate(d, until=1.0, log_every=0.1, parameters={"lag.T": 0.5, "lag.x": 0.0})
    np.testing.assert_allclose(r["lag.y"].ravel(), held_ramp(0.1, 10, T=0.5), atol=1e-13)
    found = simulate_many(d, {"parameters": {"lag.T": np.array([0.5, 2.0])}}, until=1.0, log_every=0.1)
    for T, y in zip((0.5, 2.0), found["lag.y"], strict=True):
        np.testing.assert_allclose(y.ravel(), held_ramp(0.1, 10, T=T), atol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_tunable_parameter_in_a_run(engine: str) -> None:
    d = ramp_into_lag(FMU(build_fmu("lag"), sample=0.1))
    with Simulation(d, engine=engine) as sim:
        sim.advance(0.5)
        sim.set_parameter("lag.T", 0.25)
        sim.advance(0.6)
        before = held_ramp(0.1, 5)[-1]
        q = math.exp(-0.1 / 0.25)
        assert sim.value("lag.y")[0] == pytest.approx(q * before + (1 - q) * 0.5, abs=1e-13)


def test_a_fixed_parameter_in_a_run_is_refused() -> None:
    d = Diagram("ball")
    d.add("ball", FMU(build_fmu("ball"), kind="cs", sample=0.1))
    with Simulation(d) as sim:
        sim.set_parameter("ball.g", -1.62)  # before the run
        sim.advance(0.2)
        assert sim.value("ball.h")[0] == pytest.approx(1 - 1.62 / 2 * 0.04, abs=1e-3)
        sim.set_parameter("ball.g", -9.81)
        with pytest.raises(SimulationError, match=r"ball.*'g' is fixed and was changed"):
            sim.advance(0.4)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_end_that_a_unit_asks_for(version: str, engine: str) -> None:
    d = Diagram("end")
    d.add("stair", FMU(build_fmu("stair", version=version), sample=0.2))
    r = simulate(d, until=100.0, engine=engine)
    assert "stair.fmu" in r.message and "terminateSimulation" in r.message
    assert r.time[-1] == 9.0 and r["stair.counter"][-1, 0] == 10
    assert r.complete


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cs", "me"])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_end_is_the_last_row_asked_for_or_not(kind: str, engine: str) -> None:
    d = Diagram("end")
    d.add("stair", FMU(build_fmu("stair"), kind=kind, sample=0.2 if kind == "cs" else None))
    r = simulate(d, until=100.0, log_at=[3.5, 50.0], max_step=0.1, engine=engine)
    assert r.time == pytest.approx([3.5, 9.0], abs=1e-12)
    assert r["stair.counter"].ravel().tolist() == [4.0, 10.0]


@pytest.mark.parametrize("engine", ENGINES)
def test_many_runs_that_units_end(engine: str) -> None:
    d = Diagram("end")
    d.add("stair", FMU(build_fmu("stair"), kind="cs", sample=0.2))
    runs = simulate_many(d, 2, 20.0, log_at=[2.5, 20.0], engine=engine)
    assert not runs.errors and runs.stopped.all()
    assert runs.time_of_stop == pytest.approx([9.0, 9.0], abs=1e-12)
    assert all("terminateSimulation" in text for text in runs.message)
    assert runs["stair.counter"][..., 0].tolist() == [[3.0, 10.0], [3.0, 10.0]]


@pytest.mark.parametrize("coupling", [None, "jacobi", "gauss-seidel"])
@pytest.mark.parametrize("engine", ENGINES)
def test_snapshots_of_a_run_that_a_unit_ended(tmp_path: Path, engine: str, coupling: str | None) -> None:
    d = Diagram("end")
    d.add("stair", FMU(build_fmu("stair"), kind="cs", sample=0.2))
    with Simulation(d, engine=engine, coupling=coupling) as sim:
        sim.advance(12.0)
        sim.save(tmp_path / "end.npz")
    with Simulation(d, engine=engine, coupling=coupling) as sim:
        sim.load(tmp_path / "end.npz")
        sim.advance(13.0)
        assert sim.time == 9.0 and "terminateSimulation" in sim.result().message


def test_numbers_of_all_types_go_through() -> None:
    fmu = FMU(build_fmu("feedthrough", version="3.0"), sample=0.1)
    values = {"Float64": 2.5, "Float32": 0.25, "Boolean": 1.0, "Enumeration": 2.0}
    integers = [f"{u}Int{n}" for u in ("", "U") for n in (8, 16, 32, 64)]
    values |= {name: 100.0 + k for k, name in enumerate(integers)}
    d = Diagram("all")
    d.add("unit", fmu)
    for name, value in values.items():
        d.add(name, Constant(value))
        d.connect(f"{name}.y", f"unit.{name}_input")
    r = simulate(d, until=0.3)
    assert {n: r[f"unit.{n}_output"][-1, 0] for n in values} == values
    assert {v.type for v in fmu.output_variables} == set(values)  # no texts, no binaries


CURES = {1.5: "Round the signal", 300.0: "Limit the signal", -1.0: "Limit the signal", 2.0**60: "Limit"}


@pytest.mark.parametrize(("value", "cure"), CURES.items())
def test_what_an_integer_cannot_take(value: float, cure: str) -> None:
    fmu = FMU(build_fmu("feedthrough", version="3.0"), sample=0.1, outputs=["UInt8_output"])
    d = Diagram("bad")
    d.add("unit", fmu)
    for v in fmu.description.inputs:
        d.add(v.name, Constant(value if v.name == "UInt8_input" else 1.0))
        d.connect(f"{v.name}.y", f"unit.{v.name}")
    said = (
        rf"'UInt8_input' is of type UInt8 and cannot take {re.escape(repr(value))}, only .* 0 to 255\. {cure}"
    )
    with pytest.raises(SimulationError, match=said):
        simulate(d, until=1.0)


def test_communication_steps_that_inner_steps_do_not_fill() -> None:
    def change(text: str) -> str:
        return text.replace("<CoSimulation ", '<CoSimulation fixedInternalStepSize="0.03" ')

    path = build_fmu("lag", version="3.0", variable_step=False, change=change)
    assert FMU(path).sample == 0.03
    FMU(path, sample="3/10")
    with pytest.warns(UserWarning, match=r"whole numbers of these only .* sample is 0\.1 s"):
        FMU(path, sample=0.1)


def test_arrays_have_the_sizes_of_structural_parameters() -> None:
    A = [[0.0, 1.0], [-1.0, 0.0]]
    start = {"n": 2, "m": 1, "r": 2, "A": A, "B": [[0.0], [1.0]], "C": np.eye(2), "D": [[0.0], [0.0]]}
    fmu = FMU(build_fmu("statespace", version="3.0"), kind="cs", sample="1/100", start=start | {"x0": [1, 0]})
    assert fmu.description.variables["A"].shape == (2, 2)
    d = Diagram("oscillator")
    d.add("plant", fmu)
    d.add("zero", Constant(0.0))
    d.connect("zero.y", "plant.u")
    r = simulate(d, until=1.0)
    np.testing.assert_allclose(r["plant.y"][-1], [math.cos(1.0), -math.sin(1.0)], atol=1e-6)


@pytest.mark.parametrize("version", VERSIONS)
def test_snapshots(version: str, tmp_path: object) -> None:
    d = ramp_into_lag(FMU(build_fmu("lag", version=version), sample=0.1))
    with Simulation(d) as sim:
        sim.advance(0.5)
        before = sim.snapshot()
        sim.save(f"{tmp_path}/s.npz")
        sim.advance(1.0)
        after = sim.value("lag.y")
        sim.restore(before)
        sim.advance(1.0)
        assert (sim.value("lag.y") == after).all()
    with Simulation(pickle.loads(pickle.dumps(d))) as other:
        other.load(f"{tmp_path}/s.npz")
        other.advance(1.0)
        assert (other.value("lag.y") == after).all()


@pytest.mark.parametrize("coupling", [None, "jacobi"])
@pytest.mark.parametrize("offset", [0.0, 0.125])
def test_a_state_goes_to_another_instance_that_begins_where_the_first_one_did(
    offset: float, coupling: str | None
) -> None:
    """With its own inputs: one counts events from its start, an enumeration has no item 0."""
    d = Diagram("two")
    path = build_fmu("metronome", version="3.0")
    d.add("m", FMU(path, sample=0.25, offset=offset, event_mode=True, start={"period": 0.3}))
    d.add("f", FMU(build_fmu("feedthrough", version="3.0"), sample=0.25))
    for v in d["f"].block.description.inputs:
        d.ground(f"f.{v.name}")
    with Simulation(d, coupling=coupling) as sim, Simulation(d, coupling=coupling) as other:
        sim.advance(0.75)
        other.restore(sim.snapshot())
        for each in (sim, other):
            each.advance(2.0)
        names = ["m.count", "m.phase", "f.Enumeration_output"]
        assert [other.value(n).tolist() for n in names] == [sim.value(n).tolist() for n in names]
        assert sim.value("m.count") == 6.0


def test_a_unit_without_states_says_so_at_a_snapshot() -> None:
    d = ramp_into_lag(FMU(build_fmu("lag", rollback=False), sample=0.1))
    with Simulation(d) as sim:
        sim.advance(0.3)
        with pytest.raises(PlantloopError, match=r"block 'lag': .*canSerializeFMUState"):
            sim.snapshot()


@pytest.mark.slow
def test_inside_a_subsystem_twice_and_interleaved() -> None:
    path = build_fmu("lag")
    inner = ramp_into_lag(FMU(path, sample=0.1))
    inner.outport("y", "lag.y")
    d = Diagram("two")
    d.add("one", inner)
    d.add("two", FMU(path, sample=0.2))
    d.add("gain", Gain(2.0))
    d.connect("one.y", "gain.u")
    d.connect("gain.y", "two.u")
    alone = simulate(inner, until=1.0, log_every=0.2)["lag.y"].ravel()
    sims = [Simulation(d), Simulation(d)]
    for t in (0.2, 0.4, 0.6, 0.8, 1.0):
        for sim in sims:
            sim.advance(t)
    q, x = math.exp(-0.2), 0.0
    for u in alone[:-1]:
        x = q * x + (1 - q) * 2 * u
    for sim in sims:
        assert sim.value("two.y")[0] == pytest.approx(x, abs=1e-13)
        sim.close()


@pytest.mark.parametrize(
    ("fault", "said"),
    [(4, "fmi2DoStep returned error"), (5, "returned fatal"), (6, "discarded the step"), (7, "non-finite")],
)
def test_faults_in_a_run_name_unit_function_time_and_log(fault: int, said: str) -> None:
    d = Diagram("faulty")
    d.add("unit", FMU(build_fmu("faulty"), sample=0.1, start={"fault": fault, "when": 0.5}))
    d.add("u", Constant(1.0))
    d.connect("u.y", "unit.u")
    with pytest.raises(SimulationError, match=said) as caught:
        simulate(d, until=1.0)
    text = str(caught.value)
    assert "unit" in text and "t=0." in text
    if fault == 4:
        assert "the oil pressure is 0.25 bar" in text  # printf's arguments are there
    assert caught.value.result.time[-1] >= 0.4


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_resized_arrays_are_parameters_of_a_run(kind: str) -> None:
    """x' = A x + B u, y = C x + D u with two states: what is not given is what the FMU says itself."""
    sizes = {"n": 2, "m": 1, "r": 1}
    path = build_fmu("statespace", version="3.0")
    unit = FMU(path, kind=kind, sample=0.05 if kind == "cs" else None, start=sizes | {"u": [0.25]})
    assert {"A", "B", "C", "D", "x0"} <= {v.name for v in unit.parameter_variables}
    d = Diagram("sized")
    d.add("s", unit)
    d.ground("s.u")
    given = {"s.A": [[0.0, 1.0], [-4.0, 0.0]], "s.x0": [1.0, 0.5]}
    r = simulate(d, until=1.0, parameters=given, engine="reference", log_at=[0.5, 1.0], rtol=1e-9, atol=1e-12)
    # B = (1, 0), C = (1, 0), D = 1 as in the FMU: x1' = x2 + 0.25, x2' = -4 x1
    t = np.array([0.5, 1.0])
    exact = np.cos(2 * t) + (0.5 + 0.25) / 2 * np.sin(2 * t) + 0.25
    assert r["s.y"].ravel() == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_parameters_that_no_run_takes_say_where_they_are_given(kind: str) -> None:
    """A diagram is built anew for them, see `test_fmu_names`; a run that goes on is not."""
    fmu = FMU(build_fmu("statespace", version="3.0"), kind=kind, sample=0.05 if kind == "cs" else None)
    d = Diagram("sized")
    d.add("s", fmu)
    d.ground("s.u")
    with pytest.raises(PlantloopError, match=r"'s\.n' .* FMU\(\.\.\., start=\{'n': \.\.\.\}\)"):
        Simulation(d, engine="reference").set_parameter("s.n", 2)
    with pytest.raises(PlantloopError, match=r"start=\{'n': \.\.\.\}"):
        simulate(fmu, until=0.1, engine="reference", parameters={"n": 2})
