"""Which coordinates move next to no inertia."""

from __future__ import annotations

import numpy as np
import pytest

from plant.elements import Body_Rigid, Constraint_Joint, Model
from plant.formats.motionsolve.described import description_of
from plant.mechanics.massless import SINGULAR, is_singular, massless_links, slender_rates
from plant.mechanics.mechanism import mechanism_of
from tests.helpers.trees import marker


def bodies(*moments):
    """Bodies on their own in absolute coordinates, with these moments about their axes."""
    elements = [Body_Rigid(id=1, isground=True)]
    for id, (xx, yy, zz) in enumerate(moments, 2):
        elements.append(
            Body_Rigid(id=id, cg_id=10 * id, mass=2.0, inertia_xx=xx, inertia_yy=yy, inertia_zz=zz)
        )
        elements.append(marker(10 * id, id, np.full(3, float(id)), np.eye(3)))
    return mechanism_of(description_of(Model.build(elements)), absolute=True)


def test_a_slender_body_is_found_where_its_rates_stand():
    """Of three bodies with six rates each the second is a rod: its turning rates, and its least moment."""
    found = slender_rates(
        bodies((1.0, 1.0, 1.0), (0.5, 0.5, 1e-7), (1.0, 1.0, 2e-6), (0.5, 0.5, 0.0))
    )  # a moment of nothing loses no digits
    assert sorted(found) == [6, 7, 8]
    assert list(found.values()) == pytest.approx([1e-7] * 3)


@pytest.mark.parametrize(
    ("place", "types", "expected"),
    [
        ((0.0, 0.5, 0.0), ("REVOLUTE", "TRANSLATIONAL"), []),
        ((0.0, 0.0, 0.5), ("REVOLUTE", "TRANSLATIONAL"), [0]),
        ((0.0, 0.5, 0.0), ("REVOLUTE", "REVOLUTE"), [1]),
        ((0.0, 0.0, 0.5), ("REVOLUTE", "REVOLUTE"), [0, 1]),
        ((0.0, 0.5, 0.0), ("TRANSLATIONAL", "TRANSLATIONAL"), []),
    ],
)
def test_a_link_feels_the_mass_that_hangs_on_it(place, types, expected):
    """A point mass is joined where it is to a link without mass, whose hinge about z feels it beside z only.

    Its own hinge goes through it, so that it moves nothing.
    """
    elements = [Body_Rigid(id=1, isground=True), Body_Rigid(id=2, cg_id=11)]
    elements += [Body_Rigid(id=3, cg_id=30, mass=2.0), marker(30, 3, np.array(place), np.eye(3))]
    for k, (at, kind) in enumerate(zip((np.zeros(3), np.array(place)), types, strict=True), 1):
        elements += [marker(10 * k + j, k + j, at, np.eye(3)) for j in (0, 1)]
        elements.append(Constraint_Joint(id=k, type=kind, i_marker_id=10 * k + 1, j_marker_id=10 * k))
    assert massless_links(mechanism_of(description_of(Model.build(elements)))) == expected


def test_singular_is_a_matter_of_directions_and_not_of_units():
    for scale in (1e-9, 1.0, 1e9):
        units = np.diag([1.0, scale])
        assert not is_singular(units @ np.array([[2.0, 1.0], [1.0, 2.0]]) @ units)
        assert is_singular(units @ np.array([[1.0, 1.0], [1.0, 1.0]]) @ units)
    assert is_singular(np.diag([1.0, 0.0]))
    assert not is_singular(np.array([[1.0, 1.0 - 2 * SINGULAR], [1.0 - 2 * SINGULAR, 1.0]]))
