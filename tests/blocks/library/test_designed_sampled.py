"""Controllers and filters made of sampled diagrams in one call, against python-control and models by hand."""

import control
import numpy as np
import pytest
from numpy.testing import assert_allclose as close
from scipy.linalg import expm

from blocks import (
    LQG,
    LQI,
    LQR,
    MPC,
    ODE,
    Constant,
    DiscreteStateSpace,
    Hold,
    KalmanFilter,
    StateSpace,
    TransportDelay,
    UnitDelay,
)
from blocks.errors import PlantloopError
from cosim import Diagram, linearize, simulate, trim

T, HELD = 0.05, 1.0  # s, rad: a pendulum theta'' = u - sin(theta) held there takes u = sin(1)
SLOPE = np.array([[0.0, 1.0], [-np.cos(HELD), 0.0]])


def sampled(offset=0) -> Diagram:
    """A pendulum behind a hold, both of its states seen by a sensor at the ticks."""
    d = Diagram("plant")
    d.add("dac", Hold(sample=T, offset=offset))
    d.connect(d.inport("u"), d["dac"]["u"])
    law = ODE(lambda t, x, u: np.array([x[1], u[0] - np.sin(x[0])]), [HELD, 0.0], inputs=1)
    d["dac"] >> d.add("ode", law) >> d.add("adc", Hold(sample=T, offset=offset, initial=[HELD, 0.0]))
    d.outport("y", "adc.y")
    return d


def at_rest(d):
    return trim(d, x={"ode.x": [HELD, 0.0]}, u={"u": np.sin(HELD)}, fixed=["ode.x"])


def held(A, B, seconds):
    """exp of both, Van Loan."""
    A, B = np.array(A), np.array(B)
    n, m = B.shape
    both = expm(seconds * np.block([[A, B], [np.zeros((m, n + m))]]))
    return both[:n, :n], both[:n, n:]


@pytest.mark.parametrize("sample", [None, T, 0.15])
def test_the_gain_is_that_of_the_plant_behind_its_hold(sample):
    d = sampled()
    law = LQR.of(d, [1.0, 2.0], 0.1, at=at_rest(d), **({} if sample is None else {"sample": sample}))
    A, B = held(SLOPE, [[0.0], [1.0]], sample or T)
    close(law.gain(), control.dlqr(A, B, np.diag([1.0, 2.0]), [[0.1]])[0], rtol=1e-9)
    assert float(law.sample) == (sample or T)
    close(law.around[0], [HELD, 0.0]), close(law.around[1], np.sin(HELD))


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_the_loop_that_is_closed_has_the_poles_that_were_designed(engine):
    d = sampled(offset=0.02)
    law = LQR.of(d, 1.0, 0.1, at=at_rest(d))
    assert law.offset == pytest.approx(0.02)
    whole = Diagram("whole")
    whole.add("plant", d)
    whole.connect(whole.add("law", law)["u"], whole["plant"]["u"])
    whole.connect("plant.y -> law.x")
    A, B = held(SLOPE, [[0.0], [1.0]], T)
    close(
        np.sort(np.linalg.eigvals(linearize(whole, [], ["plant.y"]).A)),
        np.sort(np.linalg.eigvals(A - B @ law.gain())),
        atol=1e-9,
    )
    r = simulate(
        whole, until=20.0, initial={"plant/ode.x": [1.3, 0.0]}, engine=engine, signals=["plant/ode.y"]
    )
    close(r["plant/ode.y"][-1], [HELD, 0.0], atol=1e-6)


def with_delay() -> Diagram:
    """The angle behind a smoothing filter at twice the rate, of an input that comes a tick late."""
    d = Diagram("late")
    d.add("late", UnitDelay(sample=T, initial=np.sin(HELD)))
    d.connect(d.inport("u"), d["late"]["u"])
    law = ODE(lambda t, x, u: np.array([x[1], u[0] - np.sin(x[0])]), [HELD, 0.0], inputs=1)
    d["late"] >> d.add("ode", law)
    d.connect(
        d["ode"]["y"][0],
        d.add("smooth", DiscreteStateSpace(0.5, 0.5, 1.0, 0.0, sample=T / 2, initial=HELD))["u"],
    )
    d["smooth"] >> d.add("adc", Hold(sample=T, initial=HELD))
    d.outport("y", "adc.y")
    return d


def hand_made():
    """From tick to tick by two halves; states theta, theta', what acts, what is smoothed; behind them u."""
    A, B = held(SLOPE, [[0.0], [1.0]], T / 2)
    half = np.block([[A, B, np.zeros((2, 2))], [np.zeros((3, 2)), np.eye(3)]])
    smooth, end = np.eye(5), np.eye(5)
    smooth[3] = [0.5, 0.0, 0.0, 0.5, 0.0]
    end[2] = [0.0, 0.0, 0.0, 0.0, 1.0]
    whole = end @ half @ smooth @ half @ smooth
    return whole[:4, :4], whole[:4, 4:], np.array([[0.0, 0.0, 0.0, 1.0]])


