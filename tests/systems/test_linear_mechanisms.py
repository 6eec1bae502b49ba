"""Linear models of mechanisms: their matrices by hand, in both choices of coordinates."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh

from cosim import linearize
from plant import Plant
from tests.helpers.checked import closed_form, independent
from tests.helpers.decks import ALONG_X, ALONG_Y, body, deck, joint, marker

G = 9.81
BOTH = pytest.mark.parametrize("coordinates", ["joint", "absolute"])


def poles(model: str, coordinates: str) -> np.ndarray:
    return linearize(Plant.read(deck(model), coordinates=coordinates)).poles()


@BOTH
def test_two_rods_below_a_cart_on_a_spring(checked, coordinates):
    """M q'' + K q = 0 of the cart's place and the angles of two uniform rods that hang in a row."""
    M, m1, m2, l1, l2, k = 1.5, 0.8, 0.5, 0.6, 0.4, 30.0
    J1, J2 = m1 * l1**2 / 12, m2 * l2**2 / 12
    model = (
        marker(11, 1, axes=ALONG_X) + body(2, M, 0.1, 0.0, 0.0, 0.0) + marker(21, 2, axes=ALONG_X)
        + joint(1, "TRANSLATIONAL", 21, 11) + body(3, m1, J1, 0.0, 0.0, -l1 / 2)
        + marker(22, 2, axes=ALONG_Y) + marker(31, 3, axes=ALONG_Y) + joint(2, "REVOLUTE", 31, 22)
        + body(4, m2, J2, 0.0, 0.0, -l1 - l2 / 2) + marker(32, 3, z=-l1, axes=ALONG_Y)
        + marker(41, 4, z=-l1, axes=ALONG_Y) + joint(3, "REVOLUTE", 41, 32)
        + '<Force_Vector_OneBody id="1" type="FORCEONLY" marker_id="20" ref_marker_id="0" '
        f'fx_expression="-{k}*DX(20)"/>'
    )  # fmt: skip
    a, b = m1 * l1 / 2 + m2 * l1, m2 * l2 / 2
    mass = np.array(
        [[M + m1 + m2, a, b], [a, J1 + m1 * l1**2 / 4 + m2 * l1**2, b * l1], [b, b * l1, J2 + b * l2 / 2]]
    )
    w = np.sqrt(eigh(np.diag([k, a * G, b * G]), mass, eigvals_only=True))
    found = np.sort(np.abs(poles(model, coordinates).imag))[::2]
    oracle = independent("mass and stiffness by hand, eigh of SciPy")
    checked(found, w, "two rods below a cart", "frequencies", oracle, rtol=1e-12)


@BOTH
def test_furuta_pendulum(checked, coordinates):
    """Arm angle, pendulum angle upright: A and B as in Cazzolato and Prime (2011), eq. 35, undamped."""
    L, m, l, J, arm = 0.2, 0.12, 0.15, 0.001, 0.004
    model = (
        marker(11, 1) + body(2, 0.25, arm, 0.0, 0.0, 0.0) + marker(21, 2) + joint(1, "REVOLUTE", 21, 11)
        + body(3, m, J, L, 0.0, l) + marker(22, 2, L, axes=ALONG_X) + marker(31, 3, L, axes=ALONG_X)
        + joint(2, "REVOLUTE", 31, 22) + '<Reference_Variable id="1" type="EXPRESSION" expr="0"/>'
        '<Control_PlantInput id="1" label="T" variable_id_list="1"/><Force_Vector_OneBody id="1" '
        'type="TORQUEONLY" marker_id="21" ref_marker_id="0" tz_expression="VARVAL(1)"/>'
        '<Reference_Variable id="2" type="EXPRESSION" expr="AZ(21,11)"/>'
        '<Control_PlantOutput id="1" label="angle" variable_id_list="2"/>'
    )  # fmt: skip
    J0, J2 = arm + J + m * L**2, J + m * l**2
    free = J0 * J2 - (m * l * L) ** 2
    A, B = np.zeros((4, 4)), np.array([0.0, 0.0, J2, m * L * l]) / free
    A[:2, 2:], A[2:, 1] = np.eye(2), np.array([m**2 * l**2 * L, J0 * m * l]) * G / free
    ss = linearize(Plant.read(deck(model), coordinates=coordinates))
    s = 1j * np.array([0.3, 7.0, 50.0])
    by_hand = [np.linalg.solve(w * np.eye(4) - A, B)[0] for w in s]
    found = np.squeeze(ss(s)) / by_hand
    oracle = closed_form("A and B of Cazzolato and Prime, eq. 35")
    checked(found.real, np.ones(3), "Furuta pendulum", "response by the hand's", oracle, rtol=1e-10)
    checked(found.imag, np.zeros(3), "Furuta pendulum", "its phase", oracle, atol=1e-10)


def test_a_bead_on_a_hoop_that_turns(checked):
    """Beyond w^2 = g/R it swings about cos q = g/(R w^2) with w sin q, below about the lowest point."""
    R = 0.5
    for w in (8.0, 3.0):
        q = float(np.arccos(min(1.0, G / R / w**2)))
        x, z = R * float(np.sin(q)), -R * float(np.cos(q))
        model = (
            marker(11, 1) + body(2, 1.0, 0.1, 0.0, 0.0, 0.0, w_ic_z=w) + marker(21, 2)
            + joint(1, "REVOLUTE", 21, 11) + body(3, 0.3, 0.0, x, 0.0, z, v_ic_y=w * x, w_ic_z=w)
            + marker(22, 2, axes=ALONG_Y) + marker(31, 3, axes=ALONG_Y) + joint(2, "REVOLUTE", 31, 22)
            + '<Motion_Joint id="1" joint_id="1" joint_type="R" type="EXPRESSION" val_type="V" '
            f'expr="{w}"/>'
        )  # fmt: skip
        swings = w * np.sin(q) if q else np.sqrt(G / R - w**2)
        oracle = closed_form("w sin q, sqrt(g/R - w^2)")
        found = np.abs(poles(model, "joint").imag).max()
        checked(found, swings, "bead on a turning hoop", "frequency", oracle, rtol=1e-9)
