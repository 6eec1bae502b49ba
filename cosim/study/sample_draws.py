"""Numbers for the cases of a sampled study: shares of probability, and what distributions make of them.

Row k depends on the seed and k alone (of Latin hypercubes: and on how many rows there are).
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from blocks.errors import PlantloopError
from cosim.study.distributions import Distribution

METHODS = ("sobol", "halton", "lhs", "monte_carlo", "file", "list", "corners")
SHARES = METHODS[:4]  # those that draw shares of probability
MOST_CORNERS = 20  # parameters
TINY = 1e-12  # shares stay this far from 0 and 1, where distributions have no values


def shares(method: str, runs: int, width: int, seed: int) -> np.ndarray:
    """Shares of probability, (runs, width), each above 0 and below 1."""
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
            warnings.simplefilter("ignore")  # a number of runs that is no power of 2 is fine here
            found = engines[method]().random(runs)
    return np.clip(found, TINY, 1 - TINY)


def correlated(u: np.ndarray, correlation: np.ndarray) -> np.ndarray:
    """Shares whose normal scores have these correlations: a Gaussian copula. The first column stays.

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
    found = np.eye(len(names))
    for a, b, value in pairs:
        i, j = names.index(a), names.index(b)
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
    u = shares(method, runs, len(parameters), seed)
    if pairs:
        u = correlated(u, correlation_matrix(list(parameters), pairs))
    columns = [d.quantile(u[:, k]) for k, d in enumerate(parameters.values())]
    return np.column_stack(columns) if columns else np.zeros((runs, 0))
