"""A run that fails leaves a snapshot from shortly before; its last steps run again, one by one."""

import json

import numpy as np
import pytest

from blocks import (
    ODE,
    Constant,
    DiscreteIntegrator,
    Gain,
    Integrator,
    PythonFunction,
    Ramp,
    Sign,
    Sqrt,
    Step,
    StopWhen,
)
from blocks.errors import PlantloopError, SimulationError
from cosim import Diagram, RunSettings, Simulation, replay, simulate
from cosim.engines import look_back
from cosim.run.context import Context

ENGINES = ("reference", "native")


def emptying():
    """h' = -sqrt(h) from 1 is (1 - t/2)^2, until t = 2; then comes the root of a negative number."""
    d = Diagram("tank")
    d.add("h", ODE(lambda t, h, u: -np.sqrt(h), [1.0], inputs=0))
    return d


def failure(d, until, **more):
    with pytest.raises(SimulationError) as caught:
        simulate(d, until=until, **more)
    return caught.value


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("settings", [{}, {"solver": "rk4", "step": 0.01}], ids=["dopri5", "rk4"])
def test_the_last_steps_are_those_before_the_failure(engine, settings):
    error = failure(emptying(), 5.0, engine=engine, **settings)
    assert isinstance(error.before, Context) and error.before.t < 2.0 + 1e-6
    found = replay(emptying(), error.before, error.time, settings=RunSettings(**settings), steps=5)
    assert found.message.startswith("non-finite derivative of 'h.x' = nan in block 'h'")
    assert "First non-finite term: sqrt(-" in found.message
    assert len(found.result.time) >= 5 and found.begin < error.time
    assert not found.result.complete
    if settings:  # the same steps, up to the rounding of where they end
        assert found.message == str(error)
        assert found.result.time == pytest.approx([1.95, 1.96, 1.97, 1.98, 1.99], abs=1e-12)
        straight = simulate(emptying(), until=1.99, engine="reference", log_every="step", **settings)
        assert found.result["h.x"][-1, 0] == pytest.approx(straight["h.y"][-1, 0], rel=1e-9)
    rows = list(found.rows())
    assert rows[0][1].endswith("reference engine, every step")
    assert "h.x[0] = " in rows[1][1] and "step " in rows[2][1]


def test_a_long_run_has_a_snapshot_from_close_by(monkeypatch):
    """Copies are made on the way, of accepted steps; here at every look, not every 50 ms."""
    monkeypatch.setattr(look_back, "EVERY", 0.0)
    monkeypatch.setattr(look_back, "SHARE", 0.0)
    d = Diagram("long")
    d.add("t", Ramp(slope=-1.0, initial=1000.0))
    d.add("root", Sqrt())
    d.add("x", Integrator())
    d.connect("t.y -> root.u", "root.y -> x.u")
    error = failure(d, 2000.0, solver="rk4", step=2e-3)
    exact = lambda t: (1000.0**1.5 - (1000.0 - t) ** 1.5) / 1.5
    assert 0.0 < error.before.t < 1000.0
    assert error.before.x[0] == pytest.approx(exact(error.before.t), rel=1e-9)
    found = replay(d, error.before, error.time, settings=RunSettings(solver="rk4", step=2e-3), steps=3)
    assert found.begin == pytest.approx(1000.0, abs=2e-2)
    assert "sqrt(-" in found.message


@pytest.mark.parametrize("engine", ENGINES)
def test_failures_at_ticks_and_of_events(engine):
    d = Diagram("sampled")
    d.add("one", Constant(1.0))
    d.add("n", DiscreteIntegrator(sample=0.1))
    d.add("left", ODE(lambda t, x, u: [0.0], [0.0], lambda t, x, u: 1.0 / np.floor(1.5 - u)))
    d.connect("one.y -> n.u", "n.y -> left.u")
    error = failure(d, 3.0, engine=engine)
    found = replay(d, error.before, error.time)
    assert found.message and found.failure == error.time
    assert "1 / 0" in found.message
    d = Diagram("sliding")
    d.add("x", Integrator(initial=0.1))
    d.add("sign", Sign())
    d.add("back", Gain(-1.0))
    d.connect("x.y -> sign.u", "sign.y -> back.u", "back.y -> x.u")
    error = failure(d, 3.0, engine=engine)
    found = replay(d, error.before, error.time)
    assert "chattering" in found.message


