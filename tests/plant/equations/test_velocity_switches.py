"""Friction by SIGN and IF of a velocity: it holds what it can, against closed forms."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from blocks import BlockError, Demux, Sine, TransportDelay
from cosim import Diagram, Simulation, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Force_Vector_OneBody,
    Force_Vector_TwoBody,
    Model,
    Motion_Joint,
    Reference_Marker,
    Reference_Variable,
)
from plant.equations.velocity_switches import _between
from tests.helpers.slider import ALONG

BOTH = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def sled(id: int, mass: float, v: float = 0.0, rail: bool = True) -> list[Element]:
    """A body on a rail along x, marker 10 id at its centre."""
    m = 10 * id
    return [
        Body_Rigid(
            id=id, label=f"b{id}", cg_id=m, mass=mass, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_x=v
        ),
        Reference_Marker(id=m, body_id=id, **ALONG),
        Constraint_Joint(id=id, label=f"rail{id}", type="TRANSLATIONAL", i_marker_id=m, j_marker_id=10),
    ]


def pushed(marker: int, force: str, id: int = 1) -> Element:
    return Force_Vector_OneBody(
        id=id, type="FORCEONLY", marker_id=marker, ref_marker_id=0, fx_expression=force
    )


def outputs(*texts: str) -> list[Element]:
    ids = range(101, 101 + len(texts))
    values = [
        Reference_Variable(id=id, type="EXPRESSION", expr=text) for id, text in zip(ids, texts, strict=True)
    ]
    return [*values, Control_PlantOutput(id=1, label="y", variable_id_list=tuple(ids))]


def diagram(coordinates: str, *elements: Element) -> Diagram:
    ground = [Body_Rigid(id=1, isground=True), Reference_Marker(id=10, body_id=1, **ALONG)]
    d = Diagram("friction")
    d.add("plant", Plant.from_model(Model.build([*ground, *elements]), coordinates=coordinates))
    return d


def run(d: Diagram, until: float, engine: str = "reference", **options):
    options = {"rtol": 1e-9, "atol": 1e-11, "log_at": np.linspace(0, until, 101)} | options
    return simulate(d, until=until, engine=engine, **options)


def instants(r, what: str) -> list[float]:
    return [e.time for e in r.events if e.name.startswith(f"plant.{what} 0")]


@BOTH
@pytest.mark.parametrize(
    "law", ["-0.3*19.62*SIGN(1, VX(20))", "SIGN(0.3*19.62, VX(10, 20))", "IF(VX(20): 5.886, 0, -5.886)"]
)
def test_a_sled_slides_to_rest_and_stays(coordinates, law):
    """2 kg at 3 m/s under 0.3 of its weight: it stops behind v^2 / (2 mu g) after v / (mu g)."""
    friction = 0.3 * 9.81
    r = run(diagram(coordinates, *sled(2, 2.0, 3.0), pushed(20, law), *outputs("DX(20)", "VX(20)")), 5.0)
    assert instants(r, "meets") == pytest.approx([3.0 / friction], abs=1e-9)
    assert r["plant.y"][-1] == pytest.approx([4.5 / friction, 0.0], abs=1e-9)
    assert r.statistics["steps"] < 40


@BOTH
def test_a_sled_on_a_belt_sticks_until_its_spring_is_stronger(coordinates):
    """Sticks at v = belt from asin(v k / (F w)) / w on, until k x = F; then it swings about F / k."""
    k, F, belt, m = 8.0, 6.0, 1.0, 2.0
    w = np.sqrt(k / m)
    first = np.arcsin(belt * k / (F * w)) / w
    x1 = F / k * (1 - np.cos(w * first))
    second = first + (F / k - x1) / belt
    law = f"-{F}*SIGN(1, VX(20) - {belt}) - {k}*DX(20)"
    d = diagram(
        coordinates, *sled(2, m), pushed(20, law), *outputs("DX(20)", f"{F}*SIGN(1, VX(20) - {belt})")
    )
    r = run(d, second + 1.0)
    assert instants(r, "meets")[0] == pytest.approx(first, abs=1e-8)
    assert instants(r, "leaves")[0] == pytest.approx(second, abs=1e-7)
    t, (x, friction) = r.time, r["plant.y"].T
    slips = F / k * (1 - np.cos(w * t))
    swings = F / k + belt / w * np.sin(w * (t - second))
    exact = np.where(t < first, slips, np.where(t < second, x1 + belt * (t - first), swings))
    assert x == pytest.approx(exact, abs=1e-7)
    sticks = (t > first + 1e-6) & (t < second - 1e-6)
    assert sticks.any() and -friction[sticks] == pytest.approx(k * x[sticks], abs=1e-7)
    assert friction[t < first] == pytest.approx(-F) and friction[t > second + 1e-6] == pytest.approx(-F)


@BOTH
def test_two_sleds_that_rub_at_each_other_and_at_the_ground(coordinates):
    """Pushed by TIME, the upper one takes the lower one along from 1 s to 2.25 s, then it slips on it."""
    between = Force_Vector_TwoBody(
        id=2, type="FORCEONLY", i_marker_id=30, j_floating_marker_id=31, ref_marker_id=0,
        fx_expression="-2*SIGN(1, VX(30, 20))",
    )  # fmt: skip
    floating = Reference_Marker(id=31, body_id=2)
    laws = [pushed(20, "-1*SIGN(1, VX(20))"), between, floating, pushed(30, "TIME", 3)]
    d = diagram(coordinates, *sled(2, 4.0), *sled(3, 1.0), *laws, *outputs("VX(20)", "VX(30)"))
    r = run(d, 4.0)
    t, together = r.time, (np.clip(r.time, 1.0, 2.25) - 1.0) ** 2 / 10
    late = np.maximum(t - 2.25, 0.0)
    assert r["plant.y"][:, 0] == pytest.approx(together + 0.25 * late, abs=1e-7)
    upper = np.where(late > 0, ((t - 2.0) ** 2 - 0.0625) / 2, 0.0)
    assert r["plant.y"][:, 1] == pytest.approx(together + upper, abs=1e-7)


@BOTH
def test_several_contacts_share_what_holds_one_body(coordinates):
    """Two of 1 and 3 N at places of one sled, pushed by 3.5 N for 1 s, by 5 N from then on: it starts."""
    places = [Reference_Marker(id=21 + k, body_id=2, pos_x=0.1 * k, pos_z=0.2, **ALONG) for k in range(2)]
    laws = [pushed(21, "-1*SIGN(1, VX(21))", 2), pushed(22, "-3*SIGN(1, VX(22))", 3)]
    push = pushed(20, "IF(TIME-1: 3.5, 5, 5)")
    d = diagram(coordinates, *sled(2, 2.0, 1.0), *places, *laws, push, *outputs("VX(20)"))
    v = run(d, 3.0)["plant.y"][:, 0]
    t = np.linspace(0, 3, 101)
    exact = np.where(t < 1.0, np.nan, 0.5 * (t - 1))
    slow = (t < 1.0) & (t < 4.0)
    assert v[slow] == pytest.approx(1 - 0.25 * t[slow], abs=1e-8)  # it has not stopped yet
    assert v[~slow] == pytest.approx(0.75 + exact[~slow], abs=1e-8)
    slower = diagram(coordinates, *sled(2, 2.0, 0.2), *places, *laws, push, *outputs("VX(20)"))
    v = run(slower, 3.0)["plant.y"][:, 0]
    assert v == pytest.approx(
        np.where(t < 0.8, 0.2 - 0.25 * t, np.where(t < 1, 0.0, 0.5 * (t - 1))), abs=1e-8
    )


@BOTH
def test_where_nothing_is_held_nothing_changes(coordinates):
    """A moved joint, a law that is continuous, a velocity's size: no switch, and steps as without it."""
    moved = Motion_Joint(id=1, joint_id=2, joint_type="T", val_type="D", expr="0.1*SIN(TIME)**3")
    laws = [
        "-4*SIGN(1, VX(20))",
        "-SIGN(VX(20)**2, VX(20))",
        "-IF(VM(20): 0, 0, 2)",
        "-IF(VX(20): 2, 2, 2 + VX(20)**2)",
    ]
    driven = [diagram(coordinates, *sled(2, 2.0), moved, *law) for law in ([], [pushed(20, laws[0])])]
    plain, rubbed = [run(d, 7.0) for d in driven]
    more = rubbed.statistics["steps"] - plain.statistics["steps"]
    assert 0 <= more <= 2 and not rubbed.events  # a step ends where the velocity turns: twice
    for law in laws[1:]:
        system = diagram(coordinates, *sled(2, 2.0, 1.0), pushed(20, law)).system()
        assert not system.events


