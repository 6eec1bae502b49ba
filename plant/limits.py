"""What the plant cannot do yet, and models that cannot move as they are: all of it said when reading."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np

from plant.constraints import ACCELERATION
from plant.dynamics.closure import Closure
from plant.dynamics.inertia import plain_inertia
from plant.dynamics.mechanism import GROUND, Mechanism
from plant.elements import (
    Constraint_Coupler,
    Constraint_General,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Model,
    Motion_Joint,
    Motion_Marker,
    Post_Request,
    Sensor_Event,
    UserSubroutine,
)
from plant.evaluation import Evaluation
from plant.formulas import Formulas
from plant.notes import ModelProblems, PlantWarning
from plant.ports import is_output
from plant.variables import hard_constraints

CONSTRAINTS: tuple[type[UserSubroutine], ...] = (
    Constraint_Coupler,
    Constraint_General,
    Motion_Joint,
    Motion_Marker,
)
"""Constraints that are no joints."""


def refuse_unsupported(model: Model) -> None:
    """One error for all elements that would change the motion and cannot be had yet."""
    problems = [
        f"{e.where}: couplers by user subroutine are not supported yet; write coefficients."
        for e in model.all(Constraint_Coupler)
        if e.has_subroutine
    ]
    if problems:
        raise ModelProblems(problems, about=model.file or model.name)


def constraints_of(model: Model, mechanism: Mechanism, formulas: Formulas) -> list[Element]:
    """Elements that constrain the coordinates of a mechanism, in the order of their conditions."""
    found: list[Element] = [*mechanism.cut]
    for kind in CONSTRAINTS:
        found += model.all(kind)
    return [*found, *hard_constraints(model, formulas)]


def refuse_inputs(values: Evaluation, closure: Closure) -> None:
    """Refuse constraints on positions and velocities that depend on a plant input, which may jump."""
    problems = []
    for port in values.model.all(Control_PlantInput):
        for id in port.variable_id_list:
            symbol = values.variable(int(id))
            for condition in closure.conditions:
                if condition.level == ACCELERATION:
                    continue
                if ca.depends_on(ca.vertcat(condition.value, condition.drive), symbol):
                    problems.append(
                        f"{condition.element.where}: depends on plant input {port.id} through VARVAL({id}), "
                        "but positions and velocities cannot follow a signal that may jump. Prescribe the "
                        'acceleration (val_type="A"), drive it with a force or a stiff Force_Bushing, '
                        "or put a second-order filter before a Motion of val_type A."
                    )
    if problems:
        raise ModelProblems(list(dict.fromkeys(problems)), about=values.model.file or values.model.name)


def mention_ignored(model: Model) -> None:
    """Warn of requests that give no output, of sensors that do nothing, and of hooks that are not called."""
    for request in model.all(Post_Request):
        if not is_output(request):
            what = f" of {request.elem_type}" if request.elem_type else ""
            warnings.warn(
                f"{request.where}: requests of type {request.type or 'USERSUB'}{what} are not supported yet.",
                PlantWarning,
                stacklevel=2,
            )
    for sensor in model.all(Sensor_Event):
        if not (sensor.halt or sensor.return_ or sensor.evaluate_id):
            warnings.warn(
                f"{sensor.where}: has no effect here: steps are chosen by the solver of the run. "
                'Write halt="TRUE", or an evaluate_id.',
                PlantWarning,
                stacklevel=2,
            )
    for port in (*model.all(Control_PlantInput), *model.all(Control_PlantOutput)):
        if port.has_subroutine:
            warnings.warn(
                f"{port.where}: its subroutine {port.subroutine} is not called; connect the port instead.",
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
