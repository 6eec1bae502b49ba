"""The state of a deck between two commands: its model, the plant made of it, and the plant's state.

The plant stands alone: what a Control_PlantInput names keeps the value its own expression gives, unless a
value for the port is given. Sampling of ports concerns a controller, of which there is none.

When elements are switched or changed the plant is built anew. Bodies stay where they are and keep their
velocities as far as constraints let them; states of control elements, turns and stored sensor values carry
over by name.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from blocks.contract.memories import CountedInstants, Memory
from cosim.block_alone import ALONE, system_alone
from cosim.deck.deck_files import DeckFiles
from cosim.deck.full_turns import counted, go_on
from cosim.names import Names
from cosim.progress import Progress
from cosim.run.context import Context
from cosim.run.named_values import set_input
from cosim.settings import RunSettings
from cosim.simulation import Simulation
from cosim.system import System
from plant import Plant
from plant.assembly.carry import Key, MovedBodies, PoseAndTwist, carried, motions_of, moved_bodies
from plant.elements import (
    Element,
    Model,
    Param_Linear,
    Param_Simulation,
    Param_Static,
    Param_Transient,
    Post_Request,
    Sensor_Event,
)
from plant.ports import Port
from plant.reporting import PlantWarning

REPEATS = f"{ALONE}.repeats"  # names of memories of how constraints repeat each other


@dataclass(frozen=True)
class Options:
    """Options of a run of a deck; see `run_deck`."""

    settings: RunSettings = field(default_factory=RunSettings)
    coordinates: str = "joint"
    stabilisation: Any = "projection"
    trust: bool = False
    inputs: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None
    files: DeckFiles = field(default_factory=lambda: DeckFiles(Path(), None, trust=False))
    progress: Progress | bool | None = None


class Stage:
    """The present model, plant, time and state of a deck.

    model : Model; base : Plant     with all ports, as other programs would have it
    plant : Plant                   alone, in the state the last change left
    system : System; context : Context      what simulations run, and where it stands
    begun : bool                    an analysis was run; before, changes are changes of the design
    start_time : s                  where its first simulation begins, and the design is what TIME says then
    parameters : tag -> element     Param_... elements in force
    """

    def __init__(self, model: Model, options: Options, start_time: float = 0.0) -> None:
        self.options, self.start_time = options, start_time
        self.saved: dict[str, str] = {}
        self.linear_count = 0
        self.load(model)

    def load(self, model: Model) -> None:
        """Load a model at `start_time`."""
        self.parameters: dict[str, Element] = {}
        for kind in (Param_Linear, Param_Simulation, Param_Static, Param_Transient):
            for element in model.elements.get(kind.tag, {}).values():  # the last one stands
                self.parameters[kind.tag] = element
        self.begun = False
        self._design(_with_results(model))

    def _design(self, model: Model) -> None:
        """Start from the design of a model."""
        self.model = model
        self.base = self._base(model, first=True)
        self._check_inputs()
        plant = self._alone(self.base)
        if self.base.jumpy:  # the plant was assembled with zero inputs
            start = self.base.start, self.base.rates
            plant = carried(plant, self.base, *start, self.start_time, under_way=False)
        self._stand(plant)
        self.context = Context.initial(self.system)
        self.context.t = self.start_time
        self._set_inputs()

    @property
    def time(self) -> float:
        """Present time [s]."""
        return self.context.t

    @property
    def dof(self) -> int:
        """Degrees of freedom."""
        plant = self.plant
        return plant.mechanism.dof if plant.assembly is None else plant.assembly.dof

    # --- building -------------------------------------------------------------------------------------
    def _base(self, model: Model, first: bool = False) -> Plant:
        o = self.options
        with warnings.catch_warnings():
            if not first:
                warnings.simplefilter("ignore", PlantWarning)  # shown when the deck was read
            return Plant.from_model(model, o.trust, o.coordinates, o.stabilisation, time=self.start_time)

    def _alone(self, base: Plant) -> Plant:
        """The plant with its given inputs, and without sampling."""
        given = {n: unsampled(p) for n, p in base.inputs.items() if n in self.options.inputs}
        outputs = {n: unsampled(p) for n, p in base.outputs.items()}
        jumpy = base.jumpy if given else ()
        return replace(base, inputs=MappingProxyType(given), outputs=MappingProxyType(outputs), jumpy=jumpy)

    def _check_inputs(self) -> None:
        known = Names("plant input", "the deck", self.base.inputs, parts=False)
        for name in self.options.inputs:
            known.whole(name)

    def _stand(self, plant: Plant) -> None:
        self.plant = plant
        self.system = system_of(plant)
        self.__dict__.pop("statics", None)

    def _set_inputs(self) -> None:
        for name, value in self.options.inputs.items():
            set_input(self.system, self.context, name, value)

    # --- state ----------------------------------------------------------------------------------------
    def parts(self) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """Coordinates and rates of every link."""
        return parts_of(self.plant, self.system, self.context)

    def _drawn(self) -> dict[Key, PoseAndTwist]:
        """Every body at rest in the pose that the model draws."""
        links = self.plant.mechanism.links
        return {link.body.key: PoseAndTwist(link.frame, link.frame, np.zeros(6)) for link in links}

    def _bodies(self) -> dict[Key, PoseAndTwist]:
        return motions_of(self.plant, *self.parts())

    def values(self) -> dict[str, np.ndarray]:
        """Present value of every state, by its name in the plant."""
        prefix = f"{ALONE}."
        return {n.removeprefix(prefix): self.context.x[s.index].copy() for n, s in self.system.states.items()}

    def standing(self) -> Plant:
        """The plant with all its ports, starting from the present state."""
        q, qd = self.parts()
        base = self.base
        return replace(
            self.plant,
            start=tuple(q),
            rates=tuple(qd),
            inputs=base.inputs,
            outputs=base.outputs,
            jumpy=base.jumpy,
        )

    def change(self, *elements: Element) -> MovedBodies:
        """Change elements of the model; returns how far constraints moved the bodies.

        Before the first analysis it starts from its own design and initial velocities.
        """
        if not self.begun:
            if any(self.model.elements.get(e.tag, {}).get(e.id) != e for e in elements):
                self._design(self.model.changed(*elements))
            return moved_bodies(self.plant, self._drawn(), self._bodies())
        before, self.model = self.model, self.model.changed(*elements)
        self.base = self._base(self.model)
        return self.assemble(self._alone(self.base), before)

    def assemble(self, plant: Plant | None = None, before: Model | None = None) -> MovedBodies:
        """Close all constraints of the plant, or of another in its place, at the present time.

        It is under way: what motions start from is over.

        before : Model    of the plant that another one replaces

        Returns
        -------
        moved : MovedBodies    how far bodies were moved
        """
        t, system, context, bodies = self.time, self.system, self.context, self._bodies()
        angles = {} if plant is None else counted(self.plant, self.parts()[0], system, context)
        new = carried(plant or self.plant, self.plant, *self.parts(), t, angles=angles)
        self._stand(new)
        self.context = moved_context(self.system, system, context, t)
        if plant is not None:  # other constraints repeat each other in other ways
            _renew(self.context, self.system, REPEATS)
            go_on(self.context, self.system, system, angles)
        known = (before or self.model).elements.get(Sensor_Event.tag, {})
        same = [sensor for sensor in self.model.all(Sensor_Event) if known.get(sensor.id) == sensor]
        _passed_already(self.context, self.system, context, system, same)
        place(self.context, self.system, new)
        self._set_inputs()
        return moved_bodies(new, bodies, motions_of(new, new.start, new.rates))

    def go_on_from(self, context: Context) -> None:
        """Take over the state in which a simulation of the present system ended."""
        self.context = context
        self.context.stopped = ""

    def rest_at(self, system: System, context: Context, time: float) -> None:
        """Take over the equilibrium that statics of the same plant found.

        Sensors that statics leave where they were do not fire there once more; others are as at a start.
        """
        before = self.context
        self.context = moved_context(self.system, system, context, time, also=before)
        self._set_inputs()
        if sensors := self.model.all(Sensor_Event):
            signs = self._signs()
            _passed_already(self.context, self.system, before, self.system, sensors)
            self.context.signs[self.context.signs != signs] = 0.0

    def _signs(self) -> np.ndarray:
        """Sign of every crossing (ne,) where the plant stands."""
        sim = Simulation(self.system, engine="reference")  # one instant is not worth compiling
        sim.restore(self.context.copy())
        sim.advance(self.time)
        return sim.snapshot().signs

    def simulation(self, settings: RunSettings) -> Simulation:
        """A simulation that starts from the present state of the deck."""
        sim = Simulation(self.system, settings=settings)
        sim.restore(self.context.copy())
        return sim

    @cached_property
    def statics(self) -> Plant:
        """The plant with TIME frozen."""
        from plant.equations.frozen_time import resting

        return resting(self.plant)


def unsampled(port: Port) -> Port:
    """The port without samples and holds."""
    return replace(port, sampling_period=0.0, offset_time=0.0, hold_order=0)


def system_of(plant: Plant) -> System:
    """The flat system of a plant alone, named after its model."""
    return system_alone(plant)


def parts_of(plant: Plant, system: System, context: Context) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Coordinates (nq,) and rates (nv,) of every link in a context."""
    found: tuple[list[np.ndarray], list[np.ndarray]] = ([], [])
    for link in plant.mechanism.links:
        for part, name in zip(found, ("q", "qd"), strict=True):
            slot = system.states.get(f"{ALONE}.{link.name}.{name}")
            part.append(np.zeros(0) if slot is None else context.x[slot.index].copy())
    return found


