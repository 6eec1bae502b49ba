"""The server of live pages under attack: refused, nothing leaks, and the run goes on."""

import http.client
import json
import socket
import time
from contextlib import ExitStack
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.sync.client import connect

from blocks import Gain, Integrator
from blocks.errors import PlantloopError
from cosim import Diagram
from cosim.viewer.server.live_view import view_diagram


@pytest.fixture(scope="module")
def live():
    d = Diagram("target")
    d.add("i", Integrator(1.0))
    d.add("g", Gain(-1.0))
    d.connect("i.y -> g.u", "g.y -> i.u")
    with view_diagram(d, until=1e4, every="0.01", show=False) as view:
        view.do("play")
        yield view


@pytest.fixture(autouse=True)
def the_run_goes_on(live):
    yield
    before = live.player.rows
    deadline = time.monotonic() + 120.0  # a busy machine works through what it was flooded with
    while live.player.rows <= before:
        assert time.monotonic() < deadline, "the run stands still"
        time.sleep(0.01)
    assert not live._run.ended


def parts(live):
    found = urlsplit(live.address)
    return found.hostname, found.port, found.path


def get(live, path, method="GET", **headers):
    host, port, _ = parts(live)
    connection = http.client.HTTPConnection(host, port, timeout=60)
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body, dict(answer.getheaders())


def opened(live, path=None, origin=None, **options):
    host, port, own = parts(live)
    own = own + "socket" if path is None else path
    return connect(
        f"ws://{host}:{port}{own}", origin=origin or f"http://{host}:{port}", close_timeout=0.5, **options
    )


def ask(client, **message):
    client.send(json.dumps({"number": 7, **message}))
    while True:
        answer = client.recv(timeout=60)
        if isinstance(answer, str) and (found := json.loads(answer))["kind"] in ("done", "refused"):
            return found


def test_the_page_itself_is_served_with_its_policy(live):
    status, body, headers = get(live, parts(live)[2])
    assert status == 200
    assert b"<title>target</title>" in body
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'nonce-")
    nonce = policy.split("'nonce-")[1].split("'")[0]
    assert body.count(f'nonce="{nonce}"'.encode()) == 1
    assert get(live, parts(live)[2])[2]["content-security-policy"] != policy  # another nonce each time
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "path",
    ["/", "/wrong/", "/%2e%2e/", "//", "/socket", "/?token=x", "/favicon.ico", "/%C3%A9/"],
)
def test_without_the_token_nothing_is_told(live, path):
    status, body, _ = get(live, path)
    assert (status, body) == (404, b"not found")


@pytest.mark.parametrize(
    "more",
    ["../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%2e%2e/%2e%2e/pyproject.toml", "static/live.js",
     "/etc/passwd", "socket/../x", "..\\..\\x", "%00", "a" * 9000],
)  # fmt: skip
def test_no_path_leads_anywhere(live, more):
    status, body, _ = get(live, parts(live)[2] + more)
    assert status in (400, 404)
    assert b"root:" not in body
    assert b"project" not in body


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"])
def test_only_reading(live, method):
    assert get(live, parts(live)[2], method)[0] == 404


def test_other_names_and_origins_are_refused(live):
    _, port, path = parts(live)
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"127.0.0.1:{port + 1}", "", "[::"):
        assert get(live, path, Host=host)[0] in (400, 404), host
    for origin in (
        "http://evil.example",
        "null",
        f"https://127.0.0.1:{port}",
        f"http://127.0.0.1:{port + 1}",
    ):
        assert get(live, path, Origin=origin)[0] == 404
        with pytest.raises(InvalidStatus):
            opened(live, origin=origin)
    assert get(live, path, Host=f"localhost:{port}")[0] == 200


def test_sockets_without_token_or_origin(live):
    host, port, path = parts(live)
    for wrong in ("/socket", "/x/socket", path[:-2] + "/socket", path + "other"):
        with pytest.raises((InvalidStatus, ConnectionClosed)), opened(live, wrong) as client:
            client.recv(timeout=5)
    with pytest.raises(InvalidStatus):
        connect(f"ws://{host}:{port}{path}socket")


