"""Examples of control loops: their answers, number by number."""

import numpy as np
import pytest

from tests.helpers.example_runs import ran


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Examples run from any folder."""
    monkeypatch.chdir(tmp_path)


def test_the_cascade_is_the_map_from_tick_to_tick():
    _, found = ran("motor_cascade.py")
    assert len(found.known) == 5001
    assert found.found == pytest.approx(found.known, abs=1e-10)


def test_the_quarter_car_moves_as_the_transfer_functions_say():
    _, found = ran("quarter_car.py")
    for kind, known in found.known.items():
        assert found.found[kind] == pytest.approx(known, rel=1e-5)
    assert found.found["skyhook"] < found.found["adjustable"] < 0.85 * found.found["passive"]


def test_the_car_is_back_in_the_lane_in_the_same_time_at_all_speeds():
    _, found = ran("scheduled_steering.py")
    assert max(found.difference.values()) < 1e-7  # START**3 is what linearisation leaves out
    assert found.unscheduled[30.0] < 1e-7 and found.unscheduled[10.0] > 1e-3


def test_the_poles_of_the_hover_are_those_of_regulator_and_filter():
    _, found = ran("pvtol_lqg.py")
    assert len(found.known) == 12
    assert found.poles == pytest.approx(found.known, abs=1e-6)
    assert np.abs(found.place).max() < 1e-6


def test_the_car_has_the_speeds_of_full_throttle():
    cruise, found = ran("cruise_control.py")
    assert found.uphill == pytest.approx(cruise.UPHILL, abs=1e-4)
    assert found.wound_up == pytest.approx(cruise.TOP, abs=1e-4)
    assert 0.5 < found.overshoot < 1.5


def test_the_filter_of_the_ball_has_the_covariance_of_the_riccati_equation():
    _, found = ran("ball_and_beam.py")
    assert found.found == pytest.approx(found.known, rel=1e-3, abs=1e-12)
    assert found.place < 0.02


@pytest.mark.slow
def test_the_converter_has_the_currents_of_the_periodic_state():
    _, found = ran("dc_converter.py")
    assert found.found == pytest.approx(found.known, abs=1e-6)
    assert found.output == pytest.approx(12.0, abs=1e-6)


def test_the_rod_written_in_python_has_the_margins_of_its_transfer_function():
    _, found = ran("pendulum_in_python.py")
    assert found.gain == pytest.approx(found.known_gain, rel=1e-6)  # reached at zero frequency
    assert found.phase == pytest.approx(found.known_phase, rel=1e-6)
    assert found.poles == pytest.approx(found.known_poles, rel=1e-6)
    assert abs(found.angle) < 1e-4


def test_the_engine_turns_as_scipy_says_from_half_turn_to_half_turn():
    _, found = ran("engine_timing.py")
    assert found.found == pytest.approx(found.known, rel=1e-7)
    assert found.known[1] > 215.0  # it has gained speed: the load that falls counts


def test_the_clutch_locks_and_slips_when_it_should():
    _, (found, known) = ran("clutch.py")
    assert found == pytest.approx(known, abs=1e-8)
    assert 1.0 < known.locks < 3.0 < 6.0 < known.slips < 8.0


def test_the_piston_goes_as_the_quadratic_equation_of_the_flow_says():
    _, (found, known) = ran("hydraulic_cylinder.py")
    assert found == pytest.approx(known, abs=1e-9)
    assert found.on_the_way < 0.95 * found.end and found.end == pytest.approx(0.05, abs=1e-8)


def test_the_way_of_the_brakes():
    _, (found, known) = ran("abs_braking.py")
    assert found == pytest.approx(known, abs=1e-6)
    assert found.kept < 0.85 * found.blocked


def test_the_aircraft_flies_as_the_transfer_functions_say():
    _, found = ran("f14.py")
    assert len(found.poles) == 7 and (found.poles.real < 0).all()
    assert found.poles == pytest.approx(found.known_poles, rel=1e-6)
    assert found.alpha == pytest.approx(found.known_alpha, abs=1e-6)
    assert np.abs(found.alpha).max() > 0.4 and 5.0 < found.load < 8.0


@pytest.mark.slow
def test_the_integrals_of_the_cascade_let_go():
    _, found = ran("position_cascade.py")
    assert found.angle == pytest.approx(found.known, abs=1e-6)
    assert found.overshoot < 0.1 < 5.0 < found.wound_up
    assert found.fastest == pytest.approx(12.0, abs=1e-12)


@pytest.mark.slow
def test_the_plane_of_the_pendulum_turns_with_the_ground():
    _, found = ran("foucault.py")
    assert found.place == pytest.approx(found.known, abs=1e-4)
    assert found.turn == pytest.approx(found.known_turn, abs=0.01)
