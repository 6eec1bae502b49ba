"""Linear models against analytic ones and against the simulation they stand for."""

from dataclasses import dataclass
from fractions import Fraction

import control
import numpy as np
import pytest
import scipy.signal

from blocks import (
    Block,
    Clock,
    Constant,
    DiscreteStateSpace,
    Function,
    Gain,
    Hold,
    Integrator,
    PlantloopError,
    PythonFunction,
    Sine,
    StateFeedback,
    StateSpace,
    Step,
    Sum,
    TransferFunction,
    TransportDelay,
    UnitDelay,
)
from blocks.contract.declared import PortHold
from blocks.contract.memories import DiscreteState
from cosim import Diagram, linearize, trim
from tests.helpers.checked import closed_form, independent
from tests.helpers.linearised import Pendulum, Spacecraft
from tests.helpers.made import Made
from tests.helpers.runs import Simulation, build, simulate

A, B = np.array([[0.0, 1.0], [-4.0, -0.4]]), np.array([[0.0], [4.0]])
C, D = np.array([[1.0, 0.0]]), np.zeros((1, 1))
K = np.array([[0.3, 0.2]])


DISCRETE = independent("scipy.signal.cont2discrete")


def matrices(ss):
    return ss.A, ss.B, ss.C, ss.D


def same(ss, *expected, **tolerance):
    for got, wanted in zip(matrices(ss), expected, strict=True):
        np.testing.assert_allclose(got, wanted, **({"rtol": 1e-14, "atol": 1e-14} | tolerance))


# --- continuous models
def test_a_linear_block_gives_its_own_matrices():
    ss = linearize(StateSpace(A, B, C, [[3.0]]))
    assert isinstance(ss, control.StateSpace) and ss.dt == 0
    same(ss, A, B, C, [[3.0]])


def test_a_transfer_function_has_its_poles_and_zeros(checked):
    ss = linearize(TransferFunction([1.0, 3.0], [1.0, 0.4, 4.0]))
    tf = control.tf([1.0, 3.0], [1.0, 0.4, 4.0])
    w = np.array([0.1, 1.0, 2.0, 10.0])
    checked(
        ss(1j * w),
        tf(1j * w),
        "transfer function",
        "frequency response",
        independent("python-control"),
        rtol=1e-12,
    )


@pytest.mark.parametrize("q", [0.0, 0.7, np.pi])
def test_a_nonlinear_block_about_a_point(checked, q):
    ss = linearize(Pendulum(), at={"q": q})
    same(ss, [[0, 1], [-9.81 * np.cos(q), -0.5]], [[0], [1]], [[1, 0], [np.sin(q), 0]], [[0], [0]])
    law = closed_form("-g cos q, -c")
    checked(ss.A[1], [-9.81 * np.cos(q), -0.5], "pendulum", "linear model", law, atol=1e-14, rtol=1e-14)


def test_parameters_and_inputs_of_the_point():
    ss = linearize(Function(lambda u, v: u**2 * v), at={"u": 3.0, "v": 5.0})
    same(ss, np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), [[30.0, 9.0]])
    ss = linearize(Pendulum(), parameters={"friction": 2.0, "g": 1.0})
    assert ss.A[1].tolist() == [-1.0, -2.0]


def test_names_are_kept():
    ss = linearize(Pendulum())
    assert ss.state_labels == ["q", "v"]
    assert ss.input_labels == ["u"] and ss.output_labels == ["angle", "height"]
    ss = linearize(StateSpace(A, B, np.eye(2)))
    assert ss.state_labels == ["x[0]", "x[1]"] and ss.output_labels == ["y[0]", "y[1]"]


def test_coordinates_come_before_rates_and_controllers_last():
    d = build("p.angle>i.u i.y>p.u", i=Integrator(), p=Pendulum())
    assert linearize(d).state_labels == ["p_q", "p_v", "i_x"]


def closed_loop():
    blocks = {"p": StateSpace(A, B, np.eye(2)), "k": StateFeedback(K), "push": Step(1.0), "s": Sum("++")}
    return build("p.y>k.x k.u>s.in1 push.y>s.in2 s.y>p.u", **blocks)


