"""The tables that a study file adds to those of a scenario, and the values their keys accept.

``[sweep]``, ``[sampling]``, ``[[variants]]``, ``[[actions]]``, ``[metrics]``, ``[[requirements]]``,
``[stop]``, ``[store]``, ``[search]``.
"""

# ruff: noqa: RUF009 (a field is made by `key`, which is dataclasses.field with a check)

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from blocks.errors import ExpressionError, PlantloopError
from cosim.scenario.keys import (
    Check,
    Expected,
    FilePlace,
    boolean,
    duration,
    either,
    integer,
    key,
    list_of,
    matching,
    number,
    one_of,
    quantities,
    record,
    table_of,
    text,
)
from cosim.study.distributions import Distribution, distribution
from cosim.study.formulas import Formula, Named, Reduced, parsed, parts
from cosim.study.sample_draws import METHODS

RANGE = ("from", "to", "count", "spacing")
SPACINGS = ("linear", "log")
FAULTS = ("stuck", "bias", "noise", "delay", "dropout")
KEEP = ("all", "failed", "summary")
STOPS_WHEN = ("broken", "decided", "certain")  # a requirement; all of them; the first broken or all met
DTYPES = ("float32", "float64")
DEEDS = ("set", "ramp", "pulse", "fault", "switch")

name_of_column = matching(r"\S(.*\S)?", "a name, without blanks around it")
plain_word = matching(r"[^\s./\\\[\]]+", "a name without blanks, dots, slashes and brackets")


# --- formulas ---------------------------------------------------------------------------------------------
def written(condition: bool | None, metrics: bool = False) -> Check:
    """Text of the language of `cosim.study.formulas`: a condition, a number, or either; metrics by name."""

    def check(value: Any, place: FilePlace) -> Formula:
        if not isinstance(value, str):
            raise Expected("a formula as text", 'Write "abs(block.port) < 1".' if condition else "")
        try:
            return parsed(value, condition=condition, metrics=metrics)
        except ExpressionError as error:
            place.add_problem(str(error))
            raise Broken from None

    def checked(value: Any, place: FilePlace) -> Formula | None:
        try:
            return check(value, place)
        except Broken:
            return None

    return checked


class Broken(Exception):
    """Raised for a problem that is already noted."""


# --- [sweep] ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Axis:
    """One axis of a grid: names that change together, and their values, one row per step."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def sweep(value: Any, place: FilePlace) -> tuple[Axis, ...]:
    """``[sweep]``: an axis for every name, one for every ``[[sweep.zip]]``; the last one changes fastest."""
    if not isinstance(value, dict):
        raise Expected("a table", "Write [sweep] and names with their values below.")
    axes = []
    for path, values in _leaves({n: v for n, v in value.items() if n != "zip"}, place):
        found = place.at(*path).read(values, _values)
        if found is not None and _has_name(path, place.at(*path)):
            axes.append(Axis((".".join(path),), tuple((v,) for v in found)))
    if "zip" in value:
        axes += _zipped(value["zip"], place.at("zip"))
    taken: set[str] = set()
    for axis in axes:
        for name in axis.names:
            if name in taken:
                place.add_problem(f"'{name}' is swept twice; keep one.")
            taken.add(name)
    return tuple(axes)


def _zipped(value: Any, place: FilePlace) -> list[Axis]:
    axes = []
    for k, table in enumerate(value if isinstance(value, list) else [value]):
        here = place.at(k) if isinstance(value, list) else place
        if not isinstance(table, dict):
            here.add_problem(
                "expected a table; write [[sweep.zip]] and names with lists of equal length below."
            )
            continue
        leaves = _leaves(table, here)
        if not leaves:
            here.add_problem("names nothing; write names with lists of equal length below, or leave it out.")
        columns = {".".join(n): here.at(*n).read(v, _values) for n, v in leaves if _has_name(n, here.at(*n))}
        lengths = {name: len(rows) for name, rows in columns.items() if rows is not None}
        if len(set(lengths.values())) > 1:
            here.add_problem(f"lists of different lengths: {lengths}; give all as many values.")
        elif lengths and None not in columns.values():
            axes.append(Axis(tuple(columns), tuple(zip(*columns.values(), strict=True))))
    return axes


def _has_name(path: tuple[str, ...], place: FilePlace) -> bool:
    """Note a problem if a name is empty."""
    if not all(path):
        place.add_problem('the name is empty, expected that of a number such as "block.k".')
    return all(path)


def _leaves(table: Mapping[str, Any], place: FilePlace) -> list[tuple[tuple[str, ...], Any]]:
    """Names and values of nested tables; a table that is a range counts as a value."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for name, value in table.items():
        if isinstance(value, dict) and not set(value) & {*RANGE, "values"}:
            found += [((name, *rest), v) for rest, v in _leaves(value, place.at(name))]
        else:
            found.append(((name,), value))
    return found