@pytest.mark.slow
@BOTH
def test_a_contact_that_lifts_off_and_lands_holds_what_it_can(coordinates):
    """Friction of half a contact's force, on a body that is thrown straight up: it lands and stays there."""
    rail = Constraint_Joint(id=2, label="plane", type="PLANAR", i_marker_id=21, j_marker_id=11)
    upright = {"a00": 1, "a10": 0, "a20": 0, "a01": 0, "a11": 0, "a21": -1, "a02": 0, "a12": 1, "a22": 0}
    body = [
        Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=1, inertia_yy=1, inertia_zz=1, v_ic_z=1.0),
        Reference_Marker(id=20, body_id=2), Reference_Marker(id=21, body_id=2, **upright),
        Reference_Marker(id=11, body_id=1, **upright), rail, Force_Gravity(grav_z=-10.0),
    ]  # fmt: skip
    normal = "IMPACT(DZ(20), VZ(20), 0, 1E4, 1.5, 20, 0.001)"
    contact = Force_Vector_OneBody(
        id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, fz_expression=normal,
        fx_expression=f"-0.5*{normal}*SIGN(1, VX(20)) + STEP(TIME, 0.5, 0, 0.6, 3)",
    )  # fmt: skip
    r = run(diagram(coordinates, *body, contact, *outputs("VX(20)", "DZ(20)")), 4.0, rtol=1e-7)
    v, z = r["plant.y"].T
    assert z.max() > 0.04 and z[-1] == pytest.approx(-(1e-3 ** (2 / 3)), abs=1e-5)
    assert v[r.time < 0.5] == pytest.approx(0.0, abs=1e-9) and v[-1] == pytest.approx(0.0, abs=1e-8)
    assert r.statistics["steps"] < 3000


