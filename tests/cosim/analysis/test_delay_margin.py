"""Delay margins of sampled loops with transport delays, against poles of the plant sampled by hand."""

import numpy as np
import pytest

from blocks import Constant, DiscretePID, Sum, TransferFunction, TransportDelay
from cosim import Diagram, margins


def loop(T, delay, kp, ki):
    """A sampled PI controller and 1 / (s + 1) behind a delay [s] of what it gives."""
    d = Diagram("loop")
    d.add("r", Constant(0.0))
    d.add("e", Sum("+-"))
    d.add("c", DiscretePID(kp, ki, sample=T))
    d.add("late", TransportDelay(delay))
    d.add("p", TransferFunction([1.0], [1.0, 1.0]))
    d.connect("r.y -> e.in1", "e.y -> c.e", "c.u -> late.u", "late.y -> p.u", "p.y -> e.in2")
    return d


def stable(T, delay, kp, ki):
    """Is the loop with that whole delay stable? The plant's state, n + 1 old inputs and the integral."""
    n, rest = divmod(delay, T)
    n = int(n)
    late, now = np.exp(-(T - rest)) * -np.expm1(-rest), -np.expm1(-(T - rest))  # of u_k-n-1 and u_k-n
    size = n + 3  # x, u_k-1, ..., u_k-n-1, i
    u = np.zeros(size)  # u_k = -kp x + i
    u[0], u[-1] = -kp, 1.0
    shift = [u, *np.eye(size)[1 : n + 2]]  # u_k, u_k-1, ..., u_k-n-1
    A = np.zeros((size, size))
    A[0] = np.exp(-T) * np.eye(size)[0] + now * shift[n] + late * shift[n + 1]
    A[1 : n + 2] = shift[: n + 1]
    A[-1] = np.eye(size)[-1]
    A[-1, 0] -= T * ki
    return np.abs(np.linalg.eigvals(A)).max() < 1.0


@pytest.mark.parametrize(
    ("T", "delay", "kp", "ki"),
    [(0.1, 0.07, 3.0, 1.0), (0.1, 0.25, 2.0, 1.0), (0.05, 0.01, 5.0, 0.5), (0.2, 0.2, 1.5, 0.75)],
)
def test_the_delay_margin_is_the_delay_by_which_the_loop_gets_unstable(T, delay, kp, ki):
    inside, outside = 0.0, 3.0
    assert stable(T, delay + inside, kp, ki) and not stable(T, delay + outside, kp, ki)
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stable(T, delay + middle, kp, ki) else (inside, middle)
    found = margins(loop(T, delay, kp, ki), at="c.u")
    assert found.delay == pytest.approx(outside, rel=1e-4)
