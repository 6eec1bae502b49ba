"""Default runs of decks whose forces have corners, against runs at a thousandth of the tolerance."""

import warnings

import numpy as np
import pytest

from cosim.compile.jumps import JumpWarning
from tests.plant.equations.test_velocity_switches import BOTH, diagram, outputs, pushed, run, sled

RTOL, UNTIL = 1e-8, 1.5  # default of adaptive solvers; s
SMOOTH = [
    "-50*DX(20) - 20*ABS(DX(20) + 0.03)",
    "-1E3*MAX(DX(20) - 0.1, 0) - 20*DX(20)",
    "IF(DX(20): -50*DX(20), 0, -120*DX(20))",
    "-20*DX(20) - 0.5*VX(20)*ABS(VX(20))",
    "-50*DX(20) - 20*STEP(DX(20), -0.01, -1, 0.01, 1)",
    "-DIM(20*DX(20), 1)*30 - 20*DX(20)",
]
STOPS = {  # largest error of place and of speed; without steps that end at corners 4 to 20 times these
    "BISTOP(DX(20), VX(20), -0.1, 0.1, 1E4, 1, 0, 0.001)": (2e-6, 1.2e-5),
    "IMPACT(DX(20), VX(20), -0.1, 1E5, 1, 20, 0.001) - 19.62": (1e-6, 1e-5),
    "-1E5*MAX(DX(20) - 0.1, 0) - 1E5*MIN(DX(20) + 0.1, 0)": (4e-6, 7e-5),
}


def apart(coordinates: str, force: str) -> np.ndarray:
    """Largest distance of place and speed in parts of their largest value."""
    d = diagram(coordinates, *sled(2, 2.0, v=1.0), pushed(20, force), *outputs("DX(20)", "VX(20)"))
    once, fine = (run(d, UNTIL, rtol=rtol, atol=1e-2 * rtol) for rtol in (RTOL, 1e-3 * RTOL))
    return np.abs(once["plant.y"] - fine["plant.y"]).max(axis=0) / np.abs(fine["plant.y"]).max(axis=0)


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("force", SMOOTH)
def test_corners_cost_no_accuracy(force, coordinates):
    assert apart(coordinates, force).max() <= 100 * RTOL


@BOTH
@pytest.mark.parametrize("force", [*SMOOTH, *STOPS])
def test_no_jump_is_seen_in_a_force_that_has_none(force, coordinates):
    """Points beside the constraints of absolute coordinates have forces of 1e7 N that are all rounding."""
    d = diagram(coordinates, *sled(2, 2.0, v=1.0), pushed(20, force), *outputs("DX(20)", "VX(20)"))
    with warnings.catch_warnings():
        warnings.simplefilter("error", JumpWarning)
        d.system()


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize("force", STOPS)
def test_stops_are_as_exact_as_their_oscillation(force, coordinates):
    assert (apart(coordinates, force) <= STOPS[force]).all()