def test_what_was_changed_on_the_way_is_part_of_it():
    """Inputs before the start are known; after a change on the way there is no snapshot from before."""
    d = Diagram("d")
    d.add("root", Sqrt())
    d.add("x", Integrator())
    d.connect(d.inport("u"), d["root"]["u"])
    d.connect("root.y -> x.u")
    sim = Simulation(d, initial={"x.x": 5.0})
    sim.set_input("u", -4.0)
    with pytest.raises(SimulationError) as caught:
        sim.advance(1.0)
    before = caught.value.before
    again = Simulation(d)
    again.restore(before)
    assert before.t == 0.0 and again.value("x.y")[0] == 5.0
    with pytest.raises(SimulationError, match=r"sqrt\(-4\)"):
        again.advance(1.0)
    sim = Simulation(d)
    sim.advance(1.0)
    sim.set_input("u", -4.0)
    with pytest.raises(SimulationError) as caught:
        sim.advance(2.0)
    assert caught.value.before is None


def test_the_error_itself_says_what_ran_from_where_and_until_when():
    d = Diagram("early")
    root = d.add("root", Sqrt())
    2.0 - d.add("step", Step(d.parameter("t0", 1.0), after=d.parameter("high", 1.0))) >> root
    root >> d.add("x", Integrator())
    error = failure(d, 5.0, parameters={"t0": 0.5, "high": 3.0}, solver="rk4", step=0.1)
    found = replay(d, error, settings=RunSettings(solver="rk4", step=0.1), steps=3)
    assert found.failure == error.time == pytest.approx(0.5)
    assert found.message == str(error)
    assert found.result["x.y"][-1, 0] == pytest.approx(found.result.time[-1] * np.sqrt(2.0))
    lines = str(found).splitlines()
    assert lines[0].endswith("reference engine, every step")
    assert lines[-1] == f"failed: {error}"


def test_a_run_that_does_not_fail_again_says_so():
    found = replay(emptying(), Simulation(emptying()).snapshot(), 0.5)
    assert found.message == "" and found.result.complete
    assert list(found.rows())[-1][1].startswith("it did not fail again up to t = ")
    sim = Simulation(emptying())
    sim.advance(0.25)
    found = replay(emptying(), sim.snapshot(), 0.5, steps=1000)  # more than there are: from the snapshot on
    assert found.begin == 0.25 and found.result.time[-1] == 1.0  # twice as far again
    with pytest.raises(PlantloopError, match="before is None, expected a snapshot"):
        replay(emptying(), None, 1.0)
    with pytest.raises(PlantloopError, match="steps is 0"):
        replay(emptying(), Simulation(emptying()).snapshot(), 1.0, steps=0)


def test_python_that_keeps_nothing_fails_as_it_did():
    def scaled(t, u):
        if t > 0.55:
            raise ValueError("too late")
        return 2.0 * u

    d = Diagram("python")
    d.add("one", Constant(1.0))
    d.add("f", PythonFunction(scaled, sample=0.1))
    d.add("end", StopWhen("never", threshold=9.0))
    d.connect("one.y -> f.u", "f.y -> end.u")
    error = failure(d, 1.0)
    found = replay(d, error.before, error.time)
    assert "too late" in found.message


FALL = """
[scenario]
name = "fall"
[blocks.x]
type = "Integrator"
initial = 1.0
[blocks.root]
type = "Sqrt"
[blocks.down]
type = "Gain"
k = -1.0
[wiring]
connect = ["x.y -> root.u", "root.y -> down.u", "down.y -> x.u"]
[run]
until = 5.0
solver = "rk4"
step = 0.01
log_every = 0.1
"""


def test_the_command_shows_every_step_and_what_failed(tmp_path, capsys):
    from typer.testing import CliRunner

    from cosim.cli.cli import app

    scenario = tmp_path / "fall.toml"
    scenario.write_text(FALL)
    run = CliRunner().invoke(app, ["run", str(scenario), "--out", str(tmp_path / "out")])
    assert run.exit_code == 1
    assert "look at the last steps: cosim replay" in run.output
    path = tmp_path / "out" / "failure.json"
    shown = CliRunner().invoke(app, ["replay", str(path), "--steps", "4"])
    assert shown.exit_code == 1
    lines = shown.output.splitlines()
    assert [line.split()[2] for line in lines if line.startswith("t = ")] == ["1.96", "1.97", "1.98", "1.99"]
    assert "First non-finite term: sqrt(-2.2084461e-05)" in shown.output
    scenario.write_text(FALL.replace("k = -1.0", 'k = -1.0\n[blocks.more]\ntype = "Constant"\nvalue = 1.0'))
    assert "Restore it in the same diagram" in CliRunner().invoke(app, ["replay", str(path)]).output
    scenario.unlink()
    assert "is not there any more" in CliRunner().invoke(app, ["replay", str(path)]).output
    for damaged in ("", "[]", json.dumps({"format": "plantloop failure 1"}), '{"format": 3}'):
        path.write_text(damaged)
        assert "no failure that cosim run wrote" in CliRunner().invoke(app, ["replay", str(path)]).output
