"""Equilibria of systems that switch, with the modes of a run that begins there, against hand calculation."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from blocks import (
    Backlash,
    Constant,
    CoulombFriction,
    DeadZone,
    Gain,
    Integrator,
    PlantloopError,
    Sign,
    StickSlip,
    Sum,
    TransportDelay,
)
from cosim import Diagram, Simulation, linearize, simulate, trim
from cosim.analysis.sides import Sides
from cosim.run.context import Context
from plant import Plant
from tests.helpers.decks import body, deck, joint, marker
from tests.helpers.made import Made

G = 9.81


def fed_back(block) -> Diagram:
    """x' = u - f(x)."""
    d = Diagram("fed_back")
    x, f, s = d.add("x", Integrator(0.0)), d.add("f", block), d.add("s", Sum("+-"))
    d.connect(d.inport("u"), s["in1"])
    d.connect(x["y"], f["u"])
    d.connect(f["y"], s["in2"])
    d.connect(s["y"], x["u"])
    return d


@pytest.mark.parametrize(("x", "u"), [(-1.0, -1.5), (2.0, 2.25)])
@pytest.mark.parametrize("guess", [0.7, -4.0])
def test_an_input_that_is_found_decides_the_side_of_a_dead_zone(x, u, guess):
    """x' = f(u) - x; the sides were those of the first guess of u, with which x' is 0 where it is not."""
    d = Diagram("behind")
    f, i, s = d.add("f", DeadZone(-0.5, 0.25)), d.add("x", Integrator(x)), d.add("s", Sum("+-"))
    d.connect(d.inport("u"), f["u"])
    d.connect(f["y"], s["in1"])
    d.connect(i["y"], s["in2"])
    d.connect(s["y"], i["u"])
    point = trim(d, u={"u": guess}, free=["u"], fixed=["x.x"])
    assert point.inputs["u"] == pytest.approx([u])


@pytest.mark.parametrize("guess", [0.0, 3.0, -3.0])
@pytest.mark.parametrize(
    ("block", "u", "x"),
    [
        (DeadZone(-0.5, 0.25), 1.0, 1.25),
        (DeadZone(-0.5, 0.25), -1.0, -1.5),
        (CoulombFriction(1.0, 0.5, sliding=True), 2.0, 2.0),
        (CoulombFriction(1.0, 0.5), -3.0, -4.0),
        (Backlash(1.0), 1.0, 1.5),
    ],
)
def test_branches_are_those_of_the_point_not_of_the_guess(block, u, x, guess):
    """A dead zone from the guess 3 gave -0.5 for -1.5 with residual 0, and no run stayed there."""
    d = fed_back(block)
    point = trim(d, x={"x.x": guess}, u={"u": u})
    assert point.states["x.x"] == pytest.approx([x], abs=1e-9)
    r = simulate(d, 1.0, initial=point.initial, inputs={"u": u}, engine="reference")
    assert np.abs(r["x.y"] - x).max() < 1e-8


def test_where_no_side_has_an_equilibrium_the_error_speaks_of_switches():
    with pytest.raises(PlantloopError, match="no equilibrium found.*other side of a switch"):
        trim(fed_back(Sign()), u={"u": 0.3})


def test_a_mass_is_held_up_to_its_friction():
    """Held by 5 N: 8 N counted as an equilibrium, because it stuck at the start."""
    d = Diagram("held")
    d.connect(d.inport("u"), d.add("mass", StickSlip(2.0, 5.0))["u"])
    assert trim(d, u={"u": 4.9}).states["mass.x"] == pytest.approx([0.0])
    with pytest.raises(PlantloopError, match=r"derivative of state 'mass.w' is 1\.5"):  # (8 - 5) / 2
        trim(d, u={"u": 8.0})


def incline(mu: float, coordinates: str, spring: float = 0.0) -> Diagram:
    """2 kg on a guide that falls by 0.3 rad, with dry friction; input: a force down the guide."""
    s, c = float(np.sin(0.3)), float(np.cos(0.3))
    axes = f'a00="{s!r}" a10="0" a20="{c!r}" a01="0" a11="-1" a21="0" a02="{c!r}" a12="0" a22="{-s!r}"'
    force = (
        '<Force_Vector_OneBody id="{0}" type="ForceOnly" marker_id="21" ref_marker_id="11" '
        'fx_expression="0" fy_expression="0" fz_expression="{1}"/>'
    )
    text = (
        marker(11, 1, axes=axes) + body(2, 2.0, 0.1, 0.0, 0.0, 0.0, "mass") + marker(21, 2, axes=axes)
        + joint(1, "TRANSLATIONAL", 21, 11, "guide")
        + force.format(1, f"-{mu * 2.0 * G * c!r}*SIGN(1,VZ(21,11,11))-{spring}*DZ(21,11,11)")
        + '<Reference_Variable id="1" type="EXPRESSION" expr="0"/>'
        + '<Control_PlantInput id="1" label="F" variable_id_list="1"/>' + force.format(2, "VARVAL(1)")
        + '<Reference_Variable id="2" type="EXPRESSION" expr="DZ(21,11,11)"/>'
        + '<Control_PlantOutput id="1" label="s" variable_id_list="2"/>'
    )  # fmt: skip
    d = Diagram("incline")
    p = d.add("p", Plant.read(deck(text), coordinates=coordinates))
    d.connect(d.inport("F"), p["F"])
    d.outport("s", p["s"])
    return d


