"""A run in the browser: `live_view` starts it, and the page plays, pauses and controls it.

live = d.view(live=True, until=60.0)         # or: cosim view scenario.toml --live
live.wait()                                  # until Ctrl-C; then live.result() is what was logged
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar, Unpack

import numpy as np

from blocks.arguments import flag, is_number
from blocks.contract.block import Block
from blocks.contract.rate import Rate
from blocks.errors import PlantloopError, shown
from cosim.block_alone import around, system_of
from cosim.diagram import Diagram
from cosim.result.result import Result
from cosim.scenario.handles import Opened, with_handles
from cosim.scenario.scenario import Scenario
from cosim.settings import Keywords, RunSettings
from cosim.simulation import Simulation
from cosim.viewer.page import assembled
from cosim.viewer.page_data import PageData, of_diagram
from cosim.viewer.server.player import Player
from cosim.viewer.server.saving import save_session
from cosim.viewer.server.served_page import ServedPage
from cosim.viewer.server.serving import Peer, both, listen
from cosim.viewer.server.watched_run import SliderHandle, WatchedRun

UNTIL = 600.0  # s, if no length is given
FRAME = 0.025  # s of wall time between two messages to a page
ROWS = 4000  # of one message at most


class LiveView(ServedPage):
    """A run that is watched: its page is at `address` until `close`.

    Closing a page, or many pages, changes nothing of the run.
    """

    shows: ClassVar[str] = "live"

    def __init__(self, run: WatchedRun, page: PageData, folder: Path, source: Scenario | None) -> None:
        self._run, self._data = run, page
        self.player = Player(run, lambda run: str(save_session(run, folder, source)))

    def do(self, what: str, **given: Any) -> str:
        """Carry out a command of a page, such as "play", "pause", "step", "back", "reset", "set", and wait.

        ``live.do("set", name="controller.K", value=[[1.0, 2.0]])``

        Raises
        ------
        PlantloopError      it cannot be done
        """
        return self.player.do({"do": what, **given}).result(600.0)

    def close(self) -> None:
        """End the run and its page; the result stays."""
        self.player.close()
        super().close()

    def result(self) -> Result:
        """The results logged so far; for a playing run, up to some instant."""
        playing = self.player.playing
        if playing:
            self.do("pause")
        found = self._run.result()
        if playing:
            self.do("play")
        return found

    def save(self) -> Path:
        """Write the session as a scenario that replays it; returns the path."""
        return Path(self.do("save"))

    def __repr__(self) -> str:
        return f"<LiveView of '{self._data.title}' at t = {self._run.time:.9g} s: {self.address}>"

    # --- contents of the server -------------------------------------------------------------------
    def page(self, nonce: str) -> str:
        """See `Contents.page`."""
        return assembled(self._data, ("live_sliders.js", "live_push.js", "live.js"), nonce)

    async def talk(self, peer: Peer) -> None:
        """See `Contents.talk`."""
        news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(news.set)

        leave = self.player.listen(tell)
        try:
            await peer.send({"kind": "hello", **self._hello()})
            news.set()
            await both(self._show(peer, news), listen(peer, self._do))
        finally:
            leave()

    async def _do(self, message: dict[str, Any]) -> str:
        return await asyncio.wrap_future(self.player.do(message))

    async def _show(self, peer: Peer, news: asyncio.Event) -> None:
        sent, cuts, sliders, state = 0, len(self.player.cuts), None, None
        while True:
            await news.wait()
            news.clear()
            player = self.player
            if len(player.cuts) > cuts:
                sent = min(sent, *player.cuts[cuts:])
                cuts = len(player.cuts)
                await peer.send({"kind": "cut", "rows": sent})
            if player.sliders is not sliders:
                sliders = player.sliders
                await peer.send({"kind": "values", "values": {s.name: _json(s.value) for s in sliders}})
            if player.state is not state:
                state = player.state
                await peer.send({"kind": "state", **state})
            table, rows = player.table, player.rows
            while sent < rows:
                upto = min(rows, sent + ROWS)
                await peer.send_numbers(table[sent:upto].astype("<f8").tobytes())
                sent = upto
            await asyncio.sleep(FRAME)

    def _hello(self) -> dict[str, Any]:
        run = self._run
        return {
            "width": run.table.shape[1],
            "signals": [leaf.name for leaf in run.tree.leaves],
            "plants": [[path, *run.widths(path)] for path in run.scenes],
            "sliders": [
                {
                    "name": s.name, "label": s.label, "kind": s.kind, "value": _json(s.value),
                    "units": self._units(s),
                }
                for s in self.player.sliders
            ],
            "pushes": [[p.plant, p.link] for p in run.opened.pushes],
            "every": float(run.recording.stop(1)),
        }  # fmt: skip

    def _units(self, slider: SliderHandle) -> list[str]:
        """Of the components of a slider, one for all, or none where nothing is known."""
        system = self._run.sim.system
        if slider.name in system.parameters and system.parameters[slider.name].unit:
            return [system.parameters[slider.name].unit]
        shown = system.signals.get(slider.label)
        return [] if shown is None else list(shown.units)


def _json(value: np.ndarray) -> Any:
    """Data for JSON: numbers that are not finite become null."""
    found = np.where(np.isfinite(value), value, np.nan).astype(object)
    found[np.isnan(value)] = None
    return found.tolist()


def interval_of(until: float) -> Fraction:
    """The time between two stops [s]: a round number, from a ten-thousandth to a hundredth of a run."""
    wanted = min(max(0.01, until / 10_000), until / 100) if until > 0 else 0.01
    power = Fraction(10) ** int(np.floor(np.log10(wanted)))
    return max(
        f * power for f in (Fraction(1), Fraction(2), Fraction(5)) if float(f * power) <= wanted * 1.000001
    )


def view_diagram(
    drawn: Diagram | Block,
    *,
    until: float | None = None,
    every: Rate | None = None,
    parameters: Mapping[str, Any] | None = None,
    initial: Mapping[str, Any] | None = None,
    signals: Sequence[str] | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    show: bool = True,
    folder: str | Path = ".",
    forces: bool = False,
    **settings: Unpack[Keywords],
) -> LiveView:
    """Run a diagram in the browser; see `cosim.Diagram.view`.

    Parameters
    ----------
    until : s                       where it ends; default 600
    every : s                       it stops, and is looked at, at multiples of this; default 0.01, less for
                                    runs shorter than a second, more for those longer than a hundred
    parameters, initial, signals    as for `cosim.simulate`
    host, port                      where the page is served
    show : bool                     open a browser
    folder : path                   where sessions are saved
    forces : bool                   arrows of forces and reactions of plants, also of those not observed
    **settings                      as for `cosim.simulate`

    Raises
    ------
    PlantloopError      the diagram cannot run, or the page cannot be served
    """
    d = around(drawn) if isinstance(drawn, Block) else drawn
    flag(forces, "forces")
    if until is not None and not (is_number(until) and 0 < until < float("inf")):
        raise PlantloopError(f"until is {shown(until)}, expected a finite time above zero [s].", value=until)
    run_settings = RunSettings.of(None, **settings)
    opened = with_handles(d.netlist())
    system = opened.system(run_settings.solve_loops, run_settings.driven, d.prefix)
    make = lambda names: Simulation(
        system, settings=run_settings, parameters=parameters, initial=initial, signals=names
    )
    end = UNTIL if until is None else float(until)
    stops = interval_of(end) if every is None else every
    sim = make(signals if signals is not None else shown_names(make(None), opened))
    run = WatchedRun(sim, opened, str(stops), end, (str(stops), None), system_of if forces else None)
    return _served(run, d, Path(folder), None, host, port, show)


def view_scenario(
    scenario: Scenario, host: str = "127.0.0.1", port: int = 0, show: bool = True, forces: bool = False
) -> LiveView:
    """Run a scenario in the browser; see `view_diagram`.

    Raises
    ------
    PlantloopError      it cannot run, or the page cannot be served
    """
    tables, settings = scenario.tables, scenario.settings()
    d = scenario.diagram()
    scenario.system()  # every name in it is checked
    opened = with_handles(d.netlist())
    system = opened.system(settings.solve_loops, settings.driven)
    logged = scenario.signals_to_log(system)
    make = lambda names: Simulation(
        system, settings=settings, parameters=tables.parameters, initial=tables.initial, signals=names
    )
    sim = make(logged if logged is not None else shown_names(make(None), opened))
    end = tables.run.until or UNTIL
    recording = scenario.recording()
    every = str(interval_of(end)) if recording is None else str(recording.every)
    log_every = tables.run.log_every
    if log_every is None and tables.run.log_at is None:
        log_every = every
    run = WatchedRun(sim, opened, every, end, (log_every, tables.run.log_at), system_of if forces else None)
    if recording is not None:
        run.play_again(recording)
    return _served(run, d, scenario.source.path.parent, scenario, host, port, show)


def shown_names(sim: Simulation, opened: Opened) -> list[str]:
    """Signals to log by default: all except the pushes."""
    pushes = {push.parameter.rpartition(".")[0] for push in opened.pushes}
    signals = sim.system.signals
    return [n for n in sim.names if n not in signals or signals[n].path not in pushes]


def _served(
    run: WatchedRun, d: Diagram, folder: Path, source: Scenario | None, host: str, port: int, show: bool
) -> LiveView:
    page = of_diagram(d, run.sim.system, run.result())
    for entry in page.content["plants"]:
        if entry["path"] in run.arrows:
            entry["arrows"] = run.arrows[entry["path"]].described(page.numbers.put)
    if source is not None:
        page.title = source.name
    live = LiveView(run, page, folder, source)
    try:
        live.serve(host, port)
    except PlantloopError:
        live.close()
        raise
    if show:
        live.open()
    return live
