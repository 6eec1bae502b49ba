"""Parameters of diagrams: what blocks are made of follows them, in every run and on both engines."""

import inspect
import pickle
from dataclasses import dataclass, replace
from fractions import Fraction

import control
import numpy as np
import pytest
from scipy.linalg import expm

from blocks import (
    LQR,
    Block,
    Constant,
    DiscreteIntegrator,
    DiscretePID,
    Gain,
    Integrator,
    Mux,
    Saturation,
    Sine,
    Sqrt,
    StateSpace,
    Sum,
    TransferFunction,
    UnitDelay,
)
from blocks.contract.trace import TraceCache
from blocks.errors import PlantloopError, WiringError
from cosim import Diagram, Enabled, For, Simulation, Study, linearize, simulate, simulate_many
from cosim.compile.masks import _moved, _same_structure, of_parameters

ENGINES = ("reference", "native")


def motor():
    """J w' = u - b w as blocks, from w0."""
    m = Diagram("motor")
    J, b, w0 = m.parameter("J", 0.1), m.parameter("b", 0.2), m.parameter("w0", 1.5)
    u = m.inport("u")
    s, g = m.add("s", Sum("++")), m.add("g", Gain(1 / J))
    w, f = m.add("w", Integrator(initial=w0)), m.add("f", Gain(-b))
    m.connect(u, s["in1"])
    m.connect(f["y"], s["in2"])
    m.connect(s["y"], g["u"])
    m.connect(g["y"], w["u"])
    m.connect(w["y"], f["u"])
    m.outport("w", w["y"])
    return m


def two_motors():
    d = Diagram("two")
    K = d.parameter("K", 2.0)
    d.add("c", Constant(K))
    d.add("m1", motor())
    d.add("m2", motor(), parameters={"J": 0.1 * K})
    d.connect("c.y", "m1.u")
    d.connect("c.y", "m2.u")
    return d


def speed(t, u=2.0, J=0.1, b=0.2, w0=1.5):
    return u / b + (w0 - u / b) * np.exp(-b / J * t)


@pytest.mark.parametrize("engine", ENGINES)
def test_runs_follow_the_parameters_of_a_subsystem_and_of_the_whole(engine):
    r = simulate(two_motors(), until=0.7, engine=engine)
    assert r["m1.w"][-1] == pytest.approx(speed(0.7), abs=1e-7)
    assert r["m2.w"][-1] == pytest.approx(speed(0.7, J=0.2), abs=1e-7)
    given = {"m1.J": 0.3, "m2.w0": -1.0, "K": 3.0}
    r = simulate(two_motors(), until=0.7, engine=engine, parameters=given)
    assert r["m1.w"][-1] == pytest.approx(speed(0.7, 3.0, J=0.3), abs=1e-7)
    assert r["m2.w"][-1] == pytest.approx(speed(0.7, 3.0, J=0.3, w0=-1.0), abs=1e-7)


def test_an_initial_value_given_by_name_wins_over_the_parameter():
    given = {"parameters": {"m1.w0": 9.0}, "initial": {"m1/w.x": 4.0}}
    r = simulate(two_motors(), until=0.5, engine="reference", **given)
    assert r["m1.w"][-1] == pytest.approx(speed(0.5, w0=4.0), abs=1e-7)


def test_parameters_change_under_way_and_leave_states_alone():
    s = Simulation(two_motors(), engine="reference")
    s.advance(0.4)
    s.set_parameter("m1.J", 0.5)
    s.set_parameter("m1.w0", 99.0)
    s.advance(1.0)
    assert s.value("m1.w")[0] == pytest.approx(speed(0.6, J=0.5, w0=speed(0.4)), abs=1e-7)


def test_sweeps_take_them():
    J, w0 = np.array([0.05, 0.1, 0.4]), np.array([0.0, 1.0, 2.0])
    runs = simulate_many(two_motors(), {"parameters": {"m1.J": J, "m1.w0": w0}}, 0.3)
    assert runs["m1.w"][:, -1, 0] == pytest.approx(speed(0.3, J=J, w0=w0), abs=1e-7)


