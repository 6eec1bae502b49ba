"""Drift fed back into the accelerations, at states that violate the constraints: Haug, eq. 7.3.8."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from plant import Baumgarte, GammaQ, Plant
from plant.constraints.invariants import _unit
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Force_Gravity,
    Model,
    Motion_Marker,
    Reference_Marker,
)
from tests.helpers.plants import Alone
from tests.helpers.trees import JOINTS, marker

G = -9.81


def on_a_plane(stabilisation, *elements):
    """A body whose centre is held in the plane z = 0, states as in absolute coordinates."""
    model = Model.build(
        [
            Force_Gravity(grav_z=G),
            Body_Rigid(id=1, isground=True),
            marker(10, 1, np.zeros(3), np.eye(3)),
            Body_Rigid(id=2, label="body", cg_id=20, mass=2.0, inertia_xx=1, inertia_yy=1, inertia_zz=1),
            marker(20, 2, np.zeros(3), np.eye(3)),
            *elements,
        ]
    )
    return Alone(Plant.from_model(model, coordinates="absolute", stabilisation=stabilisation))


def falling(alone, z, v):
    """Acceleration along z of the body at a place and a speed that the constraint does not allow."""
    x = alone.x0.copy()
    states = {m.name: alone.slice(m.name) for m in alone.states}
    places = [name for name in states if name.endswith(".q")]
    (q,), (qd,) = places, [name for name in states if name.endswith(".qd")]
    at = x[states[q]]
    at[-1] = z  # a quaternion and a place
    x[states[q]] = at
    rates = x[states[qd]]
    rates[-1] = v
    x[states[qd]] = rates
    return alone.derivative(0.0, x)[states[qd]][-1]


@pytest.mark.parametrize(("z", "v"), [(0.01, 0.0), (0.0, 0.2), (-0.03, 0.5)])
@pytest.mark.parametrize(
    ("stabilisation", "alpha", "beta"),
    [(Baumgarte(3.0, 7.0), 3.0, 7.0), (Baumgarte(4.0, 0.0), 4.0, 0.0), (Baumgarte(0.0, 5.0), 0.0, 5.0),
     (GammaQ(0.05), 20.0, 20.0), ("baumgarte", 10.0, 10.0),
     ("gamma_q", 10.0, 10.0), ("projection", 0.0, 0.0)],
)  # fmt: skip
def test_a_violated_position_decays(stabilisation, alpha, beta, z, v):
    """z'' = -2 alpha z' - beta^2 z; projection moves states, and adds nothing to the accelerations."""
    plane = Constraint_Joint(id=1, type="INPLANE", i_marker_id=20, j_marker_id=10)
    found = falling(on_a_plane(stabilisation, plane), z, v)
    assert found == pytest.approx(-2 * alpha * v - beta**2 * z, abs=1e-9)


@pytest.mark.parametrize(("kind", "alpha"), [("V", 3.0), ("A", 0.0)])
def test_what_is_given_as_a_rate_has_no_position_to_come_back_to(kind, alpha):
    """A motion by speed 0.3 m/s along z feeds back its rate alone, one by acceleration nothing."""
    motion = Motion_Marker(
        id=1, i_marker_id=20, j_marker_id=10, direction="Z", val_type=kind, expr="0.3 + 0*TIME"
    )
    found = falling(on_a_plane(Baumgarte(3.0, 7.0), motion), 0.05, 0.8)
    expected = -2 * alpha * (0.8 - 0.3) if kind == "V" else 0.3
    assert found == pytest.approx(expected, abs=1e-9)


def test_projection_keeps_conditions_to_rounding_of_their_size():
    """Of a plane through a point 100 m from the centre, metres; of axes that stay parallel, radians."""
    far = Reference_Marker(id=21, body_id=2, pos_x=100.0), Reference_Marker(id=11, body_id=1, pos_x=100.0)
    plane = Constraint_Joint(id=1, type="INPLANE", i_marker_id=21, j_marker_id=11)
    axes = Constraint_Joint(id=2, type="PARALLEL_AXES", i_marker_id=20, j_marker_id=10)
    declared = on_a_plane("projection", *far, plane, axes).declared
    found = {
        name: tolerance
        for names, tolerance in zip(declared.invariant_names, declared.tolerances, strict=True)
        for name in names
    }
    expected = {"the length of a quaternion": 1e-13, plane.where: 1e-12, axes.where: 1e-14}
    assert found == pytest.approx(expected, rel=1e-12, abs=0.0)


@pytest.mark.parametrize("name", ["SPHERICAL", "FREE", "REVOLUTE"])
def test_quaternions_are_made_unit_and_the_rest_stays(name):
    joint = JOINTS[name]
    q = np.arange(1.0, joint.nq + 1.0)
    found = np.array(_unit(joint, ca.DM(q))).ravel()
    if joint.invariant(q) is None:
        assert found == pytest.approx(q, rel=1e-15)
    else:
        assert found[:4] == pytest.approx(q[:4] / np.linalg.norm(q[:4]), rel=1e-15)
        assert found[4:] == pytest.approx(q[4:], rel=1e-15)
