"""A spline of TIME that ends before the deck's simulations do is mentioned, with what is reached."""

from __future__ import annotations

import warnings

import pytest

from plant import Plant
from plant.reporting import PlantWarning
from tests.helpers.decks import deck, simulate

TO_1 = simulate("TRANSIENT", end_time=1.0)
TO_2 = simulate("TRANSIENT", end_time=2.0)
FOR_1 = simulate("TRANSIENT", duration=1.0)


def read(text: str, commands: str, straight: bool = False) -> None:
    """A deck with a spline from -1 to 4 in an expression."""
    points = ", ".join(str(k) for k in range(-1, 5))
    Plant.read(
        deck(
            f'<Reference_Spline id="7" x="{points}" y="{points}" linear_extrap="{straight}"/>'
            f'<Reference_Variable id="1" expr="{text}"/>',
            commands,
        )
    )


@pytest.mark.parametrize(
    ("text", "commands", "reached"),
    [
        ("AKISPL(2.5*TIME, 0, 7, 0)", TO_2, (2, 0, 5)),
        ("AKISPL(3 + TIME, 0, 7)", FOR_1 + FOR_1, (2, 3, 5)),  # one after the other
        ("AKISPL(3 + TIME, 0, 7)", TO_1 + FOR_1, (2, 3, 5)),
        ("AKISPL(2 - 2*TIME, 0, 7, 2)", TO_2 + TO_1, (2, -2, 2)),
    ],
)
def test_beyond_the_points(text, commands, reached):
    told = (
        rf"until TIME = {reached[0]} the argument of AKISPL goes from {reached[1]} to {reached[2]}, .*-1 to 4"
    )
    with pytest.warns(PlantWarning, match=rf"{told}.* end polynomials\. Add points"):
        read(text, commands)
    with pytest.warns(PlantWarning, match=rf"{told}.* end tangents\."):
        read(text, commands, straight=True)


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("AKISPL(2*TIME, 0, 7)", TO_2),  # just reached
        ("AKISPL(3 + TIME, 0, 7)", FOR_1),
        ("AKISPL(1 - TIME, 0, 7)", FOR_1 + FOR_1),
        ("AKISPL(9*SIN(TIME), 0, 7)", TO_2),  # no line in TIME
        ("AKISPL(9, 0, 7)", TO_2),  # meant so
        ("AKISPL(9*TIME, 0, 7)", ""),  # nothing is simulated
    ],
)
def test_within_the_points(text, commands):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PlantWarning)
        read(text, commands)
