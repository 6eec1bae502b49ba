"""Penalties, constraints and motions on variables that solve an equation or that a subroutine gives.

A mass of 2 on a rail along x starts at x = 0.5. Oracles: roots by bisection, motions by SciPy, closed forms.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from blocks.errors import ModelError, PlantloopError
from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_General,
    Constraint_Joint,
    Control_Diff,
    Control_PlantOutput,
    Element,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Model,
    Motion_Joint,
    Reference_Array,
    Reference_Marker,
    Reference_Variable,
)
from plant.energy import ledger
from tests.helpers.slider import ALONG, SUB

pytestmark = [
    pytest.mark.parametrize("coordinates", ["joint", "absolute"]),
    pytest.mark.parametrize("engine", ["auto", "reference"]),
    pytest.mark.filterwarnings("ignore::plant.PlantWarning"),
]
TIMES = [0.0, 0.37, 1.0]
STIFFNESS, DAMPING, MASS = 50.0, 3.0, 2.0

CUBIC = Reference_Variable(id=1, expr="VARVAL(1)**3 + VARVAL(1) - DX(20)", is_implicit=True, ic=0.4)
ITSELF = Reference_Variable(id=1, expr="0.5*SIN(VARVAL(1)) + DX(20)", ic=0.4)
PUSH = Force_Scalar_TwoBody(id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val=3.0)
TRACED = """
def VARSUB(id, time, par, npar, dflag, iflag):
    x, e = py_sysfnc("DX", [20])
    return x**2 + x
def ARYSUB(id, time, par, npar, dflag, iflag, size):
    x, e = py_sysfnc("DX", [20])
    return [x, x**2 + x]
