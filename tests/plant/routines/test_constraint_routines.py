"""Couplers, constraints, motions by user subroutine: traced, opaque, compiled; all kinds of derivatives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blocks.errors import ModelError, PlantloopError
from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Coupler,
    Constraint_General,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Force_Scalar_TwoBody,
    Model,
    Motion_Joint,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.libraries import built

UPRIGHT = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 0, "a21": 1, "a02": 0, "a12": -1, "a22": 0}
TIMES = np.array([0.0, 0.4, 1.0])


def outputs(*texts):
    found = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=100)]
    return [*found, Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in found))]


def cam(*elements, lift=1.0, texts=("AZ(20,10)", "DZ(30,11,11)", "WZ(20)")):
    """A shaft (inertia 2, about z) and a follower (mass 3) on a rail along z, whose design lift is 1."""
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Reference_Marker(id=11, body_id=1, pos_x=1.0),
            Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=2.0),
            Reference_Marker(id=20, body_id=2),
            Body_Rigid(id=3, cg_id=30, mass=3.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=1.0),
            Reference_Marker(id=30, body_id=3, pos_x=1.0, pos_z=lift),
            Constraint_Joint(id=1, label="shaft", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Constraint_Joint(id=2, label="rail", type="TRANSLATIONAL", i_marker_id=30, j_marker_id=11),
            Force_Scalar_TwoBody(
                id=1, type="TORQUE", i_marker_id=20, j_marker_id=10, val_expression="1.5*COS(TIME)"
            ),
            Force_Gravity(grav_z=-9.81),
            *elements,
            *outputs(*texts),
        ]
    )


TRACED = """
from math import cos
def COUSUB(id, time, par, npar, disp, ndisp, iflag):
    return disp[1] - 1.0 - par[0] * (1.0 - cos(disp[0]))
"""
PARTIALS = """
from math import cos, sin
def COUXX(id, time, par, npar, disp, ndisp, iflag):
    return [-par[0] * sin(disp[0]), 1.0]
"""
SECOND = """
def COUXX2(id, time, par, npar, disp, ndisp, iflag):
    return [-par[0] * cos(disp[0]), 0.0, 0.0, 0.0]
