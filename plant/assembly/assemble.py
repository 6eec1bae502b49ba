"""Assembly: a start that satisfies all constraints, found before anything runs, and the messages about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from blocks.contract.block import Equations
from blocks.contract.user_lines import warn_user
from plant.assembly.closing import NONE, Assembler
from plant.assembly.initial_rates import Wish, initial_rates, mention_missed
from plant.assembly.redundancy import redundancy
from plant.assembly.start_rates import named_rates, singular_start
from plant.constraints.closure import Closing, Closure
from plant.mechanics.mechanism import Mechanism
from plant.reporting import PlantWarning

REPORTED = 1e-6  # of the size of the mechanism, or rad: larger moves are reported


@dataclass(frozen=True, eq=False)
class Assembly:
    """The outcome of an assembly.

    q, qd : tuples of (nq,), (nv,)     coordinates and rates of each link at the start
    closing : Closing or None          which conditions count; None without constraints
    moved : dict                       state -> how far it is from the design configuration
    redundant : tuple of str           one line per element with conditions that repeat others
    dof : int                          degrees of freedom
    chosen : dict                      rate -> value, of least kinetic energy where some are left open
    singular : str                     what is to be said of a start from which several ways lead on
    """

    q: tuple[np.ndarray, ...]
    qd: tuple[np.ndarray, ...]
    closing: Closing | None
    moved: dict[str, float]
    redundant: tuple[str, ...]
    dof: int
    chosen: dict[str, float] = field(default_factory=dict)
    singular: str = ""


def assemble(
    b: Equations,
    closure: Closure,
    wishes: Callable[[np.ndarray], list[Wish]],
    massless: Sequence[int] = (),
    held: Mapping[int, float] = NONE,
    time: float = 0.0,
) -> Assembly:
    """Close a mechanism and analyse its constraints.

    wishes : function of the start's q that gives the initial velocities asked for
    massless : links without inertia, see `plant.mechanics.massless`
    held : coordinates with the values they have at the start, and are free of afterwards
    time : s, what TIME is at the start
    """
    assembler = Assembler(b, closure, massless, time)
    mechanism = assembler.mechanism
    closing = assembler.closing()
    q0 = np.concatenate([np.zeros(0), *[link.q0 for link in mechanism.links]])
    q = assembler.positions_closed(q0, held)
    if assembler.curved:
        assembler.rates(q, wishes(q))  # the state about which they are analysed
    found = redundancy(assembler, q)
    rates = assembler.rates(q, wishes(q))
    assembler.refuse_touching(q, rates.of(0))
    singular = ""
    if found.in_line or found.late:
        rates = assembler.going_on(q, rates)
    if found.in_line:
        singular = singular_start(mechanism, found.in_line, rates)
    closing, qd = replace(closing, design=found.design), rates.of(0)
    moved = moves(mechanism, q0, q)
    if not held:
        small = np.abs(q - q0) <= REPORTED * assembler.sizes.coordinates
        _mention_moves(moves(mechanism, q0, np.where(small, q0, q)))
    for line in [*found.lines, *([singular] if singular else [])]:
        warn_user(line, PlantWarning)
    mention_missed(wishes(q), qd)
    return Assembly(
        tuple(mechanism.coordinates_by_link(q)),
        tuple(mechanism.rates_by_link(qd)),
        closing,
        moved,
        tuple(found.lines),
        mechanism.dof - found.rank,
        named_rates(mechanism, qd) if rates.free.shape[1] and np.any(qd) else {},
        singular,
    )


def start_of_tree(mechanism: Mechanism, held: Mapping[int, float] = NONE) -> Assembly:
    """The start of a mechanism without constraints: its design, with some coordinates held at values."""
    q0 = np.concatenate([np.zeros(0), *[link.q0 for link in mechanism.links]])
    q = q0.copy()
    for k, value in held.items():
        q[k] = value
    by_link = tuple(mechanism.coordinates_by_link(q))
    rates, some_open = initial_rates(mechanism, by_link if held else None)
    chosen = named_rates(mechanism, np.concatenate(rates)) if some_open else {}
    return Assembly(by_link, rates, None, moves(mechanism, q0, q), (), mechanism.dof, chosen)


def _mention_moves(large: Mapping[str, float]) -> None:
    """Warn of coordinates that assembly moved far, the largest moves first."""
    if large:
        most = sorted(large.items(), key=lambda item: -abs(item[1]))[:6]
        warn_user(
            "assembly moved the start to close all constraints: "
            + ", ".join(f"{name} by {d:.6g}" for name, d in most)
            + (f" and {len(large) - 6} more" if len(large) > 6 else "")
            + ". Correct the design configuration if that is not meant.",
            PlantWarning,
        )


def moves(mechanism: Mechanism, q0: np.ndarray, q: np.ndarray) -> dict[str, float]:
    """Distance of each coordinate from its previous value, by name; only of those that moved."""
    moved = {}
    before_and_after = (mechanism.coordinates_by_link(values) for values in (q0, q))
    for link, a, b in zip(mechanism.links, *before_and_after, strict=True):
        for (name, _), before, after in zip(link.joint.coordinates, a, b, strict=True):
            if after != before:
                moved[f"{link.name}.q ({name})"] = float(after - before)
    return moved
