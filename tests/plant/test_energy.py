"""The energy ledger: every entry against a case where it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blocks.errors import ModelError
from cosim import Diagram, Simulation, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Element,
    Force_Bushing,
    Force_Gravity,
    Force_Penalty,
    Force_Scalar_TwoBody,
    Force_SpringDamper,
    Force_Vector_TwoBody,
    Inertia_Wheel,
    Model,
    Reference_Marker,
    Reference_Variable,
)
from plant.energy import NOTATIONS, BodyStates, EnergyLedger, ledger, output_of, states_of
from tests.helpers.plants import deck
from tests.helpers.slider import ALONG, on_rail


def slider(*elements: Element, v: float = 0.0) -> Plant:
    """A mass of 2 kg on a rail along x at x = 0.5."""
    return Plant.from_model(on_rail(*elements, v=v)).audited()


def account(plant: Plant, until: float = 2.0, **options) -> EnergyLedger:
    d = Diagram("ledger")
    d.add("plant", plant)
    options = {"rtol": 1e-10, "atol": 1e-12} | options
    return ledger(simulate(d, until=until, log_every=0.1, engine="reference", **options))


SPRING = {"id": 1, "type": "TRANSLATIONAL", "i_marker_id": 20, "j_marker_id": 10, "length": 0.2}


def test_spring_and_damper():
    a = account(slider(Force_SpringDamper(**SPRING, stiffness=30.0, damping=2.0, preload=1.0)))
    assert a.springs[0] == pytest.approx(30 * 0.3**2 / 2 - 1.0 * 0.3)
    assert a.dissipated[0] == 0.0 and np.all(np.diff(a.dissipated) > 0)
    assert np.abs(a.drift).max() < 1e-8 and not a.work_in.any()


def test_bushing():
    a = account(
        slider(Force_Bushing(id=1, i_marker_id=20, j_marker_id=10, kz=30.0, cz=2.0, preload_z=1.0), v=0.4)
    )
    assert a.springs[0] == pytest.approx(30 * 0.5**2 / 2 - 0.5)
    assert np.abs(a.drift).max() < 1e-8
    assert np.abs(a.work_in).max() < 1e-12


def test_a_bushing_that_turns_dissipates_what_the_rotor_loses():
    """A rotor of J = 0.5 about z with w' = -(c/J) w: what is gone of its energy is what the bushing took."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, mass=2, inertia_xx=1, inertia_yy=1, inertia_zz=0.5, w_ic_z=3.0),
            Reference_Marker(id=20, body_id=2),
            Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=20, j_marker_id=10),
            Force_Bushing(id=1, i_marker_id=20, j_marker_id=10, ctz=0.4),
        ]
    )
    a = account(Plant.from_model(model).audited())
    lost = 0.5 * 0.5 * 3.0**2 * (1 - np.exp(-2 * 0.4 / 0.5 * a.time))
    assert a.dissipated == pytest.approx(lost, abs=1e-8)
    assert np.abs(a.drift).max() < 1e-8 and np.abs(a.work_in).max() < 1e-12


def test_work_of_a_force():
    """F = 6 N over s = 3/2 t^2."""
    force = Force_Scalar_TwoBody(
        id=1, type="FORCE", i_marker_id=20, j_marker_id=10, is_action_only=True, val_expression="6"
    )
    a = account(slider(force))
    assert a.work_in == pytest.approx(6 * 1.5 * a.time**2, abs=1e-8)
    assert np.abs(a.drift).max() < 1e-8


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_momentum_of_two_bodies_in_space(coordinates):
    """p = sum m v, L = sum r x m v + I w about the origin."""
    elements: list[Element] = [Body_Rigid(id=1, isground=True)]
    rng = np.random.default_rng(4)
    linear, angular = np.zeros(3), np.zeros(3)
    moments = np.array([1.0, 2.0, 2.5])
    for id, mass in ((2, 2.0), (3, 0.7)):
        r, v, w = rng.normal(size=(3, 3))
        given = dict(zip(("inertia_xx", "inertia_yy", "inertia_zz"), moments, strict=True))
        given |= {f"v_ic_{x}": value for x, value in zip("xyz", v, strict=True)}
        given |= {f"w_ic_{x}": value for x, value in zip("xyz", w, strict=True)}
        place = {f"pos_{x}": value for x, value in zip("xyz", r, strict=True)}
        elements += [
            Body_Rigid(id=id, cg_id=10 * id, mass=mass, **given),
            Reference_Marker(id=10 * id, body_id=id, **place),
        ]
        linear += mass * v
        angular += np.cross(r, mass * v) + moments * w
    d = Diagram("two")
    d.add("plant", Plant.from_model(Model.build(elements), coordinates=coordinates).audited())
    found = simulate(d, 0.1, log_at=[0.0, 0.1], engine="reference", rtol=1e-9, atol=1e-11)
    expected = np.concatenate([linear, angular])
    assert found["plant.audit_momentum"] == pytest.approx(np.tile(expected, (2, 1)), abs=1e-7)


