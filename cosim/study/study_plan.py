"""A whole study as data: the models, the cases, and what to store. It can be sent to other machines."""

from __future__ import annotations

import fnmatch
import hashlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from blocks.contract.block import Block
from blocks.errors import PlantloopError, near_miss
from cosim.batch.watched_runs import kept_for_warnings
from cosim.engines.reference.log import SNAP, log_times
from cosim.run.context import Context
from cosim.run.named_values import set_all
from cosim.run.parameter_checks import Ends, RunChecks, check_parameters, ends_of
from cosim.settings import RunSettings
from cosim.study.action_checks import check_moves
from cosim.study.bases import Base
from cosim.study.cases import Cases
from cosim.study.measures import Measures
from cosim.study.model_fingerprint import model_fingerprint
from cosim.study.places import Target, checked, distinct, target
from cosim.study.probes import INSIDE, JUMPS, probed, which_follow_held
from cosim.study.study_schema import ActionTable, RequirementTable, StoreTable
from cosim.study.verdicts import VERDICT, Ending
from cosim.system import System
from cosim.version import __version__

NOT_SENT = ("_prepared", "_asked", "_worker")  # fields of a plan that are derived again on another machine

CASES, VERSION = "cases", "plantloop"  # names of two prints

SENT = "_sent"  # marks a plan that was sent


@dataclass(frozen=True)
class StudyPlan:
    """A study that is ready to run.

    bases : a model per variant, or several of one where cases have structural numbers; variants : the name
    of each
    """

    name: str
    bases: tuple[Base, ...]
    variants: tuple[str, ...]
    cases: Cases
    measures: Measures
    actions: tuple[ActionTable, ...]
    store: StoreTable
    stops: tuple[RequirementTable, ...] = ()  # requirements that end a run when they are broken
    ending: Ending | None = None  # when to end a run whose verdicts are certain

    @cached_property
    def times(self) -> np.ndarray:
        """Instants of the grid of the longest runs [s]: those of metrics and of stored signals."""
        every = self.store.every if self.store.every is not None else self.bases[0].log_every
        found = log_times(0.0, max(base.until for base in self.bases), every, None)
        assert found is not None  # an interval, or a thousandth of the run
        return found

    def times_of(self, variant: int) -> np.ndarray:
        """Instants of the grid [s] up to the end of a variant, and this end, perhaps between two of them."""
        end = self.bases[variant].until
        last = np.abs(self.times - end) <= SNAP * end
        reached = self.times[(self.times <= end) | last]
        return reached if last.any() else np.append(reached, end)

    def prepared(self, variant: int) -> Prepared:
        """A variant, flattened and checked; several variants store the signals that all of them have.

        Raises
        ------
        PlantloopError     a name that is not there, numbers that do not fit
        """
        if not self._prepared:
            with _quiet() if SENT in vars(self) else nullcontext():  # they were shown where the plan was made
                made = [Prepared.of(self, k) for k in range(len(self.bases))]
            self._prepared.update(enumerate(_alike(made)))
        return self._prepared[variant]

    @cached_property
    def _prepared(self) -> dict[int, Prepared]:
        return {}

    def asked(self, variant: int) -> RunChecks:
        """The checks by blocks of a variant of the numbers that its cases give to parameters."""
        if variant not in self._asked:
            ready = self.prepared(variant)
            ends = self.ends(variant, ready.goals)
            names = [name for name, goal in ready.goals.items() if goal.vector == "p"]
            self._asked[variant] = RunChecks.of(ready.system, names).beyond(ready.start.p, ends)
        return self._asked[variant]

    def ends(self, variant: int, goals: Mapping[str, Target]) -> Ends:
        """The least and largest number that cases of a variant give to each place of a parameter."""
        mine = self.cases.variant == variant
        return {
            int(place): ends_of(self.cases.columns[name][mine, k])
            for name, goal in goals.items()
            for place, k in zip(goal.places, goal.take, strict=True)
            if goal.vector == "p" and mine.any()
        }

    @cached_property
    def _asked(self) -> dict[int, RunChecks]:
        return {}

    @property
    def python(self) -> bool:
        """Whether a run executes Python code: the reference engine, opaque functions, external blocks."""
        made = [self.prepared(k) for k in range(len(self.bases))]
        return any(
            one.settings.engine == "reference"
            or bool(one.system.opaque)
            or any(s.external is not None for s in one.system.schedule)
            for one in made
        )

    @property
    def alone(self) -> tuple[str, str] | None:
        """A block that allows only one run at a time, and why; None if there is none."""
        for k in range(len(self.bases)):
            for segment in self.prepared(k).system.schedule:
                block = getattr(segment.external and segment.external.make, "__self__", None)
                if isinstance(block, Block) and block.alone:
                    return segment.path, block.alone
        return None

    @property
    def watches(self) -> bool:
        """Whether blocks warn (`CheckRange`, `Assertion`); their messages are a column of the table."""
        made = [self.prepared(k) for k in range(len(self.bases))]
        return any(event.warning for one in made for event in one.system.events)

    @property
    def rebuilt(self) -> bool:
        """Whether a variant is built several times, for structural numbers of cases."""
        return any(base.built for base in self.bases)

    @property
    def several(self) -> bool:
        """Whether there are variants, whose names distinguish cases."""
        return len(set(self.variants)) > 1

    def with_cases(self, cases: Cases) -> StudyPlan:
        """The same plan with other numbers for the same names; prepared variants are kept."""
        found = replace(self, cases=cases)
        vars(found)["_prepared"] = self._prepared
        return found

    def __getstate__(self) -> dict[str, Any]:
        """The given fields; derived ones are computed again after unpickling."""
        return {name: value for name, value in vars(self).items() if name not in NOT_SENT} | {SENT: True}

    def fingerprints(self) -> dict[str, str]:
        """Everything that decides the results, part by part, as texts that change with it."""
        ends = dict.fromkeys(f"{base.until:.17g} s" for base in self.bases)
        found = {
            CASES: self.cases.fingerprint,
            "metrics": _hash(dict(self.measures.metrics)),
            "requirements": _hash(dict(self.measures.requirements)),
            "actions": _hash(self.actions),
            "store": _hash(self.store),
            "until": ", ".join(ends),
            "settings": _hash([repr(b.settings) for b in self.bases]),
            VERSION: __version__,
        }
        if self.stops:
            found["requirements that stop a run"] = _hash([r.name for r in self.stops])
        if self.ending is not None:
            found["stop"] = self.ending.when
        for k, name in enumerate(self.variants):
            ready = self.prepared(k)
            label = f"model of variant '{name}'" if self.several else "model"
            label += "".join(f", {n} = {_shown(v)}" for n, v in self.bases[k].built.items())
            numbers = hashlib.sha256()
            for vector in (ready.start.x, ready.start.h, ready.start.w, ready.start.p):
                numbers.update(vector.tobytes())
            numbers.update(model_fingerprint(ready.system, ready.logged).encode())
            found[label] = f"{ready.system.hash}-{numbers.hexdigest()[:16]}"
        return found


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _shown(value: Any) -> str:
    """A structural number as text, digit for digit."""
    return repr(value.tolist() if isinstance(value, np.ndarray) else value)


