"""The plant: a multibody model as a block whose ports are its plant inputs and outputs."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from blocks.arguments import choice, flag, number
from blocks.contract.block import Block, Equations
from blocks.contract.callback import shared
from blocks.contract.no_numbers import no_numbers
from blocks.contract.picture import BlockPicture
from blocks.contract.rate import Rate
from blocks.contract.services import services
from blocks.contract.symbols import tracing
from blocks.contract.trace import trace
from blocks.contract.user_lines import warn_user
from blocks.errors import BlockError, ModelError, shown
from blocks.fact_sheet import FactSheet
from plant.assembly.assemble import Assembly, assemble, start_of_tree
from plant.assembly.initial_rates import Wish, wishes_of
from plant.checked_model import checked_model
from plant.constraints.stabilisation import Projection, Stabilisation, stabilisation_of
from plant.constraints.turned_joints import closed_otherwise
from plant.coordinates import Coordinates, named
from plant.elements import Element, Model, Reference_Variable
from plant.equations import ledger, observed
from plant.equations.all_stages import all_stages
from plant.equations.at_a_state import EquationsAt, Written
from plant.equations.constraint_elements import closure_of
from plant.equations.differential import mention_algebraic
from plant.equations.exchanged import mention_exchanged
from plant.equations.filters import declare_inputs
from plant.equations.first_stages import FirstStages, KeptStages
from plant.equations.outcome import Withheld
from plant.equations.pushes import push_ports, with_room_across
from plant.equations.quantities import Quantities
from plant.equations.role import Role
from plant.equations.start_states import StartStates, start_states
from plant.equations.states import States, declare_states
from plant.equations.unread_inputs import mention_unread_inputs
from plant.equations.unsupported import (
    constraints_of,
    cure_of_jumps,
    jumps,
    refuse_massless,
)
from plant.equations.variables import mention_unused, recursive_variables, roles_of
from plant.equations.wound import mention_wound
from plant.expressions.formulas import Formulas
from plant.facts import facts_of, line_of
from plant.fields import model_name, with_fields
from plant.mechanics.dynamics import MotionAt
from plant.mechanics.massless import SingularMass, massless_links
from plant.mechanics.mechanism import Mechanism
from plant.ports import Ports, found_port, port_name
from plant.reporting import ModelProblems, PlantWarning, already_said, passed_on, recorded
from plant.routines.subroutines import refuse_untrusted
from plant.tunables import Tunables, check_numbers, check_tunable, mention_unread, named_numbers

COORDINATES = ("joint", "absolute")
NOTHING: Mapping[Any, Any] = MappingProxyType({})


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
    mechanism : Mechanism        the spanning tree
    start, rates : tuples        coordinates and rates of every joint at the start
    assembly : Assembly          how the start was found, and what was chosen where the model leaves it open
    warnings : tuple of str      what was ignored or assumed
    jumpy : tuple of str         constraints that cannot follow an input, which needs a filter first
    coordinates, stabilisation, tunable, trust      as `read` takes them
    audit, observe, push : bool  made by `audited`, `observed`, `pushed`
    formulas : Formulas          the parsed expressions of the model
    held : place -> number       coordinates held while the start is assembled
    begun : KeptStages           what was written to assemble it, until the equations go on with it
    """

    drawn_as: ClassVar[str] = "plant"
    check_parameters = check_numbers  # see `Block.check_parameters`
    closed_otherwise = closed_otherwise  # see `Block.closed_otherwise`
    with_fields = with_fields
    called = property(model_name)
    made_by: ClassVar[str] = "Plant.read(file), or Plant.from_model(Model.build([...]))"

    model: Model
    inputs: Ports
    outputs: Ports
    requests: Ports
    mechanism: Mechanism = field(repr=False)
    formulas: Formulas = field(repr=False)
    start: tuple[np.ndarray, ...] = field(repr=False)
    rates: tuple[np.ndarray, ...] = field(repr=False)
    assembly: Assembly | None = field(default=None, repr=False)
    coordinates: str = "joint"
    stabilisation: Stabilisation = field(default_factory=Projection)
    tunable: tuple[str, ...] = ()
    trust: bool = False
    warnings: tuple[str, ...] = field(default=(), repr=False)
    audit: bool = False
    observe: bool = False
    push: bool = False
    jumpy: tuple[str, ...] = field(default=(), repr=False)
    held: Mapping[int, float] = field(default_factory=dict, repr=False)
    begun: KeptStages = field(default_factory=KeptStages, repr=False)

    @staticmethod
    def read(
        path: Any,
        trust: bool = False,
        coordinates: str = "joint",
        stabilisation: str | Stabilisation = "projection",
        tunable: Sequence[str] = (),
        hold: Mapping[str, float] = NOTHING,
    ) -> Plant:
        """Plant in an XML deck.

        Parameters
        ----------
        path : str, Path, open file or bytes
        trust : bool            allow scripts and libraries the model names to run
        coordinates : str       "joint": a spanning tree, loops cut; "absolute": every body on its own
        stabilisation           how constraints are kept: "projection", "baumgarte", "gamma_q", or with
                                numbers of its own `Baumgarte(alpha, beta)`, `GammaQ(Tstab)`
        tunable : list of str   structural numbers to be run-time parameters
        hold : name -> number   coordinates that are held while the start is assembled, and free afterwards:
                                ``{"crank.q": 0.3}``; names as in `plant.coordinates`

        Raises
        ------
        ModelError    everything wrong with the file or the model, with file and line
        """
        # lxml is slow to import, and only files need it
        from plant.formats.motionsolve.reader import read_model

        with recorded() as caught:
            model = read_model(path)
        texts = passed_on(caught)
        plant = Plant.from_model(model, trust, coordinates, stabilisation, tunable, hold)
        return replace(plant, warnings=(*texts, *plant.warnings))

    @staticmethod
    def from_model(
        model: Model,
        trust: bool = False,
        coordinates: str = "joint",
        stabilisation: str | Stabilisation = "projection",
        tunable: Sequence[str] = (),
        hold: Mapping[str, float] = NOTHING,
        time: float = 0.0,
    ) -> Plant:
        """Plant of a model built in Python; arguments and errors as in `read`. It starts at a time [s]."""
        if not isinstance(model, Model):
            raise ModelError(
                f"from_model got {shown(model)}, expected a Model.",
                value=model,
                hint="Write Plant.read(path) for a file.",
            )
        choice(coordinates, "coordinates", COORDINATES, ModelError)
        time = number(time, "time", "a finite time [s]", error=ModelError)
        flag(trust, "trust", ModelError)
        stabilised = stabilisation_of(stabilisation)
        check_tunable(model, tunable)
        if not trust:
            refuse_untrusted(model)
        with recorded() as caught, no_numbers():
            checked = checked_model(model, absolute=coordinates == "absolute")
            plant = Plant(
                checked.model,
                checked.inputs,
                checked.outputs,
                checked.requests,
                checked.mechanism,
                checked.formulas,
                start=tuple(link.q0 for link in checked.mechanism.links),
                rates=(),
                coordinates=coordinates,
                stabilisation=stabilised,
                tunable=tuple(tunable),
                trust=trust,
                held=MappingProxyType(Coordinates(checked.mechanism).held(hold)),
            )
            mention_unused(plant.model, plant._roles)
            mention_algebraic(plant.model, plant.formulas)
            mention_exchanged(plant.model)
            mention_unread_inputs(plant.model, plant.formulas)
            with shared():  # one session of what routines run in
                plant = plant._assembled(time)
                mention_unread(plant.model, tunable, plant.numbers_read)
            mention_wound(plant.model, plant.mechanism, plant.start)
            for text in plant.jumpy:
                warn_user(text, PlantWarning)
        return replace(plant, warnings=passed_on(caught))

    @property
    def jump_cure(self) -> str:
        """See `Block.jump_cure`: what to change in the elements."""
        return cure_of_jumps(self.model)

    def _assembled(self, time: float = 0.0) -> Plant:
        """The plant with a start that obeys its constraints at a time [s]."""
        mechanism = self.mechanism
        written, massless = self.closing(), massless_links(mechanism)
        if written is None:
            refuse_massless(mechanism, massless)
            tree = start_of_tree(mechanism, self.held)
            return replace(self, start=tree.q, rates=tree.qd, assembly=tree)
        closure = written.closure
        assert closure is not None

        def wishes(q: np.ndarray) -> list[Wish]:
            return wishes_of(mechanism, mechanism.coordinates_by_link(q))

        try:
            assembly = assemble(written.b, closure, wishes, massless, self.held, time)
        except SingularMass:
            refuse_massless(mechanism, massless)
            raise
        jumpy = tuple(jumps(written.values.inputs, closure, self.inputs))
        return replace(
            self,
            start=assembly.q,
            rates=assembly.qd,
            assembly=assembly,
            jumpy=jumpy,
            begun=KeptStages(written),
        )

    def numbers_read(self) -> set[str]:
        """Names of the numbers of the model that the equations read as parameters."""
        plant = self
        if self.jumpy:  # its equations are known with filters behind the ports
            inputs = {name: port.changed(filter=1.0) for name, port in self.inputs.items()}
            plant = replace(self, inputs=MappingProxyType(inputs), jumpy=())
        return {q.name for q in trace(plant, {}).declared.parameters}

    def closing(self) -> FirstStages | None:
        """All constraints, written for assembly on scratch equations; None where there are none."""
        if not self._constraints():
            return None
        free = replace(self, rates=tuple(np.zeros(link.joint.nv) for link in self.mechanism.links))
        with tracing():
            return free._first_stages(Equations({}))

    def _first_stages(self, b: Equations) -> FirstStages:
        """States, and all that constrains them."""
        states, elements = self._states(b), self._constraints()
        values = Quantities(states.declared, states.kinematics, lambda _: Withheld())
        return FirstStages(self._about, b, states, values, closure_of(values, elements) if elements else None)

    @property
    def _about(self) -> tuple[object, ...]:
        """What the first stages are made from, besides values at the start."""
        return self.model, self.mechanism, self.formulas, self.inputs, self.tunable, self.trust

    def __repr__(self) -> str:
        return line_of(self)

    # --- asking ---------------------------------------------------------------------------------------
    def with_port(
        self,
        name: str,
        *,
        sampling_period: Rate | None = None,
        offset_time: Rate | None = None,
        hold_order: int | None = None,
        filter: float | None = None,
    ) -> Plant:
        """The plant with other values at one port than the file's.

        filter : s    time constant of a second-order filter behind an input, so that positions and
                      velocities (Motions of val_type D and V) can follow it: see `plant.equations.filters`.
                      0 removes the filter

        Raises
        ------
        BlockError    no such port (with the near miss), or a value that is not possible
        """
        port = found_port({**self.inputs, **self.outputs}, name)
        name = port.name
        if filter is not None and name not in self.inputs:
            raise BlockError(f"port '{name}' is an output; filter= belongs to inputs.", port=name)
        port = port.changed(sampling_period, offset_time, hold_order, filter)
        if name not in self.inputs:
            return replace(self, outputs=MappingProxyType({**self.outputs, name: port}))
        plant = replace(self, inputs=MappingProxyType({**self.inputs, name: port}))
        return plant if filter is None else plant._reassembled()

    def ports_by_name(self) -> tuple[list[str], list[str]]:
        """See `Block.ports_by_name`: writing the equations would take long."""
        shown = [*self.outputs, *self.requests]
        if self.audit:
            shown += [f"audit_{what}" for what in ("energy", "momentum", "bodies", "inertias", "wheels")]
        if self.observe:
            found = observed.observed(self.model, self.mechanism)
            shown += [*found.bodies, *found.joints, *found.forces, *found.springs, observed.RESIDUAL]
        return [*self.inputs, *(push_ports(self.mechanism) if self.push else ())], shown

    def port_name(self, name: str) -> str:
        """A port by its name, or by its label as the file spells it: "P3" or "Control force"."""
        return port_name([*self.inputs, *self.outputs, *self.requests], name)

    def _reassembled(self) -> Plant:
        """The plant with a start that suits its filters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # shown when it was read
            plant = self._assembled()
        gone = set(self.jumpy) - set(plant.jumpy)
        return replace(plant, warnings=tuple(text for text in self.warnings if text not in gone))

    def motion_at(
        self,
        state: Mapping[str, Any] = NOTHING,
        *,
        time: float = 0.0,
        inputs: Mapping[str, Any] = NOTHING,
    ) -> MotionAt:
        """The equations of motion as NumPy arrays at a state, with names of their rows and columns.

        Parameters
        ----------
        state : name -> numbers     coordinates, rates (names as in `plant.coordinates`: "crank.q",
                                    "crank.qd", "crank.angle") and other states; the rest is at the start
        time : s
        inputs : port -> numbers    0 where left out

        Mass matrix H, forces Q, constraint Jacobian J, its right-hand side gamma, multipliers lam,
        accelerations qdd, residuals Phi and their rates: see `plant.mechanics.dynamics.MotionAt`. Conditions
        that hold by themselves are left out. The state need not obey the constraints. gamma is without
        stabilisation; angles that count turns by a memory are within half a turn of their start.

        Raises
        ------
        ModelError    no such state or input, or wrong numbers
        """
        named(state, "state")
        named(inputs, "inputs", "force")
        time = number(time, "time", "a finite time [s]", error=ModelError)
        q, qd = (np.concatenate([np.zeros(0), *parts]) for parts in (self.start, self.rates))
        ports = {self.port_name(name): value for name, value in inputs.items()}
        return self._at((q, qd), state, time, ports)

    @cached_property
    def _at(self) -> EquationsAt:
        b = Equations({})
        with tracing():
            written = self._write(b)
            return EquationsAt(b.declared(), written)

    def audited(self) -> Plant:
        """The plant with an account of its energy and momentum: see `plant.energy`."""
        return replace(self, audit=True)

    def observed(self) -> Plant:
        """The plant with outputs of every body, joint and force: see `plant.equations.observed`.

        They are logged but not part of linear models; `plant.pictures` plots, draws and animates them.
        """
        return replace(self, observe=True)

    def pushed(self, in_plane: bool = False) -> Plant:
        """The plant with an input of force for every body, ``push_<body>``: see `plant.equations.pushes`.

        The energy account of `audited` does not include the work of these forces. Planar bodies in absolute
        coordinates have no reactions across their plane, so they get coordinates in space; with `in_plane`
        they stay planar and forces across the plane are ignored.
        """
        if flag(in_plane, "in_plane", ModelError) or not self.mechanism.planar:
            return replace(self, push=True)
        mechanism = with_room_across(self.mechanism, self.held)
        start = tuple(link.q0 for link in mechanism.links)
        with recorded():  # what assembly says is said already
            return replace(self, mechanism=mechanism, start=start, push=True)._assembled()

    @cached_property
    def initial(self) -> Mapping[str, np.ndarray]:
        """Initial value of every continuous state by name."""
        found = self._start_states.by_name(self.inputs.values(), self.formulas)
        if self.audit:
            found |= {f"audit.{name}": np.zeros(1) for name in ledger.ACCOUNTS}
        return MappingProxyType(found)

    @cached_property
    def _start_states(self) -> StartStates:
        return start_states(self.model, self.mechanism, self.formulas, self.start, self.rates)

    @cached_property
    def numbers(self) -> Mapping[str, tuple[Element, str]]:
        """Element and attribute of every number of the model, by its name as a parameter."""
        return MappingProxyType(named_numbers(self.model))

    @property
    def recursive(self) -> list[Reference_Variable]:
        """Variables whose expression or subroutine reads their own value, v = g(v, y, t)."""
        return recursive_variables(self.model, self._roles, self.trust)

    @property
    def integrals(self) -> Mapping[str, Reference_Variable]:
        """Variables in dot_form, by the name of their state."""
        return self._start_states.integrals

    @property
    def control_states(self) -> Mapping[str, tuple[Any, np.ndarray]]:
        """Control elements with states, and their initial values, by the name of the states."""
        return self._start_states.controls

    @cached_property
    def _roles(self) -> Mapping[int, Role]:
        driven = {id for port in self.inputs.values() for id in port.variables}
        return roles_of(self.model, self.formulas, driven)

    @property
    def dof(self) -> int:
        """Degrees of freedom."""
        return self.mechanism.dof if self.assembly is None else self.assembly.dof

    def info(self) -> FactSheet:
        """The contents of the model as plain data: a dict that prints in a few lines."""
        return facts_of(self)

    def __getstate__(self) -> dict[str, Any]:
        # read-only mappings cannot be pickled; plain ones can, and are wrapped again
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: dict(v) if isinstance(v, MappingProxyType) else v for name, v in state.items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            object.__setattr__(self, name, MappingProxyType(value) if isinstance(value, dict) else value)

    # --- equations ------------------------------------------------------------------------------------
    def define(self, b: Equations) -> None:
        """Declare ports, states and equations.

        Raises
        ------
        ModelProblems    a constraint on positions or velocities depends on an input without a filter
        """
        with already_said(self.warnings):
            self._write(b)
        b.log_states()

    def picture(self) -> BlockPicture | None:
        """The mechanism where it starts; see `Block.picture`."""
        from plant.scene import scene_of  # only where something is drawn
        from plant.sketch import sketch

        return sketch(scene_of(self))

    def view(self, *, out: Any = None, show: bool = True, live: bool = False, **options: Any) -> Any:
        """One page in the browser: the mechanism where it starts; see `cosim.viewer.page`.

        out : path      where the page is written; default a temporary file that a browser shows
        show : bool     False: no browser is opened
        live : bool     run it in the page; see `cosim.Diagram.view`, which takes the same options
        """
        return services().show_model(self, out, show, live, options)

    def _write(self, b: Equations) -> Written:
        """The same, for whoever looks at the equations."""
        if self.jumpy:
            raise ModelProblems(self.jumpy, about=self.model.file or self.model.name)
        begun = self.begun.take(self._about)
        first = self._first_stages(b) if begun is None else begun.continued(b, self.initial)
        if self.assembly is not None:
            first = first.closed_by(self.assembly.closing)
        return all_stages(b, first, self)

    def _constraints(self) -> list[Element]:
        """Elements that constrain the coordinates."""
        return constraints_of(self.model, self.mechanism, self._roles)

    def _states(self, b: Equations) -> States:
        """States of the plant, and the first stage of its equations."""
        inputs = declare_inputs(b, self.inputs.values(), self.formulas)
        tunables = Tunables(b, self.model, self.tunable)
        return declare_states(
            b, self.model, self.mechanism, self.formulas, inputs, tunables,
            self._start_states, self._roles, self.trust,
        )  # fmt: skip