def test_linear_models_and_matrices_follow_them():
    d = Diagram("pendulum")
    w, zeta = d.parameter("w", 2.0), d.parameter("zeta", 0.0)
    u = d.inport("u")
    p = d.add("p", StateSpace([[0, 1], [-(w**2), -2 * zeta * w]], [[0], [w * w]], [[1, 0]]))
    d.connect(u, p["u"])
    d.outport("y", p["y"])
    ss = linearize(d, parameters={"w": 3.0, "zeta": 0.25})
    assert np.sort_complex(ss.poles()) == pytest.approx(np.sort_complex(np.roots([1, 1.5, 9])))
    by_p = d.system().derivatives.by_p
    f = d.system().derivatives
    row = by_p(0.0, [0.7, 0.1], [0.0], f.p0)[1]
    names = list(d.system().parameters)
    assert row[names.index("w")] == pytest.approx(-2 * 2.0 * 0.7)  # zeta is 0
    assert row[names.index("zeta")] == pytest.approx(-2 * 2.0 * 0.1)


def test_arrays_and_functions_of_numpy():
    d = Diagram("filter")
    a = d.parameter("a", [1.0, 3.0])
    angle = d.parameter("angle", 0.3)
    d.add("c", Constant(np.sin(angle)))
    g = d.add("g", TransferFunction([a[0]], [2.0 * a[1], 1.0]))
    d.connect("c.y", g["u"])
    given = {"a": [2.0, 0.25], "angle": 1.0}
    r = simulate(d, until=1.0, engine="reference", parameters=given)
    assert r["g.y"][-1] == pytest.approx(2 * np.sin(1.0) * (1 - np.exp(-1 / 0.5)), abs=1e-7)


def test_nested_masks_three_levels_deep():
    inner = Diagram("inner")
    k = inner.parameter("k", 1.0)
    inner.connect(inner.inport("u"), inner.add("g", Gain(k))["u"])
    inner.outport("y", "g.y")
    middle = Diagram("middle")
    a = middle.parameter("a", 2.0)
    i = middle.add("i", inner, parameters={"k": a + 1})
    middle.connect(middle.inport("u"), i["u"])
    middle.outport("y", i["y"])
    d = Diagram("top")
    d.add("c", Constant(1.0))
    d.add("m", middle)
    d.add("n", middle, parameters={"a": 10.0})
    d.connect("c.y", "m.u")
    d.connect("c.y", "n.u")
    r = simulate(d, until=0.0, parameters={"m.a": 5.0})
    assert (r["m.y"][-1], r["n.y"][-1]) == (6.0, 11.0)
    for name in ("m/i.k", "m.i.k"):
        with pytest.raises(PlantloopError, match=r"'m/i.k'.*follows from 'm.a'"):
            simulate(d, until=0.0, parameters={name: 5.0})
    with pytest.raises(PlantloopError, match=r"'m/i.k'.*follows from 'm.a'"):
        Study(d, until=0.0, sweep={"m.i.k": [5.0]})


def test_a_structural_parameter_is_refused_on_the_way_and_taken_where_the_diagram_is_built():
    m = Diagram("counter")
    Ts, gain = m.parameter("Ts", 0.1), m.parameter("gain", 1.0)
    m.connect(m.inport("u"), m.add("i", DiscreteIntegrator(sample=Ts))["u"])
    g = m.add("g", Gain(gain))
    m.connect("i.y", g["u"])
    m.outport("y", g["y"])
    d = Diagram("top")
    d.add("c", Constant(1.0))
    d.add("slow", m, parameters={"Ts": 0.25})
    d.add("fast", m)
    d.connect("c.y", "slow.u")
    d.connect("c.y", "fast.u")
    r = simulate(d, until=1.0, parameters={"slow.gain": 2.0})
    assert [str(t.period) for t in d.system().rates] == ["1/10", "1/4"]
    assert r["slow.y"][-1] == pytest.approx(2.0)
    assert simulate(d, until=1.0, parameters={"slow.Ts": 0.5})["fast.y"][-1] == pytest.approx(1.0)
    with pytest.raises(PlantloopError, match=r"'slow.Ts' in 'top' cannot be set: it is structural"):
        Simulation(d).set_parameter("slow.Ts", 0.5)
    assert len(m.with_parameters(Ts=0.5).system().rates) == 1
    assert str(m.with_parameters(Ts=0.5).system().rates[0].period) == "1/2"
    assert str(m.system().rates[0].period) == "1/10"


@pytest.mark.parametrize("side", ["low", "high"])
def test_a_number_at_its_limit_is_linked_from_the_side_that_is_allowed(side):
    """No lower limit may be above the upper one, nor that below it: they are equal here."""
    d = Diagram("limited")
    limits = {"low": 1.0, "high": 1.0} | {side: d.parameter(side, 1.0)}
    d.connect(d.add("c", Constant(0.0 if side == "low" else 3.0)), d.add("it", Saturation(**limits))["u"])
    sim = Simulation(d, engine="reference")
    sim.advance(0.1)
    sim.set_parameter(side, 0.5 if side == "low" else 2.0)  # which a structural parameter would refuse
    sim.advance(0.2)
    assert sim.result()["it.y"][-1] == pytest.approx(0.5 if side == "low" else 2.0)


