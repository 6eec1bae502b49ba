"""The report of a scenario: the outcomes of its checks, and the files it writes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from blocks.figure_file import save_figure
from blocks.files import is_inside
from cosim.result.result import Result
from cosim.scenario.keys import FilePlace
from cosim.scenario.scenario import Scenario
from cosim.scenario.schema import Plot

MOST_ROWS = 6  # signals in the picture that is drawn when a scenario lists none


@dataclass(frozen=True)
class Finding:
    """The outcome of one check.

    passed : bool or None     None for a number that is reported without a limit
    """

    what: str  # "final plant.pendulum[0]"
    value: float  # nan where there is no value
    text: str
    passed: bool | None = None


def findings(scenario: Scenario, result: Result) -> list[Finding]:
    """The checks of a scenario, in the order of the file."""
    checks = scenario.tables.checks
    found = []
    for name, final in checks.final.items():
        last = result[name].ravel()[-1] + 0.0 if len(result.time) else np.nan  # + 0.0 makes -0 plain 0
        limit = "" if final.tolerance is None else f", expected {final.value:g} +- {final.tolerance:g}"
        passed = None if final.tolerance is None else bool(abs(last - final.value) <= final.tolerance)
        found.append(Finding(f"final {name}", float(last), f"{last:.6g}{limit}", passed))
    for name, largest in checks.largest.items():
        peak = float(np.abs(result[name]).max(initial=0.0))
        limit = "" if largest.limit is None else f", at most {largest.limit:g}"
        passed = None if largest.limit is None else peak <= largest.limit
        found.append(Finding(f"largest {name}", peak, f"{peak:.6g}{limit}", passed))
    for name, settling in checks.settling.items():
        t = settling_time(result.time, result[name].ravel(), settling.value, settling.band)
        band = f"{settling.value:g} +- {settling.band:g}"
        limit = "" if settling.within is None else f", expected within {settling.within:g} s"
        text = f"{t:.6g} s to stay in {band}{limit}" if np.isfinite(t) else f"not settled in {band}{limit}"
        passed = None if settling.within is None else bool(t <= settling.within)
        found.append(Finding(f"settling {name}", t, text, passed))
    return found


def settling_time(time: np.ndarray, values: np.ndarray, value: float, band: float) -> float:
    """First logged instant [s] from which on the signal stays in ``value +- band``; nan if there is none.

    Parameters
    ----------
    time, values : (n,)    the logged instants and the signal there; nothing is interpolated
    """
    outside = np.flatnonzero(~(np.abs(values - value) <= band))
    first = int(outside[-1]) + 1 if len(outside) else 0
    return float(time[first]) if first < len(time) else float("nan")


def check_files(scenario: Scenario, folder: Path) -> None:
    """Check that the files of a scenario will lie in a folder, links to others followed.

    Raises
    ------
    ScenarioError      one leads out of the folder
    """
    outputs, place = scenario.tables.outputs, FilePlace(scenario.source, ("outputs",))
    if not is_inside((folder / outputs.result).parent, [folder]):
        place.at("result").add_problem(_OUT.format(outputs.result, folder))
    for k, plot in enumerate(outputs.plots):
        if not is_inside((folder / plot.file).parent, [folder]):
            place.at("plots", k, "file").add_problem(_OUT.format(plot.file, folder))
    place.raise_problems()


_OUT = "\"{}\" leads out of the output folder '{}' through a link; remove the link, or rename the file."


def write(scenario: Scenario, result: Result, folder: Path, plots: bool = False) -> list[Path]:
    """Write the result, and pictures if the scenario has any, into a folder; returns the files."""
    check_files(scenario, folder)
    target = folder / scenario.tables.outputs.result
    result.save(target)
    written = [target]
    if plots and len(result.time):
        for plot in scenario.tables.outputs.plots or (_default_plot(scenario, result),):
            written.append(folder / plot.file)
            draw(plot, result, written[-1])
    return written


def draw(plot: Plot, result: Result, path: Path) -> None:
    """Draw one picture of a result."""

    figure = result.plot(*plot.signals, title=plot.title)
    for axes, label in zip(figure.axes, plot.labels, strict=False):
        axes.set_title(label, loc="left", fontsize="medium")
        if (legend := axes.get_legend()) is not None and len(axes.lines) == 1:
            legend.remove()
    if plot.time is not None:
        figure.axes[0].set_xlim(*plot.time)  # the rows share their time axis
    save_figure(figure, path)


def _default_plot(scenario: Scenario, result: Result) -> Plot:
    """Signals to draw by default: the ports of the model, or else the first signals."""
    model = scenario.tables.model
    ports = [name for name in result if model and name.startswith(f"{model.block}.")]
    return Plot(file=f"{scenario.name}.png", signals=tuple((ports or list(result))[:MOST_ROWS]))
