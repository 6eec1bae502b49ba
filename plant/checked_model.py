"""What is made of a model before its start is found: script data, formulas, mechanism and ports, checked."""

from __future__ import annotations

from dataclasses import dataclass

from plant.elements import Model
from plant.equations.asked_bodies import mention_idle_uses, refuse_inactive_bodies
from plant.equations.controls import check_controls
from plant.equations.out_of_plane import with_what_acts
from plant.equations.port_units import with_units
from plant.equations.unsupported import mention_ignored, mention_massless, mention_shifted_too_far
from plant.expressions.formulas import Formulas, formulas_of
from plant.formats.motionsolve.described import description_of
from plant.mechanics.mechanism import Mechanism, mechanism_of
from plant.ports import Ports, ports_of
from plant.routines.script_data import filled


@dataclass(frozen=True)
class CheckedModel:
    """A model that can become a plant.

    model : Model           with the data that scripts fill in
    formulas : Formulas     its parsed expressions
    mechanism : Mechanism   the spanning tree
    inputs, outputs, requests : mapping of name to Port
    """

    model: Model
    formulas: Formulas
    mechanism: Mechanism
    inputs: Ports
    outputs: Ports
    requests: Ports


def checked_model(model: Model, absolute: bool) -> CheckedModel:
    """Refuse what cannot be a plant, and warn of what it ignores.

    absolute : every body is a link of its own, and planar ones are where nothing acts across their plane

    Raises
    ------
    ModelError    everything wrong with the model, with file and line
    """
    model = filled(model)
    mention_ignored(model)
    formulas = formulas_of(model)
    refuse_inactive_bodies(model, formulas)
    mention_shifted_too_far(model)
    described = description_of(model)
    if absolute:
        described = with_what_acts(described, model, formulas)
    mechanism = mechanism_of(described, absolute=absolute)
    mention_massless(mechanism)
    mention_idle_uses(model, formulas)
    check_controls(model)
    return CheckedModel(model, formulas, mechanism, *with_units(ports_of(model), model, formulas))