def place(context: Context, system: System, plant: Plant) -> None:
    """Set a context to a plant's start."""
    for link, q, qd in zip(plant.mechanism.links, plant.start, plant.rates, strict=True):
        for name, value in (("q", q), ("qd", qd)):
            slot = system.states.get(f"{ALONE}.{link.name}.{name}")
            if slot is not None:
                context.x[slot.index] = value


def moved_context(
    system: System, before: System, context: Context, time: float, also: Context | None = None
) -> Context:
    """A context of `system` at a time [s] that keeps every value whose name and size existed before.

    Listed instants have passed where they are not later: constraints are closed with those counts.

    also : a context of `system` itself whose memories are kept where `before` does not have them
    """
    new = Context.initial(system) if also is None else also.copy()
    new.t, new.started, new.stopped, new.step, new.error = time, False, "", 0.0, 1e-4
    new.signs[:] = 0.0
    for name, slot in system.states.items():
        old = before.states.get(name)
        if old is not None and old.size == slot.size:
            new.x[slot.index] = context.x[old.index]
    known = before.held_of(Memory)
    for name, held in system.held_of(Memory).items():
        was = known.get(name)
        if was is not None and held.memory.continues(was.memory):
            new.h[held.index] = context.h[was.index]
            new.next[held.index] = context.next[was.index]
    for name, count in system.held_of(CountedInstants).items():
        passed = count.memory.passed(time)
        new.instants[name] = int(passed[0])
        new.h[count.index] = passed
    _unknowns(system, before, context, new)
    return new


