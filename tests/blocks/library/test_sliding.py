"""Signs and friction that slide on their switch: Filippov's equivalent value against closed forms."""

import casadi as ca
import numpy as np
import pytest

from blocks import (
    Constant,
    CoulombFriction,
    Demux,
    Gain,
    Integrator,
    Mux,
    Sign,
    Sine,
    StateSpace,
    StickSlip,
    Sum,
    Switch,
)
from blocks.contract.trace import trace
from blocks.errors import BlockError, SimulationError
from cosim import Diagram, Simulation, simulate

ENGINES = pytest.mark.parametrize("engine", ["reference", "native"])


def braked(sign, force, start=1.0, signs="-+"):
    """x' = force - sign(x)."""
    d = Diagram("braked")
    d.add("x", Integrator(initial=start))
    d.add("sign", sign)
    d.add("force", force)
    d.add("sum", Sum(signs))
    d.connect("x.y -> sign.u", "sign.y -> sum.in1", "force.y -> sum.in2", "sum.y -> x.u")
    return d


@ENGINES
def test_the_equivalent_value_is_the_force_until_it_is_too_large(engine):
    """x' = 1.5 sin t - sign(x): it leaves 0 where 1.5 sin t = 1, on the side the force points to."""
    r = simulate(braked(Sign(sliding=True), Sine(1.5, 1.0)), until=10.0, engine=engine, log_every=0.01)
    away = np.arcsin(1 / 1.5)
    found = {name: [e.time for e in r.events if e.name == f"sign.{name} 0"] for name in ("meets", "leaves")}
    assert found["leaves"] == pytest.approx([np.pi + away, 2 * np.pi + away], abs=1e-7)
    first, second, third = found["meets"]
    assert 1.0 + 1.5 * (1 - np.cos(first)) - first == pytest.approx(0.0, abs=1e-7)
    slides = np.zeros(len(r.time), dtype=bool)
    for begin, end in ((first, found["leaves"][0]), (second, found["leaves"][1]), (third, 10.0)):
        slides |= (r.time > begin) & (r.time < end)
    assert np.abs(r["x.y"][slides]).max() < 1e-9
    assert r["sign.y"][slides, 0] == pytest.approx(1.5 * np.sin(r.time[slides]), abs=1e-9)
    apart = ~slides & (np.abs(r["x.y"][:, 0]) > 1e-6)
    assert r["sign.y"][apart, 0].tolist() == np.sign(r["x.y"][apart, 0]).tolist()


@pytest.mark.parametrize(
    ("u", "s", "side", "drift"),
    [
        (0.0, 1.0, 1.0, 1e-10), (0.0, -1.0, -1.0, 1e-10),  # to the side the force points to
        (5e-9, 1.0, 1.0, 1e-10), (-5e-9, -1.0, -1.0, 1e-10),
        (-5e-9, 1.0, 1.0, 1e-10 + 5e-9), (5e-9, -1.0, -1.0, 1e-10 + 5e-9),  # by rounding on the other side
        (2e-6, -0.5, 1.0, 1e-10), (-2e-6, 0.5, -1.0, 1e-10),  # a jump beyond 1e-6: where it went to
    ],
)  # fmt: skip
def test_which_side_a_switch_leaves_zero_to(u, s, side, drift):
    """And how far back it goes before it meets 0 again."""
    declared = trace(Sign(sliding=True), {"u": 1}).declared
    leaves = next(e for e in declared.events if e.name.startswith("leaves 0"))
    names = dict(leaves.resets) | {"crossing": leaves.crossing}
    symbols = ca.symvar(ca.vertcat(*names.values()))
    known = [{"u": u, "s": s, "side": 0.0}[symbol.name()] for symbol in symbols]
    found = ca.Function("found", symbols, list(names.values())).call([ca.DM(v) for v in known])
    assert dict(zip(names, map(float, found), strict=True)) == {
        "side": side, "drift": drift, "crossing": max(abs(s) - 1.0, abs(u) - 1e-6)
    }  # fmt: skip


