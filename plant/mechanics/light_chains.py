"""Heavy bodies that hang on several light links in a row: they are cut off the tree.

A tree finds what holds the pin between two light links from the forces on the heavy bodies around them, which
all but cancel: accelerations of 1e-7 kg beside 1 kg keep nine digits, of 1e-10 kg six, and turns of a light
link about its own length fewer still. Cut off, the heavy body moves on its own, and the force that ties it to
the links is an unknown by itself, found to its last digits with `light.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from plant.description import Body, Connection

APART = 5e6  # ratio of masses from which links count as light: below, nine digits and more are left


@dataclass(frozen=True)
class Edge:
    """A joint of the tree before numbering: child hangs on parent; no connection: it moves freely."""

    parent: Hashable
    child: Hashable
    connection: Connection | None


def behind_light_links(edges: Sequence[Edge], bodies: Mapping[Hashable, Body]) -> list[Connection]:
    """Joints by which a heavy body hangs on two light links or more, whose other end is held too.

    Joints without freedom make one link of two bodies.
    """
    inboard = {edge.child: edge for edge in edges}
    mass = {key: _mass(body) for key, body in bodies.items()}
    found = []
    for edge in edges:
        joint = edge.connection
        if joint is not None and _moves(joint) and _light_links(edge, inboard, mass) >= 2:
            found.append(joint)
    return found


def _light_links(edge: Edge, inboard: Mapping[Hashable, Edge], mass: Mapping[Hashable, float]) -> int:
    """How many links in a row, inwards of an edge, are light beside its child and what holds them."""
    heavy, links, heaviest, at = mass[edge.child], 0, 0.0, edge.parent
    while at in inboard and 0.0 < mass[at] * APART < heavy:
        inner, heaviest = inboard[at], max(heaviest, mass[at])
        if inner.connection is None:
            return 0
        links, at = links + _moves(inner.connection), inner.parent
    held = at not in inboard or mass[at] > heaviest * APART
    return links if held else 0


def _moves(joint: Connection) -> bool:
    """Whether a joint of the tree has coordinates."""
    assert joint.kind.joint is not None  # it is in the tree
    return joint.kind.joint.nv > 0


def _mass(body: Body) -> float:
    return sum(share.value for share in body.shares if share.tensor is None)
