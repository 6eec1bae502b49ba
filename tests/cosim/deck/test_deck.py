"""Decks run as they stand: simulations in sequence, changes, ends, files; against closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cosim import simulate as run_plant
from cosim.deck import run_deck
from plant import Plant
from plant.reporting import ModelProblems, PlantWarning
from tests.helpers.decks import (
    ALONG_Y,
    OMEGA,
    TIGHT,
    deck,
    marker,
    mass,
    off,
    pendulum,
    ran,
    simulate,
    slider,
)

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")


def falls(t, z0=-1.0):
    """The slider let go at rest at z0."""
    rest = -1.0 - 2 * 9.81 / 50
    return rest + (z0 - rest) * np.cos(OMEGA * t)


# --- one after the other --------------------------------------------------------------------------------
def test_simulations_go_on_from_each_other(how):
    commands = TIGHT + simulate("Transient", end_time=0.5, print_interval=0.1)
    commands += simulate("Transient", duration=0.5, num_steps=2) + simulate("Transient", end_time=1.2)
    run = ran(slider(), commands, **how)
    t = run.result.time
    assert t[:8] == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0])
    assert len(t) == 8 + 20 and t[-1] == 1.2 and run.time == 1.2  # 0.01 s, where nothing is written
    assert mass(run)[0] == pytest.approx(falls(t), abs=1e-8)
    assert [len(step.result.time) for step in run.steps if step.result] == [6, 3, 21]  # the start is in it


def test_cutting_a_simulation_changes_nothing(engine):
    whole = ran(slider(), TIGHT + simulate("Transient", end_time=1, print_interval=0.25), engine=engine)
    parts = "".join(simulate("Transient", end_time=t, print_interval=0.25) for t in (0.25, 0.5, 1))
    cut = ran(slider(), TIGHT + parts, engine=engine)
    assert np.array_equal(whole.result.time, cut.result.time)
    assert mass(whole) == pytest.approx(mass(cut), abs=1e-9)


def test_both_engines_agree():
    commands = (
        simulate("Transient", end_time=0.3, print_interval=0.1)
        + '<Deactivate element_type="JOINT" element_id="1"/>'
        + simulate("Transient", end_time=0.5, print_interval=0.1)
        + '<Activate element_type="JOINT" element_id="1"/>'
        + simulate("Transient", end_time=1, print_interval=0.1)
        + simulate("Static")
        + simulate("Transient", end_time=1.2, print_interval=0.1)
    )
    one, other = (ran(pendulum(1.0), commands, engine=e) for e in ("reference", "native"))
    assert np.array_equal(one.result.time, other.result.time)
    assert one.result["plant.request_rod"] == pytest.approx(other.result["plant.request_rod"], abs=1e-7)


def test_a_static_start_stays_at_rest(how):
    commands = simulate("Static") + simulate("Transient", end_time=1, print_interval=0.1)
    run = ran(slider(), commands, **how)
    assert repr(run) == f"<DeckRun '{run.name}': 2 commands, t = 1 s>"
    assert len(run.result.time) == 11  # of the two rows at 0 s one stays
    assert mass(run)[0] == pytest.approx(np.full(11, falls(np.pi / (2 * OMEGA))), abs=1e-9)


@pytest.mark.parametrize("opaque", [False, True])
def test_a_subroutine_in_quasi_statics_knows_the_time(opaque, tmp_path):
    """A force of 20 t on a spring of 50: each equilibrium had the force of the one before."""
    late = "    if py_sysfnc('DZ', [20])[0] > 1e9: return 0.0\n" * opaque
    (tmp_path / "s.py").write_text(f"def VARSUB(id, time, *rest):\n{late}    return 20.0*time\n")
    force = (
        f'<Reference_Variable id="1" type="USERSUB" script_name="{tmp_path}/s.py" interpreter="PYTHON"/>'
        '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="11" '
        'fz_expression="VARVAL(1)"/>'
    )
    run = ran(slider() + force, simulate("Static", end_time=1, print_interval=0.5), gravity=0.0, trust=True)
    assert mass(run)[0] == pytest.approx([-1.0, -0.8, -0.6], abs=1e-9)


def test_a_first_start_time_sets_the_clock(engine):
    push = (
        '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="STEP(TIME,2,0,2.5,30)"/>'
    )
    commands = simulate("Transient", start_time=2, end_time=3, print_interval=0.25)
    run = ran(slider() + push, TIGHT + commands, engine=engine)
    whole = ran(
        slider() + push, TIGHT + simulate("Static") + simulate("Transient", end_time=1), engine=engine
    )
    assert run.result.time == pytest.approx([2.0, 2.25, 2.5, 2.75, 3.0])
    assert mass(run)[0][-1] != pytest.approx(falls(1.0), abs=1e-3)
    assert whole.time == 1.0


def test_jumps_in_time_are_met_after_a_start_in_between(engine):
    """A force that jumps at 0.4 s, by a simulation that starts anew at 0.3 s because of a switch."""
    push = (
        '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" fz_expression="IF(TIME-0.4: 0,0,15)"/>'
    )
    other = '<Force_Vector_OneBody id="2" type="FORCEONLY" marker_id="20" fz_expression="0*TIME"/>'
    cut = simulate("Transient", end_time=0.3, print_interval=0.1)
    cut += '<Deactivate element_type="FORCE" element_id="2"/>'
    cut += simulate("Transient", end_time=1, print_interval=0.1)
    whole = simulate("Transient", end_time=1, print_interval=0.1)
    runs = [ran(slider() + push + other, TIGHT + c, engine=engine) for c in (cut, whole)]
    assert mass(runs[0])[0] == pytest.approx(mass(runs[1])[0], abs=1e-8)
    late = runs[0].result.time > 0.4
    assert np.abs(mass(runs[0])[0] - falls(runs[0].result.time))[late].max() > 0.1


def test_a_kinematic_simulation(how):
    """No degree of freedom is left; the torque of the motion is that of inverse dynamics."""
    motion = '<Motion_Joint id="1" joint_id="1" joint_type="R" expr="SIN(3*TIME)"/>'
    motion += '<Post_Request id="2" label="torque" type="EXPRESSION" expr1="MOTION(1,0,8,11)"/>'
    run = ran(pendulum(0.0) + motion, TIGHT + simulate("Transient", end_time=1), **how)
    t, angle = run.result.time, np.sin(3 * run.result.time)
    assert run.steps[-1].text.endswith("(kinematic: no degrees of freedom)")
    assert run.result["plant.request_rod"][:, 0] == pytest.approx(0.5 * np.sin(angle), abs=1e-9)
    known = (0.1 + 2 * 0.25) * -9 * np.sin(3 * t) + 2 * 9.81 * 0.5 * np.sin(angle)
    assert run.result["plant.request_torque"][:, 0] == pytest.approx(known, abs=1e-6)


def test_the_integrator_restarts_at_listed_times():
    times = '<Reference_Array id="9" type="RESTART">0.25 0.5 0.125</Reference_Array>'
    plain = ran(slider(), TIGHT + simulate("Transient", end_time=1))
    cut = ran(slider(), times + TIGHT + simulate("Transient", end_time=1, restart_array_id=9))
    assert mass(cut)[0] == pytest.approx(falls(cut.result.time), abs=1e-8)
    assert np.array_equal(cut.result.time, plain.result.time)
    assert cut.result.statistics["steps"] > plain.result.statistics["steps"]


# --- output ---------------------------------------------------------------------------------------------
def test_output_at_listed_times():
    times = '<Reference_Array id="9" type="PRINT">0.1 0.05 0.7 3</Reference_Array>'
    run = ran(slider(), times + simulate("Transient", end_time=1, print_array_id=9))
    assert run.result.time.tolist() == [0.05, 0.1, 0.7, 1.0]


def test_output_every_few_steps():
    fixed = '<Param_Transient h_max="0.01"/>'
    every = ran(slider(), fixed + simulate("Transient", end_time=1, print_increment=1)).result.time
    third = ran(slider(), fixed + simulate("Transient", end_time=1, print_increment=3)).result.time
    assert third.tolist() == [*every[::3], *([every[-1]] if (len(every) - 1) % 3 else [])]
    assert np.diff(every).max() <= 0.01 + 1e-12


@pytest.mark.filterwarnings("default::plant.PlantWarning")
@pytest.mark.parametrize(
    ("kind", "written", "said"),
    [
        ("Static", {"print_interval": 0.1, "num_steps": 3}, "num_steps, print_interval change nothing"),
        ("Static", {"end_time": 1, "num_steps": 3, "print_interval": 0.1}, "print_interval changes nothing"),
        ("Static", {"end_time": 1, "restart_array_id": 9}, "restart_array_id changes nothing"),
        ("Linear", {"end_time": 1, "print_increment": 2}, "print_increment, end_time change nothing"),
        ("Assembly", {"duration": 1}, "duration changes nothing"),
    ],
)
def test_times_that_an_analysis_does_not_reach_are_mentioned(kind, written, said):
    """What follows begins where the deck stands, at 0 s."""
    times = '<Reference_Array id="9" type="RESTART">0.1</Reference_Array>'
    last = simulate("Transient", end_time=1.2, num_steps=1)
    with pytest.warns(PlantWarning, match=f"Simulate: .*{said}"):
        run = ran(slider(), times + simulate(kind, **written) + last)
    assert run.steps[-1].time == 1.2 and run.steps[-1].result.time[0] == (
        1.0 if kind == "Static" and "end_time" in written else 0.0
    )


@pytest.mark.filterwarnings("default::plant.PlantWarning")
def test_an_end_that_a_linear_analysis_does_not_reach_is_not_in_the_past_of_others():
    """The linear analysis is about 0 s, whatever its end_time."""
    run = ran(slider(), simulate("Linear", end_time=5) + simulate("Transient", end_time=0.5, num_steps=1))
    assert run.result.time.tolist() == [0.0, 0.5]


@pytest.mark.filterwarnings("default::plant.PlantWarning")
def test_a_start_time_that_is_not_where_the_deck_stands_is_mentioned(recwarn):
    first, then = simulate("Transient", end_time=0.3), 'Transient" start_time="{}'
    ran(slider(), first + simulate(then.format(0.3), duration=0.1))
    assert not [w for w in recwarn if "start_time" in str(w.message)]
    with pytest.warns(PlantWarning, match=r"start_time=5 changes nothing.*here 0\.3 s"):
        run = ran(slider(), first + simulate(then.format(5), duration=0.1))
    assert mass(run)[0] == pytest.approx(falls(run.result.time), abs=1e-8) and run.time == 0.4


def test_a_deck_without_output_gives_the_bodies():
    model = pendulum(1.0).partition("<Post_Request")[0]
    run = ran(model, simulate("Transient", end_time=0.1))
    place, speed = (run.result[f"plant.request_rod_{kind}"] for kind in ("displacement", "velocity"))
    assert place[0][1:4] == pytest.approx([0.5 * np.sin(1), 0, -0.5 * np.cos(1)])
    assert np.hypot(speed[-1][1], speed[-1][3]) == pytest.approx(speed[-1][0])


def test_the_last_plant_starts_where_the_deck_ends():
    run = ran(slider(), TIGHT + simulate("Transient", end_time=0.4))
    later = run_plant(run.plant, until=0.3, log_at=[0.3], rtol=1e-10, atol=1e-12)
    assert later["plant.request_mass"][-1][0] == pytest.approx(falls(0.7), abs=1e-8)


# --- settings -------------------------------------------------------------------------------------------
def test_settings_of_the_integrator():
    stiff = '<Param_Transient integrator_type="DSTIFF" integr_tol="1e-6" h_max="0.05"/>'
    commands = stiff + simulate("Transient", end_time=0.1) + '<Param_Transient integr_tol="1e-9"/>'
    run = ran(slider(), commands + simulate("Transient", end_time=0.2))
    first, second = (step.result.settings for step in run.steps if step.result)
    assert (first["solver"].value, first["atol"].value, first["max_step"].value) == ("rodas4", 1e-6, 0.05)
    assert first["atol"].origin == "<bytes>:1: Param_Transient"
    assert (second["solver"].value, second["atol"].value, second["max_step"].value) == ("rodas4", 1e-9, 0.05)
    plain = ran(slider(), simulate("Transient", end_time=0.1)).steps[-1].result.settings
    assert (plain["solver"].value, plain["atol"].value) == ("dopri5", 1e-10)
    asked = ran(slider(), commands, solver="rk4", rtol=None).steps[1].result.settings
    assert (asked["solver"].value, asked["solver"].origin) == ("rk4", "argument")


def test_what_is_not_used_is_said():
    commands = '<Param_Transient integr_tol="1e-6" h_min="1e-9" dae_index="3"/>'
    run = ran(slider(), commands + simulate("Transient", end_time=0.1))
    assert run.steps[0].text == "Param_Transient in force; not used: dae_index, h_min"


def test_settings_may_stand_in_the_model():
    model = slider() + '<Param_Transient integr_tol="1e-7" integrator_type="ABAM"/>'
    settings = ran(model, simulate("Transient", end_time=0.1)).steps[-1].result.settings
    assert (settings["solver"].value, settings["atol"].value) == ("dopri5", 1e-7)


# --- changes --------------------------------------------------------------------------------------------
def test_elements_change_between_simulations(how):
    """Gravity off, then the spring twice as stiff: each a swing about its own rest."""
    commands = TIGHT + simulate("Static") + '<Force_Gravity grav_z="0"/>'
    commands += simulate("Transient", end_time=0.4) + '<Force_SpringDamper id="1" stiffness="100"/>'
    run = ran(slider(), commands + simulate("Transient", end_time=0.9), **how)
    z, t = mass(run)[0], run.result.time
    sag, fast = 2 * 9.81 / 50, np.sqrt(50.0)
    first, after = t <= 0.4, t >= 0.4
    assert z[first] == pytest.approx(-1 - sag * np.cos(OMEGA * t[first]), abs=1e-8)
    s, z0, v0 = t[after] - 0.4, -sag * np.cos(OMEGA * 0.4), sag * OMEGA * np.sin(OMEGA * 0.4)
    expected = -1 + z0 * np.cos(fast * s) + v0 / fast * np.sin(fast * s)
    assert z[after] == pytest.approx(expected, abs=1e-8)


def test_a_motion_gets_another_expression(coordinates):
    motion = '<Motion_Joint id="1" joint_id="1" joint_type="R" val_type="V" expr="1"/>'
    commands = simulate("Transient", end_time=0.5) + '<Motion_Joint id="1" expr="-3"/>'
    run = ran(pendulum(0.0) + motion, commands + simulate("Transient", end_time=1), coordinates=coordinates)
    t, w = run.result.time, run.result["plant.request_rod[2]"]
    assert w[t < 0.5] == pytest.approx(np.full((t < 0.5).sum(), -1.0), abs=1e-9)
    assert w[t >= 0.5] == pytest.approx(np.full((t >= 0.5).sum(), 3.0), abs=1e-9)
    angle = 0.5 - 3 * 0.5
    assert run.result["plant.request_rod[0]"][-1] == pytest.approx(0.5 * np.sin(angle), abs=1e-8)


def test_states_of_controls_carry_over(engine):
    """x' = -x goes on through a change elsewhere, and so does what a sensor stored."""
    more = (
        '<Control_Diff id="1" label="decay" ic="1" expr="-DIF(1)"/>'
        '<Sensor_Evaluate id="1" expr="TIME"/>'
        '<Sensor_Event id="1" expr="DIF(1)" value="0.8" compare="LE" evaluate_id="1"/>'
        '<Post_Request id="2" label="states" type="EXPRESSION" expr1="DIF(1)" expr2="SENVAL(1)"/>'
    )
    commands = TIGHT + simulate("Transient", end_time=0.5) + '<Body_Rigid id="2" mass="3"/>'
    run = ran(slider() + more, commands + simulate("Transient", end_time=1), engine=engine)
    t = run.result.time
    assert run.result["plant.request_states[0]"] == pytest.approx(np.exp(-t), abs=1e-8)
    late = t > 0.3
    assert run.result["plant.request_states[1]"][late] == pytest.approx(
        np.full(late.sum(), -np.log(0.8)), abs=1e-7
    )


