"""What an observed plant shows of every body, joint and force, without a Reference_Variable for it.

==========================  ==============================================================================
``body_<name>``             r, v, w, a, al of the centre of mass and its axes A row by row, global axes
``joint_<name>``            force and torque of a joint or motion on the body of I, at I: along global axes,
                            along those of I; and what acts on the body of J, at J, along those of J
``force_<name>``            force and torque of a force element on the body of I, along global axes
``spring_<name>``           spring, damper and sum (with preload) of a Force_SpringDamper
``constraint_residual``     what every condition on positions is off by
==========================  ==============================================================================

Names are slugs of labels, or type and id. Joints of the spanning tree hold by construction and have no
residual; in absolute coordinates every joint has one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca

from blocks.contract.block import Equations
from plant.constraints.closure import Closure
from plant.constraints.solution import Solution
from plant.elements import (
    FORCES,
    Constraint_Joint,
    Element,
    Force,
    Force_SpringDamper,
    Model,
    Motion_Joint,
    Motion_Marker,
)
from plant.equations.reaction_functions import ReactionFunctions
from plant.equations.setting import Setting
from plant.mechanics.mechanism import Mechanism
from plant.names import unique_names

BODY = tuple(f"{n}{c}" for n in ("r", "v", "w", "a", "al") for c in "xyz")
BODY += tuple(f"A{i}{j}" for i in range(3) for j in range(3))
WRENCH = ("FX", "FY", "FZ", "TX", "TY", "TZ")
JOINT = tuple(f"{name} {where}" for where in ("on I", "on I along I", "on J along J") for name in WRENCH)
SPRING = ("spring", "damper", "sum")
RESIDUAL = "constraint_residual"
JOINTS: tuple[type[Element], ...] = (Constraint_Joint, Motion_Joint, Motion_Marker)


@dataclass(frozen=True, eq=False)
class Observed:
    """The elements of a model that are shown, by the name of their output.

    bodies : name -> number of the link and id of its centre of mass; those without one are left out
    plain : name of an output -> what it shows, as "crank" for "body_crank"
    """

    bodies: dict[str, tuple[int, int]]
    joints: dict[str, Element]
    forces: dict[str, Force]
    plain: dict[str, str]

    @property
    def springs(self) -> dict[str, Force_SpringDamper]:
        """Springs with dampers."""
        found = {self.plain[name]: e for name, e in self.forces.items()}
        return {f"spring_{name}": e for name, e in found.items() if isinstance(e, Force_SpringDamper)}


def observed(model: Model, mechanism: Mechanism) -> Observed:
    """The observed quantities of a model, in its order."""
    links = [(i, link.body.source) for i, link in enumerate(mechanism.links)]
    links = [(i, body) for i, body in links if getattr(body, "cg_id", None) is not None]
    joints = [e for kind in JOINTS for e in model.all(kind)]
    forces = [e for kind in FORCES for e in model.all(kind)]
    plain: dict[str, str] = {}

    def named(what: str, elements: Sequence[Element]) -> list[str]:
        found = {f"{what}_{name}": name for name in _names(elements)}
        plain.update(found)
        return [*found]

    bodies = dict(zip(named("body", [b for _, b in links]), [(i, b.cg_id) for i, b in links], strict=True))
    return Observed(
        bodies,
        dict(zip(named("joint", joints), joints, strict=True)),
        dict(zip(named("force", forces), forces, strict=True)),
        plain,
    )


def _names(elements: Sequence[Element]) -> list[str]:
    return unique_names([(e.label or f"{e.tag} {e.id}", e.tag.lower(), e.id) for e in elements])


def declare(b: Equations, values: Setting, solution: Solution, closure: Closure | None) -> None:
    """Declare the outputs of an observed plant."""
    shown = observed(values.model, values.kinematics.mechanism)
    reactions = ReactionFunctions(values, closure, solution)
    for name, (_, centre) in shown.bodies.items():
        at = values.marker(centre)
        a, al = values.kinematics.accelerations(centre, solution.a, solution.loads.gravity)
        parts = [at.r, at.v, at.w, a, al, ca.vec(ca.SX(at.A).T)]
        b.output(name, _dense(parts), labels=BODY, auxiliary=True)
    for name, element in shown.joints.items():
        b.output(name, _dense(_reaction(values, reactions, element)), labels=JOINT, auxiliary=True)
    for name, element in shown.forces.items():
        wrenches = values.wrenches(element)
        if wrenches:
            first = wrenches[0]
            parts = [first.F, first.torque_about(values.marker(first.marker).r)]
            b.output(name, _dense(parts), labels=WRENCH, auxiliary=True)
    for name, spring in shown.springs.items():
        b.output(name, _dense(spring.parts(values)), labels=SPRING, auxiliary=True)
    if closure is not None and closure.positions:
        conditions = [closure.conditions[k] for k in closure.positions]
        labels = [f"{_label(c.constraint.source) or c.constraint.where}: {c.text}" for c in conditions]
        b.output(RESIDUAL, _dense([closure.value[closure.positions]]), labels=labels, auxiliary=True)


def _label(source: object) -> str:
    return str(getattr(source, "label", None) or "")


def _reaction(values: Setting, reactions: ReactionFunctions, element: Element) -> list[ca.SX]:
    """Force and torque on I, on I along I, on J along J."""
    i, j = reactions.ends(element)
    found = reactions.of(element)
    nothing = (ca.SX(3, 1), ca.SX(3, 1))
    (F, T), (on_j, turning_j) = found.get(i, nothing), found.get(j, nothing)
    I, J = values.marker(i).A.T, values.marker(j).A.T
    return [F, T, I @ F, I @ T, J @ on_j, J @ turning_j]


def _dense(parts: Sequence[ca.SX]) -> ca.SX:
    return ca.densify(ca.vertcat(ca.SX(0, 1), *[ca.densify(ca.SX(part)) for part in parts]))
