"""Steps of the stiff method along bodies that turn: closed forms, long steps, the same on both engines."""

from __future__ import annotations

import itertools
import zipfile
from dataclasses import dataclass

import casadi as ca
import numpy as np
import pytest
from scipy.special import ellipj

from blocks.contract.block import Block, Equations
from blocks.errors import PlantloopError
from cosim import Diagram, Simulation, export_fmu, simulate
from cosim.engines.methods.turning import TurningBodies, bodies_of
from plant import Plant

SPIN, SWING, STIFF = 3.0, 2.0, 1e4
TOP = np.array([2.0, 2.0, 0.7])  # moments of inertia
W0 = np.array([0.4, 0.0, SPIN])


@dataclass(frozen=True)
class Top(Block):
    """A symmetric top without torque on an isotropic spring; a fast state beside it follows its height."""

    def define(self, b: Equations) -> None:
        q = b.continuous("q", initial=[1.0, 0, 0, 0, 0.3, 0.0, 0.2])
        qd = b.continuous("qd", initial=[*W0, 0.0, 0.5, 0.1], velocity_of=q)
        fast = b.continuous("fast", initial=0.2)
        w = qd[:3]
        b.derivative(q, ca.vertcat(*[sum(row) / 2 for row in product(q[:4], w)], *[qd[k] for k in (3, 4, 5)]))
        turn = np.cross(TOP * w, w) / TOP
        b.derivative(qd, ca.vertcat(*[turn[k] for k in range(3)], *[-(SWING**2) * q[k] for k in (4, 5, 6)]))
        b.derivative(fast, STIFF * (q[6] - fast) + qd[5])
        count = b.continuous("count", initial=0.0)
        b.derivative(count, 0.0)
        b.when(q[5], [(count, count + 1.0)], name="passes")
        b.output("q", q)
        b.output("fast", fast)


def product(e, w):
    """Rows of the product of a quaternion and (0, w), as terms."""
    return (
        (-e[1] * w[0], -e[2] * w[1], -e[3] * w[2]),
        (e[0] * w[0], e[2] * w[2], -e[3] * w[1]),
        (e[0] * w[1], e[3] * w[0], -e[1] * w[2]),
        (e[0] * w[2], e[1] * w[1], -e[2] * w[0]),
    )


def exact(t):
    """(8,) attitude, place and the fast state of the top; Landau & Lifshitz, Mechanics, section 33."""
    L = TOP * W0
    about = np.linalg.norm(L) / TOP[0]
    n = L / np.linalg.norm(L)
    own = SPIN * (1.0 - TOP[2] / TOP[0])
    a = np.array([np.cos(about * t / 2), *(np.sin(about * t / 2) * n)])
    b = np.array([np.cos(own * t / 2), 0.0, 0.0, np.sin(own * t / 2)])
    e = [a[0] * b[0] - a[1:] @ b[1:], *(a[0] * b[1:] + b[0] * a[1:] + np.cross(a[1:], b[1:]))]
    p = np.cos(SWING * t) * np.array([0.3, 0.0, 0.2]) + np.sin(SWING * t) / SWING * np.array([0.0, 0.5, 0.1])
    return np.array([*e, *p, p[2]])


def alone():
    d = Diagram("s")
    d.add("top", Top())
    return d


def ends(step):
    """Largest error at the end of 1.5 s in equal steps."""
    loose = {"rtol": 1.0, "atol": 10.0, "max_step": step, "log_at": [1.5]}
    r = simulate(alone(), 1.5, engine="native", solver="rodas4", **loose)
    return np.abs(np.append(r["top.q"][-1], r["top.fast"][-1]) - exact(1.5)).max()


def test_order_four_along_what_turns_and_what_follows_stiffly():
    """Halved steps leave a sixteenth of the error; a wrong sign in the frames or their slopes, a quarter."""
    errors = [ends(1.5 / n) for n in (30, 60, 120)]
    assert errors[0] < 2e-4
    assert all(12.0 < a / b < 24.0 for a, b in itertools.pairwise(errors)), errors


PEAK = 6.0  # rate of the rotor where it hangs [rad/s]; it goes over the top


