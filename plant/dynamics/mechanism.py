"""The mechanism of a model: its bodies as links of a spanning tree, and where every marker sits on them.

Bodies are the nodes and joints the edges of a graph; a tree grows from the ground, breadth first, so that
chains are short. A body no joint path ties to the ground gets a FREE joint (three translations for a
Body_Point). Each link has one frame, at its inboard joint. All numbers here are plain floats.

Source: Featherstone, RBDA, chapter 4 (connectivity, numbering: the parent of link i has a smaller number).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import networkx as nx
import numpy as np

from plant.elements import Body_Point, Body_Rigid, Constraint_Joint, Frame, Model, Reference_Marker
from plant.joints import JOINTS, Closeness, Joint, pose, reverse
from plant.names import unique_names
from plant.notes import ModelProblems, PlantWarning
from plant.spatial import Transform, snapped

Body = Body_Rigid | Body_Point
Key = tuple[str, int]  # element type and id of a body

GROUND = -1
"""Number of the ground among the links."""

DISTANCE_TOLERANCE = 1e-6  # model length; markers of a joint farther apart need assembly
ANGLE_TOLERANCE = 1e-4  # rad; as far as direction cosines in a file may be from orthonormal
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
    """

    body: Body
    name: str
    parent: int
    joint: Joint
    element: Constraint_Joint | None
    Xtree: Transform
    frame: Frame
    q0: np.ndarray

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
    """All links of a model, parents first."""

    model: Model
    links: tuple[Link, ...]

    @cached_property
    def number(self) -> dict[Key, int]:
        """Link number by (element type, id) of its body; the ground has `GROUND`."""
        found = {_key(link.body): i for i, link in enumerate(self.links)}
        found[_key(self.model.ground_body)] = GROUND
        return found

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


def mechanism_of(model: Model) -> Mechanism:
    """Spanning tree of a model's bodies and joints.

    Raises
    ------
    ModelProblems    joints that close loops, are of a type without coordinates, or whose markers do not fit
    """
    ground_key = _key(model.ground_body)
    listed: list[Body] = [*model.all(Body_Rigid), *model.all(Body_Point)]
    bodies = {_key(body): body for body in listed}
    problems: list[str] = []
    graph = _graph(model, bodies, problems)
    edges = list(_spanning_edges(graph, ground_key, problems))
    names = unique_names([_naming(edge, bodies) for edge in edges])
    numbers = {ground_key: GROUND}
    links: list[Link] = []
    for edge, name in zip(edges, names, strict=True):
        try:
            frame = links[numbers[edge.parent]].frame if edge.parent != ground_key else _GLOBAL
            links.append(_link(model, edge, bodies[edge.child], name, numbers[edge.parent], frame))
        except ModelProblems as misfit:
            problems += misfit.problems
            links.append(_implied(model, bodies[edge.child], name, numbers[edge.parent]))
        numbers[edge.child] = len(links) - 1
    if problems:
        raise ModelProblems(problems, about=model.file or model.name)
    return Mechanism(model, tuple(links))


def _key(body: Body) -> Key:
    return body.tag, body.id


_GLOBAL: Frame = (np.zeros(3), np.eye(3))


def _graph(model: Model, bodies: dict[Key, Body], problems: list[str]) -> nx.MultiGraph:
    """Bodies as nodes, joints as edges keyed by id, both in the order of the file."""
    graph = nx.MultiGraph()
    graph.add_nodes_from(bodies)
    for joint in model.all(Constraint_Joint):
        if joint.type == "FREE":
            continue  # no equation
        if joint.type not in JOINTS:
            problems.append(
                f"{joint.where}: joints of type {joint.type} are not supported yet; "
                f"there is {', '.join(name for name in JOINTS if name not in ('FREE', 'FREE_POINT'))}."
            )
            continue
        one, other = (_body(model, id) for id in (joint.i_marker_id, joint.j_marker_id))
        for body in (one, other):
            if body[0] == "Body_Point":
                problems.append(
                    f"{joint.where}: joints of a Body_Point are not supported yet (on Body_Point {body[1]}); "
                    "use a Body_Rigid with small moments of inertia."
                )
        graph.add_edge(one, other, key=joint.id, joint=joint)
    return graph


