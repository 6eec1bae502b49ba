"""Searches that choose their cases: the worst for a requirement, or the best for metrics; stored as a study.

An optimiser asks for cases, which are run and written down like those of any study, and is told what came
out. It is deterministic: gone on with after an interruption it asks for the same cases again, and those
that are in the store are not run again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.errors import PlantloopError, near_miss
from cosim.study.cases import Cases, seeds_of
from cosim.study.distributions import LOGARITHMIC, Distribution
from cosim.study.executors import EXECUTORS, executor_for
from cosim.study.job import Job, Tell
from cosim.study.measures import ROBUSTNESS
from cosim.study.opened import StudyResult
from cosim.study.optimisers import POPULATION, Optimiser, cma_es, nsga2
from cosim.study.running import FAILED
from cosim.study.store import SEARCH, StudyStore
from cosim.study.study_plan import StudyPlan

if TYPE_CHECKING:
    import pandas as pd

WORST = 1e30  # stands for the value of a case that failed


@dataclass(frozen=True)
class SearchResult:
    """The result of a search.

    study : all cases it looked at; best : the best of them (its row of the table), front : those that none
    is better than in everything, in all variants; objectives : columns that were made small
    """

    study: StudyResult
    best: pd.Series[Any]
    front: pd.DataFrame
    objectives: tuple[str, ...] = ()

    @property
    def case(self) -> int:
        """The number of the best case."""
        return int(self.best.name)


@dataclass(frozen=True)
class SearchSpace:
    """The varying numbers, name -> least and largest value, and the fixed ones, name -> numbers of all cases.

    logarithmic : names of which equal steps are equal ratios; whole : names of distributions of whole
    numbers
    """

    bounds: Mapping[str, tuple[float, float]]
    fixed: Mapping[str, np.ndarray]
    logarithmic: frozenset[str] = frozenset()
    whole: Mapping[str, Distribution] = field(default_factory=dict)

    def cases(self, shares: np.ndarray, variants: int, seed: int) -> Cases:
        """All variants of every point, given as fractions of the way between the bounds, (points, n)."""
        count = len(shares)
        columns = {}
        for k, (name, (low, high)) in enumerate(self.bounds.items()):
            share = shares[:, k : k + 1]
            ratio = name in self.logarithmic
            value = low * (high / low) ** share if ratio else low + share * (high - low)
            value = np.clip(value, low, high)  # not beyond by rounding
            if name in self.whole:
                value = self.whole[name].nearest(value)
            columns[name] = np.repeat(value, variants, axis=0)
        columns |= {name: np.tile(value, (count * variants, 1)) for name, value in self.fixed.items()}
        seeds = np.repeat(seeds_of(seed, count), variants)
        return Cases(columns, np.tile(np.arange(variants), count), seeds)


def space_of(sampled: Mapping[str, Distribution], cases: Cases, structural: Container[str]) -> SearchSpace:
    """The bounds of distributions, and the least and largest values of a sweep, as a search space.

    structural : names that decide how the model is built

    Raises
    ------
    PlantloopError      several arrays are given for a name, or it is structural
    """
    bounds: dict[str, tuple[float, float]] = {}
    fixed: dict[str, np.ndarray] = {}
    for name, values in cases.columns.items():
        if name not in sampled and (values == values[0]).all():
            fixed[name] = values[0]
        elif name in structural:
            raise PlantloopError(
                f"'{name}' decides how the model is built, which a search cannot do anew for every case.",
                path=name,
                hint="Give its values as variants, of which the worst counts; or sweep it.",
            )
        elif name in sampled:
            bounds[name] = sampled[name].bounds
        elif values.shape[1] > 1:
            raise PlantloopError(
                f"'{name}' takes arrays of {values.shape[1]} numbers, which a search cannot go between.",
                path=name,
                hint=f"Sweep single numbers such as '{name}[0]'.",
            )
        else:
            bounds[name] = float(values.min()), float(values.max())
    logarithmic = frozenset(n for n, d in sampled.items() if d.spec.get("distribution") in LOGARITHMIC)
    whole = {n: d for n, d in sampled.items() if d.whole is not None}
    return SearchSpace(bounds, fixed, logarithmic, whole)


@dataclass(frozen=True)
class Aim:
    """The criterion for a good point: columns to minimise, and columns that should not be negative.

    least : of several variants the least value counts (that of a requirement to be broken), else the largest
    """

    objectives: tuple[str, ...]
    needed: tuple[str, ...]
    least: bool

    def worth(self, table: pd.DataFrame, variants: int) -> tuple[np.ndarray, np.ndarray]:
        """Objectives (points, k) and missed amounts (points, r), the variants of each point taken together.

        A run that failed is what a search for a broken requirement looks for, and of no use to others.
        """
        failed = (table["status"] == FAILED).to_numpy()
        values = np.nan_to_num(
            table[list(self.objectives)].to_numpy(dtype=float), nan=WORST, posinf=WORST, neginf=-WORST
        )
        values[failed] = -WORST if self.least else WORST
        missed = -np.nan_to_num(
            table[list(self.needed)].to_numpy(dtype=float), nan=-WORST, posinf=WORST, neginf=-WORST
        )
        together, points = np.min if self.least else np.max, len(table) // variants
        return (
            together(values.reshape(points, variants, len(self.objectives)), axis=1),
            missed.reshape(points, variants, len(self.needed)).max(axis=1),
        )


def falsify(
    plan: StudyPlan, space: SearchSpace, requirement: str, runs: int, seed: int, run: SearchRuns
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
    optimiser = cma_es(len(_some(space)), seed)
    return _searched(plan, space, Aim((requirement + ROBUSTNESS,), (), True), runs, seed, optimiser, run)


def only_of(requirements: Iterable[str]) -> str:
    """The requirement to break where none is named: the only one.

    Raises
    ------
    PlantloopError      there are several, or none
    """
    known = list(requirements)
    if len(known) != 1:
        names = ", ".join(f"'{name}'" for name in known)
        first = f'requirement = "{known[0]}"' if known else ""
        raise PlantloopError(
            f"which requirement is to be broken? There {'are ' + names if known else 'is none'}.",
            hint=f"Name it: {first} under [search], or falsify(..., requirement=)." if known else "",
        )
    return known[0]


def optimise(
    plan: StudyPlan, space: SearchSpace, metrics: Sequence[str], runs: int, seed: int, run: SearchRuns
) -> SearchResult:
    """Look for cases with small metrics that meet all requirements: one best, or a front, by NSGA-II.

    Of several variants the worst counts.

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
        known = tuple(plan.measures.metrics)
        if len(known) != 1:
            names = ", ".join(f"'{name}'" for name in known)
            raise PlantloopError(
                f"which metrics are to be small? There {'are ' + names if known else 'is none'}.",
                hint="Name them: metrics = [...] under [search], or optimise(..., metrics=)."
                if known
                else "",
            )
        metrics = known
    needed = tuple(name + ROBUSTNESS for name in plan.measures.requirements)
    optimiser = nsga2(len(_some(space)), len(metrics), len(needed), seed)
    return _searched(plan, space, Aim(tuple(metrics), needed, False), runs, seed, optimiser, run)


