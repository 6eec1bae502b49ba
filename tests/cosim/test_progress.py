"""How far a run is: lines for every tenth, a function of one's own, and who gets colours."""

from types import SimpleNamespace

import pytest

from cosim.progress import FORCED, coloured, telling


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


def shown_at(capsys, progress, until, times):
    """Lines on standard error by these times [s]."""
    with telling(progress, until, "s") as told:
        for t in times:
            if told is not None:
                told(t)
    return capsys.readouterr().err.splitlines()


def test_a_line_for_every_tenth_of_the_way(capsys, monkeypatch):
    """The first time it is passed: no line for steps within it, one where several are passed at once."""
    for name in FORCED:
        monkeypatch.delenv(name, raising=False)
    times = [0.0, 0.1, 0.3, 0.4, 0.5, 0.6, 1.7, 1.75, 2.0, 3.0 - 1e-15, 3.0]
    tenths = ["0.3", "0.6", "1.7", "2", "3"]
    assert shown_at(capsys, True, 3.0, times) == [f"{t} of 3 s" for t in tenths]
    assert shown_at(capsys, True, 0.0, [0.0]) == ["0 of 0 s"]
    assert shown_at(capsys, False, 3.0, times) == shown_at(capsys, None, 3.0, times) == []
    told = []
    assert shown_at(capsys, told.append, 3.0, times) == [] and told == times
