"""Forces and torques by all six relative displacements of two markers: bushings and fields.

Source: MotionSolve reference guide, Force_Bushing, Force_Field.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import casadi as ca

from blocks.errors import near_miss
from plant.elements.element import Idle, Others
from plant.elements.forces.force import Force, Store, Surroundings
from plant.elements.forces.in_plane import Plane, leaves_out
from plant.elements.forces.relative import Offset, turned
from plant.elements.kinds import MarkerId, NonNegative, Numbers, Real, String, Whole
from plant.elements.pairs import pair_faults
from plant.elements.subroutine import UserSubroutine
from plant.forces.wrench import Applied, Wrench
from plant.mechanics.spatial import vector

__all__ = ["Force_Bushing", "Force_Field"]

MATRICES = {"k_matrix": (36, 6), "c_matrix": (36, 6), "length": (6,), "preload": (6,)}
"""Attributes of a linear Force_Field: how many numbers each has."""


@dataclass(frozen=True, kw_only=True)
class Force_Bushing(Force):
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

    @property
    def ends(self) -> tuple[int, ...]:
        return self.i_marker_id, self.j_marker_id

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id, self.body1_id, self.body2_id)

    def apply(self, setting: Surroundings) -> Applied:
        """F = -k d - c d' + preload, T = -kt a - ct w + preload_t on I, components along J; reaction at r_I.

        d, d' are the displacement and its rate as seen in J, a the angles AX, AY, AZ(I,J), w the angular
        velocity of I relative to J.
        """
        I, J = self.i_marker_id, self.j_marker_id
        seen = Offset(setting, I, J)

        def number(name: str) -> Any:
            return setting.number(self, name)

        forces = [
            -number(f"k{axis}") * seen.d[n] - number(f"c{axis}") * seen.rate[n] + number(f"preload_{axis}")
            for n, axis in enumerate("xyz")
        ]
        torques = [
            -(
                stiffness * turned(setting, n, I, J)
                if isinstance(stiffness := number(f"kt{axis}"), ca.SX)
                else 0.0
            )
            - number(f"ct{axis}") * seen.w[n]
            + number(f"preload_t{axis}")
            for n, axis in enumerate("xyz")
        ]
        F, T = seen.A @ ca.SX(vector(forces)), seen.A @ ca.SX(vector(torques))
        return Wrench(I, F, T), Wrench(J, -F, -T, seen.at)

    def store(self, setting: Surroundings) -> Store:
        """Of the translation; what turns is counted as work put in, because its angles are no potential's."""
        seen = Offset(setting, self.i_marker_id, self.j_marker_id)
        U, change, loss = ca.SX(0), ca.SX(0), ca.SX(0)
        for n, axis in enumerate("xyz"):
            k, c = setting.number(self, f"k{axis}"), setting.number(self, f"c{axis}")
            preload, ct = setting.number(self, f"preload_{axis}"), setting.number(self, f"ct{axis}")
            U = U + k * seen.d[n] ** 2 / 2 - preload * seen.d[n]
            change = change + (k * seen.d[n] - preload) * seen.rate[n]
            loss = loss + c * seen.rate[n] ** 2 + ct * seen.w[n] ** 2
        return Store(U, change, loss)

    def in_plane(self, plane: Plane) -> bool:
        """Its markers lie in the plane, with the same axis as normal, and no preload is across."""
        I, J = self.i_marker_id, self.j_marker_id
        if not plane.mirrors((I, J)) or plane.across(I) != plane.across(J):
            return False
        k = plane.across(J)
        return leaves_out(self, [f"preload_{'' if n == k else 't'}{axis}" for n, axis in enumerate("xyz")])


@dataclass(frozen=True, kw_only=True)
class Force_Field(UserSubroutine, Force):
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
        for name, counts in MATRICES.items():
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
        yield from self._idle_attributes()

    def _idle_attributes(self) -> Iterator[Idle]:
        """What is written beside the documented attributes and is not read."""
        if self.has_subroutine and self.attributes:
            names = tuple(name for name, _ in self.attributes)
            yield Idle(names, "the field is given by its subroutine", "delete it")
            return
        for name, _ in self.attributes:
            if name.lower() not in MATRICES:
                yield Idle((name,), "no such attribute is known", near_miss(name.lower(), MATRICES))

    @property
    def ends(self) -> tuple[int, ...]:
        return self.i_marker_id, self.j_marker_id

    def faults_in(self, others: Others) -> Iterator[str]:
        yield from super().faults_in(others)
        yield from pair_faults(others, self.i_marker_id, self.j_marker_id)

    def apply(self, setting: Surroundings) -> Applied:
        """F = F0 - K (d - d0) - C d', or what FIESUB gives for d and d'; components along J, reaction at r_I.

        d (6,) is the displacement of I in J and the angles AX, AY, AZ(I,J), d' its velocity and the angular
        velocity of I relative to J, all along J. The attributes of the linear form are not documented: here
        ``k_matrix`` and ``c_matrix`` (36 numbers, row by row, or 6 for a diagonal), ``length`` d0 and
        ``preload`` F0 (6 numbers each).
        """
        I, J = self.i_marker_id, self.j_marker_id
        seen = Offset(setting, I, J)
        displacement = ca.vertcat(seen.d, *[turned(setting, axis, I, J) for axis in range(3)])
        velocity = ca.vertcat(seen.rate, seen.w)
        if self.has_subroutine:
            components = setting.subroutine(self, displacement, velocity)
        else:
            K, C = (self._square(name) for name in ("k_matrix", "c_matrix"))
            d0, F0 = (ca.DM(self.numbers(name, 6)) for name in ("length", "preload"))
            components = F0 - K @ (displacement - d0) - C @ velocity
        F, T = seen.A @ components[:3], seen.A @ components[3:]
        return Wrench(I, F, T), Wrench(J, -F, -T, seen.at)

    def _square(self, name: str) -> ca.SX:
        """(6, 6) matrix of a field; 6 numbers are its diagonal."""
        values = self.numbers(name, 36, 6)
        matrix = ca.diag(ca.DM(values)) if len(values) == 6 else ca.reshape(ca.DM(values), 6, 6).T
        return ca.sparsify(ca.SX(matrix))