def test_a_diagram_perturbed_at_the_output_of_a_block():
    ss = linearize(closed_loop(), inputs=["push.y"], outputs=["p.y", "k.u"])
    same(ss, A - B @ K, B, np.vstack([np.eye(2), -K]), np.zeros((3, 1)))
    assert ss.input_labels == ["push_y"] and ss.output_labels == ["p_y[0]", "p_y[1]", "k_u"]
    assert ss.state_labels == ["p_x[0]", "p_x[1]"]


def test_a_perturbation_goes_where_the_signal_goes_and_shows_in_the_signal():
    ss = linearize(closed_loop(), inputs=["k.u"], outputs=["k.u", "s.y"])
    same(ss, A - B @ K, B, np.vstack([-K, -K]), [[1.0], [1.0]])


def test_inports_and_outports_are_the_default():
    d = Diagram("d")
    d.connect(d.inport("force"), d.add("p", StateSpace(A, B, C))["u"])
    d.outport("position", "p.y")
    ss = linearize(d)
    same(ss, A, B, C, D)
    assert (ss.input_labels, ss.output_labels) == (["force"], ["position"])


def test_a_model_at_a_snapshot():
    d = build(
        "push.y>f.u f.y>p.u", push=Step(1.0, after=2.0), f=Function(lambda u: u**3), p=StateSpace(A, B, C)
    )
    sim = Simulation(d)
    sim.advance(1.5)
    ss = linearize(d, inputs=["push.y"], outputs=["p.y"], at=sim.snapshot())
    same(ss, A, 12.0 * B, C, D)


def test_a_snapshot_of_a_sampled_diagram_stays_what_it_is_when_a_signal_is_perturbed():
    blocks = {
        "push": Constant(1.0),
        "f": Function(lambda u: u**3),
        "h": Hold(sample=0.1),
        "p": StateSpace(A, B, C),
    }
    d = build("push.y>f.u f.y>h.u h.y>p.u", **blocks)
    sim = Simulation(d)
    sim.advance(2.05)
    ss = linearize(d, inputs=["push.y"], outputs=["p.y"], at=sim.snapshot())
    Ad, Bd, *_ = scipy.signal.cont2discrete((A, B, C, D), 0.1)
    same(ss, Ad, 3.0 * Bd, C, D, rtol=1e-12)


def test_the_operating_point_of_a_block_fits_a_diagram_that_calls_it_plant():
    pendulum = Pendulum()
    op = trim(pendulum, u={"u": 3.0})
    d = build("c.y>plant.u", c=Constant(3.0), plant=pendulum)
    in_diagram = linearize(d, inputs=["c.y"], outputs=["plant.angle", "plant.height"], at=op)
    same(in_diagram, *matrices(linearize(pendulum, at=op)))


def test_a_block_with_implicit_unknowns():
    @dataclass(frozen=True)
    class Implicit(Block):
        """z + z^3 = u + x, x' = -z."""

        def define(self, b):
            u = b.input("u", size=1)
            x = b.continuous("x", 1.0)
            z = b.algebraic("z", 0.5)
            b.residual(z + z**3 - u - x)
            b.derivative(x, -z)
            b.output("y", z)

    ss = linearize(Implicit(), at={"x": 1.0, "u": 1.0})  # z = 1: dz = (dx + du)/4
    same(ss, [[-0.25]], [[-0.25]], [[0.25]], [[0.25]], rtol=1e-12)
    op = trim(Implicit(), u={"u": 0.5})
    assert op.states["x"].item() == pytest.approx(-0.5) and op.outputs["y"].item() == pytest.approx(0.0)


# --- minimal states
def test_a_quaternion_contributes_three_small_rotations():
    ss = linearize(Spacecraft())
    assert ss.state_labels == ["q[1]", "q[2]", "q[3]", "w[0]", "w[1]", "w[2]"]
    expected = np.zeros((6, 6))
    expected[:3, 3:] = 0.5 * np.eye(3)
    inertia = np.vstack([np.zeros((3, 3)), np.diag([1, 1 / 2, 1 / 3])])
    shown = np.vstack([np.zeros((1, 6)), np.eye(3, 6)])
    same(ss, expected, inertia, shown, np.zeros((4, 3)))


