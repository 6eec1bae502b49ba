"""Subroutines in MATLAB code: rounds of questions and answers, with a session that stands for Octave's."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from blocks.errors import ModelError
from plant import PlantWarning
from plant.elements import Reference_Variable
from plant.routines import octave as octave_calls
from tests.helpers.plants import Alone
from tests.plant.routines.test_subroutines import OUT, slider


class Session:
    """What `plant/routines/octave.py` asks of oct2py; functions of scripts are Python here."""

    scripts: ClassVar[dict] = {}

    def __init__(self) -> None:
        self.values: dict = {}
        self.folders: list[str] = []
        self.rounds = 0

    def exit(self) -> None:
        self.ended = True

    def addpath(self, folder: str) -> None:
        self.folders.append(folder)

    def eval(self, code: str, verbose: bool = True) -> None:
        assert "function [value, asked] = plantloop_call(name, known, varargin)" in code

    def feval(self, call: str, name: str, known: dict, *arguments: object, nout: int) -> object:
        assert call == "plantloop_call" and nout == 2
        self.rounds += 1
        self.values = {"plantloop_known": known, "plantloop_asked": ";"}
        value = self.scripts[name](self, *arguments)
        return np.array([[value]]), self.values["plantloop_asked"]  # numbers come back as matrices

    def ask(self, kind: str, name: str, ids: list[float], nothing: object) -> object:
        key = kind + name.upper() + "".join(f"_{id:.0f}" for id in ids)
        if key not in self.values["plantloop_known"]:
            self.values["plantloop_asked"] += key + ";"
            return nothing
        return self.values["plantloop_known"][key]


def energy(session: Session, id, time, par, npar, dflag, iflag):
    """The kinetic energy of a point in two ways, and where it is."""
    v = float(session.ask("f", "vm", [par[0]], 0.0))
    along = np.ravel(session.ask("a", "TVEL", [par[0], 0, par[0]], np.zeros(6)))
    x = float(session.ask("f", "DX", [par[0]], 0.0))
    return 0.25 * par[1] * (v**2 + along @ along) + 100 * x


@pytest.fixture
def octave(monkeypatch, tmp_path):
    made = []

    def session() -> Session:
        made.append(Session())
        return made[-1]

    oct2py = ModuleType("oct2py")
    oct2py.Oct2Py = session
    monkeypatch.setitem(sys.modules, "oct2py", oct2py)
    monkeypatch.setattr(octave_calls, "shutil", SimpleNamespace(which=lambda name: f"/bin/{name}"))
    (tmp_path / "s.m").write_text("% stands for the function\n")
    return made


def scripted(tmp_path, **more) -> Reference_Variable:
    return Reference_Variable(
        id=1, type="USERSUB", interpreter="MATLAB", script_name=str(tmp_path / "s.m"),
        usrsub_param_string="USER(20, 4)", **more,
    )  # fmt: skip


def test_what_it_asks_for_it_gets(octave, tmp_path, monkeypatch):
    monkeypatch.setattr(Session, "scripts", {"VARSUB": energy})
    with pytest.warns(PlantWarning, match="VARSUB is called at run time.*MATLAB code is"):
        alone = Alone(slider("", scripted(tmp_path), OUT, v=1.5))
    assert alone.output("y") == pytest.approx([0.5 * 4 * 1.5**2 + 100 * 0.5])
    assert all(session.folders == [str(tmp_path)] for session in octave)


def test_one_that_never_stops_asking(octave, tmp_path, monkeypatch):
    def curious(session, id, time, par, *flags):
        return session.ask("f", "DX", [20, session.rounds], 0.0)

    monkeypatch.setattr(Session, "scripts", {"VARSUB": curious})
    with pytest.raises(ModelError, match="VARSUB never stops asking for new states"):
        Alone(slider("", scripted(tmp_path), OUT))


def test_numbers_of_a_recent_call_are_not_worked_out_again(octave, monkeypatch):
    monkeypatch.setattr(Session, "scripts", {"VARSUB": energy})
    state = {"VM": 1.0, "DX": 2.0, "TVEL": [1.0, 0.0, 0.0]}
    access = SimpleNamespace(sysfnc=lambda name, ids: [state[name]], sysary=lambda name, ids: [state[name]])
    session = Session()
    routine = octave_calls.OctaveRoutine(session, "VARSUB")

    def answer(time: float = 0.0) -> tuple[float, int]:
        before = session.rounds
        (value,) = routine([1, time, [20.0, 4.0], 2, False, False], access)
        return value, session.rounds - before

    assert answer() == (202.0, 2)  # the first asks for what it needs
    assert answer() == (202.0, 0)
    state["DX"] = 3.0
    assert answer() == (302.0, 1)
    assert answer(0.5) == (302.0, 1)
    state["DX"] = 2.0
    assert answer() == (202.0, 0)
    for k in range(octave_calls.RECENT):
        answer(1.0 + k)
    assert answer() == (202.0, 1)
