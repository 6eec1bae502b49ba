"""A four-bar: three bars in a redundant loop with a stiff rotational spring-damper.

Reference: closed-loop scalar equation of motion, agreeing with a 9-coordinate DAE to 1e-13.
"""

from __future__ import annotations

import numpy as np
import pytest

from cosim import Diagram, simulate
from plant import Baumgarte, GammaQ, Plant, PlantWarning
from plant.elements import Control_PlantOutput, Model, Reference_Variable
from plant.formats.motionsolve.described import description_of
from plant.mechanics.dynamics import Dynamics
from tests.helpers.checked import closed_form, independent, published
from tests.helpers.loops import largest_residual
from tests.helpers.plants import deck, reference

KNOWN = reference("fourbar")
ROWS = np.array([row for row in KNOWN["reference"]["rows"] if row[0] <= 0.75])
FORCES = np.array([row for row in KNOWN["reactions"]["rows"] if row[0] <= 0.75])


DAE = independent("a DAE of 9 coordinates, 17 x 17 equations, in NumPy")
JACOBIAN = closed_form("the closed loop by trigonometry, rows by hand")
SIGNS_ON_I = np.array([1, 1, -1, -1, -1, -1, 1, 1])  # joints 2 and 3: marker I is on the later body
BAR = "four-bar with spring and damper"
ODE = independent("scalar equation of the closed loop, DOP853; a DAE of 9 coordinates agrees to 1e-13")


def run(until=0.75, log_at=None, **options):
    plant = Plant.read(deck("four_bar.xml"), **options)
    d = Diagram("four-bar")
    d.add("plant", plant)
    d.ground("plant.crank_torque")
    times = ROWS[:, 0] if log_at is None else log_at
    return simulate(d, until=until, log_at=times, rtol=1e-9, atol=1e-11, engine="reference")


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_angles_rates_and_reactions(checked, coordinates):
    r = run(coordinates=coordinates)
    checked(r["plant.angles_and_rates"], ROWS[:, 1:], BAR, "angles and rates", ODE, atol=2e-7)
    F = r["plant.joint_3_reaction"]
    checked(F[:, :2], FORCES[:, 1:3], BAR, "reaction of joint 3", ODE, rtol=1e-6, atol=0.05)
    assert np.hypot(*F[0, :2]) == pytest.approx(24932.06739, abs=1e-3)  # "about 25000 N" in the document
    assert np.hypot(*F[:, 2:4].T) == pytest.approx(np.hypot(*F[:, :2].T))  # the same force along bar 3
    assert np.hypot(*F[:, 4:6].T) == pytest.approx(np.hypot(*F[:, :2].T))  # and on bar 2
    torques = r["plant.spring_and_damper_torque"]
    checked(torques, FORCES[:, 4:6], BAR, "torques of spring and damper", ODE, rtol=1e-6, atol=0.2)


def test_redundant_rows_are_found_and_named():
    with pytest.warns(PlantWarning, match='"joint 3": 3 of its 5 conditions.*motion unaffected') as caught:
        plant = Plant.read(deck("four_bar.xml"))
    text = str(caught[0].message)
    assert all(f"Constraint_Joint {k}" in text for k in (1, 2, 4)) and "rotation about x of J" in text
    assert plant.info()["dof"] == 1 and len(plant.assembly.closing.kept) == 2
    assert plant.info()["cut joints"] == [plant.mechanism.cut[0].where]
    assert plant.assembly.moved == {} or max(map(abs, plant.assembly.moved.values())) < 1e-12


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_constraints_hold_at_every_step(coordinates):
    assert largest_residual(Plant.read(deck("four_bar.xml"), coordinates=coordinates), until=0.5) < 1e-10


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")
@pytest.mark.parametrize("stabilisation", ["baumgarte", Baumgarte(10.0, 200.0), GammaQ(0.05)])
def test_drift_fed_back_gives_the_same_motion(stabilisation):
    r = run(until=0.3, log_at=ROWS[:9, 0], stabilisation=stabilisation)
    assert r["plant.angles_and_rates"][:, :3] == pytest.approx(ROWS[:9, 1:4], abs=1e-6)


