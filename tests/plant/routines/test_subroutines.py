"""User subroutines: traced, opaque, with memory; what they may ask for; what is refused."""

from __future__ import annotations

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from blocks.errors import ModelError, SimulationError
from plant import PlantWarning
from plant.elements import (
    Constraint_General,
    Control_Diff,
    Control_PlantOutput,
    Control_StateEqn,
    Force_Field,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Force_Vector_OneBody,
    Motion_Joint,
    Post_Request,
    Reference_Array,
    Reference_Spline,
    Reference_Variable,
    Sensor_Evaluate,
    Sensor_Event,
)
from plant.routines import octave
from tests.helpers.cases import case_ids, worst_ratio
from tests.helpers.plants import Alone

# --- traced ---------------------------------------------------------------------------------------------
from tests.helpers.slider import OUT, PUSH, SUB, run, slider, variable, written


@pytest.mark.parametrize(("case", "deck"), case_ids("kinetic_energy"))
def test_kinetic_energy_example(case, deck):
    """Example 2: ids as floats, both calls with iflag, ground and body axes."""
    worst, where = worst_ratio("kinetic_energy", case, deck)
    assert worst < 1e-2, where


def test_traced_routine_has_exact_derivatives(tmp_path):
    script = written(
        tmp_path,
        "from math import *\nimport math\nimport numpy as np\n"
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    [x, err] = py_sysfnc('DX', par)\n"
        "    assert npar == 1 and dflag is False\n"
        "    y = sin(x) + math.atan2(x, 2.0)**2 + np.exp(-x) + sqrt(4.0) * pow(x, 3) + hypot(x, 1)\n"
        "    return y + max(x, 0.1) + min(x, 0.1) + math.log(x, 2) + degrees(x) + time * float(x) + pi\n",
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        alone = Alone(slider(script, variable(script), OUT))
    x, t = 0.5, 1.5
    expected = np.sin(x) + np.arctan2(x, 2) ** 2 + np.exp(-x) + 2 * x**3 + np.hypot(x, 1)
    expected += x + 0.1 + np.log2(x) + np.degrees(x) + t * x + np.pi
    assert alone.output("y", t) == pytest.approx([expected], rel=1e-14)


def test_host_functions(tmp_path):
    """py_step and its like, splines, arrays; derivatives by iord."""
    script = written(
        tmp_path,
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    [d, err] = py_sysary('DISP', [20])\n"
        "    [v, err] = py_sysary('TVEL', [20.0, 10])\n"
        "    [a, err] = py_sysary('ARRAY', [4])\n"
        "    [s, err] = py_step(d[0], 0.0, 1.0, 1.0, 3.0, 0)\n"
        "    [ds, err] = py_step(d[0], 0.0, 1.0, 1.0, 3.0, 1)\n"
        "    [c, err] = py_cubspl(d[0], 0.0, 3, 0)\n"
        "    [f, err] = py_impact(d[0], v[0], 1.0, 10.0, 1.0, 0.0, 0.1, 0)\n"
        "    py_errmes(err, 'not called', id, 'STOP')\n"
        "    return [s, ds, c[0], c[1], f[0], f[1], a[1], v[0]][int(par[0])]\n",
    )
    helpers = [
        Reference_Spline(id=3, x=(0, 1, 2, 3), y=(1, 3, 5, 7)),
        Reference_Array(id=4, type="IC", values=(5.0, 6.0)),
    ]
    expected = [2.0, 3.0, 2.0, 2.0, 5.0, -10.0, 6.0, 0.25]
    for k, value in enumerate(expected):
        plant = slider(script, variable(script, par=f"USER({k})"), *helpers, OUT, v=0.25)
        assert Alone(plant).output("y") == pytest.approx([value], abs=1e-12), k


FORCES = {
    "SFOSUB": (
        lambda s: Force_Scalar_TwoBody(
            id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, script_name=s
        ),
        "return 6.0",
        3.0,
    ),
    "VFOSUB": (
        lambda s: Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, script_name=s),
        "return [6.0, 1.0, 2.0]",
        3.0,
    ),
    "GFOSUB": (
        lambda s: Force_Vector_OneBody(
            id=1, type="FORCEANDTORQUE", marker_id=20, ref_marker_id=0, script_name=s
        ),
        "return [6.0, 1.0, 2.0, 3.0, 4.0, 5.0]",
        3.0,
    ),
    "VTOSUB": (
        lambda s: Force_Vector_OneBody(id=1, type="TORQUEONLY", marker_id=20, ref_marker_id=0, script_name=s),
        "return [6.0, 1.0, 2.0]",
        0.0,
    ),
    "PFOSUB": (
        lambda s: Force_Penalty(id=1, penalty=10.0, script_name=s, **SUB),
        "return py_sysfnc('DX', [20])[0] ** 2",
        -10 * 0.25 * (2 * 0.5) / 2,
    ),
}


