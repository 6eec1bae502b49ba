"""Exported units in FMPy, an importer that is not ours: the numbers are those of the native engine."""

from __future__ import annotations

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu
from typer.testing import CliRunner

from blocks import FirstOrder, Integrator, PythonFunction
from blocks.errors import PlantloopError
from cosim import FMU, Diagram, export_fmu, simulate
from cosim.cli.cli import app
from cosim.scenario import load_scenario
from tests.helpers.exported import MODELS, ball, columns, first, pendulum
from tests.helpers.fmus import build_fmu

VERSIONS = ["2.0", "3.0"]


def run(path, kind, until, interval, **more):
    return fmpy.simulate_fmu(
        str(path), stop_time=until, output_interval=interval, fmi_type=kind, **more
    )  # fmt: skip


@pytest.mark.parametrize("version", VERSIONS)
def test_co_simulation_of_the_pendulum_has_the_bits_of_the_native_engine(version, tmp_path):
    d, start = pendulum(), {"plant.hinge.q": -0.1}
    path = export_fmu(d, tmp_path / "loop.fmu", version=version, solver="rk4", step=1e-3, initial=start)
    assert validate_fmu(str(path)) == []
    found = run(path, "CoSimulation", 3.0, 0.01)
    r = simulate(d, 3.0, solver="rk4", step=1e-3, initial=start, log_every=0.01, engine="native")
    for name, signal in d.system().outports.items():
        expected = r[signal]
        assert np.array_equal(columns(found, name, expected.shape[1]), expected), name


@pytest.mark.parametrize("version", VERSIONS)
def test_model_exchange_of_the_pendulum_is_exact_within_its_tolerance(version, tmp_path):
    """CVode at 1e-10 against dopri5 at 1e-11; ticks are time events."""
    d, start = pendulum(), {"plant.hinge.q": -0.1}
    path = export_fmu(d, tmp_path / "loop.fmu", version=version, initial=start)
    found = run(path, "ModelExchange", 2.0, 0.01, relative_tolerance=1e-10)
    r = simulate(d, 2.0, initial=start, log_every=0.01, rtol=1e-11, atol=1e-13)
    last = np.searchsorted(found["time"], r.time + 1e-9, side="right") - 1
    for name, limit in (("pendulum", 1e-6), ("slider", 1e-6), ("force", 1e-5)):
        signal = r[d.system().outports[name]]
        assert np.abs(columns(found, name, signal.shape[1])[last] - signal).max() < limit, name


@pytest.mark.parametrize("version", VERSIONS)
def test_a_bouncing_ball_bounces_when_it_must(version, tmp_path):
    """First at sqrt(2 h/g), then each flight 0.8 times as long: closed form."""
    path = export_fmu(ball(), tmp_path / "ball.fmu", version=version, solver="dopri5", rtol=1e-10)
    fall = np.sqrt(2 / 9.81)
    starts, t = [0.0], fall
    for flight in 2 * fall * 0.8 ** np.arange(1, 6):
        starts.append(t)
        t += flight

    def height(t):
        k = np.searchsorted(starts, t, side="right") - 1
        if k == 0:
            return 1 - 4.905 * t**2
        s, v = t - starts[k], 9.81 * fall * 0.8**k
        return v * s - 4.905 * s**2

    for kind, limit in (("CoSimulation", 1e-9), ("ModelExchange", 1e-5)):
        found = run(path, kind, 2.0, 0.05, relative_tolerance=1e-10)
        assert np.allclose(found["h"], [height(t) for t in found["time"]], atol=limit), kind


@pytest.mark.parametrize("version", VERSIONS)
def test_inputs_parameters_and_start_values_are_set_by_name(version, tmp_path):
    """x' = u - x from x = 2 with u = 3: x = 3 - exp(-t), y = (x, x + 2 u)."""
    path = export_fmu(first(), tmp_path / "first.fmu", version=version, step=1e-3)
    names = {v.name: v for v in fmpy.read_model_description(str(path)).modelVariables}
    assert names["u"].causality == "input" and names["u"].start == "0.0"
    x = next(n for n in names if n.startswith("lag.x"))
    found = run(path, "CoSimulation", 1.0, 0.1, start_values={"u": 3.0, x: 2.0})
    expected = 3 - np.exp(-found["time"])
    assert np.allclose(columns(found, "y", 2), np.column_stack([expected, expected + 6]), atol=1e-12)


def test_what_makes_no_sense_is_refused(tmp_path):
    d = first()
    for wrong in (
        {"version": "1.0"}, {"version": 3.0}, {"kinds": ["se"]}, {"kinds": []}, {"platforms": ["vax"]},
        {"parameters": {"lag.nothing": 1.0}}, {"initial": {"x": 1.0}}, {"locals": ["lag.q"]},
        {"solver": "BDF"}, {"engine": "reference"}, {"stop": -1.0}, {"sources": "yes"},
    ):  # fmt: skip
        with pytest.raises(PlantloopError):
            export_fmu(d, tmp_path / "x.fmu", **wrong)
    with pytest.raises(PlantloopError, match="end in .fmu"):
        export_fmu(d, tmp_path / "x.zip")
    with pytest.raises(PlantloopError, match="folder"):
        export_fmu(d, tmp_path / "nowhere" / "x.fmu")
    assert not list(tmp_path.iterdir())


