"""Forces from outside on each body: what joints of one plane bear across it, by Newton and Euler."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant
from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from tests.helpers.decks import body, deck, joint, marker

M, INERTIA, L, G = 2.0, 0.3, 0.5, 9.81
ASKED = [f"JOINT(1,0,{k},0)" for k in (2, 3, 4, 6, 7, 8)] + ["WDTZ(21)"]


def rod(coordinates: str, **more) -> Plant:
    """A rod at rest along X from a hinge along Z at the origin; gravity along -Y."""
    shown = "".join(
        f'<Reference_Variable id="{k}" expr="{text}"/>' for k, text in enumerate(ASKED, start=100)
    )
    ids = ",".join(str(100 + k) for k in range(len(ASKED)))
    model = (
        marker(11, 1) + body(2, M, INERTIA, L, 0.0, 0.0, "rod") + marker(21, 2) + joint(1, "REVOLUTE", 21, 11)
        + shown + f'<Control_PlantOutput id="1" label="y" variable_id_list="{ids}"/>'
    )  # fmt: skip
    text = deck(model).decode().replace('grav_z="-9.81"', f'grav_y="{-G}"')
    return Plant.read(text.encode(), coordinates=coordinates, **more)


def pushed(plant: Plant, push: np.ndarray, **initial: np.ndarray) -> np.ndarray:
    d = Diagram("pushed")
    d.add("plant", plant)
    d.add("push", Constant(push))
    d.connect("push.y", "plant.push_rod")
    begin = {f"plant.{name}": value for name, value in initial.items()}
    return simulate(d, 0.001, log_at=[0.0], engine="reference", initial=begin)["plant.y"][0]


@pytest.mark.parametrize(("coordinates", "centre"), [("joint", L), ("absolute", 0.0)])
def test_what_is_pushed_across_its_plane_is_held_by_its_hinge(coordinates, centre):
    """In absolute coordinates the hinge bore nothing across: -3 and 1.5 were 0."""
    F, at = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3])  # from the centre
    arm = at + np.array([L, 0, 0])
    alpha = ((np.cross(arm, F))[2] - M * G * L) / (INERTIA + M * L * L)
    force = [0, M * L * alpha + M * G, 0] - F
    torque = -np.cross(arm, F)
    torque[2] = 0.0
    found = pushed(rod(coordinates).pushed(), np.concatenate([F, at + np.array([centre, 0, 0])]))
    assert found == pytest.approx([*force, *torque, alpha], abs=1e-11)


@pytest.mark.parametrize(("coordinates", "centre"), [("joint", L), ("absolute", 0.0)])
def test_a_push_is_along_the_ground_at_a_point_of_the_turned_body(coordinates, centre):
    """The rod turned by 0.6 rad: arm and point turn with it, the force does not."""
    F, at, turned = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]), 0.6
    c, s = np.cos(turned), np.sin(turned)
    A = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    out = A @ [L, 0, 0]
    arm = A @ at + out
    alpha = (np.cross(arm, F)[2] - M * G * out[0]) / (INERTIA + M * L * L)
    force = M * np.cross([0, 0, alpha], out) + [0, M * G, 0] - F
    torque = -np.cross(arm, F)
    torque[2] = 0.0
    q = {"joint_1.q": [turned]}
    if coordinates == "absolute":
        q = {"rod.q": [np.cos(turned / 2), 0.0, 0.0, np.sin(turned / 2), *out]}
    push = np.concatenate([F, at + np.array([centre, 0, 0])])
    found = pushed(rod(coordinates).pushed(), push, **q)
    assert found == pytest.approx([*force, *torque, alpha], abs=1e-10)


def test_in_its_plane_a_plant_keeps_its_states():
    plant = rod("absolute")
    names = set(plant.initial)
    assert set(plant.pushed(in_plane=True).initial) == names
    assert plant.pushed().initial["rod.q"].size == 7 and plant.initial["rod.q"].size == 3
    found = pushed(plant.pushed(in_plane=True), np.array([0.0, 0.0, 3.0, 0.0, 0.0, 0.0]))
    assert found[2] == 0.0


def test_held_coordinates_are_refused():
    held = rod("absolute", hold={"rod.q[2]": 0.1})
    with pytest.raises(ModelError, match="assembled with coordinates held"):
        held.pushed()
