"""Inertia of each link about its joint frame, from the numbers of its body."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np

from plant.elements import Body_Rigid, Element
from plant.elements.bodies import PRODUCT_OF_INERTIA_SIGN
from plant.mechanics.mechanism import Mechanism, Place
from plant.mechanics.spatial import Matrix, Scalar, constant

Number = Callable[[Element, str], Scalar]
"""Value of a numeric attribute of an element: a float, or the symbol of a tunable parameter."""


def plain(element: Element, attribute: str) -> float:
    """The number as the element has it; 0 where it is not given."""
    value = getattr(element, attribute)
    return 0.0 if value is None else float(value)


def link_inertia(mechanism: Mechanism, i: int, number: Number = plain) -> Matrix:
    """(6, 6) inertia of link i in its frame, in units in which F = m a (RBDA eq. 2.63).

    It is a sum of numbers of the body times constant matrices. Moments given about `im_id` are shifted to
    the centre of mass first (parallel axes).
    """
    body = mechanism.links[i].body
    values = {name: number(body, name) for name in _names(body)}
    shapes = inertia_shapes(mechanism, i, [name for name, v in values.items() if isinstance(v, ca.SX) or v])
    if not shapes:
        return ca.SX(6, 6)
    halves = constant(np.array([shape[_UPPER] for shape in shapes.values()]).T)
    upper = ca.densify(ca.SX(halves @ ca.vertcat(*[values[name] for name in shapes])))
    return ca.triu2symm(ca.sparsify(ca.SX(ca.Sparsity.upper(6), upper)))


def _names(body: Element) -> tuple[str, ...]:
    """Numbers of a body that make its inertia."""
    return ("mass", *_TENSORS) if isinstance(body, Body_Rigid) else ("mass",)


def inertia_shapes(mechanism: Mechanism, i: int, names: Sequence[str]) -> dict[str, np.ndarray]:
    """(6, 6) share that each of these numbers of a body has in the link's inertia."""
    body = mechanism.links[i].body
    if body.cg_id is None:
        return {}
    centre = mechanism.place(body.cg_id)
    axes = centre
    if isinstance(body, Body_Rigid) and body.im_id is not None:
        axes = mechanism.place(body.im_id)
    shapes = {}
    for name in names:
        if name == "mass":
            shape = _of_mass(centre.s)
            if axes is not centre:
                shape = shape - _turning(_of_mass(_offset(axes, centre))[:3, :3])
        else:
            shape = _turning(axes.A @ _TENSORS[name] @ axes.A.T)
        shapes[name] = _clean(mechanism.model.units.factor * shape)
    return shapes


def plain_inertia(mechanism: Mechanism, i: int) -> np.ndarray:
    """(6, 6) inertia of link i as numbers."""
    body, inertia = mechanism.links[i].body, np.zeros((6, 6))
    names = [name for name in _names(body) if plain(body, name)]
    for name, shape in inertia_shapes(mechanism, i, names).items():
        inertia += plain(body, name) * shape
    return inertia


_UPPER = tuple(np.array([(i, j) for j in range(6) for i in range(j + 1)]).T)  # column-major, as CasADi's


def _of_mass(c: np.ndarray) -> np.ndarray:
    """(6, 6) inertia of a unit mass at c."""
    C = np.array([[0.0, -c[2], c[1]], [c[2], 0.0, -c[0]], [-c[1], c[0], 0.0]])
    return np.block([[C @ C.T, C], [C.T, np.eye(3)]])


def _turning(tensor: np.ndarray) -> np.ndarray:
    """(6, 6) inertia with this rotational part only."""
    inertia = np.zeros((6, 6))
    inertia[:3, :3] = tensor
    return inertia


def _unit(j: int, k: int, value: float) -> np.ndarray:
    tensor = np.zeros((3, 3))
    tensor[j, k] = tensor[k, j] = value
    return tensor


_TENSORS = {
    "inertia_xx": _unit(0, 0, 1.0),
    "inertia_yy": _unit(1, 1, 1.0),
    "inertia_zz": _unit(2, 2, 1.0),
    "inertia_xy": _unit(0, 1, PRODUCT_OF_INERTIA_SIGN),
    "inertia_yz": _unit(1, 2, PRODUCT_OF_INERTIA_SIGN),
    "inertia_xz": _unit(0, 2, PRODUCT_OF_INERTIA_SIGN),
}


def _offset(axes: Place, centre: Place) -> np.ndarray:
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