def _passed_already(
    context: Context, system: System, old: Context, before: System, sensors: Sequence[Sensor_Event]
) -> None:
    """A sensor that has fired where the plant is built anew does not fire there once more."""
    signs = {(e.unmet, e.stop): sign for e, sign in zip(before.events, old.signs, strict=True)}
    known = {sensor.unmet for sensor in sensors}
    for k, event in enumerate(system.events):
        if event.unmet in known:
            context.signs[k] = signs.get((event.unmet, event.stop), 0.0)


def _renew(context: Context, system: System, prefix: str) -> None:
    """Reset memories whose names begin with `prefix` to their initial values."""
    for name, slot in system.held.items():
        if name.startswith(prefix):
            context.h[slot.index] = context.next[slot.index] = slot.initial


def _unknowns(system: System, before: System, context: Context, new: Context) -> None:
    """Start algebraic unknowns from their last values."""
    n, m = len(new.solution), len(context.solution)
    for name, slot in system.solved.items():
        old = before.solved.get(name)
        fits = old is not None and old.size == slot.size
        if fits and slot.index.max(initial=-1) < n and old is not None and old.index.max(initial=-1) < m:
            new.solution[slot.index] = context.solution[old.index]


def _with_results(model: Model) -> Model:
    """The model; one without outputs gets those of the place and velocity of every body's centre of mass."""
    if model.all(Post_Request) or model.elements.get("Control_PlantOutput"):
        return model
    requests: list[Element] = []
    for tag in ("Body_Rigid", "Body_Point"):
        for body in model.elements.get(tag, {}).values():
            cg, name = getattr(body, "cg_id", None), body.label or f"body {body.id}"
            if cg is None or not body.is_active or getattr(body, "isground", False):
                continue
            for kind in ("displacement", "velocity"):
                label, n = f"{name} {kind}", len(requests) + 1
                requests.append(
                    Post_Request(id=n, label=label, type=f"MARKER_{kind.upper()}", i_marker_id=cg)
                )
    return model.changed(*requests) if requests else model
