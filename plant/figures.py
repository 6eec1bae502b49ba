"""Where the bodies of an observed plant were in a run, and the lines they are drawn as."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from blocks.errors import ModelError
from blocks.errors import shown as text
from plant.block import Plant
from plant.elements import FORCES, Constraint_Joint, Element
from plant.equations.observed import BODY, observed
from plant.mechanics.planes import plane_normal
from plant.scene import Scene, scene_of

MARGIN = 0.08  # of the extent, around a drawing
ALIGNED = 1e-9  # sine of the angle between the normal of a planar mechanism and a global axis


@dataclass(frozen=True, eq=False)
class BodyMotion:
    """One body at every logged instant.

    r, v, w, a, al : (n, 3)     of the centre of mass, along global axes
    A : (n, 3, 3)               axes of its marker
    points : (k, 3)             of the line it is drawn as, from the centre of mass along A
    """

    r: np.ndarray
    v: np.ndarray
    w: np.ndarray
    a: np.ndarray
    al: np.ndarray
    A: np.ndarray
    points: np.ndarray

    def line(self, row: int) -> np.ndarray:
        """(k, 3) places of the points of its line at one instant."""
        return np.asarray(self.r[row] + self.points @ self.A[row].T)

    def angles(self, normal: np.ndarray | None) -> np.ndarray:
        """(n, 1) angle about the normal of a plane, or (n, 3) yaw, pitch and roll; continuous in time."""
        if normal is None:
            A = self.A
            yaw, roll = np.arctan2(A[:, 1, 0], A[:, 0, 0]), np.arctan2(A[:, 2, 1], A[:, 2, 2])
            pitch = np.arcsin(np.clip(-A[:, 2, 0], -1, 1))
            return np.unwrap(np.array([yaw, pitch, roll]), axis=1).T
        # of the marker's axis that lies in the plane best, from the global axis that does
        u = _in_plane(normal, np.eye(3))
        own = self.A @ _own_axis(normal, self.A[0])
        return np.asarray(np.unwrap(np.arctan2(own @ np.cross(normal, u), own @ u)))[:, None]


def _own_axis(normal: np.ndarray, A: np.ndarray) -> np.ndarray:
    """(3,) the first axis of a marker that lies in the plane, along the marker."""
    return np.asarray(np.eye(3)[int(np.argmax(np.abs(normal @ A) < ALIGNED))])


def _in_plane(normal: np.ndarray, A: np.ndarray) -> np.ndarray:
    """(3,) unit vector in the plane next to the first axis of A that is not along the normal."""
    k = int(np.argmax(np.abs(normal @ A) < 0.5))
    u = A[:, k] - (A[:, k] @ normal) * normal
    return np.asarray(u / np.linalg.norm(u))


@dataclass(frozen=True, eq=False)
class Motion:
    """All bodies of a plant in a run.

    normal : (3,) or None       of the planes a planar mechanism moves in
    axes : list of int          global axes that are drawn: two of a planar mechanism along them, else three
    fixed : (k, 3)              joints on the ground
    """

    bodies: dict[str, BodyMotion]
    normal: np.ndarray | None
    axes: list[int]
    fixed: np.ndarray

    @property
    def planar(self) -> bool:
        """Is the mechanism planar?"""
        return self.normal is not None

    def ground(self) -> np.ndarray:
        """(k, 2 or 3) joints on the ground, as drawn."""
        return np.asarray(self.fixed[:, self.axes])

    def extent(self) -> tuple[np.ndarray, np.ndarray]:
        """Lowest and highest place along the axes drawn, with a margin."""
        places = [self.fixed]
        for body in self.bodies.values():
            reach = np.einsum("nij,kj->nki", body.A, body.points) + body.r[:, None]
            places.append(reach.reshape(-1, 3))
        every = np.concatenate(places)[:, self.axes]
        every = every[np.isfinite(every).all(axis=1)]
        low, high = every.min(axis=0), every.max(axis=0)
        margin = MARGIN * max(float((high - low).max()), 1e-9) + 0.02 * float((high - low).max() == 0)
        return low - margin, high + margin


def motion_of(result: Any, plant: Any, path: str = "plant") -> Motion:
    """The bodies of a plant at every logged instant.

    Those of an observed plant move with velocities and accelerations; of another one, whose coordinates were
    logged, places alone are known and the rest is nan.

    Raises
    ------
    ModelError    neither was logged, the plant has no body with a centre of mass, or these are no result and
        no plant
    """
    check_run(result, plant)
    shown = observed(plant.model, plant.mechanism)
    if not shown.bodies:
        raise ModelError(f"model '{plant.model.name}' has no moving body with a centre of mass to show.")
    scene = scene_of(plant)
    logged = [f"{path}.{name}" for name in scene.states if name]
    if not plant.observe and logged and all(name in result for name in logged):
        return _motion(plant, _by_coordinates(result, scene, logged))
    bodies = {}
    for name, (_, centre) in shown.bodies.items():
        try:
            table = np.asarray(result[f"{path}.{name}"])
        except LookupError:
            raise ModelError(
                f"the result has no '{path}.{name}'.", path=path, hint=_where(result, name)
            ) from None
        assert table.shape[1] == len(BODY)
        r, v, w, a, al = np.split(table[:, :15], 5, axis=1)
        bodies[name] = BodyMotion(r, v, w, a, al, table[:, 15:].reshape(-1, 3, 3), _points(plant, centre))
    return _motion(plant, bodies)


@runtime_checkable
class PicturedRun(Protocol):
    """What pictures ask of the result of a run."""

    time: np.ndarray
    signals: Mapping[str, np.ndarray]


def check_run(result: Any, plant: Any) -> None:
    """Refuse what is no result of a run, or no plant.

    Raises
    ------
    ModelError    either, with what was given
    """
    if not isinstance(plant, Plant):
        raise ModelError(
            f"the plant of a picture is {text(plant)}, expected a Plant.",
            value=plant,
            hint="Write the one that was added to the diagram: Plant.read(...) or plant.observed().",
        )
    if isinstance(result, type) or not isinstance(result, PicturedRun):
        raise ModelError(
            f"the result of a picture is {text(result)}, expected the Result of a run.",
            value=result,
            hint="Write what simulate(...) returned.",
        )


def _where(result: Any, name: str) -> str:
    """What to do where a body's output was looked for in vain."""
    paths = [logged.removesuffix(f".{name}") for logged in result.signals if logged.endswith(f".{name}")]
    if paths:
        return f"The plant is elsewhere in this run: path={paths[0]!r}."
    return "Add plant.observed() to the diagram instead of plant, and log its outputs."


