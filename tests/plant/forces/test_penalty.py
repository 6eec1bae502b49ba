"""Penalty forces: generalized force along the gradient, unilateral ramp, soft variables."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad

from blocks.contract.trace import trace
from blocks.errors import ModelError
from plant import Plant
from plant.elements import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Element,
    Force_Gravity,
    Force_Penalty,
    Model,
    Param_Unit,
    Reference_Marker,
    Reference_Variable,
)
from plant.forces.penalty import stored
from plant.mechanics.applied import Penalty
from plant.reporting import PlantWarning
from tests.helpers.plants import Alone, reference
from tests.helpers.trees import body, marker, random_rotation

SOLID = {"inertia_xx": 0.4, "inertia_yy": 0.5, "inertia_zz": 0.6}


def particle(*elements: Element, at=(0.3, 0.4, -0.2), mass: float = 2.0) -> Alone:
    """A free body with CG marker 9."""
    x, y, z = at
    return Alone(
        Plant.from_model(
            Model.build(
                [
                    Body_Rigid(id=1, isground=True),
                    Body_Rigid(id=2, label="bead", cg_id=9, mass=mass, **SOLID),
                    Reference_Marker(id=9, body_id=2, pos_x=x, pos_y=y, pos_z=z),
                    *elements,
                ]
            )
        )
    )


def acceleration(alone: Alone, v=(0.0, 0.0, 0.0), t: float = 0.0) -> np.ndarray:
    alone.x0[alone.slice("bead.qd")] = [0, 0, 0, *v]
    return alone.derivative(t, alone.x0)[alone.slice("bead.qd")][3:]


def test_bilateral_force_follows_the_gradient():
    alone = particle(Force_Penalty(id=1, expr="dy(9) - cosh(dx(9))", penalty=1e4, penalty1=1e2))
    x, y, vx, vy = 0.3, 0.4, 1.5, -0.7
    F = -1e4 * (y - np.cosh(x)) - 1e2 * (vy - np.sinh(x) * vx)
    expected = np.array([-np.sinh(x) * F, F, 0.0]) / 2.0
    assert acceleration(alone, (vx, vy, 0.9)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dz", [-0.2, 0.2])
def test_a_stiffness_alone_acts_on_both_sides_and_damps_nothing(dz):
    alone = particle(Force_Penalty(id=1, expr="DZ(9)", penalty=7.0), at=(0.0, 0.0, dz))
    assert acceleration(alone, (0.0, 0.0, 3.0)) == pytest.approx([0.0, 0.0, -7.0 * dz / 2.0], abs=1e-14)


@pytest.mark.parametrize(("axis", "n"), [("X", 0), ("Y", 1), ("Z", 2)])
def test_an_angle_that_counts_turns_is_damped_by_its_rate(axis, n):
    """Its full turns are chosen by its rate, but it depends on displacements only."""
    alone = particle(Force_Penalty(id=1, expr=f"A{axis}(9) - 0.1", penalty=5.0, penalty1=0.3))
    alone.x0[alone.slice("bead.qd")] = [1.7 * (k == n) for k in range(6)]
    expected = [(5.0 * 0.1 - 0.3 * 1.7) / (0.4, 0.5, 0.6)[n] * (k == n) for k in range(3)]
    assert alone.derivative(0.0, alone.x0)[alone.slice("bead.qd")][:3] == pytest.approx(expected, abs=1e-12)


def test_explicit_time_counts_in_the_rate():
    alone = particle(Force_Penalty(id=1, expr="dz(9) - 3*TIME**2", penalty=10.0, penalty1=5.0))
    F = -10.0 * (-0.2 - 3 * 0.25) - 5.0 * (0.4 - 6 * 0.5)
    assert acceleration(alone, (0, 0, 0.4), t=0.5) == pytest.approx([0, 0, F / 2], rel=1e-12)


@pytest.mark.parametrize(
    ("smoothing", "g"), [(1.0, 0.25), (1.0, -0.1), (0.1, 0.25), (None, 0.25), (None, 0.0), (None, -1e-3)]
)
def test_unilateral_ramp(smoothing, g):
    """w = STEP(g, 0, 0, smoothing, 1), 1 or 0 without smoothing; both factors are ramped."""
    alone = particle(
        Force_Penalty(
            id=1, expr="-DZ(9)", penalty=1e4, penalty1=1e2, unilateral=True, smoothing_factor=smoothing
        ),
        at=(0, 0, -g),
    )
    s = np.clip(g / smoothing, 0, 1) if smoothing else float(g > 0)
    w = s * s * (3 - 2 * s)
    F = -w * (1e4 * g + 1e2 * 0.3)  # g' = -vz = 0.3
    assert acceleration(alone, (0, 0, -0.3)) == pytest.approx([0, 0, -F / 2], rel=1e-12, abs=1e-12)


def test_smoothing_table_of_the_language():
    for g, w in reference("expressions")["penalty_smoothing_step_0_0_1_1"]:
        alone = particle(
            Force_Penalty(id=1, expr="-DZ(9)", penalty=1.0, unilateral=True, smoothing_factor=1.0),
            at=(0, 0, -g),
        )
        assert acceleration(alone)[2] == pytest.approx(w * g / 2, abs=1e-15)


def test_forces_and_torques_on_both_bodies():
    """g = DM(I,J) between two free bodies: a pair of forces at the markers."""
    rng = np.random.default_rng(3)
    elements: list[Element] = [Body_Rigid(id=1, isground=True)]
    place = {}
    for id in (2, 3):
        place[10 * id] = (rng.normal(size=3), random_rotation(rng))
        elements += body(id, *place[10 * id], rng)
        place[10 * id + 1] = (rng.normal(size=3), random_rotation(rng))
        elements.append(marker(10 * id + 1, id, *place[10 * id + 1]))
    alone = Alone(
        Plant.from_model(Model.build([*elements, Force_Penalty(id=1, expr="DM(21,31) - 1", penalty=7.0)]))
    )
    change = alone.derivative(0.0, alone.x0)
    d = place[21][0] - place[31][0]
    F = -7.0 * (np.linalg.norm(d) - 1) * d / np.linalg.norm(d)
    for link, sign in zip(alone.plant.mechanism.links, (1, -1), strict=True):
        b = link.body.source
        r, A = place[10 * b.id]
        at = place[10 * b.id + 1][0]
        rate = change[alone.slice(f"{link.name}.qd")]
        assert b.mass * rate[3:] == pytest.approx(sign * F, abs=1e-11)
        torque = A @ (b.inertia @ rate[:3])
        assert torque == pytest.approx(sign * np.cross(at - r, F), abs=1e-11)


def rotor(*elements: Element) -> Alone:
    """A rotor on the global x-axis: THETA(20,10) is its angle from upright."""
    axis = {"a00": 0, "a10": 0, "a20": -1, "a01": 0, "a11": 1, "a21": 0, "a02": 1, "a12": 0, "a22": 0}
    return Alone(
        Plant.from_model(
            Model.build(
                [
                    Body_Rigid(id=1, isground=True),
                    Reference_Marker(id=10, body_id=1),
                    Reference_Marker(id=11, body_id=1, **axis),
                    Body_Rigid(id=2, cg_id=20, mass=1, inertia_xx=0.5, inertia_yy=0.5, inertia_zz=0.5),
                    Reference_Marker(id=20, body_id=2),
                    Reference_Marker(id=21, body_id=2, **axis),
                    Constraint_Joint(id=1, label="axle", type="REVOLUTE", i_marker_id=21, j_marker_id=11),
                    *elements,
                ]
            )
        )
    )


SOFT = Reference_Variable(
    id=1, expr="theta(20,10) - 60D", is_implicit=True, autobalance="PENALTY", penalty=1000.0, penalty1=10.0
)
FORCE = Force_Penalty(id=1, expr="theta(20,10) - 60D", penalty=1000.0, penalty1=10.0)


@pytest.mark.parametrize("element", [SOFT, FORCE], ids=["variable", "force"])
def test_soft_angle_of_example_6(element):
    """Both forms give the torque of the example, and the free rotor's motion."""
    case = reference("expressions")["penalty_angle_example6"]["free_rotor"]
    alone = rotor(element)
    start = 1e-3  # THETA has no slope at 0
    alone.x0[alone.slice("axle.q")] = start
    alone.x0[alone.slice("axle.qd")] = 0.2
    torque = -1000 * (start - np.pi / 3) - 10 * 0.2
    assert alone.derivative(0, alone.x0)[alone.slice("axle.qd")] == pytest.approx([torque / 0.5])
    wn, zeta = case["wn"], case["zeta"]
    wd = wn * np.sqrt(1 - zeta**2)
    times = np.array([0.0, 0.01, 0.05, 0.1, 0.2, 0.5])
    found = alone.solve(times)[alone.slice("axle.q")][0]
    e0, v0 = start - np.pi / 3, 0.2
    wave = e0 * np.cos(wd * times) + (v0 + zeta * wn * e0) / wd * np.sin(wd * times)
    assert found == pytest.approx(np.pi / 3 + np.exp(-zeta * wn * times) * wave, abs=1e-9)