def rest_of_late(d):
    return trim(d, x={"ode.x": [HELD, 0.0]}, u={"u": np.sin(HELD)}, fixed=["ode.x"])


def test_an_estimating_controller_closes_the_loop_with_its_own_poles():
    """Delays and filters of the diagram are states of the model: poles of regulator and filter together."""
    d = with_delay()
    law = LQG.of(d, 1.0, 0.01, 0.3, 0.1, at=rest_of_late(d))
    A, B, C = hand_made()
    K = control.dlqr(A, B, C.T @ C, [[0.01]])[0]
    L = control.dlqe(A, np.eye(4), C, 0.3 * B @ B.T, [[0.1]])[0]
    close(law.gains()[0], K, rtol=1e-7)
    filter_ = KalmanFilter.of(d, 0.3, 0.1, at=rest_of_late(d))
    close(filter_.gain(), law.gains()[1], rtol=1e-9)
    close(filter_.initial, [HELD, 0.0, np.sin(HELD), HELD], atol=1e-9)
    whole = Diagram("whole")
    whole.add("plant", d) >> whole.add("law", law) >> whole["plant"]
    poles = np.concatenate([np.linalg.eigvals(A - B @ K), np.linalg.eigvals(A - A @ law.gains()[1] @ C)])
    found = np.linalg.eigvals(linearize(whole, [], ["plant.y"], at=trim(whole)).A)
    found = found[np.abs(found) > 1e-6]
    poles = poles[np.abs(poles) > 1e-6]
    close(np.sort_complex(found), np.sort_complex(poles), atol=1e-6)
    assert L.shape == law.gains()[1].shape
    r = simulate(whole, until=30.0, initial={"plant/ode.x": [1.1, 0.0]}, engine="reference")
    close(r["plant/ode.y"][-1], [HELD, 0.0], atol=1e-4)


def test_limits_and_integrals_of_controllers_of_sampled_diagrams():
    d = sampled()
    for law, reached in (
        (LQI.of(d, 1.0, 1.0, 0.1, follow="y[0]", at=at_rest(d)), 1.1),
        (MPC.of(d, 20, 10.0, 0.01, follow="y[0]", at=at_rest(d), u_max=0.9), None),
    ):
        assert float(law.sample) == T
        whole = Diagram("whole")
        whole.add("plant", d)
        whole.connect(whole.add("law", law)["u"], whole["plant"]["u"])
        whole.connect("plant.y -> law.x")
        whole.connect(whole.add("r", Constant(1.1))["y"], whole["law"]["r"])
        r = simulate(whole, until=30.0 if reached else 2.0, engine="reference")
        assert r["law.u"].max() <= (0.9 + 1e-6 if reached is None else np.inf)
        if reached:
            close(r["plant/ode.y"][-1], [reached, 0.0], atol=1e-5)


def test_what_such_a_model_cannot_say_is_refused():
    d = sampled(offset=0.02)
    at = at_rest(d)
    for more, text in (
        ({"sample": 0.02}, "multiple of the common period of 'plant', 0.05 s"),
        ({"sample": 0.12}, "multiple of the common period"),
        ({"offset": 0.01}, "offset is 0.01, expected 0.02 s"),
    ):
        with pytest.raises(PlantloopError, match=text):
            LQR.of(d, 1.0, 1.0, at=at, **more)
    with pytest.raises(PlantloopError, match=r"not at rest.*derivative of 'ode.x\[1\]'"):
        LQR.of(d, 1.0, 1.0)
    d = with_delay()
    with pytest.raises(PlantloopError, match=r"not at rest.*'smooth.x' changes by 0\.25 from tick to tick"):
        LQG.of(d, at=rest_of_late(d).initial | {"smooth.x": 0.5, "u": np.sin(HELD)})
    d = Diagram("long")
    d.connect(d.inport("u"), d.add("dac", Hold(sample=T))["u"])
    d["dac"] >> d.add("wait", TransportDelay(0.1))
    d["wait"] >> d.add("lag", ODE(lambda t, x, u: u - x, [0.0], inputs=1))
    with pytest.raises(PlantloopError, match="has a delay, 'wait.*Take Delay or UnitDelay"):
        LQR.of(d, 1.0, 1.0, outputs=["lag.y"])


def test_a_sample_time_may_stand_where_the_field_stands():
    d = sampled()
    assert LQR.of(d, [1.0, 2.0], 0.1, 0.15, at=at_rest(d)) == LQR.of(
        d, [1.0, 2.0], 0.1, sample=0.15, at=at_rest(d)
    )


def test_outputs_in_units_far_apart_tell_the_states_as_well():
    """y = (x0 + x1, 1e12 x0): the gain is that of the model in terms of y."""
    A, B = np.array([[0.0, 1.0], [-2.0, -0.3]]), np.array([[0.0], [1.5]])
    C, Q = np.array([[1.0, 1.0], [1e12, 0.0]]), np.diag([1.0, 1e-24])
    law = LQR.of(StateSpace(A, B, C), Q, 0.1)
    K = control.lqr(A, B, C.T @ Q @ C, [[0.1]])[0]  # in terms of x
    close(law.gain() @ C, K, rtol=1e-6)
