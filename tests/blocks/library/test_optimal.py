"""Controllers and estimators from models, against python-control, filterpy and a QP solved separately."""

import control
import numpy as np
import osqp
import pytest
from filterpy.kalman import ExtendedKalmanFilter, JulierSigmaPoints, UnscentedKalmanFilter
from filterpy.kalman import KalmanFilter as Published
from numpy.testing import assert_allclose as close
from scipy import sparse
from scipy.optimize import minimize

from blocks import (
    EKF,
    LQG,
    LQI,
    LQR,
    MPC,
    UKF,
    BlockError,
    Constant,
    DiscreteStateSpace,
    KalmanFilter,
    Luenberger,
    ReferenceGovernor,
    StateSpace,
)
from blocks.contract.trace import trace
from cosim import Diagram, linearize, simulate
from tests.blocks.library.test_logic import sampled

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])
A, B, C = np.array([[0.0, 1.0], [2.0, -0.5]]), np.array([[0.0], [1.0]]), np.array([[1.0, 0.0]])
D = np.zeros((1, 1))
FULL = (A, B, C, D)


def loop(controller, into="x", out="u", plant_out=None) -> Diagram:
    """A controller around the plant."""
    d = Diagram("loop")
    plant = d.add(
        "plant", StateSpace(A, B, np.eye(2) if plant_out is None else plant_out, initial=[1.0, 0.0])
    )
    node = d.add("it", controller)
    d.connect(plant["y"], node[into])
    d.connect(node[out], plant["u"])
    return d


@pytest.mark.parametrize("sample", [None, 0.1])
def test_gains_are_those_of_python_control(sample):
    ss = control.ss(A, B, C, D)
    Q, R = np.diag([3.0, 1.0]), [[0.5]]
    if sample is None:
        wanted = control.lqr(ss, Q, R)[0]
    else:
        wanted = control.dlqr(control.sample_system(ss, sample), Q, R)[0]
    close(LQR(ss, Q, R, sample).gain(), wanted, rtol=1e-9)
    close(LQR((A, B), [3.0, 1.0], 0.5, sample).gain(), wanted, rtol=1e-9)
    whole = np.block([[A, np.zeros((2, 1))], [C, np.zeros((1, 1))]])
    if sample is None:
        wanted = control.lqr(whole, np.vstack([B, [[0.0]]]), np.diag([3.0, 1.0, 2.0]), R)[0]
        close(LQI(FULL, Q, 2.0, R).gain(), wanted, rtol=1e-8)


@ENGINES
def test_a_plant_follows_its_reference_without_error(engine):
    for block in (LQI(FULL, 1.0, 5.0, 0.5), LQI(FULL, 1.0, 5.0, 0.5, 0.05)):
        d = loop(block)
        d.connect(d.add("r", Constant(0.7))["y"], d["it"]["r"])
        r = simulate(d, 30.0, log_at=[30.0], engine=engine)
        close(r["plant.y"][0], [0.7, 0.0], atol=1e-5)


def test_what_a_sampled_integral_has_summed_up_from_its_start():
    """z is 0 at first; about x0, u0, y0, u = u0 - K (x - x0) - Ki z and z gains T (C (x - x0) + y0 - r)."""
    x0, u0, y0 = np.array([0.1, -0.2]), 0.3, 0.4
    block = LQI(FULL, 1.0, 5.0, 0.5, sample=0.1, around=(x0, u0, y0))
    rng = np.random.default_rng(5)
    x, r = rng.normal(size=(6, 2)), rng.normal(size=6)
    errors = (x - x0) @ np.ravel(C) + y0 - r
    z = 0.1 * np.concatenate([[0.0], np.cumsum(errors)[:-1]])
    wanted = u0 - np.column_stack([x - x0, z]) @ block.gain().ravel()
    close(sampled(block, x=x, r=r)["u"].ravel(), wanted, rtol=1e-12)


def test_lqg_has_the_poles_of_its_two_halves():
    block = LQG(FULL, 1.0, 0.5, 0.1, 0.01)
    K, L = block.gains()
    d = loop(block, "y", plant_out=C)
    poles = np.sort_complex(np.linalg.eigvals(linearize(d, inputs=[], outputs=["plant.y"]).A))
    halves = np.concatenate([np.linalg.eigvals(A - B @ K), np.linalg.eigvals(A - L @ C)])
    close(poles, np.sort_complex(halves), rtol=1e-7)
    close(L, control.lqe(A, np.eye(2), C, 0.1 * np.eye(2), [[0.01]])[0], rtol=1e-8)


