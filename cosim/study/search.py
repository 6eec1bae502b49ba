"""Cases that a search chooses: the worst for a requirement, or the best for metrics; stored as a study.

An optimiser asks for cases, which are run and written down like those of any study, and is told what came
out. It is deterministic: gone on with after an interruption it asks for the same cases again, and those
that are in the store are not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.study.cases import Cases, seeds_of
from cosim.study.executors import EXECUTORS, executor_for
from cosim.study.job import Job
from cosim.study.measures import ROBUSTNESS
from cosim.study.opened import StudyResult
from cosim.study.store import StudyStore
from cosim.study.study_plan import StudyPlan

if TYPE_CHECKING:
    import pandas as pd

POPULATION = 16  # cases of a generation
WORST = 1e30  # stands for the value of a case that failed


class Optimiser(Protocol):
    """Asks for points of the unit cube, and is told what they are worth; less is better."""

    def ask(self) -> np.ndarray:
        """Points to look at, (m, n)."""

    def tell(self, points: np.ndarray, values: np.ndarray, broken: np.ndarray) -> None:
        """Values of objectives, (m, k), and by how much requirements are missed, (m, r), above 0."""


@dataclass(frozen=True)
class SearchResult:
    """What a search has found.

    study : all cases it looked at; best : the best of them (its row of the table), front : those that none
    is better than in everything
    """

    study: StudyResult
    best: pd.Series[Any]
    front: pd.DataFrame

    @property
    def case(self) -> int:
        """Number of the best case."""
        return int(self.best.name)


def falsify(
    plan: StudyPlan,
    bounds: Mapping[str, tuple[float, float]],
    requirement: str,
    runs: int,
    seed: int,
    run: SearchRuns,
) -> SearchResult:
    """Look for the case with the smallest robustness of a requirement, by CMA-ES; stops at `runs` cases.

    Raises
    ------
    PlantloopError     no such requirement, nothing that may vary, or cma is missing

    Source: N. Hansen, "The CMA evolution strategy: a tutorial", arXiv 1604.00772, as in the package cma.
    """
    if requirement not in plan.measures.requirements:
        raise PlantloopError(
            f"no requirement '{requirement}'; {near_miss(requirement, plan.measures.requirements)}",
            path=requirement,
        )
    optimiser = _cma(len(_some(bounds)), seed)
    return _searched(plan, bounds, (requirement + ROBUSTNESS,), (), runs, seed, optimiser, run)


def optimise(
    plan: StudyPlan,
    bounds: Mapping[str, tuple[float, float]],
    metrics: Sequence[str],
    runs: int,
    seed: int,
    run: SearchRuns,
) -> SearchResult:
    """Look for cases with small metrics that meet all requirements: one best, or a front, by NSGA-II.

    Raises
    ------
    PlantloopError     no such metric, nothing that may vary, or pymoo is missing

    Source: K. Deb et al., "A fast and elitist multiobjective genetic algorithm: NSGA-II", IEEE Trans. Evol.
    Comput. 6 (2002), as in the package pymoo.
    """
    for name in metrics:
        if name not in plan.measures.metrics:
            raise PlantloopError(f"no metric '{name}'; {near_miss(name, plan.measures.metrics)}", path=name)
    if not metrics:
        raise PlantloopError("name at least one metric to make small.")
    needed = tuple(name + ROBUSTNESS for name in plan.measures.requirements)
    optimiser = _nsga2(len(_some(bounds)), len(metrics), len(needed), seed)
    return _searched(plan, bounds, tuple(metrics), needed, runs, seed, optimiser, run)


@dataclass(frozen=True)
class SearchRuns:
    """Where cases go and who runs them.

    store : makes the store of a plan, or goes on with one
    """

    store: Callable[[StudyPlan, Mapping[str, str], int], StudyStore]
    executor: str | None
    workers: int
    scheduler: str | None


def _some(bounds: Mapping[str, tuple[float, float]]) -> Mapping[str, tuple[float, float]]:
    if not bounds:
        raise PlantloopError(
            "nothing may vary: a search needs [sampling.parameters] or [sweep] with the bounds of parameters."
        )
    return bounds


def _searched(
    plan: StudyPlan,
    bounds: Mapping[str, tuple[float, float]],
    objectives: Sequence[str],
    needed: Sequence[str],
    runs: int,
    seed: int,
    optimiser: Optimiser,
    run: SearchRuns,
) -> SearchResult:
    low, high = (np.array([b[k] for b in bounds.values()]) for k in (0, 1))
    columns = {name: np.full((runs, 1), (a + b) / 2) for name, (a, b) in bounds.items()}
    whole = replace(plan, cases=Cases(columns, np.zeros(runs, np.int64), seeds_of(seed, runs)))
    what = {"cases": f"search for {', '.join(objectives)} in {dict(bounds)!r}, seed {seed}"}
    store = run.store(whole, what, max(1, -(-POPULATION // run.workers)))
    executor = executor_for(whole, run.executor, run.scheduler)
    count = 0
    while count < runs:
        points = optimiser.ask()[: runs - count]
        mine = np.arange(count, count + len(points))
        values = low + points * (high - low)
        for k, name in enumerate(bounds):
            columns[name][mine, 0] = values[:, k]
        whole = whole.with_cases(replace(whole.cases, columns={n: v.copy() for n, v in columns.items()}))
        missing = np.setdiff1d(mine, store.done())
        if len(missing):
            job = Job(whole, store, store.by_chunk(missing), run.workers, run.scheduler)
            EXECUTORS[executor](job, lambda tally: None)
        table = store.table().loc[mine]
        told = _finite(table[list(objectives)].to_numpy(dtype=float), WORST)
        told[(table["status"] == "failed").to_numpy()] = -WORST if _is_margin(objectives) else WORST
        broken = -_finite(table[list(needed)].to_numpy(dtype=float), -WORST)
        optimiser.tell(points, told, broken)
        count += len(points)
    return _found(StudyResult(store, lambda: whole), objectives, needed)


def _finite(values: np.ndarray, instead: float) -> np.ndarray:
    """Values that an optimiser can work with; `instead` of those that are none."""
    return np.nan_to_num(values, nan=instead, posinf=WORST, neginf=-WORST)


def _is_margin(objectives: Sequence[str]) -> bool:
    """A case that fails is what a falsification looks for."""
    return objectives[0].endswith(ROBUSTNESS)


def _found(result: StudyResult, objectives: Sequence[str], needed: Sequence[str]) -> SearchResult:
    table = result.table
    values = table[list(objectives)].to_numpy(dtype=float)
    fine = np.isfinite(values).all(axis=1)
    if needed:
        met = (table[list(needed)].to_numpy(dtype=float) >= 0).all(axis=1)
        fine = fine & met if (fine & met).any() else fine
    numbers = np.flatnonzero(fine)
    if not len(numbers):
        raise PlantloopError("no case of the search gave a value; look at the messages in its table.")
    some = values[numbers]
    beaten = [bool(((some <= v).all(axis=1) & (some < v).any(axis=1)).any()) for v in some]
    front = table.iloc[numbers[~np.array(beaten)]]
    best = front.sort_values(objectives[0]).iloc[0]
    return SearchResult(result, best, front)


# --- optimisers -------------------------------------------------------------------------------------------
def _cma(width: int, seed: int) -> Optimiser:
    try:
        import cma
    except ImportError:
        raise PlantloopError("falsify needs cma.", hint="pip install plantloop[search]") from None
    options = {"bounds": [0.0, 1.0], "seed": seed + 1, "popsize": POPULATION, "verbose": -9}

    class Cma:
        def __init__(self) -> None:
            # the package searches in two dimensions or more
            self._strategy = cma.CMAEvolutionStrategy([0.5] * max(2, width), 0.3, options)
            self._asked: list[Any] = []

        def ask(self) -> np.ndarray:
            self._asked = self._strategy.ask()
            return np.array(self._asked, dtype=float)[:, :width]

        def tell(self, points: np.ndarray, values: np.ndarray, broken: np.ndarray) -> None:
            if len(values) == len(self._asked):
                self._strategy.tell(self._asked, values[:, 0].tolist())

    return Cma()


def _nsga2(width: int, objectives: int, needed: int, seed: int) -> Optimiser:
    try:
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.core.evaluator import Evaluator
        from pymoo.core.problem import Problem
        from pymoo.problems.static import StaticProblem
        from pymoo.termination import get_termination
    except ImportError:
        raise PlantloopError("optimise needs pymoo.", hint="pip install plantloop[search]") from None
    problem = Problem(n_var=width, n_obj=objectives, n_ieq_constr=needed, xl=0.0, xu=1.0)

    class Nsga2:
        def __init__(self) -> None:
            self._algorithm = NSGA2(pop_size=POPULATION)
            never = get_termination("n_gen", 10**9)
            self._algorithm.setup(problem, termination=never, seed=seed + 1, verbose=False)
            self._asked: Any = None

        def ask(self) -> np.ndarray:
            self._asked = self._algorithm.ask()
            return np.asarray(self._asked.get("X"), dtype=float)

        def tell(self, points: np.ndarray, values: np.ndarray, broken: np.ndarray) -> None:
            if len(values) == len(self._asked):
                known = {"F": values} | ({"G": broken} if needed else {})
                Evaluator().eval(StaticProblem(problem, **known), self._asked)
                self._algorithm.tell(infills=self._asked)

    return Nsga2()
