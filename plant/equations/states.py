"""States of a plant, declared before anything is written about how they move."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca

from blocks.contract.block import Equations
from blocks.contract.symbols import column
from plant.assembly.mechanism_size import nominal_sizes
from plant.description import Body, Share
from plant.elements import Model, Reference_Variable
from plant.equations.controls import Controls
from plant.equations.filters import Inputs
from plant.equations.instants import Instants
from plant.equations.quantities import PlantDeclarations
from plant.equations.role import Role
from plant.equations.setting import Setting
from plant.equations.start_states import StartStates
from plant.equations.variable_unknowns import VariableUnknowns
from plant.equations.wheels import Wheels
from plant.expressions.formulas import Formulas
from plant.mechanics.absolute import Bodies
from plant.mechanics.inertia import tree_inertias
from plant.mechanics.kinematics import Kinematics
from plant.mechanics.mechanism import Mechanism
from plant.mechanics.tree import Tree
from plant.tunables import Tunables


@dataclass(frozen=True, eq=False)
class States:
    """Declared states, None for joints that have none, and the first stage of the equations.

    integrals : (state, variable) of every Reference_Variable in dot_form
    """

    q: list[Any]
    qd: list[Any]
    integrals: list[tuple[Any, Reference_Variable]]
    declared: PlantDeclarations
    kinematics: Kinematics

    def move(self, b: Equations, values: Setting, qdd: Sequence[ca.SX]) -> None:
        """Declare the rates of coordinates and integrals; qdd : (nv, 1) of each link."""
        tree = self.kinematics.tree
        for k, link in enumerate(tree.mechanism.links):
            if link.joint.nq:
                b.derivative(self.q[k], link.joint.qdot(tree.q[k], tree.qd[k]))
                b.derivative(self.qd[k], qdd[k])
        for z, variable in self.integrals:
            b.derivative(z, values.given(variable))


def declare_states(
    b: Equations,
    model: Model,
    mechanism: Mechanism,
    formulas: Formulas,
    inputs: Inputs,
    numbers: Tunables,
    states: StartStates,
    roles: Mapping[int, Role],
    trust: bool,
) -> States:
    """Declare all states of a plant.

    states : their names, and their values at the start
    roles : of all variables
    """
    q = _coordinates(b, mechanism, states)
    qd = _rates(b, mechanism, states, q)
    sums = [
        (b.continuous(name, v.ic, static="hold" if v.static_hold else "solve"), v)
        for name, v in states.integrals.items()
    ]

    def number(body: Body, share: Share) -> Any:
        return numbers(body.source, share.name)

    kind = Bodies if mechanism.absolute else Tree
    tree = kind(mechanism, _columns(q), _columns(qd), tree_inertias(mechanism, number))
    declared = PlantDeclarations(
        b,
        model,
        formulas,
        inputs,
        {v.id: ca.SX(z) for z, v in sums},
        numbers,
        Controls(b, model, states.controls),
        Wheels(b, states.wheels),
        Instants(b),
        VariableUnknowns(b),
        roles,
        trust,
    )
    return States(q, qd, sums, declared, Kinematics(b, tree, numbers.shift))


def _coordinates(b: Equations, mechanism: Mechanism, states: StartStates) -> list[Any]:
    """Coordinates of each link's joint as states, None for joints without."""
    sizes = mechanism.coordinates_by_link(nominal_sizes(mechanism).coordinates)
    return [
        b.continuous(
            f"{link.name}.q",
            value,
            nominal=size.tolist(),
            labels=[name for name, _ in link.joint.coordinates],
            part=link.name,
        )
        if link.joint.nq
        else None
        for link, value, size in zip(mechanism.links, states.q, sizes, strict=True)
    ]


def _rates(b: Equations, mechanism: Mechanism, states: StartStates, q: Sequence[Any]) -> list[Any]:
    """Rates of each link's joint as states, None for joints without; q : the coordinates."""
    sizes = mechanism.rates_by_link(nominal_sizes(mechanism).rates)
    return [
        b.continuous(
            f"{link.name}.qd",
            rate,
            static="zero",
            nominal=size.tolist(),
            labels=link.joint.rates,
            part=link.name,
            velocity_of=place if mechanism.absolute and link.joint.rotates else None,
        )
        if link.joint.nv
        else None
        for link, rate, size, place in zip(mechanism.links, states.qd, sizes, q, strict=True)
    ]


def _columns(parts: Sequence[Any]) -> list[ca.SX]:
    """Each part as a column, an empty one for None."""
    return [ca.SX(0, 1) if part is None else column(part) for part in parts]
