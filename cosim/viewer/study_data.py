"""What a page shows of a study: a row per case, envelopes of its stored signals, curves of single cases."""

from __future__ import annotations

from typing import Any

import numpy as np

from cosim.signal_tree import Leaf
from cosim.study.study_plots import BANDS, worst
from cosim.study.study_view import StudyView
from cosim.viewer.page_data import PageData

MOST_CURVES = 4_000_000  # numbers of single curves in a page (32 MB before compression)
MOST_CASES = 100_000  # rows in a page, those that failed or miss a requirement first
LONGEST = 200
EXACT = 2**53


def of_study(view: StudyView) -> PageData:
    """The page of what a study has left so far."""
    m = view.store.manifest
    page = PageData(m.name)
    table, failed = view.table, view.failed.index
    if len(table) > MOST_CASES:
        others = table.index.difference(failed)
        chosen = [*failed[:MOST_CASES], *others[: max(0, MOST_CASES - len(failed))]]
        table = table.loc[sorted(chosen)]
    roles = {"variant": "case", "seed": "case", "status": "status", "message": "message", "wall_time": "wall"}
    for names, role in ((m.parameters, "parameter"), (m.metrics, "metric"), (m.requirements, "requirement")):
        roles |= dict.fromkeys(names, role)
    roles |= {f"{name}.robustness": "margin" for name in m.requirements}
    columns: list[dict[str, Any]] = [
        {"name": "case", "role": "number", "values": page.numbers.put(table.index.to_numpy(dtype=float))}
    ]
    for name in map(str, table.columns):
        found = {"name": name, "role": roles.get(name, "other")}
        if name == "wall_time":
            found["name"] = "wall_time [s]"
        columns.append(found | _column(page, table[name]))
    numbers = [int(k) for k in table.index]
    page.content["study"] = {
        "name": m.name,
        "count": m.count,
        "done": len(view.table),
        "command": f"cosim run {m.study_file}" if m.study_file else "",
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
    """Numbers where they are numbers, else texts or True and False."""
    if values.dtype == bool:
        return {"texts": [bool(v) for v in values]}
    if values.dtype.kind in "iu" and len(values) and max(abs(int(v)) for v in values) >= EXACT:
        return {"texts": [str(v) for v in values]}  # seeds: doubles would round them
    if values.dtype.kind in "iuf":
        return {"values": page.numbers.put(values.to_numpy(dtype=float))}
    return {"texts": [v if isinstance(v, bool) else str(v)[:LONGEST] for v in values]}


def _signals(page: PageData, view: StudyView, cases: np.ndarray) -> list[dict[str, Any]]:
    """Percentiles over all cases of every component, and as many single curves as the page has room for."""
    m = view.store.manifest
    if not m.stored:
        return []
    found, room = [], MOST_CURVES
    data = view.signals
    wanted = (
        np.unique([*worst(view, 100), *cases[:: max(1, len(cases) // 1000)]]) if len(cases) > 1000 else cases
    )
    for name, (size, labels) in m.stored.items():
        leaf = Leaf(name, 0, size, labels if any(labels) else ())
        whole = np.asarray(data[name], dtype=float).reshape(m.count, len(m.times), size)
        for k, component in enumerate(leaf.components):
            values = whole[cases, :, k]
            some = np.isfinite(values).any(axis=1)
            if not some.any():
                continue
            edges = [p for band in BANDS for p in band] + [50]
            with np.errstate(all="ignore"):
                band = np.full((len(edges), len(m.times)), np.nan)
                full = np.isfinite(values).any(axis=0)
                band[:, full] = np.nanpercentile(values[:, full], edges, axis=0)
            entry: dict[str, Any] = {
                "name": component,
                "unit": leaf.unit(k),
                "envelope": page.numbers.put(band),
            }
            stored = [int(c) for c in wanted if np.isfinite(whole[c, :, k]).any()]
            stored = stored[: max(0, room // len(m.times))]
            if stored:
                entry |= {"cases": stored, "curves": page.numbers.put(whole[stored, :, k])}
                room -= len(stored) * len(m.times)
            found.append(entry)
    return found
