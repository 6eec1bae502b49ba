"""What goes wrong in user subroutines and implicit equations: element, routine, script and line are named."""

import warnings

import numpy as np
import pytest

from blocks import PythonFunction, Sine
from blocks.errors import PlantloopError, SimulationError, WiringError
from cosim import Diagram, simulate
from cosim.compile.jumps import JumpWarning
from plant import PlantWarning
from plant.elements import Force_Penalty, Reference_Variable
from tests.helpers.slider import OUT, slider, variable, written

HEAD = "def VARSUB(id, time, par, npar, dflag, iflag):\n"
ENGINES = ["reference", "auto"]


def plant_with(tmp_path, body, v=1.0):
    """Diagram of a slider at x = 0.5 + v t, whose variable is what a routine of four lines returns."""
    script = written(tmp_path, HEAD + body)
    d = Diagram("scripted")
    d.add("plant", slider(script, variable(script), OUT, v=v))
    return d


def run(d, engine="auto", **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        return simulate(d, 1.0, log_every=0.125, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_routine_raises_late_is_told_with_its_line_and_no_other_advice(tmp_path, engine):
    body = "    [x, err] = py_sysfnc('DX', par)\n    if x > 0.75:\n        raise ValueError('too far')\n"
    body += "    return x\n"
    with pytest.raises(SimulationError) as caught:
        run(plant_with(tmp_path, body), engine, solver="rk4", step=0.0625)
    text = str(caught.value)
    assert "Reference_Variable id=1, VARSUB raised ValueError at t=0.375 s: too far" in text
    assert "s.py:4: raise ValueError('too far')" in text and "division" not in text
    assert isinstance(caught.value.__cause__, ValueError) and caught.value.hint in text
    assert caught.value.result["plant.y"][:3, 0] == pytest.approx([0.5, 0.625, 0.75])


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (
            "    [x, err] = py_sysfnc('DXX', par)\n    return x\n",
            r"s\.py:2: .*unknown function 'DXX'.*mean 'DX'",
        ),
        ("    y = 1\n    [x, e] = py_sysfnc('DX', [77])\n    return x\n", r"s\.py:3: .*no frame 77"),
        (
            "    y = 1\n    [x, e] = py_sysary('DISPP', [20])\n    return x[0]\n",
            r"s\.py:3: .*no array 'DISPP'",
        ),
        ("    [x, e] = py_sysfn('DX', [20])\n    return x\n", r"s\.py:2: .*NameError.*mean 'py_sysfnc'"),
        (
            "    if time > 1: pass\n    [x, e] = py_sysfnc('DY', [78])\n    return x\n",
            r"s\.py:3: .*no frame 78",
        ),
        ("    import nowhere\n    return 1.0\n", r"s\.py:2: import nowhere: ModuleNotFoundError"),
        ("    assert npar == 2, 'two'\n    return 1.0\n", r"s\.py:2: .*AssertionError: two"),
    ],
)
def test_what_a_routine_cannot_ask_for_is_told_with_element_script_and_line(tmp_path, body, told):
    with pytest.raises(WiringError, match=rf"(?s)Reference_Variable id=1, VARSUB, in .*{told}"):
        run(plant_with(tmp_path, body))


@pytest.mark.parametrize("prefix", ["", "    if time > 3: pass\n"])
def test_three_numbers_where_one_is_due_are_refused(tmp_path, prefix):
    with pytest.raises(WiringError, match="Reference_Variable id=1, VARSUB: returned 3 numbers, expected 1"):
        run(plant_with(tmp_path, prefix + "    return [1.0, 2.0, 3.0]\n"))


def test_three_numbers_at_run_time_are_refused_as_well(tmp_path):
    body = "    [x, e] = py_sysfnc('DX', par)\n    return [1.0] if x < 0.75 else [1.0, 2.0, 3.0]\n"
    with pytest.raises(SimulationError, match="VARSUB failed at t=.*returned 3 numbers, expected 1"):
        run(plant_with(tmp_path, body))


def test_native_says_which_routines_it_cannot_run(tmp_path):
    d = plant_with(tmp_path, "    if time > 3: pass\n    return 1.0\n")
    d.add("f", PythonFunction(lambda t, u: 1.0, 0, sample=0.1))
    with pytest.raises(PlantloopError) as caught:
        run(d, "native")
    told = "block 'plant' calls Reference_Variable id=1, VARSUB in Python; block 'f' is a Python function"
    assert told in str(caught.value)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_an_implicit_equation_without_a_root_is_no_algebraic_loop(engine):
    """v^2 + 1 = 0 has no root, and v^2 + sin(...) - 0.5 loses its root on the way."""
    for expr, t in (("VARVAL(1)**2 + 1", 0.0), ("VARVAL(1)**2 + 1.5*SIN(TIME) - 0.5", np.arcsin(1 / 3))):
        v = Reference_Variable(id=1, label="depth", expr=expr, is_implicit=True, ic=1.0)
        d = Diagram("implicit")
        d.add("plant", slider("", v, OUT))
        with pytest.raises(SimulationError) as caught:
            run(d, engine)
        told = 'the implicit equation of Reference_Variable id=1 "depth" has no root found for '
        told += "'plant.variable_1'"
        assert told in str(caught.value) and caught.value.path == "plant.variable_1"
        assert "delay" not in str(caught.value) and "loop" not in str(caught.value)
        assert caught.value.time == pytest.approx(t, abs=0.05)


def test_a_sharp_unilateral_force_is_advised_what_its_element_can_do():
    sharp = Force_Penalty(
        id=3, type="EXPRESSION", expr="DX(20)-0.7", penalty=1e3, penalty1=10.0, unilateral=True
    )
    d = Diagram("sharp")
    d.add("plant", slider("", variable_of_x(), OUT, sharp, v=1.0))
    with pytest.warns(JumpWarning, match="Force_Penalty id=3: .*smoothing_factor") as caught:
        d.system()
    assert not any("where_event" in str(w.message) for w in caught)


def variable_of_x():
    return Reference_Variable(id=1, expr="DX(20)")


def test_warnings_point_at_the_line_of_the_user(tmp_path):
    """Of a model that is read, assembled, flattened and run."""
    script = written(tmp_path, HEAD + "    if time > 3: pass\n    return 1.0\n")
    unused = Reference_Variable(id=1, expr="DX(20)", penalty=3.0)
    d = Diagram("warned")
    d.add("wave", Sine())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        d.add("plant", slider(script, variable(script), OUT, unused_of(unused)))
        d.system()
    assert len(caught) >= 2
    assert {w.filename for w in caught} <= {__file__, slider.__code__.co_filename}


def unused_of(variable_):
    return Reference_Variable(id=7, expr=variable_.expr, penalty=variable_.penalty)