"""
OPAQUE = TRACED.replace("    return", "    if x > 1e9:\n        return 0.0\n    return")


BEAD = Body_Rigid(id=2, cg_id=20, mass=MASS, inertia_xx=1, inertia_yy=1, inertia_zz=1)


def rail(
    coordinates: str, *elements: Element, show: tuple[str, ...] = (), x: float = 0.5, body: Body_Rigid = BEAD
) -> Plant:
    shown = [Reference_Variable(id=k, expr=text) for k, text in enumerate(show, start=100)]
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, **ALONG),
            body,
            Reference_Marker(id=20, body_id=2, pos_x=x, **ALONG),
            Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
            *elements,
            *shown,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in shown)),
        ]
    )
    return Plant.from_model(model, trust=True, coordinates=coordinates)


def run(plant: Plant, engine: str, rtol: float = 1e-10) -> np.ndarray:
    d = Diagram("unknowns")
    d.add("plant", plant)
    return simulate(d, TIMES[-1], log_at=TIMES, engine=engine, rtol=rtol, atol=rtol / 100)["plant.y"]


def moved(force) -> np.ndarray:
    """x, x' at TIMES under force(t, x, x')."""
    found = solve_ivp(
        lambda t, y: [y[1], force(t, *y) / MASS], (0, 1), [0.5, 0.0], rtol=1e-11, atol=1e-13, t_eval=TIMES
    )
    return found.y.T


def cubic(x: float) -> float:
    return brentq(lambda v: v**3 + v - x, -9, 9, xtol=1e-15)


def scripted(folder, text: str, name: str, kind: type[Element] = Reference_Variable, **more) -> Element:
    (folder / "s.py").write_text(text)
    return kind(id=1, script_name=str(folder / "s.py"), usrsub_fnc_name=name, **(SUB | more))


# --- penalties ------------------------------------------------------------------------------------------
def soft(expr: str) -> Reference_Variable:
    return Reference_Variable(
        id=2, expr=expr, is_implicit=True, autobalance="PENALTY", penalty=STIFFNESS, penalty1=DAMPING
    )


def hard_force(expr: str) -> Force_Penalty:
    return Force_Penalty(id=2, expr=expr, penalty=STIFFNESS, penalty1=DAMPING)


@pytest.mark.slow
@pytest.mark.parametrize("penalty", [soft, hard_force])
def test_penalty_of_an_implicit_variable(penalty, coordinates, engine):
    """g = v with v^3 + v = x: the force is (-k v - c v') dv/dx, dv/dx = 1/(3 v^2 + 1)."""

    def force(t, x, xd):
        v = cubic(x)
        slope = 1 / (3 * v * v + 1)
        return (-STIFFNESS * v - DAMPING * slope * xd) * slope

    plant = rail(coordinates, CUBIC, penalty("VARVAL(1)"), show=("DX(20)", "VX(20)"))
    assert run(plant, engine) == pytest.approx(moved(force), abs=1e-8)


@pytest.mark.slow
def test_penalty_of_a_variable_defined_by_itself(coordinates, engine):
    """g = v + x with v = sin(v)/2 + x: both parts of the gradient count."""

    def force(t, x, xd):
        v = brentq(lambda v: v - 0.5 * np.sin(v) - x, -9, 9, xtol=1e-15)
        slope = 1 / (1 - 0.5 * np.cos(v)) + 1
        return (-STIFFNESS * (v + x) - DAMPING * slope * xd) * slope

    plant = rail(coordinates, ITSELF, hard_force("VARVAL(1) + DX(20)"), show=("DX(20)", "VX(20)"))
    assert run(plant, engine) == pytest.approx(moved(force), abs=1e-8)


def test_penalty_through_two_equations(coordinates, engine):
    """v of u, u of x: u + u^3/3 = x, v^3 + v = u."""
    inner = Reference_Variable(id=3, expr="VARVAL(3) + VARVAL(3)**3/3 - DX(20)", is_implicit=True, ic=0.4)
    outer = Reference_Variable(id=1, expr="VARVAL(1)**3 + VARVAL(1) - VARVAL(3)", is_implicit=True, ic=0.4)

    def force(t, x, xd):
        u = brentq(lambda u: u + u**3 / 3 - x, -9, 9, xtol=1e-15)
        v = cubic(u)
        slope = 1 / (3 * v * v + 1) / (1 + u * u)
        return (-STIFFNESS * v - DAMPING * slope * xd) * slope

    plant = rail(coordinates, outer, inner, hard_force("VARVAL(1)"), show=("DX(20)", "VX(20)"))
    assert run(plant, engine) == pytest.approx(moved(force), abs=1e-8)


def test_penalty_of_an_implicit_variable_acts_at_its_markers(coordinates, engine):
    """The rail holds what the penalty does not: F = -k g along y for g = v(x) + y, and so its reaction."""
    penalty = Force_Penalty(id=2, expr="VARVAL(1) + DY(20)", penalty=STIFFNESS)
    plant = rail(coordinates, CUBIC, penalty, show=("JOINT(1,0,3,0)", "VARVAL(1)"))
    reaction, v = run(plant, engine).T
    assert reaction == pytest.approx(STIFFNESS * v, rel=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("text", [TRACED, OPAQUE])
def test_soft_constraint_by_subroutine(text, coordinates, engine, tmp_path):
    """g = x^2 + x - 0.75 - t."""

    def force(t, x, xd):
        return (-STIFFNESS * (x * x + x - 0.75 - t) - DAMPING * ((2 * x + 1) * xd - 1)) * (2 * x + 1)

    given = scripted(tmp_path, text, "VARSUB")
    plant = rail(coordinates, given, soft("VARVAL(1) - 0.75 - TIME"), show=("DX(20)", "VX(20)"))
    assert run(plant, engine) == pytest.approx(moved(force), abs=2e-7)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variable",
    [
        Reference_Variable(
            id=1, expr="VARVAL(1)**3 + VARVAL(1) - DX(20) - SIN(TIME)", is_implicit=True, ic=0.4
        ),
        Reference_Variable(id=1, expr="COS(3*TIME) + VX(20)", dot_form=True),
    ],
)
def test_ledger_of_a_penalty_that_moves_by_itself(variable, coordinates, engine):
    """Work is put in as an implicit variable or an integral in g changes while the body stands still."""
    plant = rail(coordinates, variable, hard_force("VARVAL(1) + DX(20)"), show=("DX(20)",)).audited()
    d = Diagram("unknowns")
    d.add("plant", plant)
    account = ledger(simulate(d, 1.0, log_every=0.1, engine=engine, rtol=1e-11, atol=1e-13))
    assert np.ptp(account.work_in) > 0.1
    assert np.abs(account.drift).max() < 1e-7


@pytest.mark.parametrize("expr", ["TIME - 1", "VX(20) - 1", "2", "VARVAL(1)"])
def test_penalty_without_a_direction_is_told(expr, coordinates, engine):
    of_time = Reference_Variable(id=1, expr="VARVAL(1)**3 + VARVAL(1) - TIME", is_implicit=True)
    plant = rail(coordinates, of_time, Force_Penalty(id=2, expr=expr, penalty=1.0), show=("DX(20)",))
    with pytest.warns(PlantWarning, match="Force_Penalty id=2: exerts no force"):
        found = run(plant, engine)
    assert found == pytest.approx(np.full((3, 1), 0.5))


def test_penalty_of_accelerations_is_told(coordinates, engine):
    plant = rail(
        coordinates, Force_Penalty(id=2, expr="DX(20) + 0.1*ACCX(20)", penalty=1.0), show=("DX(20)",)
    )
    with pytest.warns(PlantWarning, match="Force_Penalty id=2: its g contains accelerations"):
        run(plant, engine)


def test_penalty_factors_of_an_equation_change_nothing(coordinates, engine):
    own = Reference_Variable(
        id=1, expr="2*VARVAL(1) - 1", is_implicit=True, autobalance="PENALTY", penalty=10.0
    )
    with pytest.warns(PlantWarning, match=r"id=1: its g depends on VARVAL\(1\).*penalty1 change nothing"):
        plant = rail(coordinates, own, show=("VARVAL(1)",))
    assert run(plant, engine) == pytest.approx(np.full((3, 1), 0.5), rel=1e-12)


def test_penalty_of_accelerations_through_an_equation_is_refused(coordinates, engine):
    felt = Reference_Variable(id=1, expr="VARVAL(1)**3 + VARVAL(1) - ACCX(20) - DX(20)", is_implicit=True)
    plant = rail(coordinates, felt, Force_Penalty(id=2, expr="VARVAL(1)", penalty=1.0), show=("DX(20)",))
    with pytest.raises(PlantloopError, match="Force_Penalty id=2.*accelerations"):
        run(plant, engine)


# --- constraints ----------------------------------------------------------------------------------------
def hard(expr: str) -> Reference_Variable:
    return Reference_Variable(id=9, expr=expr, is_implicit=True)


def held(t: float) -> list[float]:
    """x^2 + x = 0.75 + t^2/2 against a push of 3: x, x', x'' and the multiplier."""
    x = (-1 + np.sqrt(4 + 2 * t * t)) / 2
    slope = 2 * x + 1
    v = t / slope
    a = (1 - 2 * v * v) / slope
    return [x, v, a, (MASS * a - 3.0) / slope]


HELD = np.array([held(t) for t in TIMES])
SHOWN = ("DX(20)", "VX(20)", "ACCX(20)", "VARVAL(9)")
POLYNOMIAL = Reference_Variable(
    id=1,
    expr="VARVAL(1)**3 + VARVAL(1) - (DX(20)**2 + DX(20))**3 - DX(20)**2 - DX(20)",  # its root: x^2 + x
    is_implicit=True,
    ic=0.4,
)


@pytest.mark.parametrize("x", [0.5, 0.44])
def test_hard_constraint_through_an_implicit_variable(x, coordinates, engine):
    """Also where the start is open and assembly has to close it."""
    plant = rail(coordinates, POLYNOMIAL, PUSH, hard("VARVAL(1) - 0.75 - 0.5*TIME**2"), show=SHOWN, x=x)
    assert run(plant, engine) == pytest.approx(HELD, abs=1e-8)
    assert plant.info()["dof"] == 0


def test_hard_constraint_through_an_output(coordinates, engine):
    output = Control_PlantOutput(id=5, label="z", variable_id_list=(1,))
    plant = rail(coordinates, POLYNOMIAL, output, PUSH, hard("POUVAL(5,1) - 0.75 - 0.5*TIME**2"), show=SHOWN)
    assert run(plant, engine) == pytest.approx(HELD, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("text", [TRACED, OPAQUE])
def test_hard_constraint_through_a_subroutine(text, coordinates, engine, tmp_path):
    given = scripted(tmp_path, text, "VARSUB")
    plant = rail(coordinates, given, PUSH, hard("VARVAL(1) - 0.75 - 0.5*TIME**2"), show=SHOWN)
    assert run(plant, engine) == pytest.approx(HELD, abs=1e-6 if text is OPAQUE else 1e-8)


def test_a_routine_called_at_run_time_is_told_once(coordinates, engine, tmp_path):
    """It was told when the plant was made, and again whenever it was run."""
    if engine == "auto":
        return  # says no more than the reference engine
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        given = scripted(tmp_path, OPAQUE, "VARSUB")
        run(rail(coordinates, given, PUSH, hard("VARVAL(1) - 0.75 - 0.5*TIME**2"), show=SHOWN), engine)
    assert len([w for w in caught if "called at run time" in str(w.message)]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("text", [TRACED, OPAQUE])
def test_hard_constraint_through_an_array(text, coordinates, engine, tmp_path):
    given = scripted(tmp_path, text.replace("return 0.0", "return [0.0, 0.0]"), "ARYSUB", Reference_Array,
                     type="U", num_element=2)  # fmt: skip
    plant = rail(coordinates, given, PUSH, hard("ARYVAL(1,2) - 0.75 - 0.5*TIME**2"), show=SHOWN)
    assert run(plant, engine) == pytest.approx(HELD, abs=1e-6 if text is OPAQUE else 1e-8)


IMPLICIT_SCRIPT = """
def VARSUB(id, time, par, npar, dflag, iflag):
    x, e = py_sysfnc("DX", [20])
    v, e = py_sysfnc("VARVAL", [1])
    return v**3 + v - (x**2 + x)**3 - x**2 - x
"""


@pytest.mark.slow
@pytest.mark.parametrize("opaque", [False, True])
def test_hard_constraint_through_an_equation_by_subroutine(opaque, coordinates, engine, tmp_path):
    """The root is x^2 + x again; both derivatives of the equation are differenced where it is opaque."""
    text = IMPLICIT_SCRIPT
    if opaque:
        text = text.replace("    return", "    if x > 1e9:\n        return 0.0\n    return")
    given = scripted(tmp_path, text, "VARSUB", is_implicit=True, ic=0.7)
    plant = rail(coordinates, given, PUSH, hard("VARVAL(1) - 0.75 - 0.5*TIME**2"), show=SHOWN)
    found = run(plant, engine, 1e-8 if opaque else 1e-10)
    assert found == pytest.approx(HELD, abs=1e-6 if opaque else 1e-8)


def test_hard_constraint_through_variables_of_each_other(coordinates, engine):
    """v1 = x^2 + 2 x - v2 with 2 v2 - v1 - 2 x = -x^2 - x: v1 = x^2 + x; it was an error of CasADi's."""
    first = Reference_Variable(id=1, expr="DX(20)**2 + 2*DX(20) - VARVAL(2)")
    second = Reference_Variable(id=2, expr="2*VARVAL(2) - VARVAL(1) - DX(20) + DX(20)**2", is_implicit=True)
    plant = rail(coordinates, first, second, PUSH, hard("VARVAL(1) - 0.75 - 0.5*TIME**2"), show=SHOWN)
    assert run(plant, engine) == pytest.approx(HELD, abs=1e-8)


def test_hard_constraint_through_a_variable_defined_by_itself(coordinates, engine):
    """v = v/2 + (x^2 + x)/2 is v = x^2 + x."""
    itself = Reference_Variable(id=1, expr="0.5*VARVAL(1) + 0.5*(DX(20)**2 + DX(20))", ic=0.4)
    plant = rail(coordinates, itself, PUSH, hard("VARVAL(1) - 0.75 - 0.5*TIME**2"), show=SHOWN)
    assert run(plant, engine) == pytest.approx(HELD, abs=1e-8)


def test_general_constraint_on_a_velocity_through_an_implicit_variable(coordinates, engine):
    """v = 0 with v^3 + v = (x' - t)^3 + x' - t, so x' = t, against a push of 3."""
    given = Reference_Variable(
        id=1, expr="VARVAL(1)**3 + VARVAL(1) - (VX(20) - TIME)**3 - VX(20) + TIME", is_implicit=True
    )
    general = Constraint_General(id=9, expr="VARVAL(1)")
    plant = rail(coordinates, given, PUSH, general, show=("DX(20)", "VX(20)", "ACCX(20)", "GCON(9,0,1)"))
    expected = [[0.5 + t * t / 2, t, 1.0, 1.0] for t in TIMES]
    assert run(plant, engine) == pytest.approx(np.array(expected), abs=1e-9)


CURVED = {  # x' by hand, from 1
    "VX(20)**2 - (1 + TIME)**2": lambda t: 1 + t,
    "VX(20)**3 - 1 - TIME": lambda t: (1 + t) ** (1 / 3),
    "VM(20) - 1 - TIME": lambda t: 1 + t,  # whose slope at rest is no number
}


@pytest.mark.parametrize("expr", CURVED)
def test_constraint_curved_in_velocities(expr, coordinates, engine):
    """It is looked at with the velocities of the start: at rest its slope is 0, and it was dropped."""
    if engine == "auto" and expr != "VX(20)**2 - (1 + TIME)**2":
        return  # one is compiled
    moving = Body_Rigid(
        id=2, cg_id=20, mass=MASS, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_x=0.9, v_ic_x_flag=True
    )
    general = Constraint_General(id=9, expr=expr)
    plant = rail(coordinates, general, show=("VX(20)",), body=moving)
    assert plant.info()["dof"] == 0
    assert run(plant, engine)[:, 0] == pytest.approx([CURVED[expr](t) for t in TIMES], abs=1e-8)


def test_constraint_curved_in_velocities_without_a_start_is_refused(coordinates, engine):
    with pytest.raises(
        ModelError, match="id=9: .*changes with no velocity|Give initial velocities|obey them all"
    ):
        rail(coordinates, Constraint_General(id=9, expr="VX(20)**2 - 1"), show=("VX(20)",))


def test_constraint_of_a_routine_that_asks_for_velocities_in_vain_is_refused(coordinates, engine, tmp_path):
    """It counted as one on velocities that others fix already, and held nothing."""
    text = OPAQUE.replace("    x, e", '    v, e = py_sysfnc("VX", [20])\n    x, e')
    given = scripted(tmp_path, text, "VARSUB")
    with pytest.raises(ModelError, match="id=9: its expr changes with no velocity, though it asks for some"):
        rail(coordinates, given, PUSH, Constraint_General(id=9, expr="VARVAL(1) - 0.75"), show=("DX(20)",))


@pytest.mark.parametrize("constraint", [hard, lambda text: Constraint_General(id=9, expr=text)])
@pytest.mark.parametrize("integrand", ["DX(20) - 0.5", "VX(20)"])
def test_constraint_on_an_integral_is_refused(integrand, constraint, coordinates, engine):
    dot = Reference_Variable(id=1, expr=integrand, dot_form=True)
    with pytest.raises(ModelError, match="dot_form|integrates velocities"):
        rail(coordinates, dot, PUSH, constraint("VARVAL(1)"), show=("DX(20)",))


def test_constraint_on_another_multiplier_is_refused(coordinates, engine):
    first = Reference_Variable(id=1, expr="DX(20) - 0.5", is_implicit=True)
    with pytest.raises(ModelError, match="multiplier.*id=9"):
        rail(coordinates, first, hard("VARVAL(1) - DY(20)"), show=("DX(20)",))


# --- motions --------------------------------------------------------------------------------------------
def driven(expr: str, val_type: str = "D") -> Motion_Joint:
    return Motion_Joint(id=1, joint_id=1, joint_type="T", val_type=val_type, type="EXPRESSION", expr=expr)


def root_of_time(t: float) -> list[float]:
    """v^3 + v = t + 0.5: v, v', v''."""
    v = cubic(t + 0.5)
    return [v, 1 / (3 * v * v + 1), -6 * v / (3 * v * v + 1) ** 3]


IMPLICIT = Reference_Variable(id=1, expr="VARVAL(1)**3 + VARVAL(1) - TIME - 0.5", is_implicit=True, ic=0.4)


@pytest.mark.slow
@pytest.mark.parametrize(("val_type", "first"), [("D", 0), ("V", 1), ("A", 2)])
def test_motion_on_an_implicit_variable(val_type, first, coordinates, engine):
    plant = rail(coordinates, IMPLICIT, driven("VARVAL(1)", val_type), show=("DX(20)", "VX(20)", "ACCX(20)"))
    found = run(plant, engine)[:, first:]
    assert found == pytest.approx(np.array([root_of_time(t) for t in TIMES])[:, : 3 - first], abs=1e-9)


@pytest.mark.parametrize(
    ("state", "text"),
    [
        (Reference_Variable(id=1, expr="COS(TIME)", dot_form=True, ic=0.5), "VARVAL(1)"),
        (Control_Diff(id=1, expr="COS(TIME)", ic=0.5), "DIF(1)"),
    ],
)
def test_motion_on_an_integral(state, text, coordinates, engine):
    plant = rail(coordinates, state, driven(text), show=("DX(20)", "VX(20)", "ACCX(20)"))
    expected = [[0.5 + np.sin(t), np.cos(t), -np.sin(t)] for t in TIMES]
    assert run(plant, engine) == pytest.approx(np.array(expected), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("opaque", [False, True])
def test_motion_by_the_subroutine_of_a_variable(opaque, coordinates, engine, tmp_path):
    text = "def VARSUB(id, time, par, npar, dflag, iflag):\n    return 0.5 + time**3\n"
    if opaque:
        text = text.replace("    return", "    if time > 1e9:\n        return 0.0\n    return")
    given = scripted(tmp_path, text, "VARSUB")
    plant = rail(coordinates, given, driven("VARVAL(1)"), show=("DX(20)", "VX(20)", "ACCX(20)"))
    expected = [[0.5 + t**3, 3 * t * t, 6 * t] for t in TIMES]
    assert run(plant, engine) == pytest.approx(np.array(expected), abs=1e-7)
