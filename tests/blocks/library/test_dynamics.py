"""Continuous dynamics against closed forms, SciPy and python-control, on both engines."""

import control
import numpy as np
import pytest
import scipy.linalg
import scipy.signal
from numpy.testing import assert_allclose as close
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

from blocks import (
    DAE,
    ODE,
    PID,
    Bessel,
    BlockError,
    Butterworth,
    Chebyshev,
    Constant,
    Derivative,
    DescriptorStateSpace,
    DiscretePID,
    DiscreteTransferFunction,
    FirstOrder,
    Integrator,
    LeadLag,
    Notch,
    PipeDelay,
    Ramp,
    SecondOrder,
    SecondOrderIntegrator,
    Sine,
    Step,
    TimeTable,
    TransferFunction,
    VariableTransportDelay,
    ZeroPoleGain,
)
from blocks.contract.trace import trace
from blocks.errors import WiringError
from cosim import Diagram, linearize, simulate
from tests.blocks.library.test_logic import fed, sampled
from tests.helpers.solo import Solo

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
W = np.array([0.3, 2.0, 5.0, 20.0])


def response(block, w=W, sample=None):
    """Frequency response of a block's linear model."""
    d = Diagram("alone")
    node = d.add("it", block)
    d.connect(d.inport("u"), node["u"])
    d.outport("y", node["y"])
    m = linearize(d)
    s = 1j * w if sample is None else np.exp(1j * w * sample)
    return np.array([(m.C @ np.linalg.solve(v * np.eye(m.nstates) - m.A, m.B) + m.D)[0, 0] for v in s])


@pytest.mark.parametrize("sample", [None, 0.05])
@pytest.mark.parametrize("kind", ["lowpass", "highpass", "bandpass", "bandstop"])
@pytest.mark.parametrize("order", [1, 2, 5])
def test_filters_have_the_response_scipy_says(order, kind, sample):
    corner = (2.0, 6.0) if kind.startswith("band") else 5.0
    how = {"analog": True} if sample is None else {"fs": 2 * np.pi / sample}
    how |= {"btype": kind, "output": "zpk"}
    sg, of = scipy.signal, {"sample": sample}
    cases = [
        (Butterworth(order, corner, kind, **of), sg.butter(order, corner, **how)),
        (Chebyshev(order, 1.0, corner, kind, **of), sg.cheby1(order, 1.0, corner, **how)),
        (Chebyshev(order, 40.0, corner, kind, 2, **of), sg.cheby2(order, 40.0, corner, **how)),
        (Bessel(order, corner, kind, "mag", **of), sg.bessel(order, corner, norm="mag", **how)),
    ]
    s = 1j * W if sample is None else np.exp(1j * W * sample)
    for block, (z, p, k) in cases:
        wanted = [k * np.prod(v - z) / np.prod(v - p) for v in s]
        close(response(block, sample=sample), wanted, rtol=1e-8, atol=1e-11)


def test_named_transfer_functions():
    s = 1j * W
    close(response(FirstOrder(3.0, 0.2)), 3 / (1 + 0.2 * s), rtol=1e-12)
    close(response(SecondOrder(2.0, 4.0, 0.3)), 2 * 16 / (s**2 + 2.4 * s + 16), rtol=1e-12)
    close(response(LeadLag(2.0, 0.5, 0.1)), 2 * (1 + 0.5 * s) / (1 + 0.1 * s), rtol=1e-12)
    close(response(Derivative(50.0)), s / (1 + s / 50), rtol=1e-12)
    close(response(Notch(4.0, 2.0)), (s**2 + 16) / (s**2 + 2 * s + 16), rtol=1e-11)
    zeros, poles = [-1.0, 2 + 1j, 2 - 1j], [-2.0, -3.0, -1 + 3j, -1 - 3j]
    expected = control.zpk(zeros, poles, 1.5)(s)
    close(response(ZeroPoleGain(zeros, poles, 1.5)), expected, rtol=1e-10)


