"""The servers of studies and of editing under attack: refused, nothing leaks, nothing on disk changes."""

import hashlib
import http.client
import json
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from blocks import Gain, Step, TransferFunction
from cosim import Diagram, Study, open_study
from cosim.viewer.server.edit_view import edit_scenario
from cosim.viewer.server.study_live import view_study
from tests.helpers.browser import shown

HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=document.title='owned'>"

SCENARIO = """
[blocks.a]
type = "Constant"
value = 2.0
[blocks.b]
type = "Gain"
k = 3.0
[wiring]
connect = ["a.y -> b.u"]
[run]
until = 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Everything the two servers have to do with."""
    return tmp_path_factory.mktemp("served")


@pytest.fixture(scope="module")
def study(folder):
    d = Diagram(HOSTILE)
    d.add("step", Step(time=0.2))
    d.add("k", Gain(1.0))
    d.add("lag", TransferFunction([1.0], [0.3, 1.0]))
    d.connect("step.y -> k.u", "k.y -> lag.u")
    made = Study(
        d,
        until=0.5,
        sweep={"k.k": [1.0, 2.0]},
        metrics={"last": "final(lag.y)"},
        requirements=[{"name": HOSTILE, "always": "lag.y < 1.5"}],
    )
    made.run(folder / "out", workers=1)
    with view_study(open_study(folder / "out"), show=False) as view:
        yield view


@pytest.fixture(scope="module")
def edit(folder):
    file = folder / "scenario.toml"
    file.write_text(SCENARIO)
    with edit_scenario(file, show=False) as view:
        yield view


@pytest.fixture(params=["study", "edit"])
def served(request, study, edit):
    return {"study": study, "edit": edit}[request.param]


@pytest.fixture(autouse=True)
def nothing_changes(folder, study, edit):
    before = digests(folder)
    yield
    assert digests(folder) == before


def digests(folder):
    files = sorted(p for p in folder.rglob("*") if p.is_file())
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def get(served, path, **headers):
    found = urlsplit(served.address)
    connection = http.client.HTTPConnection(found.hostname, found.port, timeout=60)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def opened(served, origin=None, path=None):
    found = urlsplit(served.address)
    own = origin or f"http://{found.netloc}"
    return connect(
        f"ws://{found.netloc}{path or found.path + 'socket'}", origin=own, close_timeout=0.5, max_size=None
    )


def ask(client, message):
    """The answer to a message: what is told unasked is passed over."""
    client.send(message)
    while True:
        answer = client.recv(timeout=60)
        if isinstance(answer, str) and (found := json.loads(answer))["kind"] in ("done", "refused"):
            return found


def test_only_who_knows_the_token_and_comes_from_the_page_gets_in(served):
    path = urlsplit(served.address).path
    assert get(served, path)[0] == 200
    for other in ("/", "/wrong/", "/socket", path + "../../etc/passwd", path + "..%2f..%2fetc%2fpasswd"):
        status, body = get(served, other)
        assert status in (400, 404)
        assert b"root:" not in body
    assert get(served, path, Origin="http://evil.example")[0] == 404
    assert get(served, path, Host="evil.example")[0] in (400, 404)
    for origin, where in (("http://evil.example", None), (None, "/wrong/socket")):
        with pytest.raises((InvalidStatus, ConnectionClosed)), opened(served, origin, where) as client:
            client.recv(timeout=5)


@pytest.mark.parametrize(
    "message",
    ["no JSON", "[]", "{}", '{"do": "play"}', '{"do": ["open"]}',
     '{"do": "add", "name": "../x", "type": "os.system"}', '{"do": "open", "path": "/etc/passwd"}',
     "[" * 5000],
)  # fmt: skip
def test_messages_that_make_no_sense_are_refused(served, message):
    with opened(served) as client:
        assert ask(client, message)["kind"] == "refused"
        assert ask(client, "{}")["kind"] == "refused"  # and it goes on listening


def test_huge_messages_end_their_sender_alone(served):
    with opened(served) as other:
        with pytest.raises(ConnectionClosed), opened(served) as client:
            client.send("x" * 2**20)
            while True:
                client.recv(timeout=60)
        assert ask(other, "{}")["kind"] == "refused"


@pytest.mark.slow
def test_many_reconnects(served):
    for _ in range(100):
        with opened(served):
            pass
    assert get(served, urlsplit(served.address).path)[0] == 200


@pytest.mark.slow
def test_hostile_names_are_text(study):
    with shown(study.address, offline=False) as page:
        page.wait_for_function("document.querySelectorAll('table tr').length > 2")
        assert page.title() != "owned"
        assert page.evaluate("document.querySelectorAll('img[src=x]').length") == 0
        assert "onerror" in page.inner_text("body")
