"""modelDescription.xml word by word: every attribute is what the standard asks for and the model can do.

The texts were written by hand along sections 2.2 of FMI 2.0.4 and 2.4 of FMI 3.0.2.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import fmpy
import pytest

import blocks as B
from blocks import Block
from cosim import Diagram, export_fmu
from cosim.fmi.export import sources
from cosim.version import __version__


@dataclass(frozen=True)
class Tank(Block):
    """x' = A x + u with A = ((0, a), (b, 0)); n counts how often x[0] rises through u."""

    A: tuple = ((0.0, 2.0), (-3.0, 0.0))

    def define(self, b):
        (A,) = b.parameters(A=self.A)
        u = b.input("u", size=1)
        x = b.continuous("x", [0.5, -0.25], labels=("left", "right"), nominal=[1.0, 100.0])
        n = b.mode("n", 4.0)
        b.derivative(x, A @ x + u)
        b.when(x[0] - u[0], {n: n + 1.0}, direction="rising", name="up")
        b.output("y", x, unit=("m", "m/s"), labels=("left", "right"))
        b.output("n", n)


def tank():
    d = Diagram("tank")
    t, h = d.add("t", Tank()), d.add("h", B.Hold(sample=0.25))
    d.connect(d.inport("u"), t["u"])
    d.connect(t["n"], h["u"])
    d.outport("y", t["y"])
    d.outport("held", h["y"])
    return d


def described(d, folder, name="my tank.fmu", **options):
    """The description without what differs from day to day, and the zip's names."""
    path = export_fmu(d, folder / name, platforms=[], **options)
    with zipfile.ZipFile(path) as archive:
        text = archive.read("modelDescription.xml").decode()
        names = archive.namelist()
    (made,) = re.findall(r'generationDateAndTime="([^"]+)"', text)
    age = datetime.now(UTC) - datetime.strptime(made, "%Y-%m-%dT%H:%M:%S%z")
    assert abs(age) < timedelta(minutes=10)
    text = re.sub(r'"\{[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\}"', '"TOKEN"', text)
    return text.replace(made, "NOW").replace(f"plantloop {__version__}", "plantloop"), names


