"""Inertia of each link about its joint frame, from the numbers of its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from plant.description import Body, Share
from plant.mechanics.mechanism import FramePlace, Mechanism
from plant.mechanics.spatial import Matrix, Scalar, constant

Number = Callable[[Body, Share], Scalar]
"""Value of a number of a body: a float, or the symbol of a tunable parameter."""


def plain(body: Body, share: Share) -> float:
    """The number as the description has it."""
    return share.value


def link_inertia(mechanism: Mechanism, i: int, number: Number = plain) -> Matrix:
    """(6, 6) inertia of link i in its frame, in units in which F = m a (RBDA eq. 2.63).

    It is a sum of numbers of the body times constant matrices. Moments given elsewhere than at the centre of
    mass are shifted there first (parallel axes).
    """
    body = mechanism.links[i].body
    values = [(share, number(body, share)) for share in body.shares]
    given = [(share, value) for share, value in values if isinstance(value, ca.SX) or value]
    shapes = inertia_shapes(mechanism, i, [share for share, _ in given])
    if not shapes:
        return ca.SX(6, 6)
    halves = constant(np.array([shape[_UPPER] for shape in shapes]).T)
    upper = ca.densify(ca.SX(halves @ ca.vertcat(*[value for _, value in given])))
    return ca.triu2symm(ca.sparsify(ca.SX(ca.Sparsity.upper(6), upper)))


def inertia_shapes(mechanism: Mechanism, i: int, shares: Sequence[Share]) -> list[np.ndarray]:
    """(6, 6) share that each of these numbers of a body has in the link's inertia."""
    if mechanism.links[i].body.centre is None:
        return []
    known = mechanism.derived.get(("shapes", i), lambda: _shapes(mechanism, i))
    return [known[share.name] for share in shares]


def _shapes(mechanism: Mechanism, i: int) -> dict[str, np.ndarray]:
    """The same of all numbers of a link's body, by name."""
    body = mechanism.links[i].body
    assert body.centre is not None
    centre = mechanism.on(body.key, body.centre)
    axes = centre if body.axes is None else mechanism.on(body.key, body.axes)
    shapes = {}
    for share in body.shares:
        if share.tensor is None:
            shape = _of_mass(centre.s)
            if axes is not centre:
                shape = shape - _turning(_of_mass(_offset(axes, centre))[:3, :3])
        else:
            shape = _turning(axes.A @ share.tensor @ axes.A.T)
        shapes[share.name] = _clean(mechanism.description.factor * shape)
    return shapes


def plain_inertia(mechanism: Mechanism, i: int) -> np.ndarray:
    """(6, 6) inertia of link i as numbers."""
    body, inertia = mechanism.links[i].body, np.zeros((6, 6))
    given = [share for share in body.shares if share.value]
    for share, shape in zip(given, inertia_shapes(mechanism, i, given), strict=False):
        inertia += share.value * shape
    return inertia


_UPPER = tuple(np.array([(i, j) for j in range(6) for i in range(j + 1)]).T)  # column-major, as CasADi's


def _of_mass(c: np.ndarray) -> np.ndarray:
    """(6, 6) inertia of a unit mass at c."""
    C = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    inertia = np.eye(6)
    inertia[:3, :3], inertia[:3, 3:], inertia[3:, :3] = C @ C.T, C, C.T
    return inertia


def _turning(tensor: np.ndarray) -> np.ndarray:
    """(6, 6) inertia with this rotational part only."""
    inertia = np.zeros((6, 6))
    inertia[:3, :3] = tensor
    return inertia


def _offset(axes: FramePlace, centre: FramePlace) -> np.ndarray:
    distance = centre.s - axes.s
    scale = max(np.abs(centre.s).max(), np.abs(axes.s).max())
    return np.where(np.abs(distance) <= 1e-15 * scale, 0.0, distance)


def _clean(shape: np.ndarray) -> np.ndarray:
    """The matrix without rounding noise, block by block (the blocks have different units)."""
    blocks = np.abs(shape).reshape(2, 3, 2, 3)
    largest = blocks.max(axis=(1, 3), keepdims=True)
    return np.where((blocks <= 4e-16 * largest).reshape(6, 6), 0.0, shape)


def tree_inertias(mechanism: Mechanism, number: Number = plain) -> list[Matrix]:
    """Inertia of every link."""
    return [link_inertia(mechanism, i, number) for i in range(len(mechanism.links))]