def test_soft_variable_shows_the_violation():
    alone = rotor(SOFT, Control_PlantOutput(id=1, label="g", variable_id_list=(1,)))
    alone.x0[alone.slice("axle.q")] = 0.3
    assert alone.output("g") == pytest.approx([0.3 - np.pi / 3])


@pytest.mark.filterwarnings("ignore::plant.PlantWarning")  # a rail lets none of these two move it
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_the_reaction_of_a_rail_bears_every_penalty_on_a_marker(coordinates):
    """Two penalties on one marker, across its rail: the rail gives back the sum, in either coordinates."""
    along = {"a00": 0, "a10": 0, "a20": -1, "a01": 0, "a11": 1, "a21": 0, "a02": 1, "a12": 0, "a22": 0}
    texts = [f"JOINT(1,0,{c},0)" for c in (2, 3, 4, 6, 7, 8)] + ["VARVAL(3)", "VARVAL(4)"]
    shown = [Reference_Variable(id=10 + k, expr=text) for k, text in enumerate(texts)]
    soft = {"is_implicit": True, "autobalance": "PENALTY"}
    plant = Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Reference_Marker(id=10, body_id=1, **along),
                Body_Rigid(id=2, cg_id=20, mass=2.0, **SOLID),
                Reference_Marker(id=20, body_id=2, pos_x=0.5, **along),
                Constraint_Joint(id=1, label="rail", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
                Force_Penalty(id=1, expr="DY(20) - 0.1", penalty=30.0),
                Force_Penalty(id=2, expr="DZ(20) + 2*DY(20) + 0.2", penalty=50.0),
                Reference_Variable(id=3, expr="DZ(20) - 0.3", penalty=70.0, **soft),
                Reference_Variable(id=4, expr="DX(20) - 0.4", penalty=90.0, **soft),
                *shown,
                Control_PlantOutput(id=1, label="y", variable_id_list=tuple(v.id for v in shown)),
            ]
        ),
        coordinates=coordinates,
    )
    alone = Alone(plant)
    fy, fz = 30.0 * 0.1 - 2 * 50.0 * 0.2, -50.0 * 0.2 + 70.0 * 0.3
    assert alone.output("y") == pytest.approx([0, -fy, -fz, 0, 0, 0, -0.3, 0.1], abs=1e-9)


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_soft_variable_that_follows_an_input(coordinates):
    """F = -p (x - u) - c v: what is held over a step has no rate of its own."""
    plant = Plant.from_model(
        Model.build(
            [
                Body_Rigid(id=1, isground=True),
                Body_Rigid(id=2, label="bead", cg_id=9, mass=2.0, **SOLID),
                Reference_Marker(id=9, body_id=2, pos_x=0.3, pos_y=0.4, pos_z=-0.2),
                Reference_Variable(id=5, expr="0"),
                Control_PlantInput(id=1, label="wanted", variable_id_list=(5,), hold_order=0),
                Reference_Variable(
                    id=6, expr="DX(9)*(2 + VARVAL(5)) - VARVAL(5)", is_implicit=True, autobalance="PENALTY",
                    penalty=40.0, penalty1=6.0,
                ),
                Control_PlantOutput(id=1, label="g", variable_id_list=(6,)),
            ]
        ),
        coordinates=coordinates,
    )  # fmt: skip
    alone = Alone(plant)
    rates = alone.slice("bead.qd")
    alone.x0[rates] = [0, 0, 0, 0.7, 0.1, 0]
    for u in (0.0, 1.5, -0.25):
        g, slope = 0.3 * (2 + u) - u, 2 + u
        F = -slope * (40.0 * g + 6.0 * slope * 0.7)
        found = alone.derivative(0.0, alone.x0, {"wanted": u})[rates][3:]
        assert found == pytest.approx([F / 2.0, 0, 0], rel=1e-11, abs=1e-11)
        assert alone.output("g", 0.0, alone.x0, {"wanted": u}) == pytest.approx([g])


