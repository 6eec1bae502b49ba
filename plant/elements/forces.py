"""Forces and torques between bodies, or on one body."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from plant.elements.element import Element, Idle, Others
from plant.elements.kinds import (
    Boolean,
    Formula,
    FrameId,
    MarkerId,
    NonNegative,
    Numbers,
    Positive,
    Real,
    String,
    Whole,
    keyword,
)
from plant.elements.pairs import pair_faults
from plant.elements.subroutine import ExpressionOrSubroutine, UserSubroutine

__all__ = [
    "Force_Bushing",
    "Force_Field",
    "Force_Penalty",
    "Force_Scalar_TwoBody",
    "Force_SpringDamper",
    "Force_Vector_OneBody",
    "Force_Vector_TwoBody",
]

VECTOR_TYPES = keyword("FORCEONLY", "TORQUEONLY", "FORCEANDTORQUE")
COMPONENTS = tuple(f"{kind}{axis}_expression" for kind in "ft" for axis in "xyz")
VECTOR_ROUTINES = {"FORCEONLY": "VFOSUB", "TORQUEONLY": "VTOSUB", "FORCEANDTORQUE": "GFOSUB"}


@dataclass(frozen=True, kw_only=True)
class Force_Vector_TwoBody(UserSubroutine):
    """Force [force] and torque [force length] on I, components along ``ref_marker_id``; reaction on J.

    The floating marker stays on top of I, so the reaction acts at the same point. Components not given
    are 0; ``ref_marker_id`` 0 or absent means global axes.
    """

    type: Annotated[str, VECTOR_TYPES]
    i_marker_id: MarkerId
    j_floating_marker_id: MarkerId
    ref_marker_id: FrameId | None = None
    fx_expression: Formula | None = None
    fy_expression: Formula | None = None
    fz_expression: Formula | None = None
    tx_expression: Formula | None = None
    ty_expression: Formula | None = None
    tz_expression: Formula | None = None
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    readers = ("GFORCE", "VFORCE", "VTORQ")

    @property
    def subroutine(self) -> str:
        return self.usrsub_fnc_name or VECTOR_ROUTINES[self.type]

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        ids = (self.i_marker_id, self.j_floating_marker_id, self.body1_id, self.body2_id)
        yield from pair_faults(others, *ids)

    def remarks(self) -> Iterator[str]:
        yield from _vector_remarks(self)


@dataclass(frozen=True, kw_only=True)
class Force_Vector_OneBody(UserSubroutine):
    """Force [force] and torque [force length] on the body of ``marker_id``, at its origin; no reaction.

    Components along ``ref_marker_id``; 0 or absent means global axes. Components not given are 0.
    """

    type: Annotated[str, VECTOR_TYPES]
    marker_id: MarkerId
    ref_marker_id: FrameId | None = None
    fx_expression: Formula | None = None
    fy_expression: Formula | None = None
    fz_expression: Formula | None = None
    tx_expression: Formula | None = None
    ty_expression: Formula | None = None
    tz_expression: Formula | None = None

    readers = ("GFORCE", "VFORCE", "VTORQ")

    @property
    def subroutine(self) -> str:
        return self.usrsub_fnc_name or VECTOR_ROUTINES[self.type]

    def remarks(self) -> Iterator[str]:
        yield from _vector_remarks(self)


@dataclass(frozen=True, kw_only=True)
class Force_Scalar_TwoBody(UserSubroutine):
    """One number acting between I and J; positive pushes them apart.

    FORCE: along the line from J to I, or along z_J when ``is_action_only``. TORQUE: about z_J. The number
    is ``val`` [force or force length], ``val_expression`` or a subroutine.
    """

    type: Annotated[str, keyword("FORCE", "TORQUE")]
    i_marker_id: MarkerId
    j_marker_id: MarkerId
    is_action_only: Boolean = False
    val: Real | None = None
    val_expression: Formula | None = None
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    routine = "SFOSUB"
    readers = ("SFORCE",)

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        given = [
            name
            for name, there in (
                ("val", self.val is not None),
                ("val_expression", self.val_expression is not None),
                ("script_name or usrsub_dll_name", self.has_subroutine),
            )
            if there
        ]
        if not given:
            yield "has no value; give val, val_expression or a subroutine"
        elif len(given) > 1:
            yield f"has its value more than once, in {' and '.join(given)}; keep one"

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        if not self.is_action_only:
            yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)


@dataclass(frozen=True, kw_only=True)
class Force_SpringDamper(Element):
    """Linear spring and damper between I and J.

    TRANSLATIONAL: F = -stiffness (DM - length) - damping VR + preload, along the line of centres, positive
    pushes apart. ROTATIONAL: T = -stiffness (AZ - length) - damping WZ + preload, about z_J, on I.

    ``stiffness`` [force/length or force length/rad], ``damping`` [the same times time], ``length`` [length or
    rad], ``preload`` [force or force length].
    """

    type: Annotated[str, keyword("TRANSLATIONAL", "ROTATIONAL")]
    i_marker_id: MarkerId
    j_marker_id: MarkerId
    stiffness: NonNegative = 0.0
    damping: NonNegative = 0.0
    length: Real = 0.0
    preload: Real = 0.0
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    readers = ("SPDP",)

    def faults(self) -> Iterator[str]:
        if self.type == "TRANSLATIONAL" and self.stiffness > 0.0 and self.length <= 0.0:
            yield (
                f"length={self.length:g} is not positive; write the free length, or for a spring of no "
                "length any length above 0 with preload = -stiffness*length"
            )

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)


@dataclass(frozen=True, kw_only=True)
class Force_Bushing(Element):
    """Linear bushing on I relative to J, along the axes of J: F = -k d - c d' + preload.

    ``k?`` [force/length], ``c?`` [force time/length], ``kt?`` [force length/rad], ``ct?`` [force length
    time/rad], ``preload_?`` [force], ``preload_t?`` [force length]; preload is what acts on I at zero
    deformation.
    """

    i_marker_id: MarkerId
    j_marker_id: MarkerId
    kx: NonNegative = 0.0
    ky: NonNegative = 0.0
    kz: NonNegative = 0.0
    ktx: NonNegative = 0.0
    kty: NonNegative = 0.0
    ktz: NonNegative = 0.0
    cx: NonNegative = 0.0
    cy: NonNegative = 0.0
    cz: NonNegative = 0.0
    ctx: NonNegative = 0.0
    cty: NonNegative = 0.0
    ctz: NonNegative = 0.0
    preload_x: Real = 0.0
    preload_y: Real = 0.0
    preload_z: Real = 0.0
    preload_tx: Real = 0.0
    preload_ty: Real = 0.0
    preload_tz: Real = 0.0
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    readers = ("BUSH",)

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)


@dataclass(frozen=True, kw_only=True)
class Force_Penalty(ExpressionOrSubroutine):
    """Generalized force g_q^T F with F = -penalty g - penalty1 g' and g = ``expr``.

    ``penalty`` [force/unit of g], ``penalty1`` [force time/unit of g]; with ``unilateral`` it acts while
    g > 0 only, ramped up over ``smoothing_factor`` [unit of g] where that is given.
    """

    penalty: Positive
    penalty1: NonNegative = 0.0
    unilateral: Boolean = False
    smoothing_factor: Positive | None = None

    routine = "PFOSUB"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        if not self.unilateral:
            cure = 'write unilateral="TRUE", or delete it'
            yield from self.unused(["smoothing_factor"], "unilateral is FALSE, so no force is switched", cure)


@dataclass(frozen=True, kw_only=True)
class Force_Field(UserSubroutine):
    """Force and torque on I as a function of its motion relative to J, six components along J's axes.

    Given by a subroutine, or linear: ``k_matrix``, ``c_matrix`` (36 numbers row by row, or a diagonal of 6),
    ``length`` and ``preload`` (6 numbers). Only the subroutine form is documented; what is written is kept in
    ``attributes``.
    """

    type: String | None = None
    i_marker_id: MarkerId
    j_marker_id: MarkerId
    attributes: tuple[tuple[str, str], ...] = ()

    routine = "FIESUB"
    readers = ("FIELD",)
    open_ended = True

    def numbers(self, name: str, *counts: int) -> tuple[float, ...]:
        """Numbers of one of the ``attributes``, as many as one of `counts`; zeros where it is not written."""
        text = next((text for key, text in self.attributes if key.lower() == name), "")
        values = Numbers().read(text) if text.strip() else (0.0,) * counts[0]
        if len(values) not in counts:
            raise ValueError(f"{name} has {len(values)} numbers, expected {' or '.join(map(str, counts))}")
        return values

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        for name, counts in {
            "k_matrix": (36, 6),
            "c_matrix": (36, 6),
            "length": (6,),
            "preload": (6,),
        }.items():
            try:
                self.numbers(name, *counts)
            except ValueError as fault:
                yield str(fault)
        if not self.has_subroutine and not self.attributes:
            yield "has neither a subroutine nor a k_matrix; give one of them"

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        known = ("USERSUB",) if self.has_subroutine else ("LINEAR", "EXPRESSION")
        if (self.type or known[0]).upper() not in known:
            why = f"the field is given by {'its subroutine' if self.has_subroutine else 'its matrices'}"
            yield from self.unused(["type"], why, f'write type="{known[0]}", or delete it')

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id)


def _vector_remarks(force: Force_Vector_TwoBody | Force_Vector_OneBody) -> Iterator[str]:
    """Components that the force's type leaves out, and axes that are taken as global."""
    unused = {"FORCEONLY": "t", "TORQUEONLY": "f"}.get(force.type, "")
    for name in (f"{unused}{axis}_expression" for axis in "xyz" if unused):
        if getattr(force, name) not in (None, "0", "0.0"):
            yield f'{name} is ignored because type is {force.type}; write type="FORCEANDTORQUE" to use it'
    if not force.has_subroutine and not any(getattr(force, name) for name in COMPONENTS):
        yield "no component is written, so it exerts nothing; write fx_expression, ..., or delete it"
    if force.ref_marker_id is None:
        yield 'ref_marker_id is missing and global axes are assumed; write the marker, or ref_marker_id="0"'
