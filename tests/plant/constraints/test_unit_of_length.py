"""Mechanisms written in other units of length: the same motion, in numbers that are as many times larger.

Oracle: a mechanism with lengths twice as large, the same masses, four times the moments of inertia and twice
the acceleration of gravity has twice the accelerations; in its own unit, joint coordinates have no condition.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers import overconstrained
from tests.helpers.plants import Alone
from tests.helpers.trees import marker

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
UNITS = [1e-9, 1e-6, 1e-3, 1e7, 1e9]
CORNERS = np.array([[0, 0, 0], [0.3, 0.4, 0], [1.2, 0.9, 0.5], [1.3, 0, 0.4]])
AXES = np.array([[0, 0, 1.0], [0.3, -0.5, 0.8], [0, 0, 1.0], [0.2, 0.1, 1.0]])
LENGTHS = {Reference_Marker: ("pos_x", "pos_y", "pos_z"), Force_Gravity: ("grav_x", "grav_y", "grav_z")}
MOMENTS = {Body_Rigid: ("inertia_xx", "inertia_yy", "inertia_zz")}


def loop(*types: str) -> Model:
    """Three rods between the corners, hinged to each other and to ground by joints of these types."""
    elements: list[Element] = [
        Body_Rigid(id=1, isground=True),
        marker(10, 1, np.zeros(3), np.eye(3)),
        Force_Gravity(grav_y=-9.81, grav_z=-1.0),
    ]
    for n in range(3):
        elements += overconstrained.rod(n + 2, (CORNERS[n], CORNERS[n + 1]), np.array([0.3, 0.2, 0.9]))
    for n, type in enumerate(types):
        before, after = n + 1, (n + 1) % 4 + 1
        A = overconstrained.about(AXES[n], np.array([0.9, 0.1, 0.3]))
        crossed = A[:, [1, 2, 0]] if type == "UNIVERSAL" else A
        i, j = 10 * after + 1, 10 * before + 2
        elements += [marker(i, after, CORNERS[n], crossed), marker(j, before, CORNERS[n], A)]
        elements.append(Constraint_Joint(id=n + 1, type=type, i_marker_id=i, j_marker_id=j))
    return Model.build(elements)


LOOPS = {
    "bricard": overconstrained.bricard(),
    "leaning four-bar": overconstrained.four_bar(),
    "RSSR": loop("REVOLUTE", "SPHERICAL", "SPHERICAL", "REVOLUTE"),
    "RUSR": loop("REVOLUTE", "UNIVERSAL", "SPHERICAL", "REVOLUTE"),
}


def in_units(model: Model, unit: float) -> Model:
    """The same mechanism with lengths `unit` times as large, and outputs `a`, `r` of all centres of mass."""
    found: list[Element] = []
    for kind in (Body_Rigid, Reference_Marker, Force_Gravity, Constraint_Joint):
        for element in model.all(kind):
            names = [(name, 1) for name in LENGTHS.get(kind, ())] + [
                (name, 2) for name in MOMENTS.get(kind, ())
            ]
            numbers = {name: (getattr(element, name) or 0.0) * unit**power for name, power in names}
            found.append(replace(element, **numbers))
    centres = [body.cg_id for body in model.all(Body_Rigid) if not body.isground]
    for k, (label, what) in enumerate((("a", "ACC"), ("r", "D")), start=1):
        texts = [f"{what}{axis}({id})" for id in centres for axis in "XYZ"]
        variables = [Reference_Variable(id=1000 * k + n, expr=text) for n, text in enumerate(texts)]
        found += [
            *variables,
            Control_PlantOutput(id=k, label=label, variable_id_list=[v.id for v in variables]),
        ]
    return Model.build(found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "units"),
    [("bricard", (1e-9, 1e7)), ("leaning four-bar", (1e9,)), ("RSSR", (1e-3, 1e-6)), ("RUSR", (1e-9, 1e12))],
)
def test_accelerations_in_any_unit(name, units):
    """At 1e-3 the RSSR loop was 4e-6 off, at 1e-6 wrong by 25 m/s^2, at 1e9 all of them by their own size."""
    expected = Alone(Plant.from_model(in_units(LOOPS[name], 1.0))).output("a")
    for unit in units:
        plant = Plant.from_model(in_units(LOOPS[name], unit), coordinates="absolute")
        assert plant.info()["dof"] == (2 if name == "RSSR" else 1)
        assert Alone(plant).output("a") / unit == pytest.approx(expected, abs=1e-12), unit


def test_motion_in_any_unit():
    """Loops stay closed to rounding of their own size: in 1e-6 of a unit gaps of 1e-8 of it stayed open."""
    places = []
    for unit, coordinates in ((1.0, "joint"), (1e-6, "absolute")):
        plant = Plant.from_model(in_units(LOOPS["RSSR"], unit), coordinates=coordinates).observed()
        d = Diagram("loop")
        d.add("plant", plant)
        found = simulate(d, 0.2, log_every=0.1, rtol=1e-10, atol=1e-13, engine="reference")
        places.append(found["plant.r"] / unit)
    lengths = found["plant.constraint_residual"][:, 5:11]  # the spheres have conditions on lengths alone
    assert np.abs(lengths).max() < 1e-14 * unit
    assert places[1] == pytest.approx(places[0], abs=1e-9)


def test_gravity_across_a_plane_in_a_large_unit():
    """Gravity of 1e-10 units/s^2 is no rounding: joints carry it across the plane, so bodies are in space."""
    bar = overconstrained.ring(overconstrained.FLAT, np.tile([0.0, 0.0, 1.0], (4, 1)))
    flat = in_units(bar, 1e-10)
    assert Plant.from_model(flat, coordinates="absolute").mechanism.planar
    pulled = flat.changed(Force_Gravity(grav_z=-9.81e-10))
    assert not Plant.from_model(pulled, coordinates="absolute").mechanism.planar


@pytest.mark.filterwarnings("default::plant.PlantWarning")
@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_markers_apart_in_any_unit(unit):
    """Those of the hinge to ground are a hundredth of a rod apart; at 1e-10 that was rounding."""
    model = in_units(LOOPS["RUSR"], unit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*repeat what")
        Plant.from_model(model)  # at 1e10 rounding was worth a warning
    apart = replace(model.find(Reference_Marker, 12), pos_x=0.01 * unit)
    with pytest.warns(PlantWarning, match="markers 21 and 12 are .* apart"):
        Plant.from_model(model.changed(apart))


@pytest.mark.parametrize(("coordinates", "unit"), [("joint", 1e-9), ("absolute", 1e-9), ("joint", 1e7)])
def test_absolute_tolerances_are_of_the_size(coordinates, unit):
    """2 kg on 18 N/m, drawn out by one length: cos 3t at default tolerances; at 1e-9 it was 0.01 off."""
    elements = [
        Body_Rigid(id=1, isground=True),
        marker(10, 1, np.array([0.0, 0.0, -3 * unit]), np.eye(3)),
        Body_Rigid(id=2, cg_id=20, mass=2.0, **dict.fromkeys(MOMENTS[Body_Rigid], 0.1 * unit**2)),
        marker(20, 2, np.array([0.0, 0.0, unit]), np.eye(3)),
        Constraint_Joint(id=1, type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
        Force_Scalar_TwoBody(id=1, type="FORCE", i_marker_id=20, j_marker_id=10, val_expression="-18*DZ(20)"),
        Reference_Variable(id=1, expr="DZ(20)"),
        Control_PlantOutput(id=1, label="z", variable_id_list=(1,)),
    ]
    d = Diagram("spring")
    d.add("plant", Plant.from_model(Model.build(elements), coordinates=coordinates))
    found = simulate(d, 2.0, log_every=0.5, engine="reference")
    assert found["plant.z"].ravel() / unit == pytest.approx(np.cos(3 * found.time), abs=2e-7)
    assert found.statistics["steps"] < 100
