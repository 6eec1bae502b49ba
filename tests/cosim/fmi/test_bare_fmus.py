"""An FMU that has only what it needs (tests/data/fmus/bare.c), with habits unlike the other test units."""

from __future__ import annotations

import functools
import math
import re
import subprocess
import sys
import tempfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest

from blocks import Constant
from cosim import FMU, Diagram, simulate
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from tests.helpers.fmus import COMPILER, SOURCES, build_fmu, needs_compiler

pytestmark = [
    needs_compiler,
    pytest.mark.skipif(sys.platform != "linux", reason="the unit is built for Linux, with POSIX threads"),
]
HEAD = """<?xml version="1.0" encoding="UTF-16"?>
<fmiModelDescription fmiVersion="2.0" modelName="bare" guid="" generationDateAndTime="yesterday"
  variableNamingConvention="structured">
<ModelExchange modelIdentifier="bare_me" completedIntegratorStepNotNeeded="true"/>
<CoSimulation modelIdentifier="bare_cs" canHandleVariableCommunicationStepSize="1"/>
<TypeDefinitions><SimpleType name="Choice"><Enumeration><Item name="none" value="0"/>
<Item name="two" value="2"/><Item name="one" value="1"/></Enumeration></SimpleType></TypeDefinitions>
<VendorAnnotations><Tool name="t"><a:b xmlns:a="urn:a"><![CDATA[<x> & y]]></a:b></Tool></VendorAnnotations>
<ModelVariables>"""
VARIABLES = [
    ("u", 2, "input", "continuous", "", "Real", 'start="0"'),
    ("gain", 3, "parameter", "tunable", "", "Real", 'start="2"'),
    ("y", 2**32 - 1, "output", "continuous", "calculated", "Real", ""),
    ("count", 0, "output", "discrete", "calculated", "Integer", ""),
    ("choice", 1, "parameter", "fixed", "", "Enumeration", 'declaredType="Choice" start="0"'),
    ("nothing", 0, "local", "discrete", "", "String", ""),
    ("x", 4, "local", "continuous", "exact", "Real", 'start="0"'),
    ("der(x)", 5, "local", "continuous", "", "Real", 'derivative="7"'),
]


def described(states: bool, outputs: bool, start: bool = True) -> str:
    """Its description; without outputs their variables are local."""
    lines = []
    for name, reference, causality, varies, initial, kind, more in VARIABLES[: None if states else -2]:
        more = more if start or name != "gain" else ""
        causality = causality if outputs or causality != "output" else "local"
        initial = f'initial="{initial}"' if initial else ""
        lines.append(
            f'<ScalarVariable name="{name}" valueReference="{reference}" causality="{causality}" '
            f'variability="{varies}" {initial}><{kind} {more}/></ScalarVariable>'
        )
    entries = '<Unknown index="3"/><Unknown index="4"/>' * outputs
    derivative = '<Unknown index="8"/>' * states
    parts = {"Outputs": entries, "Derivatives": derivative, "InitialUnknowns": entries + derivative}
    structure = "".join(f"<{name}>{text}</{name}>" for name, text in parts.items() if text)
    end = "</ModelVariables><ModelStructure>" + structure + "</ModelStructure></fmiModelDescription>"
    return HEAD + "".join(lines) + end


@functools.cache
def binary(states: bool, *options: str) -> Path:
    assert COMPILER is not None
    library = Path(tempfile.mkdtemp(prefix="fmu_bare_")) / "bare.so"
    headers = Path(fmpy.__file__).parent / "c-code"
    options = [*options, *(["-DSTATES"] if states else [])]
    subprocess.run(
        [COMPILER, "-O1", "-shared", "-fPIC", *options, "-I", headers, "-o", library, SOURCES / "bare.c",
         "-lpthread"],
        check=True,
    )  # fmt: skip
    return library


def bare(
    folder: Path, states: bool = True, outputs: bool = True, start: bool = True, options: tuple[str, ...] = ()
) -> Path:
    """The FMU: a description in UTF-16, another binary for each kind, and no other file."""
    path = folder / "bare.fmu"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", described(states, outputs, start).encode("utf-16"))
        for name in ("bare_me", "bare_cs"):
            archive.write(binary(states, *options), f"binaries/linux64/{name}.so")
    return path


