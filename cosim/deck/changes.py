"""Commands that change the model between simulations: switches, elements, parameters, other models."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from blocks.contract.user_lines import warn_user
from cosim.deck.left_out import left_out
from cosim.deck.outcome import DeckStep
from plant.elements import (
    Activate,
    Deactivate,
    Element,
    Load_Model,
    Model,
    Modification,
    Save,
    Simulate,
)
from plant.elements.element import Idle
from plant.reporting import PlantWarning

if TYPE_CHECKING:
    from cosim.deck.stage import Stage


USED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "Param_Linear": frozenset(
            {"disable_damping", "pinput_id", "poutput_id", "pstate_id", "write_matlabfiles", "write_eig_info"}
        ),
        "Param_Simulation": frozenset(),
        "Param_Static": frozenset({"method", "max_ke_tol", "max_num_iter"}),
        "Param_Transient": frozenset({"integrator_type", "integr_tol", "h_max"}),
    }
)
"""Attributes of the parameter elements that change something here."""


_BODY = frozenset(f"{kind}_ic_{axis}{flag}" for kind in "vw" for axis in "xyz" for flag in ("", "_flag"))
_MOTION = frozenset({"ic_disp", "ic_vel"})

STARTS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "Body_Point": _BODY,
        "Body_Rigid": _BODY | {"vm_id", "wm_id"},
        "Control_Diff": frozenset({"ic", "ic_dot"}),
        "Inertia_Wheel": frozenset({"w_ic"}),
        "Motion_Joint": _MOTION,
        "Motion_Marker": _MOTION,
        "Reference_Variable": frozenset({"ic"}),
    }
)
"""Attributes that say how a model starts, and nothing behind its first analysis."""


def changed_by(command: Activate | Deactivate | Modification, model: Model) -> Element:
    """The element of a model as a command leaves it."""
    if isinstance(command, Modification):
        return command.apply(model)
    return command.switched(model, on=isinstance(command, Activate))


def activate(stage: Stage, command: Activate) -> DeckStep:
    """Switch an element on; constraints that this adds are closed."""
    return _changed(stage, command, "on")


def deactivate(stage: Stage, command: Deactivate) -> DeckStep:
    """Switch an element off."""
    return _changed(stage, command, "off")


def modify(stage: Stage, command: Modification) -> DeckStep:
    """Give a model element other attributes."""
    late = [name for name, _ in command.changes if name in STARTS.get(command.element, ())]
    if late and stage.begun:
        warn_user(
            f"{command.where}: {', '.join(late)} changes nothing, because simulations go on from where the "
            "model stands. Write it before the first Simulate.",
            PlantWarning,
        )
    _mention_idle(command, changed_by(command, stage.model))
    return _changed(stage, command, f"has another {', '.join(name for name, _ in command.changes)}")


def _mention_idle(command: Modification, element: Element) -> None:
    """Warn of attributes in a command that change nothing of the element."""
    changes = dict(command.changes)
    written = {*changes, *(name for name, _ in changes.get("attributes", ()))}
    idle = [
        replace(i, names=names)
        for i in element.idle()
        if (names := tuple(n for n in i.names if n in written))
    ]
    if "is_active" in written and not element.switchable:
        idle.append(Idle(("is_active",), f"{element.tag} elements cannot be switched", "delete it"))
    for each in idle:
        warn_user(f"{command.where}: {each}.", PlantWarning)


def _changed(stage: Stage, command: Activate | Deactivate | Modification, what: str) -> DeckStep:
    element = changed_by(command, stage.model)
    under_way = stage.begun
    moved = stage.change(element)
    if under_way and moved.far:
        warn_user(
            f"{command.where}: at t={stage.time:g} s constraints were open{moves_in_words(moved.far)}, at "
            "once and to the pose that Newton's method finds from there, maybe another one in other "
            "coordinates. Bring the markers together first, as with a spring or a motion.",
            PlantWarning,
        )
    text = f"{element.tag} {element.id} {what}" + moves_in_words(moved.by)
    return DeckStep(command, stage.time, text, moved=moved.by)


def moves_in_words(moved: dict[str, float]) -> str:
    """The moves of bodies in words, "" if none moved."""
    most = sorted(moved.items(), key=lambda item: -abs(item[1]))
    listed = ", ".join(f"{name} by {d:.6g}" for name, d in most[:4])
    return f"; constraints moved {listed}" + (f" and {len(most) - 4} more" * (len(most) > 4)) if most else ""


def assembly(stage: Stage, command: Simulate) -> DeckStep:
    """Close all constraints at the present time, positions and velocities."""
    moved = stage.assemble()
    plant = stage.plant
    text = f"assembled at t={stage.time:g} s, {stage.dof} degrees of freedom{moves_in_words(moved.by)}"
    redundant = [] if plant.assembly is None else list(plant.assembly.redundant)
    if redundant:
        text += f"; {len(redundant)} constraints repeat others"
    return DeckStep(command, stage.time, text, moved=moved.by)


def parameters(stage: Stage, command: Element) -> DeckStep:
    """Settings for the simulations that follow: attributes of the command replace earlier ones."""
    before = stage.parameters.get(command.tag)
    stage.parameters[command.tag] = command if before is None else _over(before, command)
    unused = sorted(name for name, _ in _written(command) if name not in USED[command.tag])
    text = f"; not used: {', '.join(unused)}" if unused else ""
    return DeckStep(command, stage.time, f"{command.tag} in force{text}")


def _over(before: Element, command: Element) -> Element:
    return replace(before, **dict(_written(command)), source=command.source)


def _written(command: Element) -> list[tuple[str, Any]]:
    """The attributes given in a command, with their values."""
    own = [f for f in fields(command) if f.name not in ("id", "label", "source")]
    return [(f.name, getattr(command, f.name)) for f in own if getattr(command, f.name) != f.default]


def add(stage: Stage, command: Element) -> DeckStep:
    """Add a model element found among the commands, such as an array of print times."""
    stage.model = stage.model.changed(command)
    return DeckStep(command, stage.time, f"{command.tag} {command.id} added")


def save(stage: Stage, command: Save) -> DeckStep:
    """Write the model block in the present state; warns of state that the file format cannot hold."""
    from plant.formats.motionsolve.writer import model_text

    text = model_text(stage.plant, *stage.parts(), stage.values())
    for what in left_out(stage):
        warn_user(f"{command.where}: {what}.", PlantWarning)
    file = stage.options.files.write(command, text)
    stage.saved[command.model_file] = text
    where = "" if file is None else f" as {file}"
    return DeckStep(command, stage.time, f"model saved{where}")


def load_model(stage: Stage, command: Load_Model) -> DeckStep:
    """Continue with another model, at the start time of the simulation that follows."""
    stage.load(loaded(stage, command))
    return DeckStep(command, stage.time, f"model {command.model_file} loaded")


def loaded(stage: Stage, command: Load_Model) -> Model:
    """The model a command names: one saved in this run, or a file beside the deck."""
    from plant.formats.motionsolve.reader import read_model

    if command.model_file in stage.saved:
        model = read_model(stage.saved[command.model_file].encode())
        return replace(model, name=Path(command.model_file).stem)
    return read_model(stage.options.files.read(command, stage.model))