@ENGINES
def test_sampled_lqg_steadies_the_plant(engine):
    r = simulate(
        loop(LQG(FULL, Qn=0.1, Rn=0.01, sample=0.1), "y", plant_out=C), 15.0, log_at=[15.0], engine=engine
    )
    assert np.abs(r["plant.y"]).max() < 1e-4


@pytest.mark.parametrize("sample", [None, 0.1])
def test_an_observer_has_the_poles_asked_for(sample):
    poles = [-3.0, -4.0] if sample is None else [0.5 + 0.1j, 0.5 - 0.1j]
    block = Luenberger(FULL, poles, sample=sample)
    a = A if sample is None else control.sample_system(control.ss(*FULL), sample).A
    close(
        np.sort_complex(np.linalg.eigvals(a - block.gain() @ C)), np.sort_complex(np.array(poles)), rtol=1e-9
    )


def test_kalman_filters_are_filterpys():
    ss = control.sample_system(control.ss(*FULL), 0.1)
    Q, R = np.array([[0.02, 0.01], [0.01, 0.05]]), 0.3
    u, y = np.random.default_rng(11).normal(size=(2, 60))
    f = Published(2, 1, 1)
    f.F, f.B, f.H, f.Q, f.R, f.P = ss.A, ss.B, ss.C, Q, np.array([[R]]), 2.0 * np.eye(2)
    f.x = np.array([[0.5], [-0.2]])
    wanted = []
    for uk, yk in zip(u, y, strict=True):
        f.update(yk)
        wanted.append(f.x.ravel())
        f.predict(np.array([[uk]]))
    of = {"sample": 0.1, "initial": [0.5, -0.2]}
    varying = KalmanFilter(ss, Q, R, "time-varying", P0=2.0, **of)
    close(sampled(varying, u=u, y=y)["x"], wanted, atol=1e-10)
    steady = KalmanFilter(ss, Q, R, **of)
    gain = f.K  # after 60 steps it has settled
    close(steady.gain(), gain, rtol=1e-6)


def test_a_continuous_model_is_sampled_exactly():
    """Van Loan's covariance against a sum of small steps."""
    n = 20_000
    h, Q = 0.1 / n, np.diag([0.02, 0.05])
    step, total, power = np.eye(2) + h * A + h * h / 2 * A @ A, np.zeros((2, 2)), np.eye(2)
    for _ in range(n):
        total += h * power @ Q @ power.T
        power = step @ power
    of = KalmanFilter(FULL, Q, 0.3, sample=0.1).gain()
    as_discrete = KalmanFilter(control.sample_system(control.ss(*FULL), 0.1), total, 0.3, sample=0.1).gain()
    close(of, as_discrete, rtol=1e-4)


def rate(t, x, u):
    return np.array([x[1], np.sin(x[0]) - 0.2 * x[1] + u[0]])


def seen(t, x, u):
    return np.array([x[0] + 0.1 * x[0] ** 3])


def rk4(x, u, T, steps):
    h = T / steps
    for _ in range(steps):
        k1 = rate(0, x, u)
        k2 = rate(0, x + h / 2 * k1, u)
        k3 = rate(0, x + h / 2 * k2, u)
        k4 = rate(0, x + h * k3, u)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return x


def measured(n=40):
    rng = np.random.default_rng(12)
    x, u, y = np.array([1.0, 0.0]), 0.3 * rng.normal(size=n), []
    for uk in u:
        y.append(seen(0, x, None)[0] + 0.1 * rng.normal())
        x = rk4(x, [uk], 0.1, 50)
    return u, np.array(y)


def test_ekf_is_filterpys_with_jacobians_by_hand():
    u, y = measured()
    f = ExtendedKalmanFilter(2, 1)
    f.x, f.P, f.Q, f.R = np.array([0.5, 0.0]), 0.4 * np.eye(2), 1e-3 * np.eye(2), np.array([[0.01]])
    wanted = []
    for uk, yk in zip(u, y, strict=True):
        f.update(np.array([yk]), lambda x: np.array([[1 + 0.3 * x[0] ** 2, 0.0]]), lambda x: seen(0, x, None))
        wanted.append(f.x.copy())
        e = 1e-6
        J = [(rk4(f.x + e * d, [uk], 0.1, 3) - rk4(f.x - e * d, [uk], 0.1, 3)) / (2 * e) for d in np.eye(2)]
        F = np.stack(J, axis=1)
        f.x = rk4(f.x, [uk], 0.1, 3)
        f.P = F @ f.P @ F.T + f.Q
    block = EKF(rate, seen, 1e-3, 0.01, [0.5, 0.0], 0.4, 3, inputs=1, sample=0.1)
    close(sampled(block, u=u, y=y)["x"], wanted, atol=1e-7)


