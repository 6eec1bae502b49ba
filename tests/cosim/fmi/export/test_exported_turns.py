"""Inputs that turn where the importer steps, whose slopes no importer tells.

Closed forms: the peak of an input that falls from the start is its start; a gear of play w stays until its
other flank is reached, w further down.
"""

from __future__ import annotations

import warnings

import fmpy
import numpy as np
import pytest

import blocks as B
from cosim import FMU, Diagram, export_fmu, simulate
from tests.helpers.fmus import needs_compiler

WIDTH, JUMP = 0.3, 0.5
AT = [0.0, 0.1, 0.2, 0.45, 0.5, 0.6, 1.0]


@pytest.fixture(scope="module")
def followed(tmp_path_factory):
    """A peak and a gear with play, as an FMU for model exchange."""
    d = Diagram("followed")
    u = d.inport("u")
    for name, block in (("top", B.PeakHold()), ("gear", B.Backlash(WIDTH))):
        d.connect(u, d.add(name, block)["u"])
        d.outport(name, f"{name}.y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # events go by values alone
        return export_fmu(d, tmp_path_factory.mktemp("turns") / "followed.fmu", version="2.0", kinds=("me",))


@needs_compiler
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_an_input_that_turns_at_the_start_and_after_a_jump(followed, engine):
    """The peak was what the first step ended at; the gear let go, and was taken along again, every 2e-9 s."""
    d = Diagram("d")
    d.add("unit", FMU(followed))
    d.connect(
        d.add("ramp", B.Ramp(-1.0, 0.0, 1.0))["y"] + d.add("jump", B.Step(JUMP, 0.0, 2.0))["y"], "unit.u"
    )
    r = simulate(d, AT[-1], log_at=AT, engine=engine, wall_limit=20.0)
    fallen = np.array(AT)
    after = fallen >= JUMP
    np.testing.assert_allclose(r["unit.top"][:, 0], np.where(after, 2.5, 1.0), rtol=0, atol=1e-8)
    gear = np.where(after, np.minimum(2.35, 3.15 - fallen), np.minimum(0.85, 1.15 - fallen))
    np.testing.assert_allclose(r["unit.gear"][:, 0], gear, rtol=0, atol=1e-8)


@needs_compiler
def test_an_importer_that_ends_its_steps_anywhere(followed):
    """FMPy's CVode, over an input that goes down, up and down again."""
    times, values = [0.0, 1.0, 2.0, 3.0], [1.0, 0.0, 2.0, 1.0]
    given = np.array(list(zip(times, values, strict=True)), dtype=[("time", float), ("u", float)])
    found = fmpy.simulate_fmu(
        str(followed),
        stop_time=3.0,
        output_interval=0.25,
        input=given,
        fmi_type="ModelExchange",
        validate=False,
    )
    u = np.interp(found["time"], times, values)
    gear, y = [], 0.85
    for value in u:
        y = min(max(y, value - WIDTH / 2), value + WIDTH / 2)
        gear.append(y)
    np.testing.assert_allclose(found["top"], np.maximum.accumulate(u), rtol=0, atol=1e-6)
    np.testing.assert_allclose(found["gear"], gear, rtol=0, atol=1e-6)


@needs_compiler
def test_an_equation_that_follows_the_slope_of_an_input_is_named(tmp_path):
    """Its state stood still without a word."""
    d = Diagram("d")
    d.connect(d.inport("u"), d.add("loop", B.BoucWen())["u"])
    with pytest.warns(UserWarning, match=r"how fast these inputs change.*: 'loop\."):
        export_fmu(d, tmp_path / "loop.fmu")
