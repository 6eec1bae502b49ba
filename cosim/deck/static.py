"""Simulate with analysis_type Static: equilibrium at one time, or at a sequence of times (quasi-static)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError
from cosim.analysis.attrition import attrition
from cosim.analysis.operating import SystemAtPoint, model_of
from cosim.analysis.statics import ROUNDS, Equilibrium, StaticsError, equilibrium_near, pace
from cosim.block_alone import ALONE
from cosim.deck.outcome import DeckStep, joined
from cosim.deck.stage import moved_context, parts_of
from cosim.deck.transient import end_of, times_of
from cosim.result.result import Result
from cosim.run.context import Context
from cosim.run.named_values import set_input
from cosim.simulation import Simulation
from plant.elements import FORCES, Model, Param_Static, Reference_Marker, Simulate
from plant.equations.frozen_time import TIME, kinetic_energy

if TYPE_CHECKING:
    from cosim.deck.stage import Stage

ENERGY = 1e-4  # energy unit of the model: the default of max_ke_tol
SWINGS = 50
QUARTER = 0.25  # of the period of the fastest motion: the first check of the energy in attrition
FALLING = 100.0  # times the period of the slowest: a swing without a peak by then is a fall


def static(stage: Stage, command: Simulate) -> DeckStep:
    """Find the equilibrium at the present time, or at a sequence of times up to the command's end time.

    Raises
    ------
    StaticsError       not found; names the command, the time, and the body that would move most
    """
    start, end = stage.time, end_of(stage, command)
    if end < start:
        raise PlantloopError(
            f"{command.where}: end_time={end:g} is before the present time, {start:g} s.",
            path=command.where, value=end, hint="Leave it out for an equilibrium at the present time.",
        )  # fmt: skip
    times = [start] if end == start else list(times_of(stage, command, start, end))
    rows: list[Result] = []
    rounds = 0
    found = None
    for k, t in enumerate(times):
        found, swings, model = equilibrium(stage, command, float(t), quasi=len(times) > 1)
        rounds += found.rounds + swings
        if k % (command.print_increment or 1) == 0 or k == len(times) - 1:
            rows.append(_row(model, float(t)))
    assert found is not None
    when = f"at t={start:g} s" if len(times) == 1 else f"at {len(times)} times up to {end:g} s"
    text = f"static equilibrium {when} in {rounds} rounds"
    if not found.stable:
        text += (
            f"; it is unstable (a deviation grows like exp({np.sqrt(found.growth):.4g} t)); "
            'Param_Static method="MKEAM" finds a stable one'
        )
    return DeckStep(command, stage.time, text, joined(stage.model.name, rows))


def _row(model: SystemAtPoint, time: float) -> Result:
    """One row with the outputs of the plant at rest, whatever motions would do next."""
    context = model.context.copy()
    context.t, context.started = time, False
    sim = Simulation(model.system, engine="reference")  # one row is not worth compiling
    sim.restore(context)
    sim.log([time])
    sim.advance(time)
    result = sim.result()
    signals = {name: v for name, v in result.signals.items() if name not in (TIME, f"{ALONE}.{TIME}")}
    return replace(result, signals=signals)


def equilibrium(
    stage: Stage, command: Simulate, time: float, quasi: bool
) -> tuple[Equilibrium, int, SystemAtPoint]:
    """Bring the deck to equilibrium at a time [s]; returns the number of swings, and the model at rest."""
    settings = stage.parameters.get(Param_Static.tag)
    limits = settings if isinstance(settings, Param_Static) else Param_Static()
    model = model_of(stage.statics, inputs=(), outputs=(), begun=False)
    context = moved_context(model.system, stage.system, stage.context, stage.time)
    for name, value in stage.options.inputs.items():
        set_input(model.system, context, name, value)
    model.context.assign(context)
    set_input(model.system, model.context, TIME, time)
    model.context.t = time  # the time of what is sampled
    swings = 0
    try:
        if limits.method == "MKEAM" and not quasi and stage.dof:
            swings = _swing(stage, model, limits)
        found = equilibrium_near(model, max(ROUNDS, limits.max_num_iter or 0))
    except StaticsError as error:
        raise _placed(stage, command, time, error) from None
    stage.rest_at(model.system, model.context, time)
    return found, swings, model


def _swing(stage: Stage, model: SystemAtPoint, limits: Param_Static) -> int:
    """Let energy attrition take the model near a stable equilibrium."""
    plant, system = stage.statics, model.system
    energy = kinetic_energy(plant.mechanism)

    def energy_of(x: np.ndarray) -> float:
        at = Context.initial(system)
        at.x[:] = x
        q, qd = (np.concatenate([np.zeros(0), *part]) for part in parts_of(plant, system, at))
        return float(energy(q, qd))

    fast, slow = pace(model)
    sim = Simulation(system, engine=stage.options.settings.engine)
    sim.restore(model.context.copy())
    context, done = attrition(
        sim, energy_of, QUARTER * fast, FALLING * slow, limits.max_num_iter or SWINGS,
        limits.max_ke_tol or ENERGY,
    )  # fmt: skip
    here = model.context.t
    model.context.assign(context)
    model.context.t = here
    return done.swings


def _placed(stage: Stage, command: Simulate, time: float, error: StaticsError) -> StaticsError:
    """The error with the command, and the joint and body of the worst state."""
    links = [link for link in stage.plant.mechanism.links if link.name == error.part]
    who = ""
    if links:
        body = links[0].body.source
        acting = ", ".join(_forces_on(stage.model, (body.tag, body.id))) or "no force element"
        who = f" It moves {body.where} through {links[0].where}; on that body acts {acting}."
    hint = "" if error.hint is None else f" {error.hint}"
    text = str(error).removesuffix(hint)
    return StaticsError(
        f"{command.where}: at t={time:g} s {text}{who}", error.state, error.part,
        path=command.where, time=time, value=error.value, hint=error.hint,
    )  # fmt: skip


def _forces_on(model: Model, body: tuple[str, int]) -> Iterator[str]:
    """Force elements with a marker on a body, by type and id."""
    for kind in FORCES:
        for force in model.all(kind):
            ids = [getattr(force, n, None) for n in ("i_marker_id", "j_marker_id", "marker_id")]
            ids.append(getattr(force, "j_floating_marker_id", None))
            if any(id and model.find(Reference_Marker, id).body == body for id in ids):
                yield f"{force.tag} {force.id}"
