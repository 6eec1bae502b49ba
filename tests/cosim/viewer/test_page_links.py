"""Springs, dampers, frames of bodies and gravity in a real browser: they are where the plant has them."""

import numpy as np
import pytest

from cosim import simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Force_Gravity,
    Force_SpringDamper,
    Model,
    Reference_Marker,
)
from tests.helpers.browser import shown
from tests.helpers.slider import ALONG

PAIR = {"type": "TRANSLATIONAL", "i_marker_id": 21, "j_marker_id": 11}


def hung():
    """A cart on a rail along x, tied to the wall at x = -2 by a spring, a damper, and one of both."""
    return Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=11, body_id=1, pos_x=-2.0),
                Reference_Marker(id=12, body_id=1, **ALONG),
                Body_Rigid(id=2, label="cart", cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1),
                Reference_Marker(id=20, body_id=2, pos_x=0.1, pos_z=0.3),
                Reference_Marker(id=21, body_id=2),
                Reference_Marker(id=22, body_id=2, **ALONG),
                Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=22, j_marker_id=12),
                Force_Gravity(id=1, grav_z=-1.62),
                Force_SpringDamper(id=1, label="spring", stiffness=40.0, length=2.5, **PAIR),
                Force_SpringDamper(id=2, label="damper", damping=3.0, **PAIR),
                Force_SpringDamper(id=3, label="both", stiffness=5.0, damping=1.0, length=2.0, **PAIR),
            ],
            name="hung",
        )
    )


@pytest.fixture(scope="module")
def page_of_run(tmp_path_factory):
    r = simulate(hung(), 1.0, engine="reference", log_every=0.05)
    file = tmp_path_factory.mktemp("links") / "hung.html"
    r.view(out=file)
    with shown(file) as page:
        page.evaluate("viewer.setTime(0.7)")
        yield page, float(r["plant.rail.q"][14, 0])


def test_springs_and_dampers_reach_from_marker_to_marker(page_of_run):
    page, x = page_of_run
    pieces = page.evaluate("viewer.forcePieces()")
    assert [(p["name"], p["spring"], p["damper"]) for p in pieces] == [
        ("spring", True, False),
        ("damper", False, True), ("damper", False, True),
        ("both", True, True), ("both", True, True), ("both", True, True),
    ]  # fmt: skip
    for name in ("spring", "damper", "both"):
        points = np.concatenate([np.reshape(p["points"], (-1, 3)) for p in pieces if p["name"] == name])
        along = points[:, 0]
        assert [along.min(), along.max()] == pytest.approx(sorted([-2.0, x]), abs=1e-6)
        ends = points[np.argsort(along)][[0, -1]]
        assert ends[:, 1:] == pytest.approx(np.zeros((2, 2)), abs=1e-6)  # on the line between the markers
        assert np.ptp(points[:, 1:], axis=0).max() > 0.0  # and something beside it, to be seen


@pytest.mark.slow
def test_frames_of_bodies_stand_at_their_centres_of_mass(page_of_run):
    page, x = page_of_run
    assert page.evaluate("viewer.frameState()") == []
    page.locator("[data-do=frames]").click()
    axes = np.reshape(page.evaluate("viewer.frameState()"), (3, 2, 3))
    assert axes[:, 0] == pytest.approx(np.tile([x + 0.1, 0.0, 0.3], (3, 1)), abs=1e-6)
    along = axes[:, 1] - axes[:, 0]
    assert along / np.linalg.norm(along, axis=1)[:, None] == pytest.approx(np.eye(3), abs=1e-6)
    page.evaluate("viewer.setTime(0.0)")
    assert np.reshape(page.evaluate("viewer.frameState()"), (3, 2, 3))[0, 0, 0] == pytest.approx(0.1)
    page.evaluate("viewer.setTime(0.7)")


@pytest.mark.slow
def test_gravity_is_an_arrow_with_its_size(page_of_run):
    page, _ = page_of_run
    way = page.evaluate(
        "new THREE.Vector3(0, 1, 0).applyQuaternion(viewer.gravityArrow.quaternion).toArray()"
    )
    assert way == pytest.approx([0.0, 0.0, -1.0], abs=1e-6)
    assert page.locator("#motion .gravity").inner_text() == "gravity 1.62 m/s²"
