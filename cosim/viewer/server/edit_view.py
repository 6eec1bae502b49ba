"""A scenario edited in the browser: blocks of the library, wires, names, fields; saved as the same file."""

from __future__ import annotations

import asyncio
import os
from typing import Any, ClassVar

from blocks.arguments import file_path
from blocks.errors import PlantloopError
from cosim.viewer.diagram_data import diagram_data
from cosim.viewer.page import assembled
from cosim.viewer.page_data import PageData
from cosim.viewer.server.editor import Editor, library, settings_of_run
from cosim.viewer.server.served_page import ServedPage
from cosim.viewer.server.serving import Peer, both, listen

LOOK = 0.5  # s between two looks at the file


class EditView(ServedPage):
    """A scenario being edited: its page is at `address` until `close`. Several pages may show it."""

    shows: ClassVar[str] = "edit"

    def __init__(self, editor: Editor, host: str = "127.0.0.1", port: int = 0) -> None:
        self.editor = editor
        self._lock = asyncio.Lock()
        self._peers: set[asyncio.Event] = set()
        self._version = 0
        self._library, self._run = library(), settings_of_run()
        self.serve(host, port)

    # --- contents of the server -------------------------------------------------------------------
    def page(self, nonce: str) -> str:
        """See `Contents.page`."""
        picture = self.editor.picture()
        page = PageData(self.editor.path.name)
        page.add_diagram(picture.netlist, picture.system, picture.problems)
        return assembled(page, ("edit.js",), nonce)

    async def talk(self, peer: Peer) -> None:
        """See `Contents.talk`."""
        news = asyncio.Event()
        self._peers.add(news)
        try:
            await peer.send({"kind": "library", "blocks": self._library, "run": self._run})
            news.set()
            await both(self._show(peer, news), listen(peer, self._do), self._watch(peer))
        finally:
            self._peers.discard(news)

    async def _do(self, message: dict[str, Any]) -> str:
        async with self._lock:  # one change after the other
            said = await asyncio.to_thread(self.editor.do, message)
        for news in self._peers:
            news.set()
        return said

    async def _show(self, peer: Peer, news: asyncio.Event) -> None:
        while True:
            await news.wait()
            news.clear()
            async with self._lock:
                found = await asyncio.to_thread(self._contents)
            await peer.send({"kind": "diagram", **found})

    async def _watch(self, peer: Peer) -> None:
        """Notify the page when the file changes on the disk."""
        said = False
        while True:
            await asyncio.sleep(LOOK)
            changed = await asyncio.to_thread(self.editor.changed_on_disk)
            if changed != said:
                said = changed
                await peer.send({"kind": "disk", "changed": changed})

    def _contents(self) -> dict[str, Any]:
        picture = self.editor.picture()
        try:
            state = self.editor.state
        except PlantloopError as error:
            state = {"problems": str(error)}
        return {"diagram": diagram_data(picture.netlist, picture.system, picture.problems), "state": state}


def edit_scenario(
    path: str | os.PathLike[str],
    trust: bool = False,
    host: str = "127.0.0.1",
    port: int = 0,
    show: bool = True,
) -> EditView:
    """Edit a scenario in the browser.

    Raises
    ------
    ScenarioError       it cannot be read
    PlantloopError      the page cannot be served
    """
    view = EditView(Editor(file_path(path, "the scenario", "scenario.toml"), trust), host, port)
    if show:
        view.open()
    return view
