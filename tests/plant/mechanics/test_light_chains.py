"""Which joints a heavy body is cut off by, behind light links."""

from __future__ import annotations

import numpy as np
import pytest

from plant.description import Body, Connection, Share
from plant.mechanics.light_chains import Edge, behind_light_links

AT = (np.zeros(3), np.eye(3))


def cut(masses, types=None, hung=True):
    """Numbers of the joints cut in a chain of bodies; body 0 hangs on the ground, or moves freely."""
    bodies = {k: Body(key=k, shares=(Share("mass", m),), centre=AT) for k, m in enumerate(masses)}
    types = types or ["SPHERICAL"] * len(masses)
    edges = [
        Edge(k - 1 if k else "ground", k, Connection(type, ("ground", AT), (k, AT), key=k))
        for k, type in enumerate(types)
    ]
    if not hung:
        edges[0] = Edge("ground", 0, None)
    return [joint.key for joint in behind_light_links(edges, bodies)]


@pytest.mark.parametrize(
    ("masses", "expected"),
    [
        ((1.0, 1e-7, 1e-10, 2.0), [3]),
        ((1e-7, 1e-10, 2.0), [2]),  # the ground is heavy
        ((1.0, 1e-7, 2.0), []),  # one light link between heavy ones
        ((1.0, 1e-6, 1e-6, 1.0), []),  # nine digits and more are left
        ((1.0, 1e-7, 0.0, 2.0), []),  # massless ones are another matter
        ((1.0, 1e-7, 1e-7), []),  # nothing heavy hangs on them
        ((1.0, 1e-7, 1e-7, 2.0, 1e-7, 1e-8, 1e-7, 3.0), [3, 7]),
    ],
)
def test_what_hangs_on_two_light_links(masses, expected):
    assert cut(masses) == expected


def test_links_that_are_welded_are_one():
    assert cut((1.0, 1e-7, 1e-7, 2.0), ["SPHERICAL", "SPHERICAL", "FIXED", "SPHERICAL"]) == []
    assert cut((1.0, 1e-7, 1e-7, 2.0), ["SPHERICAL", "REVOLUTE", "REVOLUTE", "FIXED"]) == []


def test_light_links_that_nothing_holds_at_their_other_end():
    assert cut((1e-7, 1e-7, 2.0), hung=False) == []
    assert cut((1.0, 1e-7, 1e-7, 2.0), hung=False) == [3]
