"""The mechanism of a model: its bodies as links of a spanning tree, and where every marker sits on them.

Bodies are the nodes and joints the edges of a graph. In joint coordinates a tree grows from the ground;
joints with few freedoms go into it first, so that loops are cut where that costs few equations, and it
grows breadth first, so that chains are short. The joints left over are cut: they become constraints. A
body no joint path ties to the ground gets a FREE joint (three translations for a Body_Point). Each link
has one frame, at its inboard joint. In absolute coordinates every body is on its own and all joints are
cut; where all joints keep the bodies in planes, bodies get PLANAR joints to the ground instead of FREE
ones. All numbers here are plain floats.
"""

from __future__ import annotations

import heapq
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import networkx as nx
import numpy as np

from plant.elements import Body_Point, Body_Rigid, Constraint_Joint, Frame, Model, Reference_Marker
from plant.mechanics.joints import FREE, FREE_POINT, PLANAR, Closeness, Joint, Planarity, pose, reverse
from plant.mechanics.spatial import Transform, snapped
from plant.names import unique_names
from plant.reporting import PlantWarning

Body = Body_Rigid | Body_Point
Key = tuple[str, int]  # element type and id of a body

GROUND = -1
"""Number of the ground among the links."""

DISTANCE_TOLERANCE = 1e-6  # model length; markers of a joint farther apart need assembly
ANGLE_TOLERANCE = 1e-4  # rad; as far as direction cosines in a file may be from orthonormal
PARALLEL = 1e-9  # sine of the angle between axes that count as parallel
ROUNDING = 1e-9  # misfits below this are rounding of the numbers in a file, not worth a warning


def in_frame(outer: Frame, inner: Frame) -> Frame:
    """Pose of `inner` in `outer`, both given in one common frame; rounding noise becomes exact zeros."""
    (r0, A0), (r1, A1) = outer, inner
    r = A0.T @ (r1 - r0)
    scale = max(np.abs(r0).max(), np.abs(r1).max())
    return np.where(np.abs(r) <= 1e-15 * scale, 0.0, r) + 0.0, snapped(A0.T @ A1)


@dataclass(frozen=True, eq=False)
class Link:
    """One moving body and the joint that ties it to its parent.

    name : str            slug of the joint's label (of the body's, where the joint is implied)
    parent : int          number of the parent link, `GROUND` for the ground
    joint : Joint         seen from the parent: link relative to parent; coordinates I relative to J
    element               the Constraint_Joint; None where the joint is implied
    Xtree : Transform     from the parent's frame to the joint's frame on it, constant
    frame : Frame         the link's frame at the design configuration, in the global frame
    q0 : (nq,)            coordinates at the design configuration
    seat : Frame          where the coordinates q0 put the frame; differs from `frame` where the markers of a
                          joint do not meet in the design
    """

    body: Body
    name: str
    parent: int
    joint: Joint
    element: Constraint_Joint | None
    Xtree: Transform
    frame: Frame
    q0: np.ndarray
    seat: Frame

    @property
    def where(self) -> str:
        """The joint as messages name it."""
        return self.element.where if self.element is not None else f"{self.body.where} (free)"


@dataclass(frozen=True, eq=False)
class Place:
    """Where a marker sits: link number, origin (3,) and axes (3, 3) in the link's frame."""

    link: int
    s: np.ndarray
    A: np.ndarray


