"""Matrices of a plant at any state, against printed ones and equations written by hand."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks.errors import ModelError
from cosim.block_alone import system_of
from plant import Plant
from plant.elements import Force_Vector_OneBody, Reference_Variable
from plant.equations.at_a_state import EquationsAt
from tests.helpers.plants import deck
from tests.helpers.slider import on_rail

FOUR_BAR = Path(__file__).parents[3] / "examples" / "four_bar" / "four_bar.xml"
pytestmark = pytest.mark.filterwarnings("ignore::plant.PlantWarning")

# Haug's notation: [r1 + B1 s1 | ...]; printed to 3 digits for the start of the four-bar of the examples
PRINTED = np.array(
    [
        [1, 0, 4.7, 0, 0, 0, 0, 0, 0],
        [0, 1, -1.71, 0, 0, 0, 0, 0, 0],
        [-1, 0, 4.7, 1, 0, 3.2, 0, 0, 0],
        [0, -1, -1.71, 0, 1, -12.6, 0, 0, 0],
        [0, 0, 0, -1, 0, 3.2, 1, 0, -7.9],
        [0, 0, 0, 0, -1, -12.6, 0, 1, 4.31],
        [0, 0, 0, 0, 0, 0, 1, 0, 7.9],
        [0, 0, 0, 0, 0, 0, 0, 1, -4.31],
    ]
)
LENGTHS, MASSES = np.array([10.0, 26.0, 18.0]), np.array([3.0, 5.0, 4.0])


def test_the_printed_jacobian_of_the_four_bar():
    found = Plant.read(FOUR_BAR, coordinates="absolute").motion_at()
    assert np.abs(found.J - PRINTED).max() < 0.0051  # the print's last digit
    assert [row.split('"')[1] for row in found.rows[::2]] == [f"joint {k}" for k in (1, 2, 3, 4)]
    assert found.columns[:3] == ("body_1_crank: v_x", "body_1_crank: v_y", "body_1_crank: angle rate")
    assert np.diag(found.H) == pytest.approx(
        np.concatenate([[m, m, m * L**2 / 12] for m, L in zip(MASSES, LENGTHS, strict=True)])
    )
    assert found.saddle[0].shape == (17, 17)  # as the document says


def by_hand(phi: np.ndarray, rates: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Jacobian (8, 9), gamma (8,) and forces (9,) of the four-bar, from its document's formulas."""
    J, gamma = np.zeros((8, 9)), np.zeros(8)
    ends = [(0, -1, 0), (0, 1, 2), (1, -1, 2), (1, 1, 4), (2, -1, 4), (2, 1, 6)]  # body, end, first row
    signs = [1, -1, 1, -1, 1, 1]
    for (body, end, row), sign in zip(ends, signs, strict=True):
        s = end * LENGTHS[body] / 2
        A = np.array([np.cos(phi[body]), np.sin(phi[body])]) * s
        J[row : row + 2, 3 * body : 3 * body + 2] += sign * np.eye(2)
        J[row : row + 2, 3 * body + 2] += sign * np.array([-A[1], A[0]])
        gamma[row : row + 2] += sign * rates[body] ** 2 * A
    Q = np.zeros(9)
    Q[1::3] = -9.81 * MASSES
    Q[8] = -1e6 * (phi[2] - 1.5 * np.pi) - 1e4 * rates[2]
    return J, gamma, Q