def test_work_of_a_reaction_where_it_acts():
    """On a body that turns, 0.8 m beside its centre: what goes in is what both bodies have more."""
    free = {"mass": 2.0, "inertia_xx": 1.0, "inertia_yy": 1.0, "inertia_zz": 1.0}
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(id=2, cg_id=20, w_ic_z=-1.0, **free),
            Reference_Marker(id=20, body_id=2, pos_x=0.8),
            Body_Rigid(id=3, cg_id=30, w_ic_z=2.0, **free),
            Reference_Marker(id=30, body_id=3),
            Force_Vector_TwoBody(
                id=1, type="FORCEONLY", i_marker_id=20, j_floating_marker_id=30, ref_marker_id=0,
                fx_expression="3", fy_expression="1",
            ),
        ]
    )  # fmt: skip
    a = account(Plant.from_model(model).audited(), until=1.0)
    assert np.abs(a.work_in).max() > 1.0
    assert np.abs(a.drift).max() < 1e-8


@pytest.mark.parametrize(
    "penalty",
    [
        Force_Penalty(id=1, expr="DX(20) - 0.3", penalty=40.0, penalty1=1.0),
        Force_Penalty(id=1, expr="DX(20) - 0.3 - 0.1*SIN(3*TIME)", penalty=40.0, penalty1=1.0),
        Force_Penalty(
            id=1, expr="DX(20) - 0.3", penalty=40.0, penalty1=1.0, unilateral=True, smoothing_factor=0.1
        ),
        Reference_Variable(
            id=1, expr="DX(20) - 0.3", is_implicit=True, autobalance="PENALTY", penalty=40.0, penalty1=1.0
        ),
    ],
    ids=["bilateral", "moving", "unilateral", "variable"],
)
def test_penalty(penalty):
    a = account(slider(penalty))
    assert np.abs(a.drift).max() < 1e-7
    assert np.all(np.diff(a.dissipated) >= -1e-12) and a.dissipated[-1] > 0
    assert a.work_in.any() == ("TIME" in penalty.expr)


def test_a_penalty_on_one_side_stores_what_the_slider_loses():
    a = account(slider(Force_Penalty(id=1, expr="DX(20) - 0.3", penalty=40.0, unilateral=True)))
    assert np.ptp(a.KE) > 0.1 and np.abs(a.drift).max() < 1e-6
    assert not a.dissipated.any() and not a.work_in.any()


def test_gravity_that_changes_does_work():
    a = account(slider(Force_Gravity(grav_x="3*COS(TIME)")))
    assert not a.gravity.any()
    assert a.work_in == pytest.approx(a.KE, abs=1e-8)


def test_pendulum_of_a_deck():
    a = account(Plant.read(deck("double_pendulum_rods.xml")).audited(), until=2.0, rtol=1e-11)
    assert np.ptp(a.gravity) > 1.0 and np.abs(a.drift).max() < 1e-7


