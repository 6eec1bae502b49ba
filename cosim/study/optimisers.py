"""Optimisers that propose points to searches: those of the packages cma and pymoo."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from blocks.errors import PlantloopError

POPULATION = 16  # points in a generation


class Optimiser(Protocol):
    """Proposes points of the unit cube and receives their values; smaller is better."""

    def ask(self) -> np.ndarray:
        """Points to evaluate, (m, n)."""

    def tell(self, points: np.ndarray, values: np.ndarray, broken: np.ndarray) -> None:
        """Receive objectives, (m, k), and the amounts by which requirements are missed, (m, r), above 0."""


def cma_es(width: int, seed: int) -> Optimiser:
    """CMA-ES in `width` dimensions, for one objective; requirements are ignored."""
    try:
        import cma
    except ImportError:
        raise PlantloopError("falsify needs cma.", hint="pip install plantloop[search]") from None
    draws = np.random.default_rng(seed)
    options = {
        "bounds": [0.0, 1.0], "popsize": POPULATION, "verbose": -9,
        # otherwise it draws from NumPy's global generator
        "seed": math.nan, "randn": lambda *shape: draws.standard_normal(shape),
    }  # fmt: skip

    class Cma:
        def __init__(self) -> None:
            self._strategy = self._begun([0.5] * max(2, width))  # the package needs two dimensions at least
            self._asked: list[Any] = []

        def _begun(self, centre: list[float]) -> Any:
            return cma.CMAEvolutionStrategy(centre, 0.3, options)

        def ask(self) -> np.ndarray:
            self._asked = self._strategy.ask()
            return np.array(self._asked, dtype=float)[:, :width]

        def tell(self, points: np.ndarray, values: np.ndarray, broken: np.ndarray) -> None:
            if len(values) == len(self._asked):
                self._strategy.tell(self._asked, values[:, 0].tolist())
                if self._strategy.stop():  # it has converged: the remaining runs start from another point
                    self._strategy = self._begun(draws.random(max(2, width)).tolist())

    return Cma()


def nsga2(width: int, objectives: int, needed: int, seed: int) -> Optimiser:
    """NSGA-II in `width` dimensions for several objectives under `needed` requirements."""
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
