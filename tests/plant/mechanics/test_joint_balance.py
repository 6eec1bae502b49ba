"""Every joint type in a skew place: what JOINT, FX and TZ give is what Newton and Euler need."""

from __future__ import annotations

import numpy as np
import pytest

from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Force_Penalty,
    Force_Vector_OneBody,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.elements.markers import COSINES, euler_313
from tests.helpers.plants import Alone

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

QUARTER = np.pi / 2
# design pose of I in J: origin, and 3-1-3 angles
POSES = {
    "REVOLUTE": ((0, 0, 0), (0.4, 0, 0)),
    "TRANSLATIONAL": ((0, 0, 0.3), (0, 0, 0)),
    "CYLINDRICAL": ((0, 0, 0.3), (0.4, 0, 0)),
    "SPHERICAL": ((0, 0, 0), (0.3, 0.5, 0)),
    "FIXED": ((0, 0, 0), (0, 0, 0)),
    "PLANAR": ((0.2, -0.3, 0), (0.5, 0, 0)),
    "UNIVERSAL": ((0, 0, 0), (0.3, QUARTER, 0.7)),
    "HOOKE": ((0, 0, 0), (0, 0.4, 0)),
    "CONSTANT_VELOCITY": ((0, 0, 0), (0, 0.4, 0)),
    "INLINE": ((0, 0, 0.4), (0.3, 0.5, 0)),
    "INPLANE": ((0.3, 0.4, 0), (0.3, 0.5, 0)),
    "ORIENTATION": ((0.3, 0.4, 0.1), (0, 0, 0)),
    "PARALLEL_AXES": ((0.3, 0.4, 0.1), (0.7, 0, 0)),
    "PERPENDICULAR": ((0.3, 0.4, 0.1), (0.3, QUARTER, 0.7)),
}
MASS, J = 2.5, np.diag([0.4, 0.5, 0.6])
G, F, T = np.array([0.2, 0.5, -9.8]), np.array([1.0, 2.0, -1.5]), np.array([0.4, -0.3, 0.6])
TEXTS = (
    *(f"{name}{x}(30)" for name in ("ACC", "WDT", "W") for x in "XYZ"),
    *(f"JOINT(1,{flag},{comp},0)" for flag in (0, 1) for comp in (2, 3, 4, 6, 7, 8)),
    *("JOINT(1,0,2,31)", "JOINT(1,0,1,0)", "FX(31,10)", "TZ(31,10,10)", "FY(10,31)"),
)


def marker(id, body, r, A):
    cosines = dict(zip(COSINES, A.T.ravel(), strict=True))
    return Reference_Marker(
        id=id, body_id=body, **dict(zip(("pos_x", "pos_y", "pos_z"), r, strict=True)), **cosines
    )


def loaded(type):
    """A body that turns, its load and its joint to the ground; with the poses used."""
    rng = np.random.default_rng(5)
    AJ, rJ = euler_313(0.7, 0.6, -0.3), rng.normal(size=3)
    r, angles = POSES[type]
    AI, rI = AJ @ euler_313(*angles), rJ + AJ @ np.array(r)
    A, rc = euler_313(0.2, 0.4, 0.5), rI + 0.4 * rng.normal(size=3)
    rates = dict(zip(("w_ic_x", "w_ic_y", "w_ic_z"), (0.7, -0.4, 0.9), strict=True))
    components = dict(
        zip((f"{n}{x}_expression" for n in "ft" for x in "xyz"), map(str, [*F, *T]), strict=True)
    )
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(TEXTS, start=1)]
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            marker(10, 1, rJ, AJ),
            Body_Rigid(
                id=2, cg_id=30, mass=MASS, inertia_xx=J[0, 0], inertia_yy=J[1, 1], inertia_zz=J[2, 2], **rates
            ),
            marker(30, 2, rc, A),
            marker(31, 2, rI, AI),
            Constraint_Joint(id=1, type=type, i_marker_id=31, j_marker_id=10),
            Force_Gravity(grav_x=G[0], grav_y=G[1], grav_z=G[2]),
            Force_Vector_OneBody(id=1, type="FORCEANDTORQUE", marker_id=30, ref_marker_id=0, **components),
            *variables,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in variables)),
        ]
    )
    return model, A, rc, (rI, AI), (rJ, AJ)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("type", list(POSES))
