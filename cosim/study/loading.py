"""From a study file, or the arguments of `Study`, to checked tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from blocks.errors import ScenarioError, near_miss
from blocks.files import is_file, is_inside
from cosim.names import mapped
from cosim.scenario.keys import FilePlace, record
from cosim.scenario.loader import scenario_from
from cosim.scenario.scenario import Scenario
from cosim.scenario.source import ScenarioFile, no_such_file, read_source
from cosim.study.cases import RESERVED
from cosim.study.formulas import REDUCTIONS, MetricNamed, Reduced, Temporal, below
from cosim.study.measures import ROBUSTNESS
from cosim.study.sample_draws import DESIGNS, MOST_CORNERS, MOST_CORRELATED, SHARES, correlation_matrix
from cosim.study.study_schema import (
    STUDY_TABLES,
    ActionTable,
    RequirementTable,
    SamplingTable,
    StudyTables,
    signals_outside,
)

CALL = Path("Study(...)")  # the file name in messages about arguments


def load_study_file(path: Path, trust: bool = False) -> tuple[Scenario, StudyTables, FilePlace]:
    """The scenario of a study file, its other tables, and their places in the file.

    Raises
    ------
    ScenarioError     all problems of the study's tables together, or else all of the scenario's
    """
    source = read_source(path)
    own = {name: table for name, table in source.tables.items() if name in STUDY_TABLES}
    place = FilePlace(source, trust=trust)
    tables = read_tables(own, place, trust)
    scenario = scenario_from(source, trust)
    scenario.refuse_replay("a study")
    return scenario, tables, place


def tables_of_call(arguments: Mapping[str, Any]) -> tuple[StudyTables, FilePlace]:
    """The same from keyword arguments; arrays and numbers of NumPy count as lists and Python's numbers."""
    given = {name: plain(value) for name, value in arguments.items() if value is not None}
    place = FilePlace(ScenarioFile(CALL, "", given))
    return read_tables(given, place), place


def plain(value: Any) -> Any:
    """A value as TOML would give it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, Mapping):
        return {k: plain(v) for k, v in mapped(value, "a table").items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    return value


def read_tables(tables: dict[str, Any], place: FilePlace, trust: bool = False) -> StudyTables:
    """Check every table, then what they say together; trust : the file of cases may lie anywhere."""
    read: StudyTables = record(StudyTables)(tables, place)
    if not place.problems:
        if read.sampling is not None:
            _check_sampling(read.sampling, tables["sampling"], read, place.at("sampling"), trust)
        for k, action in enumerate(read.actions):
            _check_action(action, tables["actions"][k], place.at("actions", k))
        for k, requirement in enumerate(read.requirements):
            _check_requirement(requirement, tables["requirements"][k], place.at("requirements", k))
        if read.stop is not None:
            if not read.requirements:
                place.at("stop").add_problem("there are no requirements whose verdict could end a run.")
            for k, requirement in enumerate(read.requirements):
                if requirement.stop:
                    place.at("requirements", k, "stop").add_problem("[stop] says when runs end; keep one.")
        if read.store.keep == "summary":
            for name in ("signals", "dtype"):
                if name in tables.get("store", {}):
                    place.at("store", name).add_problem(
                        'has no effect beside keep = "summary", which keeps no signals; leave it out, or say '
                        'keep = "all" or "failed".'
                    )
        _check_names(read, place)
    place.raise_problems()
    return read


def _check_sampling(
    s: SamplingTable, given: Mapping[str, Any], all_: StudyTables, place: FilePlace, trust: bool
) -> None:
    needs = {"file": "file", "list": "cases"}.get(s.method, "parameters")
    for name in ("file", "cases", "parameters"):
        if name != needs and name in given:
            place.at(name).add_problem(f'does not go with method = "{s.method}"; leave it out.')
    if needs not in given or not getattr(s, needs):
        place.add_problem(f"method = \"{s.method}\" needs '{needs}'.")
    _check_runs(s, place)
    if s.method == "corners" and len(s.parameters) > MOST_CORNERS:
        place.at("parameters").add_problem(
            f"{len(s.parameters)} parameters have 2^{len(s.parameters)} corners; at most {MOST_CORNERS}."
        )
    if s.method not in SHARES and s.correlations:
        place.at("correlations").add_problem(f'do not go with method = "{s.method}"; leave them out.')
    if s.method == "file" and s.file is not None and place.source.path != CALL:
        _check_file(s.file, place, trust)
    _check_correlations(s, place)
    swept = {name for axis in all_.sweep for name in axis.names}
    for name in swept & set(s.parameters):
        place.at("parameters", name).add_problem("is swept and sampled; keep one.")


def _check_runs(s: SamplingTable, place: FilePlace) -> None:
    """Methods that draw need the number of runs; those that come in groups need a multiple of a group."""
    drawn = (*SHARES, *DESIGNS)
    if s.method in drawn and s.runs is None:
        place.add_problem("key 'runs' is missing: how many cases?")
    if s.method not in drawn and s.runs is not None:
        place.at("runs").add_problem(f'method = "{s.method}" gives the number of runs; leave it out.')
    if s.method in DESIGNS and s.runs is not None and s.parameters:
        group = len(s.parameters) + DESIGNS[s.method]
        if s.runs % group:
            near = " or ".join(str(n * group) for n in (s.runs // group, s.runs // group + 1) if n)
            place.at("runs").add_problem(
                f'is {s.runs}; method = "{s.method}" takes groups of {group} cases for {len(s.parameters)} '
                f"parameters, so write {near}."
            )


def _check_file(name: str, place: FilePlace, trust: bool) -> None:
    """A file of cases is there, and inside the study's folder unless it is trusted."""
    file = place.source.path.parent / name
    if not is_file(file):
        place.at("file").add_problem(no_such_file(file, "file of cases"))
    elif not trust and not is_inside(file, [place.source.path.parent]):
        place.at("file").add_problem(
            f'"{name}" leads out of the study\'s folder; put it there, or allow it with --trust, or '
            "Study(..., trust=True), if you trust whoever wrote the study."
        )


