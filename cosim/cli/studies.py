"""The commands `cosim sweep`, `report`, `compare` and `run --case`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from blocks.errors import PlantloopError
from blocks.files import replacing
from cosim.cli.output_folder import output_folder
from cosim.cli.terminal import Row, print_error, print_heading, print_rows
from cosim.result.result import Result
from cosim.simulation import Simulation
from cosim.study.estimate import in_units
from cosim.study.folder import Folder
from cosim.study.one_case import OneCase
from cosim.study.opened import StudyResult
from cosim.study.opening import open_study
from cosim.study.pacing import paced
from cosim.study.running import FAILED
from cosim.study.store import MANIFEST, StudyStore
from cosim.study.study import Study

INTERRUPTED = 130  # exit code after Ctrl-C, as in shells
MOST_ROWS = 20  # most cases of a dry run shown
WORST = 5  # most failed cases shown


@dataclass(frozen=True)
class SweepOptions:
    """Options of `cosim sweep`, as `Study.run` takes them."""

    executor: str | None
    scheduler: str | None
    workers: int | None
    resume: bool
    only: str | None
    limit: int | None
    reuse: str | None


def sweep(path: Path, out: str | None, trust: bool, options: SweepOptions) -> int:
    """Run a study file; returns the exit code."""
    study = Study(path, trust=trust)
    name = study.plan.name
    folder = out or str(output_folder(None, name, trust))
    print_heading(name, f"{len(study)} cases")
    try:
        result = study.run(folder, progress=True, **asdict(options))
    except KeyboardInterrupt:
        again = shlex.join(["cosim", "sweep", str(path), "--out", folder, "--resume"])
        print_error(f"interrupted: what is done is kept; go on with {again}")
        return INTERRUPTED
    print_rows(_rows(result))
    return 0 if result.passed else 1


def _rows(result: StudyResult) -> Iterator[Row]:
    m, table = result.store.manifest, result.table
    status = table["status"]
    missing = m.count - len(table)
    counts = ", ".join(
        f"{int((status == s).sum())} {s}" for s in ("done", "stopped", "failed") if (status == s).any()
    )
    yield Row("cases", f"{counts or 'none done'}{f', {missing} missing' if missing else ''}")
    for name in m.requirements if len(table) else ():
        met = table[name].astype(bool)
        worst = table[f"{name}.robustness"].min()
        style = "" if met.all() else "red"
        yield Row(
            "requirement", f"{name}: met by {int(met.sum())} of {len(table)}, least margin {worst:.6g}", style
        )
    for name in m.metrics:
        values = table[name].to_numpy(dtype=float)
        some = values[np.isfinite(values)]
        if len(some):
            low, middle, high = np.percentile(some, [0, 50, 100])
            without = f", {len(values) - len(some)} without a value" if len(some) < len(values) else ""
            text = f"{low:.6g} .. {middle:.6g} .. {high:.6g} (least, median, largest){without}"
            yield Row("metric", f"{name}: {text}")
        elif len(values):
            yield Row("metric", f"{name}: no case has a value")
    for number in result.failed.index[:WORST]:
        message = str(table.loc[number, "message"]).splitlines()
        why = message[0] if message else "a requirement is not met"
        yield Row(f"case {number}", why, "red")
    yield Row("written", f"{result.store.folder.url} ({in_units(result.store.folder.size)})")


def show_estimate(path: Path, out: str | None, trust: bool, options: SweepOptions) -> None:
    """The cases of a study file that would be run, their cost and their storage."""
    study = Study(path, trust=trust)
    folder = out or str(output_folder(None, study.plan.name, trust))
    cases = study.cases
    wanted = study.wanted(folder, resume=options.resume, only=options.only, limit=options.limit)
    some = "" if len(wanted) == len(cases) else f", {len(wanted)} of them to run"
    print_heading(study.plan.name, f"{len(cases)} cases{some}")
    if not len(wanted):
        return
    found = study.estimate(cases=wanted)
    for k in map(int, wanted[:MOST_ROWS]):
        values = [f"{name} = {column[k]:.6g}" for name, column in cases.flat.items()]
        if study.plan.several:
            values.insert(0, study.plan.variants[int(cases.variant[k])])
        print_rows([Row(f"case {k}", ", ".join([*values, f"seed {int(cases.seeds[k])}"]))])
    if len(wanted) > MOST_ROWS:
        print_rows([Row("", f"... and {len(wanted) - MOST_ROWS} more")])
    total = found.seconds * found.cases
    print_rows(
        [
            Row("cost", f"{found.seconds:.3g} s per case, {total:.3g} s on one processor"),
            Row("table", in_units(found.table)),
            Row("signals", f"{in_units(found.signals)} before compression, {found.chunk} cases per chunk"),
        ]
    )


# --- one run ----------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class OneRun:
    """Options of `cosim run`: the case of a study (None: the file as a scenario), its start, its pace."""

    case: int | None
    replay: bool
    pace: float | None
    engine: str | None
    out: Path | None


def run_one(path: Path, trust: bool, wanted: OneRun) -> int:
    """Run one case of a study, or a scenario at a pace; returns the exit code."""
    if wanted.replay and wanted.case is None:
        raise PlantloopError("--replay goes on with a case of a study: say which with --case.")
    if wanted.replay and wanted.pace is not None:
        raise PlantloopError("--replay and --pace exclude each other; leave one out.")
    if wanted.case is None:
        return _run_paced(path, trust, wanted)
    study = Study(path, trust=trust)
    folder = output_folder(wanted.out, study.plan.name, trust)
    one: OneCase = study.case(wanted.case)
    print_heading(study.plan.name, f"case {one.number} of {len(study)}")
    print_rows(
        Row(str(name), f"{value:.9g}" if isinstance(value, float) else str(value))
        for name, value in one.parameters.items()
    )
    if wanted.replay:
        return _replay(one, folder)
    if wanted.pace is not None:
        with one.simulation(wanted.engine) as sim:
            sim.log(one.times)
            shown = paced(sim, one.until, wanted.pace)
            result = sim.result()
        print_rows(Row(name, text) for name, text in shown.rows())
    else:
        result = one.run(wanted.engine)
    file = folder / f"case-{one.number}.nc"
    result.save(file)
    wrong = _show_measures(one, study)
    print_rows([Row("written", str(file))])
    if one.measures["status"] == FAILED or not result.complete:
        print_error(str(one.measures["message"] or result.message))
    return 1 if wrong or not result.complete else 0


def _show_measures(one: OneCase, study: Study) -> bool:
    """Show metrics and requirements of a case; returns whether a requirement is missed."""
    measures = one.measures
    wrong = bool(measures["status"] == FAILED)
    for name in study.plan.measures.metrics:
        print_rows([Row("metric", f"{name} = {measures[name]:.9g}")])
    for name in study.plan.measures.requirements:
        met, margin = measures[name], measures[f"{name}.robustness"]
        wrong |= not met
        print_rows(
            [
                Row(
                    "requirement",
                    f"{name}: {'met' if met else 'NOT MET'}, margin {margin:.6g}",
                    "" if met else "red",
                )
            ]
        )
    return wrong


def _replay(one: OneCase, folder: Path) -> int:
    """Continue from shortly before the failure, every step shown, with the reference engine."""
    found = StudyStore.opened(str(folder)) if Folder(str(folder)).exists(MANIFEST) else None
    sim = OneCase(one.plan, one.number, found).replayed()
    print_rows([Row("from", f"t = {sim.time:.9g} s, reference engine, every step")])
    failed = ""
    with sim:
        try:
            sim.advance(one.until)
        except PlantloopError as error:
            failed = str(error)
        result = sim.result(complete=not failed, message=failed)
    _show_steps(result)
    file = folder / f"case-{one.number}-replay.nc"
    result.save(file)
    print_rows([Row("written", str(file))])
    if failed:
        print_error(failed)
    return 1 if failed else 0


LAST_STEPS = 20


def instant_text(time: float, before: float) -> str:
    """An instant [s] with nine digits, or as many as distinguish it from the previous one."""
    digits = next(
        (d for d in range(9, 17) if f"{time:.{d}g}" != f"{before:.{d}g}"), 17 if time > before else 9
    )
    return f"{time:.{digits}g}"


def _show_steps(result: Result) -> None:
    """The last steps: time, step size, states; and events."""
    names = [n for n in result if result[n].shape[1] == 1][:6]
    first = max(0, len(result.time) - LAST_STEPS)
    for k in range(first, len(result.time)):
        before = result.time[k - 1] if k else result.time[0]
        values = ", ".join(f"{n} = {result[n][k, 0]:.6g}" for n in names)
        instant = instant_text(result.time[k], before)
        print_rows([Row(f"t = {instant}", f"step {result.time[k] - before:.3g} s: {values}")])
    for event in result.events[-LAST_STEPS:]:
        print_rows([Row("event", f"{event.name} at t = {event.time:.9g} s")])
    statistics = result.statistics
    print_rows([Row("steps", f"{statistics['steps']}, {statistics['rejected steps']} rejected")])
    if (limiting := statistics.get("state that limited most steps")) is not None:
        print_rows([Row("limited by", str(limiting))])


def _run_paced(path: Path, trust: bool, wanted: OneRun) -> int:
    """Run a scenario at a given pace."""
    from cosim.engines.reference.log import log_times
    from cosim.scenario import load_scenario
    from cosim.scenario.report import check_files
    from cosim.settings import RunSettings

    loaded = load_scenario(path, trust)
    folder = output_folder(wanted.out, loaded.name, trust)
    check_files(loaded, folder)
    run, settings = loaded.tables.run, loaded.settings()
    if wanted.engine is not None:
        settings = RunSettings.of(settings, engine=wanted.engine)
    print_heading(loaded.name, loaded.tables.scenario.description)
    with Simulation(
        loaded.system(), settings=settings, parameters=loaded.tables.parameters, initial=loaded.tables.initial
    ) as sim:
        sim.log(log_times(0.0, run.until, run.log_every, run.log_at))
        shown = paced(sim, run.until, 1.0 if wanted.pace is None else wanted.pace)
        result = sim.result()
    file = folder / loaded.tables.outputs.result
    result.save(file)
    print_rows([*(Row(name, text) for name, text in shown.rows()), Row("written", str(file))])
    return 0


# --- afterwards -------------------------------------------------------------------------------------------
def report(folder: str, out: Path | None, junit_file: Path | None) -> int:
    """Write the page and the JUnit file of a study; returns the exit code."""
    from cosim.study.junit import junit
    from cosim.study.study_report import report as page

    result = open_study(folder)
    written = []
    for file, name, text in ((out, "report.html", page(result)), (junit_file, "junit.xml", junit(result))):
        if file is None:
            result.store.folder.write(name, text.encode())
            written.append(f"{result.store.folder.url}/{name}")
        else:
            with replacing(file) as temporary:
                temporary.write_text(text, encoding="utf-8")
            written.append(str(file))
    print_rows([*_rows(result), *(Row("written", name) for name in written)])
    return 0 if result.passed else 1


MOST_CASES = 10  # named in a line


def compare(before: str, after: str) -> int:
    """Show the differences between two studies; returns the exit code."""
    from cosim.study.compare import compare as compared

    found = compared(open_study(before), open_study(after))
    rows = [Row("cases", f"{found.cases} in both")]
    rows += [Row("differs", name) for name in found.changed]
    for word, style, verdicts in (("no longer met", "red", found.worse), ("newly met", "", found.better)):
        for name, cases in verdicts.items():
            if cases:
                listed = ", ".join(map(str, cases[:MOST_CASES])) + (
                    ", ..." if len(cases) > MOST_CASES else ""
                )
                rows.append(Row(word, f"{name}: {len(cases)} cases ({listed})", style))
    for kind, moved in (("metric", found.metrics), ("signal", found.signals)):
        rows += [
            Row(
                kind,
                f"{name}: the same in all"
                if not most
                else f"{name}: apart by up to {most:.6g}, in case {case}",
            )
            for name, (most, case) in moved.items()
        ]
    print_rows(rows)
    return 1 if any(found.worse.values()) else 0
