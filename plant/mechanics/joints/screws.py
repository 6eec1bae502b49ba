"""Joints that tie a travel to a turn."""

from __future__ import annotations

import math
from types import MappingProxyType

import numpy as np

from blocks.errors import ModelError
from plant.mechanics.joints.joint import Closeness, Joint, JointSetting, JointType, Parts, Planarity
from plant.mechanics.joints.joint_conditions import on_line, parallel_z
from plant.mechanics.joints.poses import TURN, about, aside
from plant.mechanics.spatial import Matrix, Transform, constant, rz, vector

PARALLEL = 1e-6  # sine of the angle between axes that count as parallel


# --- screw: the coupling alone -------------------------------------------------------------------------
def _screw(s: JointSetting) -> Parts:
    pitch = s.numbers["pitch"]
    angle0 = math.atan2(s.A0[1, 0], s.A0[0, 0])
    return [("travel per turn", s.DZ - float(s.r0[2]) - (s.AZ() - angle0) * (pitch / (2 * math.pi)))]


SCREW = JointType(
    "SCREW",
    (_screw,),
    fixes=(1, 0),
    planarity=Planarity.OUT,
    numbers=MappingProxyType({"pitch": "give the travel per revolution of the SCREW"}),
    since_design=True,
)


# --- rack and pinion -----------------------------------------------------------------------------------
def _rack_and_pinion(s: JointSetting) -> Parts:
    """The rack J travels along z_J by the radius times the turn of the pinion I about z_I, since the design.

    The turn is read from where z_J points in the pinion's plane: it goes round the other way.
    """
    radius = s.numbers["pitch_diameter"] / 2
    x0, y0 = float(s.A0[2, 0]), float(s.A0[2, 1])
    if math.hypot(x0, y0) < PARALLEL:
        raise ModelError(
            f"{s.where}: the z-axes of its markers are parallel; the pinion I turns about its "
            "z-axis, and the rack J travels along its own.",
            path=s.where,
            hint="Turn one of the markers: the axes are at right angles in an ordinary rack and pinion.",
        )
    x, y = s.product(0, 2), s.product(1, 2)
    turn = s.turned(y * x0 - x * y0, x * x0 + y * y0)
    return [("travel per turn", -(s.DZ - float(s.r0[2])) - radius * turn)]


RACK_PINION = JointType(
    "RACK_PINION",
    (_rack_and_pinion,),
    fixes=(1, 0),
    numbers=MappingProxyType({"pitch_diameter": "give the pitch diameter of the pinion"}),
    parts=("pinion", "rack"),
    since_design=True,
)


# --- helical: a nut on its spindle, z = pitch q, pitch per radian (RBDA, table 4.1) --------------------
def _helical(q: Matrix, pitch: float) -> tuple[Transform, Matrix]:
    return Transform(rz(q[0]), vector([0, 0, pitch * q[0]])), constant([[0], [0], [1], [0], [0], [pitch]])


def _nearest_helical(r: np.ndarray, A: np.ndarray, pitch: float) -> tuple[np.ndarray, Closeness]:
    angle, tilt = about(2, A)
    angle += 2 * math.pi * _full_turns(float(r[2]), angle, pitch)
    return np.array([angle]), Closeness(math.hypot(aside(2, r), float(r[2]) - pitch * angle), tilt)


def _full_turns(travel: float, angle: float, pitch: float) -> int:
    """Full turns that bring the angle nearest to the travel."""
    return round((travel / pitch - angle) / (2 * math.pi)) if pitch else 0


def _on_thread(s: JointSetting) -> Parts:
    pitch, angle0 = s.numbers["pitch"], math.atan2(s.A0[1, 0], s.A0[0, 0])
    turns = _full_turns(float(s.r0[2]), angle0, pitch)
    return [("travel per turn", s.DZ - pitch * (s.AZ() + 2 * math.pi * turns))]


HELICAL = JointType(
    "HELICAL",
    (on_line, parallel_z, _on_thread),
    fixes=(3, 2),
    joint=Joint("HELICAL", 1, 1, _helical, _nearest_helical, (TURN,), ("angle rate",), turn=0),
    numbers=MappingProxyType({"pitch": "give the travel per radian"}),
    in_decks=False,
    jtypes=("H",),
)

JOINT_TYPES = (SCREW, RACK_PINION, HELICAL)