def _check_correlations(s: SamplingTable, place: FilePlace) -> None:
    """Pairs of two parameters, each once, that do not contradict each other."""
    found, seen = len(place.problems), set[frozenset[str]]()
    for k, (a, b, _) in enumerate(s.correlations):
        for name in (a, b):
            if name not in s.parameters:
                near = near_miss(name, s.parameters, len(place.problems))
                place.at("correlations", k).add_problem(
                    f"no parameter '{name}' in [sampling.parameters]; {near}"
                )
        if a == b:
            place.at("correlations", k).add_problem(f"'{a}' with itself; name two.")
        if (pair := frozenset((a, b))) in seen:
            place.at("correlations", k).add_problem(f"'{a}' and '{b}' are there already; keep one.")
        seen.add(pair)
    if s.correlations and len(place.problems) == found:
        _check_matrix(s.correlations, place.at("correlations"))


def _check_matrix(pairs: Sequence[tuple[str, str, float]], place: FilePlace) -> None:
    """Correlations that exist together, of as many parameters as a matrix of them can be worked with."""
    names = list(dict.fromkeys(name for a, b, _ in pairs for name in (a, b)))
    if len(names) > MOST_CORRELATED:
        place.add_problem(f"are of {len(names)} parameters, expected at most {MOST_CORRELATED}.")
    elif np.linalg.eigvalsh(correlation_matrix(names, pairs))[0] <= 0:
        place.add_problem(
            "these contradict each other: their matrix is not positive definite; make them smaller."
        )


NEEDS = {"set": (), "ramp": ("over",), "pulse": ("lasts",), "fault": ("signal",), "switch": ()}
TAKES = {
    "set": (),
    "ramp": (),
    "pulse": (),
    "fault": ("value", "std", "seconds", "probability", "sample", "lasts"),
    "switch": ("lasts",),
}
FAULT_NEEDS = {
    "stuck": (),
    "bias": ("value",),
    "noise": ("std", "sample"),
    "delay": ("seconds",),
    "dropout": (),
}
FAULT_TAKES = {
    "stuck": ("value",),
    "bias": (),
    "noise": (),
    "delay": (),
    "dropout": ("value", "probability", "sample"),
}