def test_huge_and_broken_messages(live):
    with opened(live) as client:
        client.send(json.dumps({"do": "set", "value": "x" * 200_000}))
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                client.recv(timeout=60)
        # the reason arrives unless the server, still being sent to, has to cut the connection
        assert closed.value.rcvd is None or closed.value.rcvd.code == 1009
    with opened(live) as client:
        for text in ("", "{", "[]", "null", "1e999", '"x"', "[" * 30_000, '{"do": "pla'):
            client.send(text)
            while (found := client.recv(timeout=60)) is not None:
                if isinstance(found, str) and json.loads(found)["kind"] == "refused":
                    break
        deep = "[" * 500 + "]" * 500
        client.send('{"number": 7, "do": "set", "name": "g.k", "value": ' + deep + "}")
        assert "refused" in ask(client, do="fly")["kind"]
    with opened(live) as client, pytest.raises(ConnectionClosed):  # numbers are not expected
        client.send(b"\x00" * 100)
        while True:
            client.recv(timeout=60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "message",
    [
        {"do": "set", "name": "g.k", "value": [[[1.0]] * 3]},
        {"do": "set", "name": "g.k", "value": {"$ref": "/etc/passwd"}},
        {"do": "set", "name": "g.k", "value": "__import__('os')"},
        {"do": "set", "name": ["g.k"], "value": 1.0},
        {"do": "set", "name": "g.k\x00", "value": 1.0},
        {"do": "set", "name": "../../x", "value": 1.0},
        {"do": "set", "name": "\ud800", "value": 1.0},
        {"do": "set", "name": "g.k", "value": 1e400},
        {"do": "set", "name": "g.k", "value": None},
        {"do": "__init__"},
        {"do": "_do_play"},
        {"do": {"a": 1}},
        {"do": "back", "to": -1e300 * 1e300},
        {"do": "pace", "value": 0},
        {"do": "push", "plant": "i", "link": -1, "force": [1, 2, 3], "point": [0, 0, 0]},
        {"do": "save", "path": "/etc/passwd", "folder": "/tmp", "name": 3, "number": float("inf")},
    ],
)
def test_messages_that_make_no_sense_are_answered(live, message, tmp_path, monkeypatch):
    if message["do"] == "save":
        monkeypatch.setattr("cosim.viewer.server.live_view.save_session", lambda *_: tmp_path / "here.toml")
        with opened(live) as client:
            client.send(json.dumps(message))
            while (found := client.recv(timeout=60)) is not None:
                if isinstance(found, str) and json.loads(found)["kind"] == "done":
                    assert json.loads(found)["text"] == str(tmp_path / "here.toml")
                    return
    with opened(live) as client:
        answer = ask(client, **message)
        assert answer["kind"] == "refused"
        assert "Traceback" not in answer["text"]


@pytest.mark.slow
def test_a_thousand_reconnects(live):
    host, port, path = parts(live)
    for k in range(1000):
        if k % 10 == 0:
            with opened(live) as client:
                client.recv(timeout=60)
        else:  # half a request, or a socket that is dropped at once
            with socket.create_connection((host, port), timeout=60) as raw:
                raw.sendall(f"GET {path}socket HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: web".encode())
    assert get(live, path)[0] == 200
    deadline = time.monotonic() + 20.0
    while live.player._listeners:
        assert time.monotonic() < deadline, "pages that left are still told"
        time.sleep(0.02)


@pytest.mark.slow
def test_more_pages_than_may_look_are_sent_away(live):
    with ExitStack() as clients:
        for _ in range(32):
            clients.enter_context(opened(live)).recv(timeout=60)
        with pytest.raises(WebSocketException), opened(live) as one_more:
            one_more.recv(timeout=60)


def test_one_who_floods_without_reading_is_not_waited_for(live):
    with opened(live, max_queue=1) as client:
        for k in range(3000):
            client.send(json.dumps({"do": "set", "name": "g.k", "value": -1.0 - k * 1e-6}))
    assert get(live, parts(live)[2])[0] == 200


def test_a_taken_port_and_a_wrong_host_are_said(live):
    with pytest.raises(PlantloopError, match="cannot listen on"):
        view_diagram(Diagram("d"), show=False, host="no.such.host.invalid")
