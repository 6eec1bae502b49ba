"""`Study`: many runs of a model, and the methods to run them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from blocks.arguments import file_path, flag, is_number, number, whole_number
from blocks.contract.block import Block
from blocks.contract.user_lines import each_warning_once
from blocks.errors import PlantloopError, ScenarioError, shown
from cosim.diagram import Diagram
from cosim.names import listed, mapped
from cosim.scenario.scenario import Scenario
from cosim.settings import Keywords, RunSettings, takes_settings
from cosim.study.cases import Cases, make_cases, parsed_cases
from cosim.study.estimate import Estimate, estimated, seconds_of_a_case
from cosim.study.executors import executor_for, processors, work_at
from cosim.study.folder import Folder, url_of
from cosim.study.folder_lock import alone_in
from cosim.study.job import Job, Tell
from cosim.study.loading import CALL, load_study_file, tables_of_call
from cosim.study.measures import measures_of
from cosim.study.opened import StudyResult
from cosim.study.plan_problems import place_of, prepared_or_all_problems
from cosim.study.reuse import comparable, reused
from cosim.study.sample_draws import DESIGNS
from cosim.study.search import SearchResult, SearchRuns, SearchSpace, falsify, only_of, optimise, space_of
from cosim.study.store import MANIFEST, Manifest, StudyStore, chunk_size
from cosim.study.structural_cases import built_for_cases
from cosim.study.study_bases import bases_of_diagrams, bases_of_scenario
from cosim.study.study_files import StudyFile, files_of
from cosim.study.study_plan import StudyPlan
from cosim.study.study_progress import study_progress, warn_of_cases
from cosim.study.study_schema import StudyTables
from cosim.study.study_units import units_of
from cosim.study.verdicts import Ending
from cosim.study.wanted_cases import named, numbers_of_cases, unfinished
from cosim.study.windows import check_windows
from cosim.study.work import Tally

RESULTS = "the folder of results"


class Study:
    """Many runs of a model: its cases, the actions in them, and what is measured, required and stored.

    Parameters
    ----------
    model : Diagram, Block, Scenario, or path     a path names a study file; its tables are those below
    until : float               end of every run [s]; that of the scenario where it is one
    sweep : dict                name -> list of values, or {"from": , "to": , "count": , "spacing": };
                                together they form a grid; "zip": [{name: list, ...}] for names that vary
                                together
    sampling : dict             {"method": "sobol", "runs": 4096, "seed": 1, "parameters": {name: {...}}}
    variants : list or dict     of a scenario the tables that differ, each with a name; of diagrams {name:
                                Diagram}
    actions, requirements : list of dict;  metrics, stop, store, search : dict      as the tables of a
                                                                                study file
    parameters, initial, inputs : dict       for all cases; inputs of a diagram as of `simulate`
    log_every : s               of stored signals and of metrics, where store has no "every"
    trust : bool                allow the Python code that a study file names to run
    settings : RunSettings      several of the following at once; each may also be given by itself
    **settings

    Raises
    ------
    ScenarioError, PlantloopError     what is wrong with any of these: all problems of the tables together

    >>> study = Study(d, until=10.0, sweep={"plant.mass": [1.0, 2.0]}, metrics={"peak": "max(abs(plant.x))"})
    >>> study.run("out/").table
    """

    @each_warning_once()
    @takes_settings
    def __init__(
        self,
        model: Diagram | Block | Scenario | str | os.PathLike[str],
        *,
        until: float | None = None,
        sweep: Mapping[str, Any] | None = None,
        sampling: Mapping[str, Any] | None = None,
        variants: Sequence[Mapping[str, Any]] | Mapping[str, Diagram] | None = None,
        search: Mapping[str, Any] | None = None,
        actions: Sequence[Mapping[str, Any]] | None = None,
        requirements: Sequence[Mapping[str, Any]] | None = None,
        metrics: Mapping[str, Any] | None = None,
        stop: Mapping[str, Any] | None = None,
        store: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Any] | None = None,
        initial: Mapping[str, Any] | None = None,
        inputs: Mapping[str, Any] | None = None,
        log_every: Any = None,
        trust: bool = False,
        settings: RunSettings | None = None,
        **keywords: Unpack[Keywords],
    ) -> None:
        given = {
            "sweep": sweep, "sampling": sampling, "actions": actions,
            "requirements": requirements, "metrics": metrics, "stop": stop, "store": store, "search": search,
        }  # fmt: skip
        drawn = dict(variants) if isinstance(variants, Mapping) else None
        if drawn is None:
            given["variants"] = variants
        self.trust = flag(trust, "trust")
        self._files: dict[str, StudyFile] = {}
        loaded = self._loaded(model, given)
        tables = self.tables
        numbers: dict[str, Any] = {
            "parameters": mapped(parameters, "parameters"),
            "initial": mapped(initial, "initial"),
            "inputs": mapped(inputs, "inputs") if isinstance(loaded, Scenario) else inputs,
        }
        folder = Path.cwd()
        if isinstance(loaded, Scenario):
            folder = loaded.source.path.parent
            bases, names = bases_of_scenario(
                loaded, tables, until, numbers, log_every, settings, keywords, self.trust
            )
            self._files = files_of(loaded, tables, bases)
        else:
            bases, names = bases_of_diagrams(
                loaded, drawn, tables, until, numbers, log_every, settings, keywords
            )
        check_windows(tables, max(base.until for base in bases), self._place)
        self.cases: Cases = self._located(
            lambda: make_cases(tables, len(bases), folder, bases[0].settings.seed)
        )
        self._bases, self._variants, self.cases = self._located(
            lambda: built_for_cases(bases, names, self.cases)
        )
        self.plan = self._plan()

    def _loaded(
        self, model: Diagram | Block | Scenario | str | os.PathLike[str], given: Mapping[str, Any]
    ) -> Diagram | Block | Scenario:
        """Load the model to run, with the tables of its file, or the `given` ones."""
        self.tables: StudyTables
        if not isinstance(model, (str, os.PathLike)):
            self.tables, self._place = tables_of_call(given)
            return model
        path = file_path(model, "the study file", "study.toml")
        loaded, self.tables, self._place = load_study_file(path, self.trust)
        if extra := [name for name, value in given.items() if value is not None]:
            raise PlantloopError(
                f"'{path}' says what its {extra[0]} are; leave {extra[0]}= out.", value=extra[0]
            )
        return loaded

    def _located(self, make: Callable[[], Any]) -> Any:
        """Call a function; an error in it names the file, if there is one."""
        try:
            return make()
        except ScenarioError:
            raise
        except PlantloopError as error:
            file = self._place.source.path.name
            where = place_of(error, self._place.source, self._in_file) if error.path else file
            raise ScenarioError(
                f"{where}: {error}",
                path=error.path,
                value=error.value,
            ) from error

    @property
    def _in_file(self) -> list[str]:
        """Columns that a file of cases gives."""
        sampling = self.tables.sampling
        known = sampling is not None and sampling.file and "cases" in vars(self)
        return list(self.cases.columns) if known else []

    def _plan(self) -> StudyPlan:
        """The whole study as data, checked against the model."""
        measures = measures_of(self.tables.metrics, self.tables.requirements)
        made = StudyPlan(
            self._bases[0].name,
            self._bases,
            self._variants,
            self.cases,
            measures,
            self.tables.actions,
            self.tables.store,
            tuple(r for r in self.tables.requirements if r.stop),
            None if self.tables.stop is None else Ending(self.tables.stop.when, self.tables.requirements),
        )
        for k in range(len(made.bases)):
            self._located(partial(prepared_or_all_problems, made, k, self._place.source))
        return made

    def __len__(self) -> int:
        return len(self.cases)

    def __repr__(self) -> str:
        return f"<Study of '{self._bases[0].name}': {len(self)} cases, {len(set(self._variants))} variants>"

    # --- running --------------------------------------------------------------------------------------------
    def estimate(self, sample: int = 3, cases: Sequence[int] | np.ndarray | None = None) -> Estimate:
        """Estimated cost of a full run, or of these cases, from the time of a few of them.

        `cosim sweep --dry-run` prints it.
        """
        numbers = np.arange(len(self)) if cases is None else numbers_of_cases(cases, len(self))
        return estimated(self.plan, self.manifest(), whole_number(sample, "sample"), numbers)

    def wanted(
        self,
        out: str | os.PathLike[str],
        *,
        resume: bool = False,
        only: str | Sequence[int] | None = None,
        limit: int | None = None,
    ) -> np.ndarray:
        """Numbers of the cases that `run` with these arguments would run; nothing is written.

        Raises
        ------
        PlantloopError      no such case; with `resume` or `only` the folder holds another study
        """
        chosen = named(only, len(self))
        if chosen is None:
            gone_on = flag(resume, "resume") or only is not None
            store = self._found(url_of(out, RESULTS), self.manifest(), True) if gone_on else None
            chosen = self._unfinished(store, only)
        return chosen[: self._most(limit)]

    def _unfinished(self, store: StudyStore | None, only: str | Sequence[int] | None) -> np.ndarray:
        return unfinished(store, only, len(self), tuple(self.plan.measures.requirements))

    def _most(self, limit: int | None) -> int:
        return len(self) if limit is None else whole_number(limit, "limit")

    def manifest(self, seconds: float = 1.0, workers: int = 1, plan: StudyPlan | None = None) -> Manifest:
        """The manifest of a store for this study; the time of a case decides how many are stored together."""
        plan = plan or self.plan
        ready = plan.prepared(0)
        stored = {n.name: (n.size, tuple(n.labels)) for n in ready.system.tree(ready.stored).leaves}
        width = sum(size for size, _ in stored.values())
        each = len(plan.times) * width * np.dtype(plan.store.dtype).itemsize
        file = "" if self._place.source.path == CALL else next(iter(self._files), "")
        sampling = self.tables.sampling
        design = sampling.method if plan is self.plan and sampling and sampling.method in DESIGNS else ""
        spread = [one.bounds for one in sampling.parameters.values()] if sampling is not None else []
        return Manifest(
            plan.name,
            len(plan.cases),
            chunk_size(len(plan.cases), each, seconds, workers),
            tuple(dict.fromkeys(plan.variants)),
            tuple(plan.cases.flat),
            tuple(plan.measures.metrics),
            tuple(plan.measures.requirements),
            stored,
            tuple(plan.times.tolist()),
            plan.store.keep,
            plan.store.dtype,
            plan.fingerprints(),
            file,
            design=design,
            other_names={n: full for n, full in ready.system.shown.items() if full in stored and n != full},
            sampled=tuple(sampling.parameters) if sampling is not None and design else (),
            spans=tuple(high - low for low, high in spread) if design else (),
            **units_of(ready.system, ready.stored, plan.cases.flat),
        )

    def run(
        self,
        out: str | os.PathLike[str],
        *,
        executor: str | None = None,
        resume: bool = False,
        workers: int | None = None,
        scheduler: str | None = None,
        only: str | Sequence[int] | None = None,
        limit: int | None = None,
        reuse: str | os.PathLike[str] | None = None,
        progress: Callable[[Tally], None] | bool | None = None,
    ) -> StudyResult:
        """Run all cases, or the missing ones, and store the results in a folder.

        Parameters
        ----------
        out : path, or URL that fsspec knows      of the study's own; new, or with `resume` one begun before
        executor : "threads", "processes" or "dask"      default: threads, or processes for Python in the
                                                         model
        workers : int           how many at once; default as many as there are processors
        scheduler : str         address of a Dask scheduler; default a cluster on this machine
        only : "failed", "missing", "17,42" or a list of numbers
        limit : int             run so many cases at most
        reuse : path or URL     of an earlier study of the same model: identical cases are copied
        progress : callable     called with the numbers of cases done, failed and not meeting a requirement

        Raises
        ------
        PlantloopError      the folder holds another study, or a changed one; what changed is named

        Ctrl-C keeps the completed cases; `resume` continues. Warnings of blocks (`CheckRange`, `Assertion`)
        are given once, with the number of cases; the column "warnings" shows which cases.
        """
        count = self._workers(workers, scheduler)
        most = self._most(limit)
        name, chosen = executor_for(self.plan, executor, scheduler), named(only, len(self))
        old = None if reuse is None else StudyStore.opened(url_of(reuse, "the earlier study"))
        if old is not None:
            comparable(old.manifest, self.manifest(), old.folder.url)
        url = url_of(out, RESULTS)
        with alone_in(url):
            fresh = not Folder(url).exists(MANIFEST)
            store = self.open_store(url, flag(resume, "resume") or only is not None, count, name)
            cases = (self._unfinished(store, only) if chosen is None else chosen)[:most]
            if len(cases):
                with study_progress(progress, len(cases)) as display:
                    if old is not None:
                        cases, copied = reused(self.plan, store, cases, old)
                        display.add(copied)
                        display.say(f"{copied.done} cases are those of '{old.folder.url}'")
                    job = Job(self.plan, store, store.by_chunk(cases), count, scheduler, display.say)
                    try:
                        work_at(name, job, display)
                    except PlantloopError:
                        if fresh:
                            store.discard()  # no worker could work at it: treat it as not asked for
                        raise
                warn_of_cases(store, self.plan)
        return StudyResult(store, lambda: self.plan)

    def open_store(self, url: str, resume: bool, workers: int = 1, executor: str = "") -> StudyStore:
        """The folder of results, created or reopened.

        Raises
        ------
        PlantloopError      it is there and `resume` is not wanted, or it is of something else
        """
        if Folder(url).exists(MANIFEST):
            return self._open(url, self.manifest(), resume)
        seconds = seconds_of_a_case(self.plan, apart=executor != "threads")
        return self._open(url, self.manifest(seconds, workers), resume)

    def _open(self, url: str, manifest: Manifest, resume: bool, longer: bool = False) -> StudyStore:
        """What is there or made; `longer`: a search for more cases than it had goes on."""
        if (store := self._found(url, manifest, resume, longer)) is not None:
            store.folder.remove_leftovers()
            return store if store.manifest.count == manifest.count else store.grown(manifest.count)
        return StudyStore.create(url, manifest, {n: f.content() for n, f in self._files.items()})

    def _found(self, url: str, manifest: Manifest, resume: bool, longer: bool = False) -> StudyStore | None:
        """The store of this study that is there; None where nothing is."""
        if not Folder(url).exists(MANIFEST):
            return None
        store = StudyStore.opened(url)
        more = longer and store.manifest.count < manifest.count
        before = replace(store.manifest, count=manifest.count) if more else store.manifest
        if changed := before.changes(manifest):
            raise PlantloopError(
                f"'{url}' holds results of another study: {'; '.join(changed)}.",
                path=url,
                value=changed,
                hint="Give another folder, or undo the change.",
            )
        if not resume:
            raise PlantloopError(
                f"'{url}' holds results of this study already.",
                path=url,
                hint="Go on with --resume (resume=True), or give another folder.",
            )
        return store

    def falsify(
        self,
        out: str | os.PathLike[str],
        requirement: str | None = None,
        *,
        runs: int | None = None,
        seed: int | None = None,
        executor: str | None = None,
        resume: bool = False,
        workers: int | None = None,
        scheduler: str | None = None,
        progress: Callable[[Tally], None] | bool | None = None,
    ) -> SearchResult:
        """Search for the parameters that come nearest to breaking a requirement, within the study's bounds.

        All cases that were looked at are a study in `out`; of variants each is run at every point, and the
        least robustness counts. See `run` for the other arguments.

        requirement : default that of the table [search], or the only one there is
        runs : int      cases, default those of [search], or 200; seed : of what is drawn, default that of
                        [search], or 0

        Raises
        ------
        PlantloopError      no such requirement, no bounds, or the folder holds something else
        """
        count, chosen = self._search_numbers(runs, seed)
        name = requirement or self.tables.search.requirement or only_of(self.plan.measures.requirements)
        with alone_in(url_of(out, RESULTS)), study_progress(progress, count) as display:
            made = self._runs(out, executor, resume, workers, scheduler, display.add)
            return self._warned(falsify(self.plan, self.space, name, count, chosen, made))

    def optimise(
        self,
        out: str | os.PathLike[str],
        metrics: str | Sequence[str] | None = None,
        *,
        runs: int | None = None,
        seed: int | None = None,
        executor: str | None = None,
        resume: bool = False,
        workers: int | None = None,
        scheduler: str | None = None,
        progress: Callable[[Tally], None] | bool | None = None,
    ) -> SearchResult:
        """Search for parameters that minimise metrics and meet requirements, within the study's bounds.

        Of several metrics (default those of [search], or the only one) the front is found: the cases that
        none is better than in all. Of several variants the worst counts. See `falsify`.

        Raises
        ------
        PlantloopError      no such metric, no bounds, or the folder holds something else
        """
        count, chosen = self._search_numbers(runs, seed)
        names = self.tables.search.metrics if metrics is None else listed(metrics, "metrics")
        with alone_in(url_of(out, RESULTS)), study_progress(progress, count) as display:
            made = self._runs(out, executor, resume, workers, scheduler, display.add)
            return self._warned(optimise(self.plan, self.space, names, count, chosen, made))

    def _warned(self, found: SearchResult) -> SearchResult:
        """Give the warnings of the cases of a search, and return its result."""
        warn_of_cases(found.study.store, self.plan)
        return found

    def _workers(self, wanted: int | None, scheduler: str | None) -> int:
        """The number of workers: one if a block of the model allows no more."""
        held = self.plan.alone
        count = (1 if held else processors()) if wanted is None else whole_number(wanted, "workers")
        if held and (count > 1 or scheduler is not None):
            others = f"workers is {count}" if scheduler is None else f"at '{scheduler}' there may be several"
            raise PlantloopError(
                f"block '{held[0]}' {held[1]}, which one run at a time can; {others}.",
                path=held[0],
                value=count,
                hint="Say workers=1 (--workers 1), here on this machine.",
            )
        return count

    def _search_numbers(self, runs: int | None, seed: int | None) -> tuple[int, int]:
        given = self.tables.search
        chosen = given.seed if seed is None else seed
        if not is_number(chosen) or chosen != int(number(chosen, "seed")) or chosen < 0:
            raise PlantloopError(f"seed is {shown(chosen)}, expected a whole number, 0 or more.", value=seed)
        return whole_number(given.runs if runs is None else runs, "runs"), int(chosen)

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Least and largest value of every number that varies: of distributions and of the sweep."""
        return dict(self.space.bounds)

    @property
    def space(self) -> SearchSpace:
        """The space that a search explores.

        Raises
        ------
        PlantloopError      several arrays are given for a name, between which nothing lies, or it decides how
                            the model is built
        """
        sampled = self.tables.sampling.parameters if self.tables.sampling is not None else {}
        return space_of(sampled, self.cases, {name for base in self._bases for name in base.built})

    def _runs(
        self,
        out: Any,
        executor: str | None,
        resume: bool,
        workers: int | None,
        scheduler: str | None,
        tell: Tell,
    ) -> SearchRuns:
        def store(plan: StudyPlan, what: Mapping[str, str], chunk: int) -> StudyStore:
            manifest = self.manifest(plan=plan)
            manifest = replace(manifest, chunk=chunk, fingerprints={**manifest.fingerprints, **what})
            gone_on = flag(resume, "resume")
            return self._open(url_of(out, RESULTS), manifest, gone_on, longer=gone_on)

        count = self._workers(workers, scheduler)
        executor_for(self.plan, executor, scheduler)  # refused before anything is written
        return SearchRuns(store, executor, count, scheduler, tell)

    def case(self, k: int) -> Any:
        """One case by itself: ``study.case(17).result``."""
        from cosim.study.one_case import OneCase

        return OneCase(self.plan, int(parsed_cases(str(k), len(self.cases))[0]))