def test_any_state_of_the_four_bar_by_hand():
    """Away from the constraints too; multipliers solve the document's system of 17 equations."""
    plant = Plant.read(FOUR_BAR, coordinates="absolute")
    phi, rates = np.array([1.0, 0.4, -1.9]), np.array([0.7, -0.3, 1.1])
    names = ("body_1_crank", "body_2_coupler", "body_3_rocker")
    state = {f"{n}.angle": a for n, a in zip(names, phi, strict=True)}
    state |= {f"{n}.angle rate": w for n, w in zip(names, rates, strict=True)}
    found = plant.motion_at(state | {"body_2_coupler.q[0]": 15.0})
    J, gamma, Q = by_hand(phi + np.array([0, 0, 2 * np.pi]), rates)
    assert pytest.approx(J, abs=1e-12) == found.J
    assert found.gamma == pytest.approx(gamma, abs=1e-12)
    assert pytest.approx(Q, rel=1e-9) == found.Q
    assert found.rate == pytest.approx(J[:, 2::3] @ rates, abs=1e-12)
    x = np.linalg.solve(
        np.block([[np.diag(np.diag(found.H)), J.T], [J, np.zeros((8, 8))]]), np.concatenate([Q, gamma])
    )
    assert found.qdd == pytest.approx(x[:9], rel=1e-8, abs=1e-6)
    assert found.lam == pytest.approx(-x[9:], rel=1e-8, abs=1e-4)
    assert abs(found.Phi[2]) > 0.1  # the pins are apart


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("name", ["four_bar.xml", "double_pendulum_rods.xml", "andrews.xml"])
def test_accelerations_are_those_that_are_integrated(name, coordinates):
    try:
        path = deck(name)
    except StopIteration:
        pytest.skip(f"no deck {name}")
    plant = Plant.read(path, coordinates=coordinates)
    f = system_of(plant).derivatives
    expected = dict(zip(f.rows, f(0.0, f.x0), strict=True))
    found = plant.motion_at()
    names = [n for n in f.rows if ".qd" in n]
    rates = [expected[n] for n in names]
    assert found.qdd == pytest.approx(np.array(rates), rel=1e-7, abs=1e-7)
    assert pytest.approx(found.H.T) == found.H


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_start_is_assembled_with_an_angle_held(coordinates):
    """The document's way: 70 degrees of the crank by a driver that is there for the start only."""
    name = {"joint": "joint_1.q", "absolute": "body_1_crank.angle"}[coordinates]
    for angle in (1.0, np.deg2rad(70), 1.4):
        plant = Plant.read(FOUR_BAR, coordinates=coordinates, hold={name: angle})
        assert np.abs(plant.motion_at().Phi).max() < 1e-10
        x, y = 10 * np.cos(angle), 10 * np.sin(angle)
        d = np.hypot(20 - x, -y)  # cosine rule for the pin between coupler and rocker
        rocker = np.arctan2(y, x - 20) - np.arccos((d**2 + 18**2 - 26**2) / (2 * d * 18))
        found = plant.initial[{"joint": "joint_4.q", "absolute": "body_3_rocker.q"}[coordinates]][-1]
        assert np.cos(found + np.pi - rocker) == pytest.approx(1.0, abs=1e-12)  # found: from pin 3 to pin 4
        assert plant.info()["dof"] == 1  # held for the start only
    again = plant.with_port(next(iter(plant.outputs)), hold_order=0)
    assert again.initial[next(iter(again.initial))] == pytest.approx(plant.initial[next(iter(plant.initial))])


def test_a_free_coordinate_is_held_where_nothing_is_closed():
    plant = Plant.read(deck("double_pendulum_rods.xml"))
    name = next(n for n in plant.initial if n.endswith(".q"))
    held = Plant.read(deck("double_pendulum_rods.xml"), hold={name: 0.3})
    assert held.initial[name] == pytest.approx([0.3]) != plant.initial[name]


@pytest.mark.parametrize(
    "hold, text",
    [
        (
            {"joint_1.q": 1.0, "joint_4.q": 1.0},
            "does not close with joint_1.angle=1, joint_4.angle=1; it comes",
        ),
        ({"joint_9.q": 1.0}, "no coordinate 'joint_9.q'; did you mean 'joint_"),
        ({"joint_1.qd": 1.0}, "'joint_1.qd' is a rate"),
        ({"joint_1.q": np.nan}, "'joint_1.q' is nan, expected 1 finite number"),
        ({"joint_1.q": [1.0, 2.0]}, "expected 1 finite number"),
        ({"joint_1.q": 1.0, "joint_1.angle": 1.0}, "gives 'joint_1.angle' twice"),
        (["joint_1.q"], "expected values by name"),
    ],
)
def test_what_cannot_be_held_is_refused(hold, text):
    with pytest.raises(ModelError, match=text):
        Plant.read(FOUR_BAR, hold=hold)