@pytest.mark.slow
@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_body_held_by_friction_is_at_rest_where_it_is(coordinates):
    """None was found, because SIGN(0) = 1. tan 0.3 = 0.309: it holds with 0.5, it slides with 0.2."""
    held = incline(0.5, coordinates)
    point = trim(held)
    assert point.outputs["s"] == pytest.approx([0.0], abs=1e-12)
    assert trim(held, free=["F"]).inputs["F"] == pytest.approx([0.0])
    r = simulate(held, 0.5, initial=point.initial, engine="reference")
    assert np.abs(r["s"]).max() < 1e-9
    slides = 2.0 * G * np.sin(0.3)  # N
    friction = 0.5 * 2.0 * G * np.cos(0.3)
    assert trim(held, u={"F": 0.99 * (friction - slides)}).residual < 1e-9
    with pytest.raises(PlantloopError, match="no equilibrium found"):
        trim(held, u={"F": 1.01 * (friction - slides)})
    with pytest.raises(PlantloopError, match="no equilibrium found.*switch"):
        trim(incline(0.2, coordinates))


def test_a_spring_pulls_a_body_to_where_friction_begins_to_hold():
    """From 1 m off: k s = m g sin 0.3 + mu m g cos 0.3, the end of the places where it may rest."""
    d = incline(0.1, "joint", spring=100.0)
    point = trim(d, x={"p.guide.q": 1.0})
    reach = 0.1 * 2.0 * G * np.cos(0.3)
    assert abs(100.0 * point.outputs["s"][0] - 2.0 * G * np.sin(0.3)) <= reach * (1 + 1e-9)
    r = simulate(d, 0.5, initial=point.initial, engine="reference")
    assert np.abs(r["s"] - point.outputs["s"]).max() < 1e-9


@pytest.mark.parametrize("coordinates", ["joint", "absolute"])
def test_a_linear_model_of_a_held_body_is_that_of_a_held_body(coordinates):
    """It was that of a body that slides: the spring pulled, the input pushed, at -+sqrt(100 / 2) i."""
    d = incline(0.5, coordinates, spring=100.0)
    held = [linearize(d, at=at) for at in (None, trim(d), {"F": 2.0})]
    simulation = Simulation(d, engine="reference")
    simulation.advance(0.1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it creeps by rounding: no motion that the model would depend on
        held.append(linearize(d, at=simulation.snapshot()))
    for m in held:
        assert m.A.tolist() == [[0.0, 1.0], [0.0, 0.0]]
        assert not m.B.any() and np.abs(m.C[0, 0]) > 0.9
    m = linearize(d, at={"F": 20.0})
    assert m.poles().imag == pytest.approx([50**0.5, -(50**0.5)])
    assert (m.C @ m.A @ m.B).item() == pytest.approx(0.5)


@pytest.mark.parametrize(("u", "gain"), [(1.0, 0.0), (-1.0, 1.0)])
def test_a_linear_model_at_a_limit_is_that_of_a_run_that_begins_there(u, gain):
    """An integrator at its limit stays there while it is pushed against it."""
    d = Diagram("limited")
    d.connect(d.inport("u"), d.add("i", Integrator(1.0, high=1.0))["u"])
    assert linearize(d, at={"u": u}).B.tolist() == [[gain]]
    assert linearize(d, at={"u": u, "i.x": 0.5}).B.tolist() == [[1.0]]


@pytest.mark.parametrize("guess", [0.0, 3.0, -3.0])
@pytest.mark.parametrize(("block", "u", "x"), [(DeadZone(-0.5, 0.25), -1.0, -1.5), (Backlash(1.0), 1.0, 1.5)])
def test_switches_behind_a_delay_are_those_of_the_point(block, u, x, guess):
    """They were those of the guess: a dead zone from 3 gave -0.5, and no rest was found from within it."""
    d = fed_back(block)
    d.add("late", TransportDelay(0.2, initial=-7.0))
    d.disconnect("f.u")
    d.connect("x.y", "late.u")
    d.connect("late.y", "f.u")
    assert trim(d, x={"x.x": guess}, u={"u": u}).states["x.x"] == pytest.approx([x], abs=1e-9)


def test_an_opened_loop_holds_its_value_while_switches_are_found():
    """An integrator pushed against its limit by an opened signal: it was free, as if nothing pushed."""
    d = Diagram("opened")
    d.add("one", Constant(1.0))
    d.add("push", Gain(1.0))
    d.add("i", Integrator(1.0, high=1.0))
    d.connect("one.y", "push.u")
    d.connect("push.y", "i.u")
    assert linearize(d, ["push.y"], ["i.y"], open=["push.y"]).B.tolist() == [[0.0]]


def test_a_system_without_modes_has_no_sides():
    system = fed_back(Gain(1.0)).system()
    sides = Sides(system, Context.initial(system))
    assert not (sides.several or sides.open or sides.find())


def test_what_trim_calls_is_made_once_and_for_each_look_at_the_sides_and_closed():
    """A function with an instance beside a dead zone; every evaluation made one, and none was closed."""
    living, made = [], []

    class Own:
        def __init__(self):
            living.append(self)
            made.append(1)

        def close(self):
            living.remove(self)

    def equations(b):
        u, x = b.input("u", 1), b.continuous("x", 3.0)
        late = b.opaque("f", lambda own, t, v: 2.0 * v, x, 1, make=Own)
        b.derivative(x, u - b.where_event(late - 0.5, late - 0.5, 0.0 * late))
        b.output("y", x)

    d = Diagram("d")
    d.connect(d.inport("u"), d.add("it", Made(equations))["u"])
    assert trim(d, u={"u": 1.0}).states["it.x"] == pytest.approx([0.75])
    assert not living and len(made) <= 6
