"""Parts of the equations of blocks that are not needed to run them, in the symbols of the system."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import casadi as ca
import numpy as np

from blocks.contract.declared import ImplicitSolution
from cosim.compile.expressions import Expressions
from cosim.compile.placed_block import PlacedBlock
from cosim.system_parts import NamedTerm


def named_terms(placed: Mapping[str, PlacedBlock], between: Expressions) -> tuple[NamedTerm, ...]:
    """What explains a value that is not finite (`Equations.term`)."""
    found: list[NamedTerm] = []
    for path, inst in placed.items():
        terms = inst.traced.declared.terms
        parts = _at_once(path, "terms", [t.expression for t in terms], between)
        found += [NamedTerm(path, t.text, part) for t, part in zip(terms, parts, strict=True)]
    return tuple(found)


def implicit_solutions(
    placed: Mapping[str, PlacedBlock], between: Expressions
) -> tuple[ImplicitSolution, ...]:
    """Values found by solving equations (`Equations.implicit_solution`)."""
    found: list[ImplicitSolution] = []
    for path, inst in placed.items():
        for k, make in enumerate(inst.traced.declared.implicit):
            s = make()
            given = [s.solution, s.residual, s.factors]
            solution, residual, factors = _at_once(path, f"implicit{k}", given, between)
            found.append(ImplicitSolution(solution, residual, factors, s.solve))
    return tuple(found)


def _at_once(path: str, name: str, parts: list[ca.SX], between: Expressions) -> list[ca.SX]:
    """Expressions of a block, parts of each other: one by one they take the square of their number."""
    if not parts:
        return []
    whole = between.of(path, name, ca.vertcat(*parts))
    ends = np.cumsum([0, *(part.numel() for part in parts)]).tolist()
    return [whole[a:b] for a, b in pairwise(ends)]