HEAD = """  <LogCategories>
    <Category name="logEvents" description="what happens in a run"/>
    <Category name="logStatusDiscard" description="steps and values that cannot be computed"/>
    <Category name="logStatusError" description="calls that are refused"/>
    <Category name="logStatusFatal" description="no instance could be made"/>
  </LogCategories>
  <DefaultExperiment startTime="0.0" stopTime="5.0" tolerance="1e-05" stepSize="0.25"/>
"""
FMI_2 = f"""<?xml version='1.0' encoding='UTF-8'?>
<fmiModelDescription fmiVersion="2.0" modelName="tank" guid="TOKEN" numberOfEventIndicators="1" \
description="tank: solver dopri5, rtol 1e-05" generationTool="plantloop" generationDateAndTime="NOW" \
variableNamingConvention="structured">
  <ModelExchange modelIdentifier="my_tank" canNotUseMemoryManagementFunctions="true" \
canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true" \
completedIntegratorStepNotNeeded="true"/>
  <CoSimulation modelIdentifier="my_tank" canNotUseMemoryManagementFunctions="true" \
canGetAndSetFMUstate="true" canSerializeFMUstate="true" providesDirectionalDerivative="true" \
canHandleVariableCommunicationStepSize="true" maxOutputDerivativeOrder="1"/>
  <UnitDefinitions>
    <Unit name="m">
      <BaseUnit m="1"/>
    </Unit>
    <Unit name="m/s">
      <BaseUnit m="1" s="-1"/>
    </Unit>
    <Unit name="m/s^2">
      <BaseUnit m="1" s="-2"/>
    </Unit>
    <Unit name="s">
      <BaseUnit s="1"/>
    </Unit>
  </UnitDefinitions>
{HEAD}  <ModelVariables>
    <ScalarVariable name="time" valueReference="0" description="time" causality="independent" \
variability="continuous">
      <Real unit="s"/>
    </ScalarVariable>
    <ScalarVariable name="u" valueReference="1" causality="input" variability="continuous">
      <Real start="0.0"/>
    </ScalarVariable>
    <ScalarVariable name="y[1]" valueReference="2" description="left, right" causality="output" \
variability="continuous" initial="calculated">
      <Real unit="m"/>
    </ScalarVariable>
    <ScalarVariable name="y[2]" valueReference="3" description="left, right" causality="output" \
variability="continuous" initial="calculated">
      <Real unit="m/s"/>
    </ScalarVariable>
    <ScalarVariable name="held" valueReference="4" causality="output" variability="discrete" \
initial="calculated">
      <Real/>
    </ScalarVariable>
    <ScalarVariable name="t.A[1,2]" valueReference="6" causality="parameter" variability="tunable" \
initial="exact">
      <Real start="2.0"/>
    </ScalarVariable>
    <ScalarVariable name="t.A[2,1]" valueReference="7" causality="parameter" variability="tunable" \
initial="exact">
      <Real start="-3.0"/>
    </ScalarVariable>
    <ScalarVariable name="t.n" valueReference="9" causality="local" variability="discrete" \
initial="calculated">
      <Real/>
    </ScalarVariable>
    <ScalarVariable name="t.x[1]" valueReference="10" description="left, right" causality="local" \
variability="continuous" initial="exact">
      <Real unit="m" start="0.5"/>
    </ScalarVariable>
    <ScalarVariable name="t.x[2]" valueReference="11" description="left, right" causality="local" \
variability="continuous" initial="exact">
      <Real unit="m/s" nominal="100.0" start="-0.25"/>
    </ScalarVariable>
    <ScalarVariable name="der(t.x[1])" valueReference="12" causality="local" variability="continuous" \
initial="calculated">
      <Real unit="m/s" derivative="9"/>
    </ScalarVariable>
    <ScalarVariable name="der(t.x[2])" valueReference="13" causality="local" variability="continuous" \
initial="calculated">
      <Real unit="m/s^2" derivative="10"/>
    </ScalarVariable>
    <ScalarVariable name="t.n_2" valueReference="14" causality="local" variability="discrete" initial="exact">
      <Real start="4.0"/>
    </ScalarVariable>
    <ScalarVariable name="h.hold_now" valueReference="15" causality="local" variability="discrete" \
initial="exact">
      <Real start="0.0"/>
    </ScalarVariable>
  </ModelVariables>
  <ModelStructure>
    <Outputs>
      <Unknown index="3" dependencies="9"/>
      <Unknown index="4" dependencies="10"/>
      <Unknown index="5" dependencies=""/>
    </Outputs>
    <Derivatives>
      <Unknown index="11" dependencies="2 10"/>
      <Unknown index="12" dependencies="2 9"/>
    </Derivatives>
    <InitialUnknowns>
      <Unknown index="3" dependencies="9"/>
      <Unknown index="4" dependencies="10"/>
      <Unknown index="5" dependencies="13"/>
      <Unknown index="11" dependencies="2 6 10"/>
      <Unknown index="12" dependencies="2 7 9"/>
    </InitialUnknowns>
  </ModelStructure>
</fmiModelDescription>
"""
FMI_3 = f"""<?xml version='1.0' encoding='UTF-8'?>
<fmiModelDescription fmiVersion="3.0" modelName="tank" instantiationToken="TOKEN" \
description="tank: solver dopri5, rtol 1e-05" generationTool="plantloop" generationDateAndTime="NOW" \
variableNamingConvention="structured">
  <ModelExchange modelIdentifier="my_tank" canGetAndSetFMUState="true" canSerializeFMUState="true" \
providesDirectionalDerivatives="true" providesAdjointDerivatives="true" \
providesPerElementDependencies="true" needsCompletedIntegratorStep="false" \
providesEvaluateDiscreteStates="true"/>
  <CoSimulation modelIdentifier="my_tank" canGetAndSetFMUState="true" canSerializeFMUState="true" \
providesDirectionalDerivatives="true" providesAdjointDerivatives="true" \
providesPerElementDependencies="true" canHandleVariableCommunicationStepSize="true" hasEventMode="true" \
mightReturnEarlyFromDoStep="true" providesIntermediateUpdate="true" \
canReturnEarlyAfterIntermediateUpdate="true" maxOutputDerivativeOrder="1"/>
  <UnitDefinitions>
    <Unit name="s">
      <BaseUnit s="1"/>
    </Unit>
  </UnitDefinitions>
{HEAD}  <ModelVariables>
    <Float64 name="time" valueReference="0" description="time" causality="independent" \
variability="continuous" unit="s"/>
    <Float64 name="u" valueReference="1" causality="input" variability="continuous" start="0.0"/>
    <Float64 name="y" valueReference="2" description="left, right" causality="output" \
variability="continuous" initial="calculated" intermediateUpdate="true">
      <Dimension start="2"/>
    </Float64>
    <Float64 name="held" valueReference="4" causality="output" variability="discrete" initial="calculated" \
intermediateUpdate="true"/>
    <Float64 name="t.A" valueReference="5" causality="parameter" variability="tunable" initial="exact" \
start="0.0 2.0 -3.0 0.0">
      <Dimension start="2"/>
      <Dimension start="2"/>
    </Float64>
    <Float64 name="t.n" valueReference="9" causality="local" variability="discrete" initial="calculated"/>
    <Float64 name="t.x" valueReference="10" description="left, right" causality="local" \
variability="continuous" initial="exact" start="0.5 -0.25">
      <Dimension start="2"/>
    </Float64>
    <Float64 name="der(t.x)" valueReference="12" causality="local" variability="continuous" \
initial="calculated" derivative="10">
      <Dimension start="2"/>
    </Float64>
    <Float64 name="t.n_2" valueReference="14" causality="local" variability="discrete" initial="exact" \
start="4.0"/>
    <Float64 name="h.hold_now" valueReference="15" causality="local" variability="discrete" initial="exact" \
start="0.0"/>
    <Float64 name="indicators.t.up" valueReference="16" causality="local" variability="continuous" \
initial="calculated"/>
  </ModelVariables>
  <ModelStructure>
    <Output valueReference="2" dependencies="10"/>
    <Output valueReference="4" dependencies=""/>
    <ContinuousStateDerivative valueReference="12" dependencies="1 10"/>
    <InitialUnknown valueReference="2" dependencies="10"/>
    <InitialUnknown valueReference="4" dependencies="14"/>
    <InitialUnknown valueReference="12" dependencies="1 5 10"/>
    <EventIndicator valueReference="16" dependencies="1 10"/>
  </ModelStructure>
</fmiModelDescription>
"""


