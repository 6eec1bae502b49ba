"""What springs that turn store and dampers take, against the motion of a rotor in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, Result, simulate
from plant import Plant
from plant.elements import Body_Rigid, Constraint_Joint, Force_SpringDamper, Model, Reference_Marker
from plant.energy import EnergyLedger, ledger

J, W0 = 0.5, 3.0


def turning(until: float = 2.0, **spring) -> Result:
    """A run of a rotor about z that turns with 3 rad/s at the start."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=J, w_ic_z=W0),
            Reference_Marker(id=20, body_id=2),
            Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Force_SpringDamper(id=1, label="s", type="ROTATIONAL", i_marker_id=20, j_marker_id=10, **spring),
        ]
    )
    d = Diagram("ledger")
    d.add("plant", Plant.from_model(model).observed().audited())
    return simulate(d, until, log_every=0.1, engine="reference", rtol=1e-10, atol=1e-12)


def account(**spring) -> EnergyLedger:
    """Its ledger."""
    return ledger(turning(**spring))


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


M1, M2, V1, V2 = 2.0, 0.5, 0.2, 0.9
REDUCED = M1 * M2 / (M1 + M2)


def between(**spring):
    """A run of two masses on a rail, 1 apart and both moving, with a spring between their centres."""
    rail, ends = {"type": "TRANSLATIONAL", "j_marker_id": 10}, {"i_marker_id": 30, "j_marker_id": 20}
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            *(Body_Rigid(id=k, cg_id=10 * k, mass=m, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_z=v)
              for k, m, v in ((2, M1, V1), (3, M2, V2))),
            Reference_Marker(id=20, body_id=2),
            Reference_Marker(id=30, body_id=3, pos_z=1.0),
            *(Constraint_Joint(id=k, i_marker_id=10 * k, **rail) for k in (2, 3)),
            Force_SpringDamper(id=1, label="s", type="TRANSLATIONAL", **ends, **spring),
        ]
    )  # fmt: skip
    d = Diagram("ledger")
    d.add("plant", Plant.from_model(model).observed().audited())
    return simulate(d, 2.0, log_every=0.1, engine="reference", rtol=1e-10, atol=1e-12)


def test_a_spring_between_moving_bodies_swings_about_where_its_preload_holds_it():
    """With s the stretch and m the reduced mass: m s'' = -k s + T."""
    k, T = 8.0, 1.5
    r = between(stiffness=k, preload=T, length=1.0)
    a, w = ledger(r), np.sqrt(k / REDUCED)
    s = T / k * (1 - np.cos(w * r.time)) + (V2 - V1) / w * np.sin(w * r.time)
    assert a.springs - a.springs[0] == pytest.approx(k * s**2 / 2 - T * s, abs=1e-7)
    assert np.abs(a.drift).max() < 1e-7 and np.abs(a.work_in).max() < 1e-12
    pushes = np.transpose([-k * s, 0 * s, T - k * s])
    assert r["plant.spring_s"] == pytest.approx(pushes, abs=1e-7)


def test_a_damper_between_moving_bodies_takes_what_they_lose_of_their_difference():
    """m u' = -c u: it takes m u0^2/2 (1 - exp(-2 c t/m)); what all of it does is -c u."""
    c = 0.4
    r = between(damping=c)
    u = (V2 - V1) * np.exp(-c / REDUCED * r.time)
    assert ledger(r).dissipated == pytest.approx(REDUCED / 2 * ((V2 - V1) ** 2 - u**2), abs=1e-7)
    assert r["plant.spring_s"] == pytest.approx(np.transpose([0 * u, -c * u, -c * u]), abs=1e-7)


def test_what_a_spring_that_turns_does_and_its_damper():
    """Under-damped from rest at its free angle: J q'' = -k q - c q' + T, by hand."""
    k, c, T = 8.0, 0.4, 1.5
    r = turning(stiffness=k, damping=c, preload=T)
    g, w0 = c / (2 * J), np.sqrt(k / J)
    w, t = np.sqrt(w0**2 - g**2), r.time
    A, B = -T / k, (W0 - g * T / k) / w
    q = T / k + np.exp(-g * t) * (A * np.cos(w * t) + B * np.sin(w * t))
    rate = np.exp(-g * t) * ((B * w - g * A) * np.cos(w * t) - (A * w + g * B) * np.sin(w * t))
    assert r["plant.spring_s"] == pytest.approx(
        np.transpose([-k * q, -c * rate, T - k * q - c * rate]), abs=1e-7
    )