def test_a_body_whose_centre_is_off_its_joint_in_every_direction():
    """A ball joint at a corner of a body: what falls is what moves, and U is -m g r of its centre.

    Its moments are those about a marker beside its centre, along other axes.
    """
    model = Model.build(
        [
            Force_Gravity(grav_x=1.0, grav_y=-2.0, grav_z=-9.0),
            Body_Rigid(id=1, isground=True),
            Reference_Marker(id=10, body_id=1),
            Body_Rigid(id=2, cg_id=20, im_id=22, mass=2, inertia_xx=3.0, inertia_yy=3.2, inertia_zz=3.5),
            Reference_Marker(id=20, body_id=2, pos_x=0.3, pos_y=-0.2, pos_z=0.4),
            Reference_Marker(id=21, body_id=2),
            Reference_Marker(id=22, body_id=2, pos_x=0.1, pos_y=0.2, pos_z=-0.3, **ALONG),
            Constraint_Joint(id=1, label="ball", type="SPHERICAL", i_marker_id=21, j_marker_id=10),
        ]
    )
    plant, d = Plant.from_model(model).audited(), Diagram("ball")
    d.add("plant", plant)
    r = simulate(d, until=1.0, log_every=0.1, engine="reference", rtol=1e-11, atol=1e-12)
    a = ledger(r)
    assert a.gravity[0] == pytest.approx(-2 * (1.0 * 0.3 + 2.0 * 0.2 - 9.0 * 0.4))
    assert np.ptp(a.gravity) > 1.0 and np.abs(a.drift).max() < 1e-7
    assert pytest.approx(a.KE, abs=1e-9) == states_of(r, plant).KE


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_masses_and_moments_are_those_of_the_run(coordinates, engine):
    """They were those of the file: KE of a body that became heavier was too small for the account's."""
    model = Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Body_Rigid(
                id=2, label="box", cg_id=20, im_id=21, mass=2, inertia_xx=3.0, inertia_yy=3.2, inertia_zz=3.5,
                inertia_xy=0.4, v_ic_x=3.0, w_ic_x=0.0, w_ic_y=1.0, w_ic_z=2.0,
            ),
            Reference_Marker(id=20, body_id=2, pos_x=0.3, pos_y=-0.2, pos_z=0.4),
            Reference_Marker(id=21, body_id=2, pos_x=0.1, pos_y=0.2, pos_z=-0.3, **ALONG),
            Inertia_Wheel(id=1, marker_id=21, inertia=0.2, w_ic=15.0),
        ]
    )  # fmt: skip
    plant, d = Plant.from_model(model, coordinates=coordinates).audited(), Diagram("box")
    d.add("plant", plant)
    sim = Simulation(d, engine=engine, rtol=1e-11, parameters={"plant.Inertia_Wheel/1.inertia": 0.3})
    sim.log(np.arange(0.0, 1.05, 0.1))
    sim.advance(0.5)
    sim.set_parameter("plant.box.mass", 3.0)
    sim.set_parameter("plant.box.inertia_xy", -0.6)
    sim.advance(1.0)
    r = sim.result()
    found, end = states_of(r, plant), r.time > 0.55
    assert found.m[:4] == pytest.approx(2.0) and found.m[end] == pytest.approx(3.0)
    assert np.abs(found.KE - ledger(r).KE).max() < 1e-9
    assert np.abs(found.angular_momentum() - r["plant.audit_momentum"][:, 3:]).max() < 1e-9
    assert found.Iw.tolist() == [0.3]


def test_plot(tmp_path):
    a = account(slider(Force_SpringDamper(**SPRING, stiffness=30.0, damping=2.0)))
    figure = a.plot(str(tmp_path / "ledger.png"))
    assert (tmp_path / "ledger.png").stat().st_size > 1000
    names = [line.get_label() for line in figure.axes[0].lines]
    assert names == ["KE", "springs", "dissipated", "stored"]


def test_a_run_without_an_audit_says_how():
    d = Diagram("plain")
    d.add("plant", Plant.read(deck("double_pendulum_rods.xml")))
    r = simulate(d, until=0.1, engine="reference")
    with pytest.raises(ModelError, match=r"plant\.audited\(\)"):
        ledger(r)


# --- four notations -------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def spacecraft():
    """Hub, sprung panel and spinning wheel, tumbling; the run and the plant."""
    plant = Plant.read(Path(__file__).parents[2] / "examples" / "energy_audit.xml").audited()
    d = Diagram("spacecraft")
    d.add("plant", plant)
    return simulate(d, until=2.0, log_every=0.25, rtol=1e-10, atol=1e-12, engine="reference"), plant


@pytest.mark.parametrize("notation", NOTATIONS)
def test_output_in_any_notation_is_what_its_procedure_takes(spacecraft, notation):
    states = states_of(*spacecraft)
    again = getattr(BodyStates, f"from_{notation}")(**output_of(*spacecraft, notation))
    for name in ("m", "I", "w", "r", "v", "h", "Iw"):
        assert getattr(again, name) == pytest.approx(getattr(states, name), abs=1e-11), name
    assert pytest.approx(ledger(spacecraft[0]).KE, abs=1e-9) == states.KE


def test_what_the_notations_are_about(spacecraft):
    """No moment about the centre of mass; in axes of body 1 its tensor stays; a hinge keeps its distance."""
    r, plant = spacecraft
    cm = output_of(r, plant, "system_cm")
    assert np.abs(np.einsum("n,tni->ti", cm["m"], cm["r"])).max() < 1e-11
    assert np.abs(np.einsum("n,tni->ti", cm["m"], cm["v"])).max() < 1e-11
    body = output_of(r, plant, "first_body")
    assert np.ptp(body["I"][:, 0], axis=0).max() < 1e-12 < np.ptp(states_of(r, plant).I[:, 0], axis=0).max()
    assert np.einsum("tij,tkj->tik", body["C"], body["C"]) == pytest.approx(np.eye(3)[None].repeat(9, 0))
    joint = output_of(r, plant, "first_joint")
    lengths = np.linalg.norm(joint["r"], axis=2)
    assert np.ptp(lengths, axis=0) == pytest.approx([0, 0], abs=1e-11)
    hinge = plant.model.frames[plant.model.all(Constraint_Joint)[0].i_marker_id][0]
    assert lengths[0] == pytest.approx(
        [
            np.linalg.norm(plant.model.frames[link.body.source.cg_id][0] - hinge)
            for link in plant.mechanism.links
        ]
    )
    across = np.einsum("tni,tni->tn", joint["r"], joint["v"])  # it only turns about the hinge
    assert np.abs(across).max() < 1e-11 < np.abs(joint["v"]).max()


