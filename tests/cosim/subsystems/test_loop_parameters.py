"""Parameters of diagrams inside For and While, against loops by hand."""

import pickle

import numpy as np
import pytest

from blocks import Constant, DiscreteIntegrator, Gain, Step, Sum, UnitDelay
from blocks.errors import PlantloopError, WiringError
from cosim import (
    FMU,
    Diagram,
    Enabled,
    For,
    ForEach,
    If,
    Resettable,
    Simulation,
    Variant,
    While,
    export_fmu,
    linearize,
    simulate,
    simulate_many,
)
from tests.helpers.rounds import ENGINES, INSTANTS, T


def flywheel(sample=1):
    """y = w, w becomes w + u / J; w starts at w0."""
    d = Diagram("flywheel")
    J, w = d.parameter("J", 0.5), d.add("w", DiscreteIntegrator(sample, initial=d.parameter("w0", 0.0)))
    d.inport("u") >> d.add("g", Gain(1 / J)) >> w
    d.outport("y", w["y"])
    return d


def driven(part, parameters=None, ports=("u",)):
    """A part with 1 at its inputs, in a diagram with a parameter K."""
    d = Diagram("d")
    d.parameter("K", 2.0)
    node = d.add("part", part, parameters=parameters(d.parameter("K", 2.0)) if parameters else None)
    one = d.add("one", Constant(1.0))
    for port in ports:
        one >> node[port]
    return d


def shown(d, engine="native", **parameters):
    r = simulate(d, INSTANTS[-1], engine=engine, log_at=INSTANTS, parameters=parameters)
    return r["part.y"][:, 0].tolist()


def by_hand(rounds, J=0.5, w0=0.0, ticks=6):
    w, found = w0, []
    for _ in range(ticks):
        for _ in range(rounds):
            y = w
            w += 1.0 / J
        found.append(y)
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_they_are_set_where_it_is_added_and_in_a_run(engine):
    d = driven(For(flywheel(), 5, T), lambda K: {"J": 2 * K})
    assert shown(d, engine) == by_hand(5, 4.0)
    assert shown(d, engine, **{"K": 0.25, "part.w0": 3.0}) == by_hand(5, 0.5, 3.0)
    assert shown(driven(For(flywheel(), 5, T)), engine, **{"part.J": 0.125}) == by_hand(5, 0.125)


