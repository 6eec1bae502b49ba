"""The role each Reference_Variable of a model plays: see `role.py`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set

import networkx as nx

from blocks.contract.user_lines import warn_user
from plant.elements import Model, Reference_Variable
from plant.equations.role import Role
from plant.expressions.formulas import Formulas
from plant.reporting import PlantWarning
from plant.routines.subroutines import variables_asked_for


def roles_of(model: Model, formulas: Formulas, driven: Set[int]) -> Mapping[int, Role]:
    """Role of every active Reference_Variable by its id; driven : ids of those that plant inputs set.

    A dependence through other explicit variables counts. The subroutine of an implicit variable depends on
    what it asks for in its initialisation call, which is made here.
    """
    given = {v.id for v in model.all(Reference_Variable) if v.id in driven or v.dot_form}
    others = [v for v in model.all(Reference_Variable) if v.id not in given]
    graph = nx.DiGraph()
    for variable in others:
        graph.add_node(variable.id)
        graph.add_edges_from((variable.id, id) for id in _named(model, formulas, variable))

    def role(variable: Reference_Variable) -> Role:
        own = any(variable.id in {n, *nx.descendants(graph, n)} for n in graph.successors(variable.id))
        if not variable.is_implicit:
            return Role.ITSELF if graph.has_edge(variable.id, variable.id) else Role.EXPLICIT
        if own:
            return Role.EQUATION
        if variable.autobalance == "PENALTY":
            return Role.EXPLICIT
        defined = (variable.tag, variable.id, "expr") in formulas or variable.has_subroutine
        return Role.CONSTRAINT if defined else Role.EQUATION

    return dict.fromkeys(given, Role.GIVEN) | {v.id: role(v) for v in others}


def _named(model: Model, formulas: Formulas, variable: Reference_Variable) -> Iterator[int]:
    """Ids of the variables in the definition of a variable."""
    expression = formulas.get((variable.tag, variable.id, "expr"))
    if expression is not None:
        yield from (int(ids[0]) for kind, ids in expression.references() if kind == "variable")
    elif variable.has_subroutine and variable.is_implicit:
        yield from variables_asked_for(model, variable)


def hard_constraints(model: Model, roles: Mapping[int, Role]) -> list[Reference_Variable]:
    """Variables that are constraints with multipliers."""
    return [v for v in model.all(Reference_Variable) if roles[v.id] is Role.CONSTRAINT]


def recursive_variables(model: Model, roles: Mapping[int, Role], trust: bool) -> list[Reference_Variable]:
    """Variables defined by themselves, v = g(v, y, t); subroutines are asked only with `trust`."""

    def asks_itself(v: Reference_Variable) -> bool:
        role = roles.get(v.id)
        if role is not Role.EXPLICIT or not (v.has_subroutine and trust):
            return role is Role.ITSELF
        return v.id in variables_asked_for(model, v)

    return [v for v in model.all(Reference_Variable) if asks_itself(v)]


def mention_unused(model: Model, roles: Mapping[int, Role]) -> None:
    """Warn of attributes that change nothing in the role a variable turns out to play."""
    for variable in model.all(Reference_Variable):
        role = roles[variable.id]
        if role is Role.EQUATION and variable.autobalance == "PENALTY":
            warn_user(
                f"{variable.where}: its g depends on VARVAL({variable.id}), so g = 0 is an equation for it "
                "and no constraint: autobalance, penalty and penalty1 change nothing. Leave them out.",
                PlantWarning,
            )
        if role in (Role.EXPLICIT, Role.CONSTRAINT) and variable.calls_subroutine and variable.ic:
            warn_user(
                f"{variable.where}: ic changes nothing, because it is not integrated (dot_form is FALSE) and "
                'its subroutine does not ask for it; write dot_form="TRUE" to integrate it, or delete it.',
                PlantWarning,
            )
