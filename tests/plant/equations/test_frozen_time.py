"""A plant whose TIME stands still."""

from __future__ import annotations

import numpy as np
import pytest

from plant import Plant
from plant.equations.frozen_time import TIME, kinetic_energy, resting
from tests.helpers.decks import deck, pendulum, slider
from tests.helpers.plants import DATA, Alone

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
MOTION = '<Motion_Joint id="1" joint_id="1" joint_type="R" val_type="{}" expr="{}"/>'


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_motion_on_positions_asks_for_no_velocity(coordinates):
    """AZ = 0.3 TIME**2: at rest qdd = 0 is possible at any TIME, though the motion itself has 0.6."""
    plant = Plant.read(deck(pendulum(0.0) + MOTION.format("D", "0.3*time**2")), coordinates=coordinates)
    still = Alone(resting(plant))
    moving = Alone(plant)
    at = still.derivative(0.0, np.zeros_like(still.x0) + still.x0, {TIME: 0.0})
    rates = [
        k for name in plant.initial if name.endswith(".qd") for k in range(*still.slice(name).indices(99))
    ]
    assert np.abs(at[rates]).max() < 1e-9
    assert np.abs(moving.derivative(0.0, moving.x0)[rates]).max() > 0.2


@pytest.mark.parametrize("val_type", ["V", "A"])
def test_a_motion_on_rates_holds(val_type):
    still = resting(Plant.read(deck(pendulum(0.4) + MOTION.format(val_type, "2+TIME"))))
    one = Alone(still)
    x = one.x0.copy()
    x[one.slice("hinge.qd")] = 0.0
    assert one.derivative(0.0, x, {TIME: 5.0}) == pytest.approx(np.zeros(2), abs=1e-9)


def test_forces_read_the_time_from_the_input():
    push = (
        '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="STEP(TIME,1,0,2,40)"/>'
    )
    one = Alone(resting(Plant.read(deck(slider() + push))))
    for t, force in ((0.0, 0.0), (1.5, 20.0), (3.0, 40.0)):
        qdd = one.derivative(0.0, one.x0, {TIME: t})[1]
        assert qdd == pytest.approx(-9.81 + force / 2.0)


def test_sensors_are_left_out_and_names_stay():
    sensor = '<Sensor_Event id="1" expr="TIME" value="1" compare="GE" halt="TRUE"/>'
    plant = Plant.read(deck(slider() + sensor))
    still = resting(plant)
    assert still.initial.keys() == plant.initial.keys()
    assert not Alone(still).declared.events and Alone(plant).declared.events
    assert [*still.inputs] == [TIME]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_kinetic_energy_is_that_of_the_audit(coordinates):
    plant = Plant.read(DATA / "plants" / "dzhanibekov.xml", coordinates=coordinates).audited()
    energy = kinetic_energy(plant.mechanism)
    q, qd = (np.concatenate(parts) for parts in (plant.start, plant.rates))
    assert float(energy(q, qd)) == pytest.approx(Alone(plant).output("audit_energy")[0], rel=1e-12)
    assert float(energy(q, 0 * qd)) == 0.0
