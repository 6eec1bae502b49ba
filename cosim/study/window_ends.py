"""Instants at which windows of requirements begin and end beside the grid: runs are looked at there too.

A window inside another begins and ends anew at every instant at which the outer one looks.
"""

from __future__ import annotations

import math

import numpy as np

from cosim.study.formulas import Formula, Temporal, parts

SLACK = 1e-9  # relative to the distance of instants: a window whose end misses one by rounding reaches it
ROUNDING = 4e-12  # relative to the time: closer instants are one, also in a log


def slack_of(time: np.ndarray) -> float:
    """How far two instants may be apart to be one [s]."""
    if not len(time):
        return 0.0
    return max(SLACK * float(time[-1] - time[0]) / max(1, len(time) - 1), ROUNDING * float(time[-1]))


def found_in(time: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """Which instants of `time` are among some others, (n,) bool."""
    slack, wanted = slack_of(time), np.sort(instants)
    first = np.searchsorted(wanted, time - slack, side="left")
    return np.searchsorted(wanted, time + slack, side="right") > first


def united(time: np.ndarray, instants: np.ndarray) -> np.ndarray:
    """The instants of `time`, and those of others inside it that it has not, in order [s]."""
    slack = slack_of(time)
    more = np.unique(instants[(instants > time[0]) & (instants < time[-1])])
    known = np.searchsorted(time, more + slack, side="right") > np.searchsorted(time, more - slack)
    more = more[~known]
    apart = np.concatenate([np.ones(min(1, len(more)), bool), np.diff(more) > slack])
    return np.sort(np.concatenate([time, more[apart]])) if len(more) else time


def edges(formula: Temporal, instants: np.ndarray) -> np.ndarray:
    """Where the windows of a formula at some instants begin and end [s]."""
    ends = [limit for limit in (formula.begin, formula.end) if 0 < limit < math.inf]
    return np.concatenate([instants[:0], *(instants + limit for limit in ends)])


def with_window_ends(formula: Formula, grid: np.ndarray, instants: np.ndarray | None = None) -> np.ndarray:
    """The instants at which the signals of a formula have to be known, (n,) s: the grid, and others.

    instants : at which the formula is wanted [s]; by default the first of the grid
    """
    wanted = grid[:1] if instants is None else instants
    if isinstance(formula, Temporal):
        wanted = united(united(grid, wanted), edges(formula, wanted))
    found = [with_window_ends(part, grid, wanted) for part in parts(formula)]
    return united(united(grid, wanted), np.concatenate([grid[:0], *found]))
