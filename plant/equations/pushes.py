"""Inputs of a pushed plant: a force on each body, at a point that moves with it, from outside the model.

An input has six components: the force [force] along global axes, and the point it acts at [length], along the
axes of the body's link and from the link's origin, which is at the body's joint in joint coordinates and at
its centre of mass in absolute ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import casadi as ca

from blocks.contract.block import Equations
from blocks.errors import ModelError
from plant.mechanics.absolute import Bodies
from plant.mechanics.applied import Loads
from plant.mechanics.mechanism import Mechanism, mechanism_of
from plant.mechanics.spatial import cross
from plant.mechanics.tree import Tree
from plant.names import unique_names

PUSH = ("FX", "FY", "FZ", "px", "py", "pz")


def push_ports(mechanism: Mechanism) -> tuple[str, ...]:
    """Name of the input of each link: ``push_<body>``."""
    bodies = [link.body for link in mechanism.links]
    names = unique_names([(body.label, "body", i) for i, body in enumerate(bodies)])
    return tuple(f"push_{name}" for name in names)


def with_room_across(mechanism: Mechanism, held: Mapping[int, float]) -> Mechanism:
    """A planar mechanism in absolute coordinates with bodies that may be pushed out of their plane.

    held : coordinates that its start is assembled with

    Raises
    ------
    ModelError    there are some: bodies in space have others
    """
    if held:
        raise ModelError(
            "pushed: this plant of one plane was assembled with coordinates held (hold=), which bodies that "
            "may be pushed across it do not have.",
            hint='Read it with coordinates="joint", or push in_plane=True.',
        )
    return mechanism_of(replace(mechanism.description, pushed_across=True), absolute=True)


def declare_pushes(b: Equations, tree: Tree | Bodies, loads: Loads) -> Loads:
    """Declare the inputs; returns the loads with what they exert."""
    on_links = dict(loads.on_links)
    for i, port in enumerate(push_ports(tree.mechanism)):
        push = ca.SX(b.input(port, len(PUSH), labels=PUSH))
        A, _ = tree.pose(i)
        F = A.T @ push[:3]
        on_links[i] = on_links.get(i, ca.SX(6, 1)) + ca.vertcat(cross(push[3:], F), F)
    return replace(loads, on_links=on_links)
