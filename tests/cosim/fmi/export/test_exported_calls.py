"""Calls in the wrong order and with wrong arguments: an error and a line in the log, never a crash."""

from __future__ import annotations

import subprocess
import zipfile

import pytest
from fmpy.fmi1 import FMICallException
from fmpy.simulation import instantiate_fmu

from cosim import export_fmu
from tests.helpers.compilers import users_compiler
from tests.helpers.exported import ball, first, guard
from tests.helpers.opened_fmu import Opened

NUMBERS = {"2.0": 44, "3.0": 75}


@pytest.fixture(scope="module", params=["2.0", "3.0"])
def unit(request, tmp_path_factory):
    return export_fmu(first(), tmp_path_factory.mktemp("calls") / "first.fmu", version=request.param)


def refused(m, text, call, *arguments):
    before = len(m.log)
    with pytest.raises(FMICallException, match="error"):
        call(*arguments)
    assert any(text in line for line in m.log[before:]), m.log[before:]


def test_calls_in_the_wrong_mode_are_refused_with_a_line(unit):
    with Opened(unit, initialise=False) as m:
        refused(m, "instantiated", m.unit.doStep, 0.0, 0.1)
        refused(m, "instantiated", m.unit.exitInitializationMode)
        refused(m, "instantiated", m.unit.terminate)
        m.initialise()
        refused(m, "step mode", m.unit.enterInitializationMode)
        m.step(0.1)
        m.unit.terminate()
        refused(m, "terminated", m.unit.doStep, 0.1, 0.1)
        refused(m, "terminated", m.set, "u", 1.0)


def test_wrong_arguments_are_refused_with_a_line(unit):
    with Opened(unit) as m:
        reals = m.unit.getReal if m.is_2 else m.unit.getFloat64
        put = m.unit.setReal if m.is_2 else m.unit.setFloat64
        refused(m, "value reference 99", reals, [99])
        refused(m, "value reference 99", put, [99], [1.0])
        refused(m, "the model computes it", m.set, "y[1]" if m.is_2 else "y", 1.0 if m.is_2 else [1.0, 2.0])
        refused(m, "not a number", m.set, "u", float("nan"))
        state = next(n for n in m.variables if n.startswith("lag.x"))
        refused(m, "start value", m.set, state, 1.0)
        refused(m, "is at t=0", m.unit.doStep, 0.5, 0.1)
    with Opened(unit, stop=1.0) as m:
        refused(m, "past the stop time", m.unit.doStep, 0.0, 1.5)
    with Opened(unit) as m:
        refused(m, "more than zero", m.unit.doStep, 0.0, 0.0)
    with Opened(unit) as m:
        integers = m.unit.getInteger if m.is_2 else m.unit.getInt32
        refused(m, "no variables of type", integers, [0])


def test_a_foreign_guid_makes_no_instance(unit):
    with Opened(unit, initialise=False) as m:
        m.description.guid = "{00000000-0000-0000-0000-000000000000}"
        with pytest.raises(Exception, match="nstantiate"):
            instantiate_fmu(
                m.place, m.description, "CoSimulation", logger=lambda *a: m.log.append(a[-1].decode())
            )
        assert any("do not belong together" in line for line in m.log)


def test_a_stop_event_ends_the_simulation_cleanly(tmp_path):
    """sin(t) rises through 0.9 at asin(0.9) = 1.1197695149986342 s."""
    path = export_fmu(guard(), tmp_path / "guard.fmu", version="2.0")
    with Opened(path) as m:
        with pytest.raises(FMICallException, match="discard"):
            m.step(2.0)
        assert m.unit.getBooleanStatus(3) and m.unit.getRealStatus(2) == pytest.approx(
            1.1197695149986342, abs=1e-9
        )
        assert any("high enough" in line for line in m.log)
    path = export_fmu(guard(), tmp_path / "guard3.fmu", version="3.0")
    with Opened(path) as m:
        _, ends, _, last = m.unit.doStep(0.0, 2.0)
        assert ends and last == pytest.approx(1.1197695149986342, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_all_functions_of_the_standard_are_exported_and_nothing_else(version, tmp_path, monkeypatch):
    monkeypatch.setenv("CC", users_compiler())
    path = export_fmu(ball(), tmp_path / "ball.fmu", version=version)
    with zipfile.ZipFile(path) as archive:
        (name,) = [n for n in archive.namelist() if n.startswith("binaries/") and n.endswith(("so", "dylib"))]
        archive.extract(name, tmp_path)
    shown = subprocess.run(
        ["nm", "-D", "--defined-only", tmp_path / name], capture_output=True, text=True, check=True
    )
    names = {line.split()[-1] for line in shown.stdout.splitlines()}
    own = {n for n in names if n.startswith(f"fmi{version[0]}")}
    assert len(own) == NUMBERS[version]
    assert not {n for n in names - own if not n.startswith("_")}