@dataclass(frozen=True)
class Rotor(Block):
    """A pendulum that turns over in a plane, its centre on an isotropic spring; fast follows its height."""

    def define(self, b: Equations) -> None:
        q = b.continuous("q", initial=[0.3, 0.0, 0.0])
        qd = b.continuous("qd", initial=[0.0, 0.5, PEAK], velocity_of=q)
        fast = b.continuous("fast", initial=0.0)
        b.derivative(q, qd)
        spring = [-(SWING**2) * q[0], -(SWING**2) * q[1]]
        b.derivative(qd, ca.vertcat(*spring, -(SWING**2) * np.sin(q[2])))
        b.derivative(fast, STIFF * (np.sin(q[2]) - fast) + np.cos(q[2]) * qd[2])
        b.output("q", q)
        b.output("fast", fast)


def rotor_ends(engine, step):
    """Largest error after 1.5 s in equal steps; Whittaker, Analytical Dynamics, section 44."""
    d, t = Diagram("s"), 1.5
    d.add("rotor", Rotor())
    loose = {"rtol": 1.0, "atol": 10.0, "max_step": step, "log_at": [t]}
    r = simulate(d, t, engine=engine, solver="rodas4", **loose)
    angle = 2.0 * ellipj(PEAK * t / 2.0, (2.0 * SWING / PEAK) ** 2)[3]
    exact = [0.3 * np.cos(SWING * t), 0.5 / SWING * np.sin(SWING * t), angle, np.sin(angle)]
    return np.abs(np.append(r["rotor.q"][-1], r["rotor.fast"][-1]) - exact).max()


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_order_four_in_a_plane_where_forces_depend_on_the_angle(engine):
    errors = [rotor_ends(engine, 1.5 / n) for n in (10, 20, 40)]
    assert errors[0] < 1e-3
    assert all(12.0 < a / b < 24.0 for a, b in itertools.pairwise(errors)), errors


@pytest.mark.slow
def test_both_engines_take_the_same_steps_log_and_find_the_same_events():
    """Inside the steps the solution is of third order: at logged instants, and where y passes zero."""
    times = np.linspace(0.0, 2.0, 21)
    runs = [
        simulate(alone(), 2.0, engine=e, solver="rodas4", rtol=1e-5, log_at=times)
        for e in ("reference", "native")
    ]
    for r in runs:
        found = np.column_stack([r["top.q"], r["top.fast"]])
        np.testing.assert_allclose(found, [exact(t) for t in times], atol=2e-5)
        passes = [e.time for e in r.events]
        np.testing.assert_allclose(passes, [0.0, np.pi / SWING], atol=2e-5)
    np.testing.assert_allclose(runs[0]["top.q"], runs[1]["top.q"], rtol=1e-9, atol=1e-9)
    for count in ("steps", "rejected steps"):
        assert runs[0].statistics[count] == runs[1].statistics[count]


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_run_saved_amid_turns_goes_on_as_the_whole_one(engine, tmp_path):
    """Nothing of the coordinates of a step outlasts it."""
    straight, saved, loaded = (
        Simulation(alone(), engine=engine, solver="rodas4", rtol=1e-3) for _ in range(3)
    )
    for sim in (straight, saved):
        sim.advance(0.3)
    saved.save(tmp_path / "run")
    loaded.load(tmp_path / "run")
    for sim in (straight, loaded):
        sim.advance(0.7)
    np.testing.assert_array_equal(straight.value("top.q"), loaded.value("top.q"))


@dataclass(frozen=True)
class Wheel(Block):
    """A wheel in a plane that rolls straight on, or goes round a post; a stiff state follows its speed."""

    round: bool = False

    def define(self, b: Equations) -> None:
        q = b.continuous("q", initial=[0.0, 0.5, 0.0])
        qd = b.continuous("qd", initial=[5.0, 0.0, -10.0], velocity_of=q)
        fast = b.continuous("fast", initial=5.0)
        pull = -100.0 if self.round else 0.0
        b.derivative(q, qd)
        b.derivative(qd, ca.vertcat(pull * q[0], pull * q[1], 0.0))
        b.derivative(fast, STIFF * ((qd[0] ** 2 + qd[1] ** 2) / 5.0 - fast))
        b.output("q", q)


@pytest.mark.parametrize("round", [False, True])
def test_what_turns_steadily_takes_few_steps_whether_its_centre_goes_round_or_straight_on(round):
    """In fixed axes the circle took 900 steps; axes that turn with a rolling wheel would make it one."""
    d = Diagram("s")
    d.add("wheel", Wheel(round))
    r = simulate(d, 10.0, solver="rodas4", rtol=1e-6, engine="reference", log_at=[10.0])
    a = -10.0 * 10.0
    place = [-0.5 * np.sin(a), 0.5 * np.cos(a)] if round else [50.0, 0.5]
    np.testing.assert_allclose(r["wheel.q"][-1], [*place, a], atol=1e-4)
    assert r.statistics["steps"] < 40
    again = simulate(d, 10.0, solver="rodas4", rtol=1e-6, engine="native", log_at=[10.0])
    np.testing.assert_allclose(again["wheel.q"], r["wheel.q"], rtol=1e-9)
    assert again.statistics["steps"] == r.statistics["steps"]