@pytest.mark.parametrize("made", [False, True])
def test_whether_a_diagram_has_parameters_is_known_from_all_that_is_inside(made):
    part = Diagram("part")
    part.connect(part.inport("u"), part.add("g", Gain(part.parameter("k", 2.0) if made else 2.0))["u"])
    part.outport("y", part["g"]["y"])
    assert of_parameters(part.netlist()) == made
    for inside in (part, Enabled(part), For(part, count=2, sample=0.1)):
        d = Diagram("d")
        d.add("in", inside)
        assert of_parameters(d.netlist()) == made
    assert not of_parameters(Diagram("none").netlist())


@dataclass(frozen=True)
class Coupled(Block):
    """Becomes a gain where a run says nothing of coupling."""

    def define(self, b):
        b.output("y", b.input("u"))

    def uncoupled(self):
        return Gain(1.0)


def test_a_diagram_without_coupling_is_itself_or_has_others_in_place_of_what_is_coupled():
    plain, made = Diagram("plain"), Diagram("made")
    plain.add("g", Gain(2.0))
    made.add("g", Gain(2.0))
    made.add("c", Coupled())
    for inside, same in [(plain, True), (made, False)]:
        d = Diagram("d")
        d.add("in", inside)
        for n, node in ((inside.netlist(), ("c",)), (d.netlist(), ("in", "c"))):
            turned = n.uncoupled()
            assert (turned is n) == same
            if not same:
                for name in node:
                    turned = turned.nodes[name]
                assert turned == Gain(1.0)


def test_changes_go_where_their_names_lead():
    inner = Diagram("inner")
    inner.add("g", Gain(inner.parameter("k", 2.0)))
    d = Diagram("d")
    d.add("in", inner)
    n = d.netlist()
    assert n.changed({"in.k": 0.5}).given == {"in": {"k": 0.5}}
    assert n.changed({"in/g.k": 7.0}).nodes["in"].nodes["g"].k == 7.0
    for wrong in ("in.g", "in.no", "no.k", "in/g.no"):
        with pytest.raises(WiringError, match="has no"):
            n.changed({wrong: 1.0})


@pytest.mark.parametrize(
    ("given", "expected"), [({}, 0.5), ({"T": 0.5}, 1.0), ({"g.k": 3.0}, 3.0), ({"T": 0.5, "g.k": 3.0}, 3.0)]
)
def test_a_number_that_follows_what_decides_the_structure_may_be_given_by_itself(given, expected):
    """The sample time of one block, twice which is the gain of another; at 1 s the sum is 1."""
    d = Diagram("d")
    T = d.parameter("T", 0.25)
    d.add("c", Constant(1.0)) >> d.add("i", DiscreteIntegrator(sample=T)) >> d.add("g", Gain(2.0 * T))
    r = simulate(d, 1.0, parameters=given, log_at=[1.0])
    assert r["g.y"].item() == pytest.approx(expected)


def test_a_number_is_looked_at_beside_another_near_by():
    assert _moved(2.0, 1.0) == pytest.approx(2.0 * (1 + 1.2345678e-3), rel=1e-15)
    assert _moved(2.0, -2.0) == pytest.approx(2.0 * (1 - 2.4691356e-3), rel=1e-15)
    assert _moved(0.0, 1.0) == pytest.approx(1.2345678e-6, rel=1e-12)
    assert _moved("a word", 1.0) == "a word"


def test_blocks_differ_in_numbers_only_where_structure_shapes_and_inputs_are_the_same():
    one, cache = Saturation(-1.0, 1.0), TraceCache()
    traced = cache.get(one, {"u": 1})
    assert _same_structure(one, Saturation(-2.0, 3.0), traced, {"u": 1})
    assert not _same_structure(one, Saturation(-2.0, 3.0), traced, {"u": 2})
    assert not _same_structure(one, Saturation([-2.0, -2.0], 3.0), traced, {"u": 1})
    one, other = UnitDelay(0.1, initial=1.0), UnitDelay(0.2, initial=1.0)
    traced = cache.get(one, {"u": 1})
    assert _same_structure(one, UnitDelay(0.1, initial=5.0), traced, {"u": 1})
    assert not _same_structure(one, other, traced, {"u": 1})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_block_called_like_its_parameter_keeps_it(engine):
    d = Diagram("d")
    d.connect(d.add("c", Constant(1.0))["y"], d.add("k", Gain(2.0))["u"])
    name = next(iter(d.system().p_names)) if hasattr(d.system(), "p_names") else "k.k"
    assert (
        name and simulate(d, 0.0, log_at=[0.0], parameters={"k.k": 3.0}, engine=engine)["k.y"].item() == 3.0
    )