def test_states_and_parameters_are_variables_whether_they_are_listed_or_not(tmp_path):
    def names(file):
        return [v.name for v in fmpy.read_model_description(str(file)).modelVariables]

    more = ["lag.x", "lag.gain"]
    d = Diagram("d")
    d.connect(d.inport("u"), d.add("lag", FirstOrder(gain=2.0))["u"])
    d.outport("y", d["lag"]["y"])
    plain = names(export_fmu(d, tmp_path / "plain.fmu", platforms=[]))
    assert set(more) <= set(plain)
    assert names(export_fmu(d, tmp_path / "more.fmu", platforms=[], locals=more)) == plain
    for name in more:
        with pytest.raises(PlantloopError, match=f"outputs has '{name}', which is no signal.* of its own"):
            export_fmu(d, tmp_path / "no.fmu", platforms=[], outputs=["y", name])
    (tmp_path / "s.toml").write_text(
        '[run]\nuntil = 1.0\n[blocks.k]\ntype = "Constant"\nvalue = 1.0\n[blocks.lag]\ntype = "FirstOrder"\n'
        '[wiring]\nconnect = ["k.y -> lag.u"]\n[outputs]\nsignals = ["lag.x", "lag.y"]\n'
    )
    path = load_scenario(tmp_path / "s.toml").export(tmp_path / "s.fmu", platforms=[])
    shown = fmpy.read_model_description(str(path)).modelVariables
    assert [v.name for v in shown if v.causality == "output"] == ["lag.y"]


def test_a_diagram_without_outputs_shows_all_its_signals(tmp_path):
    d = Diagram("open")
    x = d.add("x", Integrator(1.0))
    d.connect(d.inport("u"), x["u"])
    path = export_fmu(d, tmp_path / "open.fmu", version="2.0")
    outputs = [
        v.name for v in fmpy.read_model_description(str(path)).modelVariables if v.causality == "output"
    ]
    assert outputs == ["x.y"]
    path = export_fmu(pendulum(), tmp_path / "loop.fmu", outputs=["plant.pendulum.theta", "controller.u"])
    outputs = [
        v.name for v in fmpy.read_model_description(str(path)).modelVariables if v.causality == "output"
    ]
    assert outputs == ["plant.pendulum.theta", "controller.u"]


def test_a_block_in_python_is_refused_by_name(tmp_path):
    d = Diagram("with_python")
    f = d.add("device", PythonFunction(lambda t, u: u, sample=0.1))
    d.connect(d.inport("u"), f["u"])
    with pytest.raises(PlantloopError, match="'device' runs in Python"):
        export_fmu(d, tmp_path / "x.fmu")
    d = Diagram("with_unit")
    d.add("unit", FMU(build_fmu("stair"), kind="cs", sample=0.1))
    for driven in (False, True, "held"):  # as a run with and without a coupling has it
        with pytest.raises(PlantloopError, match="'unit' runs in Python, or in a library"):
            export_fmu(d.system(driven=driven), tmp_path / "x.fmu")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_the_command_exports_scenarios_and_models(tmp_path, monkeypatch):
    """The scenario's numbers, settings and logged signals; the plant alone has its own ports."""
    monkeypatch.chdir(tmp_path)
    folder = MODELS / "inverted_pendulum"
    told = CliRunner().invoke(
        app, ["export", str(folder / "scenario.toml"), "--fmi", "3", "--out", "loop.fmu"]
    )
    assert told.exit_code == 0, told.output
    assert "binaries/" in told.output
    scenario = load_scenario(folder / "scenario.toml")
    r = scenario.run()
    description = fmpy.read_model_description("loop.fmu")
    assert float(description.defaultExperiment.stopTime) == scenario.tables.run.until
    found = run("loop.fmu", "CoSimulation", 1.0, 0.01)
    name = next(v.name for v in description.modelVariables if v.causality == "output")
    assert np.allclose(columns(found, name, r[name].shape[1])[-1], r.at(1.0, name), rtol=1e-6, atol=1e-9)
    told = CliRunner().invoke(app, ["export", str(folder / "inverted_pendulum.xml"), "--fmi", "2"])
    assert told.exit_code == 0, told.output
    names = {v.name: v.causality for v in fmpy.read_model_description("inverted_pendulum.fmu").modelVariables}
    assert (
        names["control_force"] == "input" and names["pendulum[1]"] == "output" and names["hinge.q"] == "local"
    )
    told = CliRunner().invoke(app, ["export", str(folder / "scenario.toml"), "--fmi", "4"])
    assert told.exit_code == 1 and "expected 2.0 or 3.0" in told.output
