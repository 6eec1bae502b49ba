"""Are integrals over a run as exact as its states? They take no part in the choice of steps (`probes`).

What is integrated may change faster than the states that the steps follow: a fast signal of which the states
see little. One case is run again with the integrals among what the steps follow, and both are compared.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from cosim.engines.choose import choose
from cosim.engines.methods.solvers import SOLVERS
from cosim.engines.starts import DONE
from cosim.study.running import FAILED, starts_of
from cosim.study.store import StudyStore
from cosim.study.study_plan import Prepared, StudyPlan
from cosim.system import System

FAR = 1e4  # times the tolerances: what errors of single steps may add up to; 1e-4 of an integral by default
SECONDS, SHARE = 1.0, 0.02  # a case is run again if it takes that long at most, or that share of the study


class IntegralWarning(UserWarning):
    """An integral over a run is less exact than the run."""


def warn_of_integrals(store: StudyStore, plan: StudyPlan) -> None:
    """Warn of metrics and requirements with integrals that the steps of the first case do not resolve.

    Only where this costs little: not for Python in the model, blocks that allow one run at a time, or cases
    that take long.
    """
    if not plan.measures.probes().integrands or plan.python or plan.alone is not None:
        return
    rows = store.first_rows()
    fine = rows[rows["status"] != FAILED]
    if not len(fine):
        return
    seconds, whole = float(fine["wall_time"].iloc[0]), float(fine["wall_time"].mean()) * len(plan.cases)
    if seconds > max(SECONDS, SHARE * whole):
        return
    case = int(fine["case"].iloc[0])
    for users, apart in unresolved(plan, case):
        warn_user(
            f"{users}: the integral is off by up to {apart:.2g} of its largest value in case {case}: what is "
            "integrated changes faster than the states that the solver's steps follow. Set a max_step= that "
            "is shorter than these changes.",
            IntegralWarning,
        )


def unresolved(plan: StudyPlan, case: int) -> list[tuple[str, float]]:
    """Users of integrals that change where the steps follow them, and by how much of the largest value."""
    ready = plan.prepared(int(plan.cases.variant[case]))
    if not SOLVERS[ready.settings.solver].adaptive:
        return []
    integrands = plan.measures.probes().integrands
    ours = _courses(plan, ready, case)
    theirs = _courses(plan, replace(ready, system=following(ready.system, tuple(integrands))), case)
    if ours is None or theirs is None:
        return []
    count = min(len(ours), len(theirs))
    found = []
    for k, formula in enumerate(integrands.values()):
        a, b = ours[:count, k], theirs[:count, k]
        apart, size = float(np.abs(a - b).max()), float(np.abs(b).max())
        if apart > FAR * (ready.settings.atol + ready.settings.rtol * size):
            found.append((plan.measures.users(formula), apart / size))
    return found


def following(system: System, integrals: tuple[str, ...]) -> System:
    """A system whose steps follow these states as they do others."""
    slots = system.states
    changed = {n: replace(slots[n], memory=replace(slots[n].memory, nominal=1.0)) for n in integrals}
    return replace(system, states={**slots, **changed})


def _courses(plan: StudyPlan, ready: Prepared, case: int) -> np.ndarray | None:
    """The integrals of a case at the instants of the grid, (n, integrals); None where it fails."""
    names = tuple(plan.measures.probes().integrands)
    times = plan.times_of(int(plan.cases.variant[case]))
    looked = replace(ready, logged=names, times=times, gridded=np.ones(len(times), bool))
    starts = starts_of(plan, looked, np.array([case]), lambda *shape: np.zeros(shape))
    try:
        engine = choose(looked.system, looked.settings, starts.context(0))
    except PlantloopError:
        return None
    try:
        engine.run_starts(starts, 0, 1)
    finally:
        engine.instances.close()
    return starts.rows[0, : starts.logged[0], 1:] if starts.state[0] == DONE else None
