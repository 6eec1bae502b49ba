"""Joints, couplers, general constraints and motions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import Annotated

from plant.elements.element import Element, Idle, Others
from plant.elements.kinds import Boolean, JointId, MarkerId, Positive, Real, Reals, Whole, keyword
from plant.elements.pairs import pair_faults
from plant.elements.subroutine import ExpressionOrSubroutine, UserSubroutine
from plant.mechanics.joints import JOINT_TYPES, JointType

__all__ = [
    "Constraint_Coupler",
    "Constraint_General",
    "Constraint_Joint",
    "Motion_Joint",
    "Motion_Marker",
]

_DECK = {name: entry for name, entry in JOINT_TYPES.items() if entry.in_decks}
_SYNONYMS = {other: name for name, entry in _DECK.items() for other in entry.synonyms}


@dataclass(frozen=True, kw_only=True)
class Constraint_Joint(Element):
    """A joint between markers I and J of different bodies; its axis is always a z-axis.

    ``pitch`` [length/revolution] belongs to SCREW, ``pitch_diameter`` [length] to RACK_PINION. Other
    joint types ignore them. ATPOINT is another name of SPHERICAL.
    """

    type: Annotated[str, keyword(*_DECK, **_SYNONYMS)]
    i_marker_id: MarkerId
    j_marker_id: MarkerId
    pitch: Real | None = None
    pitch_diameter: Positive | None = None
    is_virtual: Boolean = False
    body1_id: Whole | None = None
    body2_id: Whole | None = None

    readers = ("JOINT", "JPRIM")

    synonyms = MappingProxyType({"joint_type": "type"})

    @property
    def kind(self) -> JointType:
        """What is known about its type."""
        return JOINT_TYPES[self.type]

    @property
    def numbers(self) -> dict[str, float]:
        """Numbers its type needs, by name."""
        return {name: float(getattr(self, name)) for name in self.kind.numbers}

    def faults(self) -> Iterator[str]:
        for name, cure in self.kind.numbers.items():
            if getattr(self, name) is None:
                yield f"{name} is missing; {cure}"

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from virtual(self)
        if self.type != "SCREW":
            yield from self.unused(["pitch"], f"type is {self.type}", 'it belongs to type="SCREW"; delete it')
        if self.type != "RACK_PINION":
            cure = 'it belongs to type="RACK_PINION"; delete it'
            yield from self.unused(["pitch_diameter"], f"type is {self.type}", cure)


@dataclass(frozen=True, kw_only=True)
class Constraint_Coupler(UserSubroutine):
    """c1 q1 + c2 q2 (+ c3 q3) = 0 between the coordinates AZ ("R") or DZ ("T") of two or three joints.

    A ``freedom`` may be left out where the joint has only one coordinate. In place of ``coefficients`` a
    subroutine COUSUB gives what is to be 0, from the coordinates as they are.
    """

    joint1_id: JointId
    joint2_id: JointId
    joint3_id: JointId | None = None
    freedom_1: Annotated[str, keyword("T", "R")] | None = None
    freedom_2: Annotated[str, keyword("T", "R")] | None = None
    freedom_3: Annotated[str, keyword("T", "R")] | None = None
    coefficients: Reals | None = None
    is_virtual: Boolean = False

    routine = "COUSUB"
    readers = ("COUPLER",)

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from virtual(self)
        if self.joint3_id is None:
            yield from self.unused(["freedom_3"], "there is no third joint", "write joint3_id, or delete it")

    @property
    def coordinates(self) -> tuple[tuple[int, str | None], ...]:
        """(joint id, "T", "R" or None) of each coupled coordinate, in order."""
        both = [(self.joint1_id, self.freedom_1), (self.joint2_id, self.freedom_2)]
        return (*both, *([] if self.joint3_id is None else [(self.joint3_id, self.freedom_3)]))

    def faults(self) -> Iterator[str]:
        yield from super().faults()
        if self.coefficients is None:
            if not self.has_subroutine:
                yield 'coefficients are missing; write one per joint, as in coefficients="1, -2"'
        elif self.has_subroutine:
            yield "has coefficients and a subroutine; keep one of them"
        elif len(self.coefficients) != len(self.coordinates):
            yield (
                f"has {len(self.coefficients)} coefficients for {len(self.coordinates)} joints; "
                "write one coefficient per joint"
            )
        elif not any(self.coefficients):
            yield "its coefficients are all 0, so nothing is coupled; write the ratios"

    def remarks(self) -> Iterator[str]:
        yield from super().remarks()
        pairs = zip(self.coefficients or (), self.coordinates, strict=False)
        for number, (coefficient, (id, _)) in enumerate(pairs, start=1):
            if coefficient == 0.0:
                yield (
                    f"coefficient {number} is 0, so joint {id} takes no part and the rest holds the others; "
                    "write its ratio, or leave it out"
                )

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from self._faults_of_repeated(others)
        for number, (id, freedom) in enumerate(self.coordinates, start=1):
            joint = others.get(Constraint_Joint, id)
            if joint is not None:
                yield from _freedom_faults(joint, f"joint{number}_id", f"freedom_{number}", freedom)

    def _faults_of_repeated(self, others: Others) -> Iterator[str]:
        """A coordinate that is coupled to itself."""
        seen: dict[tuple[int, str], int] = {}
        for number, (id, freedom) in enumerate(self.coordinates, start=1):
            joint = others.get(Constraint_Joint, id)
            if joint is None or not joint.kind.freedoms:
                continue
            first = seen.setdefault((id, freedom or joint.kind.freedoms[0]), number)
            if first != number:
                yield (
                    f"joint{number}_id={id} is the coordinate of joint{first}_id, which would be held by "
                    "itself; name another joint, or prescribe it with a Motion_Joint"
                )


@dataclass(frozen=True, kw_only=True)
class Constraint_General(ExpressionOrSubroutine):
    """expr = 0, with positions and velocities allowed in the expression."""

    is_virtual: Boolean = False

    routine = "GCOSUB"
    readers = ("GCON",)

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from virtual(self)


@dataclass(frozen=True, kw_only=True)
class Motion_Joint(ExpressionOrSubroutine):
    """Prescribes the coordinate AZ ("R") or DZ ("T") of a joint, or its rate, to be ``expr``.

    ``val_type``: D displacement, V velocity, A acceleration; ``ic_disp`` and ``ic_vel`` give what
    integration from V and A leaves open.
    """

    joint_id: JointId
    joint_type: Annotated[str, keyword("R", "T")] | None = None
    val_type: Annotated[str, keyword("D", "V", "A")] = "D"
    ic_disp: Real | None = None
    ic_vel: Real | None = None

    synonyms = MappingProxyType({"motion_type": "joint_type"})
    routine = "MOTSUB"
    readers = ("MOTION",)

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from integration_constants(self)

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        joint = others.get(Constraint_Joint, self.joint_id)
        if joint is not None:
            yield from _freedom_faults(joint, "joint_id", "joint_type", self.joint_type)


@dataclass(frozen=True, kw_only=True)
class Motion_Marker(ExpressionOrSubroutine):
    """Prescribes one displacement of marker I relative to marker J, or its rate, to be ``expr``.

    X, Y, Z are D?(I,J,J); B1, B2, B3 the angles of a body-fixed 1-2-3 sequence of I relative to J.
    """

    i_marker_id: MarkerId
    j_marker_id: MarkerId
    direction: Annotated[str, keyword("X", "Y", "Z", "B1", "B2", "B3")]
    val_type: Annotated[str, keyword("D", "V", "A")] = "D"
    ic_disp: Real | None = None
    ic_vel: Real | None = None

    routine = "MOTSUB"
    readers = ("MOTION",)

    def idle(self) -> Iterator[Idle]:
        yield from super().idle()
        yield from integration_constants(self)

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id)


def virtual(element: Constraint_Joint | Constraint_Coupler | Constraint_General) -> Iterator[Idle]:
    """A constraint that asks to be relaxed."""
    why = "relaxed constraints are not supported and this one is an ordinary, rigid one"
    yield from element.unused(["is_virtual"], why, "delete it")


def integration_constants(motion: Motion_Joint | Motion_Marker) -> Iterator[Idle]:
    """Start values of a motion that integrates less often than they need."""
    if motion.val_type == "D":
        cure = 'they belong to val_type="V" and "A"; delete them'
        yield from motion.unused(["ic_disp", "ic_vel"], "val_type is D, so nothing is integrated", cure)
    elif motion.val_type == "V":
        cure = 'it belongs to val_type="A"; delete it'
        yield from motion.unused(["ic_vel"], "val_type is V, which gives the velocity itself", cure)


def _freedom_faults(joint: Constraint_Joint, id_name: str, name: str, freedom: str | None) -> Iterator[str]:
    """Faults of using coordinate ``freedom`` ("T", "R" or None) of a joint."""
    own = joint.kind.freedoms
    if not own:
        coupled = [name for name, entry in _DECK.items() if entry.freedoms]
        yield (
            f"{id_name}={joint.id} is a {joint.type} joint, which has no coordinate of its own; "
            f"name a joint of type {', '.join(coupled)}"
        )
    elif freedom is None and len(own) > 1:
        yield f'{name} is missing, and joint {joint.id} both slides and turns; write {name}="T" or {name}="R"'
    elif freedom is not None and freedom not in own:
        yield (f'{name}="{freedom}" does not fit {joint.type} joint {joint.id}; write {name}="{own[0]}"')