# --- ends -----------------------------------------------------------------------------------------------
SENSOR = '<Sensor_Event id="1" expr="DZ(20)" value="-1.3" compare="LE" {what}="TRUE"/>'
OFF, SLACK = off("FORCE_SPRINGDAMPER", 1), '<Force_SpringDamper id="1" stiffness="0"/>'


def test_a_sensor_ends_one_simulation(engine):
    commands = TIGHT + simulate("Transient", end_time=1, print_interval=0.1)
    commands += off("SENSOR", 1) + simulate("Transient", end_time=1, print_interval=0.1)
    run = ran(slider() + SENSOR.format(what="return"), commands, engine=engine)
    hit = np.arccos((-1.3 - falls(np.pi / 2 / OMEGA)) / (-1 - falls(np.pi / 2 / OMEGA))) / OMEGA
    ends = [step.time for step in run.steps if step.result]
    assert ends == [pytest.approx(hit, abs=1e-8), 1.0]
    assert "reached -1.3" in run.steps[1].text
    t = run.result.time
    assert mass(run)[0] == pytest.approx(falls(t), abs=1e-8)
    assert run.message == "" and run.complete


@pytest.mark.parametrize("switch", [OFF, SLACK, OFF + simulate("Assembly")])
@pytest.mark.parametrize(("expr", "value", "compare"), [("DZ(20)", -1.3, "LE"), ("TIME", 0.2, "GE")])
def test_a_sensor_that_has_fired_does_not_fire_again_where_elements_are_switched(
    expr, value, compare, switch, engine
):
    """The mass falls freely from where the sensor ended the first simulation."""
    sensor = f'<Sensor_Event id="1" expr="{expr}" value="{value}" compare="{compare}" return="TRUE"/>'
    store = f'<Sensor_Event id="2" expr="{expr}" value="{value}" compare="{compare}" evaluate_id="1"/>'
    stored = '<Sensor_Evaluate id="1" expr="SENVAL(1) + 1"/>'  # counts
    counted = '<Post_Request id="2" label="count" type="EXPRESSION" expr1="SENVAL(1)"/>'
    commands = TIGHT + simulate("Transient", end_time=1, print_interval=0.1) + switch
    commands += simulate("Transient", end_time=1, print_interval=0.1)
    run = ran(slider() + sensor + store + stored + counted, commands, engine=engine)
    hit, end = (step.time for step in run.steps if step.result)
    z, rate = falls(hit), OMEGA * (falls(np.pi / 2 / OMEGA) + 1) * np.sin(OMEGA * hit)
    assert end == 1.0 and hit < 0.3
    left = 1.0 - hit
    assert mass(run)[0][-1] == pytest.approx(z + rate * left - 9.81 / 2 * left**2, abs=1e-7)
    assert run.result["plant.request_count"][-1] == 1.0