def _values(value: Any, place: FilePlace) -> tuple[Any, ...]:
    """A list of values, each a number or a (nested) list of numbers, or a range."""
    if isinstance(value, dict) and "values" not in value:
        return _range(value, place)
    if isinstance(value, dict):
        for name in value:
            if name != "values":
                place.at(name).add_problem("does not go with 'values'; leave it out.")
        value = value["values"]
    if not isinstance(value, list) or not value:
        raise Expected("a list of values, or { from = , to = , count = }")
    for k, item in enumerate(value):
        if not _numeric(item):
            place.at(k).add_problem(f"value {k} is {item!r}, expected a number or a list of numbers.")
            return ()
    return tuple(value)


def _numeric(item: Any) -> bool:
    if isinstance(item, list):
        return bool(item) and all(map(_numeric, item))
    return isinstance(item, (int, float)) and not isinstance(item, bool) and math.isfinite(item)


MOST_VALUES = 10**7  # in a range; each is a case


def _range(value: dict[str, Any], place: FilePlace) -> tuple[float, ...]:
    from cosim.scenario.keys import check_known

    check_known(value, RANGE, place)
    for name in RANGE[:3]:
        if name not in value:
            place.add_problem(f"key '{name}' is missing: a range has from, to and count.")
            return ()
    begin, end = (place.at(n).read(value[n], number()) for n in ("from", "to"))
    count = place.at("count").read(value["count"], integer(least=1, most=MOST_VALUES))
    spacing = place.at("spacing").read(value.get("spacing", "linear"), one_of(SPACINGS))
    if None in (begin, end, count, spacing):
        return ()
    if count == 1 and begin != end:
        place.at("count").add_problem("is 1, expected 2 or more between different ends.")
        return ()
    if spacing == "log":
        if not (begin > 0 and end > 0):
            place.at("spacing").add_problem(f'"log" from {begin:g} to {end:g}: both must be above 0.')
            return ()
        return tuple(np.geomspace(begin, end, count).tolist())
    return tuple(np.linspace(begin, end, count).tolist())


# --- [sampling] -------------------------------------------------------------------------------------------
def spread(value: Any, place: FilePlace) -> Distribution:
    """A distribution of one parameter."""
    if not isinstance(value, dict):
        raise Expected(
            "a table with a distribution", 'Write { distribution = "normal", mean = 1, std = 0.1 }.'
        )
    try:
        return distribution(value)
    except PlantloopError as error:
        place.add_problem(str(error))
        raise Expected("a distribution that can be drawn from") from None


def spreads(value: Any, place: FilePlace) -> dict[str, Distribution]:
    """``[sampling.parameters]``: distributions by dotted names; nested tables are allowed."""
    if not isinstance(value, dict):
        raise Expected("a table of distributions by name")
    found: dict[str, Distribution] = {}
    for name, item in value.items():
        here = place.at(name)
        if not _has_name((name,), here):
            continue
        nested = isinstance(item, dict) and item and all(isinstance(v, dict) for v in item.values())
        if nested:
            found |= {f"{name}.{rest}": v for rest, v in spreads(item, here).items()}
            continue
        before = len(place.problems)
        try:
            found[name] = spread(item, here)
        except Expected as wrong:
            if len(place.problems) == before:
                hint = f" {wrong.hint}" if wrong.hint else ""
                here.add_problem(f"expected {wrong.expected}.{hint}")
    return found


def correlation(value: Any, place: FilePlace) -> tuple[str, str, float]:
    """``["plant.a", "plant.b", 0.5]``, or ``{ between = ["plant.a", "plant.b"], value = 0.5 }``."""
    if isinstance(value, dict) and set(value) == {"between", "value"} and isinstance(value["between"], list):
        value = [*value["between"], value["value"]]
    fits = isinstance(value, list) and len(value) == 3 and all(isinstance(n, str) for n in value[:2])
    if (
        not fits
        or isinstance(value[2], bool)
        or not isinstance(value[2], (int, float))
        or not abs(value[2]) < 1
    ):
        raise Expected('two names and a number between -1 and 1, such as ["plant.a", "plant.b", 0.5]')
    return value[0], value[1], float(value[2])


