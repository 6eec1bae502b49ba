"""Spatial algebra against its definitions, on numbers and on symbols."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from plant.mechanics.spatial import (
    Transform,
    constant,
    crf,
    crm,
    cross,
    mcI,
    quaternion_of,
    quaternion_rate,
    quaternion_rotation,
    rx,
    ry,
    rz,
    skew,
    snapped,
    symmetric,
    vector,
)
from tests.helpers.trees import random_rotation


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(3)


def numbers(value) -> np.ndarray:
    return np.array(ca.DM(value))


def random_transform(rng) -> Transform:
    return Transform(constant(random_rotation(rng)), constant(rng.normal(size=3)))


def test_cross_products(rng):
    a, b = rng.normal(size=3), rng.normal(size=3)
    assert numbers(cross(a, b)).ravel() == pytest.approx(np.cross(a, b))
    v, m, f = rng.normal(size=6), rng.normal(size=6), rng.normal(size=6)
    # RBDA eq. 2.28 and 2.29, written with three-dimensional vectors
    motion = np.concatenate([np.cross(v[:3], m[:3]), np.cross(v[:3], m[3:]) + np.cross(v[3:], m[:3])])
    force = np.concatenate([np.cross(v[:3], f[:3]) + np.cross(v[3:], f[3:]), np.cross(v[:3], f[3:])])
    assert numbers(crm(v) @ m).ravel() == pytest.approx(motion)
    assert numbers(crf(v) @ f).ravel() == pytest.approx(force)
    assert numbers(crf(v)) == pytest.approx(-numbers(crm(v)).T)


@pytest.mark.parametrize(("turn", "axis"), [(rx, 0), (ry, 1), (rz, 2)])
def test_rotations_leave_their_axis_and_turn_the_next_one(turn, axis):
    E = numbers(turn(0.3))
    e = np.eye(3)
    assert E @ e[axis] == pytest.approx(e[axis])
    # a frame turned by the angle sees the next axis at minus the angle
    assert E @ e[(axis + 1) % 3] == pytest.approx(
        np.cos(0.3) * e[(axis + 1) % 3] - np.sin(0.3) * e[(axis + 2) % 3]
    )


def test_transform_matrix_composes_and_inverts(rng):
    X, Y = random_transform(rng), random_transform(rng)
    assert numbers((X @ Y).matrix) == pytest.approx(numbers(X.matrix) @ numbers(Y.matrix))
    assert numbers(X.inverse().matrix) @ numbers(X.matrix) == pytest.approx(np.eye(6))
    m, f = rng.normal(size=6), rng.normal(size=6)
    assert numbers(X.motion(ca.DM(m))).ravel() == pytest.approx(numbers(X.matrix) @ m)
    assert numbers(X.force_back(ca.DM(f))).ravel() == pytest.approx(numbers(X.matrix).T @ f)


def test_motion_and_force_transforms_keep_power(rng):
    X = random_transform(rng)
    m, f = rng.normal(size=6), rng.normal(size=6)
    assert numbers(X.force_back(ca.DM(f))).ravel() @ m == pytest.approx(
        f @ numbers(X.motion(ca.DM(m))).ravel()
    )


def test_inertia_transform_and_kinetic_energy(rng):
    X = random_transform(rng)
    root = rng.normal(size=(3, 3))
    c = rng.normal(size=3)
    inertia = mcI(1.7, c, constant(root @ root.T))
    moved = numbers(X.inertia_back(inertia))
    assert moved == pytest.approx(numbers(X.matrix).T @ numbers(inertia) @ numbers(X.matrix))
    v = rng.normal(size=6)
    at_centre = v[3:] + np.cross(v[:3], c)
    energy = 0.5 * 1.7 * at_centre @ at_centre + 0.5 * v[:3] @ root @ root.T @ v[:3]
    assert 0.5 * v @ numbers(inertia) @ v == pytest.approx(energy)


def test_quaternion_round_trip_and_rate(rng):
    for angle in (0.0, 0.3, 2.0, np.pi, 3.1):
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        e = np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])
        A = numbers(quaternion_rotation(e)).T
        assert A @ axis == pytest.approx(axis)
        found = quaternion_of(A)
        assert found == pytest.approx(e, abs=1e-7) or found == pytest.approx(-e, abs=1e-7)
    e, w = found, rng.normal(size=3)
    rate = numbers(quaternion_rate(e, ca.DM(w))).ravel()
    assert rate @ e == pytest.approx(0.0, abs=1e-15)
    h = 1e-6
    difference = numbers(quaternion_rotation(e + h * rate)) - numbers(quaternion_rotation(e - h * rate))
    # E' = -w x E for w in the turned frame
    assert difference / (2 * h) == pytest.approx(
        -numbers(skew(w)) @ numbers(quaternion_rotation(e)), abs=1e-8
    )


@pytest.mark.parametrize("k", range(3))
def test_quaternion_of_half_turns(k):
    A = -np.eye(3)
    A[k, k] = 1.0
    assert quaternion_of(A) == pytest.approx(np.eye(4)[k + 1])


def test_structural_zeros_survive():
    angle = ca.SX.sym("angle")
    assert rz(angle).nnz() == 5
    assert skew(vector([0, 0, ca.SX.sym("z")])).nnz() == 2
    planar = Transform(rz(angle), vector([ca.SX.sym("x"), ca.SX.sym("y"), 0]))
    flat = ca.diagcat(ca.SX(2, 2), symmetric(ca.SX.sym("M", 3, 3)), ca.SX(1, 1))  # w_z, v_x, v_y only
    moved = planar.inertia_back(flat)
    assert ca.sparsify(moved).nnz() == 9


def test_symmetric_matrices_share_their_halves():
    M = symmetric(ca.SX.sym("a", 3, 3) @ ca.SX.sym("b", 3, 3))
    assert ca.is_equal(M, M.T)


def test_snapping_touches_noise_only():
    A = np.array([[1 - 1e-16, 1e-17, 0.0], [-1e-17, 0.6, 1e-9], [0.0, -1e-9, 0.6]])
    assert (snapped(A) == np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 1e-9], [0.0, -1e-9, 0.6]])).all()