def test_a_notation_or_joint_that_is_not_there(spacecraft):
    with pytest.raises(ModelError, match="did you mean 'first_body'"):
        output_of(*spacecraft, "firstbody")
    with pytest.raises(ModelError, match="Constraint_Joint 77 has no marker on .*hub"):
        output_of(*spacecraft, "first_joint", joint=77)


GOOD = {"m": [2.0, 1.0], "I": np.ones((2, 3, 3)), **dict.fromkeys("wrv", np.ones((5, 2, 3)))}
REST = {
    "inertial": {},
    "system_cm": {"R": np.ones(3), "V": np.ones((5, 3))},
    "first_body": {"R": np.ones(3), "V": np.ones(3), "C": np.eye(3)},
    "first_joint": {"eta": np.ones((5, 3)), "eta_rate": np.ones(3)},
}


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize(
    "name, value, text",
    [
        ("w", np.ones((2, 2)), r"w has shape \(2, 2\), expected \(\.\.\., 2, 3\)"),
        ("I", np.ones((3, 3)), r"I has shape \(3, 3\), expected \(\.\.\., 2, 3, 3\)"),
        ("m", np.ones((4, 2)), r"leading axes of times .* m \(4,\)"),
        ("m", 3.0, r"m has shape \(\), expected \(\.\.\., 1\)"),
        ("r", np.ones((4, 2, 3)), r"leading axes of times .* r \(4,\)"),
        ("v", "fast", "v is 'fast', expected finite numbers"),
        ("h", np.ones((1, 3)), r"h has shape \(1, 3\), expected \(\.\.\., 0, 3\).*h and Iw together"),
        ("Iw", [0.5], r"h has shape \(0, 3\), expected \(\.\.\., 1, 3\)"),
    ],
)
def test_shapes_of_the_procedures_are_checked(notation, name, value, text):
    make = getattr(BodyStates, f"from_{notation}")
    given = {**GOOD, **REST[notation]}
    assert np.isfinite(make(**given).KE).all()
    with pytest.raises(ModelError, match=text):
        make(**{**given, name: value})


@pytest.mark.parametrize("notation, name", [(n, name) for n in NOTATIONS for name in REST[n]])
def test_shapes_of_reference_points_are_checked(notation, name):
    with pytest.raises(ModelError, match=rf"{name} has shape \(4,\)"):
        getattr(BodyStates, f"from_{notation}")(**{**GOOD, **REST[notation], name: np.ones(4)})


SKEW = np.array([[1.0, 0.2, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("m", -np.ones(2), "masses of 0 or more"),
        ("I", np.array([SKEW, np.eye(3)]), "not symmetric"),
        ("I", -np.array([np.eye(3)] * 2), "negative principal moments"),
        ("C", SKEW, "perpendicular unit axes"),
        ("C", np.diag([1.0, 1.0, -1.0]), "left-handed"),
    ],
)
def test_numbers_no_bodies_have(name, value, told):
    """A matrix that is no rotation gave an energy nine times too large."""
    given = {"m": np.ones(2), "I": np.array([np.eye(3)] * 2), **dict.fromkeys("wrv", np.ones((2, 3)))}
    with pytest.raises(ModelError, match=told):
        BodyStates.from_first_body(
            **{**given, "R": np.zeros(3), "V": np.zeros(3), "C": np.eye(3), name: value}
        )


def test_states_written_out_are_checked_too():
    lists = ([2.0], np.eye(3)[None].tolist(), [[0, 0, 1]], [[0, 0, 0]], [[3, 0, 0]], [], [])
    assert float(BodyStates(*lists).KE) == pytest.approx(0.5 * 1.0 + 0.5 * 2.0 * 9.0)
    with pytest.raises(ModelError, match=r"w has shape \(3,\), expected \(..., 1, 3\)"):
        BodyStates(*lists[:2], [0, 0, 1], *lists[3:])


@pytest.mark.parametrize("wrong", [{"g": np.zeros((2, 3))}, {"k": np.ones((2, 1)), "theta": np.ones((2, 1))}])
def test_gravity_and_stiffnesses_are_one_for_all_instants(wrong):
    one = BodyStates(
        [2.0], np.eye(3)[None], np.zeros((2, 1, 3)), np.ones((2, 1, 3)), np.zeros((2, 1, 3)), [], []
    )
    with pytest.raises(ModelError, match=r"expected \(3,\) and one per spring"):
        one.PE(**wrong)
    assert one.PE([0, 0, -9.81], [4.0], [[1.0], [2.0]]).tolist() == pytest.approx([19.62 + 2.0, 19.62 + 8.0])
