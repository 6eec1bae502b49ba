"""Linear models about moving operating points: right in steady motions, else a warning."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cosim import linearize
from cosim.analysis.steady import MovingPointWarning
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Bushing,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.made import Made
from tests.helpers.slider import ALONG

OMEGA, STIFFNESS = 3.0, 25.0


def turntable(coordinates: str, w: float, x: float = 0.0) -> Plant:
    """A mass of 1 on a rail of a heavy table that turns at w, on a spring of 25 N/m, at x along the rail."""
    return Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=10, body_id=1),
                Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1e9, w_ic_z=w),
                Reference_Marker(id=20, body_id=2),
                Reference_Marker(id=21, body_id=2, **ALONG),
                Body_Rigid(
                    id=3, cg_id=30, mass=1, inertia_xx=1e-3, inertia_yy=1e-3, inertia_zz=1e-3, w_ic_z=w,
                    v_ic_x=0.0, v_ic_y=w * x,
                ),
                Reference_Marker(id=30, body_id=3, pos_x=x, **ALONG),
                Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=20, j_marker_id=10),
                Constraint_Joint(id=2, type="TRANSLATIONAL", i_marker_id=30, j_marker_id=21),
                # held where centrifugal force and spring balance: -k (x - free) + w^2 x = 0
                Force_Bushing(id=1, i_marker_id=30, j_marker_id=21, kz=STIFFNESS,
                              preload_z=(STIFFNESS - w * w) * x),
                Reference_Variable(id=9, expr="0"),
                Control_PlantInput(id=1, label="u", variable_id_list=(9,)),
                Reference_Variable(id=1, expr="DZ(30,21,21)"),
                Control_PlantOutput(id=1, label="y", variable_id_list=(1,)),
            ]
        ),
        coordinates=coordinates,
    )  # fmt: skip


@pytest.mark.parametrize("x", [0.0, 0.5, 0.7])
def test_steady_motion_of_a_turntable(x):
    """The mass swings along the rail with sqrt(k/m - w^2) = 4 rad/s: no warning in joint coordinates.

    At 0.7 the balance is one of rounding, 1e-15, which counted as an unsteady motion.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", MovingPointWarning)
        ss = linearize(turntable("joint", OMEGA, x))
    fastest = np.abs(np.linalg.eigvals(ss.A)).max()
    assert fastest == pytest.approx(np.sqrt(STIFFNESS - OMEGA**2), rel=1e-6)


@pytest.mark.parametrize("x", [0.0, 0.5])
def test_coordinates_that_turn_with_it_are_warned_of(x):
    with pytest.warns(MovingPointWarning, match="unsteady motion.*choice of coordinates.*joint"):
        linearize(turntable("absolute", OMEGA, x))


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_at_rest_both_agree_without_a_word(coordinates):
    with warnings.catch_warnings():
        warnings.simplefilter("error", MovingPointWarning)
        ss = linearize(turntable(coordinates, 0.0))
    assert np.abs(np.linalg.eigvals(ss.A)).max() == pytest.approx(np.sqrt(STIFFNESS), rel=1e-6)


def test_out_of_balance_is_warned_of():
    """In joint coordinates too: 0.1 beside the steady radius the mass is about to move along the rail."""
    plant = turntable("joint", OMEGA, 0.5)
    (name,) = [n for n, q in plant.initial.items() if n.endswith(".q") and q.size and n != "joint_1.q"]
    with pytest.warns(MovingPointWarning, match="unsteady motion"):
        linearize(plant, at={name: plant.initial[name] + 0.1})


def test_the_matrix_is_not_disturbed_by_the_look_ahead():
    """Of a table whose rail turns, A at the start is that of the start: columns of a standing rail."""
    with pytest.warns(MovingPointWarning):
        moving = linearize(turntable("absolute", OMEGA), states="full")
    still = linearize(turntable("absolute", 0.0), states="full")
    stiff = np.abs(still.A) > 1.0
    np.testing.assert_allclose(moving.A[stiff], still.A[stiff], rtol=1e-9)


def oscillators(*amplitudes, stiffness=1e-2):
    """q'' = -k q each, at q = 0 with these velocities: the motion is unsteady, however slow."""

    def equations(b):
        for k, v in enumerate(amplitudes):
            q, w = b.continuous(f"q{k}", 0.0), b.continuous(f"w{k}", v, static="zero")
            b.derivative(q, w)
            b.derivative(w, -stiffness * q)
        b.output("y", q)

    return Made(equations)


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_a_slow_swing_is_no_steady_motion(size):
    """By |A f| beside |A| |f|, in whatever units."""
    with pytest.warns(MovingPointWarning, match=r"the motion of w0 changes"):
        linearize(oscillators(1.0 * size))


def test_the_three_that_change_most_are_named():
    with pytest.warns(MovingPointWarning, match=r"the motion of w3, w1, w2 changes"):
        linearize(oscillators(0.1, 0.3, 0.2, 0.4))
    with pytest.warns(MovingPointWarning, match=r"the motion of w1, w0 changes"):
        linearize(oscillators(0.1, 0.3, 0.0))
