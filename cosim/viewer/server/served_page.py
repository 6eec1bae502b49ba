"""A page that is served until it is closed: the common part of live views, edited scenarios and studies."""

from __future__ import annotations

import abc
import webbrowser
from collections.abc import Callable
from typing import ClassVar, Self

from cosim.viewer.server.serving import Peer, Serving, wait


class ServedPage(abc.ABC):
    """A page at `address` until `close`; also a context manager."""

    shows: ClassVar[str]  # a word for it, before its address in a notebook
    _serving: Serving | None = None

    @abc.abstractmethod
    def page(self, nonce: str) -> str:
        """See `Contents.page`."""

    def part(self, path: str, nonce: str) -> str | None:
        """See `Contents.part`."""
        return None

    @abc.abstractmethod
    async def talk(self, peer: Peer) -> None:
        """See `Contents.talk`."""

    def serve(self, host: str = "127.0.0.1", port: int = 0) -> None:
        """Begin to serve the page.

        Raises
        ------
        PlantloopError      no such host, or the port is taken
        """
        self._serving = Serving(self, host, port)

    @property
    def address(self) -> str:
        """The address of the page; anyone who knows it can do what the page can."""
        return "" if self._serving is None else self._serving.address

    def open(self) -> None:
        """Show the page in the browser."""
        webbrowser.open(self.address)

    def wait(self, until: Callable[[], bool] = lambda: False) -> None:
        """Wait until something holds, or Ctrl-C, which ends the page."""
        wait(self.close, until)

    def close(self) -> None:
        """End the page."""
        if self._serving is not None:
            self._serving.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close()

    def _repr_html_(self) -> str:
        return f'<a href="{self.address}" target="_blank" rel="noopener">{self.shows}: {self.address}</a>'
