"""Parts much lighter than what they are joined to: which conditions hold them, and inertia lent to those.

With S = J H^-1 J^T the multipliers of a massless link between two heavy bodies are found from what is left
when terms of the size of its inverse mass have cancelled: as many digits are lost as the masses are apart.
Conditions that hold such parts are therefore given inertia of the size of their neighbours',

    H' = H + J^T W J,   H' qdd = Q + J^T lam',   J qdd = gamma   with   lam = lam' - W gamma,

which has the same accelerations and multipliers whatever W is, and no light part any more.

A step back onto the constraints is the least one in the mass metric: near a stretched pose two light links
would rather move far aside than their heavy neighbours by a last digit. For it light parts get ballast.

Source: the augmented form of a saddle-point system: Benzi, Golub & Liesen, Numerical solution of saddle point
problems, Acta Numerica 14 (2005), section 3.5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from plant.mechanics.rank import squares

if TYPE_CHECKING:
    from scipy.sparse import csr_array

APART = 1e5  # ratio of inertias from which parts count as light: below, ten digits and more are left
ROUNDING = 1e-22  # of the largest entry of a row, squared: smaller ones are zero


def lent_inertia(C: csr_array, natural: np.ndarray, part: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """W (m,) of every condition, zero for those that hold no light part, and the ratio for (n,) coordinates.

    Parameters
    ----------
    C : (m, n) sparse       J L^-T with H = L L^T: a column for each coordinate, in units of its own inertia
    natural : (m,)          size of each row of J, so that lengths and angles can be compared
    part : (n,) int         which body or link a coordinate belongs to

    A set of light parts counts where at least as many conditions hold it as it has coordinates: a light part
    that hangs at one joint moves as it should without.
    """
    m, n = C.shape
    lent, times = np.zeros(m), np.zeros(n)
    if not m or not n:
        return lent, times
    entries = C.tocoo()
    size = (entries.data / natural[entries.row]) ** 2
    largest = np.zeros(m)
    np.maximum.at(largest, entries.row, size)
    there = size > ROUNDING * largest[entries.row]
    rows, parts, size = entries.row[there], part[entries.col[there]], size[there]
    lightness = np.zeros(part.max() + 1)  # inverse of the inertia that conditions meet in a part
    np.maximum.at(lightness, parts, size)
    heaviest = np.full(m, np.inf)
    np.minimum.at(heaviest, rows, lightness[parts])
    light = lightness[parts] > APART * heaviest[rows]
    if not light.any():
        return lent, times
    apart = np.zeros(len(lightness))  # of light parts: how many times lighter than their heaviest neighbour
    np.maximum.at(apart, parts[light], lightness[parts[light]] / heaviest[rows[light]])
    compliance = squares(C)
    coordinates = np.bincount(part, minlength=len(lightness))
    for held, own in _held(rows, parts, apart > 0.0, m):
        if len(held) >= coordinates[own].sum():
            lent[held] = apart[own].max() / compliance[held]
        times[np.isin(part, own)] = apart[own].max()
    return lent, times


def _held(
    rows: np.ndarray, parts: np.ndarray, light: np.ndarray, m: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sets of light parts that conditions join: the conditions of each, and the parts."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    chosen = light[parts]
    edges = rows[chosen], m + parts[chosen]
    total = m + len(light)
    graph = csr_array((np.ones(len(edges[0])), edges), shape=(total, total))
    _, label = connected_components(graph, directed=False)
    return [
        (np.unique(edges[0][label[edges[0]] == k]), np.unique(edges[1][label[edges[1]] == k]) - m)
        for k in np.unique(label[edges[1]])
    ]
