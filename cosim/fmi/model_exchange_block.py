"""The equations of an FMU for model exchange: states in x, its events in the event loop.

Three kinds of events ask for event mode: an indicator that changes its sign, the time that the FMU announced,
and a change of what it reads at events only (discrete inputs, parameters, a step after which it asks for
one). Each leaves a mark; the event that follows sees a mark it has not seen before, calls the FMU once, and
gives the states what it returns. So several of them at one instant are one event of the FMU.

In a loop of events at one instant it stays in event mode after that, as connected FMUs are to: where its
inputs change at that instant, they are set, and its discrete states are updated once more. They are not where
its continuous states have jumped, since what follows from a jump comes after it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from blocks.contract.block import Equations
from cosim.fmi.description import Variable
from cosim.fmi.model_exchange import IN_LOOP, ModelExchangeUnit
from cosim.fmi.model_exchange_functions import ModelStart
from cosim.fmi.model_exchange_ports import OutputGroup, Ports
from cosim.fmi.setup import Setup


def ports_of(setup: Setup) -> Ports:
    """Find the variables for each part of the argument of the FMU's functions."""
    d = setup.description
    states = tuple(v for v in d.states if v.size)  # structural parameters may leave none of some
    known = {(v.type, v.reference) for v in states}
    groups: dict[tuple[int, ...], list[Variable]] = {}
    kept = [v for v in setup.outputs if v.clock is not None or v.clocks]
    for v in setup.outputs:
        if (v.type, v.reference) not in known and v not in kept:
            groups.setdefault(_inputs_of(setup, v), []).append(v)
    return Ports(
        inputs=d.inputs,
        parameters=setup.parameters,
        states=states,
        rates=tuple(v for v in (d.variables[e.name] for e in d.derivatives) if v.size),
        indicators=tuple(d.variables[e.name] for e in d.indicators),
        n_indicators=d.n_indicators,
        groups=tuple(OutputGroup(tuple(vs), inputs) for inputs, vs in groups.items()),
        kept=tuple(kept),
        triggers=setup.triggers,
        untouched=setup.untouched,
    )


def _inputs_of(setup: Setup, v: Variable) -> tuple[int, ...]:
    """Places of the inputs an output depends on."""
    d = setup.description
    listed = d.dependencies(v.name) if v.causality == "output" else None
    if listed is None:
        return tuple(range(len(d.inputs)))
    return tuple(k for k, u in enumerate(d.inputs) if u.name in listed)


def model_start(setup: Setup) -> ModelStart:
    """States and nominal values after initialisation with the start values, from an instance made for it."""
    component = setup.component()
    try:
        unit = _unit(setup, ports_of(setup), component, None)
        try:
            return unit.found_start(setup.parameter_start)
        finally:
            unit.close()
    finally:
        component.close()


def _unit(setup: Setup, ports: Ports, component: Any, start: ModelStart | None) -> ModelExchangeUnit:
    rounds = partial(setup.rounds, component, setup.outputs)
    inputs = setup.input_start[: ports.nu]
    return ModelExchangeUnit(
        component,
        setup.description,
        ports,
        setup.defaults,
        inputs,
        setup.texts,
        rounds,
        start,
        setup.stop_time,
        setup.clock,
    )