def _by_coordinates(result: Any, scene: Scene, logged: list[str]) -> dict[str, BodyMotion]:
    """Bodies where the logged coordinates put their links."""
    rows = [np.reshape(result[name], (len(result.time), -1)) for name in logged]
    poses = scene.poses(np.concatenate(rows, axis=1))
    found = {}
    for body in scene.bodies:
        own = poses[:, body.link]
        unknown = np.full((len(own), 3), np.nan)
        A = own[:, 3:].reshape(-1, 3, 3).transpose(0, 2, 1)  # poses have the axes column by column
        found[body.name] = BodyMotion(own[:, :3], unknown, unknown, unknown, unknown, A, body.points)
    return found


def _motion(plant: Any, bodies: dict[str, BodyMotion]) -> Motion:
    normal = plane_normal(plant.mechanism.description)
    axes = [0, 1, 2]
    if normal is not None and np.abs(normal).max() > 1 - ALIGNED:
        axes = [k for k in range(3) if k != int(np.argmax(np.abs(normal)))]
    ground = [m for m in _joint_markers(plant) if _body_of(plant, m) == plant.mechanism.description.ground]
    fixed = np.array([plant.model.frames[m][0] for m in ground]).reshape(-1, 3)
    return Motion(bodies, normal, axes, fixed)


def _points(plant: Any, centre: int) -> np.ndarray:
    """(k, 3) markers of a body at its joints and, else, its forces, in the order they are joined by lines.

    A body with one such marker is a line from it to the centre of mass; three and more are a closed line.
    """
    frames = plant.model.frames
    r0, A0 = frames[centre]
    body = _body_of(plant, centre)
    found: list[np.ndarray] = []
    for markers in (_joint_markers(plant), _force_markers(plant)):
        for m in markers:
            s = A0.T @ (frames[m][0] - r0)
            size = max(1.0, float(np.abs(s).max()))
            if _body_of(plant, m) == body and not any(np.abs(s - p).max() < 1e-9 * size for p in found):
                found.append(s)
        if len(found) > 1:
            break
    if len(found) < 2:
        return np.array([*found, np.zeros(3)])
    return np.array(found if len(found) == 2 else [*found, found[0]])


def _joint_markers(plant: Any) -> list[int]:
    return [m for j in plant.model.all(Constraint_Joint) for m in (j.i_marker_id, j.j_marker_id)]


def _force_markers(plant: Any) -> list[int]:
    names = ("i_marker_id", "j_marker_id", "marker_id")
    elements: list[Element] = [e for kind in FORCES for e in plant.model.all(kind)]
    found = [getattr(e, name, None) for e in elements for name in names]
    return [m for m in found if isinstance(m, int) and m]


def _body_of(plant: Any, marker: int) -> Any:
    return plant.mechanism.description.point(marker)[0]
