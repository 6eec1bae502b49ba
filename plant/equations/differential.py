"""Which Control_Diffs have a state: an implicit one that nowhere reads its own rate is algebraic."""

from __future__ import annotations

from collections.abc import Iterator

from blocks.contract.user_lines import warn_user
from plant.elements import (
    Control_Diff,
    Control_PlantOutput,
    Model,
    Reference_Array,
    Reference_Variable,
)
from plant.elements.subroutine import ExpressionOrSubroutine
from plant.expressions.formulas import Formulas
from plant.expressions.functions.entry import Reference
from plant.reporting import PlantWarning
from plant.routines.subroutines import references_asked_for


def is_differential(model: Model, element: Control_Diff, formulas: Formulas) -> bool:
    """Whether a Control_Diff has a state: an implicit one without DIF1 of itself is algebraic.

    DIF1 counts in its expression, in what its subroutine asks for in the initialisation call, and in explicit
    variables that it reads. Only for models whose subroutines may run.
    """
    if not element.is_implicit:
        return True
    waiting: list[ExpressionOrSubroutine] = [element]
    seen: set[int] = set()
    while waiting:
        for reference in _references(model, waiting.pop(), formulas):
            if reference == ("state_rate", (element.id,)):
                return True
            for id in _variables(model, reference):
                variable = model.elements.get(Reference_Variable.tag, {}).get(id)
                if id not in seen and isinstance(variable, Reference_Variable) and _is_explicit(variable):
                    waiting.append(variable)
                seen.add(id)
    return False


def _is_explicit(variable: Reference_Variable) -> bool:
    return variable.is_active and not variable.is_implicit and not variable.dot_form


def _references(model: Model, element: ExpressionOrSubroutine, formulas: Formulas) -> Iterator[Reference]:
    expression = formulas.get((element.tag, element.id, "expr"))
    if expression is not None:
        yield from expression.references()
    elif element.has_subroutine:
        yield from references_asked_for(model, element)


def _variables(model: Model, reference: Reference) -> Iterator[int]:
    """Ids of the variables whose values a reference reads."""
    kind, ids = reference
    listed: tuple[int, ...] = ()
    if kind == "variable":
        yield int(ids[0])
    elif kind == "array":
        listed = model.find(Reference_Array, int(ids[0])).variable_id
    elif kind == "plant_output":
        listed = model.find(Control_PlantOutput, int(ids[0])).variable_id_list
    yield from listed[int(ids[1]) - 1 : int(ids[1])] if len(ids) > 1 else listed


def mention_algebraic(model: Model, formulas: Formulas) -> None:
    """Warn of attributes of states on a Control_Diff whose subroutine leaves its equation algebraic."""
    for element in model.all(Control_Diff):
        names = ("ic_dot", "is_static_hold")
        written = [name for name in names if getattr(element, name) not in (None, False)]
        if element.calls_subroutine and written and not is_differential(model, element, formulas):
            what = f"{' and '.join(written)} change{'s' * (len(written) == 1)} nothing"
            warn_user(
                f"{element.where}: {what}, because its subroutine does not ask for DIF1({element.id}), so "
                "that the equation is algebraic; delete them, or ask for it.",
                PlantWarning,
            )
