"""Slender rods without a moment about their axis, links without mass: regular by what holds them.

A parallelogram: crank and rocker 1 m, coupler and ground 2 m, gravity along -y. The coupler only translates,
so with the crank's angle x and masses m (crank, rocker) and M (coupler)

    (2 m / 3 + M) x'' = -(m + M) g cos x
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.reporting import ModelProblems

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
G, START, UNTIL = 9.81, 0.7, 0.3
both = pytest.mark.parametrize("coordinates", ["joint", "absolute"])
cases = pytest.mark.parametrize(
    ("aside", "engine"),
    [(0.0, "native"), (0.0, "reference"), (3.0, "reference")],
    ids=["planar-native", "planar-reference", "spatial-reference"],
)


def turned(angle: float) -> dict[str, float]:
    """Euler angles of axes turned about z."""
    return {"psi": angle, "theta": 0.0, "phi": 0.0}


def parallelogram(coupler: dict[str, float], aside: float, axial: float = 0.0) -> Model:
    """Rods of 1 kg whose x axis lies along them; gravity `aside` pulls across the plane."""
    x, y = np.cos(START), np.sin(START)
    rod = {"mass": 1.0, "inertia_xx": axial, "inertia_yy": 1 / 12, "inertia_zz": 1 / 12}
    places = {20: (2, x / 2, y / 2), 30: (3, 1 + x, y), 40: (4, 2 + x / 2, y / 2)}
    joints = {1: (21, 11), 2: (31, 22), 3: (42, 32), 4: (41, 12)}
    points = {
        11: (1, 0, 0), 21: (2, 0, 0), 22: (2, x, y), 31: (3, x, y), 32: (3, 2 + x, y), 42: (4, 2 + x, y),
        41: (4, 2, 0), 12: (1, 2, 0),
    }  # fmt: skip
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, label="crank", cg_id=20, **rod),
            Body_Rigid(id=3, label="coupler", cg_id=30, **coupler),
            Body_Rigid(id=4, label="rocker", cg_id=40, **rod),
            *(
                Reference_Marker(
                    id=id, body_id=body, pos_x=px, pos_y=py, **(turned(0 if body == 3 else START))
                )
                for id, (body, px, py) in places.items()
            ),
            *(Reference_Marker(id=id, body_id=b, pos_x=px, pos_y=py) for id, (b, px, py) in points.items()),
            *(
                Constraint_Joint(id=id, type="REVOLUTE", i_marker_id=i, j_marker_id=j)
                for id, (i, j) in joints.items()
            ),
            Force_Gravity(grav_y=-G, grav_z=aside),
            *(
                Reference_Variable(id=k, expr=text)
                for k, text in enumerate(("AZ(20,0)", "WZ(20)", "JOINT(1,0,2,0)", "JOINT(4,0,2,0)"), start=1)
            ),
            Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2, 3, 4)),
        ]
    )


def run(model: Model, coordinates: str, engine: str) -> np.ndarray:
    plant = Plant.from_model(model, coordinates=coordinates)
    r = simulate(plant, until=UNTIL, log_at=[UNTIL], rtol=1e-9, atol=1e-11, engine=engine)
    return np.asarray(r["plant.y"])[-1]


def closed_form(m: float, M: float) -> np.ndarray:
    """Angle and rate at the end."""
    rate = -(m + M) * G / (2 * m / 3 + M)

    def swing(t: float, x: np.ndarray) -> list[float]:
        return [x[1], rate * np.cos(x[0])]

    return solve_ivp(swing, (0.0, UNTIL), [START, 0.0], rtol=1e-11, atol=1e-12, method="DOP853").y[:, -1]


@pytest.mark.slow
@both
@cases
def test_slender_rods_without_axial_inertia(coordinates, aside, engine):
    coupler = {"mass": 3.0, "inertia_xx": 0.0, "inertia_yy": 1.0, "inertia_zz": 1.0}
    found = run(parallelogram(coupler, aside), coordinates, engine)
    assert found[:2] == pytest.approx(closed_form(1.0, 3.0), abs=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("axial", [1e-10, 1e-12, 1e-16])
def test_slender_rods_with_next_to_no_axial_inertia(axial):
    """Off by 2e-2 at 1e-12 where nothing is done about it."""
    coupler = {"mass": 3.0, "inertia_xx": axial, "inertia_yy": 1.0, "inertia_zz": 1.0}
    found = run(parallelogram(coupler, 3.0, axial), "absolute", "reference")
    assert found[:2] == pytest.approx(closed_form(1.0, 3.0), abs=1e-8)


@pytest.mark.slow
@both
@cases
def test_a_coupler_without_mass(coordinates, aside, engine):
    found = run(parallelogram({}, aside, axial=1e-3), coordinates, engine)
    assert found[:2] == pytest.approx(closed_form(1.0, 0.0), abs=1e-7)


@both
def test_a_coupler_whose_mass_is_written_as_zero(coordinates):
    """No warning: nothing was left out."""
    nothing = {"mass": 0.0, "inertia_xx": 0.0, "inertia_yy": 0.0, "inertia_zz": 0.0}
    model = parallelogram(nothing, 0.0, axial=1e-3)
    found = run(model, coordinates, "reference")
    assert found[:2] == pytest.approx(closed_form(1.0, 0.0), abs=1e-7)
    assert not any(
        "has no mass" in text for text in Plant.from_model(model, coordinates=coordinates).warnings
    )


def test_reactions_are_the_same_in_both_coordinates():
    """The massless coupler takes no force across itself: the joints' reactions at ground agree."""
    ends = [run(parallelogram({}, 0.0, 1e-3), c, "native") for c in ("joint", "absolute")]
    assert ends[0] == pytest.approx(ends[1], abs=1e-6)
    x, w = closed_form(1.0, 0.0)
    a = -1.5 * G * np.cos(x)
    pull = -(np.cos(x) * w**2 + np.sin(x) * a) / 2  # the x acceleration of each rod's middle, 1 kg
    assert ends[0][2] + ends[0][3] == pytest.approx(2 * pull, abs=1e-5)