@ENGINES
def test_a_notch_takes_its_frequency_out(engine):
    for block in (Notch(4.0, 2.0), Notch(4.0, 2.0, sample=0.01)):
        r = simulate(fed(block, {"u": Sine(1.0, 4.0)}), 20.0, log_at=np.linspace(15, 20, 50), engine=engine)
        assert np.abs(r["it.y"]).max() < 1e-5


@ENGINES
def test_a_sampled_filter_runs_as_sosfilt(engine):
    block = Butterworth(3, 5.0, sample=0.05)
    ticks = np.arange(80) * 0.05
    r = simulate(fed(block, {"u": Sine(1.0, 2.0)}), 3.95, log_at=ticks, engine=engine)
    sos = scipy.signal.butter(3, 5.0, fs=2 * np.pi / 0.05, output="sos")
    close(r["it.y"][:, 0], scipy.signal.sosfilt(sos, np.sin(2 * ticks)), atol=1e-12)


@ENGINES
def test_a_filtered_derivative_starts_at_rest(engine):
    t = np.linspace(0.01, 2, 30)
    r = simulate(fed(Derivative(10.0), {"u": Ramp(3.0, 0.0, 5.0)}), 2.0, log_at=t, engine=engine)
    close(r["it.y"][:, 0], 3 * (1 - np.exp(-10 * t)), atol=1e-8)


def test_the_exact_derivative_is_refused_with_the_reason():
    with pytest.raises(BlockError, match="cutoff is None, the exact derivative.*infinite"):
        Derivative()


@ENGINES
def test_a_mass_between_stops(engine):
    """x'' = -9.81 from 1 m: it stays on the floor until pulled up."""
    d = fed(SecondOrderIntegrator(1.0, low=0.0), {"u": TimeTable([0, 2.0], [-9.81, 2.0], "previous")}, "x")
    hit = np.sqrt(2 / 9.81)
    t = np.array([0.3, hit - 1e-3, 0.7, 1.9, 2.5, 3.0])
    r = simulate(d, 3.0, log_at=t, engine=engine)
    close(r["it.x"][:, 0], [1 - 9.81 * 0.045, 1 - 9.81 * (hit - 1e-3) ** 2 / 2, 0, 0, 0.25, 1.0], atol=1e-8)
    close(r["it.dx"][:, 0], [-2.943, -9.81 * (hit - 1e-3), 0, 0, 1.0, 2.0], atol=1e-8)
    assert r.events[0].time == pytest.approx(hit, abs=1e-9)


def test_a_mass_below_a_ceiling():
    """The same upside down: against the upper limit, and away from it where it is pulled."""
    u = TimeTable([0, 2.0], [9.81, -2.0], "previous")
    d = fed(SecondOrderIntegrator(-1.0, high=0.0), {"u": u}, "x")
    r = simulate(d, 3.0, log_at=[0.3, 0.7, 1.9, 2.5, 3.0], engine="reference")
    close(r["it.x"][:, 0], [9.81 * 0.045 - 1, 0, 0, -0.25, -1.0], atol=1e-8)
    close(r["it.dx"][:, 0], [2.943, 0, 0, -1.0, -2.0], atol=1e-8)


@ENGINES
@pytest.mark.parametrize("side", [1.0, -1.0])
def test_a_mass_that_begins_at_a_stop(engine, side):
    """Moving away it leaves, moving further it is stopped at once and leaves when it is pushed away."""
    stop = {"low": -1.0} if side > 0 else {"high": 1.0}
    t = np.array([0.0, 0.5, 1.0])
    for speed, push, x, dx in (
        (0.5, 0.0, -1 + 0.5 * t, [0.5] * 3),
        (-0.5, 1.0, -1 + t**2 / 2, t),
        (-0.5, -1.0, [-1.0] * 3, [0.0] * 3),
        (0.5, -1.0, [-1.0, -0.875, -1.0], [0.5, 0.0, 0.0]),
    ):
        block = SecondOrderIntegrator(-side, side * speed, **stop)
        r = simulate(fed(block, {"u": Constant(side * push)}, "x"), 1.0, log_at=t, engine=engine)
        close(r["it.x"][:, 0], side * np.array(x), atol=1e-8)
        close(r["it.dx"][:, 0], side * np.array(dx), atol=1e-8)