def _hash(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Prepared:
    """One variant of a study, ready for its cases.

    system : with probes and actions; start : the context all cases share, `initial` what it was
    given; goals : where their numbers go
    shown : signals of the model, without what the study added; stored : those that are kept
    logged : signals an engine writes down, `times` : when [s]; `gridded` : (n,) bool, which of these are
    instants of the study's grid, the others are ends of windows
    verdicts : requirement that is watched -> signal of what is certain of it
    endings : of every event, what it says where it ends a run, with the block of the model it is of
    held : probes whose slopes are known -> do these or they themselves jump with what ticks and instants
    change?
    """

    system: System
    settings: RunSettings
    until: float
    start: Context
    initial: Mapping[str, Any]
    goals: Mapping[str, Target]
    shown: tuple[str, ...]
    stored: tuple[str, ...]
    logged: tuple[str, ...]
    times: np.ndarray
    verdicts: Mapping[str, str]
    endings: tuple[str, ...]
    gridded: np.ndarray
    held: Mapping[str, bool] = field(default_factory=dict)

    def smooth(self, time: np.ndarray, columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Intervals of the grid in which probes do not jump, (runs or 1, n - 1) each.

        time : (n,) s; columns : signal -> (runs, n)
        """
        quiet = np.ones((1, len(time) - 1), bool)
        if JUMPS in columns:
            quiet = np.diff(columns[JUMPS], axis=1) == 0
        still = quiet & (np.diff(self.system.instants_until(time)) == 0)
        return {name: still if held else quiet for name, held in self.held.items()}

    def on_grid(self, time: np.ndarray) -> np.ndarray:
        """Which instants of a run belong to the grid, (n,) bool; the last does, where the run ended."""
        found = self.gridded[: len(time)].copy()
        found[-1] = True
        return found

    @staticmethod
    def of(plan: StudyPlan, variant: int) -> Prepared:
        """Flatten, add probes, find names, check numbers."""
        from cosim.study.compiled_actions import with_actions

        base = plan.bases[variant]
        system = base.system()
        shown, own = tuple(system.chosen(None)), {event.name for event in system.events}
        if plan.actions or plan.stops or plan.ending is not None:
            system = with_actions(
                base.diagram(), system, base.settings, plan.actions, plan.stops, plan.ending
            )
        watched = () if plan.ending is None else tuple(plan.ending.watched())
        verdicts = {name: f"{VERDICT}{k}.y" for k, name in enumerate(watched)}
        stored = stored_signals(system, shown, plan.store, base)
        probes, bare = plan.measures.probes(), system
        system = probed(system, probes) if probes.names else system
        start = Context.initial(system)
        set_all(system, start, "parameter", base.parameters)
        check_parameters(system, start.p, base.parameters)
        set_all(system, start, "state", base.initial)
        set_all(system, start, "input", base.inputs)
        goals = {name: target(system, name) for name in plan.cases.columns if name not in base.built}
        for name, goal in goals.items():
            checked(system, goal, plan.cases.columns[name])
        distinct(goals)
        check_moves(system, start.p, plan.ends(variant, goals), plan.actions)
        keep = () if plan.store.keep == "summary" else stored
        times = plan.times_of(variant)
        if not keep and not plan.measures.need_grid:
            times = times[-1:]
        instants = plan.measures.instants(times)
        jump = which_follow_held(bare, [probes.formulas[name] for name in probes.steep])
        added = (*probes.names, *((JUMPS,) if JUMPS in system.held else ()), *verdicts.values())
        return Prepared(
            system,
            base.settings,
            base.until,
            start,
            base.initial,
            goals,
            shown,
            keep,
            (*keep, *added, *kept_for_warnings(system, (*keep, *added))),
            instants,
            verdicts,
            tuple(f"'{e.path}': {e.stop}" if e.stop and e.name in own else e.stop for e in system.events),
            np.isin(instants, times),
            dict(zip(probes.steep, jump, strict=True)),
        )

    def context(self, columns: Mapping[str, np.ndarray], k: int) -> Context:
        """The context in which case k of some begins."""
        from cosim.study.places import put_one

        found = self.start.copy()
        mine = {name: values[k] for name, values in columns.items()}
        put_one(self.system, self.goals, mine, self.initial, found)
        return found

    def settings_of(self, seed: int) -> RunSettings:
        """The settings of a case."""
        return replace(self.settings, seed=int(seed))


def _alike(made: list[Prepared]) -> list[Prepared]:
    """Variants that store the same signals: those that all have, with as many components."""
    sizes = [{n: one.system.signal(n).size for n in one.stored} for one in made]
    first = made[0].stored
    both = tuple(n for n in first if all(other.get(n) == sizes[0][n] for other in sizes))
    return [
        one if one.stored == both else replace(one, stored=both, logged=_with_others(one, both))
        for one in made
    ]


def _with_others(one: Prepared, stored: tuple[str, ...]) -> tuple[str, ...]:
    """The signals to log if only some signals are stored."""
    more = (*one.logged[len(one.stored) :], *kept_for_warnings(one.system, stored))
    return (*stored, *dict.fromkeys(more))


def stored_signals(system: System, shown: tuple[str, ...], store: StoreTable, base: Base) -> tuple[str, ...]:
    """Signals that match names and patterns; outputs of subsystems also by the names they have outside."""
    if not store.signals:
        return tuple(system.chosen(base.signals)) if base.signals is not None else shown
    found: list[str] = []
    for name in store.signals:
        if set(name) & set("*?"):
            others = {other: full for other, full in system.shown.items() if full in shown}
            fits = fnmatch.filter((*shown, *others), name)
            if not fits:
                near = near_miss(name.strip("*?."), (*shown, *others))
                raise PlantloopError(f"no signal fits '{name}'; {near}", path=name)
            found += [others.get(fit, fit) for fit in fits]
        else:
            found.append(system.locate(name)[0])
    return tuple(n for n in dict.fromkeys(found) if not n.startswith(INSIDE))