@pytest.mark.parametrize("routine", FORCES)
@pytest.mark.parametrize("branch", ["", "if time < -1.0: return 0.0\n    "], ids=["traced", "opaque"])
def test_forces_by_subroutine(tmp_path, routine, branch):
    make, body, expected = FORCES[routine]
    script = written(tmp_path, f"def {routine}(id, time, par, npar, dflag, iflag):\n    {branch}{body}\n")
    plant = slider(script, make(script))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if branch else "error", PlantWarning)
        alone = Alone(plant)
    found = alone.derivative(0, alone.x0)[alone.slice("rail.qd")]
    assert found == pytest.approx([expected], abs=1e-8 if branch else 1e-13)


def test_field_by_subroutine(tmp_path):
    """FIESUB gives the force along J (z_J is global x) and its partial derivatives, which are not needed."""
    script = written(
        tmp_path,
        "def FIESUB(id, time, par, npar, disp, velo, dflag, iflag):\n"
        "    f = [0.0, 0.0, -8.0*disp[2] - 2.0*velo[2], 0.0, 0.0, 0.0]\n"
        "    return [f, 36*[0.0], 36*[0.0]]\n",
    )
    alone = Alone(
        slider(script, Force_Field(id=1, i_marker_id=20, j_marker_id=10, script_name=script), v=0.3)
    )
    found = alone.derivative(0, alone.x0)[alone.slice("rail.qd")]
    assert found == pytest.approx([(-8 * 0.5 - 2 * 0.3) / 2])


def test_requests_arrays_states_by_subroutine(tmp_path):
    script = written(
        tmp_path,
        "def REQSUB(id, time, par, npar, iflag):\n"
        "    return [k * py_sysfnc('DX', [20])[0] for k in range(8)]\n"
        "def ARYSUB(id, time, par, npar, dflag, iflag, nvalue):\n"
        "    return [time + k for k in range(nvalue)]\n"
        "def DIFSUB(id, time, par, npar, dflag, iflag):\n"
        "    return 1.0 - py_sysfnc('DIF', [id])[0]\n"
        "def GSESUB(id, time, par, npar, dflag, iflag, nstate, states, ninput, input, noutpt):\n"
        "    return [[-states[0] + input[0]], [2.0*states[0], input[0]]]\n",
    )
    elements = [
        Post_Request(id=1, label="all", type="USERSUB", script_name=script),
        Reference_Array(id=1, type="U", num_element=3, script_name=script),
        Control_Diff(id=4, label="lag", ic=0.25, script_name=script, **SUB),
        Reference_Variable(id=2, expr="ARYVAL(1,3)"),
        Reference_Variable(id=3, expr="ARYVAL(7,1)"),
        Reference_Variable(id=4, expr="ARYVAL(7,2)"),
        Reference_Array(id=5, type="U", variable_id=(2,)),
        Reference_Array(id=6, type="X", num_element=1),
        Reference_Array(id=7, type="Y", num_element=2),
        Reference_Array(id=8, type="IC", values=(0.5,)),
        Control_StateEqn(
            id=3,
            label="system",
            type="USERSUB",
            x_array_id=6,
            y_array_id=7,
            u_array_id=5,
            ic_array_id=8,
            num_state=1,
            num_output=2,
            script_name=script,
        ),
        Control_PlantOutput(id=1, label="y", variable_id_list=(2, 3, 4)),
    ]
    alone = Alone(slider(script, *elements))
    assert alone.output("request_all") == pytest.approx(0.5 * np.arange(8))
    assert alone.output("y", 0.1) == pytest.approx([2.1, 1.0, 2.1])
    change = alone.derivative(0.1, alone.x0)
    assert change[alone.slice("lag")] == pytest.approx([0.75])
    assert change[alone.slice("system")] == pytest.approx([-0.5 + 2.1])


@pytest.mark.parametrize("branch", ["", "if time < -1.0: return 0.0\n    "], ids=["traced", "opaque"])
def test_sensors_by_subroutine(tmp_path, branch):
    """SENSUB fires at x = 1 (t = 0.4 with v = 1.25 from 0.5), SEVSUB gives what is stored."""
    script = written(
        tmp_path,
        f"def SENSUB(id, time, par, npar, iflag):\n    {branch}return py_sysfnc('DX', par)[0]\n"
        f"def SEVSUB(id, time, par, npar, iflag):\n    {branch}return 100.0 * time\n",
    )
    elements = [
        Sensor_Event(
            id=1,
            value=1.0,
            compare="GE",
            evaluate_id=2,
            usrsub_param_string="USER(20)",
            script_name=script,
            **SUB,
        ),
        Sensor_Evaluate(id=2, script_name=script, **SUB),
        Reference_Variable(id=1, expr="SENVAL(2)"),
        OUT,
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if branch else "error", PlantWarning)
        y = run(slider(script, *elements, v=1.25), [0.0, 0.39, 0.41, 1.0])["plant.y"].ravel()
    assert y == pytest.approx([0.0, 0.0, 40.0, 40.0], abs=1e-6)