def test_ukf_is_filterpys():
    u, y = measured()
    points = JulierSigmaPoints(2, kappa=1.0)
    f = UnscentedKalmanFilter(
        2, 1, 0.1, lambda x: seen(0, x, None), lambda x, dt, u: rk4(x, u, dt, 3), points
    )
    f.x, f.P, f.Q, f.R = np.array([0.5, 0.0]), 0.4 * np.eye(2), 1e-3 * np.eye(2), np.array([[0.01]])
    wanted = []
    for uk, yk in zip(u, y, strict=True):
        f.sigmas_f = points.sigma_points(f.x, f.P)  # what is seen, from the present covariance
        f.update(np.array([yk]))
        wanted.append(f.x.copy())
        f.predict(u=np.array([uk]))
    block = UKF(rate, seen, 1e-3, 0.01, [0.5, 0.0], 0.4, 3, 1.0, 1, sample=0.1)
    got = sampled(block, u=u, y=y)["x"]
    close(got, wanted, atol=1e-7)


def separately(x, r, last, N=12, y_max=np.inf):
    """The same problem with states as unknowns."""
    ss = control.sample_system(control.ss(*FULL), 0.1)
    n, m = 2, 1
    size = N * (n + m)  # x_1..x_N, u_0..u_N-1
    P, q = np.zeros((size, size)), np.zeros(size)
    at_x = lambda k: slice((k - 1) * n, k * n)
    at_u = lambda k: slice(N * n + k * m, N * n + (k + 1) * m)
    rows, low, high = [], [], []
    for k in range(N):
        P[at_x(k + 1), at_x(k + 1)] += 2 * 5.0 * C.T @ C
        q[at_x(k + 1)] += -2 * 5.0 * C[0] * r
        change = np.zeros((m, size))
        change[:, at_u(k)] = 1.0
        before = last if k == 0 else 0.0
        if k:
            change[:, at_u(k - 1)] = -1.0
        P += 2 * 0.1 * change.T @ change
        q += (-2 * 0.1 * before * change).ravel() if k == 0 else 0.0
        dynamics = np.zeros((n, size))
        dynamics[:, at_x(k + 1)] = np.eye(n)
        dynamics[:, at_u(k)] = -ss.B
        if k:
            dynamics[:, at_x(k)] = -ss.A
        rhs = ss.A @ x if k == 0 else np.zeros(n)
        row = np.zeros((m, size))
        row[:, at_u(k)] = 1.0
        shown = np.zeros((1, size))
        shown[:, at_x(k + 1)] = C
        rows += [dynamics, row, change, shown]
        low += [rhs, [-1.0], [before - 0.4], [-np.inf]]
        high += [rhs, [1.5], [before + 0.4], [y_max]]
    s = osqp.OSQP()
    exact = {"verbose": False, "eps_abs": 1e-9, "eps_rel": 1e-9, "max_iter": 200_000, "polishing": True}
    sides = (np.concatenate(low), np.concatenate(high))
    s.setup(sparse.csc_matrix(np.triu(P)), q, sparse.csc_matrix(np.vstack(rows)), *sides, **exact)
    return s.solve(raise_error=False).x[at_u(0)][0]


@ENGINES
def test_mpc_gives_what_the_problem_solved_separately_gives(engine):
    block = MPC(FULL, 12, 5.0, 0.1, u_min=-1.0, u_max=1.5, du_min=-0.4, du_max=0.4, sample=0.1)
    d = loop(block)
    d.connect(d.add("r", Constant(0.2))["y"], d["it"]["r"])
    r = simulate(d, 1.4, log_at=0.1 * np.arange(15), engine="auto" if engine == "native" else engine,
                 initial={"plant.x": [0.3, -0.2]})  # fmt: skip
    last = 0.0
    for x, u in zip(r["plant.y"], r["it.u"][:, 0], strict=True):
        assert u == pytest.approx(separately(x, 0.2, last), abs=1e-5)
        last = u


