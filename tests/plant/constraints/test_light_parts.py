"""Bodies much lighter than their neighbours: motion and forces in both coordinate choices.

Oracle: rods in a plane by their absolute angles, M(theta) theta'' + c = Q in closed form, a closed end met on
the null space of its conditions: nothing is divided by a light mass.
"""

import warnings
from functools import cache

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
    Reference_Marker,
    Reference_Variable,
)
from plant.mechanics.light import lent_inertia
from tests.helpers.checked import independent
from tests.helpers.loops import at, bar

UNTIL, G = 1.0, 9.81
LIGHT = 1e-9


def rods(masses, angles, closed):
    """Rods of 1 m, hinged end to end from the origin; the last end is hinged to ground where `closed`.

    Outputs: x and y of the end of the first and of the last rod; force at the origin, up to its sign.
    """
    elements = [Body_Rigid(id=1, isground=True), Force_Gravity(grav_y=-G), at(100, 1, 0.0, 0.0)]
    end = np.zeros(2)
    for k, (m, angle) in enumerate(zip(masses, angles, strict=True)):
        body, along = 2 + k, np.array([np.cos(angle), np.sin(angle)])
        elements += [
            Body_Rigid(**bar(body, m, 1.0)),
            at(10 * body, body, *(end + along / 2), angle),
            at(10 * body + 1, body, *end, angle),
            at(10 * body + 2, body, *(end + along), angle),
            Constraint_Joint(
                id=1 + k,
                type="REVOLUTE",
                i_marker_id=10 * body + 1,
                j_marker_id=100 if k == 0 else 10 * body - 8,
            ),
        ]
        end = end + along
    last = 10 * (1 + len(masses)) + 2
    if closed:
        elements += [
            at(101, 1, *end),
            Constraint_Joint(id=99, type="REVOLUTE", i_marker_id=last, j_marker_id=101),
        ]
    texts = ("DX(22)", "DY(22)", f"DX({last})", f"DY({last})", "JOINT(1,0,2,0)", "JOINT(1,0,3,0)")
    elements += [Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)]
    elements.append(Control_PlantOutput(id=1, label="ends", variable_id_list=(1, 2, 3, 4)))
    elements.append(Control_PlantOutput(id=2, label="force", variable_id_list=(5, 6)))
    return Model.build(elements)


def unit(angle):
    return np.array([np.cos(angle), np.sin(angle)])


@cache
def coefficients(masses):
    """(n, n) each: what rod j moves the middle of rod k, and that weighed; masses and inertias of M."""
    m, n = np.array(masses), len(masses)
    levers = np.tri(n, k=-1) + np.eye(n) / 2.0
    weights = levers.T * m
    return levers, weights, weights @ levers, np.diag(m / 12.0)


WEIGHT = np.array([[0.0], [-G]])


def accelerations(masses, angles, rates, closed):
    """theta'' (n,) and the force on ground at the origin (2,)."""
    levers, weights, moved, turned = coefficients(masses)
    along = np.array([np.cos(angles), np.sin(angles)])  # (2, n)
    across, bent = np.array([-along[1], along[0]]), -along * rates**2  # bent: accelerations at theta'' = 0
    M = (across.T @ across) * moved + turned
    Q = ((across.T @ (WEIGHT - bent @ levers.T)) * weights).sum(axis=1)
    if closed:
        u, sizes, v = np.linalg.svd(across)
        free, particular = v[2:].T, v[:2].T @ (u.T @ -bent.sum(axis=1) / sizes)
        z = np.linalg.solve(free.T @ M @ free, free.T @ (Q - M @ particular))
        found = particular + free @ z
    else:
        found = np.linalg.solve(M, Q)
    return found, (across * found + bent) @ weights.sum(axis=1) + np.array([0.0, G * sum(masses)])


@cache
def expected(masses, angles, closed):
    """Ends of the first and the last rod at UNTIL (4,), and the force on ground there (2,)."""
    n = len(masses)
    run = solve_ivp(
        lambda t, y: np.concatenate([y[n:], accelerations(masses, y[:n], y[n:], closed)[0]]),
        (0.0, UNTIL),
        [*angles, *np.zeros(n)],
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
    )
    y = run.y[:, -1]
    ends = np.concatenate([unit(y[0]), sum(unit(a) for a in y[:n])])
    return ends, accelerations(masses, y[:n], y[n:], closed)[1]


