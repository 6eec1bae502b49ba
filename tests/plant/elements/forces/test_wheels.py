"""A wheel in a free body of equal moments: Euler's equations with a rotor, in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Control_PlantOutput,
    Inertia_Wheel,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.energy import ledger

I, J, W, SPIN = 2.0, 0.3, 1.1, 4.0


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("torque", [0.0, 0.7])
def test_a_body_turns_about_the_momentum_of_its_wheel(torque, coordinates):
    """I w' = -w x h a - T a in the body, h' = T: w turns about a by (h t + T t^2/2) / I."""
    expressions = ("WX(20,0,20)", "WY(20,0,20)", "WZ(20,0,20)", "WHEELH(1)", "WHEELW(1)")
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=I, inertia_yy=I, inertia_zz=I, w_ic_x=W),
            Reference_Marker(id=20, body_id=2),
            Inertia_Wheel(id=1, marker_id=20, inertia=J, torque_expression=str(torque), w_ic=SPIN),
            *(Reference_Variable(id=k, expr=e) for k, e in enumerate(expressions, 1)),
            Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2, 3, 4, 5)),
        ]
    )
    d = Diagram("wheel")
    d.add("plant", Plant.from_model(model, coordinates=coordinates).audited())
    r = simulate(d, 2.0, log_every=0.1, engine="reference", rtol=1e-10, atol=1e-12)
    t = r.time
    h, slow = J * SPIN + torque * t, -torque * t / I
    turned = (J * SPIN * t + torque * t**2 / 2) / I
    expected = [W * np.cos(turned), W * np.sin(turned), slow, h, h / J - slow]
    assert r["plant.y"] == pytest.approx(np.transpose(expected), abs=1e-7)
    a = ledger(r)
    assert np.abs(a.drift).max() < 1e-7 and not a.springs.any() and not a.dissipated.any()