def test_limits_that_are_not_active_change_and_print_nothing(capfd):
    rows = {"x": np.array([[0.1, 0.0], [0.0, 0.0]]), "r": [0.05, 0.0]}
    free = sampled(MPC(FULL, 6, sample=0.1), **rows)["u"]
    wide = sampled(MPC(FULL, 6, u_min=-50.0, y_max=50.0, sample=0.1), **rows)["u"]
    assert np.array_equal(free, wide)
    assert capfd.readouterr().out == ""


def test_a_soft_limit_is_kept_where_it_can_be_and_passed_least_where_it_cannot():
    """The same problem by SciPy's SLSQP, with what passes the limit among the unknowns."""
    ss = control.sample_system(control.ss(*FULL), 0.1)
    of = {"Q": 1.0, "R": 0.1, "y_max": 0.5, "sample": 0.1}

    def outputs(u, x):
        y = []
        for now in u:
            x = ss.A @ x + ss.B[:, 0] * now
            y.append((C @ x)[0])
        return np.array(y)

    def cost(unknowns, x, slack):
        u, e = np.split(unknowns, 2)
        moves = np.diff(u, prepend=0.0)
        return (outputs(u, x) ** 2).sum() + 0.1 * moves @ moves + slack * (e + e * e).sum()

    def below(unknowns, x, slack):
        u, e = np.split(unknowns, 2)
        return 0.5 + e - outputs(u, x)

    for x0 in ([0.9, 1.0], [0.3, 0.3]):
        start, slack = np.array(x0), 50.0
        rows = {"x": np.array([start, start]), "r": [0.0, 0.0]}
        u = sampled(MPC(FULL, 6, slack=slack, **of), **rows)["u"][0, 0]
        best = minimize(
            cost, np.zeros(12), (start, slack), "SLSQP", bounds=[(None, None)] * 6 + [(0.0, None)] * 6,
            constraints={"type": "ineq", "fun": below, "args": (start, slack)},
            options={"ftol": 1e-14, "maxiter": 1000},
        )  # fmt: skip
        assert u == pytest.approx(best.x[0], abs=1e-4 * abs(u))
    hard = sampled(MPC(FULL, 6, **of), x=np.array([[0.3, 0.3]] * 2), r=[0.0, 0.0])["u"][0, 0]
    soft = sampled(MPC(FULL, 6, slack=1e3, **of), x=np.array([[0.3, 0.3]] * 2), r=[0.0, 0.0])["u"][0, 0]
    assert soft == pytest.approx(hard, abs=1e-5)


AROUND = ([0.7, -0.2], 0.9, 0.7)
ABOUT = [
    ({"u_min": -0.5, "u_max": 0.6, "du_max": 0.4, "du_min": -0.4}, [-0.9, -0.9]),
    ({"y_max": 0.5}, [0.3, 0.3]),
    ({"y_min": -0.5, "y_max": 0.5, "slack": 50.0}, [0.9, 1.0]),
]


@pytest.mark.parametrize(("limits", "start"), ABOUT)
def test_limits_are_those_of_the_signals_wherever_the_model_holds(limits, start):
    """Moved with the model they change nothing: u and y go from their places instead of from 0."""
    x0, u0, y0 = AROUND
    moved = {
        name: value + {"u": u0, "y": y0}.get(name.partition("_")[0], 0.0) for name, value in limits.items()
    }
    rows, r = np.array([start, start, start, start]), [0.1, 0.1, 0.1, 0.1]
    plain = sampled(MPC(FULL, 6, **limits, sample=0.1), x=rows, r=r)["u"][:, 0]
    block = MPC(FULL, 6, **moved, sample=0.1, around=AROUND)
    there = sampled(block, x=rows + np.array(x0), r=[y0 + v for v in r])["u"][:, 0]
    assert there == pytest.approx(plain + u0, abs=1e-5 * abs(plain).max())
    if "u_max" in limits:  # pushed as far as it goes: by du at first, then by u
        assert plain == pytest.approx([0.4, 0.6, 0.6, 0.6], abs=1e-6)


def closed_loop():
    ss = control.sample_system(control.ss([[0, 1], [-4, -0.8]], [[0], [4]], [[1, 0], [0, 1]], 0), 0.05)
    return (ss.A, ss.B, ss.C, ss.D, 0.05)