def test_a_parameter_that_no_block_uses_is_refused_in_a_run():
    d = two_motors()
    d.parameter("idle", 1.0)
    with pytest.raises(PlantloopError, match="no block uses it"):
        simulate(d, until=0.1, parameters={"idle": 2.0})


def test_pickles_keep_the_links():
    d = pickle.loads(pickle.dumps(two_motors()))
    r = simulate(d, until=0.7, engine="reference", parameters={"m1.J": 0.3})
    assert r["m1.w"][-1] == pytest.approx(speed(0.7, J=0.3), abs=1e-7)


def test_engines_agree_by_bits():
    d = Diagram("both")
    T = d.parameter("T", 0.3)
    d.add("s", Sine(frequency=1 / T))
    d.add("z", UnitDelay(sample=0.1, initial=T))
    d.connect("s.y", "z.u")
    runs = [simulate(d, until=1.0, engine=e, solver="rk4", step=0.01, parameters={"T": 0.7}) for e in ENGINES]
    assert runs[0]["z.y"].tobytes() == runs[1]["z.y"].tobytes()
    assert runs[0]["z.y"][0] == 0.7


def test_mistakes_are_refused_where_they_are_made():
    m = motor()
    with pytest.raises(WiringError, match="has a parameter 'J' already"):
        m.parameter("J", 1.0)
    with pytest.raises(WiringError, match="expected finite numbers"):
        m.parameter("x", float("nan"))
    with pytest.raises(WiringError, match="did you mean 'J'"):
        Diagram("d").add("m", m, parameters={"j": 1.0})
    J = m.parameter("J2", 1.0)
    with pytest.raises(PlantloopError, match="is a parameter of a diagram"):
        float(J)
    with pytest.raises(PlantloopError, match="is a parameter of a diagram"):
        bool(J > 0)
    other = Diagram("other")
    other.add("g", Constant(J))
    with pytest.raises(WiringError, match="belongs to a diagram that this block is not in"):
        other.system()


def test_blocks_still_say_what_they_take():
    assert [*inspect.signature(Integrator).parameters][:3] == ["initial", "low", "high"]


def cart():
    """x'' = (u - x') / J, from x = 1."""
    d = Diagram("cart")
    J = d.parameter("J", 1.0)
    v, x = d.add("v", Integrator()), d.add("x", Integrator(1.0))
    (d.inport("u") - v) / J >> v >> x
    d.outport("x", x)
    d.outport("v", v)
    return d


def regulated(J, q):
    """x(1) under the regulator that python-control designs, by the matrix exponential."""
    A, B = np.array([[0, 1], [0, -1 / J]]), np.array([[0], [1 / J]])
    K = control.lqr(A, B, np.diag([q, 1.0]), [[1.0]])[0]
    return (expm(A - B @ K) @ [1.0, 0.0])[0]


def cart_loop(law):
    d = Diagram("loop")
    q, J = d.parameter("q", 1.0), d.parameter("J", 1.0)
    p, both = d.add("p", cart(), parameters={"J": J}), d.add("both", Mux(2))
    d.connect(p["x"], both["in1"])
    d.connect(p["v"], both["in2"])
    both >> d.add("c", law(d, q, J)) >> p["u"]
    return d


@pytest.mark.slow
@pytest.mark.parametrize("way", ["of", "computed", "replaced"])
def test_gains_are_designed_anew_where_a_run_has_other_parameters(way):
    def law(d, q, J):
        of = lambda q, J: LQR.of(cart(), [q, 1.0], 1.0, at={"x.x": 0.0}, parameters={"J": J})
        if way == "computed":
            return Gain(d.computed(lambda q, J: -of(q, J).gain(), q, J))
        made = of(q, J)
        return made if way == "of" else replace(made, R=1.0)

    d = pickle.loads(pickle.dumps(cart_loop(law))) if way != "computed" else cart_loop(law)
    for q, J in ((1.0, 1.0), (10.0, 1.0), (10.0, 2.0)):
        r = simulate(d, 1.0, engine="reference", parameters={"q": q, "J": J}, rtol=1e-9)
        assert r["p.x"][-1, 0] == pytest.approx(regulated(J, q), abs=1e-7), (q, J)
    with pytest.raises(PlantloopError, match=r"'q' in 'loop' cannot be set: it is structural: the equations"):
        Simulation(d).set_parameter("q", 2.0)


