"""What is wrong with the tables of a study beside its model, all of it together, and where it stands."""

from __future__ import annotations

import contextlib
from collections.abc import Container, Iterator
from dataclasses import replace

from blocks.errors import PlantloopError, ScenarioError, listed_problems
from cosim.scenario.source import Keys, ScenarioFile
from cosim.study.loading import find_key
from cosim.study.measures import Measures
from cosim.study.places import checked, target
from cosim.study.probes import FormulaError, probed
from cosim.study.study_plan import Prepared, StudyPlan, stored_signals
from cosim.system import System

FORMULAS = ("metrics", "requirements", "actions")
OTHERS = ("sweep", "sampling", "actions", "metrics", "requirements", "stop", "store", "search")
Problem = tuple[Keys, PlantloopError]


def place_of(error: PlantloopError, source: ScenarioFile, in_file: Container[str] = ()) -> str:
    """The key of a study's tables that an error is about, found by a name in the error.

    in_file : columns of a file of cases
    """
    name = str(error.path)
    for table in FORMULAS if isinstance(error, FormulaError) else OTHERS:
        if (keys := find_key(source.tables.get(table), name)) is not None:
            return source.where((table, *keys))
    if name in in_file:
        return source.where(("sampling", "file"))
    return source.path.name


def prepared_or_all_problems(plan: StudyPlan, variant: int, source: ScenarioFile) -> Prepared:
    """A variant of a plan, ready for its cases.

    Raises
    ------
    ScenarioError       several things are wrong: all of them
    PlantloopError      one is
    """
    try:
        return plan.prepared(variant)
    except ScenarioError:  # of the model; all of it already
        raise
    except PlantloopError as error:
        found = sorted(_problems(plan, variant, source), key=lambda problem: source.line(problem[0]) or 0)
        texts = list(dict.fromkeys(f"{source.where(keys)}: {problem}" for keys, problem in found))
        if len(texts) < 2:
            raise
        message = listed_problems(texts, source.path.name)
        raise ScenarioError(message, path=str(source.path), value=texts) from error


def _problems(plan: StudyPlan, variant: int, source: ScenarioFile) -> list[Problem]:
    """Every part of the tables tried on its own, in a system with the actions that work."""
    found: list[Problem] = []
    base, system = plan.bases[variant], _with_working_actions(plan, variant, source, found)
    acting = {action.name for action in plan.actions if action.name}
    for name, values in plan.cases.columns.items():
        if name not in base.built and name.partition(".")[0] not in acting:
            with _noted(found, _column(name, source), source):
                checked(system, target(system, name), values)
    for name, metric in plan.measures.metrics.items():
        with _noted(found, ("metrics", name), source):
            probed(system, Measures({name: metric}).probes())
    for k, (name, formula) in enumerate(plan.measures.requirements.items()):
        with _noted(found, ("requirements", k), source):
            probed(system, Measures({}, {name: formula}).probes())
    for name in plan.store.signals:
        with _noted(found, ("store", "signals"), source):
            one = replace(plan.store, signals=(name,))
            stored_signals(system, tuple(system.chosen(None)), one, base)
    return found


def _with_working_actions(
    plan: StudyPlan, variant: int, source: ScenarioFile, found: list[Problem]
) -> System:
    from cosim.study.compiled_actions import with_actions

    base = plan.bases[variant]
    made = lambda actions: with_actions(base.diagram(), base.system(), base.settings, actions)
    working = []
    for k, action in enumerate(plan.actions):
        before = len(found)
        with _noted(found, ("actions", k), source):
            made((action,))
        if len(found) == before:
            working.append(action)
    try:
        return made(working) if working else base.system()
    except PlantloopError:  # each works, together they do not
        return base.system()


def _column(name: str, source: ScenarioFile) -> Keys:
    for table in ("sweep", "sampling"):
        if (keys := find_key(source.tables.get(table), name)) is not None:
            return (table, *keys)
    return ("sampling", "file")


@contextlib.contextmanager
def _noted(found: list[Problem], keys: Keys, source: ScenarioFile) -> Iterator[None]:
    """Note an error, at the name in it where that stands below these keys."""
    try:
        yield
    except PlantloopError as error:
        below: object = source.tables
        for key in keys:
            below = below[key]  # type: ignore[index]  # the keys are those of a table that was read
        inside = find_key(below, str(error.path)) if error.path else None
        found.append(((*keys, *(inside or ())), error))