def test_a_sensor_ends_the_deck():
    commands = simulate("Transient", end_time=1) + simulate("Transient", end_time=2)
    run = ran(slider() + SENSOR.format(what="halt"), commands)
    assert len(run.steps) == 1 and "Sensor_Event id=1: reached -1.3" in run.message
    assert run.result.time[-1] < 0.3


RETURNS = '<Sensor_Event id="1" expr="TIME" value="0.2" compare="{compare}" evaluate_id="1" return="TRUE"/>'
COUNT = '<Sensor_Evaluate id="1" expr="SENVAL(1) + 1"/>'
COUNT += '<Post_Request id="2" label="count" type="EXPRESSION" expr1="SENVAL(1)"/>'


@pytest.mark.parametrize(("expr", "value"), [("TIME", 0.2), ("SENVAL(1)", 0.5)])
def test_a_halt_counts_beside_a_return_at_the_same_instant(expr, value, engine):
    """The sensor that halts stands behind the other, and may follow from what that one stores."""
    halt = f'<Sensor_Event id="2" expr="{expr}" value="{value}" compare="GE" halt="TRUE"/>'
    commands = simulate("Transient", end_time=1) + simulate("Transient", end_time=2)
    run = ran(slider() + COUNT + RETURNS.format(compare="GE") + halt, commands, engine=engine)
    assert len(run.steps) == 1 and run.time == pytest.approx(0.2)
    assert "Sensor_Event id=2: reached" in run.message and run.message in run.steps[0].text