@pytest.mark.slow
@ENGINES
def test_a_speed_within_limits(engine):
    d = fed(SecondOrderIntegrator(rate_low=-0.5, rate_high=1.0), {"u": Sine(2.0)}, "dx")
    t = np.linspace(0.05, 9, 60)
    r = simulate(d, 9.0, log_at=t, engine=engine)
    fine, v, wanted = np.linspace(0, 9, 900_001), 0.0, {}
    a = 2 * np.sin(0.5 * (fine[1:] + fine[:-1])) * 1e-5
    speeds = [0.0]
    for step in a:
        v = min(max(v + step, -0.5), 1.0)
        speeds.append(v)
    wanted = np.interp(t, fine, speeds)
    close(r["it.dx"][:, 0], wanted, atol=2e-5)
    close(r["it.x"][-1, 0], np.trapezoid(speeds, fine), atol=1e-4)


@ENGINES
@pytest.mark.parametrize("kind", ["rising", "falling", "either", "level"])
def test_an_integrator_is_reset_to_a_signal(engine, kind):
    reset = TimeTable([0.0, 1.0, 1.5, 3.0], [0.0, 1.0, 0.0, 1.0], "previous")
    sources = {"u": Constant(2.0), "x0": Sine(1.0, 1.0, 0.5), "reset": reset}
    d = fed(Integrator(reset=kind, external_initial=True), sources)
    t = np.array([0.5, 0.99, 1.2, 1.7, 2.9, 3.5])
    r = simulate(d, 4.0, log_at=t, engine=engine)
    x0 = lambda s: np.sin(s + 0.5)
    last = {
        "rising": [0, 0, 1, 1, 1, 3],
        "falling": [0, 0, 0, 1.5, 1.5, 1.5],
        "either": [0, 0, 1, 1.5, 1.5, 3],
    }
    last = last.get(kind, [0, 0, 1.2, 1.5, 1.5, 3.5])  # level: x0 itself while it is on
    wanted = [x0(s) + 2 * (now - s) for now, s in zip(t, last, strict=True)]
    close(r["it.y"][:, 0], wanted, atol=1e-9)


@ENGINES
def test_an_integrator_from_outside_keeps_its_limits(engine):
    d = fed(Integrator(high=1.0, external_initial=True), {"u": Constant(1.0), "x0": Constant(0.25)})
    r = simulate(d, 2.0, log_at=[0.5, 0.74, 1.5], engine=engine)
    close(r["it.y"][:, 0], [0.75, 0.99, 1.0], atol=1e-9)


@ENGINES
def test_a_delay_that_varies(engine):
    d = fed(VariableTransportDelay(5.0, 0.01), {"u": Sine(), "delay": Sine(0.5, 0.7, 0.0, 1.0)})
    t = np.linspace(2.0, 9.0, 40)
    r = simulate(d, 9.0, log_at=t, engine="auto" if engine == "native" else engine)
    close(r["it.y"][:, 0], np.sin(t - 1.0 - 0.5 * np.sin(0.7 * t)), atol=1e-6)


def pendulum(t, x, u):
    return [x[1], -9.81 * np.sin(x[0]) - 0.2 * x[1] + u[0]]


@ENGINES
def test_an_ode_is_what_scipy_says(engine):
    d = fed(ODE(pendulum, [1.0, 0.0], lambda t, x, u: [np.cos(x[0]), u[0] * t]), {"u": Sine(0.5)})
    t = np.linspace(0.1, 5, 20)
    r = simulate(d, 5.0, log_at=t, engine=engine)
    wanted = solve_ivp(
        lambda t, x: pendulum(t, x, [0.5 * np.sin(t)]), (0, 5), [1.0, 0], t_eval=t, rtol=1e-11, atol=1e-12
    )
    close(r["it.y"], np.stack([np.cos(wanted.y[0]), 0.5 * np.sin(t) * t], axis=1), atol=1e-7)


