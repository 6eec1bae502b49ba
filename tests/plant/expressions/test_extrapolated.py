"""A spline of TIME that ends before the deck's simulations do is mentioned, with what is reached."""

from __future__ import annotations

import warnings

import pytest

from plant import Plant
from plant.reporting import PlantWarning
from tests.helpers.decks import body, deck, joint, marker, ran, simulate

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


MASS = body(2, 1.0, 1.0, 0.0, 0.0, 0.5, v_ic_z=2.0) + marker(11, 1) + joint(1, "TRANSLATIONAL", 20, 11)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    ("text", "straight", "reached"),
    [
        ("AKISPL(DZ(20), 0, 7)", False, "4.5, beyond -1 to 4 (first at t=1.8 s)"),
        ("0*CUBSPL(2 - DZ(20)*TIME, 0, 7)", False, "-7, beyond -1 to 4 (first at t=1.2 s)"),
        ("AKISPL(DZ(20), 0, 7)", True, ""),  # asked for
        ("AKISPL(DZ(20) - 1, 0, 7)", False, ""),
    ],
)
def test_an_argument_that_leaves_the_points_in_a_run(text, straight, reached, coordinates):
    """Seen at the instants of output; results hold nothing more than they did."""
    points = ", ".join(str(k) for k in range(-1, 5))
    model = MASS + f'<Reference_Spline id="7" x="{points}" y="{points}" linear_extrap="{straight}"/>'
    model += f'<Post_Request id="1" label="y" type="EXPRESSION" expr1="{text}"/>'
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run = ran(
            model, simulate("TRANSIENT", end_time=2.0, print_interval=0.2), 0.0, coordinates=coordinates
        )
    said = [str(w.message) for w in caught if "the argument of" in str(w.message)]
    assert [f"went to {reached}" in line for line in said] == [True] * bool(reached)
    assert {name.split(".")[-1] for name in run.result.signals} == {"request_y", "q", "qd"}
