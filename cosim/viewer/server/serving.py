"""The server: one page and one socket, only on this machine by default, in a thread of its own."""

from __future__ import annotations

import asyncio
import json
import secrets
import socket
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from blocks.errors import PlantloopError
from cosim.viewer.server.guard import LOOPBACK, Guard, policy

MOST_CLIENTS = 32
MOST_BYTES = 2**16  # bytes of a message from a client
MOST_WAITING = 64  # texts waiting for a client that does not read


class Peer:
    """An open page: messages from it, and answers to it."""

    def __init__(self, websocket: Any) -> None:
        self._websocket = websocket

    async def send(self, message: dict[str, Any]) -> None:
        """Send a message as JSON."""
        await self._websocket.send_text(json.dumps(message, allow_nan=False))

    async def send_numbers(self, numbers: bytes) -> None:
        """Send little-endian doubles."""
        await self._websocket.send_bytes(numbers)

    async def receive(self) -> dict[str, Any]:
        """The next message.

        Raises
        ------
        PlantloopError      it is no JSON object
        """
        text = await self._websocket.receive_text()
        try:
            found = json.loads(text)
        except (ValueError, RecursionError):
            raise PlantloopError("expected a JSON object.") from None
        if not isinstance(found, dict):
            raise PlantloopError("expected a JSON object.")
        return found


class Contents(Protocol):
    """The served contents: a page, and the protocol on its socket."""

    def page(self, nonce: str) -> str:
        """The HTML, its scripts with a nonce."""
        ...

    def part(self, path: str, nonce: str) -> str | None:
        """The HTML of another page under the address, as "case/7"; None where there is none. In a thread."""
        ...

    async def talk(self, peer: Peer) -> None:
        """Talk to a peer until it leaves."""
        ...


class Serving:
    """Serves contents at an address, until `close`.

    host : str      where it listens; anything but loopback lets other machines in that know the address
    port : int      0 takes a free one

    Raises
    ------
    PlantloopError      there is no such host, or the port is taken
    """

    def __init__(self, contents: Contents, host: str = "127.0.0.1", port: int = 0) -> None:
        self._contents, self._peers = contents, 0
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._socket = socket.socket(family)
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.bind((host, port))
        except (OSError, OverflowError, UnicodeError) as error:
            self._socket.close()
            raise PlantloopError(
                f"cannot listen on {host}:{port}: {error}.",
                value=port,
                hint="Leave --port out: a free one is taken.",
            ) from None
        self.port = int(self._socket.getsockname()[1])
        token = secrets.token_urlsafe(24)
        shown = "127.0.0.1" if host in LOOPBACK or host == "0.0.0.0" else host
        shown = f"[{shown}]" if ":" in shown else shown
        self.address = f"http://{shown}:{self.port}/{token}/"
        self._server = _uvicorn(Guard(self._app(), token, self.port, host))
        self._thread = threading.Thread(target=self._run, name="page server", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            self._thread.join(0.01)

    def close(self) -> None:
        """Stop listening and let every page go."""
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(10.0)
        self._socket.close()

    # --- inside -----------------------------------------------------------------------------------
    def _run(self) -> None:
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def _app(self) -> Any:
        from starlette.applications import Starlette
        from starlette.responses import HTMLResponse, PlainTextResponse
        from starlette.routing import Route, WebSocketRoute

        def page(request: Any) -> Any:
            nonce, path = secrets.token_urlsafe(18), request.path_params.get("path", "")
            found = self._contents.part(path, nonce) if path else self._contents.page(nonce)
            if found is None:
                return PlainTextResponse("not found", 404)
            headers = {"content-security-policy": policy(nonce, request.headers["host"])}
            return HTMLResponse(found, headers=headers)

        return Starlette(
            routes=[
                Route("/", page), WebSocketRoute("/socket", self._socket_opened), Route("/{path:path}", page),
            ]
        )  # fmt: skip

    async def _socket_opened(self, websocket: Any) -> None:
        from starlette.websockets import WebSocketDisconnect

        if self._peers >= MOST_CLIENTS:
            await websocket.close(1013)
            return
        self._peers += 1
        try:
            await websocket.accept()
            await self._contents.talk(Peer(websocket))
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # it has left: nothing of the run depends on it
        finally:
            self._peers -= 1


def _uvicorn(app: Any) -> Any:
    import uvicorn

    config = uvicorn.Config(
        app, log_level="critical", access_log=False, lifespan="off", server_header=False,
        ws="websockets-sansio", ws_max_size=MOST_BYTES, ws_max_queue=MOST_WAITING, http="h11",
        h11_max_incomplete_event_size=2**14,
        timeout_keep_alive=5, timeout_graceful_shutdown=1, ws_per_message_deflate=False,
    )  # fmt: skip
    return uvicorn.Server(config)


def wait(close: Callable[[], None], until: Callable[[], bool]) -> None:
    """Wait until something holds, or Ctrl-C; then close."""
    try:
        while not until():
            time.sleep(0.05)
    except KeyboardInterrupt:
        pass
    finally:
        close()


def both(*tasks: Awaitable[None]) -> Awaitable[None]:
    """Run tasks until the first ends; the others are ended then, and its error is raised."""

    async def run() -> None:
        started = [asyncio.ensure_future(task) for task in tasks]
        try:
            done, _ = await asyncio.wait(started, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            for task in started:
                task.cancel()
            await asyncio.gather(*started, return_exceptions=True)

    return run()


Answer = Callable[[dict[str, Any]], Awaitable[str]]


async def listen(peer: Peer, do: Answer) -> None:
    """Answer every message of a peer with a text, or with the error about it."""
    while True:
        number: int | None = None
        try:
            message = await peer.receive()
            number = found if isinstance(found := message.get("number"), int) else None
            said = await do(message)
        except PlantloopError as error:
            await peer.send({"kind": "refused", "number": number, "text": str(error)})
        else:
            await peer.send({"kind": "done", "number": number, "text": said})