def _check_action(action: ActionTable, given: Mapping[str, Any], place: FilePlace) -> None:
    if ("at" in given) == ("when" in given):
        place.add_problem("expected either 'at' (an instant) or 'when' (a condition).")
    if len(action.deeds) != 1:
        got = " and ".join(action.deeds) or "none of them"
        place.add_problem(f"expected one of set, ramp, pulse, fault or switch, got {got}.")
        return
    (deed,) = action.deeds
    needs, takes = NEEDS[deed], TAKES[deed]
    for name, value in (*action.ramp.items(), *action.pulse.items(), *action.switch.items()):
        if not np.isfinite(np.asarray(value, dtype=float)).all():
            place.at(deed).add_problem(f"'{name}' is {value}, expected finite numbers.")
    shown = deed
    if action.fault is not None:
        needs = (*needs, *FAULT_NEEDS[action.fault])
        takes = ("lasts", *FAULT_TAKES[action.fault])
        shown = f'fault = "{action.fault}"'
    for name in needs:
        if name not in given:
            place.add_problem(f"{shown} needs '{name}'.")
    for name in given:
        if name not in ("name", "at", "when", deed, *needs, *takes):
            place.at(name).add_problem(f"does not go with {shown}; leave it out.")
    if action.when is not None and any(isinstance(p, (Temporal, Reduced)) for p in below(action.when)):
        place.at("when").add_problem(
            "is a condition of an instant: nothing over time, such as always(...) or integral(...), fits."
        )
    if action.probability is not None and (action.sample is None or action.probability > 1):
        place.add_problem("'probability' is a number up to 1, of every 'sample' [s].")


FORMS = ("always", "eventually", "whenever", "until", "formula", "check")


def _check_requirement(r: RequirementTable, given: Mapping[str, Any], place: FilePlace) -> None:
    forms = {name for name in FORMS if name in given}
    if forms not in (
        {"always"}, {"eventually"}, {"formula"}, {"check"},
        {"whenever", "eventually"}, {"whenever", "always"}, {"always", "until"},
    ):  # fmt: skip
        got = " and ".join(sorted(forms)) or "none of them"
        place.add_problem(
            "expected always, eventually, whenever with eventually or always, always with until, formula or "
            f"check; got {got}."
        )
        return
    written = [getattr(r, name) for name in forms]
    if r.check is not None:
        bare = signals_outside(r.check)
        if bare and any(isinstance(part, Temporal) for part in below(r.check)):
            place.at("check").add_problem(
                "is of numbers of the whole run: operators over time of signals, such as "
                f'always({bare[0]} < 1), belong into formula = "...".'
            )
        elif bare:
            place.at("check").add_problem(
                f"'{bare[0]}' is a signal, expected numbers of the whole run, such as max({bare[0]})."
            )
    elif any(isinstance(part, Reduced) for formula in written for part in below(formula)):
        place.add_problem('numbers of the whole run, such as max(...), belong into check = "...".')
    if r.stop and (forms != {"always"} or any(isinstance(p, Temporal) for p in below(written[0]))):
        place.at("stop").add_problem(
            "goes with always and a condition of an instant alone: of others it is not certain that they are "
            "broken before the end of the run."
        )
    if forms & {"formula", "check"}:
        for name in ("after", "before", "within"):
            if name in given:
                place.at(name).add_problem(f"does not go with {forms.pop()}; write it into the formula.")
                return
    if "within" in given and "before" in given and "whenever" not in forms:
        place.at("before").add_problem("'within' and 'before' both end the window; keep one.")
    if r.before <= r.after:
        place.at("before").add_problem(f"is {r.before:g} s, not later than after = {r.after:g} s.")


def _check_metrics(r: RequirementTable, tables: StudyTables, place: FilePlace) -> None:
    """Words in a check are names of metrics."""
    for part in below(r.check) if r.check is not None else ():
        if isinstance(part, MetricNamed) and part.name not in tables.metrics:
            hint = near_miss(part.name, [*tables.metrics, *REDUCTIONS])
            place.add_problem(f"'{part.name}' is no metric (a signal is block.port); {hint}")