@dataclass(frozen=True, eq=False)
class Mechanism:
    """All links of a model, parents first.

    cut : tuple of Constraint_Joint     joints that are constraints
    absolute : bool                     no link hangs on another; frames are at the centres of mass
    """

    model: Model
    links: tuple[Link, ...]
    cut: tuple[Constraint_Joint, ...] = ()
    absolute: bool = False

    @cached_property
    def number(self) -> dict[Key, int]:
        """Link number by (element type, id) of its body; the ground has `GROUND`."""
        found = {_key(link.body): i for i, link in enumerate(self.links)}
        found[_key(self.model.ground_body)] = GROUND
        return found

    @property
    def planar(self) -> bool:
        """Are the bodies' coordinates absolute and planar?"""
        return self.absolute and self.flat

    @cached_property
    def flat(self) -> bool:
        """Do the joints keep all bodies in planes?"""
        return plane_normal(self.model) is not None

    @property
    def dof(self) -> int:
        """Degrees of freedom of the tree."""
        return sum(link.joint.nv for link in self.links)

    def place(self, marker_id: int) -> Place:
        """Where a marker sits; id 0 is the global frame."""
        if marker_id == 0:
            return Place(GROUND, np.zeros(3), np.eye(3))
        marker = self.model.find(Reference_Marker, marker_id)
        i = self.number[marker.body]
        return Place(i, *in_frame(self.frame(i), self.model.frames[marker_id]))

    def seated(self, marker_id: int) -> Frame:
        """Where the design coordinates put a marker, in the global frame."""
        place = self.place(marker_id)
        if place.link == GROUND or self.links[place.link].seat is self.links[place.link].frame:
            return self.model.frames[marker_id] if marker_id else _GLOBAL
        return _placed(self.links[place.link].seat, (place.s, place.A))

    def frames_at(self, q: Sequence[np.ndarray]) -> list[Frame]:
        """Frame of every link in the global frame at coordinates q, one (nq,) per link."""
        found: list[Frame] = []
        for link, own in zip(self.links, q, strict=True):
            outer = _GLOBAL if link.parent == GROUND else found[link.parent]
            r, A = np.array(ca.DM(link.Xtree.r)).ravel(), np.array(ca.DM(link.Xtree.E)).T
            found.append(_placed(_placed(outer, (r, A)), pose(link.joint, own)))
        return found

    def frame(self, i: int) -> Frame:
        """Design frame of link i, or the global frame."""
        return (np.zeros(3), np.eye(3)) if i == GROUND else self.links[i].frame

    def path(self, i: int) -> list[int]:
        """Links from i down to the one on the ground."""
        found = []
        while i != GROUND:
            found.append(i)
            i = self.links[i].parent
        return found


@dataclass(frozen=True)
class _Edge:
    """A joint of the tree before numbering: child hangs on parent."""

    parent: Key
    child: Key
    element: Constraint_Joint | None


def mechanism_of(model: Model, absolute: bool = False) -> Mechanism:
    """Spanning tree of a model's bodies and joints, or every body on its own."""
    ground_key = _key(model.ground_body)
    listed: list[Body] = [*model.all(Body_Rigid), *model.all(Body_Point)]
    bodies = {_key(body): body for body in listed}
    graph = _graph(model, bodies)
    normal = plane_normal(model) if absolute else None
    edges = list(_spanning_edges(nx.create_empty_copy(graph) if absolute else graph, ground_key))
    names = unique_names([_naming(edge, bodies) for edge in edges])
    numbers = {ground_key: GROUND}
    links: list[Link] = []
    for edge, name in zip(edges, names, strict=True):
        if edge.element is None:
            links.append(_implied(model, bodies[edge.child], name, numbers[edge.parent], normal))
        else:
            parent = links[numbers[edge.parent]] if edge.parent != ground_key else None
            links.append(
                _link(model, edge, edge.element, bodies[edge.child], name, numbers[edge.parent], parent)
            )
        numbers[edge.child] = len(links) - 1
    used = {edge.element.id for edge in edges if edge.element is not None}
    cut = [j for j in model.all(Constraint_Joint) if j.id not in used and j.kind.holds]
    return Mechanism(model, tuple(links), tuple(cut), absolute)


