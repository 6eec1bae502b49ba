"""The bases of a study's variants, made from a scenario or from diagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from blocks.arguments import number
from blocks.contract.block import Block
from blocks.contract.rate import rational
from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError, ScenarioError, shown
from cosim.block_names import kept_by_files
from cosim.built_for import built_for
from cosim.diagram import Diagram
from cosim.driven import driven
from cosim.engines.reference.log import log_times
from cosim.names import no_block
from cosim.scenario.scenario import Scenario
from cosim.settings import RunSettings
from cosim.study.bases import Base, drawn_diagram
from cosim.study.loading import variant_scenario
from cosim.study.study_schema import StudyTables


def bases_of_scenario(
    scenario: Scenario,
    tables: StudyTables,
    until: float | None,
    numbers: Mapping[str, Mapping[str, Any]],
    log_every: Any,
    settings: RunSettings | None,
    keywords: Mapping[str, Any],
    trust: bool,
) -> tuple[tuple[Base, ...], tuple[str, ...]]:
    """The base of a scenario, or of its variants, with the arguments of a call added."""
    made = [(v["name"], variant_scenario(scenario, k, v, trust)) for k, v in enumerate(tables.variants)]
    found = []
    for name, one in made or [("", scenario)]:
        base = Base.of_scenario(one)
        chosen = RunSettings.of(RunSettings.of(base.settings, **keywords), **_given_in(settings))
        base = replace(
            base,
            until=base.until if until is None else _end(until),
            settings=chosen,
            parameters={**base.parameters, **numbers["parameters"]},
            initial={**base.initial, **numbers["initial"]},
            inputs=numbers["inputs"],
            log_every=base.log_every if log_every is None else _interval_given(log_every),
        )
        found.append((name, base))
    if tables.store.every is None:
        _one_grid(found)
        if log_every is None:
            _say_what_counts_not(scenario)
    return tuple(base for _, base in found), tuple(name for name, _ in found)


def _one_grid(variants: Sequence[tuple[str, Base]]) -> None:
    """Refuse variants that ask for different instants.

    Raises
    ------
    ScenarioError     they do not: their signals are stored side by side
    """
    name, first = variants[0]
    for other, base in variants:
        if _interval(base) != _interval(first):
            raise ScenarioError(
                f"variants '{name}' and '{other}' differ in [run] log_every: {first.log_every} s and "
                f"{base.log_every} s, and all cases of a study are looked at and stored on one grid.",
                path="log_every",
                value=base.log_every,
                hint="Say [store] every = ..., which is that of all variants.",
            )


def _say_what_counts_not(scenario: Scenario) -> None:
    """Warn that instants of a single run are ignored in a study, which has one grid for all cases."""
    run = scenario.tables.run
    said = 'log_every = "step"' if run.log_every == "step" else "log_at"
    if run.log_every == "step" or run.log_at is not None:
        warn_user(
            f"[run] {said} of '{scenario.source.path.name}' is for single runs: the cases of a study are "
            "looked at on one grid, without [store] every = ... at every thousandth of the run.",
            UserWarning,
        )


def _interval_given(log_every: Any) -> Any:
    """The interval in `log_every` of a call.

    Raises
    ------
    PlantloopError      it is no interval
    """
    if isinstance(log_every, str) and log_every == "step":
        raise PlantloopError(
            "log_every is 'step', expected seconds: all cases of a study are looked at on one grid.",
            value=log_every,
        )
    if log_every is not None:
        log_times(0.0, 1.0, log_every, None)
    return log_every


def _interval(base: Base) -> Fraction | None:
    return None if base.log_every is None else rational(base.log_every, "log_every")


def bases_of_diagrams(
    model: Any,
    drawn: Mapping[str, Any] | None,
    tables: StudyTables,
    until: float | None,
    numbers: Mapping[str, Any],
    log_every: Any,
    settings: RunSettings | None,
    keywords: Mapping[str, Any],
) -> tuple[tuple[Base, ...], tuple[str, ...]]:
    """The base of a diagram, or of several by name; inputs in `numbers` may be given over time.

    Raises
    ------
    PlantloopError     no diagrams, or until is missing
    """
    if tables.variants:
        raise PlantloopError(
            "variants= of a diagram are diagrams by name.", hint='Write variants={"a": d1, "b": d2}.'
        )
    models = {_variant_name(name): one for name, one in drawn.items()} if drawn else {"": model}
    chosen = RunSettings.of(settings, **keywords)
    for one in models.values():
        if isinstance(one, type) or not isinstance(one, (Diagram, Block)):
            raise no_block(one, "a Diagram, a Block, a Scenario or the path of a study file")
    if until is None:
        raise PlantloopError("until= is missing: the end of every run [s].")
    found = []
    for one in models.values():
        course, constants = driven(drawn_diagram(one), numbers["inputs"])
        drawn_one, left = built_for(course, numbers["parameters"], chosen.solve_loops, chosen.driven)
        given = (left, numbers["initial"], constants)
        found.append(Base(drawn_one.name, drawn_one, _end(until), chosen, *given, _interval_given(log_every)))
    return tuple(found), tuple(models)


def _variant_name(name: Any) -> str:
    if not isinstance(name, str) or not name or name != name.strip() or not kept_by_files(name):
        raise PlantloopError(
            f"a variant is called {shown(name)}, expected a name, without blanks around it.", value=name
        )
    return name


def _end(until: Any) -> float:
    return number(until, "until", "a finite time of zero or more [s]", least=0.0)


def _given_in(settings: RunSettings | None) -> dict[str, Any]:
    return {} if settings is None else {name: getattr(settings, name) for name in settings.origins}