def test_both_engines_and_a_snapshot_agree(tmp_path):
    d = diagram("joint", *sled(2, 1.0), pushed(20, "1.5*SIN(TIME) - SIGN(1, VX(20))"), *outputs("DX(20)"))
    away = np.arcsin(1 / 1.5)
    r = run(d, 8.0, "native", rtol=1e-10)
    assert instants(r, "leaves")[:2] == pytest.approx([away, np.pi + away], abs=1e-7)
    same = run(d, 8.0, rtol=1e-10)
    assert same["plant.y"].tolist() == r["plant.y"].tolist()
    sim = Simulation(d, engine="native")
    sim.advance(3.2)
    sim.save(tmp_path / "there.npz")
    again = Simulation(d, engine="reference")
    again.load(tmp_path / "there.npz")
    for s in (sim, again):
        s.advance(6.0)
    assert again.value("plant.y").tolist() == sim.value("plant.y").tolist()


def test_forces_at_a_state_have_the_sign_of_its_velocity():
    ground = [Body_Rigid(id=1, isground=True), Reference_Marker(id=10, body_id=1, **ALONG)]
    plant = Plant.from_model(Model.build([*ground, *sled(2, 2.0), pushed(20, "-3*SIGN(1, VX(20))")]))
    for v in (-0.5, 0.5):
        for side in (1, -1):  # the positive direction of the rail
            assert plant.motion_at({"rail2.qd": [side * v]}).Q * v * side == pytest.approx(-3 * abs(v))


def test_while_a_velocity_is_held_a_force_lies_between_its_two_values():
    """s from -1 to 1 goes from the one below to the one above; beside zero it is one of them."""
    for s, side, value in ((0.5, 0.0, 5.0), (-1.0, 0.0, 2.0), (0.5, 1.0, 6.0), (0.5, -1.0, 2.0)):
        switch = SimpleNamespace(s=s, side=side)
        assert float(_between(switch, ca.SX(2.0), ca.SX(6.0))) == value


def test_events_are_named_after_what_jumps():
    text = "-SIGN(1, VX(20)) - SIGN(1, VX(30))"
    both = diagram("joint", *sled(2, 1.0, 1.0), *sled(3, 1.0, 1.0), pushed(20, text))
    signs = [f"plant.{what} 0 in SIGN(1, VX({m}))" for m in (20, 30) for what in ("meets", "leaves")]
    assert [e.name for e in both.system().events] == signs


def driven(coordinates: str, law: str, **port) -> Diagram:
    """2 kg on a rail with an input, the speed of a belt."""
    speed = Reference_Variable(id=50, type="EXPRESSION", expr="0")
    belt = Control_PlantInput(id=1, label="belt", variable_id_list=(50,), **port)
    d = diagram(coordinates, *sled(2, 2.0), speed, belt, pushed(20, law), *outputs("VX(20)", "ACCX(20)"))
    d.add("sine", Sine(0.5, 1.0))
    return d


