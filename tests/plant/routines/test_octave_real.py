"""Subroutines in MATLAB code, run by GNU Octave itself: what they give is what the same expression gives."""

import importlib.util
import shutil
import warnings

import numpy as np
import pytest

from blocks.contract.callback import shared
from cosim import Diagram, simulate
from plant import Plant, PlantWarning
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Force_Penalty,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from tests.helpers.plants import Alone

HAVE = (shutil.which("octave") or shutil.which("octave-cli")) and importlib.util.find_spec("oct2py")
pytestmark = pytest.mark.skipif(not HAVE, reason="GNU Octave with oct2py is not installed")

ENERGY = """function KE = Kinetic_Energy(id, time, par, npar, dflag, iflag)
  icm = par(1);
  [vm, errflg] = m_sysfnc('VM', icm);
  [w, errflg] = m_sysary('RVEL', icm);
  if iflag
    KE = 0.0;
  else
    KE = 0.5*(par(2)*vm^2 + par(3)*w(1)^2 + par(4)*w(2)^2 + par(5)*w(3)^2);
  end
end
"""
CATENARY = """function g = {name}(id, time, par, npar, dflag, iflag)
  [x, errflg] = m_sysfnc('DX', [par(1)]);
  [y, errflg] = m_sysfnc('DY', [par(1)]);
  g = y - cosh(x);
end
"""
MATLAB = {"type": "USERSUB", "interpreter": "MATLAB"}
SEEN = ("DX(9)", "DY(9)", "VX(9)", "VY(9)", "ACCX(9)", "ACCY(9)")


def plant(*elements, joint="PLANAR", y=1.081, **body):
    """A body of 4 kg with its centre 9 at x = 0.4, under gravity along -y; outputs seen."""
    seen = [Reference_Variable(id=100 + k, expr=expr) for k, expr in enumerate(SEEN)]
    joints = [Constraint_Joint(id=1, type=joint, i_marker_id=9, j_marker_id=10)] if joint else []
    model = Model.build(
        [
            Force_Gravity(grav_y=-9.81),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=9, mass=4, inertia_xx=0.006, inertia_yy=0.005, inertia_zz=0.004, **body),
            Reference_Marker(id=9, body_id=2, pos_x=0.4, pos_y=y),
            *joints,
            *seen,
            *elements,
            Control_PlantOutput(id=1, label="seen", variable_id_list=tuple(v.id for v in seen)),
        ]
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        return Plant.from_model(model, trust=True)


def run(made, times, **options):
    d = Diagram("octave")
    d.add("plant", made)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PlantWarning)
        return simulate(d, times[-1], log_at=times, **options)


def script(tmp_path, name, text):
    (tmp_path / f"{name}.m").write_text(text)
    return str(tmp_path / f"{name}.m")


@pytest.mark.slow
def test_a_kinetic_energy_of_a_spinning_body(tmp_path):
    """1/2 m v^2 + 1/2 w I w, by hand: a free fall that turns about z."""
    path = script(tmp_path, "Kinetic_Energy", ENERGY)
    energy = Reference_Variable(
        id=3070,
        usrsub_param_string="USER(9, 4, 0.006, 0.005, 0.004)",
        script_name=path,
        usrsub_fnc_name="Kinetic_Energy",
        **MATLAB,
    )
    shown = Control_PlantOutput(id=2, label="KE", variable_id_list=(3070,))
    made = plant(energy, shown, joint=None, v_ic_x=1.0, v_ic_y=-2.0, w_ic_z=5.0)
    r = run(made, np.array([0.0, 0.01]), solver="rk4", step=0.01)
    spin = 0.004 * 25
    at_end = 4 * (1 + (2 + 9.81 * 0.01) ** 2)
    assert r["plant.KE"][:, 0] == pytest.approx([0.5 * (20 + spin), 0.5 * (at_end + spin)], rel=1e-7)


@pytest.mark.slow
def test_a_penalty_along_a_catenary(tmp_path):
    """F = -p g - p1 g' along the gradient (-sinh x, 1) of what the routine returns, which is differenced."""
    path = script(tmp_path, "PFOSUB", CATENARY.format(name="PFOSUB"))
    penalty = Force_Penalty(
        id=1, penalty=1e4, penalty1=1e2, script_name=path, usrsub_param_string="USER(9)", **MATLAB
    )
    made = plant(penalty, y=np.cosh(0.4) + 0.01, v_ic_x=-1.0, v_ic_y=0.3)
    s = np.sinh(0.4)
    F = -1e4 * 0.01 - 1e2 * (0.3 + s)
    assert seen_at_start(made)[4:] == pytest.approx([-s * F / 4, F / 4 - 9.81], rel=1e-8)


@pytest.mark.slow
def test_a_constraint_along_a_catenary(tmp_path):
    """y = cosh x: a_y = a_x sinh x + v_x^2 cosh x, and no force but along (-sinh x, 1)."""
    path = script(tmp_path, "VARSUB", CATENARY.format(name="VARSUB"))
    hard = Reference_Variable(
        id=7, is_implicit=True, script_name=path, usrsub_param_string="USER(9)", **MATLAB
    )
    made = plant(hard, y=np.cosh(0.4) + 0.01, v_ic_x=-1.0)
    x, y, vx, vy, *found = seen_at_start(made)
    s, c = np.sinh(x), np.cosh(x)
    assert [y, vy] == pytest.approx([c, s * vx], abs=1e-9)
    force = (c * vx**2 + 9.81) / c**2
    assert found == pytest.approx([-s * force, force - 9.81], rel=1e-6)


def seen_at_start(made):
    """Place, velocity and acceleration of the body's centre."""
    with warnings.catch_warnings(), shared():
        warnings.simplefilter("ignore", PlantWarning)
        return Alone(made).output("seen").tolist()


@pytest.mark.slow
def test_a_killed_octave_leaves_nothing_in_the_working_folder(tmp_path, monkeypatch):
    import oct2py

    from plant.routines.octave import _HELPERS

    monkeypatch.chdir(tmp_path)
    session = oct2py.Oct2Py()
    session.eval(_HELPERS + "held = 3;")
    with pytest.raises(oct2py.Oct2PyError):
        session.eval("kill(getpid(), 15); pause(5)")
    assert not list(tmp_path.iterdir())