# --- the equations at the start --------------------------------------------------------------------------
SPRING = -KNOWN["parameters"]["k"] * (
    KNOWN["initial_state"]["q0"][8] - KNOWN["parameters"]["free_angle_phi3"]
)
IN_PLANE = [row for joint in range(4) for row in (5 * joint, 5 * joint + 1)]  # displacements along x and y
SIGNS = np.array([1, 1, -1, -1, -1, -1, 1, 1])  # of the printed rows in those of the reference


def test_jacobian_accelerations_and_multipliers_of_the_nine_coordinates(checked):
    """x, y and angle of each bar: the eight rows as the document prints them, with their multipliers."""
    model = Plant.read(deck("four_bar.xml")).model
    dynamics = Dynamics(description_of(model), "absolute")
    found = dynamics.at(forces={35: ((0.0, 0.0, 0.0), (0.0, 0.0, SPRING))})
    assert all("displacement along global" in dynamics.rows[k] for k in IN_PLANE)
    J = found.J[IN_PLANE]
    document = published("the four-bar assignment, printed to 0.01")
    checked(J, KNOWN["printed_jacobian"], BAR, "Jacobian of 8 x 9", document, atol=0.005)
    checked(
        SIGNS[:, None] * J, KNOWN["jacobian_8x9_at_q0"], BAR, "Jacobian of 8 x 9", JACOBIAN, atol=5e-7
    )  # 8 digits
    checked(found.qdd, KNOWN["accel_t0"], BAR, "accelerations of 9 coordinates at 0", DAE, rtol=1e-11)
    # H qdd + C = J^T lam here, M qdd + Phi_q^T lam = Q there
    known = KNOWN["reactions"]["all_multipliers_t0"]
    checked(-SIGNS * found.lam[IN_PLANE], known, BAR, "all multipliers at 0", DAE, rtol=1e-11)


def test_printed_coordinates(checked):
    plant = Plant.read(deck("four_bar.xml"))
    dynamics = Dynamics(description_of(plant.model), "absolute")
    assert dynamics.start.shape == (9,)
    document = published("the four-bar assignment, printed to 0.01")
    texts = [f"{name}({cg})" for cg in (100, 200) for name in ("DX", "DY", "AZ")]
    texts += ["DX(300)", "DY(300)", "AZ(300) + 2*PI"]
    q0 = at_the_start(texts, "joint")
    checked(q0, KNOWN["printed_q0"], BAR, "initial coordinates", document, atol=0.005)
    checked(q0, KNOWN["initial_state"]["q0"], BAR, "initial coordinates", JACOBIAN, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_accelerations_and_reactions_of_the_plant_at_the_start(checked, coordinates):
    texts = [f"{name}({cg})" for cg in (100, 200, 300) for name in ("ACCX", "ACCY", "WDTZ")]
    found = at_the_start(texts, coordinates)
    checked(found, KNOWN["accel_t0"], BAR, "accelerations of the plant at 0", DAE, rtol=1e-11)
    # forces on bodies 1, 2, 3 and 3: markers I of the joints
    forces = at_the_start([f"JOINT({k},0,{c},0)" for k in range(1, 5) for c in (2, 3)], coordinates)
    known = -SIGNS_ON_I * KNOWN["reactions"]["all_multipliers_t0"]
    checked(forces, known, BAR, "all reactions of the plant at 0", DAE, rtol=1e-11)


def at_the_start(texts, coordinates):
    """Values of expressions at t = 0."""
    model = Plant.read(deck("four_bar.xml")).model
    elements = [element for kind in model.elements.values() for element in kind.values()]
    shown = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=500)]
    ports = Control_PlantOutput(id=500, label="shown", variable_id_list=tuple(v.id for v in shown))
    d = Diagram("start")
    d.add("plant", Plant.from_model(Model.build([*elements, *shown, ports]), coordinates=coordinates))
    d.ground("plant.crank_torque")
    return simulate(d, until=1e-6, log_at=[0.0], engine="reference")["plant.shown"][0]