def around(fmu: FMU) -> Diagram:
    d = Diagram("around")
    d.add("unit", fmu)
    d.connect(d.add("one", Constant(1.0))["y"], "unit.u")
    return d


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FMU .* is not quite valid")
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_it_runs_as_both_kinds(tmp_path: Path, engine: str) -> None:
    path = bare(tmp_path)
    r = simulate(around(FMU(path, kind="cs", sample=0.1)), 1.0, engine=engine, parameters={"unit.gain": 3.0})
    assert r["unit.y"].ravel()[-1] == pytest.approx(3 * (1 - 0.9**10), abs=1e-12)
    assert r["unit.count"].ravel()[-1] == 10
    r = simulate(around(FMU(path, kind="me")), 1.0, engine=engine, rtol=1e-10, atol=1e-12)
    assert r["unit.y"].ravel()[-1] == pytest.approx(2 * (1 - math.exp(-1)), abs=1e-8)
    assert r["unit.count"].ravel()[-1] == 4
    r = simulate(around(FMU(bare(tmp_path, states=False), kind="me")), 0.9, engine=engine)
    assert r["unit.count"].ravel()[-1] == 3
    for how in ({"kind": "me"}, {"kind": "cs", "sample": 0.1}):
        without = FMU(bare(tmp_path, outputs=False), outputs=["count"], **how)
        assert simulate(around(without), 0.6, engine=engine)["unit.count"].ravel()[-1] in (2, 6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FMU .* is not quite valid")
@pytest.mark.parametrize("kind", ["cs", "me"])
@pytest.mark.parametrize("isolate", [False, True])
def test_it_is_stepped_by_hand(tmp_path: Path, kind: str, isolate: bool) -> None:
    with FMU(bare(tmp_path), kind=kind, isolate=isolate, start={"choice": "two"}).open() as m:
        m.initialize(start_time=1.0)
        m.set("u", 1.0)
        m.step(0.5)
        exact = 2 * 0.5 if kind == "cs" else 2 * (1 - math.exp(-0.5))
        assert m.get("y") == pytest.approx(exact, abs=1e-4)
        assert (m.get("choice"), m.get("nothing")) == (2, "")


@pytest.mark.filterwarnings("ignore:FMU .* is not quite valid")
def test_another_caller_says_that_it_needs_more(tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"FMPy cannot load its binary.*fmi2\w+.*importer=\"native\""):
        FMU(bare(tmp_path), kind="cs", importer="fmpy").open()


def test_start_values_that_are_no_numbers() -> None:
    lag = build_fmu("lag")
    with pytest.raises(Exception, match="start of 'T' is nan, expected a number"):
        FMU(lag, start={"T": math.nan}).open()
    space = build_fmu("statespace", version="3.0")
    a = np.eye(3)
    a[1, 2] = np.nan
    with pytest.raises(Exception, match=r"start of 'A' is nan at index \[1, 2\], expected a number"):
        FMU(space, start={"A": a}).open()


def test_bytes_as_hexadecimal_digits() -> None:
    """As in descriptions, for scenario files, which have no bytes."""
    path = build_fmu("feedthrough", version="3.0")
    with FMU(path, start={"Binary_input": "0a0BfF"}).open() as m:
        m.initialize()
        assert m.get("Binary_output") == b"\x0a\x0b\xff"
    with pytest.raises(Exception, match="is of type Binary and takes bytes"):
        FMU(path, start={"Binary_input": "0a0"}).open()


def test_more_bytes_than_a_variable_takes() -> None:
    sized = lambda text: text.replace(
        '<Binary name="Binary_input"', '<Binary maxSize="3" name="Binary_input"'
    )
    path = build_fmu("feedthrough", version="3.0", change=sized)
    with FMU(path, start={"Binary_input": b"abc"}).open() as m:
        m.set("Binary_input", b"de")
        with pytest.raises(FMUError, match=r"'Binary_input' takes 3 bytes at most \(maxSize\); got 4"):
            m.set("Binary_input", b"abcd")
    with pytest.raises(FMUError, match="takes 3 bytes at most"):
        FMU(path, start={"Binary_input": "00112233"})
    path = build_fmu("feedthrough", version="3.0", change=lambda text: sized(text).replace('"3"', '"1"', 1))
    with pytest.warns(UserWarning, match=r"'Binary_input' \(line \d+\) has a start value of more bytes"):
        FMU(path)


def test_arrays_of_bytes_as_hexadecimal_digits() -> None:
    def two(text: str) -> str:
        return re.sub(r'(<Binary name="Binary_input"[^>]*>)', r'\1<Dimension start="2"/>', text)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it has one start value for two
        path = build_fmu("feedthrough", version="3.0", change=two)
        fmu = FMU(path, start={"Binary_input": ["0a", b"\x01"]})
    assert fmu.start_values == {"Binary_input": [b"\x0a", b"\x01"]}


@pytest.mark.filterwarnings("ignore:FMU .* is not quite valid")
@pytest.mark.parametrize("how", [{"kind": "me"}, {"kind": "cs", "sample": 0.1}])
def test_one_that_wants_to_know_when_the_run_ends(tmp_path: Path, how: dict[str, Any]) -> None:
    path = bare(tmp_path, options=("-DWANTS_STOP",))
    with pytest.raises(FMUCallError, match=r"SetupExperiment returned error(.|\n)*\nIf .* stop_time="):
        simulate(around(FMU(path, **how)), 1.0, engine="reference")
    r = simulate(around(FMU(path, stop_time=4.0, **how)), 1.0, engine="reference")
    exact = 2 * (1 - (0.9**10 if how["kind"] == "cs" else math.exp(-1)))
    assert r["unit.y"].ravel()[-1] == pytest.approx(exact, abs=1e-6)
    with FMU(path, stop_time=4.0, **how).open() as m:
        m.initialize()
    with FMU(path, stop_time=4.0, **how).open() as m, pytest.raises(FMUCallError, match="SetupExperiment"):
        m.initialize(stop_time=5.0)
    with pytest.raises(FMUError, match="stop_time is 'late'"):
        FMU(path, stop_time="late", **how)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", [{"kind": "me"}, {"kind": "cs", "sample": 0.1}])
def test_a_parameter_without_a_start_value(tmp_path: Path, how: dict[str, Any]) -> None:
    """What it is only the FMU knows: 2, until `start` says otherwise, be it 0."""
    with pytest.warns(UserWarning, match="not quite valid"):
        unit = FMU(bare(tmp_path, start=False), **how)
    one = simulate(around(unit), 1.0, engine="reference")["unit.y"].ravel()[-1]
    assert one == pytest.approx(2 * (1 - (0.9**10 if how["kind"] == "cs" else math.exp(-1))), abs=1e-6)
    with pytest.warns(UserWarning, match="not quite valid"):
        unit = FMU(bare(tmp_path, start=False), start={"gain": 0.0}, **how)
    assert not simulate(around(unit), 1.0, engine="reference")["unit.y"].any()
