"""Numbers on wires that an FMU's types do not take: one error that names the FMU, the variable, the cure."""

from __future__ import annotations

import math

import pytest

from blocks import Constant, Step
from blocks.contract.block import Block
from blocks.errors import PlantloopError
from cosim import FMU, Diagram, simulate
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
NO_LEVEL = r"block 'm': .*'level' is of type Int32 and cannot take 3000000000\.0, only whole numbers from "
NO_SINGLE = (
    r"'single' is of type Float32 and cannot take 1e\+60, only numbers from -3\.403e\+38 to 3\.403e\+38"
)


def around(kind: str, version: str, level: Block, single: float = 0.0) -> Diagram:
    d = Diagram("around")
    fmu = FMU(build_fmu("latch", version=version), kind=kind, sample=0.1 if kind == "cs" else None)
    d.connect(d.add("level", level)["y"], d.add("m", fmu)["level"])
    if version == "3.0":
        d.connect(d.add("single", Constant(single))["y"], "m.single")
    return d


@pytest.mark.parametrize(("kind", "version"), [("me", "2.0"), ("me", "3.0"), ("cs", "3.0")])
def test_numbers_beyond_a_type(kind: str, version: str) -> None:
    """At the start and at an event."""
    for time in (0.0, 0.5):
        with pytest.raises(PlantloopError, match=NO_LEVEL):
            level = Step(time=time, before=0.0, after=3e9)
            simulate(around(kind, version, level), 0.6, engine="reference")
    if version == "3.0":
        with pytest.raises(PlantloopError, match=NO_SINGLE):
            simulate(around(kind, version, Constant(1.0), 1e60), 0.1, engine="reference")


def test_numbers_beyond_a_type_in_an_event_that_compiled_code_has_begun() -> None:
    """With a level of 1 x follows it: 1 - exp(-0.5)."""
    d = around("me", "3.0", Step(time=0.5, before=0.0, after=1.0))
    r = simulate(d, 1.0, engine="native")
    assert r["m.x"][-1, 0] == pytest.approx(1 - math.exp(-0.5), abs=1e-6)
    with pytest.raises(PlantloopError, match=NO_LEVEL):
        simulate(d, 1.0, engine="native", parameters={"level.after": 3e9})
    with pytest.raises(PlantloopError, match=NO_SINGLE):
        simulate(d, 1.0, engine="native", parameters={"single.value": 1e60})


def test_numbers_beyond_a_type_by_hand() -> None:
    path = build_fmu("latch", version="3.0")
    with pytest.raises(PlantloopError, match=r"'single' is of type Float32, from .*; got 1e\+60"):
        FMU(path, start={"single": 1e60})
    with FMU(path).open() as m:
        m.initialize()
        with pytest.raises(PlantloopError, match=r"'single' is of type Float32, from .*; got -1e\+60"):
            m.set("single", -1e60)
        for name in ("single", "level"):
            with pytest.raises(PlantloopError, match=f"'{name}'"):
                m.set(name, math.nan)