def _body(model: Model, marker_id: int) -> Key:
    return model.find(Reference_Marker, marker_id).body


def _spanning_edges(graph: nx.MultiGraph, ground: Key, problems: list[str]) -> Iterator[_Edge]:
    """Edges of the tree, parents before children; joints left over close loops."""
    used: set[int] = set()
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
                if other not in reached:
                    reached.add(other)
                    queue.append(other)
                    used.add(key)
                    yield _Edge(body, other, joint)
    for one, other, key, joint in graph.edges(keys=True, data="joint"):
        if key not in used:
            problems.append(
                f"{joint.where}: closes a loop between {one[0]} {one[1]} and {other[0]} {other[1]}; "
                "closed loops are not supported yet. Remove the joint, or put a stiff Force_Bushing there."
            )


def _naming(edge: _Edge, bodies: dict[Key, Body]) -> tuple[str | None, str, int]:
    if edge.element is not None:
        return edge.element.label, "joint", edge.element.id
    body = bodies[edge.child]
    return body.label, "body" if body.tag == "Body_Rigid" else "point", body.id


def _link(model: Model, edge: _Edge, body: Body, name: str, parent: int, parent_frame: Frame) -> Link:
    if edge.element is None:
        return _implied(model, body, name, parent)
    element = edge.element
    joint = JOINTS[element.type]
    frame_i, frame_j = model.frames[element.i_marker_id], model.frames[element.j_marker_id]
    q0, misfit = joint.initial(*in_frame(frame_j, frame_i))
    _check_fit(element, misfit)
    # the frame on the I side sits where the coordinates put it, so that the joint holds exactly
    frame_i = _placed(frame_j, pose(joint, q0))
    held_by_child = _body(model, element.i_marker_id) == edge.child
    inner, outer = (frame_i, frame_j) if held_by_child else (frame_j, frame_i)
    Xtree = Transform.of_frame(*in_frame(parent_frame, outer))
    return Link(body, name, parent, joint if held_by_child else reverse(joint), element, Xtree, inner, q0)


def _placed(outer: Frame, inner: Frame) -> Frame:
    """Global frame of something known in `outer`."""
    (r0, A0), (r, A) = outer, inner
    return r0 + A0 @ r, snapped(A0 @ A)


def _implied(model: Model, body: Body, name: str, parent: int) -> Link:
    """A body no joint holds moves freely: its frame is that of its CG marker."""
    r, A = model.frames[body.cg_id] if body.cg_id is not None else _GLOBAL
    joint = JOINTS["FREE" if body.tag == "Body_Rigid" else "FREE_POINT"]
    frame = (r, snapped(A) if joint.rotates else np.eye(3))
    q0, _ = joint.initial(*frame)
    return Link(body, name, parent, joint, None, Transform.of_frame(*_GLOBAL), frame, q0)


def _check_fit(element: Constraint_Joint, misfit: Closeness) -> None:
    markers = f"{element.where}: markers {element.i_marker_id} and {element.j_marker_id}"
    if misfit.distance > DISTANCE_TOLERANCE or misfit.angle > ANGLE_TOLERANCE:
        text = (
            f"{markers} do not fit a {element.type} joint in the design configuration: they are "
            f"{misfit.distance:.6g} apart and {np.degrees(misfit.angle):.6g} deg askew, expected 0. "
            "Correct pos_* or the direction cosines of one of them; assembly is not supported yet."
        )
        raise ModelProblems([text])
    if misfit.distance > ROUNDING or misfit.angle > ROUNDING:
        warnings.warn(
            f"{markers} are {misfit.distance:.3g} apart and {misfit.angle:.3g} rad askew; "
            "the I side was moved onto the joint.",
            PlantWarning,
            stacklevel=2,
        )
