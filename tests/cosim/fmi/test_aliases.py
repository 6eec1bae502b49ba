"""Aliases of FMI 3.0: whatever is given or asked for under another name is that of the variable."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import Any

import pytest

from blocks import PlantloopError
from cosim import FMU, Diagram, simulate
from cosim.fmi.fmi_errors import FMUError
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
KINDS = [{"kind": "me"}, {"kind": "cs", "sample": 0.1}]


@functools.cache
def lag() -> Path:
    """T x' = u - x; u, x, y and T have aliases."""

    def change(text: str) -> str:
        named = r'(<Float64 name="([uxyT])"[^>]*)></Float64>'
        return re.sub(named, r'\1><Alias name="\2_too"/></Float64>', text)

    return build_fmu("lag", version="3.0", change=change)


def ends(how: dict[str, Any], **parameters: float) -> float:
    """y at 1 s with the input open."""
    d = Diagram("d")
    d.add("m", FMU(lag(), **how))
    d.ground("m.u")
    found = simulate(d, 1.0, engine="reference", parameters={f"m.{n}": x for n, x in parameters.items()})
    return float(found["m.y"].ravel()[-1])


@pytest.mark.slow
@pytest.mark.parametrize("how", KINDS)
def test_start_values_by_another_name(how: dict[str, Any]) -> None:
    assert ends({"start": {"u_too": 3.0}} | how) == pytest.approx(3 * (1 - math.exp(-1)), abs=1e-6)
    assert ends({"start": {"x_too": 0.5}} | how) == pytest.approx(0.5 * math.exp(-1), abs=1e-6)
    both = {"start": {"x": 1.0, "T_too": 2.0}} | how
    assert ends(both) == pytest.approx(math.exp(-0.5), abs=1e-6)
    assert ends(both, T=1.0) == pytest.approx(math.exp(-1), abs=1e-6)  # what the description has, too


@pytest.mark.parametrize("how", KINDS)
def test_outputs_and_values_by_another_name(how: dict[str, Any]) -> None:
    unit = FMU(lag(), outputs=["y_too"], start={"x": 1.0}, **how)
    with unit.open() as m:
        m.initialize()
        m.set("u_too", 2.0)
        assert (m.get("u"), m.get("y_too"), m.get("T_too")) == (2.0, 1.0, 1.0)


def test_two_names_of_one_variable() -> None:
    with pytest.raises(FMUError, match="start of 'T_too': it is given twice, since 'T' has aliases"):
        FMU(lag(), start={"T": 1.0, "T_too": 2.0}, kind="me")
    with pytest.raises(PlantloopError, match="It is another name of 'T'"):
        ends(KINDS[0], T_too=2.0)
