"""The page of a study: a row per case, envelopes of its stored signals, curves of single cases."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.signal_tree import Leaf
from cosim.study.study_plots import BANDS, worst
from cosim.study.study_view import StudyView
from cosim.viewer.page_data import PageData

MOST_CURVES = 400_000  # numbers of single curves in a page, about 4 MB of it
MOST_NUMBERS = 400_000  # in the table of a page, about 4 MB; cases that failed or miss a requirement first
WORST = 100  # cases whose curves come first
LONGEST = 200
EXACT = 2**53


def of_study(view: StudyView) -> PageData:
    """The page of a study's results so far."""
    m = view.store.manifest
    page = PageData(m.name)
    table, failed = view.table, view.failed.index
    most = max(1, MOST_NUMBERS // (1 + len(table.columns)))
    if len(table) > most:
        others = table.index.difference(failed)
        chosen = [*failed[:most], *others[: max(0, most - len(failed))]]
        table = table.loc[sorted(chosen)]
    roles = {"variant": "case", "seed": "case", "status": "status", "message": "message", "wall_time": "wall"}
    for names, role in ((m.parameters, "parameter"), (m.metrics, "metric"), (m.requirements, "requirement")):
        roles |= dict.fromkeys(names, role)
    roles |= {f"{name}.robustness": "margin" for name in m.requirements}
    columns: list[dict[str, Any]] = [
        {"name": "case", "role": "number", "values": page.numbers.put(table.index.to_numpy(dtype=float))}
    ]
    for name in map(str, table.columns):
        found = {"name": m.titled(name), "role": roles.get(name, "other")}
        if name == "wall_time":
            found["name"] = "wall_time [s]"
        columns.append(found | _column(page, table[name]))
    numbers = [int(k) for k in table.index]
    page.content["study"] = {
        "name": m.name,
        "count": m.count,
        "done": len(view.table),
        "command": m.command("\0", view.store.folder.url).split("\0"),  # before and after the number
        "folder": view.store.folder.url,
        "columns": columns,
        "bad": page.numbers.put(np.isin(table.index.to_numpy(), failed.to_numpy()).astype(float)),
        "worst": [k for k in worst(view, 10) if k in set(numbers)] if len(table) else [],
        "time": page.numbers.put(np.array(m.times)),
        "bands": [f"{p} %" for band in BANDS for p in band] + ["median"],
        "signals": _signals(page, view, np.array(numbers, dtype=int)) if len(table) else [],
    }
    return page


def _column(page: PageData, values: Any) -> dict[str, Any]:
    """Numbers if the column is numeric, else texts or True and False."""
    if values.dtype == bool:
        return {"texts": [bool(v) for v in values]}
    if values.dtype.kind in "iu" and len(values) and max(abs(int(v)) for v in values) >= EXACT:
        return {"texts": [str(v) for v in values]}  # seeds: doubles would round them
    if values.dtype.kind in "iuf":
        return {"values": page.numbers.put(values.to_numpy(dtype=float))}
    return {"texts": [v if isinstance(v, bool) else str(v)[:LONGEST] for v in values]}


def _signals(page: PageData, view: StudyView, cases: np.ndarray) -> list[dict[str, Any]]:
    """Percentiles over all cases of every component, and as many curves as fit into the page."""
    m = view.store.manifest
    if not m.stored:
        return []
    data, wanted = view.signals, _drawn(view, cases)
    found = []
    for name, (size, labels) in m.stored.items():
        leaf = Leaf(name, 0, size, labels if any(labels) else ())
        whole = view.store.numbers_of(data[name]).reshape(m.count, len(m.times), size)
        for k, component in enumerate(leaf.components):
            values = whole[cases, :, k]
            if not np.isfinite(values).any():
                continue
            band = page.numbers.put(_bands(values))
            unit = m.signal_unit(name if size == 1 else f"{name}[{k}]")
            entry: dict[str, Any] = {"name": component, "unit": unit, "envelope": band}
            stored = [int(c) for c in wanted if np.isfinite(whole[c, :, k]).any()]
            if stored:
                entry |= {"cases": stored, "curves": page.numbers.put(whole[stored, :, k])}
            found.append(entry)
    return found


def _drawn(view: StudyView, cases: np.ndarray) -> np.ndarray:
    """Cases whose curves are in a page: all, or the worst and an even selection of the others."""
    m = view.store.manifest
    most = max(1, MOST_CURVES // (len(m.times) * sum(size for size, _ in m.stored.values())))
    if len(cases) <= most:
        return cases
    first = [k for k in worst(view, min(WORST, most)) if k in cases]
    others = np.setdiff1d(cases, first)
    return np.union1d(first, others[:: max(1, -(-len(others) // max(1, most - len(first))))]).astype(int)


def _bands(values: np.ndarray) -> np.ndarray:
    """Percentiles of (cases, n) values, (edges, n); nan where no case has one."""
    edges = [p for band in BANDS for p in band] + [50]
    found = np.full((len(edges), values.shape[1]), np.nan)
    full = np.isfinite(values).any(axis=0)
    with np.errstate(all="ignore"):
        found[:, full] = np.nanpercentile(values[:, full], edges, axis=0)
    return found
