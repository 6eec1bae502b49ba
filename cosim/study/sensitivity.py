"""How much each parameter of a study matters for a metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.study.study_view import StudyView

if TYPE_CHECKING:
    import pandas as pd


METHODS = ("auto", "regression", "pawn", "rbd_fast")
FEWEST = 10  # cases
PAWN = 1000  # cases at most: it compares distributions exactly


def sensitivity(result: StudyView, metric: str, method: str = "auto") -> pd.DataFrame:
    """Indices of every parameter that varies, the most important first.

    Parameters
    ----------
    metric : str     a column of the table, such as a metric or "NAME.robustness"
    method : "regression" (standardised regression and Spearman's rank correlation), "rbd_fast" (first-order
        Sobol
        indices from any sample) or "pawn" (moment-independent), both by SALib; "auto": all that can be done

    Raises
    ------
    PlantloopError     no such column or method, no parameters that vary, or too few cases

    Source: S. Tarantola, D. Gatelli, T. Mara, "Random balance designs", Reliab. Eng. Syst. Saf. 91 (2006);
    F. Pianosi, T. Wagener, "PAWN", Environ. Model. Softw. 67 (2015), both as in SALib.
    """
    import pandas as pd
    from scipy.stats import rankdata

    if method not in METHODS:
        raise PlantloopError(f"no method '{method}'; {near_miss(method, METHODS)}", value=method)
    y = result.column(metric)
    table = result.table
    names = [n for n in result.store.manifest.parameters if table[n].nunique() > 1]
    fine = np.isfinite(y)
    if not names:
        raise PlantloopError("no parameter of this study varies.")
    fewest = max(FEWEST, len(names) + 2)
    if fine.sum() < fewest:
        raise PlantloopError(
            f"{int(fine.sum())} cases have a value of '{metric}', expected {fewest} or more.", path=metric
        )
    x, y = table[names].to_numpy(dtype=float)[fine], y[fine]
    found: dict[str, np.ndarray] = {}
    if method in ("auto", "regression"):
        scaled = (x - x.mean(0)) / x.std(0)
        spread = y.std() or 1.0
        found["regression"] = np.linalg.lstsq(scaled, (y - y.mean()) / spread, rcond=None)[0]
        ranks = np.apply_along_axis(rankdata, 0, x)
        with np.errstate(all="ignore"):
            correlation = [np.corrcoef(r, rankdata(y))[0, 1] for r in ranks.T]
        found["rank correlation"] = np.nan_to_num(np.array(correlation))
    if method != "regression":
        found |= _by_salib(names, x, y, method)
    frame = pd.DataFrame(found, index=pd.Index(names, name="parameter"))
    order = frame.abs().iloc[:, -1 if method == "auto" else 0].sort_values(ascending=False).index
    return frame.loc[order]


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
    if method in ("auto", "pawn"):
        some = slice(None, None, -(-len(y) // PAWN))
        found["pawn"] = np.asarray(
            pawn.analyze(problem, x[some], y[some], S=10, seed=0)["median"], dtype=float
        )
    if method == "rbd_fast" or (method == "auto" and len(y) >= 100):
        found["first order"] = np.asarray(rbd_fast.analyze(problem, x, y, seed=0)["S1"], dtype=float)
    return found