@ENGINES
def test_robertson_as_a_dae(engine):
    """The classic stiff problem with its conservation law in the place of an equation."""

    def f(t, x, u):
        a, c = 0.04 * x[0], 1e4 * x[1] * x[2]
        return [-a + c, a - c - 3e7 * x[1] ** 2, x[0] + x[1] + x[2] - 1]

    d = Diagram("robertson")
    d.add("it", DAE([[1, 0, 0], [0, 1, 0], [0, 0, 0]], f, [1.0, 0, 0], inputs=0))
    r = simulate(d, 40.0, solver="rodas4", rtol=1e-9, atol=1e-13, log_at=[0.4, 4.0, 40.0], engine=engine)
    published = [  # Hindmarsh, LSODE example, to the digits printed there
        [9.8517e-1, 3.3864e-5, 1.4794e-2],
        [9.0551e-1, 2.2403e-5, 9.4463e-2],
        [7.1582e-1, 9.1851e-6, 2.8416e-1],
    ]
    close(r["it.y"], published, rtol=2e-4)


def test_a_dae_whose_function_gives_another_count_of_numbers_is_refused():
    """Without an input, too: what was let pass while sizes were found was kept as found, x' = 0."""
    for count in (1, 3):
        d = Diagram("d")
        d.add("it", DAE([[1, 0], [0, 0]], lambda t, x, u, n=count: [x[0]] * n, [1.0, 0.0], inputs=0))
        with pytest.raises(WiringError, match=f"f gives {count} numbers, expected 2"):
            d.system()
    for count in (2, 3):  # as many as a signal of a size that is found has
        d = Diagram("d")
        it = d.add("it", DAE([[1, 0], [0, 0]], lambda t, x, u: u - x[0], [1.0, 0.0]))
        d.connect(d.add("c", Constant([0.0] * count)), it["u"])
        if count == 2:
            assert len(d.system().w0) == 1
        else:
            with pytest.raises(WiringError, match="f gives 3 numbers, expected 2"):
                d.system()


@ENGINES
def test_a_mass_matrix_that_couples(engine):
    M, K = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([[-1.0, 0.5], [0.0, -2.0]])
    singular = np.array([[1.0, 1.0], [1.0, 1.0]])
    d = Diagram("dae")
    d.add("a", DAE(M, lambda t, x, u: K @ x, [1.0, -1.0], inputs=0))
    d.add("b", DAE(singular, lambda t, x, u: [-x[0], x[1] - 2.0 * x[0]], [1.0, 1.0], inputs=0))
    r = simulate(d, 2.0, log_at=[2.0], engine=engine)
    close(r["a.y"][0], scipy.linalg.expm(2.0 * np.linalg.solve(M, K)) @ [1.0, -1.0], atol=1e-8)
    # rows subtracted: -x0 = x1 - 2 x0, so x0 = x1, and 2 x0' = -x0
    close(r["b.y"][0], np.exp(-1.0) * np.ones(2), atol=1e-8)


def test_descriptor_form_is_what_the_matrix_pencil_says():
    rng = np.random.default_rng(8)
    for E in (np.diag([1.0, 2.0, 0.0]), np.outer([1.0, 2.0, 0.5], [1.0, -1.0, 1.0]), rng.normal(size=(3, 3))):
        A, B, C = rng.normal(size=(3, 3)) - 2 * np.eye(3), rng.normal(size=(3, 1)), rng.normal(size=(1, 3))
        wanted = [(C @ np.linalg.solve(1j * w * E - A, B))[0, 0] + 0.5 for w in W]
        close(response(DescriptorStateSpace(E, A, B, C, 0.5)), wanted, rtol=1e-9)
    with pytest.raises(BlockError, match="index above 1"):
        DescriptorStateSpace([[0, 1], [0, 0]], np.eye(2), [[0], [1]], [[1, 0]])


def step_of(block, until=3.0, engine="reference", **inputs):
    sources = {"e": Constant(1.0)} | inputs
    return simulate(fed(block, sources, "u"), until, log_at=np.linspace(0.1, until, 30), engine=engine)


