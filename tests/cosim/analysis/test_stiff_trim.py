"""Rests beside stiff penalties: two carts on a rail, held along a curved valley by springs."""

from functools import lru_cache

import numpy as np
import pytest
from scipy.optimize import root

from blocks.errors import PlantloopError
from cosim import trim
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Force_Penalty,
    Force_SpringDamper,
    Model,
    Reference_Marker,
)
from tests.helpers.checked import independent
from tests.helpers.slider import ALONG

K1, K2 = 100.0, 50.0  # N/m
SPRING = {"type": "TRANSLATIONAL", "damping": 1.0}


@lru_cache
def carts(penalty, coordinates="joint"):
    return Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=10, body_id=1, **ALONG),
                Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1),
                Reference_Marker(id=20, body_id=2, pos_x=0.5, **ALONG),
                Body_Rigid(id=3, cg_id=30, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1),
                Reference_Marker(id=30, body_id=3, pos_x=1.5, **ALONG),
                Constraint_Joint(id=1, label="one", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
                Constraint_Joint(id=2, label="two", type="TRANSLATIONAL", i_marker_id=30, j_marker_id=10),
                Force_SpringDamper(id=1, i_marker_id=30, j_marker_id=20, stiffness=K1, length=1.0, **SPRING),
                Force_SpringDamper(id=2, i_marker_id=30, j_marker_id=10, stiffness=K2, length=0.3, **SPRING),
                Force_Penalty(
                    id=3,
                    type="EXPRESSION",
                    expr="DX(20) - 0.2 + 0.1*SIN(3*DX(30))*DX(30)",
                    penalty=penalty,
                    penalty1=10.0,
                ),
            ]
        ),
        coordinates=coordinates,
    )


def rest(penalty):
    """(x1, x2) by the balance of forces, with the penalty's force F as an unknown: g = F / p."""

    def balance(v):
        x1, x2, F = v
        g = x1 - 0.2 + 0.1 * np.sin(3 * x2) * x2
        slope = 0.1 * (np.sin(3 * x2) + 3 * np.cos(3 * x2) * x2)
        k1, k2 = K1 * (x2 - x1 - 1), K2 * (x2 - 0.3)
        return [k1 - F, -k1 - k2 - F * slope, g - F / penalty]

    found = root(balance, [0.15, 0.84, 1.0], tol=1e-14)
    assert found.success
    return found.x[:2]


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("penalty", [1e6, 1e7, 1e8, 1e9])
@pytest.mark.parametrize("beside", [1e-4, -1e-4, 0.02])
def test_a_rest_is_found_from_beside_it(checked, beside, penalty, coordinates):
    plant, at = carts(penalty, coordinates), rest(penalty)
    if coordinates == "joint":
        guess, names, place = {"one.q": at[0] + beside, "two.q": at[1] + beside}, ("one.q", "two.q"), 0
    else:
        names, place = ("body_2.q", "body_3.q"), 4
        guess = {name: plant.initial[name].copy() for name in names}
        for name, x in zip(names, at, strict=True):
            guess[name][place] = x + beside
    found = trim(plant, x=guess)
    carts_at, oracle = [found.states[name][place] for name in names], independent("scipy root of the forces")
    checked(carts_at, at, f"carts along a penalty of {penalty:g}", "places at rest", oracle, atol=1e-9)


@pytest.mark.parametrize("penalty", [1e6, 1e7, 1e8])
def test_a_rest_is_found_from_the_start_of_the_deck(penalty):
    found = trim(carts(penalty))
    assert [found.states[n][0] for n in ("one.q", "two.q")] == pytest.approx(rest(penalty), abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("penalty", [1e9, 1e10])
@pytest.mark.parametrize("beside", [(0.35, 0.35), (-0.5, 0.7)])
def test_a_rest_is_found_from_afar_along_a_bent_valley(beside, penalty, coordinates):
    """Newton's method stops at singular Jacobians on the way; downhill there are none."""
    plant, at = carts(penalty, coordinates), rest(penalty)
    names, place = (("one.q", "two.q"), 0) if coordinates == "joint" else (("body_2.q", "body_3.q"), 4)
    guess = {name: plant.initial[name].copy() for name in names}
    for name, x, off in zip(names, at, beside, strict=True):
        guess[name][place] = x + off
    found = trim(plant, x=guess)
    assert [found.states[name][place] for name in names] == pytest.approx(at, abs=1e-8)


@pytest.mark.slow
def test_bounds_hold_on_the_way_and_where_there_is_no_rest_it_is_said():
    at = rest(1e8)
    found = trim(carts(1e8), x={"one.q": at[0], "two.q": at[1] + 0.01}, bounds={"two.q": (at[1] - 1, 0.9)})
    assert found.states["two.q"] == pytest.approx([at[1]], abs=1e-9)
    with pytest.raises(PlantloopError, match="no equilibrium found"):
        trim(carts(1e8), bounds={"two.q": (1.2, 1.6)})
