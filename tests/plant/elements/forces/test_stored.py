"""What springs that turn store and dampers take, against the motion of a rotor in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import Body_Rigid, Constraint_Joint, Force_SpringDamper, Model, Reference_Marker
from plant.energy import EnergyLedger, ledger

J, W0 = 0.5, 3.0


def account(until: float = 2.0, **spring) -> EnergyLedger:
    """Ledger of a rotor about z that turns with 3 rad/s at the start."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=J, w_ic_z=W0),
            Reference_Marker(id=20, body_id=2),
            Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Force_SpringDamper(id=1, type="ROTATIONAL", i_marker_id=20, j_marker_id=10, **spring),
        ]
    )
    d = Diagram("ledger")
    d.add("plant", Plant.from_model(model).audited())
    return ledger(simulate(d, until, log_every=0.1, engine="reference", rtol=1e-10, atol=1e-12))


def test_a_spring_that_turns_swings_about_where_its_preload_holds_it():
    """J q'' = -k q + T: q = T/k + (W0/w) sin w t - (T/k) cos w t, w^2 = k/J."""
    k, T = 8.0, 1.5
    a = account(stiffness=k, preload=T)
    w = np.sqrt(k / J)
    q = T / k + W0 / w * np.sin(w * a.time) - T / k * np.cos(w * a.time)
    stored = k * q**2 / 2 - T * q
    assert a.springs - a.springs[0] == pytest.approx(stored, abs=1e-7)
    assert np.abs(a.drift).max() < 1e-7 and np.abs(a.work_in).max() < 1e-12


@pytest.mark.parametrize("preload", [0.0, 0.7])
def test_a_damper_that_turns_takes_what_the_rotor_loses(preload):
    """J w' = -c w + T: w = T/c + (W0 - T/c) exp(-c t/J); it takes the integral of c w^2, T puts work in."""
    c = 0.4
    a = account(damping=c, preload=preload)
    end, decay = preload / c, np.exp(-c / J * a.time)
    rest = W0 - end
    squares = end**2 * a.time + 2 * end * rest * J / c * (1 - decay) + rest**2 * J / (2 * c) * (1 - decay**2)
    turned = end * a.time + rest * J / c * (1 - decay)
    assert a.dissipated == pytest.approx(c * squares, abs=1e-7)
    assert not a.springs.any() and a.work_in == pytest.approx(preload * turned, abs=1e-7)
    assert np.abs(a.drift).max() < 1e-7