def test_penalties_are_run_time_numbers():
    plant = particle(Force_Penalty(id=4, label="stop", expr="DX(9)", penalty=3.0)).plant
    alone = Alone(plant, {"Force_Penalty/4.penalty": 8.0})
    assert acceleration(alone) == pytest.approx([-8.0 * 0.3 / 2, 0, 0])


def test_velocity_in_a_damped_penalty_is_refused():
    elements = [
        Body_Rigid(id=1, isground=True),
        Body_Rigid(id=2, cg_id=9, mass=1, **SOLID),
        Reference_Marker(id=9, body_id=2),
        Force_Penalty(id=4, expr="VX(9)", penalty=3.0, penalty1=1.0),
    ]
    with pytest.raises(ModelError, match=r"Force_Penalty id=4: penalty1 needs the rate .* velocities"):
        trace(Plant.from_model(Model.build(elements)), {})


def test_two_factors_on_one_line_of_a_file():
    """Example 2 of the guide writes penalty twice, which is not well-formed XML."""
    text = b'<M><Model><Force_Penalty id="10" expr="DX(1)" penalty="1E4" penalty="1E2"/></Model></M>'
    with pytest.raises(ModelError, match="penalty"):
        Plant.read(text)


@pytest.mark.slow
def test_v_groove_comes_to_rest_at_the_bottom():
    """Example 3, in mm, kg, N: m g = 2 * 1e4 g STEP(g,0,0,1,1) with g = 1 - z at x = 0."""
    units = Param_Unit(
        length_unit="MILLIMETER", mass_unit="KILOGRAM", time_unit="SECOND", force_unit="NEWTON"
    )
    groove = [
        Force_Penalty(
            id=k, expr=f"1{sign}dx(9)-dz(9)", penalty=1e4, penalty1=1e2, unilateral=True, smoothing_factor=1.0
        )
        for k, sign in ((1, "+"), (2, "-"))
    ]
    alone = particle(units, Force_Gravity(grav_z=-9810.0), *groove, at=(100.0, 0.0, 120.0), mass=1.0)
    end = alone.solve([0.0, 8.0], rtol=1e-7, atol=1e-7)[:, -1]
    q = end[alone.slice("bead.q")]
    place = alone.plant.mechanism.links[0].joint.coordinates
    x, _, z = (q[[name for name, _ in place].index(axis)] for axis in "xyz")
    g = 1 - z
    assert x == pytest.approx(0.0, abs=1e-4)
    assert 2e4 * g * g * g * (3 - 2 * g) == pytest.approx(9.81, rel=1e-3)
    assert z == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize("expr", ["TIME", "VZ(9)"])
