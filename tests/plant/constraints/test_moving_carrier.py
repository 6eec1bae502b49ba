"""A closed loop on something that moves itself: its conditions hold between markers that both accelerate."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from cosim import Diagram, simulate
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantOutput,
    Force_Gravity,
    Model,
    Reference_Variable,
)
from tests.helpers.checked import independent
from tests.helpers.trees import marker

pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

G = 9.81
M, M2, M3, L = 3.0, 0.4, 1.5, 0.7  # kg: carrier, each crank, coupler; m: length of the cranks
ABOUT, ACROSS = 0.05, 0.08  # kg m^2 of a crank about its pin, and about everything square to it
JC, J3, ARM = 0.9, 0.2, 0.3  # kg m^2 about the vertical: carrier, coupler; m from the axis to the middle
APART, START, SPIN = 0.5, 0.4, 2.5  # m between the pins; rad and rad/s at the start

SIDE = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])  # z = -Y: turning towards +X counts up
ALONG_X = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # z = X


def carried(carrier):
    """A parallelogram of two equal cranks (balanced at their pins) with a coupler, hung on a carrier."""
    rail = carrier == "rail"
    middle = 0.0 if rail else ARM
    pins = [np.array([middle + side * APART / 2, 0.0, 0.0]) for side in (-1, 1)]
    down = L * np.array([np.sin(START), 0.0, -np.cos(START)])
    one = {"mass": M2, "inertia_xx": ACROSS, "inertia_yy": ABOUT, "inertia_zz": ACROSS}
    if not rail:
        one["w_ic_z"] = SPIN
    elements = [
        Force_Gravity(grav_z=-G),
        Body_Rigid(id=1, isground=True),
        marker(10, 1, np.zeros(3), ALONG_X if rail else np.eye(3)),
        Body_Rigid(
            id=2, cg_id=20, mass=M, inertia_xx=0.1, inertia_yy=0.1, inertia_zz=JC,
            **({} if rail else {"w_ic_z": SPIN}),
        ),
        marker(20, 2, np.zeros(3), np.eye(3)),
        marker(21, 2, np.zeros(3), ALONG_X if rail else np.eye(3)),
        Constraint_Joint(id=1, type="TRANSLATIONAL" if rail else "REVOLUTE", i_marker_id=21, j_marker_id=10),
    ]  # fmt: skip
    for k, pin in enumerate(pins):
        body = 3 + k
        elements += [
            Body_Rigid(id=body, cg_id=10 * body, **one),
            marker(10 * body, body, pin, np.eye(3)),
            marker(10 * body + 1, body, pin, SIDE),
            marker(10 * body + 2, body, pin + down, SIDE),
            marker(22 + k, 2, pin, SIDE),
            marker(51 + k, 5, pin + down, SIDE),
            Constraint_Joint(id=2 + k, type="REVOLUTE", i_marker_id=10 * body + 1, j_marker_id=22 + k),
            Constraint_Joint(id=4 + k, type="REVOLUTE", i_marker_id=51 + k, j_marker_id=10 * body + 2),
        ]
    texts = (
        ("DX(20)", "VX(20)", "DX(52, 23)", "VX(52, 23)") if rail
        else ("AZ(20, 10)", "WZ(20)", "DX(52, 23, 20)", "VX(52, 23, 20, 20)")
    )  # fmt: skip
    variables = [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)]
    return Model.build(
        [
            *elements,
            Body_Rigid(
                id=5, cg_id=50, mass=M3, inertia_xx=0.1, inertia_yy=0.15, inertia_zz=J3,
                **({} if rail else {"w_ic_z": SPIN}),
            ),
            marker(50, 5, np.array([middle, 0.0, 0.0]) + down, np.eye(3)),
            *variables,
            Control_PlantOutput(id=1, label="seen", variable_id_list=tuple(v.id for v in variables)),
        ]
    )  # fmt: skip


def on_a_rail(t, y):
    """Cart and a pendulum that does not turn: place and angle, and their rates."""
    _, q, v, w = y
    H = [[M + 2 * M2 + M3, M3 * L * np.cos(q)], [M3 * L * np.cos(q), M3 * L**2 + 2 * ABOUT]]
    return [v, w, *np.linalg.solve(H, [M3 * L * np.sin(q) * w**2, -M3 * G * L * np.sin(q)])]


def on_a_table(t, y):
    """Angle of the table, angle of the cranks, and their rates; the coupler at ARM + L sin q."""
    _, q, w, r = y
    a, slope = ARM + L * np.sin(q), L * np.cos(q)
    cranks = sum(ACROSS + M2 * (ARM + side * APART / 2) ** 2 for side in (-1, 1))
    J = JC + J3 + cranks + M3 * a**2
    turning = -2 * M3 * a * slope * r * w / J
    swinging = (M3 * a * slope * w**2 - M3 * G * L * np.sin(q)) / (M3 * L**2 + 2 * ABOUT)
    return [w, r, turning, swinging]


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize(
    ("carrier", "equations", "start"),
    [("rail", on_a_rail, [0.0, START, 0.0, 0.0]), ("table", on_a_table, [0.0, START, SPIN, 0.0])],
)
def test_a_parallelogram_on_a_moving_carrier(checked, carrier, equations, start, coordinates):
    plant = Plant.from_model(carried(carrier), coordinates=coordinates)
    assert plant.info()["dof"] == 2
    d = Diagram("carried")
    d.add("plant", plant)
    t = np.linspace(0.0, 1.0, 11)
    found = simulate(d, 1.0, log_at=t, engine="reference", rtol=1e-9, atol=1e-11)["plant.seen"]
    x, q, v, w = solve_ivp(equations, (0, 1), start, "DOP853", t_eval=t, rtol=1e-12, atol=1e-13).y
    expected = np.column_stack([x, v, L * np.sin(q), L * np.cos(q) * w])
    oracle = independent("Lagrange's equations of two coordinates, DOP853 of SciPy")
    checked(found, expected, f"parallelogram on a {carrier}", "places and rates", oracle, atol=1e-6)
