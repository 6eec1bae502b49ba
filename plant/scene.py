"""What a plant looks like: bodies as lines between their markers, joints, forces; and where its links are.

Plain data for whoever draws it. Points are along the axes of the link they are on (ground: global axes).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import casadi as ca
import numpy as np

from blocks.contract.derived import Derived
from plant.elements import FORCES, Force_SpringDamper, Post_Graphic
from plant.mechanics.joints import JOINT_TYPES
from plant.mechanics.mechanism import GROUND, Mechanism
from plant.mechanics.planes import plane_normal

SAME = 1e-9  # relative; points this close are one


class Linked(Protocol):
    """A mechanism, or a tree of spatial_v2."""

    @property
    def links(self) -> Sequence[Any]:
        """In an order where parents come first; each with its parent, joint and Xtree."""


@dataclass(frozen=True, eq=False)
class BodyShape:
    """A body as a line on a link through `points` (k, 3); `centre` (3,) or None: its centre of mass.

    axes : (3, 3) columns, those of its marker there; None: those of the link
    """

    name: str
    link: int
    points: np.ndarray
    centre: np.ndarray | None
    mass: float
    axes: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class JointShape:
    """A joint at `point` (3,) of link `link`, its axis (3,) along that link's axes.

    shape : see `JointType.shape`; "" also for its other end
    """

    name: str
    shape: str
    link: int
    point: np.ndarray
    axis: np.ndarray


@dataclass(frozen=True, eq=False)
class ForceShape:
    """What acts between two points, or at one (then both are the same); a spring, a damper, or both."""

    name: str
    type: str
    links: tuple[int, int]
    points: np.ndarray  # (2, 3)
    spring: bool
    damper: bool = False


@dataclass(frozen=True, eq=False)
class SolidShape:
    """A shape the deck draws: a BOX, CYLINDER (also of two radii) or SPHERE on a link.

    sizes : of a box its lengths (3,), of a cylinder the radii at its bottom and top and its length, of a
        sphere its radius; negative lengths go the other way
    origin, axes : (3,), (3, 3) its frame on the link, axes as columns; a box has its middle there, a cylinder
        its bottom, along z
    ends : has it a bottom, a top
    """

    kind: str
    link: int
    origin: np.ndarray
    axes: np.ndarray
    sizes: tuple[float, ...]
    colour: tuple[int, int, int] | None
    ends: tuple[bool, bool]
    inside: bool  # its outer faces are seen
    corners: int


@dataclass(frozen=True, eq=False)
class Scene:
    """Shapes of a plant.

    states : names of the coordinates of each link ("hinge.q"), "" where it has none
    gravity : (3,) or None
    normal : (3,) of the planes a planar mechanism moves in, or None
    """

    name: str
    bodies: tuple[BodyShape, ...]
    joints: tuple[JointShape, ...]
    forces: tuple[ForceShape, ...]
    solids: tuple[SolidShape, ...]
    states: tuple[str, ...]
    gravity: np.ndarray | None
    normal: np.ndarray | None
    mechanism: Linked
    start: tuple[np.ndarray, ...]
    derived: Derived

    def poses(self, coordinates: np.ndarray) -> np.ndarray:
        """Places of all links.

        Parameters
        ----------
        coordinates : (n, nq)      rows of the coordinates of all links, one behind the other

        Returns
        -------
        poses : (n, links, 12)     origin and the columns of the axes of each link in the ground frame
        """
        rows = np.atleast_2d(np.asarray(coordinates, dtype=float))
        if not len(self.mechanism.links):
            return np.zeros((len(rows), 0, 12))
        function = self.derived.get("poses of links", lambda: poses_of(self.mechanism))
        if len(rows) == 1:
            found = np.array(function(rows[0])).T
        else:
            found = np.array(function.map(len(rows))(rows.T)).T if len(rows) else np.zeros((0, 0))
        return np.asarray(found.reshape(len(rows), len(self.mechanism.links), 12))

    def at_start(self) -> np.ndarray:
        """(1, links, 12) the poses at the start."""
        return self.poses(np.concatenate([np.zeros(0), *self.start])[None])


def poses_of(mechanism: Linked) -> ca.Function:
    """Function of all coordinates (nq,): origin and axes, column by column, of every link (12 links,)."""
    q = ca.SX.sym("q", sum(link.joint.nq for link in mechanism.links))
    found: list[tuple[Any, Any]] = []
    start = 0
    for link in mechanism.links:
        own = q[start : start + link.joint.nq]
        start += link.joint.nq
        XJ, _ = link.joint.jcalc(own)
        X = XJ @ link.Xtree
        A0, r0 = (ca.SX.eye(3), ca.SX(3, 1)) if link.parent == GROUND else found[link.parent]
        found.append((A0 @ ca.SX(X.E).T, r0 + A0 @ ca.SX(X.r)))
    parts = [ca.vertcat(r, ca.reshape(A, 9, 1)) for A, r in found]
    return ca.Function("poses", [q], [ca.densify(ca.vertcat(ca.SX(0, 1), *parts))])


def scene_of(plant: Any) -> Scene:
    """What a plant (`plant.block.Plant`) looks like."""
    mechanism, model = plant.mechanism, plant.model
    links = mechanism.links
    joints = tuple(_joints(mechanism))
    forces = tuple(_forces(plant))
    return Scene(
        model.name,
        tuple(_bodies(mechanism, joints, forces)),
        joints,
        forces,
        tuple(_solids(plant)),
        tuple(f"{link.name}.q" if link.joint.nq else "" for link in links),
        mechanism.description.gravity,
        plane_normal(mechanism.description),
        mechanism,
        plant.start,
        mechanism.derived,
    )


def _joints(mechanism: Mechanism) -> list[JointShape]:
    """Every joint of the description, where its frame J is."""
    found = []
    for joint in mechanism.description.joints:
        place = mechanism.on(*joint.J)
        name = joint.label or joint.where or str(joint.key)
        found.append(JointShape(name, JOINT_TYPES[joint.type].shape, place.link, place.s, place.A[:, 2]))
        other = mechanism.on(*joint.I)
        found.append(JointShape(name, "", other.link, other.s, other.A[:, 2]))
    return found


def _forces(plant: Any) -> list[ForceShape]:
    found = []
    for kind in FORCES:
        for force in plant.model.all(kind):
            names = ("i_marker_id", "j_marker_id", "marker_id")
            ids = [getattr(force, n, None) for n in names]
            ends = [plant.mechanism.place(k) for k in ids if isinstance(k, int) and k]
            if not ends:
                continue
            first, last = ends[0], ends[-1]
            name = force.label or f"{force.tag} {force.id}"
            both = isinstance(force, Force_SpringDamper)
            damper = both and force.damping > 0.0
            spring = both and (force.stiffness > 0.0 or not damper)
            points = np.array([first.s, last.s])
            found.append(ForceShape(name, force.tag, (first.link, last.link), points, spring, damper))
    return found


def _solids(plant: Any) -> Iterator[SolidShape]:
    """What the deck draws on bodies."""
    for graphic in plant.model.all(Post_Graphic):
        if not graphic.shape or graphic.hidden:
            continue
        place = plant.mechanism.place(graphic.marker_id)
        origin, ends = place.s, graphic.ends_type.upper()
        sizes: tuple[float, ...]
        if graphic.shape == "SPHERE":
            kind, sizes = "SPHERE", (graphic.radius,)
        elif graphic.shape in ("CYLINDER", "FRUSTUM"):
            straight = graphic.shape == "CYLINDER"
            bottom, top = (graphic.radius,) * 2 if straight else (graphic.bottom_radius, graphic.top_radius)
            kind, sizes = "CYLINDER", (bottom, top, graphic.length)
        else:
            kind, sizes = "BOX", (graphic.length_x, graphic.length_y, graphic.length_z)
            if graphic.shape == "BOXDEFINEDFROMCORNER":
                origin = origin + place.A @ np.array(sizes) / 2
        yield SolidShape(
            kind,
            place.link,
            origin,
            place.A,
            sizes,
            graphic.rgb,
            (ends in ("CLOSED", "BOTTOM_ONLY"), ends in ("CLOSED", "TOP_ONLY")),
            graphic.is_material_inside,
            4 + 8 * min(graphic.refinement_level, 6),
        )


def _bodies(
    mechanism: Mechanism, joints: tuple[JointShape, ...], forces: tuple[ForceShape, ...]
) -> list[BodyShape]:
    """Bodies as lines through their joints, else their forces; from one of these to the centre of mass."""
    found = []
    for i, link in enumerate(mechanism.links):
        body = link.body
        at = None if body.centre is None else mechanism.on(body.key, body.centre)
        centre = None if at is None else at.s
        points: list[np.ndarray] = []
        _add(points, [j.point for j in joints if j.link == i])
        if len(points) < 2:
            _add(points, [f.points[k] for f in forces for k in (0, 1) if f.links[k] == i])
        if len(points) < 2 and centre is not None:
            _add(points, [centre])
        if len(points) > 2:
            points.append(points[0])
        name = body.label or body.where or str(body.key)
        mass = float(sum(share.value for share in body.shares if share.name == "mass"))
        axes = None if at is None else at.A
        found.append(BodyShape(name, i, np.array(points).reshape(-1, 3), centre, mass, axes))
    return found


def _add(points: list[np.ndarray], more: list[np.ndarray]) -> None:
    for s in more:
        size = max(1.0, float(np.abs(s).max()))
        if not any(np.abs(s - p).max() < SAME * size for p in points):
            points.append(s)
