"""Delay margins of sampled loops with transport delays, against poles of the plant sampled by hand."""

import numpy as np
import pytest

from blocks import (
    Constant,
    DiscretePID,
    Gain,
    RateLimiter,
    Saturation,
    StateFeedback,
    Sum,
    TransferFunction,
    TransportDelay,
)
from cosim import Diagram, linearize, margins
from cosim.analysis.periodic_loop import delay_margin
from plant import (
    Body_Rigid,
    Constraint_Joint,
    Control_PlantInput,
    Control_PlantOutput,
    Force_Vector_OneBody,
    Model,
    Plant,
    Reference_Marker,
    Reference_Variable,
)


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


@pytest.mark.parametrize(
    ("T", "end", "found"), [(0.025, 1.2, 1.2), (0.004, 1.2, 1.19), (0.004, 0.5, 0.5), (0.025, 9.0, np.inf)]
)
def test_delays_of_many_periods_are_looked_at_and_of_more_taken_as_suggested(T, end, found):
    """A pole that reaches 1 with a delay of `end`, where the phase margin suggests 1.19 s."""
    pole = lambda seconds: np.array([0.5 + 0.5 * float(seconds) / end])
    assert delay_margin(pole, lambda seconds: seconds, 1.19, T) == pytest.approx(found, rel=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("T", "parts"), [(0.025, 1e-4), (0.004, 1e-2)])
def test_a_loop_that_is_sampled_fast_bears_a_delay_of_many_periods(T, parts):
    """48 and 302 periods; of more than 200 the parts of one are taken as the phase margin has them."""
    found = margins(loop(T, 0.3 * T, 2.0, 0.1), at="c.u").delay
    assert 40 < found / T < 310
    assert stable(T, 0.3 * T + found - parts * T, 2.0, 0.1)
    assert not stable(T, 0.3 * T + found + parts * T, 2.0, 0.1)


def held(*between, hold_order=0):
    """A mass, x'' = u, whose input port follows the rate of a sampled feedback u = -K (x, v)."""
    elements = [
        Body_Rigid(id=1, isground=True),
        Reference_Marker(id=10, body_id=1),
        Body_Rigid(id=2, cg_id=20, mass=1.0, inertia_xx=1.0, inertia_yy=1.0, inertia_zz=1.0),
        Reference_Marker(id=20, body_id=2),
        Constraint_Joint(id=1, label="slide", type="TRANSLATIONAL", i_marker_id=20, j_marker_id=10),
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=1, label="force", variable_id_list=(1,), hold_order=hold_order),
        Force_Vector_OneBody(
            id=1, type="ForceOnly", marker_id=20, ref_marker_id=10, fz_expression="VARVAL(1)"
        ),
        Reference_Variable(id=2, expr="DZ(20,10)"),
        Reference_Variable(id=3, expr="VZ(20,10)"),
        Control_PlantOutput(id=1, label="state", variable_id_list=(2, 3)),
    ]
    d = Diagram("held")
    d.add("plant", Plant.from_model(Model.build(elements)))
    d.add("c", StateFeedback([[4.0, 3.0]], sample="1/10"))
    d.connect("plant.state -> c.x")
    last = "c.u"
    for k, block in enumerate(between):
        d.add(f"b{k}", block)
        d.connect(f"{last} -> b{k}.u")
        last = f"b{k}.y"
    d.connect(f"{last} -> plant.force")
    return d


def least_delay(K, T):
    """Of a held feedback on a double integrator; poles of (x, v, u_k-1, ..., u_k-n-1) [s]."""

    def stable(delay):
        n, rest = divmod(delay, T)
        n = int(n)
        a = T - rest  # u_k-n acts for so long, u_k-n-1 before that
        late, now = np.array([rest * rest / 2 + rest * a, rest]), np.array([a * a / 2, a])
        size = n + 3
        u = np.zeros(size)
        u[:2] = -np.asarray(K)
        shift = [u, *np.eye(size)[2:]]
        A = np.zeros((size, size))
        A[:2, :2] = [[1.0, T], [0.0, 1.0]]
        A[:2] += np.outer(now, shift[n]) + np.outer(late, shift[n + 1])
        A[2:] = shift[: n + 1]
        return np.abs(np.linalg.eigvals(A)).max() < 1.0

    inside, outside = 0.0, 1.0
    assert stable(inside) and not stable(outside)
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        inside, outside = (middle, outside) if stable(middle) else (inside, middle)
    return outside


@pytest.mark.parametrize(
    "between", [(), (Gain(1.0),), (RateLimiter(2.0),), (Saturation(-5.0, 5.0), RateLimiter(2.0, 3.0))]
)
def test_a_port_that_follows_a_rate_does_not_round_the_delay_up_to_its_ticks(between):
    found = margins(held(*between), at="c.u")
    expected = least_delay([4.0, 3.0], 0.1)
    assert abs(expected / 0.1 - round(expected / 0.1)) > 0.1  # between two ticks
    assert found.stable and found.delay == pytest.approx(expected, rel=1e-4)


def test_a_rate_limiter_at_rest_passes_on_everything_at_every_tick():
    """With a second rate there are several instants in the common period."""
    found = []
    for block in (Gain(1.0), RateLimiter(0.5)):
        d = held(block)
        d.add("slow", DiscretePID(0.5, 0.2, sample="1/4"))
        d.connect("plant.state[0] -> slow.e")
        found.append(np.sort(np.abs(linearize(d).poles())))
    mode = len(found[1]) - len(found[0])  # whether the limiter follows is kept from tick to tick, a pole at 1
    assert found[1][: len(found[0])] == pytest.approx(found[0], abs=1e-9) and (found[1][-mode:] == 1.0).all()