def _check_names(tables: StudyTables, place: FilePlace) -> None:
    """Columns of the table of cases have one meaning each."""
    lists = {
        "requirements": [r.name for r in tables.requirements],
        "variants": [v["name"] for v in tables.variants],
        "actions": [a.name for a in tables.actions if a.name],
    }
    for table, found in lists.items():
        first = {name: k for k, name in reversed(list(enumerate(found)))}
        for name, count in Counter(found).items():
            if count > 1:
                place.at(table, first[name], "name").add_problem(
                    f"'{name}' is there {count} times; rename the others."
                )
    for k, requirement in enumerate(tables.requirements):
        _check_metrics(requirement, tables, place.at("requirements", k, "check"))
    required = set(lists["requirements"])
    margins = {f"{name}{ROBUSTNESS}" for name in required}
    varied = {name for axis in tables.sweep for name in axis.names}
    if tables.sampling is not None:
        varied |= {*tables.sampling.parameters, *(name for case in tables.sampling.cases for name in case)}
    for name in tables.metrics:
        if name in margins:
            place.at("metrics", name).add_problem("is the column of a requirement's margin; rename it.")
        if name in varied:
            place.at("metrics", name).add_problem("is the name of what varies too; rename the metric.")
        if name in required:
            place.at("metrics", name).add_problem("is the name of a requirement too; rename one.")
        if name in RESERVED:
            place.at("metrics", name).add_problem("is a column of every table of cases; rename it.")
    wanted = tables.search.requirement
    if wanted is not None and wanted not in lists["requirements"]:
        hint = near_miss(wanted, lists["requirements"])
        place.at("search", "requirement").add_problem(f"no requirement '{wanted}'; {hint}")
    for name in tables.search.metrics:
        if name not in tables.metrics:
            hint = near_miss(name, tables.metrics, len(place.problems))
            place.at("search", "metrics").add_problem(f"no metric '{name}'; {hint}")
    for k, name in enumerate(lists["requirements"]):
        if name in varied:
            place.at("requirements", k, "name").add_problem("is the name of what varies too; rename it.")
        if name in margins:
            place.at("requirements", k, "name").add_problem("is the column of another's margin; rename it.")
        if name in RESERVED:
            place.at("requirements", k, "name").add_problem("is a column of every table of cases; rename it.")


def variant_scenario(scenario: Scenario, k: int, change: Mapping[str, Any], trust: bool) -> Scenario:
    """The scenario with the tables of the k-th variant put into its own, key by key.

    Raises
    ------
    ScenarioError     the variant does not fit
    """
    changed = {name: value for name, value in change.items() if name != "name"}
    tables = _merged(scenario.source.tables, changed)
    source = replace(scenario.source, tables=tables, changes=changed, home=("variants", k))
    with naming_variant(source):
        return scenario_from(source, trust)


@contextmanager
def naming_variant(source: ScenarioFile) -> Iterator[None]:
    """Errors of a variant's tables say which variant, and where that stands in the file."""
    try:
        yield
    except ScenarioError as error:
        if source.home[:1] != ("variants",):
            raise
        name = source.tables["variants"][source.home[1]]["name"]
        line = ScenarioFile(source.path, source.text, {}).line(source.home)
        raise ScenarioError(
            f"variant '{name}' on line {line}: {error}", path=error.path, value=error.value
        ) from error


def _merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    found = dict(base)
    for name, value in change.items():
        if isinstance(value, Mapping) and isinstance(found.get(name), Mapping):
            found[name] = _merged(found[name], value)
        else:
            found[name] = value
    return found


def find_key(table: Any, name: str) -> tuple[str | int, ...] | None:
    """Keys that lead to a name inside a table: a key of that name, else a text that contains it."""
    exact = _key_of(table, name, in_texts=False)
    return exact if exact is not None else _key_of(table, name, in_texts=True)


def _key_of(table: Any, name: str, in_texts: bool) -> tuple[str | int, ...] | None:
    items = table.items() if isinstance(table, dict) else enumerate(table) if isinstance(table, list) else ()
    for key, value in items:
        if key == name or (in_texts and isinstance(value, str) and name in value):
            return (key,)
        if isinstance(key, str) and name.startswith(f"{key}.") and isinstance(value, dict):
            inside = _key_of(value, name[len(key) + 1 :], in_texts)
            if inside is not None:
                return (key, *inside)
        if (found := _key_of(value, name, in_texts)) is not None:
            return (key, *found)
    return None