def plane_normal(model: Model) -> np.ndarray | None:
    """(3,) normal of the planes in which all bodies have to move, None where they need not.

    The joints decide, and gravity must not pull out of the planes. Reactions out of the planes are not
    computed in this case.
    """
    normal = None
    graph = nx.MultiGraph()
    listed: list[Body] = [*model.all(Body_Rigid), *model.all(Body_Point)]
    graph.add_nodes_from(_key(b) for b in listed)
    graph.add_node(_key(model.ground_body))
    for joint in model.all(Constraint_Joint):
        axis = model.frames[joint.j_marker_id][1][:, 2]
        if joint.kind.planarity is Planarity.ACROSS:
            if normal is None:
                normal = axis
            if np.linalg.norm(np.cross(normal, axis)) > PARALLEL:
                return None
    for joint in model.all(Constraint_Joint):
        axis = model.frames[joint.j_marker_id][1][:, 2]
        planarity = joint.kind.planarity
        across = normal is not None and abs(axis @ normal) <= PARALLEL
        if planarity in (Planarity.ACROSS, Planarity.ANY) or (planarity is Planarity.ALONG and across):
            graph.add_edge(*(_body(model, id) for id in (joint.i_marker_id, joint.j_marker_id)))
    if normal is None or not nx.is_connected(graph) or model.all(Body_Point):
        return None
    pull = np.array(
        [0.0 if isinstance(g, str) else g for g in (getattr(model.gravity, f"grav_{a}") for a in "xyz")]
    )
    written = any(isinstance(getattr(model.gravity, f"grav_{a}"), str) for a in "xyz")
    if written or abs(pull @ normal) > PARALLEL * max(1.0, float(np.abs(pull).max())):
        return None
    return snapped(normal.reshape(3, 1)).ravel()


def _key(body: Body) -> Key:
    return body.tag, body.id


_GLOBAL: Frame = (np.zeros(3), np.eye(3))