def test_a_wheel_that_rolls_straight_on_turns_and_its_centre_is_in_fixed_axes():
    """One that goes round has a screw about the post: its centre stands still in it."""
    for round, screw in ((False, [0.0, 0.0, 0.0]), (True, [0.0, 0.0, -10.0])):
        d = Diagram("s")
        d.add("wheel", Wheel(round))
        s = d.system()
        table = bodies_of(s)
        assert table.tolist() == [[2, -1, -1, -1, 0, 1, -1, -1, -1, 5, 3, 4, -1, 0]]
        f = np.array([5.0, 0.0, -10.0, 0.0, -50.0 if round else 0.0, 0.0, 0.0])
        frames = TurningBodies(table, np.full(7, 1e-6)).frames(s.x0, f)
        assert frames.turn.tolist() == [[0.0, 0.0, -10.0]]
        assert frames.screw.tolist() == [screw]
        assert frames.drift.tolist() == [[5.0, 0.0, 0.0] if round else [0.0, 0.0, 0.0]]


@dataclass(frozen=True)
class Wheels(Block):
    """Two wheels that turn alike: the steadiest slides on, the other goes round a post, slower and slower."""

    on_first: bool = False

    def define(self, b: Equations) -> None:
        wheels = [("round", [0.0, 0.5, 0.0], 0.3), ("on", [0.0, 7.0, 0.0], 0.0)]
        for name, place, brake in wheels[::-1] if self.on_first else wheels:
            q = b.continuous(name, initial=place)
            speed = 5.0 if brake else 0.5
            qd = b.continuous(f"{name} rate", initial=[speed, 0.0, -10.0], velocity_of=q)
            pull = -100.0 if brake else 0.0
            b.derivative(q, qd)
            b.derivative(qd, ca.vertcat(pull * q[0], pull * q[1], -brake * qd[2]))
            b.output(name, q)
        fast = b.continuous("fast", initial=0.0)
        b.derivative(fast, STIFF * (q[1] - fast) + qd[1])


@pytest.mark.slow
def test_both_engines_take_the_same_steps_where_bodies_take_the_frames_of_others():
    """Another leader, one that slides, or one of another block would change them."""
    shaft = Diagram("s")
    shaft.add("plant", Plant.read(SHAFT, coordinates="absolute"))
    pairs = [Diagram("s"), Diagram("s")]
    for d, on_first in zip(pairs, (False, True), strict=True):
        d.add("wheels", Wheels(on_first))
        d.add("wheel", Wheel(True))
    for d in (*pairs, shaft):
        one, other = (
            simulate(d, 2.0, engine=engine, solver="rodas4", rtol=1e-7, atol=1e-9, log_at=[0.7, 2.0])
            for engine in ("reference", "native")
        )
        assert one.statistics["steps"] == other.statistics["steps"]
        for name in one:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-9, atol=1e-9)
        if d is not shaft:
            t, a = 2.0, -20.0
            np.testing.assert_allclose(one["wheels.on"][-1], [1.0, 7.0, a], atol=1e-5)
            turned = -10.0 / 0.3 * (1.0 - np.exp(-0.3 * t))
            np.testing.assert_allclose(
                one["wheels.round"][-1], [-0.5 * np.sin(a), 0.5 * np.cos(a), turned], atol=1e-5
            )


