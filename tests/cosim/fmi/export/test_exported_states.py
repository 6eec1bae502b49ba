"""States of exported units: reset, rolled back, in two instances at once, carried to another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

from cosim import Simulation, export_fmu
from tests.helpers.exported import delayed, first, pendulum
from tests.helpers.opened_fmu import Opened

ROOT = Path(__file__).parents[4]
OUT = {"2.0": ["pendulum[1]", "slider[2]", "force"], "3.0": ["pendulum", "slider", "force"]}


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def unit(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("states") / "loop.fmu"
    export_fmu(
        pendulum(), path, version=request.param, initial={"plant.hinge.q": -0.1}, solver="dopri5", rtol=1e-7
    )
    return path, OUT[request.param]


def run(m, names, steps=30, h=0.007):
    rows = []
    for _ in range(steps):
        m.step(h)
        rows.append(m.all(names))
    return rows


def test_reset_and_run_again_gives_the_same(unit):
    path, names = unit
    with Opened(path) as m:
        once = run(m, names)
        m.unit.reset()
        m.initialise()
        assert run(m, names) == once


def test_two_instances_at_once_give_the_same_as_each_alone(unit):
    path, names = unit
    with Opened(path, values={"push": 1.0}) as a:
        alone = run(a, names)
        with Opened(path, folder=a.place) as other:
            quiet = run(other, names)
        with Opened(path, folder=a.place, values={"push": 1.0}) as b, Opened(path, folder=a.place) as c:
            both = [(run(b, names, 1)[0], run(c, names, 1)[0]) for _ in range(30)]
    assert [r for r, _ in both] == alone
    assert [r for _, r in both] == quiet
    assert alone != quiet


def test_rolled_back_steps_leave_no_trace(unit):
    path, names = unit
    with Opened(path) as m:
        expected = run(m, names, 20)
    with Opened(path) as m:
        run(m, names, 7)
        saved = m.save()
        m.set("push", 50.0)
        run(m, names, 5, 0.003)
        m.load(saved)
        assert m.get("push") == 0.0
        assert run(m, names, 13) == expected[7:]


@pytest.mark.slow
def test_a_state_goes_on_in_another_process(unit, tmp_path):
    path, names = unit
    with Opened(path) as m:
        run(m, names, 9)
        (tmp_path / "state").write_bytes(m.bytes())
        time = m.time
        expected = np.ravel(run(m, names[-1:], 6)[-1])
    command = [
        sys.executable,
        "-m",
        "tests.helpers.opened_fmu",
        path,
        tmp_path / "state",
        time,
        0.007,
        6,
        names[-1],
    ]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, cwd=ROOT, check=True)
    assert [float.fromhex(v) for v in done.stdout.split()] == list(expected)


def test_the_past_of_a_delay_is_part_of_the_state(tmp_path):
    path = export_fmu(delayed(), tmp_path / "delayed.fmu", step=0.01)
    with Opened(path) as m:
        run(m, ["x"], 40)
        state, time = m.bytes(), m.time
        expected = run(m, ["x"], 60)
        m.from_bytes(state)
        m.time = time
        assert run(m, ["x"], 60) == expected
        for wrong in (b"", b"nonsense", state[:-8], b"\0" * len(state)):
            with pytest.raises(FMICallException):
                m.from_bytes(wrong)


def test_a_state_of_another_model_is_refused(tmp_path):
    one, two = (export_fmu(d(), tmp_path / f"{d.__name__}.fmu", version="2.0") for d in (first, delayed))
    with Opened(one) as a, Opened(two) as b:
        with pytest.raises(FMICallException):
            b.from_bytes(a.bytes())
        assert "no saved state of this model" in b.log[-1]


def test_ticks_are_counted_from_the_start_and_end_a_communication_step(tmp_path):
    """Started at 5 s the pendulum does from there what it does from 0, in steps of a third of a tick."""
    d, start = pendulum(), {"plant.hinge.q": -0.1}
    path = export_fmu(d, tmp_path / "loop.fmu", initial=start, step=1e-3)
    sim = Simulation(d, initial=start, solver="rk4", step=1e-3)
    with Opened(path, start=5.0) as m:
        for k in range(1, 40):
            sim.advance(k / 300)
            m.unit.doStep(currentCommunicationPoint=m.time, communicationStepSize=1 / 300)
            m.time = 5 + k / 300
            assert np.allclose(m.get("force"), sim.value("controller.u"), rtol=1e-9), k