@dataclass(frozen=True, kw_only=True)
class SamplingTable:
    """``[sampling]``: how cases are drawn; with a sweep, at every point of its grid."""

    method: str = key(one_of(METHODS), default="sobol")
    runs: int | None = key(integer(least=1), default=None)
    seed: int | None = key(integer(least=0), default=None)  # None: that of the runs
    file: str | None = key(text, default=None)  # of method "file": CSV or Parquet, a column per name
    cases: tuple[Mapping[str, Any], ...] = key(list_of(quantities), default=())  # of method "list"
    parameters: Mapping[str, Distribution] = key(spreads, default_factory=dict)
    correlations: tuple[tuple[str, str, float], ...] = key(list_of(correlation), default=())


# --- [[variants]], [[actions]] ----------------------------------------------------------------------------
def variant(value: Any, place: FilePlace) -> dict[str, Any]:
    """A name and the tables that differ; they are checked when the variant is made."""
    if not isinstance(value, dict) or not isinstance(value.get("name"), str) or not value["name"]:
        raise Expected("a table with a name and what differs from the file")
    place.at("name").read(value["name"], name_of_column)
    for name in value:
        if name in STUDY_TABLES:
            place.at(name).add_problem("a variant changes the scenario, not the study; leave this table out.")
    return value


@dataclass(frozen=True, kw_only=True)
class ActionTable:
    """``[[actions]]``: changes to the running system, `at` an instant or `when` a condition becomes true."""

    name: str | None = key(plain_word, default=None)
    at: Any = key(duration(least=0), default=None)  # s
    when: Formula | None = key(written(condition=True), default=None)
    set: Mapping[str, Any] = key(quantities, default_factory=dict)  # parameters
    ramp: Mapping[str, Any] = key(quantities, default_factory=dict)  # parameters, reached after `over`
    over: float | None = key(number(above=0, unit="s"), default=None)
    pulse: Mapping[str, Any] = key(quantities, default_factory=dict)  # added to inputs for `lasts`
    fault: str | None = key(one_of(FAULTS), default=None)  # of the sensor `signal`
    signal: str | None = key(text, default=None)
    value: float | None = key(number(), default=None)
    std: float | None = key(number(above=0), default=None)
    seconds: float | None = key(number(above=0, unit="s"), default=None)
    probability: float | None = key(number(least=0), default=None)
    sample: Any = key(duration(above=0), default=None)  # s
    switch: Mapping[str, Any] = key(quantities, default_factory=dict)  # inputs, held at a value
    lasts: float | None = key(number(above=0, unit="s"), default=None)

    @property
    def deeds(self) -> list[str]:
        """The kinds of action in the table; exactly one in a valid table."""
        return [name for name in DEEDS if getattr(self, name)]


# --- [metrics], [[requirements]] --------------------------------------------------------------------------
final_or_number = either(one_of(["final"]), number())


@dataclass(frozen=True, kw_only=True)
class MetricTable:
    """A metric in braces: ``{ settling = "plant.x", band = 0.02 }``; times [s], overshoot in percent."""

    settling: Formula | None = key(written(condition=False), default=None)
    rise: Formula | None = key(written(condition=False), default=None)
    overshoot: Formula | None = key(written(condition=False), default=None)
    percentile: Formula | None = key(written(condition=False), default=None)
    band: float | None = key(number(above=0), default=None)
    relative: bool = key(boolean, default=False)  # the band, as a share of the way from the start to the end
    value: Any = key(final_or_number, default=None)
    low: float = key(number(least=0), default=0.1)
    high: float = key(number(least=0), default=0.9)
    q: float | None = key(number(least=0), default=None)


def signals_outside(formula: Formula) -> list[str]:
    """Signals that are not inside a reduction over the run."""
    if isinstance(formula, Reduced):
        return []
    return (
        [formula.name]
        if isinstance(formula, Named)
        else [n for p in parts(formula) for n in signals_outside(p)]
    )


METRICS = ("settling", "rise", "overshoot", "percentile")
METRIC_TAKES = {
    "settling": ("band", "relative", "value"),
    "rise": ("value", "low", "high"),
    "overshoot": ("value",),
    "percentile": ("q",),
}