def test_a_penalty_without_a_displacement_says_that_it_exerts_nothing(expr):
    with pytest.warns(PlantWarning, match="Force_Penalty.*exerts no force, because its g does not depend"):
        alone = particle(Force_Penalty(id=1, expr=expr, penalty=1e3))
    assert not acceleration(alone, (0.0, 0.0, 1.0)).any()


@pytest.mark.parametrize(("unilateral", "L"), [(False, None), (True, None), (True, 0.3)])
@pytest.mark.parametrize("g", [-0.2, 0.1, 0.29, 0.8])
def test_what_a_penalty_stores_is_the_work_of_its_stiffness(unilateral, L, g):
    """The integral of w(s) penalty s from 0 to g, its rate, and w penalty1 g'^2, the loss."""
    numbers = {"penalty": 50.0, "penalty1": 3.0, "smoothing_factor": L}
    element = Force_Penalty(id=1, expr="DZ(9)", unilateral=unilateral, **numbers)
    symbol, rate = ca.SX.sym("g"), 0.7
    setting = SimpleNamespace(
        number=lambda element, name: numbers[name], motion=SimpleNamespace(rate=lambda g: ca.SX(rate))
    )
    found = stored(Penalty(element, symbol, ca.SX(rate), ca.SX(0)), setting)

    def w(s):
        if not unilateral:
            return 1.0
        part = np.clip(s / L, 0.0, 1.0) if L else float(s > 0)
        return part * part * (3 - 2 * part)

    energy = quad(lambda s: w(s) * 50.0 * s, 0.0, g, points=[min(g, L or 0.0)])[0]
    values = [float(ca.Function("f", [symbol], [e])(g)) for e in (found.U, found.rate, found.loss)]
    assert values == pytest.approx([energy, w(g) * 50.0 * g * rate, w(g) * 3.0 * rate**2], abs=1e-12)