@both
def test_a_rod_that_may_spin_about_its_axis_is_refused(coordinates):
    rod = {"mass": 1.0, "inertia_xx": 0.0, "inertia_yy": 1 / 12, "inertia_zz": 1 / 12}
    elements = [
        Body_Rigid(id=1, isground=True),
        Body_Rigid(id=2, label="rod", cg_id=20, **rod),
        Reference_Marker(id=20, body_id=2, pos_x=0.5),
        Reference_Marker(id=21, body_id=2),
        Reference_Marker(id=11, body_id=1),
        Constraint_Joint(id=1, type="SPHERICAL", i_marker_id=21, j_marker_id=11),
    ]
    with pytest.raises(ModelProblems, match="moves nothing that has inertia in all its directions"):
        Plant.from_model(Model.build(elements), coordinates=coordinates)


def test_a_body_needs_two_principal_moments():
    with pytest.raises(ModelProblems, match="inertia_xx=0 is not positive, and only one principal moment"):
        Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=0.0, inertia_yy=0.0, inertia_zz=1.0)
    with pytest.raises(ModelProblems, match="inertia_zz=-1 is negative"):
        Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=-1.0)
    with pytest.raises(ModelProblems, match="mass=-1 is not positive"):
        Body_Rigid(id=2, cg_id=20, mass=-1.0)


@pytest.mark.parametrize("axial", [1e-8, 0.0])
def test_a_slender_rod_on_a_universal_joint_drawn_with_parallel_axes(axial):
    """The joint's condition holds next to nothing where it is drawn; assembly turns the rod about itself."""
    length = np.hypot(1.0, 0.5)
    s, c = 0.5 / length, 1.0 / length
    names = [f"a{row}{column}" for column in range(3) for row in range(3)]
    y = dict(zip(names, [1, 0, 0, 0, 0, -1, 0, 1, 0], strict=True))
    askew = 1e-12  # rad about the rod
    tilted = dict(zip(names, [c, 0, -s, -s, askew, -c, askew * s, 1, askew * c], strict=True))
    axes = dict(zip(names, [s, 0, c, 0, -1, 0, c, 0, -s], strict=True))  # z along the rod
    model = Model.build(
        [
            Force_Gravity(grav_z=-G),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, **y),
            Body_Rigid(id=2, cg_id=20, mass=3.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=axial),
            Reference_Marker(id=20, body_id=2, pos_x=1.0, pos_z=-0.5, **axes),
            Reference_Marker(id=21, body_id=2, **tilted),
            Constraint_Joint(id=1, type="UNIVERSAL", i_marker_id=21, j_marker_id=10),
            Reference_Variable(id=1, expr="DZ(20)"),
            Control_PlantOutput(id=1, label="z", variable_id_list=(1,)),
        ]
    )
    d = Diagram("rod")
    d.add("rod", Plant.from_model(model, coordinates="absolute"))
    found = simulate(d, UNTIL, engine="reference", log_at=[0.0, UNTIL])["rod.z"][:, 0]

    def swing(t: float, y: np.ndarray) -> list[float]:
        return [y[1], -3.0 * G * length * np.cos(y[0]) / (1.0 + 3.0 * length**2)]

    start = np.arctan2(-0.5, 1.0)
    angle = solve_ivp(swing, (0.0, UNTIL), [start, 0.0], rtol=1e-11, atol=1e-12).y[0, -1]
    assert found == pytest.approx([-0.5, length * np.sin(angle)], abs=2e-7)
