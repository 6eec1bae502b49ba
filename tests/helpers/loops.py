"""Mechanisms with closed loops, built in Python."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim import Diagram, Simulation
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.elements.markers import COSINES


def frame(angle: float) -> dict[str, float]:
    """Direction cosines of a frame turned about global z."""
    c, s = float(np.cos(angle)), float(np.sin(angle))
    return dict(zip(COSINES, (c, s, 0.0, -s, c, 0.0, 0.0, 0.0, 1.0), strict=True))


def at(id: int, body: int, x: float, y: float, angle: float = 0.0, z: float = 0.0) -> Reference_Marker:
    """Marker in the xy plane."""
    return Reference_Marker(id=id, body_id=body, pos_x=x, pos_y=y, pos_z=z, **frame(angle))


def bar(id: int, m: float, length: float) -> dict[str, Any]:
    """Numbers of a slender rod along its x axis."""
    J = m * length**2 / 12
    return {"id": id, "cg_id": 10 * id, "mass": m, "inertia_xx": 1e-3 * J, "inertia_yy": J, "inertia_zz": J}


def n_four_bar(n: int, speed: float = 1.0) -> Model:
    """N parallelogram windows: N + 1 upright cranks of 1 m and 1 kg, N couplers, gravity along -y.

    The top of the first crank moves with `speed` along x at the start. Output `tip`: x and y of that top.
    """
    elements: list[Element] = [Body_Rigid(id=1, isground=True), Force_Gravity(grav_y=-9.81)]
    outputs: list[Element] = []
    joint = 0
    for k in range(n + 1):
        crank = 2 + k
        start = {"v_ic_x": speed / 2} if k == 0 else {}
        elements += [
            Body_Rigid(**bar(crank, 1.0, 1.0), **start),
            at(10 * crank, crank, k, 0.5, np.pi / 2),
            at(10 * crank + 1, crank, k, 0.0),
            at(10 * crank + 2, crank, k, 1.0),
            at(100000 + k, 1, k, 0.0),
        ]
        joint += 1
        elements.append(
            Constraint_Joint(id=joint, type="REVOLUTE", i_marker_id=10 * crank + 1, j_marker_id=100000 + k)
        )
    for k in range(n):
        coupler = n + 3 + k
        elements += [
            Body_Rigid(**bar(coupler, 1.0, 1.0)),
            at(10 * coupler, coupler, k + 0.5, 1.0),
            at(10 * coupler + 1, coupler, k, 1.0),
            at(10 * coupler + 2, coupler, k + 1.0, 1.0),
        ]
        for own, crank in ((1, 2 + k), (2, 3 + k)):
            joint += 1
            elements.append(
                Constraint_Joint(
                    id=joint, type="REVOLUTE", i_marker_id=10 * coupler + own, j_marker_id=10 * crank + 2
                )
            )
    texts = ("DX(22)", "DY(22)", "VX(22)", "VY(22)")
    outputs += [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)]
    outputs.append(Control_PlantOutput(id=1, label="tip", variable_id_list=(1, 2, 3, 4)))
    return Model.build([*elements, *outputs])


def largest_residual(plant: Plant, until: float, **options: Any) -> float:
    """Largest residual of the constraints, positions and velocities, at the ends of all accepted steps."""
    d = Diagram("loop")
    d.add("plant", plant)
    for name in plant.inputs:
        d.ground(f"plant.{name}")
    simulation = Simulation(d, engine="reference", **{"rtol": 1e-8, "atol": 1e-10, **options})
    integrator = simulation._engine.parts.integrator  # type: ignore[attr-defined]
    system, accept, worst = integrator.workspace.system, integrator._accept, [0.0]
    g = system.function("invariants", lambda: [system.invariants])

    def looked_at(step: Any, *listeners: Any) -> Any:
        c = integrator.context
        values = np.array(g(step.t1, step.x1, c.h, c.w, c.p))
        worst[0] = max(worst[0], float(np.abs(values).max()))
        return accept(step, *listeners)

    integrator._accept = looked_at
    simulation.advance(until)
    return worst[0]