def test_what_is_computed_reaches_parameters_of_subsystems_and_is_called_once_for_its_numbers():
    calls = []

    def inverse(J):
        calls.append(J)
        return [1 / J, 2 / J]

    d = Diagram("d")
    J = d.parameter("J", 2.0)
    given = d.computed(inverse, J)
    assert repr(given[1]) == "computed(J)" and len(calls) == 1
    inner = Diagram("inner")
    k = inner.parameter("k", [1.0, 1.0])
    inner.add("c", Constant(k + 1.0))
    inner.outport("y", "c.y")
    d.add("part", inner, parameters={"k": given})
    for value, wanted in ((2.0, [1.5, 2.0]), (4.0, [1.25, 1.5])):
        r = simulate(d, 0.0, parameters={"J": value}, engine="reference")
        assert r["part.y"][-1].tolist() == wanted
    assert len(calls) < 8
    with pytest.raises(PlantloopError, match="computed gives 'no', expected finite numbers"):
        d.computed(lambda J: "no", J)
    with pytest.raises(PlantloopError, match=r"write d\.computed\(function, parameter\)"):
        float(J)


def test_replacing_a_field_keeps_the_expressions_in_the_others():
    d = Diagram("d")
    k, T, f = d.parameter("k", 2.0), d.parameter("T", Fraction(1, 2)), d.parameter("f", "sqrt")
    made = replace(DiscretePID(kp=k, sample=0.5), sample=T)
    again = replace(replace(made, ki=0.0), low=-100.0)
    assert repr(again.sample) == "Fraction(1, 2)"
    vector, root = replace(Gain([[k, 1.0]]), k=[[k, 2.0]]), replace(Sqrt(f))
    c = d.add("c", Constant(3.0))
    c >> d.add("pid", again)
    c >> d.add("root", root)
    d.add("two", Constant([1.0, 1.0])) >> d.add("g", vector)
    r = simulate(d, 1.0, parameters={"k": 5.0, "T": 0.25, "f": "signed"}, engine="reference")
    assert (r["pid.u"][-1, 0], r["g.y"][-1, 0]) == (15.0, 7.0)
    assert r.ticks("pid.u").time.tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert again == DiscretePID(kp=2.0, ki=0.0, sample=0.5, low=-100.0) and hash(again.kp) == hash(2.0)
    changed = LQR.of(cart(), [k, 1.0], 1.0, at={"x.x": 0.0}).with_fields(offset=0)
    assert changed.Q[0][0] == 2.0


@pytest.mark.parametrize(
    "changed",
    [np.array([0.1234567899, 1.0]), np.where(np.arange(2000) == 1000, 5.0, np.arange(2000.0))],
    ids=["a late digit", "a number in the middle"],
)
def test_computed_follows_every_digit_of_an_array(changed):
    """NumPy prints eight digits, and of long arrays the ends; runs with other values were the first again."""
    first = np.array([0.1234567891, 1.0]) if changed.size == 2 else np.arange(2000.0)
    d = Diagram("digits")
    d.add("c", Constant(d.computed(lambda a: 1e9 * np.sum(a), d.parameter("a", first))))
    for value in (first, changed, first):
        assert (
            1e9 * np.sum(value) == simulate(d.with_parameters(a=value), 0.0, engine="reference")["c.y"][-1, 0]
        )
        given = simulate(d, 0.0, engine="reference", parameters={"a": value})
        assert given["c.y"][-1, 0] == 1e9 * np.sum(value)


def test_a_number_of_a_subsystem_that_is_none_is_refused_where_it_is_given():
    """Also one of a diagram further inside, whose parameters are looked at when all is known."""
    d = Diagram("d")
    d.add("part", motor())
    d.parameter("L", 1.0)
    for name, wrong in (("L", float("nan")), ("part.J", float("inf")), ("part.J", [1.0, float("nan")])):
        with pytest.raises(WiringError, match=f"parameter '{name}' is .* expected finite numbers"):
            Diagram("outer").add("inner", d, parameters={name: wrong})
    assert Diagram("outer").add("inner", d, parameters={"L": 2.0, "part.J": 3.0})
