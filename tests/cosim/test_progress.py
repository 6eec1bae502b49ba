"""For whom rich decides what it shows: terminals, and where a user asks for colours."""

from types import SimpleNamespace

import pytest

from cosim.progress import FORCED, coloured


@pytest.mark.parametrize(
    ("terminal", "variables", "answer"),
    [
        (False, {}, False),
        (True, {}, True),
        (False, {"FORCE_COLOR": "1"}, True),
        (False, {"TTY_COMPATIBLE": "1"}, True),
        (False, {"FORCE_COLOR": ""}, False),
        (True, {"FORCE_COLOR": "1"}, True),
    ],
)
def test_who_gets_colours(monkeypatch, terminal, variables, answer):
    for name in FORCED:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert coloured(SimpleNamespace(isatty=lambda: terminal)) is answer
