"""Linear models of several rates against simulated responses, hand-made lifted models and python-control."""

from fractions import Fraction

import control
import numpy as np
import pytest
import scipy.linalg

from blocks import (
    DiscreteStateSpace,
    Gain,
    Hold,
    Integrator,
    StateFeedback,
    StateSpace,
    Sum,
    TimeTable,
    TransferFunction,
    TransportDelay,
    UnitDelay,
)
from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError
from cosim import Diagram, Enabled, linearize
from cosim.analysis.common_period import CommonPeriod
from tests.helpers.made import Made
from tests.helpers.runs import Simulation, simulate

A, B, C = np.array([[0.0, 1.0], [-4.0, -0.4]]), np.array([[0.0], [4.0]]), np.array([[1.0, 0.0]])


AFTER = 1e-10  # s: what is read at a tick is what is held behind it


def cascade(delay=None, offsets=(0, 0), order=0, inputs=None) -> Diagram:
    """A lightly damped plant under a fast inner loop (20 ms) inside a slow outer one with memory (50 ms)."""
    d, table = Diagram("cascade"), TimeTable([0.0], [0.0], interpolation="previous")
    d.add("r", table if inputs is None else inputs)
    plant = d.add("p", StateSpace(A, B, np.eye(2)))
    y, v = d.add("y", Gain([[1.0, 0.0]])), d.add("v", Gain([[0.0, 1.0]]))
    d.add("e", Sum("+-"))
    memory = {"A": [[0.9]], "B": [[0.2]], "C": [[0.7]], "D": [[0.4]]}
    d.add("outer", DiscreteStateSpace(**memory, sample="1/20", offset=offsets[0]))
    d.add("f", Sum("+-"))
    d.add("inner", StateFeedback([[-0.6]], sample="1/50", offset=offsets[1]))
    hold = d.add("hold", Hold(order, sample="1/50", offset=offsets[1]))
    plant >> y
    plant >> v
    d.connect("r.y -> e.in1", "y.y -> e.in2", "e.y -> outer.u", "outer.y -> f.in1", "v.y -> f.in2")
    d.connect("f.y -> inner.x", "inner.u -> hold.u")
    if delay is None:
        hold >> plant
    else:
        hold >> d.add("wire", TransportDelay(delay)) >> plant
    return d


def response(ss, u, shown=slice(None)):
    """Outputs of a model at rest for inputs (n, m)."""
    x, found = np.zeros(ss.nstates), []
    for now in u:
        found.append(ss.C @ x + ss.D @ now)
        x = ss.A @ x + ss.B @ now
    return np.array(found)[:, shown]