@pytest.mark.slow
@ENGINES
def test_a_sliding_mode_follows_its_line_exactly(engine):
    """x'' = -2 sign(x + x'): once on the line, x' = -x, x = x0 exp(-(t - t0)) and x'' = x."""
    d = Diagram("sliding mode")
    d.add("x", StateSpace([[0, 1], [0, 0]], [[0], [1]], np.eye(2), initial=[1.0, 0.0]))
    d.add("line", Gain([[1.0, 1.0]]))
    d.add("sign", Sign(sliding=True))
    d.add("u", Gain(-2.0))
    d.connect("x.y -> line.u", "line.y -> sign.u", "sign.y -> u.u", "u.y -> x.u")
    r = simulate(d, until=4.0, engine=engine, log_every=0.01, rtol=1e-11, atol=1e-13)
    begin = r.events[0].time
    assert begin == pytest.approx(np.sqrt(2.0) - 1.0, abs=1e-9)  # 1 - t^2 - 2 t = 0
    after = r.time > begin
    start = 1.0 - begin**2
    exact = start * np.exp(-(r.time[after] - begin))
    assert r["x.y"][after, 0] == pytest.approx(exact, abs=1e-8)
    assert r["u.y"][after, 0] == pytest.approx(exact, abs=1e-8)  # x'' = x
    assert len(r.events) == 1


@pytest.mark.slow
@ENGINES
def test_what_goes_through_does_not_slide(engine):
    """x' = 3 - sign(x) crosses upwards; x' = sign(x) - 2 downwards; a sine comes from no states."""
    r = simulate(braked(Sign(sliding=True), Constant(3.0), -1.0), until=1.0, engine=engine, log_at=[1.0])
    assert r["x.y"][-1, 0] == pytest.approx(2.0 * 0.75, abs=1e-8)
    pushed = braked(Sign(sliding=True), Constant(-2.0), 0.5, "++")
    r = simulate(pushed, until=2.0, engine=engine, log_at=[2.0])
    assert r["x.y"][-1, 0] == pytest.approx(-3.0 * 1.5, abs=1e-8)
    d = Diagram("alone")
    d.add("u", Sine(1.0, 1.0))
    d.add("sign", Sign(sliding=True))
    d.connect("u.y", "sign.u")
    r = simulate(d, until=10.0, engine=engine, log_at=[1.0, 4.0, 7.0], max_step=0.05)
    assert r["sign.y"][:, 0].tolist() == [1.0, -1.0, 1.0]


@ENGINES
def test_components_slide_by_themselves_and_together(engine):
    """x' = M (f - sign(x)): coupled; with one on 0, and with both, s solves as many rows of M (f - s) = 0."""
    M, f = np.array([[2.0, 0.5], [0.3, 1.0]]), np.array([0.4, -0.6])
    d = Diagram("coupled")
    d.add("x", Integrator(initial=[1.0, -0.2]))
    d.add("sign", Sign(sliding=True))
    d.add("f", Constant(f))
    d.add("sum", Sum("-+"))
    d.add("M", Gain(M))
    d.connect("x.y -> sign.u", "sign.y -> sum.in1", "f.y -> sum.in2", "sum.y -> M.u", "M.y -> x.u")
    r = simulate(d, until=5.0, engine=engine, log_every=0.05)
    assert np.abs(r["x.y"][-1]).max() < 1e-9
    assert r["sign.y"][-1] == pytest.approx(f, abs=1e-9)
    one = (np.abs(r["x.y"]) < 1e-9).sum(axis=1) == 1
    assert one.any()
    k = int(np.flatnonzero(one)[0])
    slides = int(np.flatnonzero(np.abs(r["x.y"][k]) < 1e-9)[0])
    rate = M @ (f - r["sign.y"][k])
    assert rate[slides] == pytest.approx(0.0, abs=1e-9) and abs(rate[1 - slides]) > 0.1


