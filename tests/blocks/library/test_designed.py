"""Controllers made of a plant in one call, against python-control and closed forms."""

import control
import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from scipy.optimize import nnls

from blocks import LQG, LQI, LQR, MPC, ODE, Constant, Gain, Integrator, KalmanFilter, Mux, Step
from blocks.errors import PlantloopError
from blocks.library.predictive import nearest
from cosim import Diagram, linearize, simulate, trim
from plant import Plant

XML = "examples/inverted_pendulum/inverted_pendulum.xml"
ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
HELD = 1.0  # rad: a pendulum theta'' = u - sin(theta) held there takes u = sin(1)


def pendulum(start=HELD) -> ODE:
    return ODE(lambda t, x, u: np.array([x[1], u[0] - np.sin(x[0])]), [start, 0.0], inputs=1)


def at_one():
    return trim(pendulum(), x={"x": [HELD, 0.0]}, u={"u": np.sin(HELD)}, fixed=["x"])


def loop(controller, start=0.7, seen="x", **constants) -> Diagram:
    d = Diagram("loop")
    p, c = d.add("plant", pendulum(start)), d.add("it", controller)
    d.connect(p["y"], c[seen])
    d.connect(c["u"], p["u"])
    for name, value in constants.items():
        d.connect(d.add(name, Constant(value))["y"], c[name])
    return d


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_of_a_plant_the_gain_is_that_for_its_outputs_in_either_coordinates(coordinates):
    plant = Plant.read(XML, coordinates=coordinates)
    d = Diagram("whole")
    handle = d.add("plant", plant)
    force, seen = ["control_force"], ["pendulum", "slider"]
    at = trim(plant)
    law = LQR.of(handle, [100.0, 1.0, 10.0, 1.0], 0.01, inputs=force, outputs=seen, at=at, sample=0.01)
    ss = linearize(plant, force, seen, at=at)
    seen_model = control.ss(ss.C @ ss.A @ np.linalg.inv(ss.C), ss.C @ ss.B, np.eye(4), np.zeros((4, 1)))
    Q = np.diag([100.0, 1.0, 10.0, 1.0])
    wanted = control.dlqr(control.sample_system(seen_model, 0.01), Q, [[0.01]])[0]
    close(law.gain(), wanted, rtol=1e-7)
    if coordinates == "absolute":
        return
    y, c = d.add("y", Mux(2)), d.add("law", law)
    d.connect(handle["pendulum"], y["in1"])
    d.connect(handle["slider"], y["in2"])
    d.connect(y["out"], c["x"])
    d.connect(c["u"], handle["control_force"])
    d.ground(handle["disturbance_force"])
    r = simulate(d, until=5.0, initial={"plant.hinge.q": -0.05})
    close(r["plant.pendulum"][-1], 0.0, atol=2e-3)


@ENGINES
def test_a_controller_about_a_rest_brings_the_plant_there(engine):
    law = LQR.of(pendulum(), [1.0, 1.0], 0.1, at=at_one())
    A, B = [[0.0, 1.0], [-np.cos(HELD), 0.0]], [[0.0], [1.0]]
    close(law.gain(), control.lqr(A, B, np.eye(2), [[0.1]])[0], rtol=1e-9)
    r = simulate(loop(law), until=20.0, engine=engine)
    close(r["plant.y"][-1], [HELD, 0.0], atol=1e-6)
    close(r["it.u"][-1], np.sin(HELD), atol=1e-6)


@pytest.mark.parametrize("sample", [None, 0.05])
def test_an_estimating_controller_is_that_of_the_separate_designs(sample):
    at = at_one()
    law = LQG.of(pendulum(), 2.0, 0.5, 0.3, [0.1, 0.2], at=at, sample=sample)
    ss, one = linearize(pendulum(), at=at), np.eye(2)
    if sample is None:
        K = control.lqr(ss, 2.0 * ss.C.T @ ss.C, [[0.5]])[0]
        L = control.lqe(ss.A, ss.B, ss.C, [[0.3]], np.diag([0.1, 0.2]))[0]
        close(law.gains()[0], K, rtol=1e-8)
        close(law.gains()[1], L, rtol=1e-8)
    r = simulate(loop(law, 0.9, "y"), until=30.0, signals=["plant.y"])
    close(r["plant.y"][-1], [HELD, 0.0] @ one, atol=1e-5)
    filter_ = KalmanFilter.of(pendulum(), 0.3, [0.1, 0.2], at=at, sample=sample)
    close(filter_.gain(), law.gains()[1], rtol=1e-9)
    close(filter_.initial, [HELD, 0.0], atol=1e-12)


