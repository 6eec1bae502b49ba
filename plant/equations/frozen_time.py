"""A plant whose TIME stands still: what statics look at.

An equilibrium at time t has no velocities, although motions and forces are functions of TIME. So TIME becomes
a plant input that is set from outside and does not change: motions on positions hold where they are at that
time, those on velocities and accelerations hold where they stand. Sensors watch a motion and are left out.

User subroutines are called at that time too: a formula for their argument, which no file can give, says so.
"""

from __future__ import annotations

import re
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING

import casadi as ca

from plant.constraints.stabilisation import Projection
from plant.elements import Element, Model, Motion_Joint, Motion_Marker, Reference_Variable, Sensor_Event
from plant.elements.subroutine import UserSubroutine
from plant.expressions.expression import Expression, parse
from plant.expressions.formulas import Formulas
from plant.mechanics.absolute import Bodies
from plant.mechanics.inertia import plain_inertia
from plant.mechanics.mechanism import Mechanism
from plant.mechanics.tree import Tree
from plant.ports import Port

if TYPE_CHECKING:
    from plant.block import Plant

MOTIONS: tuple[type[Motion_Joint] | type[Motion_Marker], ...] = (Motion_Joint, Motion_Marker)
TIME = "TIME"  # the input of a plant at rest that says what TIME is [s]


def resting(plant: Plant) -> Plant:
    """The plant with TIME as a further input, `TIME`, that counts as constant; projection keeps constraints.

    Its coordinates and states have the names they have in `plant`.
    """
    clock = max(plant.model.elements.get(Reference_Variable.tag, {}), default=0) + 1
    model = _stopped(plant.model, clock)
    port = Port(TIME, 0, 1, (clock,), (TIME,))
    return replace(
        plant,
        model=model,
        formulas=_frozen(plant.formulas, model, clock),
        inputs=MappingProxyType({**plant.inputs, TIME: port}),
        stabilisation=Projection(),
    )


def _stopped(model: Model, clock: int) -> Model:
    """With a variable for TIME, motions without a drive but on positions, and no sensors."""
    changed: list[Element] = [Reference_Variable(id=clock, label=TIME, expr="0")]
    for kind in MOTIONS:
        moving = [motion for motion in model.all(kind) if motion.val_type != "D"]
        changed += [_held(motion) for motion in moving]
    changed += [replace(sensor, is_active=False) for sensor in model.all(Sensor_Event)]
    elements = {tag: dict(same) for tag, same in model.elements.items()}
    for element in changed:
        elements.setdefault(element.tag, {})[element.id] = element
    frozen = {tag: MappingProxyType(same) for tag, same in elements.items()}
    return replace(model, elements=MappingProxyType(frozen))


def _held(motion: Motion_Joint | Motion_Marker) -> Element:
    """A motion on velocities that are zero."""
    return replace(
        motion, val_type="V", type="EXPRESSION", expr="0", ic_disp=None, ic_vel=None,
        script_name=None, usrsub_dll_name=None,
    )  # fmt: skip


def _frozen(formulas: Formulas, model: Model, clock: int) -> Formulas:
    """Expressions with the variable instead of TIME."""
    found: dict[tuple[str, int, str], Expression] = {}
    for key, expression in formulas.items():
        if ("time", ()) in expression.references():
            text = re.sub(r"\bTIME\b", f"VARVAL({clock})", expression.text, flags=re.IGNORECASE)
            expression = parse(text, expression.where)
        found[key] = expression
    for kind in MOTIONS:
        for motion in model.all(kind):
            if motion.val_type != "D":
                found[motion.tag, motion.id, "expr"] = parse("0", motion.where)
    for element in (e for same in model.elements.values() for e in same.values()):
        if isinstance(element, UserSubroutine) and element.has_subroutine:
            found[element.tag, element.id, "time"] = parse(f"VARVAL({clock})", element.where)
    return MappingProxyType(found)


def kinetic_energy(mechanism: Mechanism) -> ca.Function:
    """(q, qd) -> kinetic energy [force length], all coordinates and all rates in the order of the links."""
    links = mechanism.links
    q = [ca.SX.sym(f"q{k}", link.joint.nq) for k, link in enumerate(links)]
    qd = [ca.SX.sym(f"qd{k}", link.joint.nv) for k, link in enumerate(links)]
    inertia = [ca.SX(ca.sparsify(ca.DM(plain_inertia(mechanism, k)))) for k in range(len(links))]
    kind = Bodies if mechanism.absolute else Tree
    tree = kind(mechanism, q, qd, inertia)
    energy = sum((ca.dot(v, I @ v) / 2 for v, I in zip(tree.v, inertia, strict=True)), ca.SX(0))
    every = [ca.vertcat(ca.SX(0, 1), *parts) for parts in (q, qd)]
    return ca.Function("kinetic_energy", every, [ca.densify(ca.SX(energy))])