@pytest.mark.slow
@ENGINES
def test_a_law_of_the_speed_holds_a_mass_as_stick_slip_does(engine):
    """On the belt of the published limit cycle: the same motion as the mass whose modes stick and slip."""
    belt = Diagram("belt")
    belt.add("v", Integrator(initial=0.0))  # relative to the belt
    belt.add("speed", Constant(0.2))
    belt.add("absolute", Sum("++"))
    belt.add("x", Integrator())
    belt.add("friction", CoulombFriction(1.0, static=1.5, stribeck=1e-3, sliding=True))
    belt.add("force", Sum("--"))
    belt.connect("v.y -> friction.u, absolute.in1", "speed.y -> absolute.in2", "absolute.y -> x.u")
    belt.connect("x.y -> force.in1", "friction.y -> force.in2", "force.y -> v.u")
    d = Diagram("stick slip")
    d.add("mass", StickSlip(1.0, 1.0, static=1.5, stribeck=1e-3, support=0.2, initial_speed=0.2))
    d.add("spring", Gain(-1.0))
    d.connect("mass.x -> spring.u", "spring.y -> mass.u")
    more = {"until": 30.0, "engine": engine, "log_every": 0.1, "rtol": 1e-10, "atol": 1e-12}
    r, known = simulate(belt, **more), simulate(d, **more)
    assert known["mass.sticks"].min() == 0.0
    assert r["x.y"][:, 0] == pytest.approx(known["mass.x"][:, 0], abs=1e-4)
    assert sum(e.name == "friction.leaves 0" for e in r.events) >= 3


@ENGINES
def test_a_jump_off_the_switch_ends_the_sliding(engine):
    """u = x + step: x slides at 0, then u is 1 at once and x slides again once it is at -1."""
    d = Diagram("jump")
    d.add("x", Integrator(initial=0.3))
    d.add("sign", Sign(sliding=True))
    d.add("back", Gain(-1.0))
    d.add("clock", Integrator(initial=-1.0))
    d.add("one", Constant(1.0))
    d.add("none", Constant(0.0))
    d.add("step", Switch())
    d.add("sum", Sum("++"))
    d.connect("one.y -> clock.u, step.in1", "none.y -> step.in2", "clock.y -> step.control")
    d.connect("x.y -> sum.in1", "step.y -> sum.in2", "sum.y -> sign.u", "sign.y -> back.u", "back.y -> x.u")
    r = simulate(d, until=4.0, engine=engine, log_at=[0.2, 0.9, 1.5, 3.0])
    assert r["x.y"][:, 0] == pytest.approx([0.1, 0.0, -0.5, -1.0], abs=1e-7)
    assert r["sign.y"][:, 0] == pytest.approx([1.0, 0.0, 1.0, 0.0], abs=1e-9)


def test_a_snapshot_goes_on_and_a_subsystem_is_the_same(tmp_path):
    inner = braked(Sign(sliding=True), Sine(1.5, 1.0))
    outer = Diagram("outer")
    outer.add("in", inner)
    sim = Simulation(inner)
    sim.advance(3.8)  # it slides
    sim.save(tmp_path / "there.npz")
    sim.advance(6.0)
    again = Simulation(inner, engine="reference")
    again.load(tmp_path / "there.npz")
    again.advance(6.0)
    assert again.value("x.y")[0] == pytest.approx(sim.value("x.y")[0], abs=1e-9)
    assert simulate(outer, until=6.0)["in/x.y"][-1, 0] == pytest.approx(sim.value("x.y")[0], abs=1e-8)


def test_without_sliding_it_chatters_and_a_signal_of_a_loop_is_refused():
    with pytest.raises(SimulationError, match="chattering"):
        simulate(braked(Sign(), Constant(0.5)), until=3.0)
    d = Diagram("loop")
    d.add("sign", Sign(sliding=True))
    d.add("sum", Sum("+-"))
    d.add("x", Integrator(initial=1.0))
    d.add("parts", Demux(1))
    d.add("both", Mux(1))
    d.connect("x.y -> sum.in1", "sign.y -> sum.in2, both.in1", "sum.y -> sign.u", "both.out -> parts.in")
    d.connect("parts.out1 -> x.u")
    with pytest.raises(BlockError, match="part of an algebraic loop"):
        simulate(d, until=1.0)
