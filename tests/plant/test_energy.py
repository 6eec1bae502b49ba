"""The energy ledger: every entry against a case where it is known."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Element,
    Force_Bushing,
    Force_Gravity,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Force_SpringDamper,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.energy import EnergyLedger, ledger
from tests.helpers.plants import deck

ALONG = {"a00": 0, "a10": 0, "a20": -1, "a01": 0, "a11": 1, "a21": 0, "a02": 1, "a12": 0, "a22": 0}


def slider(*elements: Element, v: float = 0.0) -> Plant:
    """A mass of 2 kg on a rail along x at x = 0.5."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1, **ALONG),
            Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_x=v),
            Reference_Marker(id=20, body_id=2, pos_x=0.5, **ALONG),
            Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
            *elements,
        ]
    )
    return Plant.from_model(model).audited()


def account(plant: Plant, until: float = 2.0, **options) -> EnergyLedger:
    d = Diagram("ledger")
    d.add("plant", plant)
    options = {"rtol": 1e-10, "atol": 1e-12} | options
    return ledger(simulate(d, until=until, log_every=0.1, engine="reference", **options))


SPRING = {"id": 1, "type": "TRANSLATIONAL", "i_marker_id": 20, "j_marker_id": 10, "length": 0.2}


def test_spring_and_damper():
    a = account(slider(Force_SpringDamper(**SPRING, stiffness=30.0, damping=2.0, preload=1.0)))
    assert a.springs[0] == pytest.approx(30 * 0.3**2 / 2 - 1.0 * 0.3)
    assert a.dissipated[0] == 0.0 and np.all(np.diff(a.dissipated) > 0)
    assert np.abs(a.drift).max() < 1e-8 and not a.work_in.any()


def test_bushing():
    a = account(
        slider(Force_Bushing(id=1, i_marker_id=20, j_marker_id=10, kz=30.0, cz=2.0, preload_z=1.0), v=0.4)
    )
    assert a.springs[0] == pytest.approx(30 * 0.5**2 / 2 - 0.5)
    assert np.abs(a.drift).max() < 1e-8
    assert np.abs(a.work_in).max() < 1e-12


def test_work_of_a_force():
    """F = 6 N over s = 3/2 t^2."""
    force = Force_Scalar_TwoBody(
        id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val_expression="6"
    )
    a = account(slider(force))
    assert a.work_in == pytest.approx(6 * 1.5 * a.time**2, abs=1e-8)
    assert np.abs(a.drift).max() < 1e-8


@pytest.mark.parametrize(
    "penalty",
    [
        Force_Penalty(id=1, expr="DX(20) - 0.3", penalty=40.0, penalty1=1.0),
        Force_Penalty(id=1, expr="DX(20) - 0.3 - 0.1*SIN(3*TIME)", penalty=40.0, penalty1=1.0),
        Force_Penalty(
            id=1, expr="DX(20) - 0.3", penalty=40.0, penalty1=1.0, unilateral=True, smoothing_factor=0.1
        ),
        Reference_Variable(
            id=1, expr="DX(20) - 0.3", is_implicit=True, autobalance="PENALTY", penalty=40.0, penalty1=1.0
        ),
    ],
    ids=["bilateral", "moving", "unilateral", "variable"],
)
def test_penalty(penalty):
    a = account(slider(penalty))
    assert np.abs(a.drift).max() < 1e-7
    assert np.all(np.diff(a.dissipated) >= -1e-12) and a.dissipated[-1] > 0
    assert a.work_in.any() == ("TIME" in penalty.expr)


def test_gravity_that_changes_does_work():
    a = account(slider(Force_Gravity(grav_x="3*COS(TIME)")))
    assert not a.gravity.any()
    assert a.work_in == pytest.approx(a.KE, abs=1e-8)


def test_pendulum_of_a_deck():
    a = account(Plant.read(deck("double_pendulum_rods.xml")).audited(), until=2.0, rtol=1e-11)
    assert np.ptp(a.gravity) > 1.0 and np.abs(a.drift).max() < 1e-7


def test_plot(tmp_path):
    a = account(slider(Force_SpringDamper(**SPRING, stiffness=30.0, damping=2.0)))
    figure = a.plot(str(tmp_path / "ledger.png"))
    assert (tmp_path / "ledger.png").stat().st_size > 1000
    names = [line.get_label() for line in figure.axes[0].lines]
    assert names == ["KE", "springs", "dissipated", "stored"]


def test_a_run_without_an_audit_says_how():
    d = Diagram("plain")
    d.add("plant", Plant.read(deck("double_pendulum_rods.xml")))
    r = simulate(d, until=0.1, engine="reference")
    with pytest.raises(ModelError, match=r"plant\.audited\(\)"):
        ledger(r)
