"""The one list of settings: what they may be, where they come from, and who takes them."""

import copy
import inspect
import pickle
import textwrap
from dataclasses import replace

import numpy as np
import pytest

from blocks import Constant, Integrator
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, run_deck, simulate, simulate_many
from cosim.scenario.schema import Run
from cosim.settings import SETTINGS, Keywords, RunSettings, with_texts

TAKERS = {"simulate": simulate, "Simulation": Simulation, "many": simulate_many, "run_deck": run_deck}


def ramp():
    d = Diagram("ramp")
    d.connect(d.add("c", Constant(2.0))["y"], d.add("x", Integrator())["u"])
    return d


@pytest.mark.parametrize("taker", TAKERS.values(), ids=TAKERS)
def test_every_setting_is_a_keyword_of_all_that_run_something(taker):
    parameters = inspect.signature(taker).parameters
    for name, setting in SETTINGS.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == setting.metadata["unset"]
    assert not any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    assert "**settings" not in taker.__doc__
    for name, setting in SETTINGS.items():
        assert f"\n{name} : " in inspect.getdoc(taker)
        assert setting.metadata["text"] in " ".join(taker.__doc__.split())


def test_the_names_for_type_checkers_and_for_scenarios_are_the_fields():
    assert list(Keywords.__annotations__) == list(SETTINGS)
    gathers = next(f for f in Run.__dataclass_fields__.values() if "gathers" in f.metadata)
    assert list(gathers.metadata["gathers"]) == list(SETTINGS)


def test_an_unknown_setting_has_a_near_miss():
    for run in (lambda **k: simulate(ramp(), 1.0, **k), lambda **k: simulate_many(ramp(), [{}], 1.0, **k)):
        with pytest.raises(PlantloopError, match="no setting 'solvr'; did you mean 'solver'"):
            run(solvr="rk4")


@pytest.mark.parametrize(
    ("word", "here"), {"x0": "initial", "dt": "step", "log": "signals", "paramters": "parameters"}.items()
)
def test_keywords_of_other_tools_are_answered_with_those_here(word, here):
    for run in (lambda **k: simulate(ramp(), 1.0, **k), lambda **k: simulate_many(ramp(), [{}], 1.0, **k)):
        with pytest.raises(PlantloopError, match=f"no setting '{word}'; did you mean '{here}'"):
            run(**{word: 1.0})
    with pytest.raises(PlantloopError, match="no setting 'stop_time'; did you mean 'until'"):
        simulate(ramp(), stop_time=1.0)


@pytest.mark.parametrize("indent", ["", "    ", "        "])
def test_settings_stand_in_a_docstring_where_their_place_is(indent):
    """Python 3.13 and newer take the indentation of docstrings away."""
    lines = with_texts(textwrap.indent("a : b\n**settings\n\nReturns\n", indent)).splitlines()
    assert lines[0] == f"{indent}a : b" and lines[1].startswith(f"{indent}solver : ")
    assert lines[-2:] == ["", f"{indent}Returns"]
    assert all(line.startswith(indent + " " * 24) or " : " in line for line in lines[1:-2])
    assert with_texts("no place") == "no place" and with_texts(None) is None


def test_names_and_texts_of_settings_stand_apart_in_the_help():
    assert "coupling : Coupling | None how units" in simulate.__doc__


@pytest.mark.parametrize(
    ("keywords", "text"),
    [
        (
            {"step": "0.1", "solver": "rk4"},
            r"step is '0.1', expected a positive number \[s\]. Leave the quotes",
        ),
        ({"rtol": np.inf}, "rtol is inf, expected a positive number"),
        ({"rtol": np.nan}, "rtol is nan, expected a positive number"),
        ({"atol": True}, "atol is True, expected a positive number"),
        ({"atol": 1j}, "atol is 1j, expected a positive number"),
        ({"seed": 1.5}, "seed is 1.5, expected a whole number"),
        ({"seed": True}, "seed is True, expected a whole number"),
        ({"solve_loops": "yes"}, "solve_loops is 'yes', expected true or false"),
        ({"solve_loops": "True"}, "solve_loops is 'True', expected true or false. Leave the quotes out"),
        ({"solver": "rk4", "max_step": 0.1}, "max_step= does not apply to solver 'rk4'"),
        ({"solver": "rk4", "rtol": 1e-8}, "rtol= does not apply to solver 'rk4'"),  # its default, but given
    ],
)
def test_a_setting_that_makes_no_sense_is_refused(keywords, text):
    for make in (RunSettings.of, lambda **k: simulate(ramp(), 1.0, **k)):
        with pytest.raises(PlantloopError, match=text):
            make(**keywords)


def test_settings_given_at_once_are_those_given_one_by_one():
    together = RunSettings(solver="rk4", step=0.25, engine="reference")
    one = simulate(ramp(), 1.0, settings=together)
    two = simulate(ramp(), 1.0, solver="rk4", step=0.25, engine="reference")
    assert one["x.y"].tobytes() == two["x.y"].tobytes()
    assert one.statistics["steps"] == two.statistics["steps"] == 4
    assert one.settings["step"].value == 0.25 and one.settings["step"].origin == "RunSettings"
    assert two.settings["step"].origin == "argument"
    finer = simulate(ramp(), 1.0, settings=together, step=0.125)
    assert finer.statistics["steps"] == 8 and finer.settings["solver"].origin == "RunSettings"
    with pytest.raises(PlantloopError, match="step= does not apply to solver 'dopri5'"):
        simulate(ramp(), 1.0, settings=together, solver="dopri5")
    with pytest.raises(PlantloopError, match=r"settings is .*, expected RunSettings"):
        simulate(ramp(), 1.0, settings={"solver": "rk4"})


def test_not_given_means_default():
    assert RunSettings.of(solver=None, step=None, rtol=None) == RunSettings()
    found = simulate(ramp(), 1.0, solver=None, rtol=1e-6, seed=3).settings
    assert found["solver"] == ("dopri5", "default") and found["atol"] == (1e-10, "default")
    assert found["rtol"] == (1e-6, "argument") and found["seed"] == (3, "argument")
    assert "step" not in found and "solve_loops" not in found


def test_settings_are_values():
    one = RunSettings(solver="rodas4", rtol=1e-5, seed=7)
    for same in (pickle.loads(pickle.dumps(one)), copy.deepcopy(one), replace(one)):
        assert same == one and dict(same.origins) == dict(one.origins) and hash(same) == hash(one)
    assert replace(one, seed=8) != one
    with pytest.raises(AttributeError):
        one.seed = 2


@pytest.mark.parametrize(
    ("word", "method"),
    {
        "log_every": "log",
        "log_at": "log",
        "until": "advance",
        "progress": "advance",
        "inputs": "set_input",
    }.items(),
)
def test_a_run_step_by_step_says_where_keywords_of_a_whole_run_go(word, method):
    with pytest.raises(PlantloopError, match=rf"no setting '{word}' of Simulation. .*{method}\("):
        Simulation(ramp(), **{word: 1.0})
