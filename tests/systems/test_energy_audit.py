"""The audit of the energy-testing document: published numbers, and runs audited from their own output."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import Constant
from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Element,
    Force_Gravity,
    Force_SpringDamper,
    Model,
    Motion_Joint,
    Reference_Marker,
)
from plant.energy import BodyStates, ledger, states_of
from tests.helpers.cases import MODELS
from tests.helpers.checked import independent
from tests.helpers.plants import reference
from tests.helpers.trees import body, random_rotation

KNOWN = reference("energy_audit")
P, S, R = KNOWN["parameters"], KNOWN["state"], KNOWN["results"]
M, I = np.array(P["m"]), np.array(P["I_inertial"])
W, POS, VEL = (np.array(S[name]) for name in ("omega", "r", "v"))
H, IW = np.array(P["wheel_momenta"]), np.array(P["wheel_spin_inertia"])


DOCUMENT = independent("direct evaluation of the document's four procedures")


def given_in(procedure: int) -> BodyStates:
    """The published state as each of the four kinds of output would have it."""
    cm, cm_rate = M @ POS / M.sum(), M @ VEL / M.sum()
    if procedure == 1:
        return BodyStates.from_inertial(M, I, W, POS, VEL, H, IW)
    if procedure == 2:
        return BodyStates.from_system_cm(M, I, W, POS - cm, VEL - cm_rate, cm, cm_rate, H, IW)
    if procedure == 3:
        C = random_rotation(np.random.default_rng(2))
        inner = [a @ C for a in (W, POS - cm, VEL - cm_rate, H)]
        tensors = np.array([C.T @ T @ C for T in I])
        return BodyStates.from_first_body(M, tensors, *inner[:3], cm, cm_rate, C, inner[3], IW)
    eta, eta_rate = np.array([0.4, -0.2, 2.2]), np.array([0.3, 0.1, -0.6])
    return BodyStates.from_first_joint(M, I, W, POS - eta, VEL - eta_rate, eta, eta_rate, H, IW)


@pytest.mark.parametrize("procedure", [1, 2, 3, 4])
def test_four_procedures(checked, procedure):
    s = given_in(procedure)
    rel = KNOWN["accept"]["rel"]
    PE = s.PE(P["g"], P["joint_stiffness"], P["joint_angle"])
    for found, name in ((s.KE, "KE"), (PE, "PE"), (s.KE + PE, "total")):
        checked(
            found, R[name], "energy of three bodies", f"{name}, procedure {procedure}", DOCUMENT, rtol=rel
        )


def test_momentum(checked):
    s = given_in(1)
    for found, name in (
        (s.momentum, "linear_momentum"),
        (s.angular_momentum(wheels=False), "angular_momentum_about_origin_without_wheels"),
        (s.angular_momentum(), "angular_momentum_with_wheels"),
        (s.centre, "system_com"),
        (s.centre_velocity, "system_com_velocity"),
    ):
        what = name.replace("_", " ")
        checked(found, np.array(R[name]), "energy of three bodies", what, DOCUMENT, rtol=1e-12, atol=1e-14)


def chain(*elements: Element) -> Plant:
    """Two bodies in space on a free root: everything moves and turns."""
    rng = np.random.default_rng(7)
    frames = {10 * id: (rng.normal(size=3), random_rotation(rng)) for id in (2, 3)}
    listed: list[Element] = [Body_Rigid(id=1, isground=True), Reference_Marker(id=9, body_id=1)]
    for id in (2, 3):
        listed += body(id, *frames[10 * id], rng)
    hinge = frames[20][0] + 0.3
    listed += [
        Reference_Marker(id=25, body_id=2, pos_x=hinge[0], pos_y=hinge[1], pos_z=hinge[2]),
        Reference_Marker(id=35, body_id=3, pos_x=hinge[0], pos_y=hinge[1], pos_z=hinge[2]),
        Constraint_Joint(id=1, label="hinge", type="REVOLUTE", i_marker_id=35, j_marker_id=25),
    ]
    return Plant.from_model(Model.build([*listed, *elements])).audited()


def run(plant: Plant, until: float = 3.0):
    d = Diagram("audit")
    d.add("plant", plant)
    rng = np.random.default_rng(8)
    initial = {f"plant.{link.name}.qd": rng.normal(size=link.joint.nv) for link in plant.mechanism.links}
    return simulate(
        d, until=until, log_every=0.1, rtol=1e-11, atol=1e-12, engine="reference", initial=initial
    )


SPRING = Force_SpringDamper(
    id=1, type="ROTATIONAL", i_marker_id=35, j_marker_id=25, stiffness=5.0, length=0.4, preload=0.3
)


def test_conservative_run_from_its_output():
    """KE and PE from output alone are those computed inside; their sum and the momentum are constant."""
    plant = chain(SPRING)
    r = run(plant)
    outside, account = states_of(r, plant), ledger(r)
    assert pytest.approx(account.KE, rel=1e-12) == outside.KE
    assert np.abs(account.drift).max() < 1e-8 * account.KE[0]
    momentum = r["plant.audit_momentum"]
    assert np.abs(momentum - momentum[0]).max() < 1e-8
    assert outside.momentum == pytest.approx(momentum[:, :3], abs=1e-12)
    assert outside.angular_momentum() == pytest.approx(momentum[:, 3:], abs=1e-10)


def test_no_forces_keep_the_kinetic_energy():
    account = ledger(run(chain()))
    assert pytest.approx(account.KE[0], rel=1e-8) == account.KE


def test_gravity_is_potential_energy():
    g = (0.4, -0.3, -9.81)
    plant = chain(SPRING, Force_Gravity(grav_x=g[0], grav_y=g[1], grav_z=g[2]))
    r = run(plant, 1.0)
    outside, account = states_of(r, plant), ledger(r)
    assert outside.PE(g) == pytest.approx(account.gravity, rel=1e-10)
    assert np.abs(account.drift).max() < 1e-7


# --- mechanisms with loops and motions ------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_four_bar_with_a_spring_and_damper(coordinates):
    """A closed loop with redundant joints: stored + lost - put in is constant to 1e-11 of the energy."""
    plant = Plant.read(MODELS / "four_bar.xml", coordinates=coordinates).audited()
    d = Diagram("four bar")
    p = d.add("plant", plant)
    for name, port in plant.inputs.items():
        d.connect(d.add(name, Constant([2.0] * port.size))["y"], p[name])
    r = simulate(d, until=1.0, log_every=0.1, rtol=1e-10, atol=1e-12)
    account = ledger(r)
    assert np.abs(account.drift).max() < 1e-11 * account.stored[0]
    assert account.dissipated[-1] > 0.1 * account.stored[0]
    assert np.abs(account.constraint_work).max() < 1e-9  # joints do no work
    assert pytest.approx(account.KE, rel=1e-12) == states_of(r, plant).KE


def test_a_motion_does_the_work_it_takes():
    """KE is given by the motion; what the joint's drive puts in is that plus nothing else."""
    drive = Motion_Joint(id=1, joint_id=1, joint_type="R", expr="0.4*TIME**2")
    account = ledger(run_as_is(chain(drive)))
    assert account.constraint_work[-1] == pytest.approx(account.KE[-1] - account.KE[0], rel=1e-8)
    assert account.KE[-1] > account.KE[0] + 0.01


def run_as_is(plant: Plant, until: float = 1.0):
    d = Diagram("audit")
    d.add("plant", plant)
    return simulate(d, until=until, log_every=0.1, engine="reference", rtol=1e-11, atol=1e-12)
