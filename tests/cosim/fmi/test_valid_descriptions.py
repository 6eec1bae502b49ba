"""Descriptions that the standard allows and few tools write: types of clocks and bytes, blanks, comments."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from cosim import FMU, simulate
from cosim.cli.cli import app
from cosim.fmi.fmi_errors import FMUError
from tests.helpers.fmus import build_fmu

STEP: dict[str, Any] = {"kind": "cs", "sample": "1/10"}


def put(*changes: tuple[str, str]) -> Callable[[str], str]:
    def change(text: str) -> str:
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        return text

    return change


def made(name: str, *changes: tuple[str, str], version: str = "3.0") -> Path:
    """A valid FMU: reading it gives no warning, and a validation no finding."""
    path = build_fmu(name, version=version, change=put(*changes))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FMU(path, **STEP).description  # noqa: B018
    said = CliRunner().invoke(app, ["validate", str(path)])
    assert said.exit_code == 0, said.output
    return path


def test_types_of_bytes_have_a_size() -> None:
    kind = '<BinaryType name="Frame" mimeType="application/x-frame" maxSize="3"/>'
    path = made(
        "feedthrough",
        ("<TypeDefinitions>", f"<TypeDefinitions>{kind}"),
        ('<Binary name="Binary_input"', '<Binary name="Binary_input" declaredType="Frame"'),
    )
    fmu = FMU(path, **STEP)
    v = fmu.description.variables["Binary_input"]
    assert (v.declared_type, v.max_size, v.start) == ("Frame", 3, b"\x01\x02")
    assert fmu.description.variables["Binary_output"].max_size is None
    with fmu.open() as m:
        m.initialize()
        m.set("Binary_input", b"abc")
        m.step(0.1)
        assert m.get("Binary_output") == b"abc"
        with pytest.raises(FMUError, match=r"takes 3 bytes at most"):
            m.set("Binary_input", b"abcd")


@pytest.mark.parametrize("own", ["", ' intervalDecimal="0.25"', ' resolution="8" intervalCounter="2"'])
def test_clocks_take_what_their_type_says(own: str) -> None:
    """An interval of 0.5 s and a shift of 0.1 s of the type; an interval of its own is that of a clock."""
    kind = (
        '<ClockType name="Beat" intervalVariability="fixed" intervalDecimal="0.5" shiftDecimal="0.1" '
        'priority="4"/>'
    )
    plain = build_fmu("clockwork", version="3.0")
    text = re.search(r'<Clock name="chosen".*?>', described(plain))
    assert text is not None
    reference = re.search(r'valueReference="\d+"', text.group())
    assert reference is not None
    new = (
        f'<Clock name="chosen" {reference.group()} causality="input" variability="discrete" '
        f'declaredType="Beat" intervalVariability="fixed"{own}>'
    )
    path = made(
        "clockwork",
        (text.group(), new),
        ("<DefaultExperiment", f"<TypeDefinitions>{kind}</TypeDefinitions><DefaultExperiment"),
    )
    timing = FMU(path, **STEP).description.variables["chosen"].clock
    assert timing is not None
    assert (float(timing.interval or 0), float(timing.shift), timing.priority) == (
        0.25 if own else 0.5,
        0.1,
        4,
    )


def described(path: Path) -> str:
    import zipfile

    with zipfile.ZipFile(path) as archive:
        return archive.read("modelDescription.xml").decode()


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_lists_have_any_blanks(version: str) -> None:
    path = build_fmu("mass", version=version, change=lambda text: spread(text))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fmu = FMU(path, **STEP)
    assert fmu.description.dependencies("a") == ("f", "x", "v")
    assert CliRunner().invoke(app, ["validate", str(path)]).exit_code == 0


def spread(text: str) -> str:
    """Lists of numbers over several lines."""
    found = re.sub(
        r'dependencies="([\d ]+)"', lambda m: 'dependencies=" ' + m[1].replace(" ", "  \n\t") + '  "', text
    )
    assert found != text
    return found


def test_comments_stand_in_types() -> None:
    old, new = "<Enumeration>", "<!-- of the option --><Enumeration>"
    path = made("feedthrough", (old, new), version="2.0")
    v = FMU(path, **STEP).description.variables["Enumeration_input"]
    assert list(v.items.values()) == ["one", "two"]


def test_lines_are_those_of_the_file() -> None:
    """Also where a description is written anew for the reader."""
    comment = "<TypeDefinitions><!-- of\n\n\n several lines -->"
    path = build_fmu("feedthrough", version="2.0", change=put(("<TypeDefinitions>", comment)))
    plain = FMU(build_fmu("feedthrough", version="2.0"), **STEP).description.variables["fixed_parameter"]
    moved = FMU(path, **STEP).description.variables["fixed_parameter"]
    assert moved.line == (plain.line or 0) + 3


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_differences_of_temperatures_have_no_offset(version: str) -> None:
    """`relativeQuantity` of a variable, which counts more than that of its type."""
    plain = build_fmu("lag", version=version)
    inside = '<Real start="0.0"/>' if version == "2.0" else 'start="0.0"'
    first = described(plain).index(inside)  # of the input

    def change(text: str) -> str:
        unit = '<UnitDefinitions><Unit name="degC"><BaseUnit K="1" offset="273.15"/></Unit></UnitDefinitions>'
        more = f'{inside.removesuffix("/>")} unit="degC" relativeQuantity="true"'
        more += "/>" if version == "2.0" else ""
        text = text[:first] + more + text[first + len(inside) :]
        return text.replace("<DefaultExperiment", unit + "<DefaultExperiment", 1)

    v = FMU(build_fmu("lag", version=version, change=change), **STEP).description.variables["u"]
    assert v.unit == "degC" and v.relative_quantity is True


def test_clocks_have_other_names() -> None:
    text = described(build_fmu("clockwork", version="3.0"))
    found = re.search(r'(<Clock name="chosen"[^>]*)>(</Clock>)?', text)
    assert found is not None
    path = made("clockwork", (found.group(), f'{found[1]}><Alias name="quick"/></Clock>'))
    d = FMU(path, **STEP).description
    assert (
        d.variables["quick"].alias_of == "chosen"
        and d.variables["quick"].clock == d.variables["chosen"].clock
    )


def test_items_are_any_integers() -> None:
    """Items of FMI 3.0 have 64 bits."""
    path = made("feedthrough", ('<Item name="two" value="2"/>', '<Item name="two" value="5000000000"/>'))
    r = simulate(FMU(path, start={"Enumeration_input": 5_000_000_000}, **STEP), 0.2)
    assert r["plant.Enumeration_output"][-1, 0] == 5e9


def test_what_an_fmu_has_by_itself_is_not_set() -> None:
    """A start value of all components, of a state that is no parameter: sizes may change, and it stays so."""
    old = 'name="x" valueReference="43" causality="local" variability="continuous" initial="calculated"'
    new = old.replace("calculated", "exact") + ' start="0.0"'
    path = build_fmu("statespace", version="3.0", change=put((old, new)))
    sizes = {"n": 2, "m": 1, "r": 1, "A": [[0, 1], [0, 0]], "B": [0, 1], "C": [1, 0], "D": [0], "u": [1.0]}
    for kind in ("cs", "me"):
        how: dict[str, Any] = {"sample": "1/100"} if kind == "cs" else {}
        r = simulate(FMU(path, kind=kind, start=sizes, **how), 1.0)
        assert r["plant.y"][-1] == pytest.approx(np.array([0.5]), abs=1e-6)  # x'' = 1