def test_motion_by_subroutine(tmp_path):
    """MOTSUB on the rail: its value is differentiated like an expression."""
    script = written(
        tmp_path,
        "from math import sin\ndef MOTSUB(id, time, par, npar, iord, iflag):\n"
        "    return 0.5 + par[0] * sin(3.0 * time)\n",
    )
    motion = Motion_Joint(
        id=1, joint_id=1, joint_type="T", usrsub_param_string="USER(0.2)", script_name=script, **SUB
    )
    place = Reference_Variable(id=1, expr="DX(20)")
    times = np.array([0.0, 0.3, 1.0])
    y = run(slider(script, motion, place, OUT), times)["plant.y"].ravel()
    assert y == pytest.approx(0.5 + 0.2 * np.sin(3 * times), abs=1e-8)


def test_constraint_by_subroutine(tmp_path):
    """GCOSUB holds the mass at the place where x^2 = 1/4."""
    script = written(
        tmp_path,
        "def GCOSUB(id, time, par, npar, dflag, iflag):\n    return py_sysfnc('DX', [20])[0] ** 2 - 0.25\n",
    )
    held = Constraint_General(id=1, script_name=script, **SUB)
    force = Force_Scalar_TwoBody(
        id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val_expression="6"
    )
    place = Reference_Variable(id=1, expr="DX(20)")
    y = run(slider(script, held, force, place, OUT), [0.0, 1.0])["plant.y"].ravel()
    assert y == pytest.approx([0.5, 0.5], abs=1e-9)


# --- opaque ---------------------------------------------------------------------------------------------
BRANCHING = """
def VARSUB(id, time, par, npar, dflag, iflag):
    [x, err] = py_sysfnc('DX', par)
    [v, err] = py_sysfnc('VX', par)
    if iflag:
        return 0.0
    if x > 0:
        return -8.0*x - 0.5*v
    return 100.0
"""


def test_branching_routine_is_called_at_run_time_with_a_warning(tmp_path):
    script = written(tmp_path, BRANCHING)
    plant = slider(script, variable(script), PUSH, OUT)
    with pytest.warns(PlantWarning, match="Reference_Variable id=1, VARSUB is called at run time.*condition"):
        r = run(plant, [0.0, 0.2, 0.5])
    spring = slider(
        script,
        Reference_Variable(id=1, expr="-8*DX(20)-0.5*VX(20)"),
        PUSH,
        OUT,
    )
    assert r["plant.y"] == pytest.approx(run(spring, [0.0, 0.2, 0.5])["plant.y"], abs=1e-7)


def test_differenced_derivatives_are_told_by_dflag(tmp_path):
    script = written(
        tmp_path,
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    [x, err] = py_sysfnc('DX', par)\n"
        "    return x**3 + (0.0 if dflag in (True, False) and x < 100 else 1.0)\n",
    )
    with pytest.warns(PlantWarning):
        alone = Alone(slider(script, variable(script), OUT))
    import casadi as ca

    (y,) = [o.expression for o in alone.declared.outputs]
    slope = ca.Function("J", alone.traced.arguments, [ca.jacobian(y, alone.traced.own)])
    found = alone.call(slope, 0.0, alone.x0, {})
    assert np.abs(found).max() == pytest.approx(3 * 0.5**2, rel=1e-8)


def test_state_not_asked_for_in_the_initialisation_call(tmp_path):
    script = written(
        tmp_path,
        "def VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    if iflag or time < 0.1: return 0.0\n"
        "    return py_sysfnc('DX', par)[0]\n",
    )
    plant = slider(script, variable(script), PUSH, OUT)
    with (
        pytest.warns(PlantWarning, match="VARSUB is called at run time"),
        pytest.raises(
            SimulationError, match=r"(?s)Reference_Variable id=1, VARSUB.*asks for DX\(20\) at run time"
        ),
    ):
        run(plant, [0.0, 1.0])


SAMPLED = """
kept = {"next": 0.0, "value": 0.0, "calls": 0}

def VARSUB(id, time, par, npar, dflag, iflag):
    [x, err] = py_sysfnc('DX', [par[0]])
    if iflag:
        return 0.0
    kept["calls"] += 1
    if not dflag and time >= kept["next"]:
        kept["value"] = x
        kept["next"] += par[1]
    return kept["value"]
"""