@pytest.mark.parametrize(("version", "expected"), [("2.0", FMI_2), ("3.0", FMI_3)])
def test_a_description_is_this_text(version, expected, tmp_path):
    options = {"stop": 5.0, "solver": "dopri5", "rtol": 1e-5, "locals": ["t.n"], "sources": False}
    text, names = described(tank(), tmp_path, version=version, **options)
    assert text == expected and names == ["modelDescription.xml"]


@pytest.mark.parametrize("version", ["2.0", "3.0"])
@pytest.mark.parametrize("kind", ["me", "cs"])
def test_of_kinds_only_those_are_there_that_were_asked_for(version, kind, tmp_path):
    text, _ = described(tank(), tmp_path, version=version, kinds=[kind])
    assert ("<ModelExchange " in text, "<CoSimulation " in text) == (kind == "me", kind == "cs")
    assert ("intermediateUpdate=" in text) is (kind == "cs" and version == "3.0")


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_sources_are_listed_where_the_standard_looks_for_them(version, tmp_path):
    """Version 2: in the description, below each kind; version 3: in a file of its own. All are in the zip."""
    text, names = described(tank(), tmp_path, version=version)
    there = [n.removeprefix("sources/") for n in names if n.startswith("sources/")]
    code = [n for n in there if n.endswith(".c")]
    assert {"tables.c", "unit.c", f"fmi{version[0]}.c"} < set(code) and len(set(there)) == len(there)
    assert not [n for n in there if n.startswith("fmi") and n[3] == ("3" if version == "2.0" else "2")]
    headers = {n for n in there if n.endswith(".h")}
    assert headers == set(sources.headers_of(version)) and "unit.h" in headers
    for name in code:
        with zipfile.ZipFile(tmp_path / "my tank.fmu") as archive:
            used = re.findall(rb'^#include "([^"]+)"', archive.read(f"sources/{name}"), re.M)
        assert {u.decode() for u in used} <= headers
    listed = re.findall(r'<File name="([^"]+)"/>', text)
    if version == "2.0":
        assert listed == 2 * code and names == ["modelDescription.xml", *(f"sources/{n}" for n in there)]
        assert text.count("<SourceFiles>") == 2
        return
    assert not listed and there[-1] == "buildDescription.xml"
    with zipfile.ZipFile(tmp_path / "my tank.fmu") as archive:
        build = archive.read("sources/buildDescription.xml").decode()
    files = "".join(f'      <SourceFile name="{n}"/>\n' for n in code)
    assert build == (
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        '<fmiBuildDescription fmiVersion="3.0">\n  <BuildConfiguration modelIdentifier="my_tank">\n'
        f'    <SourceFileSet language="C99">\n{files}      <PreprocessorDefinition name="PL_INSIDE"/>\n'
        '    </SourceFileSet>\n    <Library name="m"/>\n  </BuildConfiguration>\n</fmiBuildDescription>\n'
    )


def lag():
    d = Diagram("lag")
    d.connect(d.inport("u"), d.add("lag", B.FirstOrder(gain=2.0))["u"])
    d.outport("y", "lag.y")
    return d


def experiment(d, folder, **options):
    """(step size, tolerance, end) of the default experiment, the fixed step inside, the description."""
    text, _ = described(d, folder, version="3.0", **options)
    (element,) = re.findall(r"<DefaultExperiment ([^/]*)/>", text)
    found = dict(re.findall(r'(\w+)="([^"]*)"', element))
    assert found.pop("startTime") == "0.0"
    (told,) = re.findall(r' description="([^"]*solver[^"]*)"', text)
    fixed = re.findall(r'fixedInternalStepSize="([^"]*)"', text)
    return found, [float(f) for f in fixed], told


