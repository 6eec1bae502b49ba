"""From what `Study` is given, a scenario or diagrams, to a base for every variant."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from blocks.arguments import number
from blocks.contract.block import Block
from blocks.errors import PlantloopError
from cosim.diagram import Diagram
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
    settings: RunSettings | None,
    keywords: Mapping[str, Any],
    trust: bool,
) -> tuple[tuple[Base, ...], tuple[str, ...]]:
    """A scenario, or its variants, with what a call gives on top."""
    made = [(v["name"], variant_scenario(scenario, v, trust)) for v in tables.variants]
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
        )
        found.append((name, base))
    return tuple(base for _, base in found), tuple(name for name, _ in found)


def bases_of_diagrams(
    model: Any,
    drawn: Mapping[str, Any] | None,
    tables: StudyTables,
    until: float | None,
    numbers: Mapping[str, Mapping[str, Any]],
    log_every: Any,
    settings: RunSettings | None,
    keywords: Mapping[str, Any],
) -> tuple[tuple[Base, ...], tuple[str, ...]]:
    """A diagram, or several by name.

    Raises
    ------
    PlantloopError     no diagrams, or until is missing
    """
    if tables.variants:
        raise PlantloopError(
            "variants= of a diagram are diagrams by name.", hint='Write variants={"a": d1, "b": d2}.'
        )
    models = dict(drawn) if drawn else {"": model}
    chosen = RunSettings.of(settings, **keywords)
    for one in models.values():
        if isinstance(one, type) or not isinstance(one, (Diagram, Block)):
            raise no_block(one, "a Diagram, a Block, a Scenario or the path of a study file")
    if until is None:
        raise PlantloopError("until= is missing: the end of every run [s].")
    found = [
        Base(
            drawn_diagram(one).name,
            drawn_diagram(one),
            _end(until),
            chosen,
            numbers["parameters"],
            numbers["initial"],
            numbers["inputs"],
            log_every,
        )
        for one in models.values()
    ]
    return tuple(found), tuple(models)


def _end(until: Any) -> float:
    return number(until, "until", "a finite time of zero or more [s]", least=0.0)


def _given_in(settings: RunSettings | None) -> dict[str, Any]:
    return {} if settings is None else {name: getattr(settings, name) for name in settings.origins}
