"""Commands: what is simulated, with which settings, and changes between simulations."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

from plant.elements import constraints
from plant.elements.element import Element, Idle, Others, attributes_of, place
from plant.elements.forces import FAMILIES
from plant.elements.kinds import (
    ArrayId,
    Boolean,
    Count,
    IdsOf,
    NoId,
    NonNegative,
    Positive,
    Real,
    String,
    keyword,
)

if TYPE_CHECKING:
    from plant.elements.model import Model

__all__ = [
    "Activate",
    "Deactivate",
    "Load_Command",
    "Load_Model",
    "Param_Linear",
    "Param_Simulation",
    "Param_Static",
    "Param_Transient",
    "Save",
    "Simulate",
    "Stop",
]


OUTPUT_TIMES = ("print_increment", "print_array_id", "num_steps", "print_interval")
"""Attributes of Simulate that say when there is output; the first that is written counts.

A quasi-static run has its steps where the others say, and print_increment counts these.
"""
INTEGRATORS = ("ABAM", "DSTIFF", "MSTIFF", "VSTIFF")
"""Integrators that a solver of ours stands for."""


@dataclass(frozen=True, kw_only=True)
class Simulate(Element):
    """One analysis; it continues from the state and time of the one before.

    Times [s]. A TRANSIENT ends at ``end_time`` or after ``duration``; ``print_interval`` is the time between
    outputs, ``num_steps`` their number instead, and with ``print_increment`` every n-th step is output. A
    STATIC with an end is quasi-static: its steps are equilibria at these times.
    """

    id: NoId = 0
    analysis_type: Annotated[
        str,
        keyword(
            "TRANSIENT", "STATIC", "LINEAR", "ASSEMBLY", "FREQUENCY RESPONSE",
            FREQUENCY_RESPONSE="FREQUENCY RESPONSE",
        ),
    ]  # fmt: skip
    start_time: Real = 0.0
    end_time: Real | None = None
    duration: Positive | None = None
    num_steps: Count | None = None
    print_interval: Positive | None = None
    print_increment: Count | None = None
    print_array_id: ArrayId | None = None
    restart_array_id: ArrayId | None = None

    block = "command"
    synonyms = MappingProxyType({"num_step": "num_steps"})

    def faults(self) -> Iterator[str]:
        if self.end_time is not None and self.duration is not None:
            yield "end_time and duration exclude each other; keep one"
        elif self.analysis_type == "TRANSIENT" and self.end_time is None and self.duration is None:
            yield "end_time is missing; write end_time or duration"
        if self.end_time is not None and self.end_time < self.start_time:
            yield f"end_time={self.end_time:g} is before start_time={self.start_time:g}; exchange them"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        lasts = self.end_time is not None or self.duration is not None
        if self.analysis_type == "TRANSIENT" or (self.analysis_type == "STATIC" and lasts):
            counted = OUTPUT_TIMES if self.analysis_type == "TRANSIENT" else OUTPUT_TIMES[1:]
            written = [name for name in counted if getattr(self, name) is not None]
            why = f"{(written or [''])[0]} says when there is output"
            yield from self.unused(written[1:], why, "keep one of them")
        else:
            times = ("duration", *OUTPUT_TIMES, *(() if self.end_time == self.start_time else ("end_time",)))
            yield from self.unused(times, f"a {self.analysis_type} is about one instant", "delete it")
        if self.analysis_type != "TRANSIENT":
            why = f"no integrator runs in a {self.analysis_type}"
            yield from self.unused(["restart_array_id"], why, "delete it")


@dataclass(frozen=True, kw_only=True)
class Param_Transient(Element):
    """Settings of transient simulations.

    ``integr_tol`` is the absolute tolerance and ``h_max`` [s] the longest step of the solver; the stiff
    integrators MSTIFF, VSTIFF and DSTIFF stand for our stiff one. What else is written changes nothing.
    """

    id: NoId = 0
    integrator_type: String | None = None
    integr_tol: Positive | None = None
    h_max: Positive | None = None
    h_min: NonNegative | None = None
    h0_max: Positive | None = None
    vel_tol_factor: Real | None = None
    rel_abs_tol_ratio: Real | None = None
    max_order: Count | None = None
    newmark_beta: Real | None = None
    newmark_gamma: Real | None = None
    hht_alpha: Real | None = None
    dae_alg_tol_factor: String | None = None
    dae_index: String | None = None
    dae_constr_tol: String | None = None
    dae_corrector_maxit: String | None = None
    dae_corrector_minit: String | None = None
    dae_vel_ctrl: String | None = None
    dae_jacob_eval: String | None = None
    dae_eval_expiry: String | None = None
    dae_jacob_init: String | None = None
    dae_interpolation: String | None = None

    block = "either"

    def idle(self) -> Iterator[Idle]:
        read = ("id", "label", "is_active", "integrator_type", "integr_tol", "h_max")
        names = [name for name in attributes_of(type(self)) if name not in read]
        yield from self.unused(names, "our solvers have no such setting", "set integr_tol and h_max instead")
        if (self.integrator_type or INTEGRATORS[0]).upper() not in INTEGRATORS:
            why = f"{self.integrator_type} is none of {', '.join(INTEGRATORS)}, so the default solver runs"
            yield from self.unused(["integrator_type"], why, "write one of them, or give solver= to the run")


@dataclass(frozen=True, kw_only=True)
class Param_Static(Element):
    """Settings of static simulations.

    FIM_S and FIM_D find where the forces balance by Newton's method, to rounding, so that ``max_imbalance``,
    ``max_error``, ``stability`` and ``compliance_delta`` are not needed. MKEAM swings until it rests:
    ``max_ke_tol`` is the energy of the last swing, ``max_num_iter`` the number of swings.
    """

    id: NoId = 0
    method: Annotated[str, keyword("MKEAM", "FIM_S", "FIM_D")] | None = None
    max_ke_tol: Positive | None = None
    max_dq_tol: Positive | None = None
    max_num_iter: Count | None = None
    max_imbalance: Positive | None = None
    max_error: Positive | None = None
    stability: NonNegative | None = None
    compliance_delta: Positive | None = None

    block = "either"

    def idle(self) -> Iterator[Idle]:
        names = ("max_dq_tol", "max_imbalance", "max_error", "stability", "compliance_delta")
        yield from self.unused(names, "equilibria are found to rounding", "delete it")


@dataclass(frozen=True, kw_only=True)
class Param_Linear(Element):
    """Settings of linear analyses; the ids choose plant inputs, outputs and states.

    ``disable_damping`` takes the damping of all force elements away. Which files are written is said by
    ``write_matlabfiles`` and ``write_eig_info``; the other ``write_`` attributes and ``balancing``,
    ``gyroscopic`` and ``anim_scale`` change nothing.
    """

    id: NoId = 0
    eigen_analysis: String | None = None
    balancing: String | None = None
    disable_damping: Boolean | None = None
    gyroscopic: Annotated[str, keyword("NONE", "PARTIAL", "FULL")] | None = None
    write_matlabfiles: String | None = None
    write_simulinkmdl: String | None = None
    write_oml: String | None = None
    write_eig_info: String | None = None
    write_energy_dist: String | None = None
    write_energy_html: String | None = None
    pinput_id: Annotated[tuple[int, ...], IdsOf(("Control_PlantInput",))] = ()
    poutput_id: Annotated[tuple[int, ...], IdsOf(("Control_PlantOutput",))] = ()
    pstate_id: Annotated[tuple[int, ...], IdsOf(("Reference_PlantState",))] = ()
    anim_scale: Real | None = None

    block = "either"

    def idle(self) -> Iterator[Idle]:
        settings = ("eigen_analysis", "balancing", "gyroscopic", "anim_scale")
        why = "eigenvalues are always computed, of the full model as it is"
        yield from self.unused(settings, why, "delete it")
        files = ("write_simulinkmdl", "write_oml", "write_energy_dist", "write_energy_html")
        cure = "use write_matlabfiles and write_eig_info, or the result in Python"
        yield from self.unused(files, "files of other programs are not written", cure)


@dataclass(frozen=True, kw_only=True)
class Param_Simulation(Element):
    """General switches; not all are documented, what else is written is kept in ``attributes``."""

    id: NoId = 0
    constr_tol: Positive | None = None
    implicit_diff_tol: Positive | None = None
    attributes: tuple[tuple[str, str], ...] = ()

    block = "either"
    open_ended = True

    def idle(self) -> Iterator[Idle]:
        why = "constraints are kept and equations solved to rounding"
        yield from self.unused(["constr_tol", "implicit_diff_tol"], why, "delete it")


@dataclass(frozen=True, kw_only=True)
class Save(Element):
    """Writes the model in its present state to a file."""

    id: NoId = 0
    model_file: String

    block = "command"


@dataclass(frozen=True, kw_only=True)
class Load_Model(Element):
    """Reads another model, such as one that Save wrote; commands go on with it at t = 0."""

    id: NoId = 0
    model_file: String
    result_file: String | None = None
    anima_file: String | None = None

    block = "command"

    def idle(self) -> Iterator[Idle]:
        why = "results go to the output folder of the run"
        yield from self.unused(["result_file", "anima_file"], why, "delete it")


@dataclass(frozen=True, kw_only=True)
class Load_Command(Element):
    """Reads the command block of another file."""

    id: NoId = 0
    command_file: String

    block = "command"


_FORCES = sorted((getattr(m, name) for m in FAMILIES for name in m.__all__), key=lambda kind: kind.tag)
_CONSTRAINTS = [getattr(constraints, name) for name in constraints.__all__]
_READ = {
    name: tuple(k.tag for k in (*_CONSTRAINTS, *_FORCES) if name in k.readers)
    for kind in (*_CONSTRAINTS, *_FORCES)
    for name in kind.readers
}

SWITCHES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        **_READ,
        "FORCE": tuple(kind.tag for kind in _FORCES),
        "PFORCE": ("Force_Penalty",),
        "SENSOR": ("Sensor_Event",),
        "SPRINGDAMPER": ("Force_SpringDamper",),
        "VTORQUE": _READ["VTORQ"],
    }
)
"""Element types by the words of ``element_type``; the name of an element type stands for itself."""

SWITCHED = tuple(dict.fromkeys(tag for tags in SWITCHES.values() for tag in tags))


@dataclass(frozen=True, kw_only=True)
class SwitchCommand(Element):
    """Base of what switches one element; an interface, nobody instantiates it."""

    id: NoId = 0
    element_type: Annotated[
        str, keyword(*SWITCHES, *(tag.upper() for tag in SWITCHED), BUSHING="BUSH", VTORQ="VTORQUE")
    ]
    element_id: Count

    block = "command"

    @property
    def tags(self) -> tuple[str, ...]:
        """Element types that may be meant."""
        own = tuple(tag for tag in SWITCHED if tag.upper() == self.element_type)
        return SWITCHES.get(self.element_type, own)

    def faults_in(self, others: Others) -> Iterator[str]:
        found = [tag for tag in self.tags if self.element_id in others.ids(tag)]
        if not found and (missing := others.missing(self.tags, self.element_id)):
            yield f"element_id={self.element_id} {missing}"
        if len(found) > 1:
            yield (
                f"element_id={self.element_id} is the id of a {' and of a '.join(found)}; write one of these "
                "names as element_type"
            )

    def switched(self, model: Model, on: bool) -> Element:
        """The element as it is after this command; ``model`` itself does not change."""
        tag = next(tag for tag in self.tags if self.element_id in model.elements.get(tag, {}))
        return dataclasses.replace(model.elements[tag][self.element_id], is_active=on)


@dataclass(frozen=True, kw_only=True)
class Activate(SwitchCommand):
    """Switches an element on again: it takes part from the next simulation on.

    Joints and other constraints, motions, forces and sensors can be switched. ``element_type`` is a word such
    as JOINT, MOTION, FORCE, SENSOR, or the name of an element type.
    """


@dataclass(frozen=True, kw_only=True)
class Deactivate(SwitchCommand):
    """Switches an element off: simulations from then on are as if it were not there.

    What other elements read of it (the reaction of a joint, the force of a spring) is zero; a motion or a
    coupler of a joint that is switched off still acts on the joint's coordinate.
    """


@dataclass(frozen=True, kw_only=True)
class Stop(Element):
    """Ends the run."""

    id: NoId = 0
    attributes: tuple[tuple[str, str], ...] = ()

    block = "command"
    open_ended = True


@dataclass(frozen=True, kw_only=True)
class UnknownCommand(Element):
    """A command that is not supported; reading a file warns of it, running its commands refuses it.

    Not an XML tag of its own. ``element`` is the tag that was written.
    """

    id: NoId = 0
    element: str

    block = "command"

    @property
    def where(self) -> str:
        return place(self.source, self.element, self.id, self.label)


@dataclass(frozen=True, kw_only=True)
class Modification(Element):
    """A model element repeated among the commands: it changes attributes of the element with its id.

    Not an XML tag of its own. ``element`` is the tag that was written, ``changes`` (attribute, value) pairs.
    """

    id: NoId = 0
    element: str
    changes: tuple[tuple[str, Any], ...] = ()

    block = "command"

    @property
    def where(self) -> str:
        return place(self.source, self.element, self.id, self.label)

    def faults_in(self, others: Others) -> Iterator[str]:
        if missing := others.missing((self.element,), self.id):
            yield f"id={self.id} {missing}"

    def apply(self, model: Model) -> Element:
        """The element of ``model`` as it is after this command; ``model`` itself does not change."""
        before, changes = model.elements[self.element][self.id], dict(self.changes)
        if (written := changes.get("attributes")) is not None:  # those without a field: the others stay
            other = {name.lower() for name, _ in written}
            kept = [pair for pair in getattr(before, "attributes", ()) if pair[0].lower() not in other]
            changes["attributes"] = (*kept, *written)
        return dataclasses.replace(before, **changes)
