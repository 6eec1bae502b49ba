"""Plant inputs that nothing reads: what is connected to them changes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import networkx as nx

from blocks.contract.user_lines import warn_user
from plant.elements import (
    Control_PlantInput,
    Control_PlantOutput,
    Control_SISO,
    Control_StateEqn,
    Element,
    Model,
    Reference_Array,
    Reference_PlantState,
    Reference_Variable,
)
from plant.elements.element import line
from plant.elements.subroutine import UserSubroutine
from plant.expressions.formulas import Formulas
from plant.reporting import PlantWarning

LISTS: Mapping[str, type[Reference_Array | Control_PlantInput | Control_PlantOutput]] = MappingProxyType(
    {"array": Reference_Array, "plant_input": Control_PlantInput, "plant_output": Control_PlantOutput}
)
"""Element types with lists of variables, by the kinds of references to an entry of one."""

EFFECT = -1  # stands for forces, constraints, states, sensors and outputs, whatever has an effect


def mention_unread_inputs(model: Model, formulas: Formulas) -> None:
    """Warn of each input without an effect; user subroutines may read any."""
    if any(_calls(element) for same in model.elements.values() for element in same.values()):
        return
    reading = nx.DiGraph(_reads(model, formulas))
    read = nx.descendants(reading, EFFECT) if EFFECT in reading else set()
    for port in model.all(Control_PlantInput):
        if unread := [id for id in port.variable_id_list if id not in read]:
            which = f"variable{'s' * (len(unread) > 1)} {', '.join(map(str, unread))}"
            k = port.variable_id_list.index(unread[0]) + 1
            warn_user(
                line(
                    port.where,
                    f"nothing that has an effect reads its {which}, so that what is connected there changes "
                    f"nothing; read it as VARVAL({unread[0]}) or PINVAL({port.id},{k}) in a force, a "
                    "constraint or an output, or take it out of the list",
                ),
                PlantWarning,
            )


def _calls(element: Element) -> bool:
    if not element.is_active or isinstance(element, (Control_PlantInput, Control_PlantOutput)):
        return False
    return isinstance(element, UserSubroutine) and element.calls_subroutine


def _reads(model: Model, formulas: Formulas) -> Iterator[tuple[int, int]]:
    """Pairs of a variable, or `EFFECT`, and a variable that its value depends on."""
    driven = {id for port in model.all(Control_PlantInput) for id in port.variable_id_list}
    explicit = {
        v.id for v in model.all(Reference_Variable) if not (v.dot_form or v.is_implicit) or v.id in driven
    }
    for (tag, id, _), formula in formulas.items():
        reader = id if tag == Reference_Variable.tag and id in explicit else EFFECT
        if tag == Reference_Variable.tag and id in driven:
            continue  # what it is worth while nothing is connected
        for kind, ids in formula.references():
            yield from ((reader, read) for read in _variables(model, kind, ids))
    listed = [id for port in model.all(Control_PlantOutput) for id in port.variable_id_list]
    listed += [id for states in model.all(Reference_PlantState) for id in states.variable_id_list]
    systems: list[Control_SISO | Control_StateEqn] = [*model.all(Control_SISO), *model.all(Control_StateEqn)]
    for system in systems:
        if system.u_array_id is not None:
            listed += model.find(Reference_Array, system.u_array_id).variable_id
    yield from ((EFFECT, id) for id in listed)


def _variables(model: Model, kind: str, ids: tuple[str | int, ...]) -> tuple[int, ...]:
    """Variables that one reference of an expression stands for."""
    if kind == "variable":
        return (int(ids[0]),)
    if kind not in LISTS:
        return ()
    id, k = map(int, ids)
    element = model.find(LISTS[kind], id)
    listed = element.variable_id if isinstance(element, Reference_Array) else element.variable_id_list
    return listed[k - 1 : k]