def test_they_are_listed_with_what_they_are():
    d = driven(For(flywheel(), 5, T), lambda K: {"J": 2 * K})
    assert {n: float(v) for n, v in d.parameters.items() if n in ("K", "part.w0")} == {"K": 2, "part.w0": 0}
    assert not [n for n in d.parameters if "(" in n or n in ("part.J", "part/body.g.k")]
    with pytest.raises(PlantloopError, match=r"'part.J' in 'd' cannot be set: it follows from 'K'"):
        shown(d, **{"part.J": 1.0})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("part", "given", "inside", "rounds", "ports"),
    [
        (lambda: For(For(flywheel(), 5), 2, T), "J", "part.w0", 10, ["u"]),
        (lambda: For(Enabled(flywheel()), 4, T), "J", "part.w0", 4, ["u", "enable"]),
        (lambda: Enabled(For(flywheel(), 4, T)), "J", "part.w0", 4, ["u", "enable"]),
        (lambda: Resettable(Enabled(For(flywheel(), 4, T))), "J", "part.w0", 4, ["u", "enable", "reset"]),
        (lambda: For(Enabled(For(flywheel(), 2)), 3, T), "J", "part.w0", 6, ["u", "enable"]),
        (lambda: For(If(flywheel(), flywheel()), 3, T), "then.J", "part/then.w0", 3, ["u", "condition"]),
        (lambda: For(For(If(flywheel()), 2), 3, T), "then.J", "part/then.w0", 6, ["u", "condition"]),
        (lambda: ForEach(For(flywheel(), 3, T), 1), "J", "part.w0", 3, ["u"]),
        (lambda: For(ForEach(flywheel(), 1), 3, T), "J", "part.w0", 3, ["u"]),
    ],
)
def test_they_reach_through_what_is_in_between(engine, part, given, inside, rounds, ports):
    d = driven(part(), lambda K: {given: K / 16}, ports)
    assert shown(d, engine) == by_hand(rounds, 0.125)
    assert shown(d, engine, **{"K": 4.0, inside: -1.0}) == by_hand(rounds, 0.25, -1.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_while_ends_where_its_parameter_says(engine):
    """x doubles until it is above the bound."""
    inner = Diagram("doubling")
    x = inner.add("x", UnitDelay(1, initial=1.0))
    twice = inner.add("twice", Gain(inner.parameter("factor", 2.0)))
    x >> twice >> x
    inner.outport("y", twice["y"])
    inner.outport("condition", inner.parameter("bound", 100.0) - twice)
    d = Diagram("d")
    d.add("part", While(inner, T), parameters={"bound": 10.0 * d.parameter("K", 1.0)})
    assert shown(d, engine)[0] == 16.0
    assert shown(d, engine, K=100.0)[0] == 1024.0
    assert shown(d, engine, **{"part.factor": 3.0})[0] == 27.0


def two_in_a_loop():
    """Two flywheels of one diagram, behind a gain of a parameter of the diagram around the loop."""
    d, wheel, mid = Diagram("d"), flywheel(), Diagram("mid")
    K = d.parameter("K", 2.0)
    a = mid.add("a", wheel, parameters={"J": 0.25 * K})
    b, both = mid.add("b", wheel, parameters={"J": 0.25}), mid.add("both", Sum("++"))
    u = mid.inport("u") >> mid.add("g", Gain(K))
    u >> a
    u >> b
    a >> both["in1"]
    b >> both["in2"]
    mid.outport("y", both["y"])
    d.add("one", Constant(1.0)) >> d.add("part", For(mid, 3, T))["u"]
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_blocks_inside_are_made_of_parameters_of_the_diagram_around(engine):
    """u = K, so that a = 4 per round with any K, and b = 4 K per round."""
    d = two_in_a_loop()
    rounds = np.array([2, 5, 8, 11, 14, 17])
    assert shown(d, engine) == (4 * rounds + 8 * rounds).tolist()
    found = shown(d, engine, **{"K": 1.0, "part/b.w0": 7.0})
    assert found == (4 * rounds + 4 * rounds + 7).tolist()
    assert shown(d.with_parameters(**{"K": 1.0, "part/b.w0": 7.0}), engine) == found
    assert shown(pickle.loads(pickle.dumps(d)), engine, **{"K": 1.0, "part/b.w0": 7.0}) == found


@pytest.mark.parametrize("engine", ENGINES)
def test_they_change_during_a_run_and_come_back_with_a_snapshot(engine):
    d = driven(For(flywheel(), 5, T), lambda K: {"J": K})
    sim = Simulation(d, engine=engine)
    sim.advance(T)
    kept = sim.snapshot()
    sim.set_parameter("K", 0.25)
    sim.advance(2 * T)
    # two ticks of 5 rounds by 1/2, then 5 rounds by 4, of which the last one's is shown a round later
    assert sim.value("part.y") == 10 * 0.5 + 4 * 4.0
    sim.restore(kept)
    sim.advance(2 * T)
    assert sim.value("part.y") == 14 * 0.5


def test_many_runs_differ_in_them():
    d = driven(For(flywheel(), 5, T), lambda K: {"J": K})
    runs = simulate_many(d, {"parameters": {"K": [0.5, 4.0], "part.w0": [1.0, 2.0]}}, T, log_at=[0.0, T])
    assert runs["part.y"][:, :, 0].tolist() == [by_hand(5, 0.5, 1.0, 2), by_hand(5, 4.0, 2.0, 2)]


def test_a_linear_model_follows_them():
    """Four rounds of w + u / J: w becomes w + 4 u / J."""
    d = Diagram("d")
    d.inport("u") >> d.add("part", For(flywheel(), 4, T), parameters={"J": d.parameter("K", 2.0)})["u"]
    for K in (2.0, 0.5):
        found = linearize(d, ["u"], ["part.y"], parameters={"K": K})
        response = [float(np.squeeze(found.C @ np.linalg.matrix_power(found.A, n) @ found.B)) for n in (3, 4)]
        assert response == pytest.approx([4 / K, 4 / K], rel=1e-12)


@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_an_fmu_has_them_as_parameters(version, tmp_path):
    d = driven(For(flywheel(), 5, T))
    export_fmu(d, tmp_path / "loop.fmu", version=version, outputs=["part.y"], step=T)
    outer = Diagram("outer")
    outer.add("unit", FMU(tmp_path / "loop.fmu", kind="cs", sample=T, start={"part.J": 0.25}))
    found = simulate(outer, INSTANTS[-1], log_at=INSTANTS)["unit.part.y"][:, 0].tolist()
    assert found == by_hand(5, 0.25)


def structural():
    """T of the diagram is the sample time inside, and the instant of a step outside."""
    d, inner = Diagram("d"), Diagram("inner")
    t, k = d.parameter("T", 0.5), d.parameter("k", 3.0)
    x = inner.add("x", DiscreteIntegrator(sample=inner.parameter("sample", 1.0)))
    inner.inport("u") >> inner.add("g", Gain(inner.parameter("gain", 1.0))) >> x
    inner.outport("y", x["y"])
    node = d.add("part", For(inner, 3, T), parameters={"sample": t, "gain": k})
    d.add("one", Constant(1.0)) >> node["u"]
    d.add("step", Step(t))
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_structural_ones_build_it_anew_and_are_refused_in_a_run(engine):
    rounds = np.array([2, 5, 8, 11, 14, 17])
    d = structural()
    assert shown(d, engine) == (0.5 * 3.0 * rounds).tolist()
    assert shown(d, engine, T=0.25, k=2.0) == (0.25 * 2.0 * rounds).tolist()
    sim = Simulation(d, engine=engine)
    with pytest.raises(PlantloopError, match=r"'T' in 'd' cannot be set: it is structural: the equations of"):
        sim.set_parameter("T", 0.125)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_number_that_is_structural_elsewhere_has_one_name_alone(engine):
    """K is the gain inside, and the instant of a step outside... of which it is the sample time too."""
    d = driven(For(flywheel(), 5, T), lambda K: {"J": K})
    d.add("other", DiscreteIntegrator(sample=d.parameter("K", 2.0)))
    d.connect("one.y", "other.u")
    assert not [n for n in d.parameters if "(" in n]
    assert shown(d, engine, K=4.0) == by_hand(5, 4.0)


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_and_what_is_computed(engine):
    """Elements of an array are a gain; the square of b is computed by a function of numbers."""
    inner = Diagram("inner")
    a, b = inner.parameter("a", [1.0, 2.0, 3.0]), inner.parameter("b", 2.0)
    x = inner.add("x", DiscreteIntegrator(sample=1))
    gain = inner.inport("u") >> inner.add("g", Gain(a[0] + 10 * a[1] + 100 * a[2]))
    (gain + inner.computed(lambda b: b**2, b)) >> x
    inner.outport("y", x["y"])
    d = driven(For(inner, 2, T), lambda K: {"a": [K, 2.0, 3.0]})
    assert shown(d, engine)[:2] == [322.0 + 4.0, 3 * (322.0 + 4.0)]
    assert shown(d, engine, K=1.0, **{"part.b": 3.0})[:2] == [321.0 + 9.0, 3 * (321.0 + 9.0)]


@pytest.mark.parametrize("wrap", [lambda v: For(v, 3, T), lambda v: For(For(v, 3), 1, T)])
def test_a_parameter_chooses_what_is_repeated(wrap):
    d = Diagram("d")
    variant = Variant({"wheel": flywheel(), "gain": Gain(9.0)}, d.parameter("kind", "wheel"))
    d.add("one", Constant(1.0)) >> d.add("part", wrap(variant))["u"]
    assert shown(d) == by_hand(3)
    assert shown(d, kind="gain") == [9.0] * len(INSTANTS)


def test_a_parameter_chooses_what_is_enabled():
    d = Diagram("d")
    variant = Variant({"two": Gain(2.0), "nine": Gain(9.0)}, d.parameter("kind", "two"))
    node, one = d.add("part", Enabled(variant)), d.add("one", Constant(1.0))
    one >> node["u"]
    one >> node["enable"]
    assert shown(d)[0] == 2.0 and shown(d, kind="nine")[0] == 9.0


@pytest.mark.parametrize(
    ("part", "given", "message"),
    [
        (lambda: For(flywheel(), 5, T), {"I": 1.0}, r"has no parameter 'I'; there is 'J', 'w0'"),
        (
            lambda: For(flywheel(), 5, T),
            {"J": [1.0, 2.0]},
            r"'J' of 'part' has the shape \(2,\), expected \(\)",
        ),
        (lambda: For(If(flywheel()), 5, T), {"then.I": 1.0}, r"no parameter '(then\.)?I'; there is"),
        (lambda: For(flywheel(), 5, T), {"J": np.nan}, r"'J' is nan, expected finite numbers"),
    ],
)
def test_what_there_is_not_is_refused(part, given, message):
    with pytest.raises(PlantloopError, match=message):
        driven(part(), lambda K: given, list(part().inports)).system()


def test_a_parameter_of_another_diagram_is_refused():
    stray = Diagram("stray").parameter("k", 1.0)
    inner = Diagram("inner")
    inner.inport("u") >> inner.add("g", Gain(stray))
    inner.outport("y", "g.y")
    with pytest.raises(WiringError, match=r"belongs to a diagram that this block is not in"):
        driven(For(inner, 2, T)).system()


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_say_how_often_it_runs_and_when(engine):
    """2 rounds every T; 4 rounds every 2 T."""
    d = Diagram("d")
    rounds, period = d.parameter("n", 1), d.parameter("T", T)
    d.add("one", Constant(1.0)) >> d.add("part", For(flywheel(), 2 * rounds, sample=period))["u"]
    assert shown(d, engine) == by_hand(2)
    slower = [y for y in by_hand(4, ticks=3) for _ in range(2)]
    assert shown(d, engine, n=2, T=2 * T, **{"part.J": 0.5}) == slower
    with pytest.raises(PlantloopError, match=r"it decides when or how often 'part/body' runs"):
        Simulation(d, engine=engine).set_parameter("n", 3)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("around", "ports"),
    [
        (lambda loop: Enabled(For(loop, 1, T)), ["u", "enable"]),
        (lambda loop: For(loop, 1, T), ["u"]),
        (lambda loop: For(Enabled(loop), 1, T), ["u", "enable"]),
    ],
)
def test_a_parameter_of_the_inside_says_how_often_it_runs(engine, around, ports):
    inner = flywheel()
    d = driven(around(For(inner, inner.parameter("n", 2.0))), None, ports)
    assert shown(d, engine) == by_hand(2)
    assert shown(d, engine, **{"part.n": 5, "part.J": 2.0}) == by_hand(5, 2.0)


def test_a_parameter_is_the_limit_of_a_while():
    inner, d = flywheel(), Diagram("d")
    inner.outport("condition", inner.add("always", Constant(1.0))["y"])
    loop = While(inner, T, states="held", limit=d.parameter("most", 3))
    d.add("one", Constant(1.0)) >> d.add("part", loop)["u"]
    assert shown(d) == by_hand(3)
    assert shown(d, most=5) == by_hand(5)


@pytest.mark.parametrize(("n", "message"), [(2.5, "count is 2.5, expected a whole"), (-1, "count is -1")])
def test_rounds_that_are_no_number_of_times_are_refused(n, message):
    d = Diagram("d")
    d.add("one", Constant(1.0)) >> d.add("part", For(flywheel(), d.parameter("n", 2), T))["u"]
    with pytest.raises(PlantloopError, match=message):
        shown(d, n=n)
    with pytest.raises(PlantloopError, match=message):
        For(flywheel(), Diagram("other").parameter("n", n), T)
