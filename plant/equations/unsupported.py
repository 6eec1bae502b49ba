"""What the plant cannot do yet, and models that cannot move as they are: all of it said when reading."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import casadi as ca

from blocks.contract.user_lines import warn_user
from plant.constraints.closure import Closure
from plant.constraints.conditions import ACCELERATION
from plant.elements import (
    Body_Rigid,
    Constraint_General,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Penalty,
    Model,
    Motion_Joint,
    Motion_Marker,
    Post_Request,
    Reference_Variable,
    Sensor_Event,
)
from plant.elements.bodies import shifted_too_far
from plant.equations.constraint_elements import CONDITIONS
from plant.equations.filters import Inputs
from plant.equations.role import Role
from plant.equations.variables import hard_constraints
from plant.expressions.expression import parse_optional
from plant.mechanics.mechanism import Mechanism
from plant.ports import Ports, is_output
from plant.reporting import ModelProblems, PlantWarning


def constraints_of(model: Model, mechanism: Mechanism, roles: Mapping[int, Role]) -> list[Element]:
    """Elements that constrain the coordinates of a mechanism, in the order of their conditions."""
    found: list[Element] = [joint.source for joint in mechanism.cut]
    for kind in CONDITIONS:
        if kind not in (Constraint_Joint, Reference_Variable):
            found += model.all(kind)
    return [*found, *hard_constraints(model, roles)]


def jumps(inputs: Inputs, closure: Closure, ports: Ports) -> list[str]:
    """Constraints on positions and velocities that depend on an unfiltered input, which may jump; cures."""
    problems = []
    for port in ports.values():
        if port.filter:
            continue
        for id in port.variables:
            symbol = inputs.values[id]
            for condition in closure.conditions:
                if condition.level == ACCELERATION:
                    continue
                if ca.depends_on(ca.vertcat(condition.value, condition.drive), symbol):
                    problems.append(
                        f"{condition.constraint.where}: depends on plant input {port.id} through "
                        f"VARVAL({id}), but positions and velocities cannot follow a signal that may jump. "
                        "Put a second-order filter behind the port, "
                        f'plant.with_port("{port.name}", filter=0.01); or '
                        'prescribe the acceleration (val_type="A"); or drive it with a force or a stiff '
                        "Force_Bushing."
                    )
    return list(dict.fromkeys(problems))


def mention_ignored(model: Model) -> None:
    """Warn of requests that give no output, of sensors that do nothing, and of hooks that are not called."""
    for request in model.all(Post_Request):
        if not is_output(request):
            what = f" of {request.elem_type}" if request.elem_type else ""
            warn_user(
                f"{request.where}: requests of type {request.type or 'USERSUB'}{what} are not supported yet.",
                PlantWarning,
            )
    for sensor in model.all(Sensor_Event):
        ignored = [name for name in ("dt", "stepsize", "hmax") if getattr(sensor, name) is not None]
        if ignored:
            warn_user(
                f"{sensor.where}: {', '.join(ignored)} change nothing: the run chooses its steps and output "
                'times. Give them to the run (max_step=, log_every=); write restart="TRUE" for a step to end '
                "at the event.",
                PlantWarning,
            )
        acts = (sensor.halt, sensor.return_, sensor.restart, sensor.print, sensor.verbose, sensor.evaluate_id)
        if not any(acts):
            warn_user(
                f'{sensor.where}: has no effect. Write halt="TRUE", print="TRUE", restart="TRUE" or an '
                "evaluate_id.",
                PlantWarning,
            )
    for port in (*model.all(Control_PlantInput), *model.all(Control_PlantOutput)):
        if port.has_subroutine:
            warn_user(
                f"{port.where}: its subroutine {port.subroutine} is not called, so script_name and "
                "usrsub_dll_name change nothing; connect the port instead.",
                PlantWarning,
            )


def mention_massless(mechanism: Mechanism) -> None:
    """Warn of bodies that can move and have no mass.

    The format lets it out for bodies that cannot move only; here it counts as zero. A mass without moments of
    inertia is a point mass, which is an ordinary thing to write.
    """
    fixed = _fixed_to_ground(mechanism)
    for link in mechanism.links:
        body = link.body.source
        if not isinstance(body, Body_Rigid) or body.mass is not None:
            continue
        if link.body.key not in fixed:
            inertia = "" if body.inertia is not None else " and no moments of inertia"
            warn_user(
                f"{body.where}: can move, but has no mass{inertia}; zero is taken. Write mass, or fix its "
                "markers to the neighbouring body.",
                PlantWarning,
            )


def _fixed_to_ground(mechanism: Mechanism) -> set[Hashable]:
    """Bodies that joints without any freedom hold to the ground, in either kind of coordinates."""
    description = mechanism.description
    rigid = [j for j in description.joints if j.kind.joint is not None and j.kind.fixes == (3, 3)]
    found: set[Hashable] = {description.ground}
    while more := {end[0] for j in rigid if found & {j.I[0], j.J[0]} for end in (j.I, j.J)} - found:
        found |= more
    return found


def mention_shifted_too_far(model: Model) -> None:
    """Warn of bodies whose moments about ``im_id`` leave negative ones at the centre of mass.

    Some are of no effect: a body that moves in a plane may have anything about axes in it.
    """
    for body in model.all(Body_Rigid):
        if fault := shifted_too_far(body, model.frames):
            warn_user(
                f"{fault} Where it can turn about such an axis, its accelerations mean nothing.", PlantWarning
            )


def refuse_massless(mechanism: Mechanism, links: Sequence[int]) -> None:
    """Refuse joints that move no inertia: their acceleration would be 0/0.

    links : numbers of those links of `massless_links` that nothing else makes regular
    """
    problems = []
    frames = {key: at for key, (_, at) in mechanism.description.points.items()}
    for i in links:
        link = mechanism.links[i]
        problems.append(
            shifted_too_far(link.body.source, frames, rounding=0.0)
            or f"{link.where}: moves nothing that has inertia in all its directions; give "
            f"{link.body.where} a mass and moments of inertia"
            + (', or use coordinates="joint".' if mechanism.absolute else ".")
        )
    if problems:
        raise ModelProblems(problems, about=mechanism.description.name)


def _ramps(model: Model) -> list[Element]:
    """Constraints, and motions by displacement, that follow a STEP."""
    motions: list[Motion_Joint | Motion_Marker] = [*model.all(Motion_Joint), *model.all(Motion_Marker)]
    driven = [m for m in motions if m.val_type == "D"]
    hard = [v for v in model.all(Reference_Variable) if v.is_implicit]
    texts = {v.id: v.expr for v in model.all(Reference_Variable)}
    return [
        element
        for element in (*model.all(Constraint_General), *driven, *hard)
        if _follows_step(texts, element.expr, set())
    ]


def _follows_step(texts: Mapping[int, str | None], text: str | None, seen: set[int]) -> bool:
    """Whether an expression, or a variable that it reads, contains a STEP.

    texts : expressions of all variables by id; seen : variables looked at already
    """
    formula = parse_optional(text)
    if formula is None:
        return False
    if any(step.operation == "STEP" for step in formula.steps):
        return True
    read = {int(ids[0]) for kind, ids in formula.references() if kind == "variable"} - seen
    seen |= read
    return any(_follows_step(texts, texts.get(id), seen) for id in read)


def cure_of_jumps(model: Model) -> str:
    """What to change in the elements of a model where its equations jump at a switch."""
    sharp = [f for f in model.all(Force_Penalty) if f.unilateral and f.smoothing_factor is None]
    ramps = _ramps(model)
    cure = (
        f"In {'other ' if ramps else ''}expressions write STEP or IMPACT, which change smoothly, instead of "
        "IF, SIGN and the like of what is no velocity."
    )
    for element in reversed(ramps):
        cure = (
            f"{element.where}: follows a STEP, whose second derivative jumps at its ends, and with it the "
            f"accelerations; write STEP5 there. {cure}"
        )
    for force in reversed(sharp):
        cure = f"{force.where}: its damping begins at g = 0 at once; give it a smoothing_factor. {cure}"
    return cure
