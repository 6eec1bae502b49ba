"""Motions and constraints that jump where a displacement passes a value are warned of when they are read."""

from __future__ import annotations

import warnings

import casadi as ca
import pytest

from plant import Plant, PlantWarning
from plant.equations.jumps_in_place import SIDES
from tests.helpers.decks import body, deck, joint, marker

MASSES = (
    marker(11, 1) + body(2, 1.0, 1.0, 0.0, 0.0, 0.5, v_ic_z=2.0) + joint(1, "TRANSLATIONAL", 20, 11)
    + marker(12, 1, x=1.0) + body(3, 1.0, 1.0, 1.0, 0.0, 0.0) + joint(2, "TRANSLATIONAL", 30, 12)
    + '<Reference_Variable id="1" type="EXPRESSION" expr="SIGN(0.3, DZ(20) - 40)"/>'
)  # fmt: skip
MOTION = '<Motion_Joint id="1" joint_id="2" joint_type="T" val_type="{}" type="EXPRESSION" expr="{}"/>'
HARD = '<Reference_Variable id="2" type="EXPRESSION" is_implicit="TRUE" expr="DZ(30) - {1}"/>'


def told(element: str, kind: str, text: str) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", PlantWarning)
        Plant.read(deck(MASSES + element.format(kind, text)))
    return [str(w.message) for w in caught if "jumps" in str(w.message)]


@pytest.mark.parametrize(
    ("element", "kind", "text", "said"),
    [
        (MOTION, "D", "IF(DZ(20)-1: 0, 0, 0.2)", "displacement jumps by 0.2 where IF(DZ(20)-1: 0, 0, 0.2)"),
        (MOTION, "V", "SIGN(1, DZ(20)-1)*0.1", "velocity jumps by 0.2 where SIGN(1, DZ(20)-1)"),
        (MOTION, "D", "VARVAL(1) + 0.3", "displacement jumps by 0.6 where SIGN(0.3, DZ(20) - 40)"),
        (HARD, "", "ANINT(DZ(20)) + 1", "displacement jumps by 1 where ANINT(DZ(20))"),
    ],
)
def test_jumps(element, kind, text, said):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        (line,) = told(element, kind, text)
    assert said in line and "STEP(x, x0, h0, x1, h1)" in line


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        # corners, and parts that jump in a whole that does not
        ("D", "IF(DZ(20)-1: 0, 0, DZ(20)-1) + 0.1*MAX(DZ(20), 1) + AINT(0.3*DZ(20)) - AINT(DZ(20)*0.3)"),
        ("A", "SIGN(1, DZ(20)-1)"),  # forces may
    ],
)
def test_what_goes_on_smoothly_enough(kind, text):
    assert told(MOTION, kind, text) == []


def test_sides_of_switches():
    """Each changes where its function jumps, and nowhere else."""
    for name, arguments, side in [
        ("IF", (-0.1, 5.0, 6.0, 7.0), -1), ("IF", (0.0, 5.0, 6.0, 7.0), 0), ("IF", (0.1, 5.0, 6.0, 7.0), 1),
        ("SIGN", (-3.0, 2.0), 1.0), ("SIGN", (3.0, -2.0), -1.0),
        ("MOD", (7.0, 2.0), 3.0), ("MOD", (5.9, 2.0), 2.0), ("AINT", (1.9,), 1.0), ("AINT", (2.0,), 2.0),
        ("ANINT", (1.4,), 1.0), ("ANINT", (1.6,), 2.0),
    ]:  # fmt: skip
        assert float(SIDES[name](*(ca.SX(a) for a in arguments))) == side, (name, arguments)