@pytest.mark.parametrize("compare", ["GE", "EQ"])
def test_a_sensor_that_has_fired_does_not_fire_again_behind_statics(compare, engine):
    commands = simulate("Transient", end_time=1) + simulate("Static") + simulate("Transient", end_time=1)
    run = ran(slider() + COUNT + RETURNS.format(compare=compare), commands, engine=engine)
    assert [step.time for step in run.steps] == [pytest.approx(0.2), pytest.approx(0.2), 1.0]
    assert run.result["plant.request_count"][-1] == 1.0


@pytest.mark.parametrize("compare", ["LE", "EQ"])
def test_statics_fire_no_sensor(compare):
    """They take the mass past -1.3, where it stays."""
    sensor = f'<Sensor_Event id="1" expr="DZ(20)" value="-1.3" compare="{compare}" evaluate_id="1"/>'
    commands = (
        TIGHT + simulate("Transient", end_time=0.1) + simulate("Static") + simulate("Transient", end_time=1)
    )
    run = ran(slider() + COUNT + sensor, commands)
    assert mass(run)[0][-1] == pytest.approx(falls(np.pi / 2 / OMEGA), abs=1e-9)
    assert run.result["plant.request_count"][-1] == 0.0


def test_a_start_before_zero_is_refused():
    with pytest.raises(ModelProblems, match="start_time=-1 is before 0 s, where runs begin"):
        ran(slider(), simulate("Transient", start_time=-1, end_time=1))


