"""All expressions of a model, parsed and checked against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType

import networkx as nx

from blocks.contract.user_lines import warn_user
from blocks.errors import ModelError
from plant.elements import (
    Control_PlantInput,
    Element,
    Force_Gravity,
    Model,
    Post_Request,
    Reference_Variable,
)
from plant.elements.draft import Draft
from plant.elements.element import attributes_of
from plant.elements.kinds import ExpressionText as Formula
from plant.elements.kinds import NumberOrExpression
from plant.equations.requests import channels
from plant.expressions.expression import Expression, parse_optional
from plant.expressions.references import mention_extrapolated, shared_ids, wrong_references
from plant.reporting import ModelProblems, PlantWarning

Key = tuple[str, int, str]  # element type, id, attribute
Formulas = Mapping[Key, Expression]


def formulas_of(model: Model) -> Formulas:
    """Every expression by (element type, id, attribute).

    Raises
    ------
    ModelProblems    everything wrong with them: grammar, unknown ids, variables defined by themselves
    """
    problems: list[str] = []
    found: dict[Key, Expression] = {}
    shared: dict[tuple[str, str], None] = {}
    for element, attribute, text in _texts(model):
        try:
            parsed = parse_optional(text, f"{element.where}, {attribute}")
        except ModelError as error:
            problems.append(str(error))
            continue
        if parsed is not None:
            found[element.tag, element.id, attribute] = parsed
            wrong = [str(error) for error in wrong_references(model, parsed)]
            problems += wrong
            if not wrong:
                mention_extrapolated(model, parsed)
                shared |= {(element.where, text): None for text in shared_ids(model, parsed)}
            problems += _depends(element, attribute, parsed)
    problems += _recursive(model, found)
    if problems:
        raise ModelProblems(problems, about=model.file or model.name)
    for where, said in shared:
        warn_user(f"{where}: {said}, which has the same id. Give each an id of its own.", PlantWarning)
    return MappingProxyType(found)


def expression_faults(draft: Draft, texts: Iterable[tuple[str, str]]) -> list[str]:
    """Errors in expressions of a draft with other problems, so that all are reported together.

    texts : where each stands, and the expression. Those that refer to elements with problems of their own are
    looked at for their grammar only.
    """
    problems: list[str] = []
    model = Model.of(draft)
    for where, text in texts:
        try:
            parsed = parse_optional(text, where)
        except ModelError as error:
            problems.append(str(error))
            continue
        if parsed is None or any(
            draft.is_unreadable(id) for _, ids in parsed.references() for id in ids if isinstance(id, int)
        ):
            continue
        problems += [str(error) for error in wrong_references(model, parsed)]
    return problems


def _texts(model: Model) -> Iterator[tuple[Element, str, str]]:
    """Every attribute that holds an expression, and the expressions that requests stand for."""
    elements = (e for same_type in model.elements.values() for e in same_type.values() if e.is_active)
    names: dict[type[Element], list[str]] = {}  # of attributes that may be expressions
    for element in (model.gravity, *(e for e in elements if e is not model.gravity)):
        if isinstance(element, Post_Request):
            yield from ((element, name, text) for name, text in channels(element).items())
            continue
        kind = type(element)
        if kind not in names:
            kinds = {name: attribute.kind for name, attribute in attributes_of(kind).items()}
            names[kind] = [name for name, k in kinds.items() if isinstance(k, (Formula, NumberOrExpression))]
        yield from (
            (element, name, text) for name in names[kind] if isinstance(text := getattr(element, name), str)
        )


def _depends(element: Element, attribute: str, expression: Expression) -> Iterator[str]:
    """Gravity that depends on more than time."""
    if not isinstance(element, Force_Gravity):
        return
    for kind, _ in sorted(expression.references(), key=str):
        if kind != "time":
            yield (
                f"{element.where}: {attribute}={expression.text!r} depends on a {kind}, but gravity "
                "may depend on TIME only; apply a Force_Vector_TwoBody at each CG instead."
            )


def _recursive(model: Model, found: Formulas) -> Iterator[str]:
    """Explicit variables whose definitions form a cycle.

    One that is defined by itself alone, v = g(v, y, t), is an equation and is solved.
    """
    inputs = {id for port in model.all(Control_PlantInput) for id in port.variable_id_list}
    graph = nx.DiGraph()
    for variable in model.all(Reference_Variable):
        expression = found.get((variable.tag, variable.id, "expr"))
        if expression is None or variable.dot_form or variable.is_implicit or variable.id in inputs:
            continue
        for kind, ids in sorted(expression.references(), key=str):
            if kind == "variable":
                graph.add_edge(variable.id, int(ids[0]))
    for circle in nx.strongly_connected_components(graph):
        if len(circle) > 1:
            edges = nx.find_cycle(graph.subgraph(circle), min(circle))
            first = model.find(Reference_Variable, edges[0][0])
            names = " -> ".join(str(id) for id in [*(edge[0] for edge in edges), edges[0][0]])
            yield (
                f"{first.where}: recursive definition: Reference_Variable {names}. Take one of them out of "
                'the other\'s expression, or give one of them as an equation with is_implicit="true".'
            )
