"""One scenario in several ways: the same specification whole, co-simulated, as an FMU, with halved steps."""

import numpy as np
import pytest
from typer.testing import CliRunner

from blocks import PlantloopError
from cosim import Coupling, Diagram, simulate
from cosim.cli.cli import app
from cosim.fmi.simulated_unit import SimulatedUnit
from cosim.scenario import load_scenario
from cosim.scenario.comparison import compared, halved_steps
from tests.helpers.fmus import build_fmu, needs_compiler

TEXT = """
[scenario]
name = "loop"
[blocks.ref]
type = "Constant"
value = 1.0
[blocks.error]
type = "Sum"
signs = "+-"
[blocks.controller]
type = "Gain"
k = 2.0
[blocks.motor]
type = "TransferFunction"
num = [1.0]
den = [0.1, 1.0]
[wiring]
connect = ["ref.y -> error.in1", "motor.y -> error.in2", "error.y -> controller.u", "controller.y -> motor.u"]
[run]
until = 0.5
solver = "euler"
step = 0.01
log_every = 0.01
"""


@pytest.fixture
def scenario(tmp_path):
    (tmp_path / "loop.toml").write_text(TEXT)
    return load_scenario(tmp_path / "loop.toml")


def test_halved_steps_show_the_error_of_the_solver(scenario):
    found = halved_steps(scenario, scenario.run())
    exact = lambda t: (1 - np.exp(-30 * t)) * 2 / 3
    t = np.arange(51) * 0.01
    euler = lambda h: (1 - (1 - 30 * h) ** np.rint(t / h)) * 2 / 3
    expected = np.max(np.abs(euler(0.01) - euler(0.005)))
    assert found.worst["halved", "motor.y"] == pytest.approx(expected, rel=1e-9)
    assert np.max(np.abs(euler(0.01) - exact(t))) < 4 * expected
    assert "0.01 s and 0.005 s" in found.notes[0]


@needs_compiler
def test_ways_and_the_share_of_the_coupling(scenario):
    found = compared(scenario, step=0.02)
    assert found.worst["fmu", "motor.y"] < 1e-14  # the same C with the same steps
    assert found.worst["cosim", "motor.y"] > 1e-3
    assert found.coupling_share("motor.y") == pytest.approx(1.0, abs=1e-10)
    finer = compared(scenario, ("monolithic", "cosim"), step=0.01)
    assert finer.worst["cosim", "motor.y"] < found.worst["cosim", "motor.y"]
    assert finer.coupling_share("motor.y") is None


VECTORS = """
[blocks.two]
type = "Constant"
value = [0.3, -0.7]
[blocks.encoder]
type = "Encoder"
counts = 1000
turn = 1.0
sample = 0.01
[blocks.lag]
type = "FirstOrder"
time_constant = 0.1
[wiring]
connect = ["two.y -> encoder.u", "encoder.y -> lag.u"]
[run]
until = 0.1
log_every = 0.01
"""


@needs_compiler
def test_blocks_whose_width_follows_from_their_wires_are_units_of_that_width(tmp_path):
    (tmp_path / "vectors.toml").write_text(VECTORS)
    found = compared(load_scenario(tmp_path / "vectors.toml"))
    assert found.size["lag.y"] == pytest.approx(0.7 * (1 - np.exp(-1.0)), rel=1e-6)
    assert found.worst["fmu", "lag.y"] < 1e-9
    assert found.worst["cosim", "lag.y"] < 0.7 * (1 - np.exp(-0.1)) * 1.001  # a step late at most
    assert found.worst["cosim", "encoder.y"] == 0.0


@pytest.mark.parametrize("ways", [("monolithic",), ("monolithic", "fmi"), ("cosim", "cosim")])
def test_ways_without_sense(scenario, ways):
    with pytest.raises(PlantloopError, match="way"):
        compared(scenario, ways)


@pytest.mark.slow
@needs_compiler
@pytest.mark.parametrize(("kind", "sample"), [("cs", "sample = 0.01"), ("me", "")])
def test_a_scenario_with_an_fmu_is_compared_in_the_ways_it_can(tmp_path, kind, sample):
    build_fmu("mass", tmp_path, version="3.0")
    (tmp_path / "held.toml").write_text(
        f"""
[blocks.k]
type = "Gain"
k = -20.0
[blocks.lag]
type = "FirstOrder"
time_constant = 0.1
[fmus.mass]
file = "mass.fmu"
kind = "{kind}"
{sample}
start = {{ x = 0.3 }}
[wiring]
connect = ["mass.x -> k.u", "k.y -> lag.u", "lag.y -> mass.f"]
[run]
until = 0.3
log_every = 0.1
"""
    )
    loaded = load_scenario(tmp_path / "held.toml", trust=True)
    found = compared(loaded)
    assert found.ways == ("monolithic", "cosim")
    assert found.notes[-1].startswith("not fmu: ") and "'mass'" in found.notes[-1]
    assert found.relative("cosim", "mass.x") < 0.02
    with pytest.raises(PlantloopError, match=r"only monolithic is possible.*'mass'"):
        compared(loaded, ("monolithic", "fmu"))


@pytest.mark.slow
def test_the_commands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "loop.toml").write_text(TEXT)
    run = CliRunner().invoke(app, ["run", "loop.toml", "--check-step"])
    assert run.exit_code == 0 and "halved" in run.output
    comparison = CliRunner().invoke(app, ["compare", "loop.toml", "--ways", "monolithic,cosim"])
    assert comparison.exit_code == 0 and "motor.y" in comparison.output


def test_a_coupling_in_a_scenario(tmp_path):
    (tmp_path / "loop.toml").write_text(TEXT + 'coupling = { order = "jacobi", extrapolation = 1 }\n')
    with pytest.raises(PlantloopError, match="nothing in 'loop' steps itself"):
        load_scenario(tmp_path / "loop.toml").run()
    (tmp_path / "loop.toml").write_text(TEXT + 'coupling = "seidel"\n')
    with pytest.raises(PlantloopError, match="no order 'seidel'"):
        load_scenario(tmp_path / "loop.toml")


def test_a_block_as_a_unit_is_the_block_with_held_inputs():
    """Two lags that drive each other, each a run of its own, against the map of held inputs."""
    from blocks import TransferFunction

    d = Diagram("pair")
    for name in ("a", "b"):
        lag = TransferFunction([1.0], [0.5, 1.0])
        d.add(name, SimulatedUnit(lag, "1/10", initial={"x": 0.5 if name == "a" else 0.0}))
    d.connect("a.y", "b.u")
    d.connect("b.y", "a.u")
    r = simulate(d, 1.0, coupling="jacobi", log_every="1/10", rtol=1e-10)
    q, z, rows = np.exp(-0.2), np.array([1.0, 0.0]), []
    for _ in range(11):
        rows.append(z)
        z = q * z + (1 - q) * z[::-1]
    np.testing.assert_allclose(
        np.column_stack([r["a.y"], r["b.y"]]), np.array(rows) * r["a.y"][0, 0], atol=1e-9
    )
    again = simulate(d, 1.0, coupling=Coupling(iterate=True), log_every="1/10", rtol=1e-10)
    assert np.max(np.abs(again["a.y"] - r["a.y"])) > 1e-3