def define_model_exchange(b: Equations, setup: Setup, start: ModelStart) -> None:
    """Declare ports, states, parameters and events."""
    ports, nx = ports_of(setup), len(start.states)
    inputs, parameters = setup.declare_inputs(b), setup.declare_parameters(b)
    levels = joined([np.floor(u + 0.5) for u in inputs[len(ports.inputs) :]])
    inputs = inputs[: len(ports.inputs)]
    states, at = [], 0
    for v in ports.states:
        place = slice(at, at + v.size)
        nominal = start.nominals[place]
        states.append(b.continuous(v.name, initial=start.states[place], size=v.size, nominal=nominal))
        at += v.size

    def make() -> ModelExchangeUnit:
        return _unit(setup, ports, setup.component(), start)

    def opaque(name: str, argument: Any, size: int, of: Any, jacobian: Any = None) -> Any:
        slope = None if jacobian is None else partial(_asked, jacobian)
        called = setup.compiles and not (name == "event" and setup.description.clocks)
        compiled = partial(_compiled, name.upper(), 0) if called else None
        value, by_time = partial(_asked, of), partial(_by_time, of)
        return b.opaque(name, value, argument, size, slope, None, make, setup.called, compiled, by_time)

    unit = ModelExchangeUnit
    p = joined(parameters)
    argument = joined([*states, *inputs, p])
    if nx:
        rates = opaque("derivatives", argument, nx, unit.derivatives, unit.rates_jacobian)
        at = 0
        for state in states:
            b.derivative(state, rates[at : at + state.size])
            at += state.size
    nz = ports.n_indicators
    z = np.zeros(0)
    if nz:
        z = opaque("indicators", argument, nz, unit.indicators, unit.indicators_jacobian)
    asked: list[Any] = []
    if setup.interface.needs_completed_step:
        step = opaque("completed", argument, 1, unit.completed_step)
        asked = [b.accepted("steps@event", step, 0.0)]
        b.private(*asked)
    read = joined([*_discrete(ports, inputs), p, *asked, levels])
    kept = _events(b, setup, ports, states, z, read, joined([argument, levels]), opaque)
    _outputs(b, setup, ports, states, inputs, p, make, kept)


def joined(parts: list[Any]) -> Any:
    """Join vectors into one."""
    filled = [part for part in parts if part.size]
    return np.concatenate(filled) if filled else np.zeros(0)


def _discrete(ports: Ports, inputs: list[Any]) -> list[Any]:
    """Inputs whose changes are events; clocked ones wait for their clocks."""
    return [u for v, u in zip(ports.inputs, inputs, strict=True) if not v.continuous and not v.clocks]


def _events(
    b: Equations,
    setup: Setup,
    ports: Ports,
    states: list[Any],
    z: Any,
    read: Any,
    argument: Any,
    opaque: Callable[..., Any],
) -> Any:
    """Marks, and the event of the FMU that follows a new one; `read` is what it reads at events only.

    Returns the outputs that events give.
    """
    nx = ports.nx
    marks = []
    indicators = [f"indicator {k}" for k in range(ports.n_indicators)]
    for k in range(ports.n_indicators):
        mark = b.mode(f"indicator{k}@event", 0.0)
        b.when(z[k], {mark: 1.0 - mark}, name=indicators[k], by_value=True, follow_time=True)
        marks.append(mark)
    due = b.mode("due@event", 0.0)
    time = b.event_at("time@event", 0.0, lambda _: {due: 1.0 - due}, "time event")  # the first is the start
    begun, ended = b.mode("begun@event", 0.0), b.mode("ended@event", 0.0)
    rounds, jumped = b.rounds_in_loop("rounds@event"), b.mode("jumped@event", 0.0)
    now = joined([due, *marks, read, rounds])
    seen = b.mode("seen@event", np.zeros(now.size), size=now.size)
    news = np.where(now != seen, 1.0, 0.0)
    repeated = np.where(jumped[0] > 0.5, 0.0, news[-1])  # what follows a jump of states comes after it
    new = np.where(begun[0] > 0.5, np.sum(news[:-1]) + repeated, news[0])
    request = np.where(new > 0.5, np.where(rounds[0] > 0.5, IN_LOOP, 1.0), 0.0)
    count = b.mode("count@event", 0.0)  # no two events are asked for with the same numbers
    b.private(*marks, time, due, begun, ended, seen, count, rounds, jumped)
    asked = joined([argument, count, np.reshape(request, 1)])
    n_kept = sum(v.size for v in ports.kept)
    found = opaque("event", asked, nx + 2 + n_kept, ModelExchangeUnit.event)
    pairs, at = [], 0
    for state in states:
        pairs.append((state, found[at : at + state.size]))
        at += state.size
    moved = np.sum(np.where(found[:nx] != joined(states), 1.0, 0.0)) if nx else 0.0
    pairs += [(time, found[nx]), (ended, found[nx + 1]), (seen, now), (begun, 1.0), (count, count + 1.0)]
    pairs += [(jumped, np.where(begun[0] * moved > 0.5, 1.0, 0.0))]
    kept = np.zeros(0)
    if n_kept:
        kept = b.mode("outputs@event", np.zeros(n_kept), size=n_kept)
        b.private(kept)
        pairs.append((kept, found[nx + 2 :]))
    # what another event of the same round changes is new still: two events by turns, to ask again
    odd = count[0] - 2.0 * np.floor(0.5 * count[0])
    for turn in (1.0 - odd, odd):
        b.when(
            request * turn - 0.5, pairs, direction="rising", name="event", anew=indicators, follow_time=True
        )
    b.stop(ended[0] - 0.5, setup.end_message, "rising")
    b._eager()  # it may end the run at its start
    return kept


