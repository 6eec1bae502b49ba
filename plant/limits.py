"""What the plant cannot do yet, and models that cannot move as they are: all of it said when reading."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np

from plant.dynamics.inertia import plain_inertia
from plant.dynamics.mechanism import GROUND, Mechanism
from plant.elements import (
    Constraint_Coupler,
    Constraint_General,
    Control_Diff,
    Control_PlantInput,
    Control_SISO,
    Control_StateEqn,
    Element,
    Force_Field,
    Force_Penalty,
    Model,
    Motion_Joint,
    Motion_Marker,
    Post_Request,
    Reference_Variable,
    Sensor_Evaluate,
    Sensor_Event,
    UserSubroutine,
)
from plant.forces import FORCES
from plant.notes import ModelProblems, PlantWarning
from plant.ports import is_output

NOT_YET: tuple[type[Element], ...] = (
    Constraint_Coupler,
    Constraint_General,
    Motion_Joint,
    Motion_Marker,
    Force_Penalty,
    Force_Field,
    Control_Diff,
    Control_SISO,
    Control_StateEqn,
    Sensor_Event,
    Sensor_Evaluate,
)
"""Elements that change the motion and that the plant cannot do yet."""


def refuse_unsupported(model: Model) -> None:
    """One error for all elements that would change the motion and cannot be had yet."""
    problems = [f"{e.where}: {e.tag} is not supported yet." for kind in NOT_YET for e in model.all(kind)]
    scripted: list[type[Element]] = [*FORCES, Reference_Variable]
    for kind in scripted:
        for element in model.all(kind):
            if isinstance(element, UserSubroutine) and element.has_subroutine:
                problems.append(
                    f"{element.where}: user subroutines are not supported yet; write an expression."
                )
    driven = {id for port in model.all(Control_PlantInput) for id in port.variable_id_list}
    for variable in model.all(Reference_Variable):
        if variable.is_implicit and variable.id not in driven:
            problems.append(
                f"{variable.where}: is_implicit (autobalance={variable.autobalance}) is not supported yet."
            )
    if problems:
        raise ModelProblems(problems, about=model.file or model.name)


def mention_ignored(model: Model) -> None:
    """Warn of requests that give no output yet."""
    for request in model.all(Post_Request):
        if not is_output(request):
            warnings.warn(
                f"{request.where}: requests of type {request.type or 'USERSUB'} are not supported yet.",
                PlantWarning,
                stacklevel=2,
            )


def refuse_massless(mechanism: Mechanism) -> None:
    """Refuse joints that move no inertia: their acceleration would be 0/0."""
    problems = []
    moved = [plain_inertia(mechanism, i) for i in range(len(mechanism.links))]
    for i in reversed(range(len(mechanism.links))):
        link = mechanism.links[i]
        XJ, S = link.joint.jcalc(ca.DM(link.q0))
        felt = np.array(ca.DM(S)).reshape(6, link.joint.nv)
        if link.joint.nv and np.linalg.eigvalsh(felt.T @ moved[i] @ felt).min() <= 0.0:
            problems.append(
                f"{link.where}: moves nothing that has inertia in all its directions; give {link.body.where} "
                "a mass and moments of inertia."
            )
        if link.parent != GROUND:
            X = np.array(ca.DM((XJ @ link.Xtree).matrix))
            moved[link.parent] = moved[link.parent] + X.T @ moved[i] @ X
    if problems:
        raise ModelProblems(list(reversed(problems)), about=mechanism.model.file or mechanism.model.name)
