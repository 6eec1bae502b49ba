"""Inputs that nothing is connected to keep their start values; numbers on wires are items of enumerations."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

from blocks import Constant, Step
from cosim import FMU, Coupling, Diagram, Study, linearize, simulate
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


def other_start(version):
    """The description says that the input begins with 5, the binary has 0: who sets what is open is found."""

    def change(description):
        at = description.index('name="Float64_input"')
        return description[:at] + description[at:].replace('start="0"', 'start="5"', 1)

    return build_fmu("feedthrough", version=version, change=change)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "coupling", "how"),
    [
        *((*each, {}) for each in KINDS),
        ("cs", "gauss-seidel", {"isolate": True}),
        *((kind, None, {"importer": "fmpy"}) for kind in ("cs", "me")),
    ],
)
def test_an_open_input_is_never_set(kind, coupling, how):
    """Some FMUs refuse to be given the start values they describe, or take them for something else."""
    version = "2.0" if "importer" in how else "3.0"
    own = {"kind": kind, "sample": 0.1 if kind == "cs" else None, **how}

    def shown(fmu, connected=()):
        d = Diagram("open")
        d.add("unit", fmu)
        d.add("five", Constant(5.0))
        for v in fmu.input_variables:
            if v.name in connected:
                d.connect("five.y", f"unit.{v.name}")
            else:
                d.ground(f"unit.{v.name}")
        return simulate(d, until=0.3, coupling=coupling)["unit.Float64_output"][-1]

    fmu = FMU(other_start(version), **own)
    assert shown(fmu) == 0.0
    assert shown(fmu, ["Float64_input"]) == 5.0
    assert shown(FMU(other_start(version), start={"Float64_input": 7.0}, **own)) == 7.0
    alone = simulate(fmu, until=0.3, coupling=coupling)
    assert alone["Float64_output"][-1] == 0.0 and alone["Float64_input"][-1] == 5.0
    both = simulate(fmu, until=0.3, coupling=coupling, inputs={"Int32_input": 3.0})
    assert (both["Float64_output"][-1], both["Int32_output"][-1]) == (0.0, 3.0)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_what_acts_on_an_open_input_sets_it(version):
    """T x' = u - x with u left open: its linear model, and a pulse of a study."""
    d = Diagram("open")
    d.add("m", FMU(build_fmu("lag", version=version), kind="me", start={"T": 2.0}))
    d.ground("m.u")
    model = linearize(d, "m.u", "m.y")
    assert np.allclose([model.A, model.B, model.C], [[[-0.5]], [[0.5]], [[1.0]]], atol=1e-6)
    push = {"at": 0.0, "pulse": {"m.u": 3.0}, "lasts": 9.0}
    study = Study(d, until=1.0, sweep={"m.T": [1.0, 2.0]}, actions=[push], metrics={"end": "final(m.y)"})
    with tempfile.TemporaryDirectory() as folder:
        table = study.run(Path(folder) / "s", executor="threads").table
    assert table["end"].to_numpy() == pytest.approx(3 * (1 - np.exp([-1.0, -0.5])), abs=1e-6)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_open_input_is_not_set_during_a_step_over_which_others_are_curves(version, engine):
    """f depends on x1, which is left open, and on v1, which moves; x1 is described as beginning with 5."""

    def change(description):
        at = description.index('name="x1"')
        return description[:at] + description[at:].replace('start="0.0"', 'start="5.0"', 1)

    def forces(unit):
        d = Diagram("coupled")
        d.add("mass", FMU(build_fmu("mass", version=version), kind="cs", sample="1/100"))
        d.add("unit", FMU(unit, kind="cs", sample="1/100"))
        d.connect("mass.v -> unit.v1")
        d.ground("mass.f", "unit.x1")
        coupling = Coupling(extrapolation=1)
        return simulate(d, until=0.5, coupling=coupling, engine=engine, log_every=0.01)["unit.f"]

    plain = build_fmu("coupled", version=version)
    assert np.ptp(forces(plain)) > 1.0
    assert (forces(build_fmu("coupled", version=version, change=change)) == forces(plain)).all()