@dataclass(frozen=True)
class SearchRuns:
    """The store of the cases, and the executor that runs them.

    store : makes the store of a plan, or goes on with one
    tell : called with the tally of each piece of work
    """

    store: Callable[[StudyPlan, Mapping[str, str], int], StudyStore]
    executor: str | None
    workers: int
    scheduler: str | None
    tell: Tell = lambda tally: None


def _some(space: SearchSpace) -> Mapping[str, tuple[float, float]]:
    if not space.bounds:
        raise PlantloopError(
            "nothing may vary: a search needs [sampling.parameters] or [sweep] with the bounds of parameters."
        )
    return space.bounds


def _searched(
    plan: StudyPlan,
    space: SearchSpace,
    aim: Aim,
    runs: int,
    seed: int,
    optimiser: Optimiser,
    run: SearchRuns,
) -> SearchResult:
    variants = len(plan.bases)
    points = -(-runs // variants)
    shares = np.full((points, len(space.bounds)), 0.5)
    whole = replace(plan, cases=space.cases(shares, variants, seed))
    fixed = {name: value.tolist() for name, value in space.fixed.items()}
    looked_for = f"{SEARCH} {', '.join(aim.objectives)} in {dict(space.bounds)!r}"
    what = {"cases": f"{looked_for}{f' with {fixed!r}' if fixed else ''}, seed {seed}"}
    store = run.store(whole, what, max(1, -(-POPULATION * variants // run.workers)))
    executor = executor_for(whole, run.executor, run.scheduler)
    count = 0
    while count < points:
        asked = optimiser.ask()[: points - count]
        shares[count : count + len(asked)] = asked
        whole = whole.with_cases(space.cases(shares, variants, seed))
        mine = np.arange(count * variants, (count + len(asked)) * variants)
        missing = np.setdiff1d(mine, store.done())
        if len(missing):
            job = Job(whole, store, store.by_chunk(missing), run.workers, run.scheduler)
            EXECUTORS[executor](job, run.tell)
        optimiser.tell(asked, *aim.worth(store.table().loc[mine], variants))
        count += len(asked)
    return _found(StudyResult(store, lambda: whole), aim, variants)


def _found(result: StudyResult, aim: Aim, variants: int) -> SearchResult:
    table = result.table
    values, missed = aim.worth(table, variants)
    fine = np.ones(len(values), bool) if aim.least else (values < WORST).all(axis=1)
    met = fine & (missed <= 0).all(axis=1)
    points = np.flatnonzero(met if met.any() else fine)
    if not len(points):
        raise PlantloopError("no case of the search gave a value; look at the messages in its table.")
    some = values[points]
    beaten = [bool(((some <= v).all(axis=1) & (some < v).any(axis=1)).any()) for v in some]
    front = points[~np.array(beaten)]
    chosen = int(front[np.argmin(values[front, 0])])
    rows = table.iloc[chosen * variants : (chosen + 1) * variants]
    worst, _ = aim.worth(rows, 1)
    k = int(np.argmin(worst[:, 0]) if aim.least else np.argmax(worst[:, 0]))
    numbers = (front[:, None] * variants + np.arange(variants)).ravel()
    return SearchResult(result, rows.iloc[k], table.iloc[numbers], aim.objectives)
