"""An FMU for co-simulation in a diagram: a sampled block, and the unit of a co-simulation master."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.driven import DrivenBlock, UnitParameter, UnitPort
from blocks.contract.rate import Rate, Ticks
from cosim.fmi.co_simulation import CoSimulationUnit
from cosim.fmi.description import Variable
from cosim.fmi.interface.input_curves import IntermediateInputs
from cosim.fmi.model_exchange_block import joined
from cosim.fmi.setup import Setup


def define_co_simulation(b: Equations, setup: Setup, sample: Rate, offset: Rate) -> None:
    """Declare ports, parameters and the call at every communication point."""
    inputs, parameters = setup.declare_inputs(b), setup.declare_parameters(b)
    argument = joined([*_held(b, setup, inputs, sample, offset), *parameters])

    def make() -> CoSimulationUnit:
        return CoSimulationUnit(setup)

    y = b.external(
        "y", make, argument, sum(v.size for v in setup.outputs) + 1, sample, offset, about=setup.called
    )
    b.private(y)
    at = 0
    for v in setup.outputs:
        b.output(v.name, y[at : at + v.size], unit=setup.unit_of(v))
        at += v.size
    b.stop(y[at] - 0.5, setup.end_message, "rising")
    b._eager()  # it may end the run at its start


def _held(b: Equations, setup: Setup, inputs: list[Any], sample: Rate, offset: Rate) -> list[Any]:
    """Inputs as a step sees them; held inputs are read from a memory."""
    starts = np.cumsum([0, *(v.size for v in setup.ports)])
    held = [k for k, v in enumerate(setup.ports) if setup.held(v) and v.size]
    if not held:
        return inputs
    all_starts = setup.input_start
    start = np.concatenate([all_starts[starts[k] : starts[k + 1]] for k in held])
    u = b.discrete("u", start, sample, offset, size=len(start))
    b.update(u, np.concatenate([inputs[k] for k in held]))
    b.private(u)
    found, at = list(inputs), 0
    for k in held:
        size = setup.ports[k].size
        found[k] = u[at : at + size]
        at += size
    return found


def driven_co_simulation(
    setup: Setup,
    sample: Rate,
    offset: Rate,
    curved: Callable[[IntermediateInputs], Setup] | None = None,
    fields: tuple[str, ...] = (),
) -> DrivenBlock:
    """The unit that stands for the block under a co-simulation master.

    fields : of the block
    curved : the setup whose instances ask for inputs during a step, where these may follow curves
    """
    bends = any(v.intermediate_update for v in setup.description.inputs)
    asks = bends and setup.compiles and setup.interface.intermediate_update and setup.description.major > 2

    def made_open(inputs: frozenset[str]) -> Callable[[], CoSimulationUnit]:
        def make() -> CoSimulationUnit:
            if not asks or curved is None:
                return CoSimulationUnit(replace(setup, left_open=inputs))
            curves = IntermediateInputs()
            return CoSimulationUnit(replace(curved(curves), left_open=inputs), curves)

        return make

    visited = setup.visited
    return DrivenBlock(
        tuple(_unit_port(setup, v, v in visited) for v in setup.ports),
        tuple(_unit_port(setup, v, bool(visited) and setup.follows_visits(v)) for v in setup.outputs),
        tuple(UnitParameter(v.name, setup.shaped_start(v), setup.unit_of(v)) for v in setup.parameters),
        setup.input_start,
        made_open(setup.left_open),
        Ticks.of(sample, offset),
        f"FMU '{setup.description.file}'",
        CoSimulationUnit.calls,
        endings=(setup.end_message,),
        given_before=setup.start_only,
        given_anew=setup.built_anew,
        inner_step=setup.interface.fixed_internal_step or 0.0,
        stands_for=fields,
        numbers=setup.numbers_only,
        made_open=made_open,
    )


def _unit_port(setup: Setup, v: Variable, visited: bool) -> UnitPort:
    return UnitPort(v.name, v.size, v.continuous, setup.unit_of(v), visited, v.type == "Float32")
