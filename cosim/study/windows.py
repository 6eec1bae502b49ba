"""Windows, instants and intervals of a study beside the end of its runs: what looks past it is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator

from blocks.contract.rate import instant
from cosim.scenario.keys import FilePlace
from cosim.study.formulas import Formula, Temporal, parts
from cosim.study.study_schema import RequirementTable, StudyTables

SLACK = 1e-9  # relative: 0.1 + 0.2 is within 0.3
WRITTEN = ("always", "eventually", "whenever", "until", "formula")  # keys that hold a condition


def check_windows(tables: StudyTables, until: float, place: FilePlace) -> None:
    """Nothing is looked for, or begins, after the end of the run, `until` [s].

    Raises
    ------
    ScenarioError     all such windows, instants and intervals together
    """
    late = until * (1 + SLACK)
    for k, r in enumerate(tables.requirements):
        _check_requirement(r, until, late, place.at("requirements", k))
    for k, action in enumerate(tables.actions):
        if action.at is not None and float(instant(action.at)) > until:
            place.at("actions", k, "at").add_problem(
                f"is {action.at} s, when the run of {until:g} s is over."
            )
    if tables.store.every is not None and float(instant(tables.store.every)) > late:
        place.at("store", "every").add_problem(
            f"is {tables.store.every} s, longer than the run of {until:g} s: nothing between its start and "
            "its end would be looked at; make it shorter."
        )
    place.raise_problems()


def _check_requirement(r: RequirementTable, until: float, late: float, place: FilePlace) -> None:
    if r.after > until:
        place.at("after").add_problem(f"is {r.after:g} s, when the run of {until:g} s is over.")
        return
    if math.isfinite(r.before) and r.before > late:
        place.at("before").add_problem(
            f"is {r.before:g} s, when the run of {until:g} s is over; leave it out, which means its end."
        )
    if r.within is not None and r.after + r.within > late:
        place.at("within").add_problem(
            f"is {r.within:g} s{f' after {r.after:g} s' if r.after else ''}, past the end of the run of "
            f"{until:g} s; make it shorter, or let the run last longer."
        )
    for name in WRITTEN:
        formula = getattr(r, name)
        if formula is None:
            continue
        for begin, part in _earliest(formula, r.after):
            if begin > late:
                place.at(name).add_problem(
                    f"{part.word}[{part.begin:g}, {part.end:g}] looks at nothing before {begin:g} s, when "
                    f"the run of {until:g} s is over."
                )


def _earliest(formula: Formula, offset: float) -> Iterator[tuple[float, Temporal]]:
    """Operators over time, each with the first instant it could look at [s]."""
    for part in parts(formula):
        yield from _earliest(part, offset + (formula.begin if isinstance(formula, Temporal) else 0.0))
    if isinstance(formula, Temporal):
        yield offset + formula.begin, formula
