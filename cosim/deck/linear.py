"""Simulate with analysis_type Linear: A, B, C, D about the present state, eigenvalues and modes, files.

Inputs are the chosen Control_PlantInputs, about the values their own expressions have there, and count as
independent; outputs are the chosen Control_PlantOutputs. States are independent coordinates, their rates,
then those of control elements; with ``pstate_id`` they are the variables of a Reference_PlantState.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.errors import PlantloopError
from blocks.files import write_whole
from cosim.analysis.linear import linearize
from cosim.analysis.modes import Modes, modes_of
from cosim.analysis.operating import model_of
from cosim.block_alone import ALONE
from cosim.deck.outcome import DeckStep, LinearModel
from cosim.deck.stage import moved_context, system_of, unsampled
from cosim.run.context import Context
from cosim.run.named_values import set_input
from cosim.simulation import Simulation
from plant import Plant
from plant.elements import (
    FORCES,
    Element,
    Force_Field,
    Force_Penalty,
    Param_Linear,
    Reference_PlantState,
    Simulate,
)
from plant.elements.element import attributes_of
from plant.ports import Port, Ports

if TYPE_CHECKING:
    import control

    from cosim.deck.stage import Stage

STATES = "plant_states"  # name of the port for the variables of a Reference_PlantState
AT_REST = 1e-6  # units of a state per s: a slower state counts as at rest
NO = ("NO", "FALSE", "OFF", "NONE")
DAMPING = ("damping", "penalty1", "cx", "cy", "cz", "ctx", "cty", "ctz")
"""Attributes of force elements that damp."""
FIELD_DAMPING, NONE = "c_matrix", "0 0 0 0 0 0"
"""What damps in a linear Force_Field, and the same without damping."""


def linear(stage: Stage, command: Simulate) -> DeckStep:
    """Linearise at the present state, and write the files that Param_Linear asks for."""
    found = stage.parameters.get(Param_Linear.tag)
    settings = found if isinstance(found, Param_Linear) else Param_Linear()
    plant = _with_ports(stage, settings)
    context = _context(stage, plant)
    model = linearize(plant, at=context)
    if settings.pstate_id:
        model = _in_states(model, plant.outputs[STATES], settings)
    modes = _modes(stage, settings, model)
    outcome = LinearModel(stage.time, model, modes)
    files = _write(stage, settings, outcome)
    sizes = f"{model.nstates} states, {model.ninputs} inputs, {model.noutputs} outputs"
    growth = max((m.eigenvalue.real for m in modes.modes), default=0.0)
    how = "stable" if modes.stable else f"largest real part {growth:.4g} 1/s"
    text = f"linear model at t={stage.time:g} s: {sizes}; {how}"
    moving, rate = _fastest(plant, context)
    if rate > AT_REST:
        text += f"; not at rest ({moving} is {rate:.3g}), so eigenvalues depend on the choice of coordinates"
    if files:
        text += f"; written: {', '.join(file.name for file in files)}"
    return DeckStep(command, stage.time, text, linear=outcome)


# --- ports ----------------------------------------------------------------------------------------------
def _with_ports(stage: Stage, settings: Param_Linear) -> Plant:
    """The plant in its present state with the chosen ports."""
    inputs = _chosen(stage.base.inputs, settings.pinput_id)
    outputs = _chosen(stage.base.outputs, settings.poutput_id)
    if settings.pstate_id:
        ids: list[int] = []
        for id in settings.pstate_id:
            ids += stage.model.find(Reference_PlantState, id, settings, "pstate_id").variable_id_list
        labels = tuple(f"variable_{id}" for id in ids)
        outputs = {**outputs, STATES: Port(STATES, 0, len(ids), tuple(ids), labels)}
    return replace(
        stage.plant, inputs=MappingProxyType(inputs), outputs=MappingProxyType(outputs), jumpy=(),
        requests=MappingProxyType({}),
    )  # fmt: skip


def _chosen(ports: Ports, ids: tuple[int, ...]) -> dict[str, Port]:
    return {name: unsampled(port) for name, port in ports.items() if not ids or port.id in ids}


def _context(stage: Stage, plant: Plant) -> Context:
    """A context of a plant with these ports, in the present state of the deck."""
    system = model_of(plant).system
    context = moved_context(system, stage.system, stage.context, stage.time)
    for name, value in _own_values(stage, plant).items():
        set_input(system, context, name, value)
    return context


def _fastest(plant: Plant, context: Context) -> tuple[str, float]:
    """The state that changes fastest, and its rate."""
    model = model_of(plant, at=context)
    model.find_unknowns()
    derivative = model.system.function("derivative", lambda: [model.system.derivative])
    rates = np.abs(np.array(derivative(*model.arguments()), dtype=float).ravel())
    if not len(rates):
        return "", 0.0
    k = int(np.argmax(rates))
    return f"the rate of {model.state_names[k]}", float(rates[k])


def _own_values(stage: Stage, plant: Plant) -> dict[str, np.ndarray]:
    """Present values of the variables of the inputs, by port."""
    if not plant.inputs:
        return {}
    look = replace(stage.plant, outputs=plant.inputs, requests=MappingProxyType({}))
    system = system_of(look)
    sim = Simulation(system, engine="reference")
    context = moved_context(system, stage.system, stage.context, stage.time)
    for name, value in stage.options.inputs.items():
        set_input(system, context, name, value)
    sim.restore(context)
    sim.advance(sim.time)
    return {name: sim.value(f"{ALONE}.{name}") for name in plant.inputs}


def _in_states(model: control.StateSpace, port: Port, settings: Param_Linear) -> control.StateSpace:
    """The model with the last outputs, those of a Reference_PlantState, as its states."""
    import control

    n, p = model.nstates, model.noutputs - port.size
    S = model.C[p:]
    if port.size != n or np.linalg.matrix_rank(S) < n or model.D[p:].any():
        raise PlantloopError(
            f"{settings.where}: pstate_id={settings.pstate_id[0]}: the {port.size} variables do not make the "
            f"{n} states of the linear model.",
            path=settings.where,
            value=port.variables,
            hint=f"List {n} variables that are independent and do not depend on inputs directly; the model's "
            f"own states are {', '.join(model.state_labels)}.",
        )
    inverse = np.linalg.inv(S)
    return control.StateSpace(
        S @ model.A @ inverse, S @ model.B, model.C[:p] @ inverse, model.D[:p], states=list(port.labels),
        inputs=model.input_labels, outputs=model.output_labels[:p], name=model.name,
        remove_useless_states=False,
    )  # fmt: skip


# --- modes ----------------------------------------------------------------------------------------------
def _modes(stage: Stage, settings: Param_Linear, model: control.StateSpace) -> Modes:
    if not settings.disable_damping:
        return modes_of(model)
    undamped: list[Element] = []
    for same in stage.model.elements.values():
        undamped += [e for e in map(_undamped, same.values()) if e is not None]
    base = replace(stage.plant, inputs=MappingProxyType({}), outputs=MappingProxyType({}), jumpy=())
    changed = stage.model.changed(*undamped)
    plant = replace(base, model=changed)
    return modes_of(linearize(plant, at=_context(stage, plant)))


def _undamped(element: Element) -> Element | None:
    """A force without its damping; None if it has none."""
    own: dict[str, Any] = {
        name: 0.0 for name in DAMPING if name in attributes_of(type(element)) and getattr(element, name)
    }
    if isinstance(element, Force_Field):
        own["attributes"] = tuple(
            (n, NONE if n.lower() == FIELD_DAMPING else v) for n, v in element.attributes
        )
    return replace(element, **own) if own and isinstance(element, (*FORCES, Force_Penalty)) else None


# --- files ----------------------------------------------------------------------------------------------
def _write(stage: Stage, settings: Param_Linear, outcome: LinearModel) -> list[Path]:
    """Write the files that Param_Linear does not switch off, if the run has a folder."""
    folder = stage.options.folder
    if folder is None:
        return []
    stage.linear_count += 1
    stem = stage.model.name + (f"_{stage.linear_count}" if stage.linear_count > 1 else "")
    texts: dict[str, str] = {}
    if (settings.write_matlabfiles or "").upper() not in NO:
        texts |= {f".{name.lower()}": _matrix(getattr(outcome.model, name)) for name in "ABCD"}
        m = outcome.model
        named = (("states", m.state_labels), ("inputs", m.input_labels), ("outputs", m.output_labels))
        texts[".tag"] = "".join(f"{what}: {', '.join(names)}\n" for what, names in named)
    if (settings.write_eig_info or "").upper() not in NO:
        texts |= {".eig": outcome.modes.table() + "\n", ".tab": outcome.modes.shapes() + "\n"}
    files = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for suffix, text in texts.items():
            files.append(folder / f"{stem}{suffix}")
            write_whole(files[-1], text)
    except OSError as error:
        raise PlantloopError(
            f"cannot write the linear model into '{folder}': {error.strerror or error}.",
            path=str(folder),
            hint="Choose another folder with out= (--out).",
        ) from None
    return files


def _matrix(values: Any) -> str:
    """Write rows of numbers that MATLAB's load and NumPy's loadtxt read, exact."""
    rows = np.atleast_2d(np.asarray(values, dtype=float))
    return "".join(" ".join(repr(float(v)) for v in row) + "\n" for row in rows)