SHAFT = b"""<MotionSolve><Model><Force_Gravity grav_z="-9.81"/>
<Body_Rigid id="1" isground="TRUE"/>
<Reference_Marker id="1" body_id="1"/>
<Body_Rigid id="3" label="arm" cg_id="30" mass="1" inertia_xx="0.001" inertia_yy="0.02" inertia_zz="0.02"
  v_ic_y="4" w_ic_z="10"/>
<Reference_Marker id="30" body_id="3" pos_x="0.4"/>
<Reference_Marker id="32" body_id="3" pos_x="0.1" a00="1" a10="0" a20="0" a01="0" a11="0" a21="1"
  a02="0" a12="-1" a22="0"/>
<Body_Rigid id="2" label="shaft" cg_id="20" mass="5" inertia_xx="0.1" inertia_yy="0.1" inertia_zz="0.05"
  w_ic_z="10"/>
<Reference_Marker id="20" body_id="2"/>
<Reference_Marker id="22" body_id="2" pos_x="0.1" a00="1" a10="0" a20="0" a01="0" a11="0" a21="1"
  a02="0" a12="-1" a22="0"/>
<Constraint_Joint id="1" type="REVOLUTE" i_marker_id="20" j_marker_id="1"/>
<Constraint_Joint id="2" label="hinge" type="REVOLUTE" i_marker_id="32" j_marker_id="22"/>
<Force_SpringDamper id="1" type="ROTATIONAL" i_marker_id="32" j_marker_id="22" stiffness="20" damping="1000"/>
<Reference_Variable id="1" type="EXPRESSION" expr="AZ(32,22)"/>
<Control_PlantOutput id="1" label="y" variable_id_list="1"/>
</Model></MotionSolve>"""


def test_an_arm_that_creeps_on_a_spinning_shaft_takes_at_most_twice_the_steps_of_joint_coordinates():
    """It took 849 for 29 in fixed axes, and 219 in axes that turn with each body for itself."""
    runs = []
    for coordinates in ("joint", "absolute"):
        d = Diagram("s")
        d.add("plant", Plant.read(SHAFT, coordinates=coordinates))
        times = [1.0, 3.33, 5.0]
        runs.append(simulate(d, 5.0, engine="reference", solver="rodas4", rtol=1e-6, atol=1e-8, log_at=times))
    np.testing.assert_allclose(runs[1]["plant.y"], runs[0]["plant.y"], atol=1e-7)
    tried = [r.statistics["steps"] + r.statistics["rejected steps"] for r in runs]
    assert tried[1] <= 2 * tried[0]


def test_bodies_that_turn_alike_take_the_frame_of_the_steadiest_of_their_block():
    """Three tops: the second nods less than the first, the third belongs to another block."""
    d = Diagram("s")
    for name in ("a", "b"):
        d.add(name, Top())
    table = bodies_of(d.system())
    assert table[0].tolist() == [*range(13), 0]
    assert table[1].tolist() == [*range(15, 28), 1]
    x, f = np.zeros(30), np.zeros(30)
    for begin, nods in ((0, 1.0), (15, 0.1)):
        x[begin : begin + 13] = [1, 0, 0, 0, begin, 2.0, 0, nods, 0, 10.0, 0.0, 0.0, 3.0]
        f[begin + 7] = nods
    apart = TurningBodies(table, np.ones(30)).frames(x, f)
    assert apart.turn.tolist() == [[1.0, 0.0, 10.0], [0.1, 0.0, 10.0]]
    table[1, 13] = 0
    together = TurningBodies(table, np.ones(30)).frames(x, f)
    assert together.turn.tolist() == [[0.1, 0.0, 10.0]] * 2
    assert together.drift[0] == pytest.approx(np.array([0, 0, 3.0]) + np.cross([0.1, 0, 10], [-15, 0, 0]))
    x[22:25] = x[7:10] = 0.0
    assert TurningBodies(table, np.ones(30)).frames(x, f) is None


def test_a_turning_body_is_exported_with_its_places_as_one_row_of_numbers(tmp_path):
    """The table of bodies had rows of its own, which C has not: TypeError with any solver."""
    path = export_fmu(alone(), tmp_path / "top.fmu", solver="rodas4", platforms=[])
    with zipfile.ZipFile(path) as archive:
        tables = archive.read("sources/tables.c").decode()
    assert "t_bodies[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0};" in tables
    assert ".n_bodies = 1" in tables


@dataclass(frozen=True)
class Misfit(Block):
    """Velocities of something that is no place of a body."""

    size: int = 2
    slice: bool = False

    def define(self, b: Equations) -> None:
        q = b.continuous("q", initial=0.0, size=3)
        b.continuous("qd", initial=0.0, size=self.size, velocity_of=q[:] if self.slice else q)


@pytest.mark.parametrize(
    ("block", "told"),
    [
        (Misfit(), r"'qd' of size 2 is given as velocity_of 'q'.* size 3(.|\n)*6 velocities in space"),
        (Misfit(6), "size 6"),
        (Misfit(3, slice=True), "velocity_of needs the state itself"),
    ],
)
def test_velocities_that_fit_no_place_are_refused(block, told):
    d = Diagram("s")
    d.add("misfit", block)
    with pytest.raises(PlantloopError, match=told):
        d.system()
