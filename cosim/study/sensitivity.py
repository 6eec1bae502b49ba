"""The influence of each parameter of a study on a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.study.sample_draws import DESIGNS, LEVELS, MORRIS, SALTELLI
from cosim.study.scaling import scaled
from cosim.study.study_view import StudyView

if TYPE_CHECKING:
    import pandas as pd


METHODS = ("auto", "sobol", "morris", "regression", "pawn", "rbd_fast")
FEWEST = 10  # fewest cases
PAWN = 1000  # most cases: distributions are compared exactly
PARTS = 10
STEP = (LEVELS // 2) / (LEVELS - 1)  # share of the way from low to high that a move of Morris' design goes


def sensitivity(result: StudyView, metric: str, method: str = "auto") -> pd.DataFrame:
    """Indices of every parameter that varies, the most important first.

    Parameters
    ----------
    metric : str     a column of the table, such as a metric or "NAME.robustness"
    method : "sobol" (first-order and total indices, of cases of method = "saltelli"), "morris" (mean size,
        mean and standard deviation of elementary effects, of the whole way from the least to the
        largest value; of method = "morris"); of any cases "regression" (standardised regression and
        Spearman's rank correlation), "rbd_fast" (first-order indices) or "pawn" (moment-independent), both by
        SALib; "auto": that of the design, else all that can be done

    Raises
    ------
    PlantloopError     no such column or method, no parameters that vary, or too few cases

    Source: A. Saltelli et al., Comput. Phys. Commun. 181 (2010), table 2 (b) and (f); M. Morris,
    Technometrics 33 (1991), with the mean size of F. Campolongo, J. Cariboni, A. Saltelli, Environ. Model.
    Softw. 22 (2007); S. Tarantola, D. Gatelli, T. Mara, "Random balance designs", Reliab. Eng. Syst. Saf. 91
    (2006); F. Pianosi, T. Wagener, "PAWN", Environ. Model. Softw. 67 (2015), both as in SALib.
    """
    import pandas as pd
    from scipy.stats import rankdata

    if method not in METHODS:
        raise PlantloopError(f"no method '{method}'; {near_miss(method, METHODS)}", value=method)
    y = result.column(metric)
    table = result.table
    design = {SALTELLI: "sobol", MORRIS: "morris"}.get(result.store.manifest.design)
    if method in ("sobol", "morris") or (method == "auto" and design is not None):
        return _of_design(result, y, metric, design, method)
    fine = np.isfinite(y)
    names = [n for n in result.store.manifest.parameters if table[n].nunique() > 1]
    if not names:
        raise PlantloopError("no parameter of this study varies.")
    fewest = max(FEWEST, len(names) + 2)
    if fine.sum() < fewest:
        raise PlantloopError(
            f"{int(fine.sum())} cases have a value of '{metric}', expected {fewest} or more.", path=metric
        )
    names = [n for n in names if table[n][fine].nunique() > 1]
    if not names:
        raise PlantloopError(f"no parameter varies among the cases with a value of '{metric}'.", path=metric)
    x, y = scaled(table[names].to_numpy(dtype=float)[fine], axis=0)[0], scaled(y[fine])[0]
    found: dict[str, np.ndarray] = {}
    if method in ("auto", "regression"):
        columns, spread = (x - x.mean(0)) / x.std(0), y.std() or 1.0
        found["regression"] = np.linalg.lstsq(columns, (y - y.mean()) / spread, rcond=None)[0]
        ranks = np.apply_along_axis(rankdata, 0, x)
        with np.errstate(all="ignore"):
            correlation = [np.corrcoef(r, rankdata(y))[0, 1] for r in ranks.T]
        found["rank correlation"] = np.nan_to_num(np.array(correlation))
    if method != "regression":
        found |= _by_salib(names, x, y, method)
    frame = pd.DataFrame(found, index=pd.Index(names, name="parameter"))
    order = frame.abs().iloc[:, -1 if method == "auto" else 0].sort_values(ascending=False).index
    return frame.loc[order]


def _of_design(
    result: StudyView, y: np.ndarray, metric: str, design: str | None, method: str
) -> pd.DataFrame:
    """Indices computed from the groups of a design; groups with a case without a value are left out."""
    import pandas as pd

    m, table = result.store.manifest, result.table
    if design is None or method not in ("auto", design):
        wanted = SALTELLI if method == "sobol" else MORRIS
        raise PlantloopError(
            f"method '{method}' needs cases of that design.",
            value=method,
            hint=f'Sample with method = "{wanted}", or use "auto".',
        )
    size = len(m.sampled) + DESIGNS[m.design]
    values = np.full(m.count, np.nan)
    values[table.index.to_numpy()] = y
    groups = values.reshape(-1, size)
    fine = np.isfinite(groups).all(axis=1)
    if fine.sum() < 2:
        raise PlantloopError(
            f"{int(fine.sum())} groups of {size} cases have values of '{metric}', expected 2 or more.",
            path=metric,
        )
    if design == "sobol":
        found = sobol_indices(groups[fine], _points(result, size)[fine])
    else:
        x = np.full((m.count, len(m.sampled)), np.nan)
        x[table.index.to_numpy()] = table[list(m.sampled)].to_numpy(dtype=float)
        spans = np.array(m.spans or np.full(len(m.sampled), np.nan))
        found = elementary_effects(x.reshape(-1, size, len(m.sampled))[fine], groups[fine], spans)
    frame = pd.DataFrame(found, index=pd.Index(m.sampled, name="parameter"))
    return frame.sort_values(frame.columns[-1 if design == "sobol" else 0], ascending=False)


def _points(result: StudyView, size: int) -> np.ndarray:
    """The point of the grid of a sweep, or the variant, that each group of `size` cases belongs to."""
    m, table = result.store.manifest, result.table
    others = [n for n in ("variant", *m.parameters) if n in table and n not in m.sampled]
    found = np.zeros(m.count, int)
    if others:
        found[table.index.to_numpy()] = table.groupby(others, sort=False).ngroup()
    return found[::size]


def _less_mean(values: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Values, (groups, n), less the mean of all that belong to the same point."""
    means = np.bincount(points, values.mean(axis=1)) / np.maximum(np.bincount(points), 1)
    return np.asarray(values - means[points, None])


def sobol_indices(groups: np.ndarray, points: np.ndarray) -> dict[str, np.ndarray]:
    """First-order and total indices from values of Saltelli's groups, (groups, parameters + 2).

    points : (groups,) whole numbers: what differs between them (a sweep, variants) is no part of the variance
    """
    centred = _less_mean(scaled(groups)[0], points)
    a, mixed, b = centred[:, :1], centred[:, 1:-1], centred[:, -1:]
    # without variance there are no shares of it
    variance = (_less_mean(centred[:, [0, -1]], points) ** 2).mean() or np.nan
    return {
        "first order": (b * (mixed - a)).mean(axis=0) / variance,  # table 2 (b)
        "total": 0.5 * ((a - mixed) ** 2).mean(axis=0) / variance,  # table 2 (f)
    }


def elementary_effects(x: np.ndarray, groups: np.ndarray, spans: np.ndarray) -> dict[str, np.ndarray]:
    """Mean of sizes, mean and standard deviation of effects of the whole way from low to high.

    x : (groups, n + 1, n), values (groups, n + 1); spans : (n,), high - low; nan: a move is `STEP` of it
    """
    groups, exponent = scaled(groups)
    moves, changes = np.diff(x, axis=1), np.diff(groups, axis=1)
    moved = (moves != 0).argmax(axis=2)
    move = np.take_along_axis(moves, moved[:, :, None], axis=2)[:, :, 0]
    with np.errstate(invalid="ignore"):  # a parameter with one value does not move
        share = move / spans[moved]  # of whole numbers it may be another than that of the levels
    share = np.where(np.isnan(share), np.sign(move) * STEP, share)
    effects = np.empty(changes.shape)  # column k is that of parameter k
    np.put_along_axis(effects, moved, changes / share, axis=1)
    found = {
        "mean size": np.abs(effects).mean(axis=0),
        "mean": effects.mean(axis=0),
        "deviation": effects.std(axis=0, ddof=1),
    }
    return {name: np.ldexp(value, exponent) for name, value in found.items()}


def _parts(count: int) -> list[np.ndarray]:
    """Cases to find first-order indices of, whose mean counts: three quarters at random, `PARTS` times.

    Random balance designs need cases that are random. In the order of one parameter those of Sobol's sequence
    alternate between the halves of another, and so each index had the influence of other parameters in it.
    """
    draws = np.random.default_rng(0)
    return [draws.permutation(count)[: max(1, 3 * count // 4)] for _ in range(PARTS)]


def _by_salib(names: list[str], x: np.ndarray, y: np.ndarray, method: str) -> dict[str, np.ndarray]:
    try:
        from SALib.analyze import pawn, rbd_fast
    except ImportError:
        if method == "auto":
            return {}
        raise PlantloopError(
            f"method '{method}' needs SALib.", hint="pip install plantloop[search]"
        ) from None
    problem = {
        "num_vars": len(names),
        "names": names,
        "bounds": [[float(a), float(b)] for a, b in zip(x.min(0), x.max(0), strict=True)],
    }
    found = {}
    with np.errstate(all="ignore"):  # the metric is the same in all cases: no parameter has an influence
        if method in ("auto", "pawn"):
            # at random: every second case of Sobol's sequence has a parameter in one half
            some = np.random.default_rng(0).permutation(len(y))[:PAWN] if len(y) > PAWN else slice(None)
            found["pawn"] = pawn.analyze(problem, x[some], y[some], S=10, seed=0)["median"]
        if method == "rbd_fast" or (method == "auto" and len(y) >= 100):
            # least resamples: of confidence intervals, which nothing reads, SALib makes a hundred
            indices = lambda k: rbd_fast.analyze(problem, x[k], y[k], num_resamples=2, seed=0)["S1"]
            found["first order"] = np.mean([indices(k) for k in _parts(len(y))], axis=0)
    return {name: np.nan_to_num(np.asarray(values, dtype=float)) for name, values in found.items()}