def test_all_states_on_request():
    ss = linearize(Spacecraft(), states="full")
    assert ss.A.shape == (7, 7) and ss.state_labels[:4] == ["q[0]", "q[1]", "q[2]", "q[3]"]


@pytest.mark.parametrize("seed", range(4))
def test_a_minimal_model_has_the_response_of_the_full_one_in_any_attitude_at_rest(seed):
    q = np.random.default_rng(seed).normal(size=4)
    at = {"q": q / np.linalg.norm(q)}
    full, minimal = (linearize(Spacecraft(), at=at, states=states) for states in ("full", "minimal"))
    assert minimal.A.shape == (6, 6)
    np.testing.assert_allclose(minimal(2j), full(2j), rtol=1e-9, atol=1e-12)


# --- exact discrete models
def test_a_plant_behind_a_hold_is_the_textbook_discretisation(checked):
    d = build("", h=Hold(sample=0.1), p=StateSpace(A, B, C))
    d.connect(d.inport("u"), "h.u")
    d.connect("h.y", "p.u")
    d.outport("y", "p.y")
    ss = linearize(d)
    assert ss.dt == 0.1
    for name, found, wanted in zip(
        "ABCD", matrices(ss), scipy.signal.cont2discrete((A, B, C, D), 0.1), strict=False
    ):
        checked(
            found, wanted, "oscillator behind a hold", f"discrete {name}", DISCRETE, rtol=1e-13, atol=1e-14
        )


def test_poles_of_a_sampled_loop(checked):
    blocks = {"p": StateSpace(A, B, np.eye(2)), "k": StateFeedback(K, sample=0.1)}
    ss = linearize(build("p.y>k.x k.u>p.u", **blocks))
    Ad, Bd, *_ = scipy.signal.cont2discrete((A, B, C, D), 0.1)
    poles = np.sort(np.linalg.eigvals(Ad - Bd @ K))
    checked(np.sort(ss.poles()), poles, "sampled state feedback", "poles", DISCRETE, rtol=1e-12)
    assert ss.state_labels == ["p_x[0]", "p_x[1]"]


def test_a_delay_adds_its_state(checked):
    blocks = {"p": StateSpace(A, B, np.eye(2)), "k": StateFeedback(K, sample=0.1), "z": UnitDelay(0.1)}
    ss = linearize(build("p.y>k.x k.u>z.u z.y>p.u", **blocks))
    Ad, Bd, *_ = scipy.signal.cont2discrete((A, B, C, D), 0.1)
    expected = np.block([[Ad, Bd], [-K, np.zeros((1, 1))]])
    assert ss.state_labels == ["p_x[0]", "p_x[1]", "z_x"]
    checked(ss.A, expected, "sampled state feedback with a delay", "discrete A", DISCRETE, rtol=1e-13)


def test_sampled_blocks_alone():
    dss = DiscreteStateSpace([[0.5, 0.1], [0.0, 0.8]], [[1.0], [2.0]], [[1.0, 1.0]], [[3.0]], sample=0.2)
    ss = linearize(dss)
    assert ss.dt == 0.2
    same(ss, dss.A, dss.B, dss.C, dss.D)


@dataclass(frozen=True)
class Plant(Block):
    """A linear plant whose input port extrapolates."""

    order: int
    offset: Fraction = Fraction(0)

    def define(self, b):
        u = b.input("u", size=1, hold=PortHold(Fraction(1, 10), self.offset, self.order, "test"))
        x = b.continuous("x", [1.0, -0.5])
        b.derivative(x, A @ x + B @ u)
        b.output("y", x)


def sampled_loop(order, offset=Fraction(0), controller=None):
    """State feedback through a hold; all at one rate."""
    blocks = {"p": Plant(order, offset), "k": controller or StateFeedback(K, sample="1/10", offset=offset)}
    return build("p.y>k.x k.u>p.u", **blocks)


