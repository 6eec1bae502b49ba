"""Initial joint rates from the velocities that bodies are given at the start.

v_ic is the velocity of a body's CG along global axes (or those of vm_id), w_ic its angular velocity along
global axes (or those of wm_id). The rates meet them as well as the joints allow (least squares); of all
rates that do, those with the least kinetic energy are taken, so that what is not given stays at rest.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import casadi as ca
import numpy as np

from plant.dynamics.inertia import plain_inertia
from plant.dynamics.mechanism import Mechanism
from plant.elements import Body_Rigid
from plant.notes import PlantWarning

MISMATCH = 1e-9  # of the largest given velocity: beyond it the joints contradict the numbers


@dataclass(frozen=True)
class _Wish:
    """One given velocity component: J qd = value."""

    J: np.ndarray
    value: float
    where: str


def initial_rates(mechanism: Mechanism) -> tuple[np.ndarray, ...]:
    """Rate (nv,) of every joint at the design configuration.

    Warns
    -----
    PlantWarning    naming each body whose given velocity the joints do not allow
    """
    starts = np.cumsum([0, *(link.joint.nv for link in mechanism.links)])
    wishes = [wish for i in range(len(mechanism.links)) for wish in _wishes(mechanism, i, starts)]
    rates = np.zeros(starts[-1])
    if any(wish.value for wish in wishes):
        A, b = np.array([wish.J for wish in wishes]), np.array([wish.value for wish in wishes])
        rates = _least_energy(_mass_matrix(mechanism, starts), A, b)
        rates[np.abs(rates) < 1e-15 * np.abs(rates).max()] = 0.0
        missed = np.abs(A @ rates - b)
        for wish, miss in zip(wishes, missed, strict=True):
            if miss > MISMATCH * np.abs(b).max():
                warnings.warn(
                    f"{wish.where}={wish.value:g} is not possible with the joints and the other initial "
                    f"velocities: the start has {wish.J @ rates:.6g}. Correct it, or set its flag FALSE.",
                    PlantWarning,
                    stacklevel=3,
                )
    return tuple(np.split(rates, starts[1:-1])) if len(mechanism.links) else ()


def _least_energy(H: np.ndarray, A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Least-squares solution of A x = b with the least x^T H x."""
    values, vectors = np.linalg.eigh(H)
    floor = 1e-12 * max(values.max(), 1e-300)
    scaled = vectors / np.sqrt(np.maximum(values, floor))
    return np.asarray(scaled @ np.linalg.lstsq(A @ scaled, b, rcond=1e-10)[0])


def _wishes(mechanism: Mechanism, i: int, starts: np.ndarray) -> list[_Wish]:
    body = mechanism.links[i].body
    v_ic = body.v_ic
    w_ic = body.w_ic if isinstance(body, Body_Rigid) else (None, None, None)
    if all(value is None for value in (*v_ic, *w_ic)) or body.cg_id is None:
        return []
    J = jacobian(mechanism, i, mechanism.model.frames[body.cg_id][0], starts)
    frames = mechanism.model.frames
    axes_v = frames[getattr(body, "vm_id", None) or 0][1]
    axes_w = frames[getattr(body, "wm_id", None) or 0][1]
    wishes = []
    for rows, axes, name, values in ((J[:3], axes_w, "w", w_ic), (J[3:], axes_v, "v", v_ic)):
        for k, value in enumerate(values):
            if value is not None:
                wishes.append(_Wish(axes[:, k] @ rows, value, f"{body.where}: {name}_ic_{'xyz'[k]}"))
    return wishes


def jacobian(mechanism: Mechanism, i: int, point: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """(6, n) that gives [w; v] of link i at a point (3,), all in the global frame, from the joint rates.

    At the design configuration, where the frame of every link is known.
    """
    J = np.zeros((6, starts[-1]))
    for k in mechanism.path(i):
        link = mechanism.links[k]
        r, A = link.frame
        S = np.array(ca.DM(link.joint.jcalc(ca.DM(link.q0))[1])).reshape(6, link.joint.nv)
        w, v = A @ S[:3], A @ S[3:]
        J[:3, starts[k] : starts[k + 1]] = w
        J[3:, starts[k] : starts[k + 1]] = v + np.cross(w, point - r, axis=0)
    return J


def _mass_matrix(mechanism: Mechanism, starts: np.ndarray) -> np.ndarray:
    """(n, n) joint-space inertia at the design configuration, summed over the links."""
    H = np.zeros((starts[-1], starts[-1]))
    for i in range(len(mechanism.links)):
        r, A = mechanism.links[i].frame
        J = jacobian(mechanism, i, r, starts)
        local = np.vstack([A.T @ J[:3], A.T @ J[3:]])
        H += local.T @ plain_inertia(mechanism, i) @ local
    return H
