"""A study in the browser while it runs: the page shows cases as soon as they are done."""

from __future__ import annotations

import asyncio
import html
import threading
import time
from typing import Any, ClassVar, Protocol

from blocks.errors import PlantloopError
from cosim.result.result import Result
from cosim.study.study_view import StudyView
from cosim.viewer.page import assembled
from cosim.viewer.page_data import PageData
from cosim.viewer.server.served_page import ServedPage
from cosim.viewer.server.serving import Peer, both, listen
from cosim.viewer.stored_drawings import of_result
from cosim.viewer.study_data import of_study

LOOK = 0.5  # s between two looks at the folder
MOST_CASES = 8  # pages of cases that are kept
SHARE = 5.0  # it rests so many times as long as it took to read the folder


class CaseView(Protocol):
    """One case."""

    @property
    def result(self) -> Result:
        """Its signals."""


class StudyCases(StudyView, Protocol):
    """Results of a study whose cases can be looked at one by one."""

    def case(self, number: int) -> CaseView:
        """One of them."""


class StudyLive(ServedPage):
    """The page of a study, at `address` until `close`: it refreshes itself, and never changes the study.

    view : StudyCases     what is read anew at each look, as `cosim.open_study` gives it
    """

    shows: ClassVar[str] = "study"

    def __init__(self, view: StudyCases, host: str = "127.0.0.1", port: int = 0) -> None:
        self._view = view
        self._lock, self._running = asyncio.Lock(), threading.Lock()
        self._cases: dict[int, PageData] = {}
        self._done, self._problem, self._data = self._count(), "", of_study(view)
        self.serve(host, port)

    def __repr__(self) -> str:
        return f"<StudyLive of '{self._data.title}', {self._done} cases done: {self.address}>"

    # --- contents of the server -------------------------------------------------------------------
    def page(self, nonce: str) -> str:
        """See `Contents.page`."""
        return assembled(self._data, ("study_live.js",), nonce)

    def part(self, path: str, nonce: str) -> str | None:
        """The page of a case that is run for it, under "case/NUMBER"; what went wrong is its text."""
        what, _, number = path.partition("/")
        if what != "case" or not number.isdecimal() or len(number) > 9:
            return None
        try:
            return assembled(self._case(int(number)), (), nonce)
        except PlantloopError as error:
            return f"<!doctype html><title>case {number}</title><pre>{html.escape(str(error))}</pre>"

    def _case(self, number: int) -> PageData:
        with self._running:  # one at a time
            if number not in self._cases:
                while len(self._cases) >= MOST_CASES:
                    del self._cases[next(iter(self._cases))]
                page = of_result(self._view.case(number).result)
                page.title = f"{self._data.title}, case {number}"
                self._cases[number] = page
            return self._cases[number]

    async def talk(self, peer: Peer) -> None:
        """See `Contents.talk`."""
        await both(self._show(peer), listen(peer, self._do))

    async def _do(self, message: dict[str, Any]) -> str:
        raise PlantloopError("the page of a study takes no commands.")

    async def _show(self, peer: Peer) -> None:
        """Send the results whenever there are more than before."""
        shown: PageData | None = None
        problem = ""
        while True:
            began = time.perf_counter()
            async with self._lock:  # one look for all pages
                await asyncio.to_thread(self._look)
            if self._data is not shown:
                shown = self._data
                await peer.send({"kind": "study", **shown.content})
                await peer.send_numbers(shown.numbers.all())
            if self._problem != problem:
                problem = self._problem
                await peer.send({"kind": "problem", "text": problem})
            await asyncio.sleep(max(LOOK, SHARE * (time.perf_counter() - began)))

    def _look(self) -> None:
        """Read the folder if it has more cases than before; unreadable data is read later."""
        try:
            done = self._count()
            if done != self._done:
                self._data, self._done = of_study(self._view), done
            self._problem = ""
        except (PlantloopError, OSError, ValueError) as error:  # a file half written is no table yet
            self._problem = str(error)

    def _count(self) -> int:
        return len(self._view.store.done())


def view_study(view: StudyCases, host: str = "127.0.0.1", port: int = 0, show: bool = True) -> StudyLive:
    """Show a study in the browser as it runs.

    Raises
    ------
    PlantloopError      it cannot be read, or the page cannot be served
    """
    live = StudyLive(view, host, port)
    if show:
        live.open()
    return live
