"""The stiff method by itself, on problems written as functions: its last step, and what it names."""

from __future__ import annotations

import numpy as np
import pytest

from blocks.errors import SimulationError
from cosim.engines.counters import Counters
from cosim.engines.methods.rosenbrock import RODAS, RosenbrockStepper
from cosim.engines.methods.scipy_stepper import ScipyStepper
from cosim.engines.methods.steppers import Control, Problem


def problem(f, names, longest=np.inf):
    """x' = f(t, x) with a Jacobian of zeros."""
    n = len(names)
    return Problem(
        f=f,
        linearise=lambda t, x: (np.zeros((n, n)), np.zeros(n)),
        atol=np.full(n, 1e-9),
        counters=Counters(),
        state_name=lambda k: names[k],
        on_invariants=lambda t, x: x,
        longest_step=lambda: longest,
        explain=lambda t, x: SimulationError(f"not finite at {t}", time=t),
    )


def test_coefficients_meet_the_conditions_of_order_four_also_where_stiff_parts_follow_others():
    """Hairer & Wanner II, table IV.7.1; Scholz: b B^j (2 B^2 e - alpha^2) = 0; inside a step order 3."""
    n, m = 6, RODAS
    a, c = np.zeros((n, n)), np.zeros((n, n))
    for i in range(n):
        a[i, :i], c[i, :i] = m.a[i], m.c[i]
    G = np.linalg.inv(np.eye(n) / m.gamma - c)  # from the form without products back to gamma_ij, alpha_ij
    A, e = a @ G, np.ones(n)
    B = A + G
    alpha, beta = A @ e, B @ e
    assert alpha == pytest.approx(m.alpha, abs=1e-14)
    assert G @ e == pytest.approx(m.d, abs=1e-14)

    def third(b):
        return [b @ e, b @ beta, b @ alpha**2, b @ B @ beta]

    weights = np.array([*m.a[5], 1.0])
    b, embedded = weights @ G, np.array([*m.a[5], 0.0]) @ G
    for found in (third(b), third(embedded)):
        assert found == pytest.approx([1, 1 / 2, 1 / 3, 1 / 6], abs=1e-14)
    fourth = [b @ alpha**3, b @ (alpha * (A @ beta)), b @ B @ alpha**2, b @ B @ B @ beta]
    assert fourth == pytest.approx([1 / 4, 1 / 8, 1 / 12, 1 / 24], abs=1e-14)
    stiff = [b @ np.linalg.matrix_power(B, j) @ (2 * B @ beta - alpha**2) for j in range(1, 5)]
    assert stiff == pytest.approx([0.0] * 4, abs=1e-15)
    for s in (0.3, 0.7):
        inside = [
            s * w + s * (1 - s) * (p + s * q) for w, p, q in zip(weights, *map(padded, m.dense), strict=True)
        ]
        assert third(inside @ G) == pytest.approx([s, s**2 / 2, s**3 / 3, s**3 / 6], abs=1e-14)


def padded(row):
    return [*row, 0.0]


@pytest.mark.parametrize(("short", "steps"), [(0.5e-12, 1), (1e-12, 1), (4e-12, 2)])
def test_a_step_that_misses_the_stop_by_rounding_lands_on_it(short, steps):
    """A delay of 1 - short s allows steps of that: 1e-12 of what is left is no reason for another."""
    still = problem(lambda t, x: np.zeros(1), ["x"], longest=1.0 - short)
    stepper = RosenbrockStepper(still, rtol=1e-6, max_step=np.inf)
    taken = list(stepper.integrate(0.0, np.ones(1), 1.0, Control(step=5.0)))
    assert len(taken) == steps and taken[-1].t1 == 1.0


@pytest.mark.parametrize("first", [True, False])
def test_the_state_that_runs_away_in_its_own_size_is_named(first):
    """Both move as far before nothing is finite: 100, which is much for 1 and little for 1e6."""
    names, start = ["small", "large"], np.array([1.0, 1e6])
    if not first:
        names, start = names[::-1], start[::-1]

    def f(t, x):
        return np.where(np.array_equal(x, start), 1e18, np.nan) * np.ones(2)

    stepper = RosenbrockStepper(problem(f, names), rtol=1e-6, max_step=np.inf)
    with pytest.raises(SimulationError, match="the state that limits it is 'small'") as caught:
        list(stepper.integrate(0.0, start, 1.0, Control()))
    assert caught.value.path == "small"


@pytest.mark.parametrize(("places", "calls"), [(4, 1), (64, 2)])
def test_a_stretch_of_a_few_last_digits_is_one_step_of_euler(places, calls):
    """SciPy's solvers look at the rate more often, and may give up."""
    seen: list[float] = []

    def f(t, x):
        seen.append(t)
        return np.ones(1)

    stop = 1.0 + places * np.spacing(1.0)
    stepper = ScipyStepper(problem(f, ["x"]), "RK45", rtol=1e-6, max_step=np.inf)
    (step,) = stepper.integrate(1.0, np.array([1.0]), stop, Control(step=1.0))
    assert step.t1 == stop == step.x1[0]
    assert min(len(seen), 2) == calls