@ENGINES
def test_an_integral_takes_away_what_the_rest_did_not_know(engine):
    d = loop(LQI.of(pendulum(), 1.0, 1.0, 0.1, follow="y[0]", at=at_one()), r=1.1)
    r = simulate(d, until=30.0, engine=engine)
    close(r["plant.y"][-1], [1.1, 0.0], atol=1e-5)
    close(r["it.u"][-1], np.sin(1.1), atol=1e-5)


def test_limits_of_a_predictive_controller_are_those_of_the_plant_itself():
    """Held at u = sin(1) = 0.84; at most 0.9 may be used, and y may not pass 1.02."""
    law = MPC.of(
        pendulum(), 10, 10.0, 0.01, follow="y[0]", at=at_one(), u_max=0.9, y_max=1.02, slack=100.0, sample=0.2
    )
    d = loop(law, start=0.8)
    d.connect(d.add("r", Step(time=4.0, before=1.0, after=1.1))["y"], d["it"]["r"])
    r = simulate(d, until=8.0, signals=["plant.y", "it.u"])
    u, angle = r.ticks("it.u")[1], r["plant.y"][:, 0]
    assert u.max() == pytest.approx(0.9, abs=1e-6)
    close(angle[r.time < 4.0][-1], 1.0, atol=2e-3)
    close(angle[-1], 1.02, atol=2e-3)


def test_where_limits_meet_in_a_point_the_program_is_solved_all_the_same():
    """Drawn programs, checked by their optimality conditions."""
    draw = np.random.default_rng(1)
    for _ in range(20):
        n, m = int(draw.integers(2, 8)), int(draw.integers(1, 12))
        root, G, q = draw.normal(size=(n, n)), draw.normal(size=(m, n)), 10.0 * draw.normal(size=n)
        H, inside = root @ root.T + 0.1 * np.eye(n), G @ draw.normal(size=n)
        low, high = inside - draw.exponential(size=m), inside + draw.exponential(size=m)
        low[draw.random(m) < 0.3] = -np.inf
        x = nearest(H, q, G, low, high)
        push, shown = H @ x + q, G @ x
        assert (shown > low - 1e-7).all() and (shown < high + 1e-7).all()
        active = np.vstack([G[shown < low + 1e-7], -G[shown > high - 1e-7]])
        assert nnls(active.T, push)[1] < 1e-6 if len(active) else np.abs(push).max() < 1e-6
    one = np.ones((2, 1))
    apart = np.array([1.0, -np.inf]), np.array([np.inf, 0.5])
    assert nearest(np.eye(1), np.zeros(1), one, *apart) is None


def test_a_handle_of_a_subsystem_is_the_subsystem_with_the_parameters_it_was_given():
    """theta'' = u / J: K = [1, sqrt(1 + 2 J)] for weights of one."""
    motor = Diagram("motor")
    J = motor.parameter("J", 0.5)
    u, gain = motor.inport("u"), motor.add("gain", Gain(1 / J))
    speed, angle = motor.add("speed", Integrator()), motor.add("angle", Integrator())
    motor.connect(u, gain["u"])
    motor.connect(gain["y"], speed["u"])
    motor.connect(speed["y"], angle["u"])
    motor.outport("speed", speed["y"])
    motor.outport("angle", angle["y"])
    handle = Diagram("top").add("motor", motor, parameters={"J": 0.25})
    for plant, inertia in ((motor, 0.5), (handle, 0.25)):
        K = LQR.of(plant, [1.0, 1.0], 1.0, outputs=["angle", "speed"]).gain()
        close(K, [[1.0, np.sqrt(1.0 + 2.0 * inertia)]], rtol=1e-9)


def test_what_is_no_rest_or_tells_no_state_is_refused():
    with pytest.raises(PlantloopError, match="not at rest.*'x\\[1\\]' is -0.8415") as caught:
        LQR.of(pendulum())
    assert "trim" in str(caught.value)
    one = ODE(lambda t, x, u: np.array([x[1], u[0]]), [0.0, 0.0], lambda t, x, u: x[:1], inputs=1)
    with pytest.raises(PlantloopError, match="do not tell the 2 states"):
        LQR.of(one)
    assert LQG.of(one).gains()[0].shape == (1, 2)
    with pytest.raises(PlantloopError, match="no 'z'"):
        LQI.of(pendulum(), at=at_one(), follow="z")
    with pytest.raises(PlantloopError, match="a symmetric .* of the plant"):
        LQG.of(pendulum(), [1.0, 2.0, 3.0], at=at_one())
    with pytest.raises(PlantloopError, match="no inputs to be controlled by"):
        LQR.of(ODE(lambda t, x, u: -x, [0.0], inputs=0))
    with pytest.raises(PlantloopError, match="around"):
        LQR(([[0.0]], [[1.0]]), around=(0.0, 0.0))