def before_ticks(d, n):
    """States just before tick k by the names of the linear model, k = 1 ... n."""
    sim = Simulation(d, solver="dopri5", rtol=1e-12, atol=1e-14)
    names = [(name, "x", slot) for name, slot in sim.system.states.items()]
    names += [(name, "next", slot) for name, slot in sim.system.held_of(DiscreteState).items()]
    found, held = [], None
    for _ in range(n + 1):
        sim.step()
        state = sim.snapshot()
        values = {"x": state.x, "next": held}  # of the discrete states: what the tick before has written
        if held is not None:
            found.append({
                name.replace(".", "_") + (f"[{k}]" if slot.size > 1 else ""): values[vector][place]
                for name, vector, slot in names
                for k, place in enumerate(slot.index)
            })  # fmt: skip
        held = state.next.copy()
    return found


@pytest.mark.parametrize("offset", [Fraction(0), Fraction(1, 30)])
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_the_discrete_model_is_what_the_simulation_does_from_tick_to_tick(order, offset):
    d = sampled_loop(order, offset)
    ss = linearize(d)
    assert ss.dt == 0.1 and len(ss.A) == 2 + order
    states = before_ticks(d, order + 6)
    z = np.array([[state[name] for name in ss.state_labels] for state in states])
    full = z[order:]  # from here on the hold has all the samples it wants
    np.testing.assert_allclose(full[1:], full[:-1] @ ss.A.T, rtol=1e-9, atol=1e-12)


