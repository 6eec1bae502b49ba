"""Errors for unknown ids in expressions, splines with too few points, missing entries.

All of it is found when a model is read, with the expression's text and a caret under the id.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from blocks.contract.user_lines import warn_user
from blocks.errors import ExpressionError
from plant.elements import (
    ELEMENTS,
    FORCES,
    Control_Diff,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Inertia_Wheel,
    Model,
    Reference_Array,
    Reference_Marker,
    Reference_Spline,
    Reference_Variable,
    Sensor_Evaluate,
    Simulate,
)
from plant.elements.draft import no_such
from plant.expressions.expression import EvaluationStep, Expression
from plant.expressions.functions import FUNCTIONS, LanguageFunction
from plant.expressions.functions.entry import MARKERS
from plant.expressions.grammar import fault
from plant.expressions.splines import KINDS
from plant.reporting import PlantWarning

REFERRED: Mapping[str, type[Element]] = {
    "variable": Reference_Variable,
    "array": Reference_Array,
    "spline": Reference_Spline,
    "plant_input": Control_PlantInput,
    "plant_output": Control_PlantOutput,
    "state": Control_Diff,
    "state_rate": Control_Diff,
    "sensor": Sensor_Evaluate,
    "wheel": Inertia_Wheel,
}
"""What each kind of reference names."""

ROUNDING = 1e-9  # of a range: what is beyond the points by less is not beyond them
LISTS = {"plant_input", "plant_output"}


def wrong_references(model: Model, expression: Expression) -> Iterator[ExpressionError]:
    """One error for every id, index or spline in an expression that the model does not have."""
    for step in expression.steps:
        function = FUNCTIONS.get(step.operation)
        if function is not None and function.takes_literals:
            for name, problem in _problems(model, function, step):
                place = function.arguments.index(name)
                at = positions(expression.text, step)[place]
                what, _, hint = problem.partition("; ")
                hint = hint[:1].upper() + hint[1:] + ("." if hint and not hint.endswith("?") else "")
                yield fault(expression.text, at, f"{function.name}: {what}", expression.where, hint)


def mention_extrapolated(model: Model, expression: Expression) -> None:
    """Warn once about each spline of TIME that ends before the deck's simulations do."""
    end = end_of(model)
    for step in expression.steps:
        if (reached := until_the_end(model, expression, step, end)) is not None:
            spline = model.find(Reference_Spline, step.literals[0])
            how = "end tangents" if spline.linear_extrap else "end polynomials"
            warn_user(
                f"{expression.where}: until TIME = {end:g} the argument of {step.operation} goes from "
                f"{reached[0]:g} to {reached[1]:g}, but {spline.where} has points from {spline.x[0]:g} to "
                f"{spline.x[-1]:g}; beyond them it goes on along its {how}. Add points.",
                PlantWarning,
            )


def shared_ids(model: Model, expression: Expression) -> Iterator[str]:
    """What is said of a call that reads one of several elements, of different types, with the id it names."""
    for step in expression.steps:
        function = FUNCTIONS.get(step.operation)
        refers = function.refers(*step.literals) if function is not None and function.takes_literals else ()
        for tags, id in (ids for kind, ids in refers if kind == "element"):
            known = [model.elements.get(tag, {}).get(int(id)) for tag in _in_order(str(tags).split("|"))]
            found = [element.where for element in known if element is not None and element.is_active]
            if len(found) > 1:
                yield f"{step.operation}({id}, ...) reads {found[0]}, and not {' or '.join(found[1:])}"


def _in_order(tags: list[str]) -> list[str]:
    """Tags in the order in which elements of these types are looked for."""
    forces = [kind.tag for kind in FORCES]
    return sorted(tags, key=lambda tag: forces.index(tag) if tag in forces else tags.index(tag))


def until_the_end(
    model: Model, expression: Expression, step: EvaluationStep, end: float | None
) -> tuple[float, float] | None:
    """Range of the argument of a spline until TIME is `end`, if it exceeds the points.

    None where it is no spline of a line in TIME, or stays within them.
    """
    line = expression.steps[step.operands[0]].line if step.operation in KINDS else None
    if end is None or line is None or not line.slope:
        return None
    spline = model.find(Reference_Spline, step.literals[0])
    low, high = sorted((line.offset, line.slope * end + line.offset))
    slack = ROUNDING * end * abs(line.slope)
    beyond = spline.x and (low < spline.x[0] - slack or high > spline.x[-1] + slack)
    return (low, high) if beyond else None


def end_of(model: Model) -> float | None:
    """End of the last simulation of the Command block; None without one."""
    end = None
    for command in model.commands:
        if isinstance(command, Simulate):
            if command.end_time is not None:
                end = max(end or 0.0, command.end_time)
            elif command.duration is not None:
                end = (end or 0.0) + command.duration
    return end


def _problems(model: Model, function: LanguageFunction, step: EvaluationStep) -> Iterator[tuple[str, str]]:
    """Name of an argument, and the problem with it."""
    names = function.arguments[function.values :]
    for name, id in zip(names, step.literals, strict=True):
        if name in MARKERS and id and (text := _absent(model, (Reference_Marker.tag,), id)):
            yield name, text
    for kind, ids in function.refers(*step.literals):
        if kind == "element":
            tags = tuple(str(ids[0]).split("|"))
            if not all(tag in ELEMENTS for tag in tags):
                yield "id", f"it reads a {' or '.join(tags)}, an element type that is not supported"
            elif text := _absent(model, tags, int(ids[1])):
                yield "id", text
        elif kind in REFERRED:
            yield from _referred(model, function, kind, ids)


def _referred(
    model: Model, function: LanguageFunction, kind: str, ids: tuple[int | str, ...]
) -> Iterator[tuple[str, str]]:
    tag, id = REFERRED[kind].tag, int(ids[0])
    if text := _absent(model, (tag,), id):
        yield "id", text
    elif kind in LISTS:
        listed = (
            model.find(Control_PlantInput, id)
            if kind == "plant_input"
            else model.find(Control_PlantOutput, id)
        ).variable_id_list
        count = len(listed)
        if int(ids[1]) > count:
            yield "index", f"{tag} {id} has {count} signals, not {ids[1]}; they count from 1"
    elif kind == "spline":
        spline, least = model.find(Reference_Spline, id), KINDS[function.name].points
        if spline.x and len(spline.x) < least:
            others = [name for name, form in KINDS.items() if form.points <= len(spline.x)]
            yield (
                "id",
                f"it needs at least {least} points (spline {id} of {spline.source or 'the model'} has "
                f"{len(spline.x)}); add points, or use {' or '.join(others)}",
            )


def _absent(model: Model, tags: tuple[str, ...], id: int) -> str:
    """The problem with an id; "" if there is such an element."""
    if any(id in model.elements.get(tag, ()) for tag in tags):
        return ""
    return f"{id} {no_such(tags, id, (known for tag in tags for known in model.elements.get(tag, ())))}"


def positions(text: str, step: EvaluationStep) -> list[int]:
    """The position of each argument of a call in the text."""
    start = text.index("(", step.at) + 1
    found, depth = [start], 0
    for at in range(start, step.end - 1):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        if depth == 0 and text[at] in ",:":
            found.append(at + 1)
    return [at + len(text[at:]) - len(text[at:].lstrip()) for at in found]
