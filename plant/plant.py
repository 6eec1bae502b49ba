"""The plant: a multibody model as a block whose ports are its plant inputs and outputs."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np

from blocks.block import Block, Equations
from blocks.errors import ModelError, near_miss
from blocks.hold import hold
from blocks.numpy_mode import Array, as_array
from blocks.rate import Rate
from plant.dynamics.inertia import plain_inertia, tree_inertias
from plant.dynamics.initial import initial_rates
from plant.dynamics.mechanism import GROUND, Mechanism, mechanism_of
from plant.dynamics.tree import Tree
from plant.elements import (
    Body_Point,
    Body_Rigid,
    Constraint_Coupler,
    Constraint_General,
    Control_Diff,
    Control_PlantInput,
    Control_SISO,
    Control_StateEqn,
    Element,
    Force_Field,
    Force_Penalty,
    Model,
    Motion_Joint,
    Motion_Marker,
    Post_Request,
    Reference_Variable,
    Sensor_Evaluate,
    Sensor_Event,
    UserSubroutine,
)
from plant.evaluation import Evaluation
from plant.forces import FORCES, Wrench
from plant.formulas import Formulas, formulas_of
from plant.names import slug, unique_names
from plant.notes import ModelProblems, PlantWarning
from plant.ports import Port, Ports, found_port, is_output, ports_of
from plant.spatial import cross

COORDINATES = ("joint", "absolute")
STABILISATIONS = ("projection", "baumgarte", "gamma_q")
NOT_YET: tuple[type[Element], ...] = (
    Constraint_Coupler,
    Constraint_General,
    Motion_Joint,
    Motion_Marker,
    Force_Penalty,
    Force_Field,
    Control_Diff,
    Control_SISO,
    Control_StateEqn,
    Sensor_Event,
    Sensor_Evaluate,
)
"""Elements that change the motion and that the plant cannot do yet."""


@dataclass(frozen=True, eq=False)
class Plant(Block):
    """A multibody model as a block.

    States: ``<joint>.q`` and ``<joint>.qd`` of every joint of the spanning tree, integrals of variables in
    dot_form.  qd' = accelerations by the articulated-body algorithm; q' = qd (or the quaternion's rate).
    Outputs: the variables of each Control_PlantOutput, the expressions of each Post_Request.
    Direct feedthrough: derived, as for every block.

    Make one with `Plant.read` or `Plant.from_model`::

        plant = d.add("plant", Plant.read("inverted_pendulum.xml"))
        d.connect(controller["u"], plant["control_force"])

    inputs, outputs : mapping of name to Port; requests are outputs named ``request_<label or id>``
    mechanism : Mechanism        the spanning tree; rates : initial joint rates
    warnings : tuple of str      what was ignored or assumed
    """

    model: Model
    inputs: Ports
    outputs: Ports
    mechanism: Mechanism = field(repr=False)
    formulas: Formulas = field(repr=False)
    rates: tuple[np.ndarray, ...] = field(repr=False)
    coordinates: str = "joint"
    stabilisation: str = "projection"
    tunable: tuple[str, ...] = ()
    trust: bool = False
    warnings: tuple[str, ...] = field(default=(), repr=False)

    @staticmethod
    def read(
        path: Any,
        trust: bool = False,
        coordinates: str = "joint",
        stabilisation: str = "projection",
        tunable: Sequence[str] = (),
    ) -> Plant:
        """Plant in an XML deck.

        Parameters
        ----------
        path : str, Path, open file or bytes
        trust : bool            allow scripts and libraries the model names to run (none can yet)
        coordinates : str       "joint"
        stabilisation : str     how constraints are kept: "projection", "baumgarte" or "gamma_q"
        tunable : list of str   structural numbers to be run-time parameters

        Raises
        ------
        ModelError    everything wrong with the file or the model, with file and line
        """
        from plant.xml import read_model  # lxml is slow to import, and only files need it

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PlantWarning)
            model = read_model(path if isinstance(path, (bytes, Path)) else path)
        texts = _passed_on(caught)
        plant = Plant.from_model(model, trust, coordinates, stabilisation, tunable)
        return replace(plant, warnings=(*texts, *plant.warnings))

    @staticmethod
    def from_model(
        model: Model,
        trust: bool = False,
        coordinates: str = "joint",
        stabilisation: str = "projection",
        tunable: Sequence[str] = (),
    ) -> Plant:
        """Plant of a model built in Python; arguments and errors as in `read`."""
        for name, value, known in (
            ("coordinates", coordinates, COORDINATES),
            ("stabilisation", stabilisation, STABILISATIONS),
        ):
            if value not in known:
                raise ModelError(f"{name}='{value}' is not known; {near_miss(value, known)}", value=value)
        if coordinates == "absolute":
            raise ModelError("coordinates='absolute' is not supported yet.", hint="Use coordinates='joint'.")
        if tunable:
            raise ModelError("tunable= is not supported yet.", value=tuple(tunable), hint="Leave it out.")
        _refuse_unsupported(model)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", PlantWarning)
            _mention_ignored(model)
            mechanism = mechanism_of(model)
            _refuse_massless(mechanism)
            formulas = formulas_of(model)
            rates = initial_rates(mechanism)
        texts = _passed_on(caught)
        inputs, outputs, requests = ports_of(model)
        every = MappingProxyType({**outputs, **requests})
        return Plant(
            model, inputs, every, mechanism, formulas, rates, coordinates, stabilisation, (), trust, texts
        )

    # --- asking ---------------------------------------------------------------------------------------
    def with_port(
        self,
        name: str,
        *,
        sampling_period: Rate | None = None,
        offset_time: Rate | None = None,
        hold_order: int | None = None,
    ) -> Plant:
        """The plant with other values at one port than the file's.

        Raises
        ------
        BlockError    no such port (with the near miss), or a value that is not possible
        """
        port = found_port({**self.inputs, **self.outputs}, name)
        port = port.changed(sampling_period, offset_time, hold_order)
        side = "inputs" if name in self.inputs else "outputs"
        return replace(self, **{side: MappingProxyType({**getattr(self, side), name: port})})

    @cached_property
    def initial(self) -> Mapping[str, np.ndarray]:
        """Initial value of every continuous state by name."""
        found = {f"{link.name}.q": link.q0 for link in self.mechanism.links if link.joint.nq}
        found |= {
            f"{link.name}.qd": qd for link, qd in zip(self.mechanism.links, self.rates, strict=True) if link.joint.nv
        }
        found |= {name: np.array([v.ic]) for name, v in self._integrals.items()}
        return MappingProxyType(found)

    @cached_property
    def _integrals(self) -> dict[str, Reference_Variable]:
        """Variables in dot_form, by the name of their state."""
        variables = [v for v in self.model.all(Reference_Variable) if v.dot_form]
        names = unique_names([(v.label, "variable", v.id) for v in variables])
        taken = {link.name for link in self.mechanism.links}
        return {
            f"variable_{v.id}" if name in taken else name: v for name, v in zip(names, variables, strict=True)
        }

    def info(self) -> dict[str, Any]:
        """What the model is made of, as plain data."""
        links = self.mechanism.links
        return {
            "model": self.model.name,
            "file": self.model.file,
            "formulation": f"{self.coordinates} coordinates",
            "bodies": [link.body.where for link in links],
            "joints": [
                {
                    "name": link.name,
                    "type": link.joint.name,
                    "where": link.where,
                    "parent": "ground" if link.parent == GROUND else links[link.parent].body.where,
                    "body": link.body.where,
                    "coordinates": [f"{name} [{unit}]" for name, unit in link.joint.coordinates],
                    "dof": link.joint.nv,
                }
                for link in links
            ],
            "dof": self.mechanism.dof,
            "states": {name: value.tolist() for name, value in self.initial.items()},
            "inputs": list(self.inputs.values()),
            "outputs": list(self.outputs.values()),
            "warnings": list(self.warnings),
        }

    # --- equations ------------------------------------------------------------------------------------
    def define(self, b: Equations) -> None:
        """Declare ports, states and equations."""
        links = self.mechanism.links
        inputs = self._inputs(b)
        q = [
            b.continuous(f"{link.name}.q", link.q0, labels=[name for name, _ in link.joint.coordinates])
            for link in links
            if link.joint.nq
        ]
        qd = [
            b.continuous(f"{link.name}.qd", rate, static="zero", labels=link.joint.rates)
            for link, rate in zip(links, self.rates, strict=True)
            if link.joint.nv
        ]
        integrals = {
            v.id: (b.continuous(name, v.ic, static="hold" if v.static_hold else "solve"), v)
            for name, v in self._integrals.items()
        }
        numbers = _Numbers(b, self.model)
        positions = _spread(q, [link.joint.nq for link in links])
        speeds = _spread(qd, [link.joint.nv for link in links])
        tree = Tree(self.mechanism, positions, speeds, tree_inertias(self.mechanism, numbers))
        values = Evaluation(
            b, tree, self.formulas, inputs, {id: ca.SX(z) for id, (z, _) in integrals.items()}, numbers
        )
        gravity = _gravity(values)
        forces = _loads(values)
        qdd, accelerations = tree.accelerations(gravity, forces)
        values.accelerated(accelerations, gravity)
        states, rates = iter(q), iter(qd)
        for link, here, speed, change in zip(links, positions, speeds, qdd, strict=True):
            if link.joint.nq:
                b.derivative(next(states), link.joint.qdot(here, speed))
                b.derivative(next(rates), change)
            invariant = link.joint.invariant(here)
            if invariant is not None:
                b.invariant(invariant)
        for z, variable in integrals.values():
            b.derivative(z, values.expression(variable, "expr"))
        self._declare_outputs(b, values)
        values.stops_at({t for f in self.formulas.values() for t in f.break_times(values.spline)})

    def _inputs(self, b: Equations) -> dict[int, ca.SX]:
        """Symbol of every variable that a plant input sets."""
        found: dict[int, ca.SX] = {}
        for port in self.inputs.values():
            signal = ca.SX(b.input(port.name, port.size, hold=port.hold))
            found |= {id: signal[k] for k, id in enumerate(port.variables)}
        return found

    def _declare_outputs(self, b: Equations, values: Evaluation) -> None:
        for port in self.outputs.values():
            if port.variables:
                signals = [values.variable(id) for id in port.variables]
            else:
                request = self.model.find(Post_Request, port.id)
                signals = [values.expression(request, name) for name in port.labels]
            y: Any = ca.densify(ca.SX(ca.vertcat(*signals)))
            if port.ticks is not None:
                y = hold(b, as_array(y), port.hold_order, port.ticks, f"{port.name}_hold")
            b.output(port.name, y, labels=port.labels)


class _Numbers:
    """Numeric attributes as tunable parameters; zeros are structural."""

    def __init__(self, b: Equations, model: Model) -> None:
        self._b = b
        self._known: dict[tuple[str, int, str], ca.SX] = {}
        bearers: list[type[Element]] = [Body_Rigid, Body_Point, *FORCES]
        labels = Counter(slug(e.label) for kind in bearers for e in model.all(kind))
        self._unique = {name for name, count in labels.items() if name and count == 1}

    def __call__(self, element: Element, attribute: str) -> Any:
        value = getattr(element, attribute)
        if not value:
            return 0.0
        key = (element.tag, element.id, attribute)
        if key not in self._known:
            name = f"{element.tag}/{element.id}" if element.id else element.tag
            short = slug(element.label)
            aliases = (f"{short}.{attribute}",) if short in self._unique else ()
            self._known[key] = ca.SX(self._b.parameter(f"{name}.{attribute}", value, aliases=aliases))
        return self._known[key]


def _spread(states: Sequence[Array], sizes: Sequence[int]) -> list[ca.SX]:
    """States as columns, with empty ones where the size is 0."""
    rest = iter(states)
    return [ca.SX(next(rest)) if size else ca.SX(0, 1) for size in sizes]


def _gravity(values: Evaluation) -> ca.SX:
    """(3, 1) acceleration of gravity in the ground frame."""
    element = values.model.gravity
    components = []
    for name in ("grav_x", "grav_y", "grav_z"):
        written = isinstance(getattr(element, name), str)
        components.append(values.expression(element, name) if written else values.number(element, name))
    return ca.sparsify(ca.SX(ca.vertcat(*components)))


def _loads(values: Evaluation) -> dict[int, ca.SX]:
    """(6, 1) force [n; f] that the force elements apply to each link, at its origin and along its axes."""
    found: dict[int, ca.SX] = {}
    for kind in FORCES:
        for element in values.model.all(kind):
            for wrench in values.wrenches(element):
                place = values.mechanism.place(wrench.marker)
                if place.link != GROUND:
                    found[place.link] = found.get(place.link, ca.SX(6, 1)) + _on_link(values, wrench)
    return found


def _on_link(values: Evaluation, wrench: Wrench) -> ca.SX:
    """[n; f] of one wrench at the origin of its marker's link, along the link's axes."""
    place = values.mechanism.place(wrench.marker)
    A, r = values.tree.pose(place.link)
    F = A.T @ wrench.F
    if wrench.at is None:
        return ca.vertcat(A.T @ wrench.T + cross(ca.DM(place.s), F), F)
    return ca.vertcat(A.T @ (wrench.T + cross(wrench.at - r, wrench.F)), F)


def _passed_on(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Warnings shown after all; the texts of those about the plant."""
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return tuple(str(w.message) for w in caught if issubclass(w.category, Warning) and "Plant" in w.category.__name__)


def _refuse_unsupported(model: Model) -> None:
    """One error for all elements that would change the motion and cannot be had yet."""
    problems = [f"{e.where}: {e.tag} is not supported yet." for kind in NOT_YET for e in model.all(kind)]
    for kind in (*FORCES, Reference_Variable):
        for element in model.all(kind):
            if isinstance(element, UserSubroutine) and element.has_subroutine:
                problems.append(f"{element.where}: user subroutines are not supported yet; write an expression.")
    driven = {id for port in model.all(Control_PlantInput) for id in port.variable_id_list}
    for variable in model.all(Reference_Variable):
        if variable.is_implicit and variable.id not in driven:
            problems.append(
                f"{variable.where}: is_implicit (autobalance={variable.autobalance}) is not supported yet."
            )
    if problems:
        raise ModelProblems(problems, about=model.file or model.name)


def _mention_ignored(model: Model) -> None:
    """Warn of requests that give no output yet."""
    for request in model.all(Post_Request):
        if not is_output(request):
            warnings.warn(
                f"{request.where}: requests of type {request.type or 'USERSUB'} are not supported yet and ignored.",
                PlantWarning,
                stacklevel=2,
            )


def _refuse_massless(mechanism: Mechanism) -> None:
    """Refuse joints that move no inertia: their acceleration would be 0/0."""
    problems = []
    moved = [plain_inertia(mechanism, i) for i in range(len(mechanism.links))]
    for i in reversed(range(len(mechanism.links))):
        link = mechanism.links[i]
        XJ, S = link.joint.jcalc(ca.DM(link.q0))
        felt = np.array(ca.DM(S)).reshape(6, link.joint.nv)
        if link.joint.nv and np.linalg.eigvalsh(felt.T @ moved[i] @ felt).min() <= 0.0:
            problems.append(
                f"{link.where}: moves nothing that has inertia in all its directions; give {link.body.where} "
                "a mass and moments of inertia."
            )
        if link.parent != GROUND:
            X = np.array(ca.DM((XJ @ link.Xtree).matrix))
            moved[link.parent] = moved[link.parent] + X.T @ moved[i] @ X
    if problems:
        raise ModelProblems(list(reversed(problems)), about=mechanism.model.file or mechanism.model.name)