def test_forms_of_pid_are_the_same_controller():
    kp, Ti, Td = 2.0, 4.0, 0.5
    ideal = step_of(PID(kp, 1 / Ti, Td, form="ideal"))["it.u"]
    close(ideal, step_of(PID(kp, kp / Ti, kp * Td))["it.u"], rtol=1e-12)
    series = step_of(PID(kp, 1 / Ti, Td, form="series"))["it.u"]
    close(series, step_of(PID(kp * (1 + Td / Ti), kp / Ti, kp * Td))["it.u"], rtol=1e-12)
    one = sampled(DiscretePID(kp, 1 / Ti, Td, sample=0.1, form="ideal"), e=np.ones(9))["u"]
    close(one, sampled(DiscretePID(kp, kp / Ti, kp * Td, sample=0.1), e=np.ones(9))["u"], rtol=1e-12)


@ENGINES
def test_feedforward_reset_and_tracking(engine):
    t = np.linspace(0.1, 3.0, 30)
    r = step_of(PID(2.0, 1.0, feedforward=True), engine=engine, ff=Constant(5.0))
    close(r["it.u"][:, 0], 7 + t, atol=1e-8)
    pulse = TimeTable([0.0, 1.0], [0.0, 1.0], "previous")
    r = step_of(PID(2.0, 1.0, initial=0.5, reset="rising"), engine=engine, reset=pulse)
    close(r["it.u"][:, 0], 2.5 + np.where(t < 1.0 - 1e-9, t, t - 1.0), atol=1e-8)
    ramp = Ramp(slope=1.0, start=0.0)  # passes 1.5 at t = 1.5
    r = step_of(PID(2.0, 1.0, initial=0.5, reset="rising", threshold=1.5), engine=engine, reset=ramp)
    close(r["it.u"][:, 0], 2.5 + np.where(t < 1.5 - 1e-9, t, t - 1.5), atol=1e-8)
    # i' = e + (tr - u)/T, u = 2 + i: i -> tr - 2 + T
    r = step_of(PID(2.0, 1.0, external_tracking=True, tracking=0.2), engine=engine, tr=Constant(1.0))
    close(r["it.u"][:, 0], 2.0 + (-0.8) * (1 - np.exp(-t / 0.2)), atol=1e-7)