def test_states_and_inputs_that_are_not_there():
    plant = Plant.read(deck("four_bar.xml"))
    with pytest.raises(ModelError, match="no coordinate 'joint_7.q'"):
        plant.motion_at({"joint_7.q": 0.0})
    with pytest.raises(ModelError, match="no input 'crank_torqu'; did you mean 'crank_torque'"):
        plant.motion_at(inputs={"crank_torqu": 0.0})
    with pytest.raises(
        ModelError, match=r"inputs: 'crank_torque' is \[1.0, 2.0\], expected 1 finite numbers"
    ):
        plant.motion_at(inputs={"crank_torque": [1.0, 2.0]})
    torque = plant.motion_at(inputs={"crank_torque": 7.0}).Q - plant.motion_at().Q
    assert np.abs(torque).max() == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"state": None}, "state is None, expected values by name"),
        ({"state": 5}, "state is 5, expected"),
        ({"inputs": [1.0]}, r"inputs is \[1.0\], expected"),
        ({"time": "a"}, "time is 'a', expected"),
        ({"time": np.nan}, "time is nan, expected"),
        ({"state": {"joint_1.q": np.ma.masked}}, "'joint_1.q' is masked, expected 1 finite number"),
    ],
)
def test_what_is_no_state(given, told):
    with pytest.raises(ModelError, match=told):
        Plant.read(FOUR_BAR).motion_at(**given)


def test_algebraic_unknowns_are_found_by_newtons_method():
    """z0^2 = 4 and z0 z1 = 6 from (1, 1)."""
    z = ca.SX.sym("z", 2)
    r = ca.vertcat(z[0] ** 2 - 4, z[0] * z[1] - 6)
    equations = ca.Function("equations", [z], [r, ca.jacobian(r, z)])
    at = SimpleNamespace(_guess=np.array([1.0, 1.0]), _equations=equations)
    assert EquationsAt._root(at, [], []) == pytest.approx([2.0, 3.0], rel=1e-12)
    none = SimpleNamespace(_guess=np.zeros(0))
    assert EquationsAt._root(none, [], []).size == 0


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_force_that_jumps_is_that_of_the_time(coordinates):
    """3 N from 1 s on, on 2 kg; 1 N before -1 s: whatever the time, it was that of before all instants."""
    force = Force_Vector_OneBody(
        id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0,
        fx_expression="IF(TIME-1: 0, 0, 3) + IF(TIME+1: 1, 0, 0)",
    )  # fmt: skip
    plant = Plant.from_model(on_rail(force), coordinates=coordinates)
    x = 0 if coordinates == "joint" else -3
    for time, expected in ((-2.0, 0.5), (0.0, 0.0), (0.99, 0.0), (2.0, 1.5)):
        assert plant.motion_at(time=time).qdd[x] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("root", [0.7, -1.3])
def test_a_force_by_an_implicit_variable_is_that_of_the_state(coordinates, root):
    """2 v with v^3 + v = x on 2 kg, where x is asked for such that v is the root; times a root that is 1."""
    variable = Reference_Variable(id=1, expr="VARVAL(1)**3 + VARVAL(1) - DX(20)", is_implicit=True, ic=0.4)
    force = Force_Vector_OneBody(
        id=1, type="FORCEONLY", marker_id=20, ref_marker_id=0, fx_expression="2*VARVAL(1)*VARVAL(2)"
    )
    one = Reference_Variable(id=2, expr="VARVAL(2)**3 + VARVAL(2) - 2", is_implicit=True, ic=0.5)
    plant = Plant.from_model(on_rail(variable, one, force), coordinates=coordinates)
    (name,) = [n for n in plant.initial if n.endswith(".q")]
    q = plant.initial[name].copy()
    q[0 if coordinates == "joint" else -3] = root**3 + root
    found = plant.motion_at({name: q})
    assert found.qdd[0 if coordinates == "joint" else -3] == pytest.approx(root, rel=1e-12)
