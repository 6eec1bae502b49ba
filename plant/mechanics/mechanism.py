"""The mechanism of a description: its bodies as links of a spanning tree, and where frames sit on them.

Bodies are the nodes and joints the edges of a graph. In joint coordinates a tree grows from the ground;
joints with few freedoms go into it first, so that loops are cut where that costs few equations, and it
grows breadth first, so that chains are short. The joints left over are cut: they become constraints. A
body no joint path ties to the ground gets a FREE joint (three translations for a point mass), and so does
a heavy one behind several very light links (`light_chains`). Each link has one frame, at its inboard joint.
In absolute coordinates every body is on its own and all joints are cut; where everything happens in one plane
(`planes.py`), bodies get PLANAR joints to the ground instead of FREE ones. All numbers here are plain floats.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import networkx as nx
import numpy as np

from blocks.contract.derived import Derived
from blocks.contract.user_lines import warn_user
from plant.description import GLOBAL, Body, Connection, Description, Frame, Naming
from plant.mechanics.joints import FREE, FREE_POINT, PLANAR, Closeness, Joint, JointNumbers, pose, reverse
from plant.mechanics.light_chains import Edge, behind_light_links
from plant.mechanics.planes import PARALLEL, plane_normal, within_planes
from plant.mechanics.spatial import Transform, snapped
from plant.names import unique_names
from plant.reporting import PlantWarning

Key = Hashable  # of a body

GROUND = -1
"""Number of the ground among the links."""

DISTANCE_TOLERANCE = 1e-6  # of the size of the mechanism; markers of a joint farther apart need assembly
ANGLE_TOLERANCE = 1e-4  # rad; as far as direction cosines in a file may be from orthonormal
ROUNDING = 1e-9  # rad, or of that size: smaller misfits are rounding, not worth a warning


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
    connection            the joint of the description; None where it is implied
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
    connection: Connection | None
    Xtree: Transform
    frame: Frame
    q0: np.ndarray
    seat: Frame

    @cached_property
    def seat_of_joint(self) -> Frame:
        """`Xtree` as a frame: where the joint sits on the parent."""
        return np.array(ca.DM(self.Xtree.r)).ravel(), np.array(ca.DM(self.Xtree.E)).T

    @property
    def where(self) -> str:
        """The joint as messages name it."""
        return self.connection.where if self.connection is not None else f"{self.body.where} (free)"


@dataclass(frozen=True, eq=False)
class FramePlace:
    """Where a marker sits: link number, origin (3,) and axes (3, 3) in the link's frame."""

    link: int
    s: np.ndarray
    A: np.ndarray


@dataclass(frozen=True, eq=False)
class Mechanism:
    """All links of a description, parents first.

    cut : tuple of Connection   joints that are constraints
    absolute : bool             no link hangs on another; frames are at the centres of mass
    derived : Derived           what was worked out from it
    """

    description: Description
    links: tuple[Link, ...]
    cut: tuple[Connection, ...] = ()
    absolute: bool = False
    derived: Derived = field(default_factory=Derived, init=False, repr=False)

    @cached_property
    def number(self) -> dict[Key, int]:
        """Link number by the key of its body; the ground has `GROUND`."""
        found = {link.body.key: i for i, link in enumerate(self.links)}
        found[self.description.ground] = GROUND
        return found

    @property
    def planar(self) -> bool:
        """Are the bodies' coordinates absolute and planar?"""
        return self.absolute and within_planes(self.description)

    @cached_property
    def flat(self) -> bool:
        """Do the joints keep all bodies in planes?"""
        return plane_normal(self.description) is not None

    @property
    def dof(self) -> int:
        """Degrees of freedom of the tree."""
        return sum(link.joint.nv for link in self.links)

    @cached_property
    def rate_starts(self) -> np.ndarray:
        """(links + 1,) where the rates of each link begin among all of them, and their number last."""
        return np.cumsum([0, *(link.joint.nv for link in self.links)])

    def coordinates_by_link(self, q: np.ndarray) -> list[np.ndarray]:
        """All coordinates as one (nq,) per link."""
        return np.split(q, np.cumsum([link.joint.nq for link in self.links])[:-1]) if self.links else []

    def rates_by_link(self, qd: np.ndarray) -> list[np.ndarray]:
        """All rates as one (nv,) per link."""
        return np.split(qd, self.rate_starts[1:-1]) if self.links else []

    def place(self, key: Hashable) -> FramePlace:
        """Where a named frame sits."""
        return self.derived.get(("place", key), lambda: self.on(*self.description.point(key)))

    def on(self, body: Hashable, at: Frame) -> FramePlace:
        """Where a design frame on a body sits."""
        i = self.number[body]
        return FramePlace(i, *in_frame(self.frame(i), at))

    def seated(self, key: Hashable) -> Frame:
        """Where the design coordinates put a named frame, in the global frame."""
        place = self.place(key)
        if place.link == GROUND or self.links[place.link].seat is self.links[place.link].frame:
            return self.description.frame(key)
        return _placed(self.links[place.link].seat, (place.s, place.A))

    def frames_at(self, q: Sequence[np.ndarray]) -> list[Frame]:
        """Frame of every link in the global frame at coordinates q, one (nq,) per link."""
        found: list[Frame] = []
        numbers = JointNumbers()
        for link, own in zip(self.links, q, strict=True):
            outer = GLOBAL if link.parent == GROUND else found[link.parent]
            found.append(_placed(_placed(outer, link.seat_of_joint), numbers.pose(link.joint, own)))
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


