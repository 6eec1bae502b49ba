"""Sampled-data and multirate loops with exact solutions.

tests/data/reference/discrete_exact.json: closed forms and exact recurrences, 14 digits, with the tolerance to
accept.
"""

import control
import numpy as np
import pytest

from blocks import (
    Clock,
    Constant,
    Function,
    Hold,
    Integrator,
    RateTransition,
    Sine,
    StateFeedback,
    StateSpace,
)
from cosim import linearize
from tests.helpers.checked import closed_form
from tests.helpers.plants import reference
from tests.helpers.runs import build, simulate

CASES = reference("discrete_exact")
ACCEPT = CASES["accept"]["abs"]
SOLVERS = {
    "dopri5": {"solver": "dopri5", "rtol": 1e-10, "atol": 1e-12},
    "rk4": {"solver": "rk4", "step": 1e-3},
}
every_solver = pytest.mark.parametrize("options", SOLVERS.values(), ids=SOLVERS)


def double_integrator(K, T):
    """x'' = u, u = -K (x, v) every T."""
    plant = StateSpace([[0, 1], [0, 0]], [[0], [1]], np.eye(2), initial=[1, 0])
    return build("p.y>k.x k.u>p.u", p=plant, k=StateFeedback(K, sample=T))


def compare(checked, subject, rows, r, *columns):
    got = np.column_stack([r.time, *columns])
    checked(got, rows, subject, "samples and states", closed_form("exact recurrences"), atol=ACCEPT)


@every_solver
def test_a_double_integrator_behind_a_zero_order_hold(checked, options):
    case = CASES["double_integrator_zoh"]
    rows = np.array(case["rows"])
    d = double_integrator([2.0, 2.5], case["Ts"])
    r = simulate(d, 6.0, log_at=rows[:, 0], **options)
    compare(checked, "double integrator behind a hold", rows, r, r["p.y"], r["k.u"])
    between = simulate(d, 1.0, log_at=[0.37, 0.94], **options)  # x(t_k + s) = x + v s + u s^2/2
    for t, x in zip(between.time, between["p.y"][:, 0], strict=True):
        k = int(t / 0.1)
        x_k, v_k, u_k = sampled(rows[0, 1:3], k)
        s = t - k * 0.1
        assert x == pytest.approx(x_k + v_k * s + u_k * s**2 / 2, abs=ACCEPT)


def sampled(start, ticks):
    """The recurrence of the case: x += T v + T^2/2 u, v += T u."""
    x, v = start
    for _ in range(ticks):
        u = -2.0 * x - 2.5 * v
        x, v = x + 0.1 * v + 0.005 * u, v + 0.1 * u
    return x, v, -2.0 * x - 2.5 * v


@every_solver
def test_deadbeat_control_is_at_rest_after_two_ticks(checked, options):
    T = CASES["double_integrator_zoh"]["Ts"]
    rows = np.array(CASES["deadbeat"]["rows"])
    d = double_integrator([1 / T**2, 1.5 / T], T)
    r = simulate(d, 1.0, log_at=rows[:, 0], **options)
    compare(checked, "deadbeat control", rows, r, r["p.y"], r["k.u"])
    later = simulate(d, 1.0, log_every=T, **options)
    assert np.abs(later["p.y"][2:]).max() < ACCEPT  # the state is exactly zero from k = 2


def test_the_discrete_model_of_an_oscillator_behind_a_hold(checked):
    case = CASES["oscillator_zoh_matrix"]
    plant = StateSpace([[0, 1], [-4, -0.4]], [[0], [4]], [[1, 0]])
    d = build("c.y>h.u h.y>p.u", c=Constant(0.0), h=Hold(sample=case["Ts"]), p=plant)
    ss = linearize(d, inputs=["c.y"], outputs=["p.y"])
    exponential, name = closed_form("matrix exponential"), "oscillator behind a hold"
    checked(ss.A, case["Ad"], name, "discrete A", exponential, atol=1e-14)
    checked(ss.B[:, 0], case["Bd"], name, "discrete B", exponential, atol=1e-14)
    assert isinstance(ss, control.StateSpace) and ss.dt == case["Ts"]


@every_solver
@pytest.mark.parametrize(("order", "name"), [(0, "zoh"), (1, "foh_extrapolation")])
def test_a_lag_fed_by_a_sampled_sine(checked, order, name, options):
    case = CASES["lag_fed_by_sampled_sine"]
    rows = np.array(case[name]["rows"])
    blocks = {"r": Sine(), "h": Hold(order, sample=case["Ts"]), "y": StateSpace(-1.0, 1.0, 1.0)}
    r = simulate(build("r.y>h.u h.y>y.u", **blocks), 10.0, log_at=rows[:, 0], **options)
    compare(checked, f"lag fed by a sampled sine, hold of order {order}", rows, r, r["y.y"], r["h.y"])


@every_solver
@pytest.mark.parametrize("order", [["w1", "w2"], ["w2", "w1"]], ids="-".join)
def test_a_slow_sampler_sees_what_the_fast_one_took_at_the_same_instant(checked, order, options):
    rows = np.array(CASES["multirate"]["rows"])
    samplers = {"w1": Hold(sample=0.02), "w2": RateTransition(0.05)}
    blocks = {name: samplers[name] for name in order}
    blocks |= {"t": Clock(), "f": Function(lambda t: t**2), "z": Integrator(), "y": Integrator()}
    r = simulate(
        build("t.y>f.t f.y>w1.u w1.y>w2.u w1.y>z.u w2.y>y.u", **blocks), 1.0, log_at=rows[:, 0], **options
    )
    compare(checked, "samplers of two rates in line", rows, r, r["w1.y"], r["w2.y"], r["z.y"], r["y.y"])


def test_every_case_of_the_file_has_its_test():
    about = {"id", "title", "source", "units", "verification", "digits", "accept"}
    tested = {
        "double_integrator_zoh",
        "deadbeat",
        "oscillator_zoh_matrix",
        "lag_fed_by_sampled_sine",
        "multirate",
    }
    assert set(CASES) - about == tested
