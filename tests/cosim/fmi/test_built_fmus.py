"""The test FMUs themselves, in FMPy: their descriptions are valid and their numbers those of closed forms."""

import math

import fmpy
import numpy as np
import pytest
from scipy.linalg import expm

from tests.helpers.fmu_units import UNITS
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
EVERY = [(name, version) for name, unit in UNITS.items() for version in unit().versions]
KINDS = {"cs": "CoSimulation", "me": "ModelExchange"}


def run(path, kind="cs", **keywords):
    return fmpy.simulate_fmu(str(path), fmi_type=KINDS[kind], **keywords)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "version"), EVERY)
def test_description_is_valid(name, version):
    from fmpy.validation import validate_fmu

    assert validate_fmu(str(build_fmu(name, version=version))) == []


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_free_mass_swings_as_its_exponential_says(version):
    rows = run(build_fmu("mass", version=version), stop_time=1.0, output_interval=0.1)
    A = np.array([[0.0, 1.0], [-100.0, -0.5]])
    for row in rows:
        assert [row["x"], row["v"]] == pytest.approx(expm(A * row["time"]) @ [0.1, 0.0], abs=1e-12)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_a_ball_bounces_when_it_should(version):
    path = build_fmu("ball", version=version)
    first = math.sqrt(2 / 9.81)
    up = lambda t: 0.7 * math.sqrt(2 * 9.81) * t - 9.81 / 2 * t * t
    rows = run(path, "me", stop_time=0.9, output_interval=0.05, relative_tolerance=1e-8)
    late = [row for row in rows if row["time"] > first + 1e-3]
    assert len(late) > 5 and all(row["bounces"] == 1 for row in late)
    assert [row["h"] for row in late] == pytest.approx([up(row["time"] - first) for row in late], abs=1e-6)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_stair_ends_by_itself(version):
    rows = run(build_fmu("stair", version=version), stop_time=20.0, output_interval=0.5)
    assert rows["time"][-1] == pytest.approx(9.0) and rows["counter"][-1] == 10


def test_state_space_changes_its_sizes():
    path = build_fmu("statespace", version="3.0")
    described = fmpy.read_model_description(str(path))
    reference = {v.name: v.valueReference for v in described.modelVariables}
    unit = fmpy.instantiate_fmu(fmpy.extract(str(path)), described, "CoSimulation")
    unit.enterConfigurationMode()
    unit.setUInt64([reference[n] for n in "nmr"], [2, 1, 1])
    unit.exitConfigurationMode()
    starts = {"A": [0, 1, -4, 0], "B": [0, 1], "C": [1, 0], "D": [0.5], "x0": [1, 0], "u": [0]}
    for name, values in starts.items():
        unit.setFloat64([reference[name]], values)
    unit.enterInitializationMode()
    unit.exitInitializationMode()
    unit.doStep(0.0, 1.0)
    assert unit.getFloat64([reference["y"]], nValues=1)[0] == pytest.approx(math.cos(2.0), abs=1e-6)
    unit.terminate()
    unit.freeInstance()
