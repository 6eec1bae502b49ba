"""The calculations of spatial_v2 on a tree, as symbols and as NumPy numbers: HandC, EnerMo, FDgq.

Source: Featherstone, RBDA, section 3.2 and tables 5.1, 6.2; spatial_v2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

import casadi as ca
import numpy as np

from blocks.errors import BlockError
from plant.gamma_q.coordinate_constraint import consistent_numbers
from plant.gamma_q.tree_model import TreeModel, tree_of, vector
from plant.mechanics.mechanism import Mechanism
from plant.mechanics.spatial import Transform, constant
from plant.mechanics.tree import Tree


@dataclass(frozen=True, eq=False)
class Dynamics:
    """H, C and energies of a tree at symbolic q, qd: H q'' + C = tau, gravity in C.

    H : (n, n), C : (n, 1), KE and PE : (1, 1)
    momentum : (6, 1)   of all bodies about the base's origin: [angular; linear]
    mass : float        of all bodies; moment : (3, 1) mass times the place of the centre of mass
    inertia : (6, 6)    of all bodies, in base coordinates
    """

    H: ca.SX
    C: ca.SX
    KE: ca.SX
    PE: ca.SX
    momentum: ca.SX
    mass: float
    moment: ca.SX
    inertia: ca.SX


def dynamics(model: TreeModel, q: ca.SX, qd: ca.SX) -> Dynamics:
    """Joint-space inertia, bias forces, energies and momenta (spatial_v2: HandC and EnerMo)."""
    inertias = [ca.SX(constant(I)) for I in model.I]
    tree = Tree(cast(Mechanism, model), ca.vertsplit(q), ca.vertsplit(qd), inertias)
    g = ca.SX(constant(np.array(model.gravity)))
    C = ca.vertcat(*tree.inverse(g, [ca.SX(1, 1) for _ in range(model.NB)], {}))
    KE, momentum, moment, inertia = ca.SX(0), ca.SX(6, 1), ca.SX(3, 1), ca.SX(6, 6)
    for i in range(model.NB):
        I, v = inertias[i], tree.v[i]
        KE = KE + ca.dot(v, I @ v) / 2
        A, r = tree.pose(i)
        to_base = Transform(A.T, r)
        momentum = momentum + to_base.force_back(I @ v)
        inertia = inertia + to_base.inertia_back(I)
        numbers = model.I[i]
        mc = constant(np.array([numbers[2, 4], numbers[0, 5], numbers[1, 3]]))  # m c from m cx
        moment = moment + float(numbers[3, 3]) * r + A @ mc
    mass = float(sum(I[3, 3] for I in model.I))
    PE = -ca.dot(g, moment)
    H = ca.SX(tree.mass_matrix())
    return Dynamics(H, ca.SX(C), ca.SX(KE), ca.SX(PE), ca.SX(momentum), mass, ca.SX(moment), ca.SX(inertia))


@dataclass(frozen=True, eq=False)
class Energy:
    """What EnerMo of spatial_v2 gives.

    KE, PE : J                  kinetic and potential energy
    htot : (6,)                 spatial momentum about the base's origin, [angular; linear]
    Itot : (6, 6)               spatial inertia of all bodies, in base coordinates
    mass : kg, cm : (3,) m, vcm : (3,) m/s      mass, centre of mass and its velocity
    """

    KE: float
    PE: float
    htot: np.ndarray
    Itot: np.ndarray
    mass: float
    cm: np.ndarray
    vcm: np.ndarray


def HandC(model: TreeModel, q: Any, qd: Any) -> tuple[np.ndarray, np.ndarray]:
    """Joint-space inertia H (n, n) and bias forces C (n,), gravity in them, at q, qd (n,)."""
    H, C, *_ = _numbers(model, q, qd)
    return H, C.ravel()


def EnerMo(model: TreeModel, q: Any, qd: Any) -> Energy:
    """Energies and momenta at q, qd (n,).

    Raises
    ------
    BlockError    the model has no mass, so no centre of mass
    """
    _, _, KE, PE, momentum, moment, inertia = _numbers(model, q, qd)
    mass = float(sum(I[3, 3] for I in model.I))
    if mass <= 0.0:
        raise BlockError("EnerMo: no body of the model has a mass, so it has no centre of mass.")
    h = momentum.ravel()
    return Energy(KE.item(), PE.item(), h, inertia, mass, moment.ravel() / mass, h[3:] / mass)


def FDgq(model: TreeModel, q: Any, qd: Any, tau: Any) -> np.ndarray:
    """Accelerations (n,) of a tree under ``model.gamma_q``, if it has one, at q, qd, tau (n,).

    q'' = G (G^T H G)^-1 G^T (tau - C - H gs) + gs, with H and C at the coordinates gamma_q gives.

    Raises
    ------
    BlockError    H or G^T H G is singular, or an argument is not what it should be
    """
    torque = np.array(vector("FDgq: tau", tau, tree_of(model, "FDgq").NB))
    if model.gamma_q is None:
        H, C = HandC(model, q, qd)
        return _solved(H, torque - C, "H, the inertia of its joints,")
    qn, qdn, G, gs = consistent_numbers(model, model.gamma_q, q, qd)
    H, C = HandC(model, qn, qdn)
    free = _solved(G.T @ H @ G, G.T @ (torque - C - H @ gs), "G^T H G, the inertia its gamma_q leaves,")
    return np.asarray(G @ free + gs)


def _solved(M: np.ndarray, right: np.ndarray, what: str) -> np.ndarray:
    """M^-1 right, of an inertia that has to be regular."""
    try:
        return np.asarray(np.linalg.solve(M, right))
    except np.linalg.LinAlgError:
        raise BlockError(
            f"FDgq: {what} is singular there.",
            value=M,
            hint="Give bodies inertia about every joint, and G a column for each free direction.",
        ) from None


def _numbers(model: TreeModel, q: Any, qd: Any) -> list[np.ndarray]:
    n = tree_of(model, "model").NB
    at = vector("q", q, n), vector("qd", qd, n)
    a, b = ca.SX.sym("q", n), ca.SX.sym("qd", n)
    d = dynamics(model, a, b)
    f = ca.Function("f", [a, b], [d.H, d.C, d.KE, d.PE, d.momentum, d.moment, d.inertia])
    return [np.array(e) for e in f(*at)]
