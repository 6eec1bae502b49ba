"""Exported units in other importers: libcosim, and this package's own."""

from __future__ import annotations

from dataclasses import dataclass

import fmpy
import numpy as np
import pytest

import blocks as B
from cosim import FMU, Diagram, export_fmu, simulate
from plant import Plant
from tests.helpers.exported import MODELS, K, ball, pendulum

START = {"plant.hinge.q": -0.1}


def test_libcosim_gets_the_bits_of_the_native_engine(tmp_path):
    pytest.importorskip("libcosimpy", reason="needs libcosimpy")
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    d = pendulum()
    path = export_fmu(d, tmp_path / "loop.fmu", version="2.0", initial=START, step=1e-3)
    execution = CosimExecution.from_step_size(step_size=10_000_000)  # ns
    slave = execution.add_local_slave(local_slave=CosimLocalSlave(fmu_path=str(path), instance_name="loop"))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer=observer)
    assert execution.simulate_until(target_time=1_000_000_000)
    refs = {v.name: v.valueReference for v in fmpy.read_model_description(str(path)).modelVariables}
    wanted = [refs["pendulum[1]"], refs["slider[2]"], refs["force"]]
    found = observer.last_real_values(slave_index=slave, variable_references=wanted)
    r = simulate(d, 1.0, solver="rk4", step=1e-3, initial=START, log_every=0.01, engine="native")
    assert found == [r["plant.pendulum"][-1, 0], r["plant.slider"][-1, 1], r["controller.u"][-1, 0]]


def looped(plant, controller):
    d = Diagram("loop")
    p, y, c = d.add("plant", plant), d.add("y", B.Mux(2)), d.add("controller", controller)
    d.connect(p["pendulum"], y["in1"])
    d.connect(p["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], p["control_force"])
    d.ground(p["disturbance_force"])
    d.outport("theta", p["pendulum"])
    return d


@pytest.mark.slow
def test_a_plant_exported_and_imported_again_is_the_plant(tmp_path):
    """Model exchange with our solver, at the tolerance of the run; the feedback stays here, then goes too."""
    plant = Plant.read(MODELS / "inverted_pendulum" / "inverted_pendulum.xml")
    controller = B.StateFeedback(K, sample=0.01)
    how = {"rtol": 1e-9, "atol": 1e-11, "log_every": 0.01}
    held = plant.with_port("control_force", hold_order=0)
    expected = simulate(looped(held, controller), 1.0, initial=START, **how)["theta"]
    body = export_fmu(plant, tmp_path / "plant.fmu", initial={"hinge.q": -0.1})
    brain = export_fmu(controller, tmp_path / "controller.fmu")
    found = simulate(looped(FMU(body, kind="me"), controller), 1.0, **how)["theta"]
    assert np.allclose(found, expected, atol=1e-9)
    found = simulate(looped(FMU(body, kind="me"), FMU(brain, kind="me")), 1.0, **how)["theta"]
    assert np.allclose(found, expected, atol=1e-9)


@pytest.mark.slow
def test_a_four_bar_exported_and_imported_again(tmp_path):
    """A closed loop of bodies with an invariant, as model exchange and as co-simulation."""
    plant = Plant.read(MODELS / "four_bar" / "four_bar.xml")
    alone = Diagram("alone")
    p = alone.add("plant", plant)
    for name in plant.inputs:
        alone.ground(p[name])
    how = {"rtol": 1e-8, "atol": 1e-10, "log_every": 0.01}
    expected = simulate(alone, 0.5, **how)
    path = export_fmu(plant, tmp_path / "bar.fmu", solver="dopri5", rtol=1e-8, atol=1e-10)
    for kind, more in (("me", {}), ("cs", {"sample": "1/100"})):
        d = Diagram(kind)
        unit = d.add("plant", FMU(path, kind=kind, **more))
        for name in plant.inputs:
            d.ground(unit[name])
        r = simulate(d, 0.5, **how)
        for name in plant.outputs:
            signal = expected[f"plant.{name}"]
            assert np.allclose(r[f"plant.{name}"], signal, atol=1e-5 * max(1.0, np.abs(signal).max())), (
                kind,
                name,
            )


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_ball_exported_and_imported_again_bounces_when_it_must(version, tmp_path):
    path = export_fmu(ball(), tmp_path / "ball.fmu", version=version, solver="dopri5", rtol=1e-9)
    expected = simulate(ball(), 2.0, log_every=0.05, rtol=1e-9, atol=1e-11)["ball.h"]
    for kind, more in (("me", {}), ("cs", {"sample": "1/20"})):
        d = Diagram(kind)
        d.add("ball", FMU(path, kind=kind, **more))
        assert np.allclose(
            simulate(d, 2.0, log_every=0.05, rtol=1e-9, atol=1e-11)["ball.h"], expected, atol=1e-7
        ), kind


@dataclass(frozen=True)
class Circle(B.Block):
    """x' = u (-x2, x1): its invariant |x| = 1 asks for an event after steps that left it."""

    def define(self, b):
        u = b.input("u")
        x = b.continuous("x", [1.0, 0.0])
        b.derivative(x, u[0] * np.array([-x[1], x[0]]))
        b.invariant(x[0] * x[0] + x[1] * x[1] - 1.0)
        b.output("y", x)


@pytest.mark.slow
def test_a_tick_at_the_end_of_a_step_that_asked_for_an_event_is_not_the_last(tmp_path):
    """The time event of a tick and the event after a step fall together; later ticks were left out.

    y_k+1 is y_k turned by 0.25 (2 + y_k[0]) rad, with the input held for 0.25 s.
    """
    d = Diagram("turning")
    d.add("circle", Circle())
    d.add("speed", B.Bias(2.0))
    d.add("hold", B.Hold(sample=0.25))
    d.connect("circle.y[0] -> speed.u", "speed -> hold", "hold -> circle")
    path = export_fmu(d, tmp_path / "turning.fmu", version="3.0", kinds=("me",))
    loop = Diagram("loop")
    loop.add("unit", FMU(path, kind="me"))
    angle = 0.0
    for _ in range(8):
        angle += 0.25 * (2.0 + np.cos(angle))
    for engine in ("reference", "native"):
        r = simulate(loop, until=2.0, engine=engine, rtol=1e-6)
        steps = sum(e.name == "unit.event" for e in r.events) - 9  # besides the start and eight ticks
        assert steps > 0
        assert np.abs(r["unit.circle.y"][-1] - [np.cos(angle), np.sin(angle)]).max() < 1e-5