def test_discrete_state_kept_by_a_routine(tmp_path):
    """Comment 9: sampled inside the routine; trial evaluations leave no trace, two runs are alike."""
    script = written(tmp_path, SAMPLED)
    plant = slider(script, variable(script, par="USER(20, 0.1)"), OUT, v=1.0)
    times = np.linspace(0.0, 1.0, 41)
    runs = []
    for _ in range(2):
        with pytest.warns(PlantWarning, match="is called at run time"):
            runs.append(run(plant, times, solver="rk4", step=0.025, rtol=None, atol=None)["plant.y"].ravel())
    assert runs[0] == pytest.approx(0.5 + np.floor(times * 10 + 1e-9) / 10, abs=1e-9)
    assert np.array_equal(runs[0], runs[1])


def test_routine_with_memory_but_no_branch_is_not_traced(tmp_path):
    script = written(
        tmp_path,
        "log = []\ndef VARSUB(id, time, par, npar, dflag, iflag):\n"
        "    x = py_sysfnc('DX', par)[0]\n    log.append(x)\n    return x\n",
    )
    with pytest.warns(PlantWarning, match="keeps log from call to call"):
        alone = Alone(slider(script, variable(script), OUT))
    assert alone.output("y") == pytest.approx([0.5])


# --- refused --------------------------------------------------------------------------------------------
def test_nothing_runs_without_trust(tmp_path):
    script = written(tmp_path, f"open({str(tmp_path / 'trace')!r}, 'w')\ndef VARSUB(*a): return 1.0\n")
    with pytest.raises(ModelError, match=r"would run VARSUB of the script .*s\.py.*trust=True"):
        slider(script, variable(script), OUT, trust=False)
    plant = slider(script, variable(script), OUT)
    assert not (tmp_path / "trace").exists()  # reading runs nothing either
    Alone(plant)
    assert (tmp_path / "trace").exists()


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("def VARSUP(*a): return 1.0", ("defines no function 'VARSUB'", "did you mean 'VARSUP'")),
        ("def VARSUB(*a)\n  pass", ("is not Python, line 1",)),
        ("1/0", ("failed while it was loaded: ZeroDivisionError",)),
        ("import sys\nsys.exit(3)", ("failed while it was loaded: SystemExit: 3",)),
        ("def VARSUB(*a): raise SystemExit(4)", ("VARSUB", "sys.exit(4)")),
        ("def VARSUB(*a): return [1.0, 2.0][5]", ("initialisation call", "IndexError")),
        ("def VARSUB(*a): return py_sysfnc('DY', [99])[0]", ("99",)),
        ("def VARSUB(*a): return py_sysfnc('DQ', [20])[0]", ("unknown function 'DQ'",)),
        ("def VARSUB(*a): return py_sysary('DISPL', [20])[0][0]", ("no array 'DISPL'",)),
    ],
)
def test_faulty_scripts(tmp_path, text, parts):
    script = written(tmp_path, text)
    with pytest.raises(ModelError) as caught:
        Alone(slider(script, variable(script), OUT))
    for part in parts:
        assert part in str(caught.value)


def test_missing_script(tmp_path):
    (tmp_path / "other.py").write_text("")
    with pytest.raises(
        ModelError, match=r"Reference_Variable id=1: the script .*othr\.py cannot be read.*other"
    ):
        Alone(slider("", variable(str(tmp_path / "othr.py")), OUT))


@pytest.mark.slow
def test_matlab_needs_octave(tmp_path, monkeypatch):
    # only ours: what oct2py imports for the first time would keep a function of shutil for good
    monkeypatch.setattr(octave, "shutil", SimpleNamespace(which=lambda name: None))
    (tmp_path / "s.m").write_text("function v = VARSUB(id, time, par, npar, dflag, iflag)\n v = 1;\nend\n")
    scripted = Reference_Variable(
        id=1, type="USERSUB", interpreter="MATLAB", script_name=str(tmp_path / "s.m")
    )
    with pytest.raises(ModelError, match="interpreter=MATLAB needs GNU Octave"):
        Alone(slider("", scripted, OUT))


def test_a_routine_that_returns_text(tmp_path):
    """It was told as a wrong call of CasADi's, with a list of prototypes."""
    script = written(tmp_path, "def VARSUB(id, time, par, npar, dflag, iflag):\n    return 'fast'\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = slider(script, variable(script), OUT)
        with pytest.raises((ModelError, SimulationError), match="returned 'fast', expected numbers"):
            run(plant, [0.0, 0.1])