def test_the_discrete_model_of_a_loop_with_a_controller_with_states():
    observer = DiscreteStateSpace([[0.5, 0.1], [-0.1, 0.3]], 0.2 * np.eye(2), [[0.4, 0.1]], K, sample="1/10")
    blocks = {"p": Plant(1), "k": observer}
    d = build("p.y>k.u k.y>p.u", **blocks)
    ss = linearize(d)
    states = before_ticks(d, 8)
    z = np.array([[state[name] for name in ss.state_labels] for state in states])
    assert z.shape[1] == 5
    np.testing.assert_allclose(z[2:], z[1:-1] @ ss.A.T, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("order", [1, 2])
def test_a_nonlinear_plant_is_linearised_at_the_input_its_hold_has_come_to(order):
    @dataclass(frozen=True)
    class Cubic(Block):
        def define(self, b):
            u = b.input("u", size=1, hold=PortHold(Fraction(1, 10), Fraction(0), order, "test"))
            x = b.continuous("x", 8.0)
            b.derivative(x, u**3 - x)
            b.output("y", x)

    d = build("c.y>p.u", c=Constant(2.0), p=Cubic())
    ss = linearize(d, inputs=["c.y"], outputs=["p.y"])
    sim = Simulation(d, rtol=1e-12, atol=1e-14)
    sim.advance(1.0)  # at rest: x = 8 = 2^3
    same(linearize(d, inputs=["c.y"], outputs=["p.y"], at=sim.snapshot()), *matrices(ss), rtol=1e-9)
    assert ss(1.0 + 0j).item() == pytest.approx(12.0)  # gain at z = 1: dy/du of y = u^3


def test_inputs_of_a_discrete_model_are_held_from_tick_to_tick(checked):
    d = build("", h=Hold(1, sample=0.1), p=StateSpace(A, B, C))
    d.connect(d.inport("u"), "h.u")
    d.connect("h.y", "p.u")
    d.outport("y", "p.y")
    ss = linearize(d)
    sim = Simulation(d, rtol=1e-12, atol=1e-14)
    sim.advance(0.95)  # the history of the hold is full
    inputs, outputs = np.array([1.0, -2.0, 0.5, 3.0, 0.0, 0.0]), []
    for u in inputs:
        sim.set_input("u", u)
        outputs.append(float(sim.step() and sim.value("p.y").item()))
    response = control.forced_response(ss, T=np.arange(6) * 0.1, U=inputs)
    expected, other = np.ravel(response.outputs), independent("python-control, forced_response")
    checked(
        outputs, expected, "oscillator behind a first-order hold", "response", other, rtol=1e-9, atol=1e-12
    )


def test_a_sampled_source_is_an_input_like_any_other():
    d = build("s.y>p.u", s=Sine(sample=0.1), p=StateSpace(A, B, C))
    ss = linearize(d, inputs=["s.y"], outputs=["p.y"])
    assert ss.dt == 0.1 and ss.ninputs == 1


# --- what has no linear model
@pytest.mark.parametrize(
    ("d", "options", "text"),
    [
        (
            build("", a=Sine(sample="1/99991"), b=Sine(sample="1/99989")),
            {},
            r"rates of 'd' \(99991 Hz, 99989 Hz\) have 199980 ticks in their common period of 1 s",
        ),
        (closed_loop(), {"open": ["p.u"]}, "'p.u' is an input; a loop is opened at an output"),
        (closed_loop(), {"pade": 0}, "pade is 0, expected a number of states from 1 to 20"),
        (PythonFunction(lambda t, u: u, sample=0.1), {}, "'plant' is an opaque Python function"),
        (Pendulum(), {"inputs": ["v"]}, "no input 'v'; there is 'u'"),
        (Pendulum(), {"outputs": ["angel"]}, "no signal 'angel'"),
        (closed_loop(), {"inputs": ["push.u"]}, "no port 'push.u' to perturb; did you mean 'push.y'"),
        (closed_loop(), {"outputs": ["p.z"]}, "'d' has no signal 'p.z'; did you mean 'p.y'?"),
        (Pendulum(), {"at": {"p": 1.0}}, "has no state 'p'"),
        (Pendulum(), {"at": {"q": [1.0, 2.0]}}, "got 2 numbers, expected 1"),
        (Pendulum(), {"at": 3.0}, "at is 3.0, expected an OperatingPoint, a snapshot or values by name"),
        (Pendulum(), {"parameters": {"mass": 3.0}}, "has no parameter 'mass'"),
        ({}, {}, "expected a Block or a Diagram, got dict"),
    ],
)
def test_what_cannot_be_linearised_says_why(d, options, text):
    with pytest.raises(PlantloopError, match=text):
        linearize(d, **options)


def test_a_snapshot_of_another_diagram_is_refused():
    other = Simulation(build("", c=Clock())).snapshot()
    with pytest.raises(PlantloopError, match="this snapshot was taken of another diagram"):
        linearize(closed_loop(), at=other)


def test_gain_and_constant_give_a_static_model():
    same(linearize(Gain([[1.0, 2.0]])), np.zeros((0, 0)), np.zeros((0, 2)), np.zeros((1, 0)), [[1.0, 2.0]])


# --- ports of subsystems ------------------------------------------------------------------------------------
def nested() -> Diagram:
    """x' = (2 + 3) u in a subsystem in a subsystem, u = -x outside."""
    inner = Diagram("inner")
    u = inner.inport("u")
    two, three = inner.add("two", Gain(2.0)), inner.add("three", Gain(3.0))
    both, x = inner.add("both", Sum("++")), inner.add("x", Integrator(1.0))
    for gain, port in ((two, "in1"), (three, "in2")):
        inner.connect(u, gain["u"])
        inner.connect(gain["y"], both[port])
    inner.connect(both["y"], x["u"])
    inner.outport("y", x["y"])
    arm = Diagram("arm")
    node = arm.add("inner", inner)
    arm.connect(arm.inport("v"), node["u"])
    arm.outport("w", node["y"])
    d = Diagram("nested")
    a, k = d.add("arm", arm), d.add("k", Gain(-1.0))
    d.connect(a["w"], k["u"])
    d.connect(k["y"], a["v"])
    return d


@pytest.mark.parametrize("name", ["arm.v", "arm/inner.u"])
def test_an_input_of_a_subsystem_reaches_all_that_it_drives(name):
    ss = linearize(nested(), inputs=[name], outputs=["arm.w", "k.y"])
    assert [ss.A.item(), ss.B.item()] == pytest.approx([-5, 5])
    assert ss.C.ravel().tolist() == [1.0, -1.0] and not ss.D.any()


@pytest.mark.parametrize("name", ["arm.w", "arm/inner.y", "arm/inner/x.y"])
def test_an_output_of_a_subsystem_is_that_of_the_block_behind(name):
    ss = linearize(nested(), inputs=[name], outputs=["k.y"])
    assert [m.item() for m in (ss.A, ss.B, ss.C, ss.D)] == pytest.approx([-5, -5, -1, -1])


def test_results_know_the_outputs_of_subsystems():
    r = simulate(nested(), 1.0, signals=["arm.w"])
    assert r["arm.w"][-1] == pytest.approx(np.exp(-5.0), rel=1e-6)
    assert list(r) == ["arm/inner/x.y"]


def test_a_wrong_port_of_a_subsystem_has_a_near_miss():
    with pytest.raises(PlantloopError, match=r"no port 'arm\.vv' to perturb; did you mean 'arm\.v'"):
        linearize(nested(), inputs=["arm.vv"], outputs=["arm.w"])


def test_the_name_of_a_block_offers_its_outputs():
    """It said that there were no inputs at all."""
    d = Diagram("loop")
    d.add("r", Constant(1.0)) >> d.add("p", TransferFunction([1.0], [1.0, 2.0]))
    with pytest.raises(PlantloopError, match=r"no input 'r': it is a block. .*write 'r\.y'"):
        linearize(d, "r", "p.y")
    with pytest.raises(PlantloopError, match=r"no signal 'p'.*'p\.y'"):
        linearize(d, "r.y", "p")
    with pytest.raises(PlantloopError, match="no input 'q'; there are none"):
        linearize(d, "q", "p.y")
    assert linearize(d, "r.y", "p.y").A[0, 0] == -2.0


def test_a_model_without_inputs_has_matrices_without_columns():
    d = Diagram("free")
    d.add("x", Integrator(1.0)) >> d.add("k", Gain(-2.0)) >> d["x"]
    model = linearize(d, inputs=[], outputs=["x.y", "k.y"])
    assert (model.B.shape, model.D.shape, model.ninputs) == ((1, 0), (2, 0), 0)
    assert model.A.tolist() == [[-2.0]] and model.C.ravel().tolist() == [1.0, -2.0]


def test_the_handle_of_a_subsystem_stands_for_it_with_its_parameters():
    """x' = -k x + u with k = 2 inside and 5 given; a block's handle is the block."""
    inner = Diagram("inner")
    k = inner.parameter("k", 2.0)
    s, x, g = inner.add("s", Sum("+-")), inner.add("x", Integrator()), inner.add("g", Gain(k))
    inner.connect(inner.inport("u"), s["in1"])
    inner.connect(g["y"], s["in2"])
    s >> x >> g
    inner.outport("y", x["y"])
    d = Diagram("outer")
    handles = d.add("own", inner), d.add("given", inner, parameters={"k": 5.0}), d.add("gain", Gain(7.0))
    assert [linearize(h).A.tolist() for h in handles[:2]] == [[[-2.0]], [[-5.0]]]
    assert linearize(handles[2]).D.tolist() == [[7.0]]


@pytest.mark.parametrize("t", [0.0, 2.0])
def test_a_model_with_a_delay_is_that_of_its_time(t):
    """x' = -(1 + t) x(t - 0.1) + u: the slope through the delay is -(1 + t), for whichever approximant."""

    def equations(b):
        u, seen, x = b.input("u", 1), b.input("seen", 1), b.continuous("x", 1.0)
        b.derivative(x, -(1.0 + b.time) * seen + u)
        b.output("y", x)

    d = Diagram("d")
    it, late = d.add("it", Made(equations)), d.add("late", TransportDelay(0.1))
    d.connect(d.inport("u"), it["u"])
    d.connect(it["y"], late["u"])
    d.connect(late["y"], it["seen"])
    at = None
    if t:
        run = Simulation(d, engine="reference")
        run.advance(t)
        at = run.snapshot()
    model = linearize(d, inputs=["u"], outputs=["it.y"], at=at, pade=3)
    s, p = 0.7j, control.pade(0.1, 3)
    delay = np.polyval(p[0], s) / np.polyval(p[1], s)
    assert model(s) == pytest.approx(1.0 / (s + (1.0 + t) * delay), rel=1e-9)