def governed(r, steps, **of):
    """The loop with a governor, by hand: at every tick the largest kappa, by bisection on what comes."""
    A, B, C, _, _ = closed_loop()
    x, v, N = np.zeros(2), 0.0, 200

    def keeps(x, v):
        for _ in range(N):
            y = C @ x
            if np.any(y > of["y_max"]) or np.any(y < of["y_min"]):
                return False
            x = A @ x + B[:, 0] * v
        return v <= of["y_max"][0] - 1e-6 and v >= of["y_min"][0] + 1e-6

    found = []
    for _ in range(steps):
        low, high = 0.0, 1.0
        if keeps(x, r):
            low = 1.0
        elif keeps(x, v):
            for _ in range(45):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if keeps(x, v + middle * (r - v)) else (low, middle)
        v += low * (r - v)
        found.append([v, *x])
        x = A @ x + B[:, 0] * v
    return np.array(found)


@pytest.mark.slow
@ENGINES
@pytest.mark.parametrize("r", [1.0, 3.0])
def test_a_governor_lets_through_what_keeps_the_limits(engine, r):
    limits = {"y_min": [-0.2, -1.1], "y_max": [1.05, 1.1]}  # position overshoots by half without it
    A, B = closed_loop()[:2]
    d = Diagram("governed")
    loop_node = d.add("loop", DiscreteStateSpace(A, B, np.eye(2), np.zeros((2, 1)), sample=0.05))
    g = d.add("g", ReferenceGovernor(closed_loop(), N=200, sample=0.05, **limits))
    d.connect(d.add("r", Constant(r))["y"], g["r"])
    d.connect(loop_node["y"], g["x"])
    d.connect(g["v"], loop_node["u"])
    run = simulate(d, 6.0, log_at=0.05 * np.arange(120), engine=engine)
    wanted = governed(r, 60, **limits)
    close(run["g.v"][:60, 0], wanted[:, 0], atol=1e-6)
    close(run["loop.y"][:60], wanted[:, 1:], atol=1e-6)
    assert run["loop.y"][:, 0].max() <= 1.05 + 1e-9 and np.abs(run["loop.y"][:, 1]).max() <= 1.1 + 1e-9
    assert run["g.v"][-1, 0] == pytest.approx(min(r, 1.05 - 1e-6), abs=1e-4)
    assert 100 < ReferenceGovernor(closed_loop(), sample=0.05, **limits).horizon() < 500


def test_mpc_without_limits_is_linear_and_says_where_it_has_no_answer():
    r = sampled(MPC(FULL, 8, sample=0.1), x=np.array([[1.0, 0.0], [0.0, 0.0]]), r=[0.0, 0.0])["u"]
    assert r[0, 0] < 0
    block = MPC(FULL, 8, u_max=0.1, u_min=-0.1, y_max=0.5, sample=0.1)
    with pytest.raises(Exception, match="MPC: the quadratic program at t=0 s is"):
        sampled(block, x=np.array([[3.0, 3.0], [3.0, 3.0]]), r=[0.0, 0.0])


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: LQR(3.0), "a linear python-control system"),
        (lambda: KalmanFilter((np.eye(0), np.ones((0, 1)), np.ones((1, 0)), [[1.0]])), "do not fit at A"),
        (lambda: LQR((A, B), Q=[1.0, -1.0]), "positive semidefinite"),
        (lambda: LQR((A, B), R=0.0), "positive definite"),
        (lambda: LQR((np.eye(2), np.zeros((2, 1)))), "no stabilising solution"),
        (lambda: LQR(control.ss(A, B, C, D, 0.1)), "is None for a model of sample time 0.1 s"),
        (lambda: LQR(control.ss(A, B, C, D, 0.1), sample=0.2), "the sample time of the model"),
        (lambda: LQI((A, B, C, [[1.0]])), "D = 0"),
        (lambda: Luenberger(FULL, [-1.0]), "2 numbers, one per state"),
        (lambda: KalmanFilter(FULL, kind="time-varying"), "without a sample time"),
        (lambda: EKF(3.0, seen, 1.0, 1.0, [0.0], sample=0.1), "f is 3.0"),
        (lambda: MPC(FULL, 0, sample=0.1), "N is 0"),
        (lambda: MPC(FULL, 5, slack=1.0, sample=0.1), "a limit of y it is about"),
        (lambda: MPC(FULL, 5, y_max=1.0, slack=0.0, sample=0.1), "slack is 0.0"),
        (lambda: ReferenceGovernor(FULL, y_max=1.0, sample=0.1), "a stable loop"),
        (lambda: ReferenceGovernor(closed_loop(), sample=0.05), "y_max is None, as y_min is"),
        (lambda: ReferenceGovernor(closed_loop(), 1.0, 1.0, sample=0.05), "y_min is 1.0"),
        (lambda: ReferenceGovernor(closed_loop(), y_max=[1.0] * 3, sample=0.05), "has 3 components"),
        (
            lambda: ReferenceGovernor(closed_loop(), y_max=1.0, initial=[0.0] * 2, sample=0.05),
            "has 2 components",
        ),
        (
            lambda: ReferenceGovernor(closed_loop(), y_max=1.0, N=3000, sample=0.05),
            "which looks 3000 ticks ahead",
        ),
        (lambda: MPC(FULL, 5, u_min=1.0, u_max=0.0, sample=0.1), "u_min is 1.0"),
    ],
)
def test_wrong_fields(make, text):
    with pytest.raises(BlockError) as caught:
        make()
    assert text in str(caught.value)