def metric(value: Any, place: FilePlace) -> MetricTable | Formula | None:
    """A formula as text, or a table."""
    if not isinstance(value, dict):
        if not isinstance(value, str):
            raise Expected('a formula such as "max(abs(block.port))", or a table such as { settling = ... }')
        found: Formula | None = written(condition=False)(value, place)
        if found is not None and (bare := signals_outside(found)):
            place.add_problem(
                f"'{bare[0]}' is a signal, expected one number of the whole run, such as final({bare[0]}) or "
                f"max({bare[0]})."
            )
        return found
    table: MetricTable = record(MetricTable)(value, place)
    kinds = [name for name in METRICS if name in value]
    if len(kinds) != 1:
        place.add_problem(
            f"expected one of {', '.join(METRICS)}, got {' and '.join(kinds) or 'none of them'}."
        )
    elif kinds[0] == "settling" and "band" not in value:
        place.add_problem("key 'band' is missing: settling into what?")
    elif kinds[0] == "percentile" and ("q" not in value or (table.q is not None and table.q > 100)):
        place.add_problem("key 'q' must be a number from 0 to 100, such as q = 95.")
    elif kinds[0] == "rise" and not table.low < table.high:
        place.at("high").add_problem(f"is {table.high:g}, expected more than low = {table.low:g}.")
    for name in value if len(kinds) == 1 else ():
        if name not in (kinds[0], *METRIC_TAKES[kinds[0]]) and any(
            f.name == name for f in fields(MetricTable)
        ):
            place.at(name).add_problem(f"does not go with {kinds[0]}; leave it out.")
    return table


@dataclass(frozen=True, kw_only=True)
class RequirementTable:
    """``[[requirements]]``: one of always, eventually, whenever, until, formula, check; times in seconds."""

    name: str = key(name_of_column)
    always: Formula | None = key(written(condition=True), default=None)
    eventually: Formula | None = key(written(condition=True), default=None)
    whenever: Formula | None = key(written(condition=True), default=None)
    until: Formula | None = key(written(condition=True), default=None)
    formula: Formula | None = key(written(condition=True), default=None)  # with operators in it
    check: Formula | None = key(written(condition=True, metrics=True), default=None)  # of numbers of the run
    after: float = key(number(least=0, unit="s"), default=0.0)
    before: float = key(number(least=0, unit="s"), default=math.inf)
    within: float | None = key(number(least=0, unit="s"), default=None)
    stop: bool = key(boolean, default=False)  # end the run when it is broken


@dataclass(frozen=True, kw_only=True)
class StoreTable:
    """``[store]``: results to keep of every run besides its row in the table."""

    # names or patterns ("plant.*"); all by default
    signals: tuple[str, ...] = key(list_of(name_of_column), default=())
    every: Any = key(duration(above=0), default=None)  # s
    keep: str = key(one_of(KEEP), default="all")
    dtype: str = key(one_of(DTYPES), default="float64")


@dataclass(frozen=True, kw_only=True)
class StopTable:
    """``[stop]``: which verdict ends a run early once it is certain."""

    when: str = key(one_of(STOPS_WHEN))


@dataclass(frozen=True, kw_only=True)
class SearchTable:
    """``[search]``: goals of `cosim falsify` and `cosim optimise`, within the bounds of varying numbers."""

    requirement: str | None = key(text, default=None)  # requirement to break
    metrics: tuple[str, ...] = key(list_of(text), default=())  # metrics to minimise
    runs: int = key(integer(least=1), default=200)  # number of cases
    seed: int = key(integer(least=0), default=0)


@dataclass(frozen=True, kw_only=True)
class StudyTables:
    """All tables of a study."""

    sweep: tuple[Axis, ...] = key(sweep, default=())
    sampling: SamplingTable | None = key(record(SamplingTable), default=None)
    variants: tuple[Mapping[str, Any], ...] = key(list_of(variant), default=())
    actions: tuple[ActionTable, ...] = key(list_of(record(ActionTable)), default=())
    metrics: Mapping[str, Any] = key(table_of(metric, name_of_column), default_factory=dict)
    requirements: tuple[RequirementTable, ...] = key(list_of(record(RequirementTable)), default=())
    stop: StopTable | None = key(record(StopTable), default=None)
    store: StoreTable = key(record(StoreTable), default=StoreTable())
    search: SearchTable = key(record(SearchTable), default=SearchTable())


STUDY_TABLES: Sequence[str] = tuple(f.name for f in fields(StudyTables))
