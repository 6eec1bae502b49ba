"""Linear models whose states were drawn in another order, depend on each other, or remember samples."""

import itertools

import control
import numpy as np
import pytest

from blocks import Function, Hold, Integrator, StateSpace, Sum, TransportDelay
from cosim import Diagram, linearize
from plant import Plant
from plant.elements import Control_PlantInput, Control_PlantOutput, Reference_Variable
from tests.helpers.made import Made
from tests.helpers.runs import Simulation, build
from tests.helpers.slider import PUSH, on_rail


def oscillator(b):
    """q'' = -4 q - 0.4 q' + 4 u, a coordinate and its rate."""
    u = b.input("u", size=1)
    q, v = b.continuous("q", 0.0), b.continuous("v", 0.0, static="zero")
    b.derivative(q, v)
    b.derivative(v, 4.0 * u - 4.0 * q - 0.4 * v)
    b.output("q", q)
    b.output("v", v)


def test_every_matrix_follows_its_states_when_a_controller_was_drawn_first():
    """q'' = -4 q - 0.4 q' + 4 (u + x), x' = -q + u, in the order of the states whatever was drawn first."""
    blocks = {"i": Integrator(), "p": Made(oscillator), "a": Sum("++"), "e": Sum("-+")}
    wires = "p.q>e.in1 e.y>i.u i.y>a.in1 a.y>p.u"
    expected_a = [[0.0, 1.0, 0.0], [-4.0, -0.4, 4.0], [-1.0, 0.0, 0.0]]
    for names in itertools.permutations(blocks):
        d = build(wires, **{name: blocks[name] for name in names})
        u = d.inport("u")
        d.connect(u, "a.in2")
        d.connect(u, "e.in2")
        ss = linearize(d, outputs=["p.q", "p.v", "i.y", "a.y"])
        assert ss.state_labels == ["p_q", "p_v", "i_x"]
        c = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
        expected = (expected_a, [[0.0], [4.0], [1.0]], c, [[0.0], [0.0], [0.0], [1.0]])
        for found, wanted in zip((ss.A, ss.B, ss.C, ss.D), expected, strict=True):
            np.testing.assert_allclose(found, wanted, rtol=1e-14, atol=1e-14)


def test_invariants_of_any_scale_take_their_directions_away():
    """x = y and 1e-12 (z - 2 w) = 0 are two conditions, whatever the numbers they are written with."""

    def equations(b):
        u = b.input("u", size=1)
        x = b.continuous("x", [0.0, 0.0, 0.0, 0.0])
        b.derivative(x, np.stack([u[0], u[0], 2.0 * x[0], x[0] + 0.0 * u[0]]))
        b.invariant(np.stack([1e6 * (x[0] - x[1]), 1e-12 * (x[2] - 2.0 * x[3])]))
        b.output("y", np.stack([x[1], x[3]]))

    ss = linearize(Made(equations))
    assert ss.nstates == 2
    found = ss(1j * 2.0)  # 1/s and 1/s^2
    np.testing.assert_allclose(found[:, 0] if found.ndim > 1 else found, [1 / 2j, -1 / 4], rtol=1e-12)


def test_a_snapshot_keeps_the_samples_its_hold_has_taken():
    """x' = u(s)^2 with u(s) = u + s (u - v)/T: the tick of the snapshot sampled 3, the one before it 1."""
    d = build(
        "h.y>f.u f.y>p.u",
        h=Hold(1, sample="1/10"), f=Function(lambda u: u**2), p=StateSpace([[0.0]], [[1.0]], [[1.0]]),
    )  # fmt: skip
    d.connect(d.inport("u"), "h.u")
    d.outport("y", "p.y")
    sim = Simulation(d)
    sim.set_input("u", 1.0)
    sim.advance(1.95)
    sim.set_input("u", 3.0)
    for until, u, v in ((2.05, 3.0, 1.0), (2.15, 3.0, 3.0)):
        sim.advance(until)
        ss = linearize(d, at=sim.snapshot())
        first, second = u + (u - v) / 2, u / 2 + (u - v) / 3  # integrals of u(s), and of u(s) s/T, over T
        np.testing.assert_allclose(ss.A, [[1.0, -0.2 * second], [0.0, 0.0]], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(ss.B, [[0.2 * (first + second)], [1.0]], rtol=1e-12)


def test_states_that_are_tied_stand_beside_those_of_a_delay():
    """2 kg on a rail in absolute coordinates, where two of 13 states are free, pushed late: 1 / (m s^2)."""
    push = Reference_Variable(id=1, expr="0")
    shown = Reference_Variable(id=2, expr="DX(20,10)")
    ports = (
        Control_PlantInput(id=1, label="F", variable_id_list=(1,)),
        Control_PlantOutput(id=1, label="x", variable_id_list=(2,)),
    )
    d = Diagram("d")
    rail = d.add("rail", Plant.from_model(on_rail(push, shown, PUSH, *ports), coordinates="absolute"))
    d.connect(d.inport("u"), d.add("late", TransportDelay(0.1))["u"])
    d.connect(d["late"]["y"], rail["F"])
    model = linearize(d, inputs=["u"], outputs=["rail.x"], pade=2)
    s, (above, below) = 0.7j, control.pade(0.1, 2)
    assert model.nstates == 4
    assert model(s) == pytest.approx(np.polyval(above, s) / np.polyval(below, s) / (2.0 * s * s), rel=1e-9)