@pytest.mark.parametrize("sample", [1e308, 1e30])
@pytest.mark.parametrize(
    "made",
    [
        lambda model, sample: LQR(model, Q=[[1.0]], R=[[1.0]], sample=sample),
        lambda model, sample: ReferenceGovernor(model, y_max=1.0, sample=sample),
    ],
)
def test_a_sample_time_over_which_the_model_is_no_number_is_refused(made, sample):
    with pytest.raises(BlockError, match="sample is 1e.*matrix exponential of the model is not finite"):
        made(([[1.0]], [[1.0]], [[1.0]], [[0.0]]), sample)


def test_a_model_of_plain_numbers_is_refused_with_its_shapes():
    with pytest.raises(BlockError, match=r"LQR: system has"):
        LQR((1.0, 1.0, 1.0, 0.0), Q=1.0, R=1.0)


@pytest.mark.parametrize("sample", [None, 0.1])
def test_a_model_that_no_feedback_steadies_is_refused_where_it_is_made(sample):
    """Its first state grows, and no input reaches it."""
    model = (np.diag([1.0, -1.0]), [[0.0], [1.0]], np.eye(2), np.zeros((2, 1)))
    for make in (LQR, LQI, LQG):
        with pytest.raises(BlockError, match=make.__name__):
            make(model if make is not LQR else model[:2], sample=sample)


@pytest.mark.parametrize("sample", [None, 0.1])
def test_an_estimate_begins_at_zero(sample):
    block = LQG(FULL, 1.0, 0.5, 0.1, 0.01, sample=sample)
    assert not any(np.any(m.initial) for m in trace(block, {"y": 1}).declared.memories)


def first_move(a, b, N, R, x, r):
    """du of the program over N ticks of x+ = a x + b u for u = 0 before, by Riccati's recursion backwards."""
    A, B = np.array([[a, b, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.array([[b], [1.0], [0.0]])
    W, P = np.outer([1.0, 0.0, -r], [1.0, 0.0, -r]), np.zeros((3, 3))
    for _ in range(N):
        M = W + P
        K = np.linalg.solve(R + B.T @ M @ B, B.T @ M @ A)
        P = A.T @ M @ (A - B @ K)
    return -(K @ [x, 0.0, 1.0])[0]


def test_mpc_of_an_unstable_model_over_long_horizons():
    """Squares of what grows lost 5 % of u in silence; where y itself is rounding the horizon is refused."""

    def found(pole, N, R):
        held = MPC(([[pole]], [[1.0]], [[1.0]], [[0.0]]), N, R=R, sample=0.1)
        return sampled(held, x=np.full((2, 1), 0.5), r=[1.0, 1.0])["u"][0, 0]

    for pole, N, R in ((2.0, 50, 0.1), (3.0, 50, 1e-6), (-1.0, 30, 1e-3)):
        a = np.exp(0.1 * pole)
        assert found(pole, N, R) == pytest.approx(first_move(a, (a - 1) / pole, N, R, 0.5, 1.0), rel=1e-7)
    with pytest.raises(BlockError, match="N is 100: over so many ticks the model grows"):
        found(5.0, 100, 0.1)
