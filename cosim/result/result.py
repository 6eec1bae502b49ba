"""The result of a run: logged signals, ticks, events, settings and statistics.

A `Result` is plain data and never changes. It knows how to be looked at (`r["plant.pendulum"]`, `r.at`,
`r.ticks`, `r.plot`), converted (`r.to_xarray`, `r.to_pandas`) and kept (`r.save`, `Result.load`). Files are
in `result_files.py` (their arrays: `result_layout.py`), pictures in `result_plot.py`; netCDF4, xarray, pandas
and matplotlib are imported on first use.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, KeysView, Mapping, Sequence
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.arguments import flag, is_number
from blocks.errors import PlantloopError, near_miss, shown
from blocks.figure_file import save_figure
from cosim.names import listed, mapped, that_fit
from cosim.result.checked_values import (
    checked_events,
    checked_instants,
    checked_rows,
    checked_settings,
    checked_ticks,
    fitting,
    plain,
)
from cosim.result.drawing import KeptDrawing
from cosim.result.other_names import INSTEAD
from cosim.result.record import Event, FloatArray, SettingValue, TickSeries
from cosim.result.spectrum import amplitudes
from cosim.signal_tree import SignalTree

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.figure import Figure

    from cosim.fmi.coupling.quality import CouplingQuality
    from cosim.result.result_plot import Course
    from cosim.viewer.page import Page


class UnknownSignalError(PlantloopError, KeyError):
    """A result has no such signal or component; also a KeyError, so a Result behaves like a mapping."""

    __str__ = Exception.__str__  # KeyError would print the quoted representation of the message


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The record of one run, complete or partial.

    Parameters
    ----------
    name : str               the diagram's name
    time : (n,) float        the logged instants [s], exactly those asked for, never decreasing
    signals : name -> (n, k) float   one row per instant; (n,) is taken as (n, 1)
    tree : SignalTree        what is known of the signals: labels, units, rates, other names; optional
    ticks_of : name -> Ticks         the samples of every sampled signal: times (m,) [s], values (m, k)
    events : Events          in the order they happened
    settings : name -> Setting       solver, tolerances, versions, model hash, with their origin
    statistics : name -> value       steps, rejections, evaluations, ticks per rate, wall times
    complete : bool          False for what was computed before a run failed or was cancelled
    message : str            why the run ended, when it was not at its end time
    origin : tuple           what was run, as it was drawn and flat, and how it began, for `view`; None in a
                             copy, a file or another process
    coupling : CouplingQuality, or None     of units that step themselves, where a coupling was given
    drawing : KeptDrawing, or None              of a result from a file: the diagram and plants kept in it

    Arrays are made read-only views, not copies. Settings, statistics and event values are reduced to what
    JSON can hold: numbers, texts, None, tuples and mappings; anything else becomes its text.

    >>> r["plant.pendulum"]          # (n, k)
    >>> r["plant.pendulum[0]"], r["plant.pendulum.theta"]      # (n,): one component, by number or label
    """

    name: str
    time: FloatArray
    signals: Mapping[str, FloatArray]
    tree: SignalTree = field(default_factory=SignalTree)
    ticks_of: Mapping[str, TickSeries] = field(default_factory=dict)
    events: tuple[Event, ...] = field(default_factory=tuple)
    settings: Mapping[str, SettingValue] = field(default_factory=dict)
    statistics: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    message: str = ""
    origin: Any = field(default=None, compare=False)
    coupling: CouplingQuality | None = None
    drawing: KeptDrawing | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        time = checked_instants(self.time, f"result '{self.name}'")
        signals = {s: checked_rows(v, len(time), s) for s, v in mapped(self.signals, "signals").items()}
        ticks = {s: checked_ticks(s, t) for s, t in mapped(self.ticks_of, "ticks_of").items()}
        width = {s: v.shape[1] for s, v in signals.items()}
        width |= {s: t.values.shape[1] for s, t in ticks.items() if s not in width}
        frozen: dict[str, Any] = {
            "time": time,
            "signals": signals,
            "ticks_of": ticks,
            "tree": fitting(self.tree, width),
            "events": checked_events(self.events),
            "settings": checked_settings(self.settings),
            "statistics": plain(self.statistics),
            "complete": flag(self.complete, "complete"),
        }
        for key, value in frozen.items():
            object.__setattr__(self, key, MappingProxyType(value) if isinstance(value, dict) else value)

    @classmethod
    def of_run(cls, later: Mapping[str, Callable[[], Any]], **fields: Any) -> Result:
        """A result from all its fields as a run of ours has them, so that there is nothing to check.

        Arrays are read-only, those of signals (n, k), the tree has these signals, mappings cannot be changed,
        and their values are plain.

        later : functions that make some of the fields where somebody looks at them, the same each time
        """
        made = object.__new__(cls)
        made.__dict__.update(fields, _later=later)
        return made

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """What is made when it is looked at; else it says how to come to a signal, a table or a file."""
            make = self.__dict__.get("_later", {}).get(name)
            if make is not None:
                return self.__dict__.setdefault(name, make())
            raise AttributeError(f"a Result has no attribute '{name}'; {self._instead(name)}")

    def _instead(self, name: str) -> str:
        """What to write for a name that a Result has not."""
        signals = [s for s in self.__dict__.get("signals", ()) if s == name or s.startswith(f"{name}.")]
        if signals:
            return f"a signal is result['{signals[0]}']."
        return INSTEAD.get(name) or near_miss(name, [n for n in dir(type(self)) if n[0] != "_"])

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle through the constructor: mapping proxies cannot be pickled, read-only flags get lost."""
        values = (None if f.name == "origin" else getattr(self, f.name) for f in fields(self))
        return type(self), tuple(dict(v) if isinstance(v, MappingProxyType) else v for v in values)

    def __repr__(self) -> str:
        n = len(self.time)
        span = f", t = {self.time[0]:.6g} .. {self.time[-1]:.6g} s" if n else ""
        counts = f"{len(self.signals)} signals ({len(self.ticks_of)} sampled), {len(self.events)} events"
        state = "" if self.complete else f", partial: {self.message or 'stopped early'}"
        who = f", {self.settings['engine'].value} engine" if "engine" in self.settings else ""
        return f"<Result '{self.name}': {n} instants{span}, {counts}{who}{state}>"

    # -- looking at signals

    @property
    def labels(self) -> dict[str, tuple[str, ...]]:
        """Names of the components of those signals that have any."""
        return {leaf.name: leaf.labels for leaf in self.tree.leaves if leaf.labels}

    @property
    def units(self) -> dict[str, tuple[str, ...]]:
        """Units of the components of those signals that say them beside their labels."""
        return {leaf.name: leaf.units for leaf in self.tree.leaves if leaf.units}

    @property
    def aliases(self) -> dict[str, str]:
        """Other names of signals: the outputs of the diagram and of its subsystems."""
        return dict(self.tree.aliases)

    def keys(self) -> KeysView[str]:
        """Names of the logged signals, without their components."""
        return self.signals.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.signals)

    def __contains__(self, name: object) -> bool:
        try:
            return isinstance(name, str) and self.locate(name) is not None
        except UnknownSignalError:
            return False

    def __getitem__(self, name: str) -> FloatArray:
        """Signal ``name`` as (n, k); ``name[i]`` or ``name.label`` as (n,). Read-only."""
        signal, component = self.locate(name)
        values = self.signals[signal]
        return values if component is None else values[:, component]

    def at(self, t: float, name: str) -> FloatArray:
        """Value of ``name`` at the logged instant ``t`` [s]: (k,), or () for one component.

        ``t`` may differ from the instant by rounding (1e-12 relative). Values are not interpolated: an
        instant that was not logged is an error. If an instant was logged twice, the later value is returned.

        Raises
        ------
        PlantloopError          `t` is no number, or was not logged
        UnknownSignalError      no such signal
        """
        if not is_number(t):
            raise PlantloopError(
                f"at({shown(t)}, {shown(name)}): the first is {shown(t)}, expected a time [s].",
                value=t,
                hint='Write result.at(0.5, "block.port"): the time comes first.',
            )
        values, time = self[name], self.time
        slack = 1e-12 * abs(t)
        i = int(np.searchsorted(time, t + slack, side="right")) - 1
        if i < 0 or not abs(time[i] - t) <= slack < math.inf:
            near = ", ".join(f"{x:.12g}" for x in time[max(i, 0) : i + 2]) or "none: the log is empty"
            raise PlantloopError(
                f"'{name}' was not logged at t={t:.12g} s; the nearest instants are {near}.",
                path=name,
                time=t,
                hint="Ask for the instant with log_at=[...] or log_every=...",
            )
        return values[i]

    def ticks(self, name: str) -> TickSeries:
        """Ticks of a sampled signal, with fields ``time`` (m,) [s] and ``values`` (m, k).

        The values of one component are (m,). Unpacks: ``t, u = r.ticks("controller.u")``.
        """
        if isinstance(name, str) and name not in self.ticks_of and name in self:
            signal, _ = self.locate(name)
            if signal not in self.ticks_of:
                sampled = ", ".join(f"'{s}'" for s in self.ticks_of) or "none"
                raise UnknownSignalError(
                    f"'{signal}' has no ticks: it is not a sampled signal. Sampled ones: {sampled}.",
                    path=signal,
                    hint=f"Its values at the logged instants are result['{name}'].",
                )
        signal, component = self.locate(name, self.ticks_of)
        time, values = self.ticks_of[signal]
        return TickSeries(time, values if component is None else values[:, component])

    def locate(self, name: str, among: Mapping[str, Any] | None = None) -> tuple[str, int | None]:
        """Split ``name`` into a signal and the number of a component, None where all are meant.

        An exact name takes precedence over ``signal[i]``, and that over ``signal.label``, with or without
        the unit in brackets at its end. ``among`` are the signals to search: all logged ones, or `ticks_of`.
        """
        known, where = self.signals if among is None else among, f"result '{self.name}'"
        if not isinstance(name, str):
            raise UnknownSignalError(f"{shown(name)} is no signal name in {where}.", value=name)
        if not isinstance(known, Mapping) or not all(s in self.tree for s in known):
            raise PlantloopError(
                f"among is {shown(among)}, expected signals of {where}, such as ticks_of.", value=among
            )
        kind = "sampled signal" if among is self.ticks_of else "signal"
        names = self.tree.names(where, kind, known, UnknownSignalError)
        if among is None and names.find(name) is None and (whole := self._in_what_ran(name)):
            raise UnknownSignalError(
                f"'{name}' was not kept in {where}.",
                path=name,
                value=name,
                hint=f'Name it in the run: signals=["{whole}", ...].',
            )
        return names.locate(name)

    def _in_what_ran(self, name: str) -> str | None:
        """The signal of that name in what was run, whole, as far as that is known here."""
        try:
            return None if self.origin is None else self.origin[1].locate(name)[0]
        except PlantloopError:
            return None

    def _course(self, name: str) -> Course:
        """A signal or component over time: at its ticks if it has any, else at the logged instants."""
        from cosim.result.result_plot import Course

        if not isinstance(name, str):
            raise UnknownSignalError(f"{shown(name)} is no signal name in result '{self.name}'.", value=name)
        sampled = (self.locate(name)[0] if name in self else name) in self.ticks_of
        time, values = self.ticks(name) if sampled else (self.time, self[name])
        signal, component = self.locate(name, self.ticks_of if sampled else self.signals)
        chosen = slice(None) if component is None else slice(component, component + 1)
        leaf = self.tree[signal]
        units, labels = ((texts or ("",) * leaf.size)[chosen] for texts in (leaf.units, leaf.labels))
        return Course(name, time, values.reshape(len(time), len(units)), sampled, labels, units)

    # -- other shapes of the same data

    def to_xarray(self) -> xr.Dataset:
        """Dataset with one variable per signal over ``time``, and with everything else of the result.

        A signal of one component has dimension ``time``; others also ``<signal>.component``, with the labels
        as coordinate. Ticks are ``<signal>@ticks`` over ``<signal>@time``. Events are ``event_time``,
        ``event_name``, ``event_before`` and ``event_after`` (JSON texts). Settings and statistics are JSON
        texts in ``attrs``. A signal whose name is taken by one of these gets a trailing underscore.
        """
        from cosim.result.result_layout import to_dataset

        return to_dataset(self)

    def to_pandas(self) -> pd.DataFrame:
        """Table of all signals: index ``time`` [s], columns ``name[i]``, or ``name`` where k = 1."""
        from cosim.result.result_files import to_table

        return to_table(self)

    def save(self, path: str | os.PathLike[str], drawing: bool = True) -> None:
        """Write the result to ``path``; the suffix chooses the format, missing folders are made.

        ``.nc`` (NetCDF 4, read by xarray and many tools) and ``.npz`` (NumPy) hold everything and can be
        loaded again, ``.npz`` much faster where there are thousands of signals; ``.csv`` holds the table of
        `to_pandas` only. The file appears under its name when it is complete: an interrupted save leaves an
        older file as it was.

        drawing : bool      keep the diagram and the places of plants too (at most 16 MB, compressed), so that
                            `view` of the loaded result shows them. The texts of fields are among them
        """
        from cosim.result.result_files import save
        from cosim.viewer.stored_drawings import drawing_of

        save(self, path, drawing_of(self) if flag(drawing, "drawing") else None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read what `save` wrote as ``.nc`` or ``.npz``; every number comes back bit for bit."""
        from cosim.result.result_files import load

        return load(path, cls)

    def view(
        self,
        *,
        out: str | os.PathLike[str] | None = None,
        show: bool = True,
        forces: bool = False,
        linear: bool = False,
        beside: Result | None = None,
    ) -> Page:
        """One page in the browser: diagram, scopes, moving plants; see `cosim.viewer.page`.

        The diagram and its plants are shown if the run was made in this process, or if `save` wrote the file
        in the process of the run.

        out : path      where the page is written; default a temporary file that a browser shows
        show : bool     False: no browser is opened
        forces : bool   arrows of forces and reactions in plants that were not observed: computed from the
                        logged states and inputs, which takes a second or more. Observed plants have them
        linear : bool   Bode, Nyquist and step pictures from any wire to any other, and margins of loops, of
                        the linear model about the start, and about later instants (20 at most) where the
                        states were logged: the page shows that nearest to its time cursor
        beside          another result: its curves are dashed beside those of this one, with a table of
                        how far they are apart

        Raises
        ------
        PlantloopError      the page cannot be written, or forces cannot be found from what was logged
        """
        from cosim.viewer.compare_data import of_two
        from cosim.viewer.page import view
        from cosim.viewer.stored_drawings import of_result

        asked = flag(forces, "forces"), flag(linear, "linear")
        if beside is None:
            return view(of_result(self, *asked), out, show)
        if not isinstance(beside, Result):
            raise PlantloopError(f"beside is {shown(beside)}, expected a Result.", value=beside)
        labels = (self.name, beside.name if beside.name != self.name else f"{beside.name}, second")
        return view(of_two(self, beside, labels, *asked), out, show)

    def plot(
        self,
        *names: str | Sequence[str],
        path: str | os.PathLike[str] | None = None,
        title: str | None = None,
        window: tuple[float, float] | None = None,
        figure: Figure | None = None,
    ) -> Figure:
        """Draw the named signals, or all, one below the other over time, and save the picture to ``path``.

        The names in a list share axes: ``r.plot(["ref.y", "plant.theta"], "controller.u")``; one with stars
        means all that fit, which share axes too: ``r.plot("plant.*")``. `window` is the
        interval of time [s] that is drawn; events in it are marked. `figure` is cleared and drawn into; by
        default a new one is made.

        Sampled signals are drawn as steps with a dot at each tick, others as lines. No window is opened, and
        matplotlib's backend is not changed: a notebook displays the returned figure, or ``figure.savefig``
        saves it. The title defaults to the diagram's name.
        """
        from cosim.result.result_plot import draw

        if not isinstance(title, str | None):
            raise PlantloopError(f"title is {shown(title)}, expected a text.", value=title)
        span = (float(self.time[0]), float(self.time[-1])) if len(self.time) else None
        if window is not None:
            span = _two_times(window, span)
        groups = [list(self._meant(name)) for name in names or self.keys()]
        if not all(groups):
            raise PlantloopError(
                "plot got a list without names, expected signals that share axes.", value=names
            )
        courses = [[self._course(name) for name in group] for group in groups]
        events = sorted({event.time for event in self.events if span and span[0] <= event.time <= span[1]})
        figure = draw(courses, span, self.name, title, self.complete, events, figure, window is not None)
        if path is not None:
            save_figure(figure, path)
        return figure

    def _meant(self, names: str | Sequence[str]) -> Iterator[str]:
        """The signals of one pair of axes; of a name with stars all that fit."""
        for name in [names] if isinstance(names, str) else listed(names, "names"):
            if not isinstance(name, str) or "*" not in name:
                yield name
                continue
            fits = that_fit(name, self)
            if not fits:
                near = near_miss(name.replace("*", ""), self)
                why = f"result '{self.name}' has no signal that fits '{name}'; {near}"
                raise UnknownSignalError(why, path=name, value=name)
            yield from fits

    def animate(
        self,
        file: str | os.PathLike[str],
        fps: float = 25.0,
        slower: float = 1.0,
        plant: str | None = None,
    ) -> int:
        """Write the motion of a plant as .gif, or .mp4 where ffmpeg is; returns the number of frames.

        fps : frames per second; slower : factor by which the animation is slower than the motion; plant :
            path of the plant, if there are several. The run must have been made in this process, with the
            plant's coordinates logged

        Raises
        ------
        PlantloopError      no plant, or none of that name; another kind of file; numbers that are no rates
        """
        from cosim.viewer.animation import animate

        return animate(self, file, fps, slower, plant)

    def phase(self, x: str, y: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw one component over another, such as a rate over its angle; ``path`` as in `plot`.

        Raises
        ------
        PlantloopError      no such signals, or of several components
        """
        from cosim.result.result_plot import Course, draw_phase

        found = [self._course(name) for name in (x, y)]
        for course in found:
            if len(course.units) != 1:
                raise PlantloopError(
                    f"'{course.name}' has {len(course.units)} components; name one, '{course.name}[0]'.",
                    path=course.name,
                )
        found = [
            Course(c.name, self.time, np.reshape(self[c.name], (len(self.time), 1)), False, c.labels, c.units)
            for c in found
        ]
        figure = draw_phase(found[0], found[1], self.name)
        if path is not None:
            save_figure(figure, path)
        return figure

    def spectrum(self, name: str, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw the amplitudes of one component over frequency; the numbers: `cosim.result.spectrum`.

        Raises
        ------
        PlantloopError      no such signal, of several components, or fewer than 16 instants
        """
        from cosim.result.result_plot import draw_spectrum

        course = self._course(name)
        if len(course.units) != 1:
            raise PlantloopError(
                f"'{name}' has {len(course.units)} components; name one, '{name}[0]'.", path=name
            )
        figure = draw_spectrum(*amplitudes(self.time, np.ravel(self[name])), course)
        if path is not None:
            save_figure(figure, path)
        return figure


def _two_times(window: Any, run: tuple[float, float] | None) -> tuple[float, float]:
    """The ends of a stretch of time [s], some of which is in the run."""
    pair = tuple(window) if isinstance(window, (tuple, list)) else ()
    if len(pair) != 2 or not all(map(is_number, pair)) or not float(pair[0]) < float(pair[1]):
        raise PlantloopError(
            f"window is {shown(window)}, expected two times, the first one smaller.", value=window
        )
    begin, end = float(pair[0]), float(pair[1])
    if run and (end < run[0] or begin > run[1]):
        raise PlantloopError(
            f"window is {shown(window)}, but the run goes from {run[0]:g} to {run[1]:g} s.", value=window
        )
    return begin, end
