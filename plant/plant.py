"""The plant: a multibody model as a block whose ports are its plant inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import casadi as ca
import numpy as np

from blocks.block import Block, Equations
from blocks.errors import ModelError, near_miss
from blocks.hold import hold
from blocks.numpy_mode import Array, as_array
from blocks.rate import Rate
from plant.dynamics.inertia import tree_inertias
from plant.dynamics.initial import initial_rates
from plant.dynamics.loads import loads
from plant.dynamics.mechanism import GROUND, Mechanism, mechanism_of
from plant.dynamics.tree import Tree
from plant.elements import Model, Post_Request, Reference_Variable
from plant.evaluation import Evaluation
from plant.formulas import Formulas, formulas_of
from plant.limits import mention_ignored, refuse_massless, refuse_unsupported
from plant.names import unique_names
from plant.ports import Ports, found_port, ports_of
from plant.tunables import Tunables, check_tunable

COORDINATES = ("joint", "absolute")
STABILISATIONS = ("projection", "baumgarte", "gamma_q")


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

    inputs, outputs : mapping of name to Port
    requests : mapping of name to Port      of Post_Requests: outputs named ``request_<label or id>`` that are
                                            logged but no part of linear models
    mechanism : Mechanism        the spanning tree; rates : initial joint rates
    warnings : tuple of str      what was ignored or assumed
    """

    model: Model
    inputs: Ports
    outputs: Ports
    requests: Ports
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
            warnings.simplefilter("always", UserWarning)
            model = read_model(path)
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
        check_tunable(model, tunable)
        refuse_unsupported(model)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            mention_ignored(model)
            mechanism = mechanism_of(model)
            refuse_massless(mechanism)
            formulas = formulas_of(model)
            rates = initial_rates(mechanism)
        texts = _passed_on(caught)
        inputs, outputs, requests = ports_of(model)
        return Plant(
            model,
            inputs,
            outputs,
            requests,
            mechanism,
            formulas,
            rates,
            coordinates,
            stabilisation,
            tuple(tunable),
            trust,
            texts,
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
        if name in self.inputs:
            return replace(self, inputs=MappingProxyType({**self.inputs, name: port}))
        return replace(self, outputs=MappingProxyType({**self.outputs, name: port}))

    @cached_property
    def initial(self) -> Mapping[str, np.ndarray]:
        """Initial value of every continuous state by name."""
        found = {f"{link.name}.q": link.q0 for link in self.mechanism.links if link.joint.nq}
        found |= {
            f"{link.name}.qd": qd
            for link, qd in zip(self.mechanism.links, self.rates, strict=True)
            if link.joint.nv
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
            "requests": list(self.requests.values()),
            "warnings": list(self.warnings),
        }

    def __getstate__(self) -> dict[str, Any]:
        # read-only mappings cannot be pickled; plain ones can, and are wrapped again
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: dict(v) if isinstance(v, MappingProxyType) else v for name, v in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

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
        numbers = Tunables(b, self.model, self.tunable)
        positions = _spread(q, [link.joint.nq for link in links])
        speeds = _spread(qd, [link.joint.nv for link in links])
        tree = Tree(self.mechanism, positions, speeds, tree_inertias(self.mechanism, numbers))
        values = Evaluation(
            b, tree, self.formulas, inputs, {id: ca.SX(z) for id, (z, _) in integrals.items()}, numbers
        )
        gravity = _gravity(values)
        forces = loads(values)
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
        for port in (*self.outputs.values(), *self.requests.values()):
            if port.variables:
                signals = [values.variable(id) for id in port.variables]
            else:
                request = self.model.find(Post_Request, port.id)
                signals = [values.expression(request, name) for name in port.labels]
            y: Any = ca.densify(ca.SX(ca.vertcat(*signals)))
            if port.ticks is not None:
                y = hold(b, as_array(y), port.hold_order, port.ticks, f"{port.name}_hold")
            b.output(port.name, y, labels=port.labels, auxiliary=port.name in self.requests)


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


def _passed_on(caught: list[warnings.WarningMessage]) -> tuple[str, ...]:
    """Texts of warnings, which are shown after all."""
    for w in caught:
        warnings.warn_explicit(w.message, w.category, w.filename, w.lineno)
    return tuple(str(w.message) for w in caught)