def test_a_sampled_pid_follows_another_and_forgets():
    block = DiscretePID(0.0, 1.0, sample=0.5, external_tracking=True, tracking=0.5)
    y = sampled(block, e=np.ones(5), tr=[3.0] * 5)["u"][:, 0]
    close(y, [0, 3.5, 3.5, 3.5, 3.5])  # i + T e + (tr - u)
    block = DiscretePID(0.0, 1.0, sample=0.5, initial=1.0, reset="rising", threshold=1.0)
    y = sampled(block, e=np.ones(5), reset=[0, 1, 1.1, 1, 2])["u"][:, 0]
    close(y, [1, 1.5, 1, 1.5, 1])
    block = DiscretePID(0.0, 1.0, sample=0.5, initial=1.0, reset="rising")
    y = sampled(block, e=np.ones(5), reset=[0, 0, 1, 1, 0])["u"][:, 0]
    close(y, [1, 1.5, 1, 1.5, 2])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Butterworth(2, (1.0, 2.0)), "one number for a lowpass"),
        (lambda: Butterworth(2, 100.0, sample=0.1), "less than half the sample rate"),
        (lambda: Chebyshev(2, 0.0, 1.0), "ripple is 0"),
        (lambda: Bessel(0, 1.0), "order is 0"),
        (lambda: ZeroPoleGain([1, 2], [1]), "at most as many zeros as poles"),
        (lambda: SecondOrderIntegrator(2.0, high=1.0), "initial is 2.0"),
        (lambda: Integrator(reset="up"), "reset is 'up'"),
        (lambda: VariableTransportDelay(1.0, 2.0), "shortest is 2.0 s"),
        (lambda: ODE(3.0, 1.0), "f is 3.0"),
        (lambda: DAE(np.eye(3), pendulum, [1.0, 0.0]), "mass has shape (3, 3)"),
        (lambda: PID(1.0, reset="rising"), "without states"),
        (lambda: PID(1.0, 1.0, threshold=0.0), "threshold is 0.0 without a reset"),
        (
            lambda: DiscretePID(1.0, 1.0, sample=1, reset="rising", threshold=[0, 1]),
            "threshold has shape (2,)",
        ),
        (lambda: PID(1.0, form="serial"), "form is 'serial'"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text.lower() in str(caught.value).lower()


@pytest.mark.slow
@ENGINES
def test_what_flows_through_a_pipe_leaves_it_when_its_length_has_passed(engine):
    """v = 1 + 0.5 sin t, so that t + 0.5 (1 - cos t) has passed at t; found with brentq."""
    passed = lambda t: t + 0.5 * (1 - np.cos(t))
    d = fed(PipeDelay(2.0, 6.0, 0.5, 7.0), {"u": Sine(1.0, 2.0, 0.0, 3.0), "v": Sine(0.5, 1.0, 0.0, 1.0)})
    t = np.arange(0.1, 20.0, 0.3)
    r = simulate(d, 20.0, log_at=t, engine=engine)
    entered = [brentq(lambda q, end=end: passed(end) - passed(q) - 2.0, -9.0, end) for end in t]
    wanted = np.where(np.array(entered) > 0, 3.0 + np.sin(2.0 * np.array(entered)), 7.0)
    close(r["it.y"][:, 0], wanted, atol=1e-5)
    close(r["it.delay"][20:, 0], (t - entered)[20:], atol=1e-6)


@ENGINES
def test_a_pipe_whose_speed_jumps(engine):
    d = fed(PipeDelay(2.0, 6.0, 0.2, 7.0), {"u": Ramp(1.0), "v": Step(5.0, 1.0, 4.0)})
    r = simulate(d, 8.0, log_at=[1.0, 4.0, 5.2, 5.4, 6.0], engine=engine)
    close(r["it.y"][:, 0], [7.0, 2.0, 3.8, 4.6, 5.5], atol=1e-5)  # 1.8, 1.6 of length are there before 5
    fast = simulate(d, 1.0, log_at=[1.0], engine=engine, parameters={"it.length": 0.5})
    close(fast["it.y"][0], 0.5, atol=1e-6)
    assert r["it.delay"].shape == (5, 1)  # of all that flows


@ENGINES
def test_a_pipe_that_is_flooded_and_blocked(engine):
    """Flow counts as 2 pipes a second at most, length / shortest, and as 1/4 at least, length / longest."""
    v = TimeTable([0.0, 2.0], [10.0, 0.0], "previous")
    r = simulate(
        fed(PipeDelay(1.0, 4.0, 0.5, 7.0), {"u": Ramp(1.0), "v": v}),
        7.0,
        log_at=[0.4, 2, 3, 7],
        engine=engine,
    )
    close(r["it.y"][:, 0], [7.0, 1.5, 1.625, 3.0], atol=1e-5)
    close(r["it.delay"][1:, 0], [0.5, 1.375, 4.0], atol=1e-5)


@pytest.mark.parametrize(
    "gain", [TransferFunction([3.0], [4.0]), DiscreteTransferFunction([3.0], [4.0], sample=0.5)]
)
def test_a_transfer_function_without_poles_is_a_gain_without_states(gain):
    assert "x" not in {m.name for m in trace(gain, {}).declared.memories}
    assert Solo(gain).run([0, 0.5], u=lambda t: 2.0 + t)["y"].ravel().tolist() == [1.5, 1.875]


def test_events_of_a_slider_are_named_by_component_where_there_are_several():
    for rate, names in (
        (1.0, {"it.high reached"}),
        ([1.0, 1.0], {"it.high[0] reached", "it.high[1] reached"}),
    ):
        d = fed(SecondOrderIntegrator(high=0.5), {"u": Constant(rate)}, "x")
        assert {e.name for e in simulate(d, 1.1, engine="reference").events} == names