def _graph(model: Model, bodies: dict[Key, Body]) -> nx.MultiGraph:
    """Bodies as nodes, joints with coordinates as edges keyed by id, both in the order of the file."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(bodies)
    for joint in model.all(Constraint_Joint):
        one, other = (_body(model, id) for id in (joint.i_marker_id, joint.j_marker_id))
        points = "Body_Point" in (one[0], other[0])  # has no orientation a joint could hold on to
        if joint.kind.joint is not None and joint.kind.holds and not points:
            graph.add_edge(one, other, key=joint.id, joint=joint)
    return graph


def _body(model: Model, marker_id: int) -> Key:
    return model.find(Reference_Marker, marker_id).body


def _spanning_edges(graph: nx.MultiGraph, ground: Key) -> Iterator[_Edge]:
    """Edges of the tree, parents before children."""
    tree = _tree_joints(graph, ground)
    reached = {ground}
    for root in (ground, *graph.nodes):
        if root != ground and root in reached:
            continue
        if root != ground:
            reached.add(root)
            yield _Edge(ground, root, None)
        queue = [root]
        for body in queue:  # breadth first; grows while it is walked
            for _, other, key, joint in graph.edges(body, keys=True, data="joint"):
                if other not in reached and key in tree:
                    reached.add(other)
                    queue.append(other)
                    yield _Edge(body, other, joint)


def _tree_joints(graph: nx.MultiGraph, ground: Key) -> set[int]:
    """Ids of the joints that go into the tree: few freedoms first, then near the ground (Prim 1957)."""
    chosen: set[int] = set()
    depth: dict[Key, int] = {}
    for root in (ground, *graph.nodes):
        if root in depth or root not in graph:
            continue
        depth[root] = 0
        heap: list[tuple[int, int, int, int, Key]] = []
        count = 0

        def offer(body: Key) -> None:
            nonlocal count
            for _, other, key, joint in graph.edges(body, keys=True, data="joint"):
                if other not in depth:
                    entry = (joint.kind.joint.nv, depth[body] + 1, count, key, other)
                    heapq.heappush(heap, entry)  # noqa: B023
                    count += 1

        offer(root)
        while heap:
            _, d, _, key, body = heapq.heappop(heap)
            if body not in depth:
                depth[body] = d
                chosen.add(key)
                offer(body)
    return chosen


def _naming(edge: _Edge, bodies: dict[Key, Body]) -> tuple[str | None, str, int]:
    if edge.element is not None:
        return edge.element.label, "joint", edge.element.id
    body = bodies[edge.child]
    return body.label, "body" if body.tag == "Body_Rigid" else "point", body.id


def _link(
    model: Model,
    edge: _Edge,
    element: Constraint_Joint,
    body: Body,
    name: str,
    parent: int,
    outer_link: Link | None,
) -> Link:
    parent_frame, parent_seat = (outer_link.frame, outer_link.seat) if outer_link else (_GLOBAL, _GLOBAL)
    joint = element.kind.made(element.numbers)
    frame_i, frame_j = model.frames[element.i_marker_id], model.frames[element.j_marker_id]
    q0, misfit = joint.initial(*in_frame(frame_j, frame_i))
    fits = misfit.distance <= DISTANCE_TOLERANCE and misfit.angle <= ANGLE_TOLERANCE
    _mention_misfit(
        element, misfit, "the I side was moved onto the joint" if fits else f"{body.where} was moved onto it"
    )
    if fits:
        # the frame on the I side sits where the coordinates put it, so that the joint holds exactly
        frame_i = _placed(frame_j, pose(joint, q0))
    held_by_child = _body(model, element.i_marker_id) == edge.child
    inner, outer = (frame_i, frame_j) if held_by_child else (frame_j, frame_i)
    joint = joint if held_by_child else reverse(joint)
    on_parent = in_frame(parent_frame, outer)
    seat = inner
    if not fits or parent_seat is not parent_frame:
        seat = _placed(_placed(parent_seat, on_parent), pose(joint, q0))
    return Link(body, name, parent, joint, element, Transform.of_frame(*on_parent), inner, q0, seat)


def _placed(outer: Frame, inner: Frame) -> Frame:
    """Global frame of something known in `outer`."""
    (r0, A0), (r, A) = outer, inner
    return r0 + A0 @ r, snapped(A0 @ A)


def _implied(model: Model, body: Body, name: str, parent: int, normal: np.ndarray | None = None) -> Link:
    """A body no joint holds moves freely: its frame is that of its CG marker."""
    r, A = model.frames[body.cg_id] if body.cg_id is not None else _GLOBAL
    if normal is not None:
        return _in_plane(body, name, parent, (r, A), normal)
    joint = (FREE if body.tag == "Body_Rigid" else FREE_POINT).made({})
    frame = (r, snapped(A) if joint.rotates else np.eye(3))
    q0, _ = joint.initial(*frame)
    return Link(body, name, parent, joint, None, Transform.of_frame(*_GLOBAL), frame, q0, frame)


def _in_plane(body: Body, name: str, parent: int, cg: Frame, normal: np.ndarray) -> Link:
    """A body that moves in a plane: x, y of its CG in it, and phi of its CG marker if that fits."""
    r, A = cg
    plane = snapped(_axes_of_plane(normal))
    height = normal * (r @ normal)
    along = abs(A[:, 2] @ normal) > 1 - PARALLEL and A[:, 2] @ normal > 0
    frame = (r, snapped(A) if along else plane)
    joint = PLANAR.made({})
    outer = (np.where(np.abs(height) < ROUNDING * np.abs(r).max(initial=1.0), 0.0, height), plane)
    q0, _ = joint.initial(*in_frame(outer, frame))
    return Link(body, name, parent, joint, None, Transform.of_frame(*outer), frame, q0, frame)


def _axes_of_plane(normal: np.ndarray) -> np.ndarray:
    """Right-handed axes, the third along the normal; those of the ground where they fit."""
    k = int(np.argmax(np.abs(normal)))
    x = np.eye(3)[(k + 1) % 3] if normal[k] > 0 else np.eye(3)[(k + 2) % 3]
    x = x - normal * (normal @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x), normal])


def _mention_misfit(element: Constraint_Joint, misfit: Closeness, done: str) -> None:
    if misfit.distance > ROUNDING or misfit.angle > ROUNDING:
        warnings.warn(
            f"{element.where}: markers {element.i_marker_id} and {element.j_marker_id} are "
            f"{misfit.distance:.3g} apart and {misfit.angle:.3g} rad askew; {done}.",
            PlantWarning,
            stacklevel=2,
        )
