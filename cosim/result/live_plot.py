"""Live scopes: a figure that follows a simulation."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from blocks.arguments import flag, number
from cosim.run.watched import WatchedSignalWarning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from cosim.result.result import Result


class UnderWay(Protocol):
    """The interface of what is followed: a `cosim.Simulation`."""

    @property
    def time(self) -> float:
        """Present time [s]."""

    def advance(self, until: float) -> None:
        """Run on."""

    def result(self) -> Result:
        """What was logged so far."""


PICTURES = 50  # of a stretch that is run, where it is not said how often


class LivePlot:
    """A figure of what a simulation has logged so far, as `Result.plot` draws it.

    Parameters
    ----------
    sim : Simulation
    names               signals; a list of them shares axes
    window : float      how much of the newest time is shown [s]; None for all of it
    show : bool         in a window, where matplotlib has a backend with windows, or in the notebook's cell

    ``figure`` is the matplotlib figure, the same one all the time.
    """

    def __init__(
        self, sim: UnderWay, names: Sequence[str | Sequence[str]], window: float | None, show: bool
    ) -> None:
        self.sim, self.names = sim, names
        self.window = None if window is None else number(window, "window", "a positive time [s]", above=0.0)
        make = _window if flag(show, "show") or show else _unseen
        self.figure, self._refresh = make(len(names) or len(self._logged().signals))
        self.update()

    def update(self) -> Figure:
        """Bring the figure up to the present."""
        result, end = self._logged(), self.sim.time
        begin = float(result.time[0]) if len(result.time) else end
        if self.window is not None:
            begin = max(begin, end - self.window)
        result.plot(*self.names, window=(begin, end) if begin < end else None, figure=self.figure)
        self._refresh()
        return self.figure

    def _logged(self) -> Result:
        with warnings.catch_warnings():  # said at the end, once
            warnings.simplefilter("ignore", WatchedSignalWarning)
            return self.sim.result()

    def run(self, until: float, every: float | None = None) -> None:
        """Advance the simulation to `until` [s], and the figure with it every `every` seconds of its time.

        A step of the solver ends at each picture, as at the end of every `Simulation.advance`.

        Raises
        ------
        SimulationError     the run stopped before; the figure shows it up to there
        """
        begin, end = self.sim.time, number(until, "until", "a finite time [s]")
        step = (
            (end - begin) / PICTURES
            if every is None
            else number(every, "every", "a positive time [s]", above=0.0)
        )
        count = max(1, int(np.ceil((end - begin) / step - 1e-9))) if end > begin else 1
        try:
            for k in range(1, count + 1):
                self.sim.advance(end if k == count else begin + k * step)
                self.update()
        except BaseException:
            self.update()
            raise


def _unseen(rows: int) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    from cosim.result.result_plot import size_of

    return Figure(figsize=size_of(rows), layout="constrained"), lambda: None


def _window(rows: int) -> tuple[Figure, Any]:
    """A figure in a window or a notebook, and how it is refreshed."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        figure, _ = _unseen(rows)
        handle = sys.modules["IPython"].display.display(figure, display_id=True)
        return figure, (lambda: None) if handle is None else (lambda: handle.update(figure))
    import matplotlib

    if matplotlib.get_backend().lower() in ("agg", "cairo", "pdf", "pgf", "ps", "svg", "template"):
        return _unseen(rows)
    from matplotlib import pyplot

    from cosim.result.result_plot import size_of

    figure = pyplot.figure(figsize=size_of(rows), layout="constrained")
    figure.show()

    def refresh() -> None:
        figure.canvas.draw_idle()
        figure.canvas.flush_events()

    return figure, refresh
