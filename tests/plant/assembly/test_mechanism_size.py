"""Mechanisms that are small in their unit of length, on a carrier that moves: nothing depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Model,
    Reference_Variable,
)
from tests.helpers.plants import Alone
from tests.helpers.trees import marker

ALONG_X = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])  # z = X
M2, M3, G, PUSH, ABOUT = 3.0, 2.0, np.array([1.5, -2.0, -9.0]), 4.0, 0.3


def cross_slide(unit):
    """A slide along X on a lift along Z, pushed along X from the lift."""
    m = {"inertia_xx": ABOUT * unit**2, "inertia_yy": ABOUT * unit**2, "inertia_zz": ABOUT * unit**2}
    g = dict(zip(("grav_x", "grav_y", "grav_z"), G * unit, strict=True))
    texts = [f"ACC{x}(30)" for x in "XYZ"] + [f"F{x}(31,22)" for x in "XYZ"] + [f"T{x}(31,22)" for x in "XYZ"]
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)]
    return Model.build(
        [
            Force_Gravity(**g),
            Body_Rigid(id=1, isground=True),
            marker(10, 1, np.zeros(3), np.eye(3)),
            Body_Rigid(id=2, cg_id=20, mass=M2, **m),
            marker(20, 2, unit * np.array([0.3, 0.2, 0.5]), np.eye(3)),
            marker(21, 2, unit * np.array([0.0, 0.0, 0.4]), np.eye(3)),
            marker(22, 2, unit * np.array([0.2, 0.1, 0.6]), ALONG_X),
            Body_Rigid(id=3, cg_id=30, mass=M3, **m),
            marker(30, 3, unit * np.array([0.9, 0.4, 0.7]), np.eye(3)),
            marker(31, 3, unit * np.array([0.8, 0.1, 0.6]), ALONG_X),
            Constraint_Joint(id=1, type="TRANSLATIONAL", i_marker_id=21, j_marker_id=10),
            Constraint_Joint(id=2, type="TRANSLATIONAL", i_marker_id=31, j_marker_id=22),
            Force_Scalar_TwoBody(id=1, type="FORCE", i_marker_id=31, j_marker_id=22, val=PUSH * unit),
            *variables,
            Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in variables)),
        ]
    )


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_cross_slide_of_a_millionth(coordinates, unit=1e-6):
    y = Alone(Plant.from_model(cross_slide(unit), coordinates=coordinates)).output("y").reshape(3, 3)
    a = np.array([G[0] + PUSH / M3, 0.0, G[2]])
    F = M3 * (a - G)  # the push and the joint's force
    T = np.cross([-0.1, -0.3, -0.1], F)  # about the centre of mass: nothing turns
    assert y[0] / unit == pytest.approx(a, abs=1e-9)
    assert y[1] / unit == pytest.approx(F, abs=1e-9)
    assert y[2] / unit**2 == pytest.approx(-T, abs=1e-9)
