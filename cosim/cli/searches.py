"""The commands `cosim falsify` and `cosim optimise`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from cosim.cli.output_folder import output_folder
from cosim.cli.studies import INTERRUPTED
from cosim.cli.terminal import Row, print_error, print_heading, print_rows
from cosim.study.measures import ROBUSTNESS
from cosim.study.search import SearchResult
from cosim.study.study import Study

MOST_FRONT = 20  # most cases of a front shown


@dataclass(frozen=True)
class SearchOptions:
    """Options of both commands, as `Study.falsify` and `Study.optimise` take them."""

    runs: int | None
    seed: int | None
    executor: str | None
    scheduler: str | None
    workers: int | None
    resume: bool


def falsify(path: Path, requirement: str | None, out: str | None, trust: bool, options: SearchOptions) -> int:
    """Look for a case that breaks a requirement; returns the exit code, 1 if there is one."""
    study = Study(path, trust=trust)
    found = _searched(
        study, out, lambda folder: study.falsify(folder, requirement, progress=True, **asdict(options))
    )
    if found is None:
        return INTERRUPTED
    name = next(n.removesuffix(ROBUSTNESS) for n in found.objectives)
    margin = float(found.best[name + ROBUSTNESS])
    broken = not margin >= 0  # a failed run has no margin
    verdict = "NOT MET" if broken else "met by all that were looked at"
    print_rows([Row("requirement", f"{name}: {verdict}, least margin {margin:.6g}", "red" if broken else "")])
    _show_case(study, found)
    _show_end(found)
    return int(broken)


def optimise(
    path: Path, metrics: Sequence[str] | None, out: str | None, trust: bool, options: SearchOptions
) -> int:
    """Look for cases with small metrics; returns the exit code, 1 if none meets all requirements."""
    study = Study(path, trust=trust)
    found = _searched(
        study, out, lambda folder: study.optimise(folder, metrics, progress=True, **asdict(options))
    )
    if found is None:
        return INTERRUPTED
    if len(found.objectives) > 1:
        for number, row in found.front.head(MOST_FRONT).iterrows():
            values = ", ".join(f"{name} = {row[name]:.6g}" for name in found.objectives)
            print_rows([Row(f"case {number}", values)])
        if len(found.front) > MOST_FRONT:
            print_rows([Row("", f"... and {len(found.front) - MOST_FRONT} more of the front")])
    _show_case(study, found)
    for name in found.objectives:
        print_rows([Row("metric", f"{name} = {found.best[name]:.9g}")])
    unmet = [name for name in study.plan.measures.requirements if not found.best[name]]
    for name in unmet:
        print_rows([Row("requirement", f"{name}: met by no case", "red")])
    _show_end(found)
    return int(bool(unmet))


def _searched(study: Study, out: str | None, search: Callable[[str], SearchResult]) -> SearchResult | None:
    """Run a search and return its result; None if it was interrupted."""
    folder = out or str(output_folder(None, f"{study.plan.name}_search", study.trust))
    print_heading(study.plan.name, ", ".join(f"{n} {a:g} .. {b:g}" for n, (a, b) in study.bounds.items()))
    try:
        return search(folder)
    except KeyboardInterrupt:
        print_error(f"interrupted: what is done is kept; go on with --out {shlex.quote(folder)} --resume")
        return None


def _show_case(study: Study, found: SearchResult) -> None:
    values = [f"{name} = {found.best[name]:.9g}" for name in study.bounds]
    if study.plan.several:
        values.insert(0, str(found.best["variant"]))
    print_rows([Row(f"case {found.case}", ", ".join(values))])


def _show_end(found: SearchResult) -> None:
    store = found.study.store
    print_rows([Row("written", f"{store.folder.url} ({len(found.study)} cases)")])
