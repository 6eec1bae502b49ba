"""All equations of a plant, stage by stage: each is made from the one before and knows only that."""

from __future__ import annotations

from typing import Any

from blocks.contract.block import Equations
from plant.constraints.invariants import declare_invariants
from plant.constraints.solution import StandIns, solve
from plant.constraints.stabilisation import Projection
from plant.equations import ledger, observed
from plant.equations.at_a_state import Written
from plant.equations.first_stages import FirstStages
from plant.equations.outcome import Awaited, Solved
from plant.equations.output_signals import declare_outputs, signals_of
from plant.equations.pushes import declare_pushes
from plant.equations.quantities import Quantities
from plant.equations.spline_ranges import declare_ranges
from plant.equations.velocity_switches import VelocitySwitches
from plant.forces.loads import loads


def all_stages(b: Equations, first: FirstStages, plant: Any) -> Written:
    """Forces, accelerations and all that is made of them, declared on b behind the first stages.

    plant : Plant      what it is asked for (ports, audit, ...), and how constraints are stabilised
    """
    states, free, closure = first.states, first.values, first.closure
    declared, kinematics = states.declared, states.kinematics
    inputs = declared.inputs
    moved = [*declared.integrals.values(), *(y for y, _ in inputs.drifts)]
    switches = VelocitySwitches(b, kinematics.tree, closure, moved, inputs.outside)
    unknowns = StandIns()
    forced = Quantities(
        declared, kinematics, lambda own: Awaited(own, closure, unknowns), free, sliding=switches.made
    )
    applied = loads(forced)
    if plant.push:
        applied = declare_pushes(b, kinematics.tree, applied)
    solution = solve(b, kinematics.tree, closure, applied, unknowns, plant.stabilisation.gains)
    moving = Quantities(
        declared, kinematics, lambda own: Solved(own, closure, solution), forced, solution.qdd, switches.found
    )
    states.move(b, moving, solution.qdd)
    projects = isinstance(plant.stabilisation, Projection)
    declare_invariants(b, kinematics.tree, states.q, states.qd, closure if projects else None)
    ports = (*plant.outputs.values(), *plant.requests.values())
    signals = signals_of(moving, ports)
    declared.controls.declare(moving, signals)
    declared.wheels.declare(moving)
    declare_outputs(b, ports, signals, plant.requests)
    if plant.observe:
        observed.declare(b, moving, solution, closure)
    if plant.audit:
        ledger.declare(b, moving, solution, closure, declared.wheels)
    declare_ranges(b, plant.model, moving.used, moving)
    switches.write_equations(moving.motion)
    declared.unknowns.write_equations(moving)
    declared.instants.stops_at({t for f in plant.formulas.values() for t in f.break_times(moving.spline)})
    return Written(states, closure, solution)