def mechanism_of(description: Description, absolute: bool = False) -> Mechanism:
    """Spanning tree of a description's bodies and joints, or every body on its own."""
    bodies = {body.key: body for body in description.bodies}
    graph = _graph(description, bodies)
    normal = plane_normal(description) if absolute and within_planes(description) else None
    ground = description.ground
    if absolute:
        graph = nx.create_empty_copy(graph)
    edges = list(_spanning_edges(graph, ground))
    while behind := behind_light_links(edges, bodies):
        graph.remove_edges_from([e for e in graph.edges(keys=True) if graph.edges[e]["joint"] in behind])
        edges = list(_spanning_edges(graph, ground))
    names = unique_names([_naming(edge, bodies) for edge in edges])
    numbers = {ground: GROUND}
    links: list[Link] = []
    size = description.size
    for edge, name in zip(edges, names, strict=True):
        if edge.connection is None:
            body = bodies[edge.child]
            links.append(_implied(body, name, numbers[edge.parent], size, normal))
        else:
            parent = links[numbers[edge.parent]] if edge.parent != ground else None
            held = _Held(edge, edge.connection, bodies[edge.child], size)
            links.append(_link(held, name, numbers[edge.parent], parent))
        numbers[edge.child] = len(links) - 1
    used = {id(edge.connection) for edge in edges}
    cut = [joint for joint in description.joints if id(joint) not in used and joint.kind.holds]
    return Mechanism(description, tuple(links), tuple(cut), absolute)


def _graph(description: Description, bodies: dict[Key, Body]) -> nx.MultiGraph:
    """Bodies as nodes, joints with coordinates as edges keyed by their number, in the order given."""
    graph = nx.MultiGraph()
    graph.add_nodes_from([description.ground, *bodies])
    for k, joint in enumerate(description.joints):
        one, other = joint.I[0], joint.J[0]
        # a point mass has no orientation a joint could hold on to
        turn = all(key == description.ground or bodies[key].turns for key in (one, other))
        if joint.kind.joint is not None and joint.kind.holds and turn:
            graph.add_edge(one, other, key=k, joint=joint)
    return graph


def _spanning_edges(graph: nx.MultiGraph, ground: Key) -> Iterator[Edge]:
    """Edges of the tree, parents before children."""
    tree = _tree_joints(graph, ground)
    reached = {ground}
    for root in (ground, *graph.nodes):
        if root != ground and root in reached:
            continue
        if root != ground:
            reached.add(root)
            yield Edge(ground, root, None)
        queue = [root]
        for body in queue:  # breadth first; grows while it is walked
            for _, other, key, joint in graph.edges(body, keys=True, data="joint"):
                if other not in reached and key in tree:
                    reached.add(other)
                    queue.append(other)
                    yield Edge(body, other, joint)


def _tree_joints(graph: nx.MultiGraph, ground: Key) -> set[int]:
    """Numbers of the joints that go into the tree: few freedoms first, then near the ground (Prim 1957)."""
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


