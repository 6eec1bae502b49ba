"""Inputs of a pushed plant: a force on each body, at a point that moves with it, from outside the model."""

from __future__ import annotations

from dataclasses import replace

import casadi as ca

from blocks.contract.block import Equations
from plant.mechanics.absolute import Bodies
from plant.mechanics.applied import Loads
from plant.mechanics.mechanism import Mechanism
from plant.mechanics.spatial import cross
from plant.mechanics.tree import Tree
from plant.names import unique_names

PUSH = ("FX", "FY", "FZ", "px", "py", "pz")


def push_ports(mechanism: Mechanism) -> tuple[str, ...]:
    """Name of the input of each link: ``push_<body>``."""
    bodies = [link.body for link in mechanism.links]
    names = unique_names([(body.label, "body", i) for i, body in enumerate(bodies)])
    return tuple(f"push_{name}" for name in names)


def declare_pushes(b: Equations, tree: Tree | Bodies, loads: Loads) -> Loads:
    """Declare the inputs; returns the loads with what they exert.

    Each input has six components: the force [force] along global axes, and the point it acts at [length],
    along the axes of the link and from its origin.
    """
    on_links = dict(loads.on_links)
    for i, port in enumerate(push_ports(tree.mechanism)):
        push = ca.SX(b.input(port, len(PUSH), labels=PUSH))
        A, _ = tree.pose(i)
        F = A.T @ push[:3]
        on_links[i] = on_links.get(i, ca.SX(6, 1)) + ca.vertcat(cross(push[3:], F), F)
    return replace(loads, on_links=on_links)
