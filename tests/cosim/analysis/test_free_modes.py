"""Modes that have no part in a loop: a shaft that turns freely is no instability of its speed control."""

import numpy as np
import pytest
from scipy.linalg import block_diag, expm

from blocks import PID, Constant, DiscretePID, FirstOrder, Hold, Integrator
from cosim import Diagram, margins
from cosim.analysis.free_modes import without, without_free

LOOP = np.array([[0.0, 1.0], [-4.0, -0.8]])
FREE = block_diag([[0.0, 3.0], [-3.0, 0.0]], [[0.0, 1.0], [0.0, 0.0]])  # turns at 3 rad/s; drifts


def beside(seed):
    """The loop with the free modes that it drives, in other coordinates; what moves it, what it shows."""
    A = block_diag(LOOP, FREE)
    A[3, 1], A[5, 0] = 2.0, 1.0
    B, C = np.eye(6)[:, [1]], np.eye(6)[[0]]
    if seed:
        T = np.random.default_rng(seed).normal(size=(6, 6))
        A, B, C = np.linalg.solve(T, A @ T), np.linalg.solve(T, B), C @ T
    return A, B, C


def response(A, B, C, s):
    return (C @ np.linalg.solve(s * np.eye(len(A)) - A, B))[0, 0]


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("dual", [False, True])
def test_what_is_free_goes_and_the_transfer_function_stays(seed, sampled, dual):
    A, B, C = beside(seed)
    if dual:
        A, B, C = A.T, C.T, B.T
    at, free = 1j * np.array([0.3, 2.0, 7.0]), [0.0, 0.0, 3j, -3j]
    if sampled:
        both = expm(0.1 * np.block([[A, B], [np.zeros((1, 7))]]))
        A, B, at, free = both[:6, :6], both[:6, 6:], np.exp(0.1 * at), np.exp(0.1 * np.array(free))
    less = without_free(A, B, C, sampled)
    assert np.abs(np.sort_complex(less[3]) - np.sort_complex(free)).max() < 1e-12
    left = np.sort_complex(np.linalg.eigvals(less[0]))
    known = np.linalg.eigvals(LOOP)
    assert np.abs(left - np.sort_complex(np.exp(0.1 * known) if sampled else known)).max() < 1e-9
    for s in at:
        assert abs(response(*less[:3], s) - response(A, B, C, s)) < 1e-11


def test_what_grows_or_decays_slowly_is_not_free():
    A, B, C = beside(0)
    for rate in (1e-4, -1e-4):
        A[5, 5] = rate
        assert np.abs(np.sort_complex(without_free(A, B, C, False)[3]) - [-3j, 0, 3j]).max() < 1e-12


def test_poles_are_taken_away_one_by_one():
    left = without(np.array([1.0, 1.0 + 1e-9, 0.5]), np.array([1.0]))
    assert len(left) == 2 and 0.5 in left


def speed(kind, angles):
    """A motor under a speed control, and its angle, which comes back nowhere; the integral of that too."""
    d = Diagram("drive")
    r, w = d.add("r", Constant(10.0)), d.add("w", FirstOrder(time_constant=0.2, gain=3.0))
    held = "two rates" in kind and d.add("held", Hold(sample="1/25"))
    c = d.add("c", PID(kp=1.0, ki=4.0) if kind == "continuous" else DiscretePID(kp=1.0, ki=4.0, sample=0.02))
    e = r - w
    (e >> held) >> c if held else e >> c
    c >> w
    last = w
    for k in range(angles):
        last = last >> d.add(f"angle{k}", Integrator())
    return d


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "angles"), [("continuous", 2), ("one rate", 1), ("two rates", 1)])
def test_a_shaft_that_turns_freely_changes_no_margin(kind, angles):
    alone, whole = (margins(speed(kind, n), at="c.u") for n in (0, angles))
    assert alone.stable and whole.stable
    for name in ("gain", "phase", "delay", "disk", "crossover", "sensitivity"):
        assert np.allclose(getattr(whole, name), getattr(alone, name), rtol=1e-6), name
    assert len(whole.outside) == angles and not len(alone.outside)
    mode = f"{angles} free mode{'s' if angles > 1 else ''}"
    assert f"(stable; {mode} outside the loop): gain 0 to" in repr(whole) and "(stable):" in repr(alone)


def test_a_loop_that_bears_any_phase_says_so():
    d = Diagram("weak")
    r, x, h = (
        d.add("r", Constant(0.0)),
        d.add("x", FirstOrder(time_constant=1.0)),
        d.add("h", Hold(sample=0.1)),
    )
    (r - 0.5 * x) >> h >> x
    assert ": gain 0 to " in repr(margins(d, at="h.y")) and ", any phase, disk " in repr(margins(d, at="h.y"))