@pytest.mark.parametrize(("value", "told"), [("-0.9", True), ("-1.3", False)])
def test_a_sensor_that_a_deck_begins_beyond(value, told):
    """It stays silent in later simulations: there it may have fired before."""
    sensor = SENSOR.format(what="return").replace("-1.3", value)
    commands = simulate("Transient", end_time=0.5) + simulate("Transient", end_time=0.6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ran(slider() + sensor, commands)
    said = [str(w.message) for w in caught]
    assert ["Sensor_Event id=1: expr was beyond value=-0.9 (LE)" in text for text in said] == [True] * told


def test_stop_ends_the_deck():
    run = ran(slider(), simulate("Transient", end_time=1) + "<Stop/>" + simulate("Transient", end_time=2))
    assert run.time == 1.0 and len(run.steps) == 1


# --- files ----------------------------------------------------------------------------------------------
def test_a_saved_model_goes_on(how):
    commands = TIGHT + simulate("Transient", end_time=0.7) + '<Save model_file="later.xml"/>'
    commands += simulate("Transient", end_time=1.2) + '<Load_Model model_file="later.xml"/>'
    commands += TIGHT + simulate("Transient", end_time=0.5)
    more = '<Control_Diff id="1" label="decay" ic="1" expr="-DIF(1)"/>'
    more += '<Post_Request id="2" label="decay" type="EXPRESSION" expr1="DIF(1)"/>'
    run = ran(pendulum(1.2) + more, commands, **how)
    direct, again = (step.result for step in run.steps if step.result and step.time != 0.7)
    assert again["plant.request_rod"][-1] == pytest.approx(direct["plant.request_rod"][-1], abs=1e-8)
    assert again["plant.request_decay"][-1] == pytest.approx(direct["plant.request_decay"][-1], abs=1e-8)


def test_wheels_are_saved_as_they_spin():
    """A wheel in a swinging rod, driven: its rate relative to the rod goes on."""
    wheel = (
        '<Inertia_Wheel id="1" label="rotor" marker_id="25" inertia="0.02" w_ic="3" torque_expression="0.1"/>'
    )
    wheel += '<Post_Request id="2" label="spin" type="EXPRESSION" expr1="WHEELW(1)"/>'
    model = pendulum(1.2) + marker(25, 2, axes=ALONG_Y) + wheel
    commands = TIGHT + simulate("Transient", end_time=0.7) + '<Save model_file="later.xml"/>'
    commands += simulate("Transient", end_time=1.2) + '<Load_Model model_file="later.xml"/>'
    run = ran(model, commands + TIGHT + simulate("Transient", end_time=0.5))
    direct, again = (step.result for step in run.steps if step.result and step.time != 0.7)
    assert again["plant.request_spin"][-1] == pytest.approx(direct["plant.request_spin"][-1], abs=1e-8)
    assert again["plant.request_rod"][-1] == pytest.approx(direct["plant.request_rod"][-1], abs=1e-8)


def test_the_clock_of_a_loaded_model_may_be_set():
    commands = simulate("Transient", end_time=0.5) + '<Save model_file="later.xml"/>'
    commands += '<Load_Model model_file="later.xml"/>' + simulate("Transient", start_time=0.5, end_time=0.8)
    run = ran(slider(), TIGHT + commands)
    t = run.steps[-1].result.time
    assert t[0] == 0.5 and t[-1] == 0.8
    assert run.steps[-1].result["plant.request_mass"][:, 0] == pytest.approx(falls(t), abs=1e-6)


def test_a_saved_file_can_be_read(tmp_path, coordinates):
    commands = TIGHT + simulate("Transient", end_time=0.7) + '<Save model_file="there/later.xml"/>'
    run = ran(pendulum(1.2), commands, out=tmp_path, coordinates=coordinates)
    later = Plant.read(tmp_path / "there" / "later.xml", coordinates=coordinates)
    assert (tmp_path / "there" / "later.xml").read_text() == run.saved["there/later.xml"]
    end = run_plant(later, until=0.5, log_at=[0.5], rtol=1e-10, atol=1e-12)
    whole = ran(pendulum(1.2), TIGHT + simulate("Transient", end_time=1.2), coordinates=coordinates)
    assert end["plant.request_rod"][-1] == pytest.approx(whole.result["plant.request_rod"][-1], abs=1e-8)


def test_commands_of_another_file(tmp_path):
    main = tmp_path / "main.xml"
    main.write_bytes(
        deck(slider(), simulate("Transient", end_time=0.1) + '<Load_Command command_file="more.xml"/>')
    )
    (tmp_path / "more.xml").write_text(
        f"<Command>{simulate('Transient', end_time=0.2)}{simulate('Transient', end_time=0.3)}</Command>"
    )
    run = run_deck(main)
    assert [step.time for step in run.steps] == [0.1, 0.2, 0.3]
    assert run.steps[1].command.where == "more.xml:1: Simulate"