CASES = {
    "aligned": {},
    "offsets": {"offsets": ("1/100", "1/200")},
    "slow one late": {"offsets": ("1/25", 0)},
    "first order": {"order": 1, "offsets": (0, "1/100")},
    "second order": {"order": 2},
    "delay": {"delay": 0.013},
    "long delay and offsets": {"delay": 0.237, "offsets": ("1/100", "1/200")},
    "delay onto ticks": {"delay": 0.02},
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("lift", [False, True])
def test_the_model_is_what_the_simulation_does_from_period_to_period(case, lift):
    options, period = CASES[case], 0.1
    base = linearize(cascade(**options), inputs=["r.y"], outputs=["p.y", "inner.u"], lift=lift)
    assert base.dt == period
    slow, fast = options.get("offsets", (0, 0))
    rates = [Ticks.of("1/50", fast), Ticks.of("1/20", slow)]
    instants = CommonPeriod.of(rates).instants if lift else (Fraction(0),)
    start = Fraction(slow)
    times = [start + k * Fraction(1, 10) + t for k in range(1, 13) for t in instants]
    rng = np.random.default_rng(3)
    values = rng.normal(size=len(times))
    table = TimeTable([0.0, *map(float, times)], [0.0, *values], interpolation="previous")
    run = simulate(
        cascade(**options, inputs=table), float(times[-1]) + AFTER, solver="dopri5", rtol=1e-11, atol=1e-13,
        log_at=[float(t) + AFTER for t in times], signals=["p.y", "inner.u"],
    )  # fmt: skip
    simulated = np.hstack([run["p.y"], run["inner.u"].reshape(-1, 1)]).reshape(12, -1)
    found = response(base, values.reshape(12, -1))
    np.testing.assert_allclose(found, simulated, rtol=0, atol=1e-8 * np.abs(simulated).max())
    assert np.abs(simulated).max() > 0.1


def test_two_rates_without_memory_are_the_product_of_two_steps():
    """Feedback of the position at 0.1 s and of the rate at 0.05 s: written down by hand."""
    d = Diagram("two")
    p = d.add("p", StateSpace(A, B, np.eye(2)))
    slow, fast = (
        d.add("slow", StateFeedback([[0.5, 0.0]], sample="1/10")),
        d.add("fast", StateFeedback([[0.0, 0.2]], sample="1/20")),
    )
    both = d.add("both", Sum("++"))
    for c, port in ((slow, "in1"), (fast, "in2")):
        d.connect(p["y"], c["x"])
        d.connect(c["u"], both[port])
    both >> p
    ss = linearize(d, inputs=["slow.u"], outputs=["p.y"])
    half = control.c2d(control.ss(A, B, np.eye(2), 0), 0.05)
    F, G = half.A, half.B
    first = F - G @ [[0.5, 0.2]]
    expected = (F - G @ [[0.0, 0.2]]) @ first - G @ [[0.5, 0.0]]
    np.testing.assert_allclose(ss.A, expected, rtol=1e-12)
    np.testing.assert_allclose(ss.B, (F - G @ [[0.0, 0.2]]) @ G + G, rtol=1e-12)
    assert ss.dt == 0.1
    assert ss.state_labels == ["p_x[0]", "p_x[1]"]


def test_a_delay_of_a_held_signal_is_the_textbook_model():
    """Delay of a fraction of a period: Åström and Wittenmark, Computer-Controlled Systems, section 2.3."""
    d = Diagram("late")
    r = d.add("r", TimeTable([0.0], [0.0], interpolation="previous"))
    (
        r
        >> d.add("h", Hold(0, sample="1/10"))
        >> d.add("late", TransportDelay(0.03))
        >> d.add("p", StateSpace(A, B, C))
    )
    ss = linearize(d, inputs=["r.y"], outputs=["p.y"])
    whole = np.zeros((3, 3))
    whole[:2, :2], whole[:2, 2:] = A, B
    early, late = scipy.linalg.expm(whole * 0.03), scipy.linalg.expm(whole * 0.07)
    tf, w = control.ss2tf(ss), np.exp(1j * np.array([0.1, 1.0, 10.0]) * 0.1)
    phi = late[:2, :2] @ early[:2, :2]
    g1, g0 = late[:2, :2] @ early[:2, 2:], late[:2, 2:]
    expected = [(C @ np.linalg.solve(z * np.eye(2) - phi, g0 + g1 / z)).item() for z in w]
    np.testing.assert_allclose(ss(w), expected, rtol=1e-11)
    assert tf.dt == 0.1


@pytest.mark.parametrize("n", [1, 2, 5])
def test_continuous_delays_as_pade_are_python_controls(n):
    d = Diagram("late")
    d.connect(d.inport("u"), d.add("late", TransportDelay(0.3))["u"])
    d["late"] >> d.add("p", TransferFunction([1.0], [1.0, 1.0]))
    d.outport("y", d["p"]["y"])
    with pytest.raises(PlantloopError, match=r"'late\.past' is a delay.*pade=6"):
        linearize(d)
    ss, s = linearize(d, pade=n), 1j * np.geomspace(0.1, 30, 9)
    expected = control.tf(*control.pade(0.3, n)) * control.tf([1.0], [1.0, 1.0])
    np.testing.assert_allclose(ss(s), expected(s), rtol=1e-10)
    assert [k for k in ss.state_labels if "pade" in k] == [f"late_past_pade{k}" for k in range(n)]


def test_a_continuous_delay_in_a_loop_closes_with_its_direct_part():
    """Padé's direct part is an algebraic loop through the sum; python-control closes it by itself."""
    d = Diagram("loop")
    d.connect(d.inport("r"), d.add("e", Sum("+-"))["in1"])
    e, late = d["e"], d.add("late", TransportDelay(0.2))
    e >> d.add("k", Gain(0.5)) >> late
    d.connect(late["y"], e["in2"])
    d.outport("y", late["y"])
    wire = control.ss(0.5 * control.tf(*control.pade(0.2, 3)))
    s = 1j * np.geomspace(0.1, 30, 9)
    np.testing.assert_allclose(linearize(d, pade=3)(s), control.feedback(wire, 1)(s), rtol=1e-10)


def test_a_delay_of_a_continuous_signal_in_a_sampled_loop_needs_pade():
    d = Diagram("d")
    p, late = d.add("p", StateSpace(A, B, C)), d.add("late", TransportDelay(0.07))
    p >> late >> d.add("c", StateFeedback([[0.4]], sample="1/20")) >> p
    with pytest.raises(PlantloopError, match=r"'late\.past' is a delay"):
        linearize(d, inputs=["c.u"], outputs=["p.y"])
    found = linearize(d, inputs=["c.u"], outputs=["p.y"], pade=4)
    plant = control.ss(control.tf(*control.pade(0.07, 4))) * control.ss(A, B, C, 0)
    sampled = control.c2d(plant, 0.05)
    expected = np.linalg.eigvals(sampled.A - 0.4 * sampled.B @ sampled.C)
    for pole in expected:
        assert np.abs(found.poles() - pole).min() < 1e-9


def test_an_enabled_part_is_as_it_stands():
    d, off = (Diagram("d") for _ in range(2))
    for level, whole in ((1.0, d), (-1.0, off)):
        whole.connect(whole.inport("u"), (part := whole.add("part", Enabled(Integrator(0.0))))["u"])
        whole.connect(
            whole.add("on", TimeTable([0.0], [level], interpolation="previous"))["y"], part["enable"]
        )
        whole.add("slow", UnitDelay("1/10")), whole.add("fast", UnitDelay("1/20"))
        whole.connect(part["y"], whole["slow"]["u"], whole["fast"]["u"])
    assert linearize(d, inputs=["u"], outputs=["part.y"]).B[0, 0] == pytest.approx(0.1)
    assert linearize(off, inputs=["u"], outputs=["part.y"]).B[0, 0] == 0.0


def test_a_loop_opened_by_name_is_that_of_the_parts():
    opened = linearize(cascade(), inputs=["inner.u"], outputs=["inner.u"], open=["inner.u"], lift=False)
    closed = linearize(cascade(), inputs=["inner.u"], outputs=["inner.u"], lift=True)
    back = linearize(cascade(), inputs=["inner.u"], outputs=["inner.u"], open=["inner.u"], lift=True)
    assert opened.nstates <= closed.nstates
    n = back.ninputs
    for z in np.exp(1j * np.array([0.3, 1.0, 2.9])):
        np.testing.assert_allclose(np.linalg.inv(np.eye(n) - back(z)), closed(z), rtol=1e-8, atol=1e-10)


def test_a_continuous_loop_opened_by_name():
    d = Diagram("loop")
    c, p = d.add("c", Gain(-2.0)), d.add("p", TransferFunction([4.0], [1.0, 3.0, 3.0, 1.0]))
    c >> p >> c
    found = linearize(d, inputs=["c.y"], outputs=["c.y"], open="c.y")
    s = 1j * np.geomspace(0.1, 10, 7)
    np.testing.assert_allclose(found(s), -8.0 / (s + 1) ** 3, rtol=1e-12)
    np.testing.assert_allclose(np.sort(found.poles().real), [-1, -1, -1], rtol=1e-4)


def test_an_opened_signal_stays_at_the_operating_point():
    """y = x^2 -> 3y -> x' = -3 y + u about x = 2: opened behind the square, the gain 3 sees 4, not 0."""
    from blocks import Function

    d = Diagram("square")
    q, g, x = (
        d.add("q", Function(lambda u: u**2)),
        d.add("g", Function(lambda u: u**2)),
        d.add("x", Integrator(2.0)),
    )
    x >> q >> g >> x
    found = linearize(d, inputs=["q.y"], outputs=["q.y", "x.y"], open=["q.y"])
    assert found.B.item() == pytest.approx(8.0)  # d(u^2)/du at u = 4
    assert found.C.ravel() == pytest.approx([4.0, 1.0]) and found.A.item() == 0.0


def test_a_snapshot_is_a_point_of_several_rates_too():
    sim = Simulation(cascade())
    sim.advance(0.1)
    at = linearize(cascade(), inputs=["r.y"], outputs=["p.y"], at=sim.snapshot())
    np.testing.assert_allclose(at.A, linearize(cascade(), inputs=["r.y"], outputs=["p.y"]).A, atol=1e-12)


@pytest.mark.parametrize("first", ["early", "late"])
def test_what_leaves_two_delays_at_one_time_keeps_its_place(first):
    """Sampled at 0 and 0.1 s, delayed by 0.25 and 0.15 s: both arrive 0.05 s into a period of 0.2 s."""
    d = Diagram("d")
    blocks = {"early": (0, 0.25), "late": (0.1, 0.15)}
    for name in (first, *({*blocks} - {first})):
        offset, seconds = blocks[name]
        hold = d.add(f"{name}_hold", Hold(sample=0.2, offset=offset))
        d.connect(d.inport(f"{name}_u"), hold["u"])
        hold >> d.add(name, TransportDelay(seconds)) >> d.add(f"{name}_x", Integrator())
    model = linearize(d, inputs=["early_u", "late_u"], outputs=["early_x.y", "late_x.y"])
    pulse, nothing = np.r_[1.0, np.zeros(5)], np.zeros(6)
    area = np.array([0.0, 0.0, 0.15, 0.2, 0.2, 0.2])  # from 0.05 s into the period after the pulse on
    for inputs in ((pulse, nothing), (nothing, pulse)):
        found = control.forced_response(model, inputs=np.array(inputs)).outputs
        np.testing.assert_allclose(found, np.array([u[0] * area for u in inputs]), atol=1e-12)


def test_components_of_what_is_on_its_way_are_numbered():
    d = Diagram("d")
    for name, size in (("one", 1), ("two", 2)):
        hold = d.add(f"{name}_hold", Hold(sample=0.1))
        d.connect(d.inport(f"{name}_u", size=size), hold["u"])
        hold >> d.add(f"{name}", TransportDelay(0.15)) >> d.add(f"{name}_x", Integrator(np.zeros(size)))
    labels = linearize(d, inputs=["one_u", "two_u"], outputs=["one_x.y", "two_x.y"]).state_labels
    late = [n for n in labels if not n.startswith(("one_x", "two_x"))]
    assert {n.rpartition("_")[0] for n in late} == {"one_past", "two_past[0]", "two_past[1]"}


def test_what_is_sampled_is_where_it_is_in_the_period():
    """x+ = m x at 0, 0.2, ... s, m = 2 + sin(10 pi t + 0.3) at 0.05, 0.15, ...: it reads that of -0.05 s."""

    def fast(b):
        b.output("m", 2.0 + np.sin(10.0 * np.pi * b.time + 0.3), sample="1/10", offset="1/20")

    def slow(b):
        m, x = b.input("m", 1), b.discrete("x", 1.0, "1/5")
        b.update(x, m * x)
        b.output("y", x)

    d = Diagram("d")
    d.connect(d.add("fast", Made(fast))["m"], d.add("slow", Made(slow))["m"])
    model = linearize(d, inputs=[], outputs=["slow.y"])
    poles = model.poles()
    assert poles[np.argmax(np.abs(poles))] == pytest.approx(2.0 - np.cos(0.3))
