"""Static equilibria against closed forms, in both coordinate choices, by Newton and by energy attrition."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from cosim.analysis.operating import model_of
from cosim.analysis.statics import StaticsError, equilibrium_near
from cosim.deck import run_deck
from plant import Plant
from plant.equations.frozen_time import resting
from tests.helpers.checked import closed_form, independent
from tests.helpers.decks import ALONG_X, ALONG_Y, body, deck, joint, marker, pendulum, simulate, slider
from tests.helpers.plants import deck as shipped
from tests.helpers.plants import reference

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")
COORDINATES = ("joint", "absolute")
ENGINES = ("reference", "native")
MKEAM = '<Param_Static method="MKEAM"/>'
STATIC = simulate("Static")


@pytest.fixture(params=COORDINATES)
def coordinates(request):
    return request.param


def rests(model, coordinates, commands=STATIC, **options):
    """Where request 1 ends."""
    run = run_deck(deck(model, commands), coordinates=coordinates, **({"engine": "reference"} | options))
    (name,) = [n for n in run.result if "request" in n]
    return run.result[name][-1], run


@pytest.mark.slow
@pytest.mark.parametrize("commands", [STATIC, MKEAM + STATIC])
@pytest.mark.parametrize("held", ["clamped", "propped", "driven"])
def test_what_cannot_move_is_at_rest(held, commands, coordinates):
    """A beam that is clamped, propped or held by a motion: weight and moment; clamped it has no states."""
    beam = marker(11, 1, axes=ALONG_Y) + body(2, 2.0, 1.0, 0.4, 0.0, 0.0) + marker(21, 2, axes=ALONG_Y)
    beam += joint(1, "FIXED" if held == "clamped" else "REVOLUTE", 21, 11)
    beam += {
        "clamped": "",
        "propped": marker(12, 1, 1.0) + marker(22, 2, 1.0) + joint(2, "INPLANE", 22, 12),
        "driven": '<Motion_Joint id="1" joint_id="1" val_type="D" expr="0"/>',
    }[held]
    moment = "MOTION(1,0,7)" if held == "driven" else "JOINT(1,0,7)"
    beam += f'<Post_Request id="1" type="EXPRESSION" expr1="JOINT(1,0,4)" expr2="{moment}"/>'
    found, run = rests(beam, coordinates, commands)
    W = 2.0 * 9.81
    force, turning = (0.6 * W, 0.0) if held == "propped" else (W, -0.4 * W)
    assert found == pytest.approx([force, turning], abs=1e-9)
    assert "static equilibrium" in run.steps[-1].text


@pytest.mark.parametrize("angle", [0.3, 1.2, np.pi / 2, 2.5])
def test_a_pendulum_hangs(checked, angle, coordinates):
    """From the side too, where the Jacobian is singular."""
    (x, z, w), run = rests(pendulum(angle), coordinates)
    known = [0.0, -0.5, 0.0]
    checked([x, z, w], known, "pendulum", "place and rate at rest", closed_form("below its pin"), atol=1e-9)
    assert "unstable" not in run.steps[-1].text


@pytest.mark.parametrize("angle", [3.0, np.pi])
def test_newton_keeps_the_unstable_equilibrium_and_says_so(angle, coordinates):
    (x, z, _), run = rests(pendulum(angle), coordinates)
    assert [x, z] == pytest.approx([0.0, 0.5], abs=1e-9)
    omega = np.sqrt(2 * 9.81 * 0.5 / (0.1 + 2 * 0.25))
    assert f"it is unstable (a deviation grows like exp({omega:.4g} t))" in run.steps[-1].text


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("angle", [np.pi / 2, np.pi])
def test_attrition_finds_the_stable_equilibrium(angle, coordinates, engine):
    (x, z, _), run = rests(pendulum(angle), coordinates, MKEAM + STATIC, engine=engine)
    assert [x, z] == pytest.approx([0.0, -0.5], abs=1e-9)
    assert "unstable" not in run.steps[-1].text


@pytest.mark.parametrize("commands", [STATIC, MKEAM + STATIC])
def test_a_mass_hangs_on_a_spring(checked, coordinates, commands):
    (z, v, force), _ = rests(slider(), coordinates, commands)
    known, oracle = [-1.0 - 2 * 9.81 / 50, 0.0, 2 * 9.81], closed_form("m g / k")
    checked([z, v, force], known, "mass on a spring", "place, rate and force at rest", oracle, atol=1e-9)


@pytest.mark.parametrize("commands", [STATIC, MKEAM + STATIC])
def test_in_millimetres(coordinates, commands):
    """kg, mm, s, N: a rod of 500 mm to its centre, held out to the side."""
    model = (
        '<Param_Unit mass_unit="KILOGRAM" length_unit="MILLIMETER" time_unit="SECOND" force_unit="NEWTON"/>'
    )
    model += marker(11, 1, axes=ALONG_Y) + body(2, 2.0, 1e5, 500.0, 0.0, 0.0, "rod")
    model += marker(21, 2, axes=ALONG_Y) + joint(1, "REVOLUTE", 21, 11, "hinge")
    model += '<Post_Request id="1" label="rod" type="EXPRESSION" expr1="DX(20)" expr2="DZ(20)"/>'
    run = run_deck(deck(model, commands, gravity=-9810.0), coordinates=coordinates, engine="reference")
    assert run.result["plant.request_rod"][-1] == pytest.approx([0.0, -500.0], abs=1e-8)


# --- a four-bar -----------------------------------------------------------------------------------------
def four_bar(crank, coupler, rocker, base, angle):
    """Crank at the origin, rocker at (base, 0), `angle` of the crank from hanging; mass 1 per length."""
    a = crank * np.array([np.sin(angle), -np.cos(angle)])
    b = elbow(a, np.array([base, 0.0]), coupler, rocker)
    c = np.array([base, 0.0])
    bars = [(2, np.zeros(2), a), (3, a, b), (4, b, c)]
    text = marker(11, 1, axes=ALONG_Y) + marker(12, 1, x=base, axes=ALONG_Y)
    for id, start, end in bars:
        length, (x, z) = float(np.linalg.norm(end - start)), (start + end) / 2
        text += body(id, length, length**3 / 12, float(x), 0.0, float(z), f"bar {id}")
        for k, (px, pz) in ((1, start), (2, end)):
            text += marker(10 * id + k, id, x=float(px), z=float(pz), axes=ALONG_Y)
    ends = [(21, 11), (31, 22), (41, 32), (42, 12)]
    text += "".join(joint(k, "REVOLUTE", i, j) for k, (i, j) in enumerate(ends, start=1))
    return text + '<Post_Request id="1" type="EXPRESSION" expr1="DX(22)" expr2="DZ(22)" expr3="DZ(32)"/>'


def elbow(a, c, coupler, rocker):
    """The lower point at `coupler` from a and `rocker` from c."""
    d = c - a
    length = np.linalg.norm(d)
    along = (coupler**2 - rocker**2 + length**2) / (2 * length)
    normal = np.array([d[1], -d[0]]) / length
    normal = normal if normal[1] < 0 else -normal
    return a + along * d / length + np.sqrt(coupler**2 - along**2) * normal


@pytest.mark.parametrize("commands", [STATIC, MKEAM + STATIC])
def test_a_parallelogram_hangs_straight_down(coordinates, commands):
    (x, z, other), _ = rests(four_bar(1.0, 2.0, 1.0, 2.0, 0.7), coordinates, commands)
    assert [x, z, other] == pytest.approx([0.0, -1.0, -1.0], abs=1e-9)


@pytest.mark.parametrize("commands", [STATIC, MKEAM + STATIC])
def test_a_four_bar_hangs_where_its_energy_is_least(checked, coordinates, commands):
    """Independent: potential energy over the crank's angle from circle intersections."""
    crank, coupler, rocker, base = 1.0, 1.6, 1.3, 2.0

    def energy(angle):
        a = crank * np.array([np.sin(angle), -np.cos(angle)])
        b = elbow(a, np.array([base, 0.0]), coupler, rocker)
        return crank * a[1] / 2 + coupler * (a[1] + b[1]) / 2 + rocker * b[1] / 2

    angle = minimize_scalar(energy, bracket=(0.0, 0.3), options={"xtol": 1e-12}).x
    (x, z, _), _ = rests(four_bar(crank, coupler, rocker, base, 0.5), coordinates, commands)
    oracle = independent("scipy minimize_scalar of the potential energy")  # known to half the digits
    checked(np.arctan2(x, -z), angle, "four-bar", "angle of the crank at rest", oracle, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("commands", [STATIC, MKEAM + STATIC])
def test_the_published_four_bar(coordinates, commands):
    """Angles at rest on a stiff spring, from 46 degrees away."""
    head, _, _ = shipped("four_bar.xml").read_text().partition("<Command>")
    text = f"{head}<Command>{commands}</Command></MotionSolve>"
    run = run_deck(text.encode(), coordinates=coordinates, engine="reference")
    known = [reference("fourbar")["equilibrium"][f"phi{k}"] for k in (1, 2, 3)]
    assert run.result["plant.angles_and_rates"][-1] == pytest.approx([*known, 0.0, 0.0, 0.0], abs=1e-8)


# --- time, motions, states of controls ------------------------------------------------------------------
def test_quasi_static_follows_a_force(coordinates):
    push = '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="-10*TIME-5*TIME**2"/>'
    run = run_deck(
        deck(slider() + push, simulate("Static", end_time=2, print_interval=0.5)), coordinates=coordinates
    )
    t = run.result.time
    assert t == pytest.approx([0.0, 0.5, 1.0, 1.5, 2.0])
    expected = -1.0 - (2 * 9.81 + 10 * t + 5 * t**2) / 50
    assert run.result["plant.request_mass[0]"] == pytest.approx(expected, abs=1e-9)
    assert run.result["plant.request_mass[1]"] == pytest.approx(0 * t, abs=1e-12)
    assert run.time == 2.0


@pytest.mark.parametrize(
    ("written", "step"), [({"print_interval": 0.3}, 0.3), ({"num_steps": 8}, 0.25), ({}, 0.01)]
)
def test_quasi_static_output_at_every_few_equilibria(written, step):
    push = '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="0" '
    push += 'fz_expression="-10*TIME"/>'
    command = simulate("Static", end_time=2 if written else 0.1, print_increment=3, **written)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = run_deck(deck(slider() + push, command), engine="reference")
    t, end = run.result.time, run.time
    every = np.append(np.arange(0.0, end - 1e-9, step), end)
    assert t == pytest.approx(np.unique([*every[::3], end]))
    assert run.result["plant.request_mass[0]"] == pytest.approx(-1.0 - (2 * 9.81 + 10 * t) / 50, abs=1e-9)


def test_quasi_static_follows_a_motion(coordinates):
    """The crank is driven; a second rod on it hangs vertically at every time."""
    model = pendulum(0.0) + body(3, 1.0, 0.1, 0.3, 0.0, -1.0, "second")
    model += marker(22, 2, z=-1.0, axes=ALONG_Y) + marker(31, 3, z=-1.0, axes=ALONG_Y)
    model += joint(2, "REVOLUTE", 31, 22, "elbow")
    model += '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="SIN(TIME)*2"/>'
    model += '<Post_Request id="2" label="second" type="EXPRESSION" expr1="DX(30)" expr2="DZ(30)"/>'
    run = run_deck(
        deck(model, simulate("Static", end_time=1, num_steps=4)), coordinates=coordinates, engine="reference"
    )
    angle = -2 * np.sin(run.result.time)  # about -Y
    hinge = np.array([-np.sin(angle), -np.cos(angle)]).T
    x, z = run.result["plant.request_second"].T
    start = np.array([0.3, 0.0])
    assert np.hypot(*start) == pytest.approx(0.3)
    assert np.allclose(x, hinge[:, 0], atol=1e-9) and np.allclose(z, hinge[:, 1] - 0.3, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("val_type", ["V", "A"])
def test_motions_on_rates_hold_where_they_stand(val_type, coordinates):
    motion = (
        f'<Motion_Joint id="1" joint_id="1" joint_type="R" val_type="{val_type}" expr="1+TIME" ic_disp="0"/>'
    )
    (x, z, w), _ = rests(pendulum(0.7) + motion, coordinates)
    assert w == pytest.approx(0.0, abs=1e-12)
    again, _ = rests(pendulum(0.7) + motion, coordinates, simulate("Assembly") + STATIC)
    assert [x, z] == pytest.approx(again[:2], abs=1e-9)
    assert np.hypot(x, z) == pytest.approx(0.5)


def test_states_of_controls_come_to_rest_or_are_held(coordinates):
    controls = (
        '<Control_Diff id="1" label="lag" ic="3" expr="DZ(20)-DIF(1)"/>'
        '<Control_Diff id="2" label="kept" ic="3" is_static_hold="TRUE" expr="DZ(20)-DIF(2)"/>'
        '<Reference_Variable id="7" label="sum" expr="0" dot_form="TRUE" ic="1" static_hold="TRUE"/>'
    )
    run = run_deck(deck(slider() + controls, STATIC), coordinates=coordinates, engine="reference")
    assert run.plant is not None
    z = run.result["plant.request_mass[0]"][-1]
    model = resting(run.plant)
    assert z == pytest.approx(-1.3924, abs=1e-9)
    values = {
        name: model_of(model, inputs=(), outputs=()).system.states[f"plant.{name}"].size
        for name in ("lag", "kept", "sum")
    }
    assert values == {"lag": 1, "kept": 1, "sum": 1}


def test_a_resting_plant_has_no_time_in_its_rates():
    """Settling a driven pendulum on its own, without a deck."""
    motion = '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="0.2+TIME"/>'
    plant = Plant.read(deck(pendulum(-0.2) + motion))
    found = equilibrium_near(model_of(resting(plant), inputs=(), outputs=()))
    assert found.residual < 1e-9 and found.stable


def test_variables_that_solve_equations(coordinates):
    """A force that is the root of v + v^3/100 = -DZ - 1: cubic against the spring."""
    more = (
        '<Reference_Variable id="1" is_implicit="TRUE" expr="VARVAL(1)+VARVAL(1)**3/100+DZ(20)+1"/>'
        '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="10*VARVAL(1)"/>'
        '<Post_Request id="2" label="v" type="EXPRESSION" expr1="VARVAL(1)"/>'
    )
    run = run_deck(
        deck(slider() + more, STATIC + simulate("Transient", end_time=0.1)),
        coordinates=coordinates, engine="reference",
    )  # fmt: skip
    z, v = run.result["plant.request_mass[0]"], run.result["plant.request_v"][:, 0]
    assert v + v**3 / 100 == pytest.approx(-z - 1, abs=1e-10)
    assert 50 * (-z - 1) + 10 * v == pytest.approx(np.full(len(z), 2 * 9.81), abs=1e-7)  # it stays there


# --- what cannot rest -----------------------------------------------------------------------------------
def test_what_falls_is_named(coordinates):
    falling = body(3, 1.0, 0.1, 3.0, 0.0, 0.0, "stone")
    with pytest.raises(
        StaticsError, match=r"<bytes>:1: Simulate: at t=0 s a static equilibrium was not"
    ) as e:
        run_deck(deck(pendulum(0.3) + falling, STATIC), coordinates=coordinates, engine="reference")
    text = str(e.value)
    assert "stone" in text and "still accelerates by -9.81" in text and "Body_Rigid id=3" in text
    assert e.value.value == pytest.approx(-9.81)
    assert "on that body acts no force element" in text
    assert e.value.part == "stone"


def test_attrition_names_what_never_stops(coordinates):
    falling = body(3, 1.0, 0.1, 3.0, 0.0, 0.0, "stone")
    with pytest.raises(StaticsError, match="kinetic energy grows without a peak"):
        run_deck(deck(pendulum(0.3) + falling, MKEAM + STATIC), coordinates=coordinates, engine="reference")


def test_too_few_swings_are_told():
    few = '<Param_Static method="MKEAM" max_num_iter="1" max_ke_tol="1e-12"/>'
    with pytest.raises(StaticsError, match="did not come to rest in 1 swings"):
        run_deck(deck(pendulum(1.0), few + STATIC))


def test_what_nothing_holds_may_stay_where_it_is(coordinates):
    """Without gravity every pose of a pendulum is an equilibrium."""
    run = run_deck(deck(pendulum(0.4), STATIC, gravity=0.0), coordinates=coordinates, engine="reference")
    assert run.result["plant.request_rod"][-1] == pytest.approx(
        [0.5 * np.sin(0.4), -0.5 * np.cos(0.4), 0.0], abs=1e-12
    )


@pytest.mark.parametrize("opaque", [False, True])
def test_subroutines_stand_at_the_time_of_the_equilibrium(opaque, tmp_path):
    """A bob of 1 kg on a cart that moves 0.3 t, pushed by 5 t: at t = 1 its rod leans by atan(5/g).

    No rest was found: the motion went on at its rate. Energy attrition ran after a force that grew.
    """
    late = "    if time > 1e9: return 0.0\n" * opaque
    (tmp_path / "s.py").write_text(
        f"def MOTSUB(id, time, par, npar, iord, iflag):\n{late}    return [0.3*time, 0.3, 0.0][iord]\n"
        f"def VARSUB(id, time, par, npar, dflag, iflag):\n{late}    return 5.0*time\n"
    )
    script = f'type="USERSUB" interpreter="PYTHON" script_name="{tmp_path}/s.py" usrsub_param_string="USER()"'
    model = body(2, 2.0, 0.1, 0, 0, 0) + marker(11, 1, axes=ALONG_X) + marker(21, 2, axes=ALONG_X)
    model += joint(1, "TRANSLATIONAL", 21, 11) + body(3, 1.0, 0.1, 0, 0, -0.9)
    model += marker(22, 2, axes=ALONG_Y) + marker(32, 3, axes=ALONG_Y) + joint(2, "REVOLUTE", 32, 22)
    model += f'<Motion_Joint id="1" joint_id="1" joint_type="T" val_type="D" {script}/>'
    model += (
        f'<Reference_Variable id="1" {script}/><Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="30" '
    )
    model += (
        'fx_expression="VARVAL(1)"/><Post_Request id="1" type="EXPRESSION" expr1="DX(30)" expr2="DZ(30)"/>'
    )
    lean = np.arctan2(5.0, 9.81)
    known = [0.3 + 0.9 * np.sin(lean), -0.9 * np.cos(lean)]
    sequence = simulate("Static", end_time=1, num_steps=2)
    for commands in (sequence, simulate("Transient", end_time=1, num_steps=2) + MKEAM + STATIC):
        found, _ = rests(model, "joint", commands, trust=True)
        assert found[:2] == pytest.approx(known, abs=1e-9)
