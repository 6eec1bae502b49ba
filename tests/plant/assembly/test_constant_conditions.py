"""What a joint keeps by itself everywhere is no condition: rounding that is left of it does not count."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_General,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Model,
    Reference_Variable,
)
from tests.helpers.trees import marker, random_rotation

M, INERTIA, G = 2.0, 0.3, 9.81


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "coordinates"), [(0, "joint"), (1, "joint"), (0, "absolute")])
@pytest.mark.filterwarnings("ignore::plant.PlantWarning")  # it repeats what the joint fixes
def test_distance_that_a_joint_keeps(seed, coordinates):
    """Body 2 is held by its hinge and DX, body 3 hangs at a ball on it: al = r x m g / (I + m r^2) at rest.

    DM from the ball to the centre of body 3 is constant.
    """
    rng = np.random.default_rng(seed)
    hinge, ball, centre = rng.uniform(-1.0, 1.0, (3, 3))
    A, B = random_rotation(rng), random_rotation(rng)
    inertia = {f"inertia_{axis}": INERTIA for axis in ("xx", "yy", "zz")}
    model = Model.build(
        [
            Force_Gravity(grav_z=-G),
            Body_Rigid(id=1, isground=True),
            marker(11, 1, hinge, A),
            Body_Rigid(id=2, cg_id=20, mass=M, **inertia),
            marker(20, 2, hinge, A),
            marker(21, 2, ball, B),
            Body_Rigid(id=3, cg_id=30, mass=M, **inertia),
            marker(30, 3, centre, A),
            marker(31, 3, ball, B),
            Constraint_Joint(id=1, type="REVOLUTE", i_marker_id=20, j_marker_id=11),
            Constraint_Joint(id=2, type="SPHERICAL", i_marker_id=31, j_marker_id=21),
            Constraint_General(id=1, expr=f"DX(21) - ({float(ball[0])!r})"),
            Constraint_General(id=2, expr=f"DM(21,30) - {float(np.linalg.norm(centre - ball))!r}"),
            *[Reference_Variable(id=k, expr=f"WDT{axis}(30)") for k, axis in enumerate("XYZ", start=1)],
            Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2, 3)),
        ]
    )
    d = Diagram("constant")
    d.add("plant", Plant.from_model(model, coordinates=coordinates))
    found = simulate(d, 1e-3, log_at=[0.0, 1e-3], engine="reference")["plant.y"][0]
    r = centre - ball
    expected = np.cross(r, [0.0, 0.0, -M * G]) / (INERTIA + M * r @ r)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
