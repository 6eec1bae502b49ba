"""Access control of the server: only clients with the token, from its own page, at a name of its own."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

ASGI = Callable[[MutableMapping[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost", "::1")
HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)


def policy(nonce: str, host: str) -> str:
    """The content security policy of a page: its own scripts, and a socket to its own server."""
    return (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:; "
        f"connect-src ws://{host}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )


@dataclass(frozen=True)
class Guard:
    """Passes allowed requests on; refuses others without any details.

    Every address begins with the token. The Host header must be a name of this machine, so that no other
    site can make its own name point here; a browser's Origin must be this server itself.
    """

    app: ASGI
    token: str
    port: int
    host: str

    async def __call__(
        self, scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Handle one request or socket (ASGI)."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        headers = {k.decode("latin-1").lower(): v.decode("latin-1") for k, v in scope.get("headers", ())}
        if not self.lets_in(scope, headers):
            await _refuse(scope, receive, send)
            return
        scope = {**scope, "path": scope["path"][len(self.token) + 1 :], "raw_path": b""}

        async def dressed(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", ()), *HEADERS]}
            await send(message)

        await self.app(scope, receive, dressed)

    def lets_in(self, scope: MutableMapping[str, Any], headers: dict[str, str]) -> bool:
        """Whether a request is allowed."""
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        token = hmac.compare_digest(first.encode(), self.token.encode())
        host, origin = headers.get("host", ""), headers.get("origin")
        if not token or not self._own_name(host):
            return False
        if scope["type"] == "websocket":
            return origin == f"http://{host}"
        return scope["method"] in ("GET", "HEAD") and origin in (None, f"http://{host}")

    def _own_name(self, host: str) -> bool:
        name, _, port = host.rpartition(":")
        name = name.strip("[]")
        if port != str(self.port):
            return False
        if name in LOOPBACK or name == self.host:
            return True
        if self.host in LOOPBACK:
            return False
        try:  # no site can take an address for its name
            ipaddress.ip_address(name)
        except ValueError:
            return name == socket.gethostname()
        return True


async def _refuse(
    scope: MutableMapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    body = b"not found"
    start = {
        "type": "http.response.start",
        "status": 404,
        "headers": [(b"content-type", b"text/plain"), *HEADERS],
    }
    await send(start)
    await send({"type": "http.response.body", "body": body})