@BOTH
def test_a_belt_whose_speed_is_an_input_takes_a_sled_along(coordinates):
    """0.5 sin t, at most 0.3 m/s2: it slips until 0.5 sin t = 0.3 t, sticks until cos t = -0.6, and slips.

    It alternated, 2e8 steps per second.
    """
    d = driven(coordinates, "-0.6*SIGN(1, VX(20) - VARVAL(50))")
    d.connect("sine.y", "plant.belt")
    r = run(d, 3.0)
    slips = brentq(lambda t: 0.5 * np.sin(t) - 0.3 * t, 1.0, 2.0)
    leaves = np.arccos(-0.6)
    t = r.time
    late = 0.5 * np.sin(leaves) - 0.3 * (t - leaves)
    exact = np.where(t < slips, 0.3 * t, np.where(t < leaves, 0.5 * np.sin(t), late))
    assert r["plant.y"][:, 0] == pytest.approx(exact, abs=1e-9)
    assert instants(r, "leaves")[-1] == pytest.approx(leaves, abs=1e-7)


def test_a_belt_whose_speed_is_sampled_and_held():
    """v follows the held speed by 0.3 m/s2 at most, tick by tick."""
    d = driven("joint", "-0.6*SIGN(1, VX(20) - VARVAL(50))", sampling_period=0.05, hold_order=0)
    d.connect("sine.y", "plant.belt")
    v = [0.0]
    for k in range(120):
        v.append(v[-1] + np.clip(0.5 * np.sin(0.05 * k) - v[-1], -0.015, 0.015))
    r = run(d, 6.0, log_at=0.05 * np.arange(121))
    assert r["plant.y"][:, 0] == pytest.approx(v, abs=1e-9)
    assert r.statistics["steps"] < 300


@BOTH
def test_an_integral_is_part_of_the_velocity(coordinates):
    """The speed of the belt is the integral of its acceleration, small enough for the friction."""
    speed = Reference_Variable(id=50, type="EXPRESSION", expr="0.2*COS(TIME)", dot_form=True, ic=0.0)
    law = pushed(20, "-0.6*SIGN(1, VX(20) - VARVAL(50))")
    r = run(diagram(coordinates, *sled(2, 2.0), speed, law, *outputs("VX(20)")), 3.0)
    assert r["plant.y"][:, 0] == pytest.approx(0.2 * np.sin(r.time), abs=2e-9)
    assert r.statistics["steps"] < 200


@pytest.mark.parametrize(("between", "why"), [("delay", "is delayed"), ("feedback", "of an algebraic loop")])
def test_a_belt_that_nobody_knows_the_acceleration_of_is_refused(between, why):
    """What follows from the sled's own acceleration without a state, or comes out of a delay."""
    d = driven("joint", "-0.6*SIGN(1, VX(20) - VARVAL(50))")
    if between == "delay":
        d.add("late", TransportDelay(0.1))
        d.connect("sine.y -> late.u", "late.y -> plant.belt")
    else:
        d.add("parts", Demux(2))
        d.connect("plant.y -> parts.in", "parts.out2 -> plant.belt")
    with pytest.raises(BlockError, match=rf"plant.rate of the input in SIGN\(.*{why}.*STEP5"):
        run(d, 1.0)


@pytest.mark.slow
def test_stick_slip_under_stribeck_friction_repeats_itself():
    """Every cycle is like the first; the held speed went off by 1e-10 a cycle, and so did the period.

    On a belt at 0.1 m/s it sticks until 10 x = 2 N, then slips until it is as fast as the belt again.
    """

    def slips(_, z):
        return [z[1], -10 * z[0] + 1 + np.exp(-(((z[1] - 0.1) / 0.3) ** 2))]

    def as_fast(_, z):
        return z[1] - 0.1

    as_fast.direction, as_fast.terminal = 1, True
    start = [0.2, 0.1 - 1e-13]
    z = solve_ivp(slips, (0, 3), start, "DOP853", events=as_fast, rtol=1e-13, atol=1e-15)
    period = z.t[-1] + (0.2 - z.y[0, -1]) / 0.1
    speed = "(VX(20) - 0.1)"
    law = f"-(1 + EXP(-({speed}/0.3)**2))*SIGN(1, {speed}) - 10*DX(20)"
    d = diagram("joint", *sled(2, 1.0), pushed(20, law), *outputs("VX(20)"))
    r = run(d, 25.0, rtol=1e-10, atol=1e-12)
    assert np.diff(instants(r, "leaves")) == pytest.approx(period, abs=5e-10)
    assert len(instants(r, "leaves")) == 8