CASES = {
    "middle of three": ((1.0, LIGHT, 1.0), (0.0, 0.0, 0.0), False),
    "middle of three, 1e-12": ((1.0, 1e-12, 1.0), (0.0, 0.0, 0.0), False),
    "middle of three, 1e-7": ((1.0, 1e-7, 1.0), (0.0, 0.3, 0.0), False),
    "first of three": ((LIGHT, 1.0, 1.0), (0.0, 0.2, 0.0), False),
    "coupler of a four-bar": ((1.0, LIGHT, 1.0), (1.2, 0.0, -1.0), True),
    "coupler of a four-bar, 1e-12": ((1.0, 1e-12, 1.0), (1.2, 0.0, -1.0), True),
    "rocker of a four-bar": ((1.0, 1.0, LIGHT), (1.2, 0.0, -1.0), True),
}


BOTH_ENGINES = ("middle of three", "coupler of a four-bar")  # their equations are the same


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
@pytest.mark.parametrize("name", CASES)
def test_a_light_part_moves_as_it_should(checked, name, coordinates):
    """With inertia not lent: 0.2 m off for 1e-9, 13 m for 1e-12, where joint coordinates were right."""
    masses, angles, closed = CASES[name]
    ends, force = expected(masses, angles, closed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # conditions out of the plane repeat each other
        plant = Plant.from_model(rods(masses, angles, closed), coordinates=coordinates)
    d = Diagram("light")
    d.add("plant", plant)
    for engine in ("native", "reference") if name in BOTH_ENGINES else ("native",):
        r = simulate(d, UNTIL, engine=engine, rtol=1e-9, atol=1e-11, log_at=[0.0, UNTIL])
        oracle = independent("Lagrange's equations, DOP853 at 1e-11")
        checked(r["plant.ends"][-1], ends, f"light part: {name}", "ends of the rods", oracle, atol=3e-8)
        if not closed:  # else a part of the force on ground is at the other end
            np.testing.assert_allclose(np.abs(r["plant.force"][-1]), np.abs(force), rtol=1e-5, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("closed", [False, True], ids=["open", "closed"])
def test_two_light_links_between_heavy_ones_vibrate_as_they_should(checked, closed):
    """Their pin swings to and fro between the heavy ones, stretched again and again; it was 7 mm off."""
    masses, angles = (1.0, 1e-6, 1e-6, 1.0), (0.8, 0.0, 0.8, 0.0) if closed else (0.0, 0.5, 0.0, 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plants = [
            Plant.from_model(rods(masses, angles, closed), coordinates=c) for c in ("joint", "absolute")
        ]
    ends, _ = expected(masses, angles, closed)
    for plant in plants:
        r = simulate(plant, UNTIL, rtol=1e-9, atol=1e-11, log_at=[0.0, UNTIL])
        name = f"two light links, {'closed' if closed else 'open'}"
        oracle = independent("Lagrange's equations, DOP853 at 1e-11")
        checked(r["plant.ends"][-1], ends, name, "ends of the rods", oracle, atol=1e-6)


def chain_in_space(masses):
    """Rods of 0.5 m on ball joints, in all directions. Outputs: their energy [J], the end of the last [m]."""
    rng, elements, terms = np.random.default_rng(1), [], []
    end = np.zeros(3)
    for k, m in enumerate(masses):
        body, along, J = 2 + k, rng.normal(size=3), m * 0.5**2 / 12
        along *= 0.5 / np.linalg.norm(along)
        moments = {"inertia_xx": J, "inertia_yy": 1.2 * J, "inertia_zz": 0.9 * J}
        elements.append(Body_Rigid(id=body, cg_id=10 * body, mass=m, **moments))
        for marker, r in enumerate((end + along / 2, end, end + along)):
            place = dict(zip(("pos_x", "pos_y", "pos_z"), r.tolist(), strict=True))
            elements.append(Reference_Marker(id=10 * body + marker, body_id=body, **place))
        outer = 10 * body - 8 if k else 100
        elements.append(
            Constraint_Joint(id=body, type="SPHERICAL", i_marker_id=10 * body + 1, j_marker_id=outer)
        )
        cg = 10 * body
        spins = zip("XYZ", moments.values(), strict=True)
        turning = "".join(f" + {I}*W{axis}({cg},0,{cg})**2" for axis, I in spins)
        terms.append(f"0.5*({m}*VM({cg})**2{turning}) + {m * G}*DZ({cg})")
        end = end + along
    texts = (" + ".join(terms), *(f"D{axis}({10 * body + 2})" for axis in "XYZ"))
    return Model.build(
        [
            Body_Rigid(id=1, isground=True),
            Force_Gravity(grav_z=-G),
            Reference_Marker(id=100, body_id=1),
            *elements,
            *(Reference_Variable(id=k, expr=text) for k, text in enumerate(texts, start=1)),
            Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2, 3, 4)),
        ]
    )


@pytest.mark.slow
def test_two_light_links_in_space_keep_the_energy_when_they_are_stretched():
    """1 kg, 1e-7, 1e-10, 2 kg: the pin in between flies through at 0.16 s. Energy was 1.4e-6 off from there
    on, whatever the tolerance, and joint coordinates stopped at 0.31 s."""
    model = chain_in_space((1.0, 1e-7, 1e-10, 2.0))
    tight = {"rtol": 1e-10, "atol": 1e-12, "log_every": 0.1}
    plants = [Plant.from_model(model, coordinates=c) for c in ("joint", "absolute")]
    found = [simulate(plant, 0.4, **tight)["plant.y"] for plant in plants]
    for y in found:
        np.testing.assert_allclose(y[:, 0], y[0, 0], rtol=2e-8)
    np.testing.assert_allclose(found[0], found[1], atol=2e-7)


@pytest.mark.parametrize("mass", [1e-3, 1.0, 1e3])
def test_nothing_is_lent_to_parts_of_like_mass(mass):
    plant = Plant.from_model(rods((1.0, mass, 1.0), (0.0, 0.1, 0.0), False), coordinates="absolute")
    assert not plant.assembly.closing.lent.any() and not plant.assembly.closing.ballast.any()


def test_who_is_lent_how_much():
    """A part of 1e-8 kg is held by two conditions between 1 kg and 4 kg; or hangs at one, free to move."""
    from scipy.sparse import csr_array

    masses = np.array([1.0, 1e-8, 4.0, 1e-8])
    J = np.array([[1.0, -1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0], [0.0, 0.0, 1.0, 0.0]])
    lent, times = lent_inertia(csr_array(J / np.sqrt(masses)), np.ones(3), np.arange(4))
    np.testing.assert_allclose(lent, [4.0, 4.0, 0.0], rtol=1e-6)
    np.testing.assert_allclose(times, [0.0, 4e8, 0.0, 0.0], rtol=1e-6)
    hanging = np.array([[1.0, 0.0, -1.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    lent, times = lent_inertia(csr_array(hanging / np.sqrt(masses)), np.ones(2), np.array([0, 1, 2, 3]))
    np.testing.assert_allclose(lent, [0.0, 4.0], rtol=1e-6)


def test_rounding_in_a_condition_does_not_make_it_hold_a_light_part():
    from scipy.sparse import csr_array

    masses = np.array([1.0, 1e-8, 4.0])
    J = np.array([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0], [1.0, 1e-17, -1.0]])
    lent, times = lent_inertia(csr_array(J / np.sqrt(masses)), np.ones(3), np.arange(3))
    np.testing.assert_allclose(lent, [4.0, 4.0, 0.0], rtol=1e-6)
    np.testing.assert_allclose(times, [0.0, 4e8, 0.0], rtol=1e-6)


@pytest.mark.parametrize(
    ("coordinates", "closed", "factor"),
    [("joint", False, 0.0), ("absolute", False, 0.0), ("joint", True, 1e4), ("absolute", True, 1e4)],
)
def test_only_closed_loops_have_poses_at_which_rounding_matters(coordinates, closed, factor):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plant = Plant.from_model(rods((1.0, 1.0, 1.0), (1.2, 0.0, -1.0), closed), coordinates=coordinates)
    d = Diagram()
    d.add("plant", plant)
    assert set(d.system().rounding) == {factor}
