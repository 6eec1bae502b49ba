"""Attributes that change nothing in their context are told, each once, with what to do."""

from __future__ import annotations

import warnings

from plant import Plant, PlantWarning
from plant.elements import (
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Field,
    Force_Penalty,
    Force_SpringDamper,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.slider import SUB, slider

BEYOND = Reference_Marker(id=30, body_id=2, pos_x=0.9)
ROUTINES = """
def VARSUB(id, time, par, npar, dflag, iflag):
    return time
def OWN(id, time, par, npar, dflag, iflag):
    v, e = py_sysfnc("VARVAL", [id])
    return v * v - 2.0
def FIESUB(id, time, par, npar, disp, velo, dflag, iflag):
    return [0.0] * 6
"""


def told(tmp_path, *elements: Element) -> list[str]:
    """Warnings about the elements on a mass on a rail."""
    (tmp_path / "s.py").write_text(ROUTINES)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        plant = slider("", BEYOND, *elements)
    assert isinstance(plant, Plant)
    return [str(w.message) for w in caught if w.category is PlantWarning]


def spring(**more: float) -> Force_SpringDamper:
    return Force_SpringDamper(id=1, type="TRANSLATIONAL", i_marker_id=30, j_marker_id=10, **more)


def test_the_length_of_a_damper_without_stiffness(tmp_path):
    (line,) = told(tmp_path, spring(damping=2.0, length=1.0))
    assert "Force_SpringDamper id=1: length" in line and "stiffness is 0" in line
    assert told(tmp_path, spring(damping=2.0, preload=1.0)) == []
    assert told(tmp_path, spring(stiffness=2.0, length=1.0)) == []


def test_attributes_of_a_field_that_nobody_reads(tmp_path):
    """A misspelled matrix left a field without force; matrices beside a routine counted as read."""

    def field(names: tuple[str, ...], **more: object) -> Force_Field:
        written = tuple((name, "1 1 1 1 1 1") for name in names)
        return Force_Field(id=1, i_marker_id=30, j_marker_id=10, attributes=written, **more)

    (line,) = told(tmp_path, field(("K_matrx", "c_matrix")))
    assert "Force_Field id=1: K_matrx changes nothing" in line and "did you mean 'k_matrix'" in line
    assert told(tmp_path, field(("K_matrix", "preload", "length", "c_matrix"))) == []
    script = {"script_name": str(tmp_path / "s.py"), "usrsub_fnc_name": "FIESUB"}
    (line,) = told(tmp_path, field(("k_matrix", "length"), **(SUB | script)))
    assert "k_matrix, length change nothing: the field is given by its subroutine" in line


def test_the_start_of_a_variable_that_a_routine_gives(tmp_path):
    """One that solves an equation for itself starts from it."""

    def variable(name: str, **more: object) -> Reference_Variable:
        script = {"script_name": str(tmp_path / "s.py"), "usrsub_fnc_name": name}
        return Reference_Variable(id=7, ic=0.4, **(SUB | script | more))

    (line,) = told(tmp_path, variable("VARSUB"))
    assert "Reference_Variable id=7: ic changes nothing" in line and 'dot_form="TRUE"' in line
    assert not any("ic changes" in text for text in told(tmp_path, variable("VARSUB", dot_form=True)))
    assert not any("ic changes" in text for text in told(tmp_path, variable("OWN", is_implicit=True)))


def test_the_first_rate_of_an_algebraic_equation(tmp_path):
    """One with DIF1 in it has a rate that the solution starts from."""
    (line,) = told(
        tmp_path, Control_Diff(id=7, expr="DIF(7)**3+DIF(7)-DX(20)", is_implicit=True, ic=0.2, ic_dot=0.3)
    )
    assert "Control_Diff id=7: ic_dot" in line and "no DIF1(7)" in line
    implicit = Control_Diff(id=7, expr="DIF1(7)**3+DIF1(7)-DX(20)", is_implicit=True, ic=0.2, ic_dot=0.3)
    assert told(tmp_path, implicit) == []


def test_the_offset_of_samples_that_are_not_taken(tmp_path):
    shown = Reference_Variable(id=7, expr="0"), Control_PlantOutput(id=8, variable_id_list=(7,))
    for kind in (Control_PlantInput, Control_PlantOutput):
        (line,) = told(tmp_path, *shown, kind(id=7, variable_id_list=(7,), offset_time=0.05))
        assert f"{kind.__name__} id=7: offset_time" in line and "sampling_period is 0" in line
        sampled = kind(id=7, variable_id_list=(7,), sampling_period=0.1, offset_time=0.05)
        assert told(tmp_path, *shown, sampled) == []


def test_an_equation_with_a_penalty_is_told_once(tmp_path):
    """Also where the variable reads itself through another one, which its own text does not show."""
    penalty = {"is_implicit": True, "autobalance": "PENALTY", "penalty": 10.0}
    (line,) = told(tmp_path, Reference_Variable(id=7, expr="VARVAL(7) - DX(20)", **penalty))
    assert "id=7: its g depends on VARVAL(7)" in line and "autobalance, penalty and penalty1 change" in line
    through = Reference_Variable(id=8, expr="2*VARVAL(7)")
    (line,) = told(tmp_path, through, Reference_Variable(id=7, expr="VARVAL(8) - DX(20)", **penalty))
    assert "its g depends on VARVAL(7)" in line
    equation = Reference_Variable(id=7, expr="VARVAL(7) - DX(20)", is_implicit=True)
    assert told(tmp_path, equation) == []  # it says nothing of a penalty


def test_the_smoothing_of_a_force_that_acts_on_both_sides(tmp_path):
    force = {"id": 7, "expr": "DX(20)", "penalty": 10.0, "smoothing_factor": 0.1}
    (line,) = told(tmp_path, Force_Penalty(**force))
    assert "Force_Penalty id=7: smoothing_factor" in line and 'write unilateral="TRUE"' in line
    assert told(tmp_path, Force_Penalty(**force, unilateral=True)) == []
    assert told(tmp_path, Force_Penalty(id=7, expr="DX(20)", penalty=10.0)) == []
