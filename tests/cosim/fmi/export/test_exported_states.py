"""States of exported units: reset, rolled back, in two instances at once, carried to another process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from fmpy.fmi1 import FMICallException

import blocks as B
from cosim import Diagram, Simulation, export_fmu
from tests.helpers.exported import counting, delayed, first, jumping, pendulum
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


def test_bytes_that_are_no_state_leave_the_one_that_is_there(unit):
    """They were in its place although they were refused."""
    path, names = unit
    with Opened(path) as m:
        run(m, names, 3)
        saved, good = m.save(), m.bytes()
        expected = run(m, names, 4)
        into = m.unit.deSerializeFMUstate if m.is_2 else m.unit.deserializeFMUState
        for wrong in (b"nonsense", good[:-8], b"\0" * len(good)):
            with pytest.raises(FMICallException):
                into(wrong, saved[1])
        m.load(saved)
        assert run(m, names, 4) == expected


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


HEAD = {
    0,
    1,
    2,
    3,
    5,
    6,
    10,
}  # hash, size, kind, mode, event that ended the run, numbers of stops and of bytes behind


@pytest.mark.parametrize(("diagram", "counts"), [(delayed, 1), (jumping, 3), (counting, 2)])
def test_a_state_with_a_wrong_number_is_refused_or_runs(diagram, counts, tmp_path):
    """Numbers of 8 bytes: each too large or below zero; lengths that are not those of a state.

    Refused are those that say what it is or how much: pieces of a past, ticks, listed instants.
    """
    path = export_fmu(diagram(), tmp_path / "unit.fmu", step=0.01)
    with Opened(path) as m:
        names = [v.name for v in m.description.modelVariables if v.causality == "output"]
        run(m, names, 70, 0.01)
        good, time = m.bytes(), m.time
        expected = run(m, names, 10)
        numbers, refused = np.frombuffer(good, np.int64), {}
        for k in range(len(numbers)):
            for wrong in (-1, 2**62):
                changed = numbers.copy()
                changed[k] = wrong
                try:
                    m.from_bytes(changed.tobytes())
                    m.from_bytes(good)
                except FMICallException:
                    refused.setdefault(k, []).append(wrong)
        assert set(refused) >= HEAD and len(refused) == len(HEAD) + counts
        assert all(wrong == [-1, 2**62] for wrong in refused.values())
        pieces = set(refused) - HEAD if diagram is not counting else set()
        for k, more in (*((k, 1) for k in HEAD), *((k, 2**61) for k in pieces)):
            changed = numbers.copy()
            changed[k : k + 1] += more  # 2^61 pieces of 7 numbers are 2^64 times 7 bytes, which is none
            with pytest.raises(FMICallException):
                m.from_bytes(changed.tobytes())
        for length in range(0, len(good), 8):
            with pytest.raises(FMICallException):
                m.from_bytes(good[:length])
        m.from_bytes(good)
        m.time = time
        assert run(m, names, 10) == expected


def test_a_state_goes_to_instances_for_the_same_use_only(tmp_path):
    path = export_fmu(first(), tmp_path / "first.fmu", version="3.0")
    with Opened(path) as one, Opened(path, "ModelExchange", folder=one.place) as other:
        for a, b in ((one, other), (other, one)):
            with pytest.raises(FMICallException):
                b.from_bytes(a.bytes())
            a.from_bytes(a.bytes())


def test_the_end_and_the_tolerance_are_part_of_the_state(tmp_path):
    """A state of an experiment to 1 s in an instance whose own is longer, which then goes on."""
    path = export_fmu(first(), tmp_path / "first.fmu", version="3.0")
    with Opened(path, stop=1.0) as one, Opened(path, start=0.5, stop=3.0, folder=one.place) as other:
        one.step(0.9)
        own, time = other.bytes(), other.time
        other.from_bytes(one.bytes())
        other.time = one.time
        assert other.get("time") == 0.9 and other.get("y") == one.get("y")
        with pytest.raises(FMICallException):
            other.step(0.2)
        other.from_bytes(own)
        other.time = time
        assert other.get("time") == 0.5
        other.step(2.5)
        assert other.get("time") == 3.0


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_state_within_event_mode_knows_how_that_began(version, tmp_path):
    """An input set in the same event mode is sampled, also where the state was restored in between."""
    d = Diagram("held")
    d.connect(d.inport("u"), d.add("hold", B.Hold(sample="1/10"))["u"])
    d.outport("y", "hold.y")
    path = export_fmu(d, tmp_path / "held.fmu", version=version)
    with Opened(path, "ModelExchange") as m, Opened(path, "ModelExchange", folder=m.place) as other:
        update = lambda one: one.unit.newDiscreteStates() if one.is_2 else one.unit.updateDiscreteStates()
        update(m)
        m.unit.enterContinuousTimeMode()
        m.unit.setTime(0.1)
        m.unit.completedIntegratorStep()
        m.unit.enterEventMode()
        m.set("u", 1.0)
        update(m)
        saved, text = m.save(), m.bytes()
        ways = (
            (m, lambda: m.load(saved)),
            (m, lambda: m.from_bytes(text)),
            (other, lambda: other.from_bytes(text)),
        )
        for one, restore in ways:
            restore()
            assert one.get("y") == 1.0
            one.set("u", 2.0)
            update(one)
            assert one.get("y") == 2.0


def test_a_state_where_a_jump_comes_out_of_a_delay_is_before_it(tmp_path):
    """A step at 0.2 s comes out at 0.5 s; where continuous time ends there, it is not seen yet."""
    path = export_fmu(jumping(), tmp_path / "jumping.fmu", version="3.0")
    with Opened(path, "ModelExchange") as m:
        time = 0.0
        for expected in (0.2, 0.5):
            while time < expected:
                time = min(m.unit.updateDiscreteStates()[-1], expected)
                m.unit.enterContinuousTimeMode()
                m.unit.setTime(time)
                m.unit.completedIntegratorStep()
                if time < 0.5:
                    m.unit.enterEventMode()
        before, saved, text = m.get("first_y"), m.save(), m.bytes()
        for restore in (lambda: m.load(saved), lambda: m.from_bytes(text)):
            restore()
            assert m.get("first_y") == before == 0.0
        m.unit.enterEventMode()
        m.unit.updateDiscreteStates()
        assert m.get("first_y") == 2.0