def test_forces_and_torques_balance(type, coordinates):
    model, A, rc, (rI, AI), (rJ, AJ) = loaded(type)
    y = Alone(Plant.from_model(model, coordinates=coordinates)).output("y")
    a, al, w, FI, TI, FJ, TJ = y[:21].reshape(7, 3)
    I = A @ J @ A.T
    assert pytest.approx(MASS * (a - G) - F, abs=1e-9) == FI
    assert pytest.approx(I @ al + np.cross(w, I @ w) - T - np.cross(rI - rc, FI), abs=1e-9) == TI
    assert pytest.approx(-FI, abs=1e-9) == FJ
    assert pytest.approx(-(TI + np.cross(rI - rJ, FI)), abs=1e-9) == TJ
    assert y[21:] == pytest.approx([FI @ AI[:, 0], np.linalg.norm(FI), FI[0], TI @ AJ[:, 2], FJ[1]], abs=1e-9)


SOFT = {
    "expression": Force_Penalty(id=1, expr="DX(30) + 0.5*DM(31,0) - 1.5*TIME", penalty=50.0, penalty1=4.0),
    "unilateral": Force_Penalty(
        id=1, expr="DM(30,0) - 0.1", penalty=20.0, unilateral=True, smoothing_factor=5.0
    ),
    "variable": Reference_Variable(
        id=90, expr="THETA(30,10) - VARVAL(91)", is_implicit=True, autobalance="PENALTY", penalty=30.0
    ),
}


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("how", list(SOFT))
def test_a_penalty_is_no_part_of_the_joint(how, coordinates):
    """Gradients act at the markers: without the joint's reaction the balance has a gap, with it none."""
    model, *_ = loaded("REVOLUTE")
    elements = [e for same in model.elements.values() for e in same.values()]
    more = [Reference_Variable(id=91, expr="0.2 + 0*DX(30)"), SOFT[how]]
    found = [
        Alone(Plant.from_model(Model.build([*elements, *more]), coordinates=c)).output("y")
        for c in ("absolute", coordinates)
    ]
    assert found[1] == pytest.approx(found[0], abs=1e-8)
    without = Alone(Plant.from_model(model)).output("y")
    assert np.abs(found[1][9:15] - without[9:15]).max() > 1e-2


@pytest.mark.slow
@pytest.mark.parametrize("type", list(POSES))
def test_both_coordinate_choices_agree(type):
    model = loaded(type)[0]
    one, other = (
        Alone(Plant.from_model(model, coordinates=c)).output("y")[:9] for c in ("joint", "absolute")
    )
    assert one == pytest.approx(other, abs=1e-8)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_velocities_the_joint_does_not_allow_are_left_out(coordinates):
    """A turn is asked of a body that only slides: what rounding leaves of it must not become a velocity."""
    model = loaded("TRANSLATIONAL")[0]
    plant = Plant.from_model(model, coordinates=coordinates)
    assert max(np.abs(rates).max(initial=0.0) for rates in plant.rates) < 1e-9


def test_a_free_joint_beside_a_constraint_does_nothing():
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            *(
                element
                for id in (2, 3)
                for element in (
                    Body_Rigid(id=id, cg_id=id * 10, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1),
                    Reference_Marker(id=id * 10, body_id=id),
                )
            ),
            Constraint_Joint(id=1, type="INLINE", i_marker_id=20, j_marker_id=10),
            Constraint_Joint(id=2, type="FREE", i_marker_id=30, j_marker_id=10),
            Force_Gravity(grav_x=-9.81),
            Reference_Variable(id=1, expr="JOINT(2,0,1)"),
            Reference_Variable(id=2, expr="JOINT(1,0,2)"),
            Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2)),
        ]
    )
    assert Alone(Plant.from_model(model)).output("y") == pytest.approx([0.0, 9.81])