def _outputs(
    b: Equations,
    setup: Setup,
    ports: Ports,
    states: list[Any],
    inputs: list[Any],
    p: Any,
    make: Callable[[], ModelExchangeUnit],
    kept: Any,
) -> None:
    """States are shown as they are; other outputs are asked for, with those of the same inputs at once."""
    shown: dict[tuple[str, int], Any] = {
        (v.type, v.reference): x for v, x in zip(ports.states, states, strict=True)
    }
    for k, group in enumerate(ports.groups):
        size = sum(v.size for v in group.variables)
        argument = joined([*states, *(inputs[i] for i in group.inputs), p])
        value = partial(_of_group, ModelExchangeUnit.outputs, k)
        slope = partial(_of_group, ModelExchangeUnit.outputs_jacobian, k)
        compiled = partial(_compiled, "OUTPUTS", k) if setup.compiles else None
        name = f"outputs{k}"
        by_time = partial(_by_time, partial(_group_at, k))
        y = b.opaque(name, value, argument, size, slope, None, make, setup.called, compiled, by_time)
        at = 0
        for v in group.variables:
            shown[v.type, v.reference] = y[at : at + v.size]
            at += v.size
    at = 0
    for v in ports.kept:
        shown[v.type, v.reference] = kept[at : at + v.size]
        at += v.size
    for v in setup.outputs:
        b.output(v.name, shown[v.type, v.reference], unit=setup.unit_of(v))


# Functions that a run calls with its unit at a time of the run, see `Equations.opaque`.
def _asked(of: Callable[..., Any], unit: ModelExchangeUnit, t: float, a: np.ndarray) -> Any:
    with unit.alone():
        return of(unit, unit.clock.at(t), a)


def _of_group(of: Callable[..., Any], group: int, unit: ModelExchangeUnit, t: float, a: np.ndarray) -> Any:
    with unit.alone():
        return of(unit, group, unit.clock.at(t), a)


def _by_time(of: Callable[..., Any], unit: ModelExchangeUnit, t: float, a: np.ndarray) -> Any:
    with unit.alone():
        return unit.by_time(lambda s, b: of(unit, s, b), unit.clock.at(t), a)


def _group_at(group: int, unit: ModelExchangeUnit, t: float, a: np.ndarray) -> Any:
    return unit.outputs(group, t, a)


def _compiled(
    what: str, group: int, unit: ModelExchangeUnit, runtime: Any, interrupt: Callable[[BaseException], None]
) -> Any:
    """The compiled call that the native engine uses instead of a Python function, and what begins a run."""
    found = unit.compiled
    if found is None:
        from cosim.fmi.compiled_unit import compiled_unit  # loads the runtime's interface

        found = compiled_unit(unit, runtime, interrupt)
    call = None if found is None else found.function(what, group)
    return None if call is None else (call, found.initialise)
