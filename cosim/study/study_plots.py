"""Pictures of a study: envelopes of signals over all cases, and scatter plots of columns of the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.names import COMPONENT
from cosim.study.study_view import StudyView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


BANDS = ((0, 100), (5, 95), (25, 75))  # percentiles
LINES = 10


def plotted(result: StudyView, names: Sequence[str], cases: Sequence[int] | None) -> Figure:
    """See `opened.StudyResult.plot`.

    Raises
    ------
    PlantloopError     neither stored signals nor columns of the table
    """
    from matplotlib.figure import Figure

    m, columns = result.store.manifest, [str(c) for c in result.table.columns]
    stored = [*m.stored, *m.other_names]
    wanted = list(names) or list(m.stored)[:4]
    if len(wanted) == 2 and all(n in columns for n in wanted):
        figure = Figure(figsize=(6, 4.5), layout="constrained")
        axes = figure.subplots()
        scatter(result, wanted[0], wanted[1], axes)
        return figure
    for name in wanted:
        if _whole(name) not in stored:
            raise PlantloopError(
                f"'{name}' is neither a stored signal nor one of two columns of the table; "
                f"{near_miss(name, [*stored, *columns])}",
                path=name,
            )
    figure = Figure(figsize=(8, 2.2 * max(1, len(wanted)) + 0.6), layout="constrained")
    rows = figure.subplots(len(wanted), 1, sharex=True, squeeze=False)[:, 0]
    for name, axes in zip(wanted, rows, strict=True):
        envelope(result, name, axes, cases)
    if wanted:
        rows[-1].set_xlabel("time [s]")
    return figure


def _whole(name: str) -> str:
    found = COMPONENT.fullmatch(name)
    return found[1] if found else name


def values_of(result: StudyView, name: str) -> np.ndarray:
    """A stored signal, or a component of it, of all cases: (cases, n); the first one if it has several."""
    array = result.signals[_whole(name)]
    found = COMPONENT.fullmatch(name)
    if array.ndim == 3:
        array = array[:, :, int(found[2]) if found else 0]
    return result.store.numbers_of(array)


def worst(result: StudyView, count: int) -> list[int]:
    """Cases with the least margin of any requirement; the first cases if there are no requirements."""
    table = result.table
    margins = [f"{n}.robustness" for n in result.store.manifest.requirements]
    if not margins:
        return [int(k) for k in table.index[:count]]
    return [int(k) for k in table[margins].min(axis=1).sort_values().index[:count]]


def envelope(result: StudyView, name: str, axes: Axes, cases: Sequence[int] | None) -> None:
    """Percentiles over all cases, and some cases as lines."""
    values, time = values_of(result, name), np.array(result.store.manifest.times)
    some = np.isfinite(values).any(axis=1)
    if some.any():
        with np.errstate(all="ignore"):
            for low, high in BANDS:
                edges = np.nanpercentile(values[some], [low, high], axis=0)
                axes.fill_between(time, *edges, color="C0", alpha=0.18, linewidth=0)
    for case in worst(result, LINES) if cases is None else cases:
        axes.plot(time, values[case], linewidth=0.7, color="C3", alpha=0.7)
    unit = result.store.manifest.signal_unit(name)
    axes.set_title(f"{name} [{unit}]" if unit else name, loc="left", fontsize="medium")


def scatter(result: StudyView, x: str, y: str, axes: Axes) -> None:
    """One column over another; cases that failed or miss a requirement are red."""
    table, failed = result.table, set(result.failed.index)
    bad = np.array([k in failed for k in table.index], dtype=bool)
    first, second = result.column(x), result.column(y)
    axes.scatter(first[~bad], second[~bad], s=6, color="C0")
    axes.scatter(first[bad], second[bad], s=8, color="C3")
    titled = result.store.manifest.titled
    axes.set_xlabel(titled(x))
    axes.set_ylabel(titled(y))
