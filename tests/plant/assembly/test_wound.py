"""Rotational springs that start more than half a turn from their free angle, named with both readings."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import pytest

from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Force_Bushing,
    Force_Field,
    Force_SpringDamper,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.plants import Alone

STIFFNESS = 25.0


def lever(
    free: float,
    start: float,
    coordinates: str = "joint",
    type: str = "REVOLUTE",
    force: Element | None = None,
    **options: Any,
) -> Plant:
    """A lever on a hinge about z at a start angle, with a spring of a free angle, all in degrees."""
    a = math.radians(start)
    turned = {"a00": math.cos(a), "a10": math.sin(a), "a01": -math.sin(a), "a11": math.cos(a)}
    return Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=10, body_id=1),
                Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1),
                Reference_Marker(id=20, body_id=2, a20=0, a21=0, a02=0, a12=0, a22=1, **turned),
                Constraint_Joint(id=1, type=type, i_marker_id=20, j_marker_id=10),
                force
                or Force_SpringDamper(
                    id=7, type="ROTATIONAL", i_marker_id=20, j_marker_id=10, stiffness=STIFFNESS,
                    length=math.radians(free),
                ),
                Reference_Variable(id=1, expr="0" if force else "SPDP(7,0,8,0)"),
                Control_PlantOutput(id=1, label="torque", variable_id_list=(1,)),
            ]
        ),
        coordinates=coordinates,
        **options,
    )  # fmt: skip


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("type", ["REVOLUTE", "SPHERICAL"])
def test_both_readings_are_told(type, coordinates):
    """Free at 270 degrees, started at -73.5: wound by 343.5, or 16.5 from rest."""
    with pytest.warns(PlantWarning, match="Force_SpringDamper id=7: starts at AZ") as told:
        plant = lever(270.0, -73.5, coordinates, type)
    (text,) = [str(w.message) for w in told if "half a turn" in str(w.message)]
    taken, other = (float(n) for n in re.findall(r"exerts? (-?[0-9.]+[0-9])", text))
    assert taken == pytest.approx(STIFFNESS * math.radians(343.5), rel=1e-5)
    assert other == pytest.approx(-STIFFNESS * math.radians(16.5), rel=1e-5)
    assert Alone(plant).output("torque") == pytest.approx(
        [taken], rel=1e-5
    )  # the first is what the plant does
    free = float(re.search(r'length="(-?[0-9.]+)"', text)[1])
    assert free == pytest.approx(math.radians(270.0 - 360.0), rel=1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        mended = lever(math.degrees(free), -73.5, coordinates, type)
    assert Alone(mended).output("torque") == pytest.approx([other], rel=1e-5)


@pytest.mark.parametrize("free", [-180.0 - 73.5, 0.0, 180.0 - 73.5])
def test_up_to_half_a_turn_nothing_is_told(free):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        lever(free, -73.5)


BETWEEN = {"id": 7, "i_marker_id": 20, "j_marker_id": 10}


def field(free: float, k: str) -> Force_Field:
    angles = (("k_matrix", k), ("length", f"0 0 0 0 0 {math.radians(free):.15g}"))
    return Force_Field(**BETWEEN, type="LINEAR", attributes=angles)


@pytest.mark.parametrize("k", ["0 0 0 0 0 25", " ".join("25" if n == 35 else "0" for n in range(36))])
def test_a_linear_field_is_told_as_well(k):
    with pytest.warns(PlantWarning, match="Force_Field id=7: starts at AZ") as told:
        lever(270.0, -73.5, force=field(270.0, k))
    (text,) = [str(w.message) for w in told if "half a turn" in str(w.message)]
    taken, other = (float(n) for n in re.findall(r"exerts? (-?[0-9.]+[0-9])", text))
    assert taken == pytest.approx(STIFFNESS * math.radians(343.5), rel=1e-5)
    assert other == pytest.approx(-STIFFNESS * math.radians(16.5), rel=1e-5)
    assert f'length[6]="{math.radians(-90.0):.9g}"' in text
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        lever(270.0, -73.5, force=field(-90.0, k))


def test_a_bushing_that_is_held_wound_is_told_as_well():
    bushing = Force_Bushing(**BETWEEN, ktz=STIFFNESS)
    with pytest.warns(PlantWarning, match=r"Force_Bushing id=7: starts at AZ\(20,10\) = 5 rad") as told:
        lever(0.0, 0.0, force=bushing, hold={"joint_1.q": 5.0})
    (text,) = [str(w.message) for w in told if "half a turn" in str(w.message)]
    assert f'preload_tz="{STIFFNESS * 2 * math.pi:.9g}"' in text
