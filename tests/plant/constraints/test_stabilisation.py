"""How constraints are kept: gains that are refused, and quaternions while drift is fed back."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Simulation
from plant import Baumgarte, GammaQ, Plant
from plant.constraints.solution import Gains
from plant.constraints.stabilisation import Projection, stabilisation_of
from plant.elements import Body_Rigid, Model
from tests.helpers.trees import marker


@pytest.mark.parametrize(
    "make",
    [
        lambda: Baumgarte(alpha=-0.5), lambda: Baumgarte(beta=-1e-9), lambda: Baumgarte(alpha=np.inf),
        lambda: GammaQ(0.0), lambda: GammaQ(-0.5), lambda: GammaQ(np.nan), lambda: stabilisation_of("gamma"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(make):
    with pytest.raises(ModelError):
        make()


def test_gains_by_name_and_as_given():
    assert stabilisation_of("projection") == Projection() and Projection().gains == Gains()
    assert Baumgarte(alpha=0.0, beta=0.5).gains == Gains(0.0, 0.5)  # each may be 0
    assert Baumgarte(alpha=0.5, beta=0.0).gains == Gains(0.5, 0.0)
    own = Baumgarte(1.0, 2.0)
    assert stabilisation_of(own) is own
    assert stabilisation_of("gamma_q").gains == GammaQ(0.1).gains == Gains(10.0, 10.0)


@pytest.mark.parametrize("stabilisation", ["baumgarte", "projection"])
def test_a_quaternion_stays_of_length_1_whoever_keeps_the_constraints(stabilisation):
    """A body that tumbles, in steps in which its quaternion drifts if nobody brings it back."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            marker(10, 1, np.zeros(3), np.eye(3)),
            Body_Rigid(
                id=2, label="body", cg_id=20, mass=2.0, inertia_xx=1, inertia_yy=2, inertia_zz=2.5,
                w_ic_x=3.0, w_ic_y=-2.0, w_ic_z=1.0,
            ),
            marker(20, 2, np.zeros(3), np.eye(3)),
        ]
    )  # fmt: skip
    plant = Plant.from_model(model, stabilisation=stabilisation)
    run = Simulation(plant, engine="reference", solver="rk4", step=0.05)
    run.advance(2.0)
    (q,) = (run.value(name) for name in run.names if name.endswith("body.q"))
    assert q.size == 7 and np.linalg.norm(q[:4]) == pytest.approx(1.0, abs=1e-13)
