"""The published models: every case within the tolerances it states, in both coordinate choices.

Joint coordinates of the others are in test_inverted_pendulum.py, test_bead.py, test_servo.py (robot_2d) and
tests/plant/routines/test_subroutines.py (kinetic_energy).
"""

from __future__ import annotations

import pytest

from tests.helpers.cases import case_ids, worst_ratio
from tests.helpers.checked import independent

CHOICES = {
    "inverted_pendulum": ["absolute"],
    "four_bar": ["joint", "absolute"],
    "bead_on_catenary": ["absolute"],
    "kinetic_energy": ["absolute"],
}
OTHER = independent("other formulations of the model, DOP853 (its expected.json)")
CASES = [(model, *case, c) for model, choices in CHOICES.items() for c in choices for case in case_ids(model)]


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize(("model", "case", "deck", "coordinates"), CASES)
def test_case(checked, model, case, deck, coordinates):
    worst, where = worst_ratio(model, case, deck, coordinates=coordinates)
    assert worst < 1.0, where
    checked(worst, 0.0, f"model {model}", f"{case}: worst signal in parts of its tolerance", OTHER, atol=1.0)
