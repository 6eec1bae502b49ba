"""Inputs that nothing is connected to keep their start values; numbers on wires are items of enumerations."""

import pytest

from blocks import Step
from cosim import FMU, Diagram, simulate
from cosim.fmi.fmi_errors import FMUCallError
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
START = {"Float64_input": 3.5, "Enumeration_input": 2, "Int32_input": -7, "Boolean_input": True}
ENGINES = ["native", "reference"]
KINDS = [("cs", None), ("cs", "jacobi"), ("me", None)]


def unit(kind, start=START, version="3.0"):
    sample = 0.1 if kind == "cs" else None
    return FMU(build_fmu("feedthrough", version=version), kind=kind, sample=sample, start=start)


def outputs(result, prefix):
    names = [name.replace("_input", "_output") for name in START]
    return {n: set(result[prefix + n].ravel()) for n in names}


WANTED = {
    "Float64_output": {3.5},
    "Enumeration_output": {2.0},
    "Int32_output": {-7.0},
    "Boolean_output": {1.0},
}


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "coupling"), KINDS)
def test_an_open_input_keeps_its_start_value(kind, coupling, engine):
    d = Diagram("open")
    d.add("unit", unit(kind))
    for v in unit(kind).input_variables:
        d.ground(f"unit.{v.name}")
    assert outputs(simulate(d, until=0.3, engine=engine, coupling=coupling), "unit.") == WANTED


@pytest.mark.parametrize(("kind", "coupling"), KINDS)
def test_so_does_one_behind_an_open_border(kind, coupling):
    inner, outer = Diagram("inner"), Diagram("outer")
    inner.add("unit", unit(kind, version="2.0"))
    outer.add("part", inner)
    for v in unit(kind, version="2.0").input_variables:
        inner.connect(inner.inport(v.name), f"unit.{v.name}")
        outer.ground(f"part.{v.name}")
    r = simulate(outer, until=0.3, engine="reference", coupling=coupling)
    assert outputs(r, "part/unit.") == WANTED


@pytest.mark.parametrize(("kind", "coupling"), KINDS)
def test_an_fmu_alone_begins_with_the_start_values_of_its_inputs(kind, coupling):
    r = simulate(
        unit(kind),
        until=0.3,
        engine="reference",
        coupling=coupling,
        inputs={"Int32_input": 12},
        log_every=0.1,
    )
    found = outputs(r, "")
    assert found["Int32_output"] <= {12.0, -7.0}  # a unit says what it was initialised with first
    assert r["Int32_output"][-1] == 12.0
    assert {n: x for n, x in found.items() if n != "Int32_output"} == {
        n: x for n, x in WANTED.items() if n != "Int32_output"
    }


def toggled(kind, after, version="3.0", **run):
    d = Diagram("toggled")
    fmu = unit(kind, {}, version)
    d.add("unit", fmu)
    d.connect(d.add("switch", Step(0.25, 1.0, after))["y"], "unit.Enumeration_input")
    for v in fmu.input_variables:
        if v.name != "Enumeration_input":
            d.ground(f"unit.{v.name}")
    return simulate(d, until=0.5, **run)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("kind", "coupling"), KINDS)
def test_a_number_that_is_no_item_is_refused_when_it_arrives(kind, coupling, engine):
    version = "2.0" if engine == "native" else "3.0"
    assert toggled(kind, 2.0, version, engine=engine, coupling=coupling)["unit.Enumeration_output"][-1] == 2
    for wrong in (3.0,) if engine == "native" else (3.0, 1.5, 0.0):
        with pytest.raises(FMUCallError, match=r"Enumeration_input.* only 1 \(one\), 2 \(two\)") as found:
            toggled(kind, wrong, version, engine=engine, coupling=coupling)
        assert found.value.result is not None and found.value.result.time[-1] >= 0.2
