"""Implicit Control_Diffs: whether they have a state is read off what they ask for, however they ask."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import brentq

from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Control_Diff,
    Control_PlantOutput,
    Element,
    Reference_Array,
    Reference_Variable,
)
from plant.equations import differential
from tests.helpers.slider import SUB, on_rail, written

TIMES = np.array([0.0, 0.5, 1.0])
CUBIC = """
def DIFSUB(id, time, par, npar, dflag, iflag):
    x, e = py_sysfnc("DIF", [id])
    d, e = py_sysfnc("DX", [20])
    return x**3 + x - d - 1
"""
BY_NUMBERS = CUBIC.replace("+ x", "+ float(x)")  # which symbols refuse: differences at run time


def run(*elements: Element, shown: tuple[str, ...], engine: str = "reference") -> np.ndarray:
    """Values of expressions at TIMES while a mass leaves x = 0.5 at speed 1."""
    ids = tuple(range(90, 90 + len(shown)))
    outputs = [Reference_Variable(id=id, expr=expr) for id, expr in zip(ids, shown, strict=True)]
    model = on_rail(*elements, *outputs, Control_PlantOutput(id=9, label="y", variable_id_list=ids), v=1.0)
    d = Diagram("implicit")
    d.add("plant", Plant.from_model(model, trust=True))
    return simulate(d, TIMES[-1], log_at=TIMES, engine=engine, rtol=1e-10, atol=1e-12)["plant.y"]


@pytest.mark.parametrize("script", [CUBIC, BY_NUMBERS])
@pytest.mark.parametrize("engine", ["auto", "reference"])
@pytest.mark.filterwarnings("ignore:.*is called at run time")
def test_subroutine_without_its_rate_is_algebraic(tmp_path, script, engine):
    """x^3 + x = 1 + DX, DX = 0.5 + t."""
    diff = Control_Diff(id=1, is_implicit=True, ic=0.5, script_name=written(tmp_path, script), **SUB)
    found = run(diff, shown=("DIF(1)",), engine=engine)
    roots = [brentq(lambda x, d=0.5 + t: x**3 + x - d - 1, 0, 3, xtol=1e-14) for t in TIMES]
    assert np.ravel(found) == pytest.approx(roots, abs=1e-9)


def test_rate_of_what_a_subroutine_solves(tmp_path):
    """x' = DX' / (3 x^2 + 1)."""
    diff = Control_Diff(id=1, is_implicit=True, ic=0.5, script_name=written(tmp_path, CUBIC), **SUB)
    x, rate = run(diff, shown=("DIF(1)", "DIF1(1)")).T
    assert rate == pytest.approx(1 / (3 * x**2 + 1), abs=1e-9)


def test_state_attributes_of_an_algebraic_subroutine_are_told(tmp_path):
    diff = Control_Diff(
        id=1,
        is_implicit=True,
        is_static_hold=True,
        ic=0.5,
        script_name=written(tmp_path, CUBIC),
        **SUB,
    )
    with pytest.warns(PlantWarning, match=r"Control_Diff id=1: is_static_hold changes nothing.*DIF1\(1\)"):
        run(diff, shown=("DIF(1)",))


def test_subroutine_with_its_rate_has_a_state(tmp_path):
    """2 x' + x = sin 3t from 0.7, as SciPy's closed form of a lag."""
    script = written(
        tmp_path,
        "import numpy as np\n"
        "def DIFSUB(id, time, par, npar, dflag, iflag):\n"
        "    return 2*py_sysfnc('DIF1', [id])[0] + py_sysfnc('DIF', [id])[0] - np.sin(3*time)\n",
    )
    diff = Control_Diff(id=1, is_implicit=True, is_static_hold=True, ic=0.7, script_name=script, **SUB)
    steady = (np.sin(3 * TIMES) - 6 * np.cos(3 * TIMES)) / 37
    expected = steady + (0.7 + 6 / 37) * np.exp(-TIMES / 2)
    assert np.ravel(run(diff, shown=("DIF(1)",))) == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    ("reads", "elements"),
    [
        ("VARVAL(1)", ()),
        ("VARVAL(2)", (Reference_Variable(id=2, expr="VARVAL(1)"),)),
        ("POUVAL(3,1)", (Control_PlantOutput(id=3, label="z", variable_id_list=(1,)),)),
        ("ARYVAL(3,1)", (Reference_Array(id=3, type="U", variable_id=(1,)),)),
    ],
)
def test_rate_that_is_read_through_a_variable(reads, elements):
    """2 x' + x = 0."""
    rate = Reference_Variable(id=1, expr="2*DIF1(1)")
    diff = Control_Diff(id=1, is_implicit=True, ic=1.0, expr=f"{reads} + DIF(1)")
    found = run(rate, diff, *elements, shown=("DIF(1)",))
    assert np.ravel(found) == pytest.approx(np.exp(-TIMES / 2), abs=1e-9)


def test_array_is_read_entry_by_entry():
    """The other entry of an array that holds a rate leaves the equation algebraic."""
    elements = [
        Reference_Variable(id=1, expr="2*DIF1(1)"),
        Reference_Variable(id=2, expr="DX(20)"),
        Reference_Array(id=3, type="U", variable_id=(1, 2)),
        Control_Diff(id=1, is_implicit=True, expr="DIF(1) - ARYVAL(3,2)"),
    ]
    assert run(*elements, shown=("DIF(1)", "VARVAL(1)")) == pytest.approx(
        np.column_stack([0.5 + TIMES, np.full(3, 2.0)]), abs=1e-9
    )


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        (("variable", (8,)), [8]), (("array", (3,)), [5, 6, 7]), (("array", (3, 2)), [6]),
        (("array", (3, 1)), [5]), (("plant_output", (4, 3)), [1]), (("plant_output", (4,)), [9, 2, 1]),
        (("state", (1,)), []),
    ],
)  # fmt: skip
def test_which_variables_a_reference_reads(reference, expected):
    """All of an array, or one entry, counted from 1."""
    elements = {3: Reference_Array(id=3, type="U", variable_id=(5, 6, 7))}
    elements[4] = Control_PlantOutput(id=4, label="z", variable_id_list=(9, 2, 1))
    model = SimpleNamespace(find=lambda kind, id: elements[id])
    assert list(differential._variables(model, reference)) == expected
