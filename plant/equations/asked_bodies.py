"""What elements and expressions use, though it is switched off, or cannot do what is asked of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blocks.contract.user_lines import warn_user
from plant.elements import (
    FORCES,
    Body_Point,
    Constraint_Joint,
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Inertia_Wheel,
    Model,
    Reference_Array,
    Reference_Marker,
    Reference_Variable,
    Sensor_Evaluate,
    Sensor_Event,
)
from plant.elements.element import line, references_of
from plant.expressions.formulas import Formulas
from plant.reporting import ModelProblems, PlantWarning


def refuse_inactive_bodies(model: Model, formulas: Formulas) -> None:
    """Refuse what uses markers of bodies that are switched off.

    Raises
    ------
    ModelProblems    a line for each
    """
    problems = [
        line(
            where,
            f"{what}={id} is a marker of {marker.body[0]} {marker.body[1]}, which is switched off; switch "
            'off what uses it too, or write is_active="TRUE" at the body',
        )
        for where, what, id in (*_written(model), *_read(formulas))
        if not model.body_of(marker := model.find(Reference_Marker, id)).is_active
    ]
    if problems:
        raise ModelProblems(list(dict.fromkeys(problems)), about=model.file or model.name)


def _written(model: Model) -> Iterator[tuple[str, str, int]]:
    """Place, attribute and id of every marker an active element names."""
    for element in _active(model):
        for name, attribute in references_of(type(element)).items():
            if Reference_Marker.tag in attribute.kind.tags and (id := getattr(element, name)):
                yield element.where, name, id


def _read(formulas: Formulas) -> Iterator[tuple[str, str, int]]:
    """The same of expressions."""
    for expression in formulas.values():
        for kind, ids in sorted(expression.references(), key=str):
            if kind == "marker":
                yield expression.where, "marker", int(ids[0])


def _active(model: Model) -> Iterator[Element]:
    """Elements that take part; markers themselves may stand on each other."""
    for tag, same_type in model.elements.items():
        if tag != Reference_Marker.tag:
            yield from (element for element in same_type.values() if element.is_active)


def mention_idle_uses(model: Model, formulas: Formulas) -> None:
    """Warn of what acts on or reads what cannot answer: point masses, elements that are switched off."""
    _torques_on_points(model)
    _joints_switched_off(model)
    _values_switched_off(model, formulas)


def _values_switched_off(model: Model, formulas: Formulas) -> None:
    """Warn of what reads variables and states of elements that are switched off: it finds 0."""
    kinds: Mapping[str, type[Element]] = {
        "variable": Reference_Variable,
        "state": Control_Diff,
        "state_rate": Control_Diff,
        "sensor": Sensor_Evaluate,
        "wheel": Inertia_Wheel,
    }
    asked = [
        (expression.where, kinds[kind].tag, int(ids[0]))
        for expression in formulas.values()
        for kind, ids in sorted(expression.references(), key=str)
        if kind in kinds
    ]
    listed = [
        (element.where, Reference_Variable.tag, id)
        for kind, name in ((Control_PlantOutput, "variable_id_list"), (Reference_Array, "variable_id"))
        for element in model.all(kind)
        for id in getattr(element, name)
    ]
    listed += [(e.where, Sensor_Evaluate.tag, e.evaluate_id or 0) for e in model.all(Sensor_Event)]
    given = {id for each in model.all(Control_PlantInput) for id in each.variable_id_list}
    for where, tag, id in dict.fromkeys(asked + listed):
        found = model.elements.get(tag, {}).get(id)
        if found is not None and not found.is_active and not (tag == Reference_Variable.tag and id in given):
            fault = f"reads {tag} {id}, which is switched off: its value is 0; switch it on if not meant"
            warn_user(line(where, fault), PlantWarning)


def _joints_switched_off(model: Model) -> None:
    """Warn of motions and couplers of joints that are switched off: they act between their markers still."""
    for element in _active(model):
        for name, attribute in references_of(type(element)).items():
            id = getattr(element, name)
            asked = Constraint_Joint.tag in attribute.kind.tags and id and not isinstance(id, tuple)
            if asked and not model.find(Constraint_Joint, id).is_active:
                fault = f"{name}={id} is switched off; this holds the coordinate between its markers still"
                warn_user(line(element.where, f"{fault}; switch it off too if not meant"), PlantWarning)


def _torques_on_points(model: Model) -> None:
    """Warn of torques on point masses, which have no orientation to change."""
    for kind in FORCES:
        for force in model.all(kind):
            if force.only_turns:
                for id in force.ends:
                    body = model.body_of(model.find(Reference_Marker, id))
                    if isinstance(body, Body_Point):
                        what = f"its torque on {body.where} changes nothing: a point mass does not turn"
                        text = line(force.where, f"{what}; act on a Body_Rigid, or delete it")
                        warn_user(text, PlantWarning)
