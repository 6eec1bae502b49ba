"""Metrics and requirements: the signals they need, and their values, for many runs at a time.

Formulas inside are compiled into the system (`cosim.study.probes`); integrals are states, exact to the
solver's tolerance. Reductions over a run use the instants of the study's grid, whatever is stored; extrema
and margins see what smooth signals do in between (`cosim.study.between`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from blocks.errors import PlantloopError, text_of_error
from cosim.study.between import SignalCourse
from cosim.study.formulas import (
    Applied,
    Arithmetic,
    Compared,
    Formula,
    Logic,
    MetricNamed,
    PlainNumber,
    Reduced,
    Temporal,
    below,
    value,
)
from cosim.study.probes import INSIDE, Probes
from cosim.study.robustness import margins
from cosim.study.scaling import scaled
from cosim.study.step_metrics import described
from cosim.study.study_schema import METRICS, MetricTable, RequirementTable
from cosim.study.true_spans import TrueSpans
from cosim.study.window_ends import united, with_window_ends

ROBUSTNESS = ".robustness"  # appended to the name of a requirement: the column of its margin
AT_END = ("integral", "mean", "rms", "final")  # reductions that use the last instant only
EXTREMA = ("max", "min", "time_of_max", "time_of_min")  # reductions that also use what is between instants
SLOPE = "'"  # appended to the name of a probe: the probe of its slope
Columns = Mapping[str, np.ndarray]  # probe -> (runs, n)


def requirement_formula(r: RequirementTable) -> Formula:
    """One formula for the keys of a requirement; its value at the start of the run counts."""
    if r.check is not None:
        return r.check
    if r.formula is not None:
        return r.formula
    if r.whenever is not None:
        then = r.eventually or r.always
        assert then is not None  # checked when the file was read
        word = "eventually" if r.eventually is not None else "always"
        inner = Temporal(0, word, (then,), 0.0, math.inf if r.within is None else r.within)
        return Temporal(0, "always", (Logic(0, "implies", (r.whenever, inner)),), r.after, r.before)
    end = r.before if r.within is None else r.after + r.within
    if r.until is not None and r.always is not None:
        return Temporal(0, "until", (r.always, r.until), r.after, end)
    only = r.always or r.eventually
    assert only is not None
    return Temporal(0, "always" if r.always is not None else "eventually", (only,), r.after, end)


@dataclass(frozen=True)
class Measures:
    """All metrics and requirements of a study, by name."""

    metrics: Mapping[str, Formula | MetricTable] = field(default_factory=dict)
    requirements: Mapping[str, Formula] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """Names of the columns they fill, in order."""
        found = list(self.metrics)
        for name in self.requirements:
            found += [name, name + ROBUSTNESS]
        return found

    @cached_property
    def _numeric(self) -> tuple[dict[Formula, str], dict[Formula, str]]:
        """Numeric formulas to observe, and to integrate, with the names of their probes."""
        looked: dict[Formula, str] = {}
        integrated: dict[Formula, str] = {}
        for formula in self._roots():
            for part in below(formula):
                if isinstance(part, Reduced) and part.reduction in ("integral", "mean", "rms"):
                    what = _squared(part.of) if part.reduction == "rms" else part.of
                    integrated.setdefault(what, f"{INSIDE}integral{len(integrated)}")
                if isinstance(part, Reduced) and part.reduction not in ("integral", "count", "duration"):
                    looked.setdefault(part.of, f"{INSIDE}{len(looked)}")
                if isinstance(part, Compared):
                    for side in (part.left, part.right):
                        if not _of_run(side):
                            looked.setdefault(side, f"{INSIDE}{len(looked)}")
        for one in self.metrics.values():
            if isinstance(one, MetricTable):
                looked.setdefault(_operand(one), f"{INSIDE}{len(looked)}")
        return looked, integrated

    def _roots(self) -> list[Formula]:
        return [
            *(m for m in self.metrics.values() if not isinstance(m, MetricTable)),
            *self.requirements.values(),
        ]

    def probes(self) -> Probes:
        """The probes to add to a system."""
        looked, integrated = self._numeric
        formulas = {name: f for f, name in looked.items() if not isinstance(f, PlainNumber)}
        slopes = {name + SLOPE: f for name, f in formulas.items() if f in self._turning}
        return Probes(formulas, {name: f for f, name in integrated.items()}, slopes)

    @cached_property
    def _turning(self) -> set[Formula]:
        """Formulas whose extrema between the instants of the grid are needed."""
        found = {
            _operand(m) for m in self.metrics.values() if isinstance(m, MetricTable) and m.percentile is None
        }
        for formula in self._roots():
            parts = [*below(formula)]
            found |= {p.of for p in parts if isinstance(p, Reduced) and p.reduction in EXTREMA}
            if any(isinstance(p, Temporal) for p in parts):
                found |= _sides(formula)
            for p in parts:
                if isinstance(p, Reduced) and p.reduction in ("count", "duration"):
                    found |= _sides(p.of)
        return found

    def told(self, error: PlantloopError) -> str:
        """The text of an error; an error of a probe names the metric or requirement that uses it."""
        probe = str(error.path)
        found = next((f for part in self._numeric for f, name in part.items() if name == probe), None)
        if found is None or error.time is None:
            return text_of_error(error)
        term = str(error).partition("First non-finite term: ")[2].partition(f" {error.hint}")[0]
        because = f" First non-finite term: {term}" if term else ""
        return f"{self.users(found)}: the formula is {error.value} at t={error.time:.9g} s.{because}"

    def users(self, formula: Formula) -> str:
        """The metrics and requirements that use the value or the integral of a numeric formula, in words."""
        found = [f"metric '{n}'" for n, m in self.metrics.items() if formula in _looked_at(m)]
        found += [f"requirement '{n}'" for n, r in self.requirements.items() if formula in _looked_at(r)]
        return " and ".join(found)

    @property
    def need_grid(self) -> bool:
        """Whether any instant before the end of a run is used."""
        tables = any(isinstance(m, MetricTable) for m in self.metrics.values())
        parts = [p for f in self._roots() for p in below(f)]
        return tables or any(
            isinstance(p, Temporal) or (isinstance(p, Reduced) and p.reduction not in AT_END) for p in parts
        )

    def instants(self, grid: np.ndarray) -> np.ndarray:
        """The instants at which runs have to be logged [s]: those of the grid, and ends of windows."""
        ends = [with_window_ends(formula, grid) for formula in self.requirements.values()]
        return united(grid, np.concatenate([grid[:0], *ends]))

    def evaluate(
        self,
        time: np.ndarray,
        columns: Columns,
        smooth: Columns | None = None,
        grid: np.ndarray | None = None,
    ) -> dict[str, np.ndarray]:
        """Values of all columns for some runs, (runs,) each.

        time : (n,) s, the instants these runs logged; columns : probe -> (runs, n) values there
        smooth : probe -> (runs or 1, n - 1), between which instants it does not jump; without: anywhere it
        may
        grid : (n,) bool, the instants of the study's grid, the others are ends of windows; by default all
        """
        looked, integrated = self._numeric
        found: dict[str, np.ndarray] = {}
        on_grid = np.ones(len(time), bool) if grid is None else grid

        def look(formula: Formula) -> SignalCourse:
            if isinstance(formula, PlainNumber):
                return SignalCourse.constant(time, formula.value)
            name = looked[formula]
            slopes = None if smooth is None else columns.get(name + SLOPE)
            return SignalCourse(time, columns[name], slopes, (smooth or {}).get(name))

        def sampled(formula: Formula) -> SignalCourse:
            return look(formula).take(on_grid)

        def reduce(part: Reduced | MetricNamed) -> np.ndarray:
            if isinstance(part, MetricNamed):
                return found[part.name]
            inside = {f: columns[name][:, -1] for f, name in integrated.items()}
            return reduction(part, time[on_grid], sampled, inside)

        for name, one in self.metrics.items():
            if isinstance(one, MetricTable):
                found[name] = described(one, sampled(_operand(one)))
            else:
                found[name] = over_run(one, reduce)
        for name, formula in self.requirements.items():
            margin = robust_over_run(formula, time, look, reduce, grid) + 0.0  # makes -0 plain 0
            if any(isinstance(part, MetricNamed) for part in below(formula)):
                margin = np.where(np.isnan(margin), -np.inf, margin)  # it does not settle
            found[name], found[name + ROBUSTNESS] = margin >= 0, margin
        return found


def _squared(formula: Formula) -> Formula:
    return Arithmetic(formula.column, "^", formula, PlainNumber(formula.column, 2.0))


def _looked_at(one: Formula | MetricTable) -> list[Formula]:
    """All formulas in a metric or requirement."""
    parts = [*below(_operand(one) if isinstance(one, MetricTable) else one)]
    return [*parts, *(_squared(p.of) for p in parts if isinstance(p, Reduced) and p.reduction == "rms")]


def _sides(formula: Formula) -> set[Formula]:
    """Both sides of all comparisons in a condition."""
    return {side for p in below(formula) if isinstance(p, Compared) for side in (p.left, p.right)}


def _operand(table: MetricTable) -> Formula:
    return next(f for name in METRICS if (f := getattr(table, name)) is not None)


Reduce = Callable[[Reduced | MetricNamed], np.ndarray]  # the number of each run, (runs,)


def _of_run(formula: Formula) -> bool:
    """Whether it has numbers of the whole run in it."""
    return any(isinstance(p, (Reduced, MetricNamed)) for p in below(formula))


def over_run(formula: Formula, reduce: Reduce) -> np.ndarray:
    """A number about a whole run: arithmetic on reductions and metrics."""
    if isinstance(formula, (Reduced, MetricNamed)):
        return reduce(formula)
    if isinstance(formula, Arithmetic):
        a, b = over_run(formula.left, reduce), over_run(formula.right, reduce)
        with np.errstate(all="ignore"):
            names = {"a": a, "b": b}
            simple = Arithmetic(0, formula.sign, _named("a"), _named("b"))
            return np.asarray(value(simple, names.__getitem__))
    if isinstance(formula, Applied):
        values = [over_run(part, reduce) for part in formula.arguments]
        simple_call = Applied(0, formula.function, tuple(_named(str(k)) for k in range(len(values))))
        with np.errstate(all="ignore"):
            return np.asarray(value(simple_call, lambda n: values[int(n)]))
    return np.asarray(value(formula, _no_signal))


def _named(name: str) -> Formula:
    from cosim.study.formulas import Named

    return Named(0, name)


def _no_signal(name: str) -> Any:
    raise KeyError(name)  # refused where the study is read


def robust_over_run(
    formula: Formula,
    time: np.ndarray,
    look: Callable[[Formula], SignalCourse],
    reduce: Reduce,
    grid: np.ndarray | None = None,
) -> np.ndarray:
    """Robustness at the start of a run, (runs,); comparisons may also be of numbers about the whole run.

    grid : as of `margins`
    """

    within = any(isinstance(p, Temporal) for p in below(formula))
    seen = time if within else time[:1]  # operators over time look at every instant, also of what stays

    def looked(part: Formula) -> SignalCourse:
        if _of_run(part) or isinstance(part, PlainNumber):
            return SignalCourse.constant(seen, over_run(part, reduce))
        return look(part) if within else SignalCourse(seen, look(part).values[:, :1])

    first = np.arange(len(seen)) == 0
    return margins(formula, seen, looked, grid if within else None, first).at[..., 0]


def reduction(
    part: Reduced,
    time: np.ndarray,
    look: Callable[[Formula], SignalCourse],
    integrals: Mapping[Formula, np.ndarray],
) -> np.ndarray:
    """One number per run from a signal at the instants `time`, (runs,)."""
    if part.reduction in ("count", "duration"):
        found = TrueSpans.of(part.of, time, look)
        return found.count() if part.reduction == "count" else found.duration()
    span = time[-1] if len(time) else 0.0
    if part.reduction == "integral":
        return integrals[part.of]
    course = look(part.of)
    values = course.values
    match part.reduction:
        case "mean":
            return integrals[part.of] / span if span > 0 else values[:, -1]
        case "rms":
            return np.sqrt(integrals[_squared(part.of)] / span) if span > 0 else np.abs(values[:, -1])
        case "max" | "time_of_max":
            return course.highest()[part.reduction != "max"]
        case "min":
            return -(-course).highest()[0]
        case "time_of_min":
            return (-course).highest()[1]
        case "std":
            small, exponent = scaled(values, axis=1)
            return np.asarray(np.ldexp(np.std(small, axis=1), exponent))
        case "median":
            return np.asarray(np.median(values, axis=1))
        case "percentile":
            return np.asarray(np.percentile(values, part.more[0], axis=1))
        case "initial":
            return values[:, 0]
    return values[:, -1]


def measures_of(metrics: Mapping[str, Any], requirements: Sequence[RequirementTable]) -> Measures:
    """The measures in a study's tables."""
    return Measures(dict(metrics), {r.name: requirement_formula(r) for r in requirements})