def _naming(edge: Edge, bodies: dict[Key, Body]) -> Naming:
    return bodies[edge.child].naming if edge.connection is None else edge.connection.naming


@dataclass(frozen=True, eq=False)
class _Held:
    """A body on a joint of the tree; size : of the mechanism, length."""

    edge: Edge
    connection: Connection
    body: Body
    size: float


def _link(held: _Held, name: str, parent: int, outer_link: Link | None) -> Link:
    edge, connection, body, size = held.edge, held.connection, held.body, held.size
    parent_frame, parent_seat = (outer_link.frame, outer_link.seat) if outer_link else (GLOBAL, GLOBAL)
    joint = connection.kind.made(connection.numbers)
    frame_i, frame_j = connection.I[1], connection.J[1]
    q0, misfit = joint.initial(*in_frame(frame_j, frame_i))
    fits = misfit.distance <= DISTANCE_TOLERANCE * size and misfit.angle <= ANGLE_TOLERANCE
    _mention_misfit(
        connection,
        misfit,
        size,
        "the I side was moved onto the joint" if fits else f"{body.where} was moved onto it",
    )
    if fits:
        # the frame on the I side sits where the coordinates put it, so that the joint holds exactly
        frame_i = _placed(frame_j, pose(joint, q0))
    held_by_child = connection.I[0] == edge.child
    inner, outer = (frame_i, frame_j) if held_by_child else (frame_j, frame_i)
    joint = joint if held_by_child else reverse(joint)
    on_parent = in_frame(parent_frame, outer)
    seat = inner
    if not fits or parent_seat is not parent_frame:
        seat = _placed(_placed(parent_seat, on_parent), pose(joint, q0))
    return Link(body, name, parent, joint, connection, Transform.of_frame(*on_parent), inner, q0, seat)


def _placed(outer: Frame, inner: Frame) -> Frame:
    """Global frame of something known in `outer`."""
    (r0, A0), (r, A) = outer, inner
    return r0 + A0 @ r, snapped(A0 @ A)


def _implied(body: Body, name: str, parent: int, size: float, normal: np.ndarray | None = None) -> Link:
    """A body no joint holds moves freely: its frame is at its centre of mass. size : of the mechanism."""
    r, A = body.centre if body.centre is not None else GLOBAL
    if normal is not None:
        return _in_plane(body, name, parent, (r, A), size, normal)
    joint = (FREE if body.turns else FREE_POINT).made({})
    frame = (r, snapped(A) if joint.rotates else np.eye(3))
    q0, _ = joint.initial(*frame)
    return Link(body, name, parent, joint, None, Transform.of_frame(*GLOBAL), frame, q0, frame)


def _in_plane(body: Body, name: str, parent: int, cg: Frame, size: float, normal: np.ndarray) -> Link:
    """A body that moves in a plane: x, y of its centre of mass, and phi of the axes there if that fits."""
    r, A = cg
    plane = snapped(_axes_of_plane(normal))
    height = normal * (r @ normal)
    along = abs(A[:, 2] @ normal) > 1 - PARALLEL and A[:, 2] @ normal > 0
    frame = (r, snapped(A) if along else plane)
    joint = PLANAR.made({})
    outer = (np.where(np.abs(height) < ROUNDING * size, 0.0, height), plane)
    q0, _ = joint.initial(*in_frame(outer, frame))
    return Link(body, name, parent, joint, None, Transform.of_frame(*outer), frame, q0, frame)


def _axes_of_plane(normal: np.ndarray) -> np.ndarray:
    """Right-handed axes, the third along the normal; those of the ground where they fit."""
    k = int(np.argmax(np.abs(normal)))
    x = np.eye(3)[(k + 1) % 3] if normal[k] > 0 else np.eye(3)[(k + 2) % 3]
    x = x - normal * (normal @ x)
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(normal, x), normal])


def _mention_misfit(connection: Connection, misfit: Closeness, size: float, done: str) -> None:
    if misfit.distance > ROUNDING * size or misfit.angle > ROUNDING:
        i, j = connection.ends
        warn_user(
            f"{connection.where}: markers {i} and {j} are {misfit.distance:.3g} apart and "
            f"{misfit.angle:.3g} rad askew; {done}.",
            PlantWarning,
        )
