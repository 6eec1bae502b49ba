"""Numbers for the cases of a sampled study: samples in the unit cube, mapped by the distributions.

Row k depends on the seed and k alone (of Latin hypercubes: and on how many rows there are). Designs come in
groups of rows that belong together, from which `cosim.study.sensitivity` finds indices.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.study.distributions import Distribution

SHARES = ("sobol", "halton", "lhs", "monte_carlo")  # those that draw shares of probability
SALTELLI, MORRIS = "saltelli", "morris"
DESIGNS: Mapping[str, int] = {SALTELLI: 2, MORRIS: 1}  # rows of a group, besides one per parameter
METHODS = (*SHARES, *DESIGNS, "file", "list", "corners")
LEVELS = 4  # of a parameter in a design of Morris; a step goes half of them, 2/3 of the way from low to high
MOST_CORNERS = 20  # parameters
MOST_CORRELATED = 2000  # parameters that have correlations: their matrix takes the third power of time
TINY = 1e-12  # samples stay this far from 0 and 1, where distributions have no values


def shares(method: str, runs: int, width: int, seed: int) -> np.ndarray:
    """Samples of the unit cube, (runs, width), each above 0 and below 1."""
    from scipy.stats import qmc

    engines: dict[str, Callable[[], Any]] = {
        "sobol": lambda: qmc.Sobol(width, scramble=True, seed=seed),
        "halton": lambda: qmc.Halton(width, scramble=True, seed=seed),
        "lhs": lambda: qmc.LatinHypercube(width, seed=seed),
    }
    if method == "monte_carlo":
        found: np.ndarray = np.random.Generator(np.random.Philox(key=seed)).random((runs, width))
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the number of runs need not be a power of 2 here
            found = engines[method]().random(runs)
    return np.clip(found, TINY, 1 - TINY)


def saltelli(groups: int, width: int, seed: int) -> np.ndarray:
    """Samples of a design for Sobol indices, (groups (width + 2), width).

    A group is a point A, the points that are A but for one number, which is that of B, and B; A and B are
    halves of a point of Sobol's sequence.

    Source: A. Saltelli et al., "Variance based sensitivity analysis of model output", Comput. Phys. Commun.
    181 (2010), section 3 and table 2.
    """
    both = shares("sobol", groups, 2 * width, seed)
    a, b = both[:, None, :width], both[:, None, width:]
    mixed = np.where(np.eye(width, dtype=bool), b, a)
    return np.concatenate([a, mixed, b], axis=1).reshape(-1, width)


def trajectories(groups: int, width: int, seed: int) -> np.ndarray:
    """Levels from 0 to 1 of a design for elementary effects, (groups (width + 1), width).

    A group begins at a random point of the grid and moves one parameter after the other, in random order, by
    half the levels up or down.

    Source: M. Morris, "Factorial sampling plans for preliminary computational experiments", Technometrics
    33 (1991).
    """
    draws = np.random.Generator(np.random.Philox(key=seed))
    found = np.empty((groups, width + 1, width))
    step = LEVELS // 2
    for one in found:
        one[:] = draws.integers(0, LEVELS, width)
        for k, moved in enumerate(draws.permutation(width)):
            one[k + 1 :, moved] += step if one[0, moved] < step else -step
    return (found / (LEVELS - 1)).reshape(-1, width)


def correlated(u: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Samples whose normal scores have these correlations: a Gaussian copula. The first column is unchanged.

    Raises
    ------
    PlantloopError     no such correlations exist together
    """
    from scipy.stats import norm

    try:
        factor = np.linalg.cholesky(correlation)
    except np.linalg.LinAlgError:
        raise PlantloopError(
            "these correlations contradict each other: their matrix is not positive definite.",
            value=correlation.tolist(),
        ) from None
    return np.clip(norm.cdf(norm.ppf(u) @ factor.T), TINY, 1 - TINY)


def correlation_matrix(names: Sequence[str], pairs: Sequence[tuple[str, str, float]]) -> np.ndarray:
    """Symmetric, ones on the diagonal."""
    found, place = np.eye(len(names)), {name: k for k, name in enumerate(names)}
    for a, b, value in pairs:
        i, j = place[a], place[b]
        found[i, j] = found[j, i] = value
    return found


def drawn(
    method: str,
    runs: int,
    seed: int,
    parameters: Mapping[str, Distribution],
    pairs: Sequence[tuple[str, str, float]] = (),
) -> np.ndarray:
    """Values of the parameters of every run, (runs, parameters)."""
    if method == "corners":
        bounds = [d.bounds for d in parameters.values()]
        return np.array(list(itertools.product(*bounds)), dtype=float).reshape(-1, len(bounds))
    if method == MORRIS:
        levels = trajectories(runs // (len(parameters) + 1), len(parameters), seed)
        found = []
        for k, one in enumerate(parameters.values()):
            low, high = one.bounds
            found.append(one.nearest(np.minimum(low + (high - low) * levels[:, k], high)))
        return np.column_stack(found)
    if method == SALTELLI:
        u = saltelli(runs // (len(parameters) + 2), len(parameters), seed)
    else:
        u = shares(method, runs, len(parameters), seed)
    if pairs:
        among = {name for a, b, _ in pairs for name in (a, b)}
        names = [name for name in parameters if name in among]
        columns_of = [k for k, name in enumerate(parameters) if name in among]
        u[:, columns_of] = correlated(u[:, columns_of], correlation_matrix(names, pairs))
    columns = [d.quantile(u[:, k]) for k, d in enumerate(parameters.values())]
    return np.column_stack(columns) if columns else np.zeros((runs, 0))