def test_the_default_experiment_is_that_of_the_rates_or_the_solver(tmp_path):
    fixed = {"solver": "rk4", "step": 2e-3}
    assert experiment(lag(), tmp_path, **fixed) == (
        {"stepSize": "0.002"},
        [2e-3],
        "lag: solver rk4, step 0.002 s",
    )
    found = experiment(lag(), tmp_path, **fixed, interval=0.5, stop=3)
    assert found[:2] == ({"stepSize": "0.5", "stopTime": "3"}, [2e-3])
    found = experiment(lag(), tmp_path, solver="dopri5", rtol=1e-4)
    assert found == ({"tolerance": "0.0001"}, [], "lag: solver dopri5, rtol 0.0001")
    two = Diagram("two")
    for name, sample in (("slow", 0.5), ("fast", 0.125)):
        two.connect(two.inport(f"u_{name}"), two.add(name, B.Hold(sample=sample))["u"])
        two.outport(name, f"{name}.y")
    assert experiment(two, tmp_path)[0] == {"stepSize": "0.125"}
    assert experiment(two, tmp_path, interval=0.25)[0] == {"stepSize": "0.25"}


@dataclass(frozen=True)
class Turning(Block):
    """On the circle of radius 1."""

    def define(self, b):
        x, y = b.continuous("x", 1.0), b.continuous("y", 0.0)
        b.derivative(x, -y)
        b.derivative(y, x)
        b.invariant(x * x + y * y - 1.0)
        b.output("x", x)


def delayed():
    d = Diagram("delayed")
    d.connect(d.inport("u"), d.add("past", B.TransportDelay(0.5))["u"])
    d.outport("y", "past.y")
    return d


def looped():
    d = Diagram("looped")
    s, g = d.add("s", B.Sum("+-")), d.add("g", B.Gain(0.5))
    d.connect(d.inport("u"), s["in1"])
    d.connect("s -> g", "g -> s.in2")
    d.outport("y", g["y"])
    return d


@pytest.mark.parametrize(
    ("make", "needed"),
    [(lag, False), (tank, False), (Turning, True), (delayed, True), (looped, True)],
    ids=["lag", "tank", "invariant", "delay", "loop"],
)
def test_steps_have_to_be_completed_where_something_is_kept_from_step_to_step(make, needed, tmp_path):
    """The past of a delay, the solution of a loop from which the next is found, states on an invariant."""
    for version in ("2.0", "3.0"):
        path = export_fmu(make(), tmp_path / "unit.fmu", version=version, platforms=[], solve_loops=True)
        unit = fmpy.read_model_description(str(path)).modelExchange
        assert unit.needsCompletedIntegratorStep is needed


def test_names_of_models_and_files(tmp_path):
    """An identifier is one of C: of the file's name; a block alone is called as its file."""
    for file, identifier in (("my tank.v2.fmu", "my_tank_v2"), ("2nd.fmu", "_2nd"), ("\u00e4.fmu", "_")):
        text, _ = described(tank(), tmp_path, file)
        assert f'modelIdentifier="{identifier}"' in text and 'modelName="tank"' in text
    assert 'modelName="alone"' in described(B.FirstOrder(), tmp_path, "alone.fmu")[0]
    assert 'modelName="nameless"' in described(unnamed(), tmp_path, "nameless.fmu")[0]


def unnamed():
    d = Diagram()
    d.outport("y", d.add("c", B.Constant(1.0))["y"])
    return d


@pytest.mark.slow
def test_a_token_is_of_the_equations_and_the_numbers(tmp_path):
    def token(d, **options):
        path = export_fmu(d, tmp_path / "unit.fmu", platforms=[], **options)
        return fmpy.read_model_description(str(path)).instantiationToken

    assert token(lag()) == token(lag(), stop=3.0)
    others = [
        token(lag(), initial={"lag.x": 1.0}), token(lag(), parameters={"lag.gain": 3.0}),
        token(lag(), step=1e-4), token(lag(), solver="dopri5"), token(tank(), locals=["t.n"]), token(tank()),
    ]  # fmt: skip
    assert len({token(lag()), *others}) == 1 + len(others)
    powers = {token(curve(n)) for n in (2, 3)}  # numbers and sizes are the same, equations are not
    assert len(powers) == 2


def curve(n):
    d = Diagram("curve")
    d.connect(d.inport("u"), d.add("f", B.Function(lambda u: u**n))["u"])
    d.outport("y", "f.y")
    return d