"""
OPAQUE = TRACED.replace("    return", "    if ndisp != 2 or disp[0] > 1e9:\n        return 0.0\n    return")


def coupler(folder: Path, text: str) -> Constraint_Coupler:
    (folder / "cam.py").write_text(text)
    return Constraint_Coupler(
        id=1, joint1_id=1, joint2_id=2, script_name=str(folder / "cam.py"), usrsub_param_string="USER(0.3)"
    )


def run(model, times=TIMES, **options):
    plant = Plant.from_model(model, trust=True)
    d = Diagram("cam")
    d.add("plant", plant)
    options = {"rtol": 1e-10, "atol": 1e-12, **options}
    return simulate(d, until=float(times[-1]), log_at=times, **options)["plant.y"], plant


def cam_by_hand(times, c=0.3):
    """One coordinate: (2 + 3 s'^2) q'' + 3 s' s'' q'^2 = 1.5 cos t - 3 g s', s = 1 + c (1 - cos q)."""
    from scipy.integrate import solve_ivp

    def acceleration(t, q, qd):
        s1, s2 = c * np.sin(q), c * np.cos(q)
        return (1.5 * np.cos(t) - 3 * 9.81 * s1 - 3 * s1 * s2 * qd**2) / (2 + 3 * s1**2)

    found = solve_ivp(
        lambda t, y: [y[1], acceleration(t, *y)], (0, times[-1]), [0, 0], t_eval=times, rtol=1e-12, atol=1e-14
    )
    q, qd = found.y
    torque = 2 * acceleration(times, q, qd) - 1.5 * np.cos(times)  # what the coupler does to the shaft
    return q, 1 + c * (1 - np.cos(q)), qd, torque


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_coupler_that_runs_on_symbols(tmp_path, engine, recwarn):
    y, plant = run(cam(coupler(tmp_path, TRACED)), engine=engine)
    assert not [w for w in recwarn if "COUSUB" in str(w.message)]
    assert plant.info()["dof"] == 1
    expected = cam_by_hand(TIMES)
    assert y[:, :3] == pytest.approx(np.array(expected[:3]).T, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "how"),
    [
        (OPAQUE, "derivatives are central differences"),
        (OPAQUE + PARTIALS, "COUXX and its central differences"),
        (OPAQUE + PARTIALS + SECOND, "COUXX and COUXX2"),
    ],
)
def test_coupler_called_at_run_time(tmp_path, text, how):
    with pytest.warns(PlantWarning, match=f"Constraint_Coupler id=1, COUSUB of a constraint .*{how}"):
        y, _ = run(cam(coupler(tmp_path, text)), engine="reference")
    expected = cam_by_hand(TIMES)
    assert y[:, :3] == pytest.approx(np.array(expected[:3]).T, abs=1e-7)


def test_complex_partial_derivatives_of_a_coupler_are_refused(tmp_path):
    """COUXX that gives complex numbers: their real parts were taken."""
    complex_ones = PARTIALS.replace("def COUXX(", "def OTHER(") + (
        "import numpy as np\ndef COUXX(*given):\n    return np.array(OTHER(*given)) + 1j\n"
    )
    with pytest.raises(PlantloopError, match="Constraint_Coupler id=1.* raised TypeError.*complex"):
        run(cam(coupler(tmp_path, OPAQUE + complex_ones)), engine="reference")


def test_torque_of_a_coupler(tmp_path):
    """COUPLER(id, 0, 8) is its torque on the first joint's I body, about z."""
    model = cam(coupler(tmp_path, TRACED), texts=("COUPLER(1,0,8)",))
    y, _ = run(model, engine="reference")
    assert y[:, 0] == pytest.approx(cam_by_hand(TIMES)[3], abs=1e-7)


def test_coupler_closes_at_the_start(tmp_path):
    """What COUSUB gives is 0 from the start on, whatever the design: assembly moves the mechanism there."""
    with pytest.warns(PlantWarning, match="assembly moved the start"):
        plant = Plant.from_model(cam(coupler(tmp_path, TRACED), lift=1.05), trust=True)
    q, s = float(plant.start[0][0]), float(plant.start[1][0])
    assert abs(q) > 1e-3 or abs(s - 1.05) > 1e-3
    assert s == pytest.approx(1 + 0.3 * (1 - np.cos(q)), abs=1e-12)


C_SOURCE = """
#include <math.h>
void COUSUB(int *id, double *time, double *par, int *npar, double *disp, int *ndisp, int *iflag,
            double *phi) {
    *phi = disp[1] - 1.0 - par[0] * (1.0 - cos(disp[0]));
}
void COUXX(int *id, double *time, double *par, int *npar, double *disp, int *ndisp, int *iflag,
           double *d) {
    d[0] = -par[0] * sin(disp[0]);
    d[1] = 1.0;
}
void MOTSUB(int *id, double *time, double *par, int *npar, int *iord, int *iflag, double *value) {
    double w = par[0];
    value[0] = *iord == 0 ? sin(w * *time) : *iord == 1 ? w * cos(w * *time) : -w * w * sin(w * *time);
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> str:
    return built(tmp_path_factory.mktemp("library"), "cam", C_SOURCE)


@pytest.mark.slow
def test_compiled_coupler(library):
    compiled = Constraint_Coupler(
        id=1, joint1_id=1, joint2_id=2, usrsub_dll_name=library, usrsub_param_string="USER(0.3)"
    )
    with pytest.warns(PlantWarning, match="it is compiled. Its derivatives are COUXX and its central"):
        y, _ = run(cam(compiled), engine="reference")
    assert y[:, :3] == pytest.approx(np.array(cam_by_hand(TIMES)[:3]).T, abs=1e-7)


def test_compiled_motion(library):
    motion = Motion_Joint(
        id=1,
        joint_id=1,
        joint_type="R",
        type="USERSUB",
        usrsub_dll_name=library,
        usrsub_param_string="USER(3)",
    )
    with pytest.warns(PlantWarning, match="MOTSUB of a constraint .*its own, iord 1 and 2"):
        y, _ = run(cam(motion), engine="reference")
    assert y[:, 0] == pytest.approx(np.sin(3 * TIMES), abs=1e-10)
    assert y[:, 2] == pytest.approx(3 * np.cos(3 * TIMES), abs=1e-9)


def test_motion_that_branches_on_time(tmp_path):
    (tmp_path / "m.py").write_text(
        "def MOTSUB(id, time, par, npar, iord, iflag):\n"
        "    s = time - 0.5\n    if s < 0:\n        return 0.0\n    return [s**4, 4*s**3, 12*s**2][iord]\n"
    )
    motion = Motion_Joint(
        id=1, joint_id=1, joint_type="R", type="USERSUB", script_name=str(tmp_path / "m.py")
    )
    with pytest.warns(PlantWarning, match="its own, iord 1 and 2"):
        y, _ = run(cam(motion), engine="reference")
    assert y[:, 0] == pytest.approx(np.maximum(TIMES - 0.5, 0) ** 4, abs=1e-9)


def test_motion_that_ignores_iord_is_differenced(tmp_path):
    (tmp_path / "m.py").write_text(
        "from math import sin\ndef MOTSUB(id, time, par, npar, iord, iflag):\n"
        "    if time < -1.0:\n        return 0.0\n    return 0.2 * sin(3.0 * time)\n"
    )
    motion = Motion_Joint(
        id=1, joint_id=1, joint_type="R", type="USERSUB", script_name=str(tmp_path / "m.py")
    )
    with pytest.warns(PlantWarning, match="central differences .iord 1 and 2 do not give them"):
        y, _ = run(cam(motion), engine="reference")
    assert y[:, 0] == pytest.approx(0.2 * np.sin(3 * TIMES), abs=1e-9)
    assert y[:, 2] == pytest.approx(0.6 * np.cos(3 * TIMES), abs=1e-8)


@pytest.mark.slow
def test_general_constraint_that_branches(tmp_path):
    """GCOSUB on the heights of the follower: the same cam, with states asked for; dflag in differences."""
    (tmp_path / "g.py").write_text(
        "from math import cos\n"
        "def GCOSUB(id, time, par, npar, dflag, iflag):\n"
        "    q = py_sysfnc('AZ', [20, 10])[0]\n    z = py_sysfnc('DZ', [30, 11, 11])[0]\n"
        "    if q > 1e9:\n        return 0.0\n    return z - 1.0 - 0.3 * (1.0 - cos(q))\n"
    )
    held = Constraint_General(id=1, type="USERSUB", script_name=str(tmp_path / "g.py"))
    with pytest.warns(PlantWarning, match="Constraint_General id=1, GCOSUB of a constraint .*condition"):
        y, _ = run(cam(held), engine="reference")
    assert y[:, :3] == pytest.approx(np.array(cam_by_hand(TIMES)[:3]).T, abs=1e-7)


def test_rolling_by_subroutine(tmp_path):
    """A velocity-level GCOSUB: the follower rises with 0.2 times the shaft's rate."""
    (tmp_path / "g.py").write_text(
        "def GCOSUB(id, time, par, npar, dflag, iflag):\n"
        "    w = py_sysfnc('WZ', [20])[0]\n    v = py_sysfnc('VZ', [30])[0]\n"
        "    if w > 1e9:\n        return 0.0\n    return v - 0.2 * w\n"
    )
    held = Constraint_General(id=1, type="USERSUB", script_name=str(tmp_path / "g.py"))
    with pytest.warns(PlantWarning, match="GCOSUB of a constraint"):
        y, _ = run(cam(held), engine="reference")
    assert y[:, 1] == pytest.approx(1 + 0.2 * y[:, 0], abs=1e-8)
    effective = 2 + 3 * 0.04  # q'' = (1.5 cos t - 0.2*3 g)/effective
    q = (1.5 * (1 - np.cos(TIMES)) - 0.6 * 9.81 * TIMES**2 / 2) / effective
    assert y[:, 0] == pytest.approx(q, abs=1e-8)


def test_coefficients_or_a_routine(tmp_path):
    both = {"coefficients": (1.0, 2.0), "script_name": "cam.py"}
    with pytest.raises(ModelError, match="Constraint_Coupler id=1: has coefficients and a subroutine"):
        Constraint_Coupler(id=1, joint1_id=1, joint2_id=2, **both)
    with pytest.raises(ModelError, match="Constraint_Coupler id=1: would run COUSUB of the script .*cam.py"):
        Plant.from_model(cam(coupler(tmp_path, TRACED)))
    with pytest.raises(ModelError, match="defines no function 'COUSUB'.*COUXX"):
        Plant.from_model(cam(coupler(tmp_path, PARTIALS)), trust=True)


IMPLICIT = """
from math import cos
def VARSUB(id, time, par, npar, dflag, iflag):
    q = py_sysfnc('AZ', [20, 10])[0]
    z = py_sysfnc('DZ', [30, 11, 11])[0]
    return z - 1.0 - 0.3 * (1.0 - cos(q))
"""


@pytest.mark.slow
@pytest.mark.parametrize("branch", [False, True])
def test_variable_by_subroutine_that_is_a_constraint(tmp_path, branch):
    """An implicit VARSUB that does not ask for its own value: VARVAL is the multiplier, a force here."""
    text = (
        IMPLICIT.replace("    return", "    if q > 1e9:\n        return 0.0\n    return")
        if branch
        else IMPLICIT
    )
    (tmp_path / "v.py").write_text(text)
    held = Reference_Variable(id=7, type="USERSUB", script_name=str(tmp_path / "v.py"), is_implicit=True)
    model = cam(held, texts=("AZ(20,10)", "DZ(30,11,11)", "VARVAL(7)", "ACCZ(30)"))
    if branch:
        with pytest.warns(PlantWarning, match="Reference_Variable id=7, VARSUB of a constraint"):
            y, plant = run(model, engine="reference")
    else:
        y, plant = run(model, engine="reference")
    assert plant.info()["dof"] == 1
    q, lift, *_ = cam_by_hand(TIMES)
    assert y[:, :2] == pytest.approx(np.array([q, lift]).T, abs=1e-7)
    assert y[:, 2] == pytest.approx(3 * (y[:, 3] + 9.81), abs=1e-5)  # g_q^T lam on the follower
