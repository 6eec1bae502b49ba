"""If, SwitchCase and variants against closed forms."""

import numpy as np
import pytest

from blocks import (
    Constant,
    DiscreteIntegrator,
    FunctionCallGenerator,
    Gain,
    Hold,
    Integrator,
    Sine,
    TimeTable,
)
from blocks.errors import PlantloopError
from cosim import Diagram, Enabled, FunctionCall, If, Resettable, Simulation, SwitchCase, Variant, simulate

ENGINES = ("reference", "native")


@pytest.mark.parametrize("engine", ENGINES)
def test_one_of_two_runs_and_the_other_stands_still(engine):
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("c", Sine(frequency=3.0))
    d.add("part", If(Integrator(), Integrator(initial=10.0)))
    d.connect("u.y", "part.u")
    d.connect("c.y", "part.condition")
    r = simulate(d, until=3.0, engine=engine, log_every=0.25)
    t, first, second = r.time, np.pi / 3, 2 * np.pi / 3
    then = np.minimum(t, first) + np.maximum(t - second, 0.0)
    expected = np.where((t > 0) & ((t < first) | (t > second)), then, 10.0 + np.clip(t - first, 0.0, first))
    assert r["part.y"][1:, 0] == pytest.approx(expected[1:], abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sampled_branch_shows_from_its_first_tick_on(engine):
    """As at a Merge in Simulink: until then the newest output of the other branch.

    Case 0 holds u = t from 0.1 to 0.1 s, case 1 from 0.25 to 0.25 s, other cases follow it at once.
    """
    d = Diagram("d")
    t = d.add("t", TimeTable([0.0, 2.0], [0.0, 2.0]))
    case = d.add("case", TimeTable([0.0, 0.33, 1.13, 1.2, 1.5], [0, 1, 0, 5, 1], interpolation="previous"))
    cases = {k: Hold(sample=T, offset=0.05, initial=-7.0) for k, T in ((0, 0.1), (1, 0.25))}
    part = d.add("part", SwitchCase(cases, default=Gain(1.0)))
    t >> part["u"]
    case >> part["case"]
    at = [0.02, 0.06, 0.32, 0.5, 0.56, 1.1, 1.14, 1.16, 1.21, 1.49, 1.54, 1.56]
    shown = [-7.0, 0.05, 0.25, 0.25, 0.55, 1.05, 1.05, 1.15, 1.21, 1.49, 1.5, 1.55]
    r = simulate(d, until=1.6, engine=engine, log_at=at)
    assert r["part.y"][:, 0] == pytest.approx(shown, abs=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reset", [False, True])
def test_cases_of_a_number(engine, reset):
    d = Diagram("d")
    d.add("u", Constant(1.0))
    levels = [1.0, 2.7, 4.0, 3.0, 1.0, 9.0]
    d.add("case", TimeTable(list(range(6)), levels, interpolation="previous"))
    cases = {1: DiscreteIntegrator(sample=0.5), (2, 3): DiscreteIntegrator(sample=0.5, initial=100.0)}
    d.add("part", SwitchCase(cases, reset=reset))
    d.connect("u.y", "part.u")
    d.connect("case.y", "part.case")
    r = simulate(d, until=5.5, engine=engine, log_every=0.5)
    one, two, expected, x, before = "one", "two", [], {"one": 0.0, "two": 100.0}, None
    for k in range(12):
        chosen = {1: one, 2: two, 3: two}.get(int(levels[min(k // 2, 5)]))
        if chosen:
            if reset and chosen != before:
                x[chosen] = 0.0 if chosen == one else 100.0
            shown = x[chosen]
            x[chosen] += 0.5
        before = chosen
        expected.append(shown)
    assert r["part.y"][:, 0].tolist() == expected


def test_several_conditions_the_first_one_above_zero_wins():
    d = Diagram("d")
    d.add("a", TimeTable([0, 1, 2], [0.0, 1.0, 0.0], interpolation="previous"))
    d.add("b", TimeTable([0, 1.5, 3], [0.0, 1.0, 0.0], interpolation="previous"))
    d.add("u", Constant(1.0))
    d.add("part", If(Gain(1.0), Gain(3.0), elifs=[Gain(2.0)]))
    for source, port in (("u", "u"), ("a", "condition"), ("b", "condition1")):
        d.connect(f"{source}.y", f"part.{port}")
    for engine in ENGINES:
        r = simulate(d, until=4.0, engine=engine, log_every=0.5)
        assert r["part.y"][:, 0].tolist() == [3, 3, 1, 1, 2, 2, 3, 3, 3]


def test_outputs_hold_where_nothing_runs():
    d = Diagram("d")
    d.add("u", Sine(frequency=1.0))
    d.add("c", TimeTable([0, 1.0], [1.0, 0.0], interpolation="previous"))
    d.add("part", If(Gain(2.0)))
    d.connect("u.y", "part.u")
    d.connect("c.y", "part.condition")
    for engine in ENGINES:
        r = simulate(d, until=2.0, engine=engine, log_at=[0.5, 1.5, 2.0])
        assert r["part.y"][:, 0] == pytest.approx(
            [2 * np.sin(0.5), 2 * np.sin(1.0), 2 * np.sin(1.0)], abs=1e-9
        )


def test_a_generator_calls_at_its_rate():
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("caller", FunctionCallGenerator(sample=0.5))
    d.add("part", FunctionCall(DiscreteIntegrator(sample=1.0)))
    d.connect("u.y", "part.u")
    d.connect("caller.call", "part.call")
    for engine in ENGINES:
        r = simulate(d, until=2.0, engine=engine, log_every=0.5)
        assert r["part.y"][:, 0].tolist() == [0, 1, 2, 3, 4]


def test_variants_are_chosen_by_name_or_by_a_parameter():
    def model(chosen=None):
        m = Diagram("m")
        kind = m.parameter("kind", "plain")
        v = m.add("v", Variant({"plain": Gain(2.0), "slow": Integrator()}, chosen or kind))
        m.connect(m.inport("u"), v["u"])
        m.outport("y", v["y"])
        return m

    d = Diagram("d")
    d.add("u", Constant(3.0))
    for name, part, given in (("a", model(), {}), ("b", model(), {"kind": "slow"}), ("c", model("slow"), {})):
        d.add(name, part, parameters=given)
        d.connect("u.y", f"{name}.u")
    r = simulate(d, until=2.0, engine="reference")
    assert [r[f"{n}.y"][-1, 0] for n in "abc"] == pytest.approx([6.0, 6.0, 6.0])
    assert [r[f"{n}.y"][0, 0] for n in "abc"] == pytest.approx([6.0, 0.0, 0.0])
    slow = simulate(d, until=2.0, engine="reference", parameters={"a.kind": "slow", "b.kind": "plain"})
    assert [slow[f"{n}.y"][0, 0] for n in "abc"] == pytest.approx([0.0, 6.0, 0.0])
    with pytest.raises(PlantloopError, match="variant 'a/v' has no choice 1.0; there is 'plain', 'slow'"):
        simulate(d, until=0.1, parameters={"a.kind": 1.0})
    with pytest.raises(
        PlantloopError, match="'a.kind' in 'd' cannot be set: it is structural: it chooses what"
    ):
        Simulation(d).set_parameter("a.kind", 1.0)
    with pytest.raises(PlantloopError, match="has no choice 'slwo'"):
        model().with_parameters(kind="slwo").system()


def test_mistakes_are_named():
    with pytest.raises(PlantloopError, match="case 2 is there twice"):
        SwitchCase({1: Gain(1.0), 2: Gain(1.0), (2, 3): Gain(1.0)})
    with pytest.raises(PlantloopError, match="is no whole number"):
        SwitchCase({1.5: Gain(1.0)})
    with pytest.raises(PlantloopError, match="expected a block or a diagram"):
        If(1.0)
    with pytest.raises(PlantloopError, match="has other ports than the first"):
        Variant({"a": Gain(1.0), "b": Constant(1.0)}, "a").netlist()


def amplifier(name, value):
    d = Diagram(name)
    d.connect(d.inport("u"), d.add("g", Gain(d.parameter("k", value)))["u"])
    d.outport("y", d["g"]["y"])
    return d


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_of_branches_are_given_by_their_names(engine):
    a, b = amplifier("a", 2.0), amplifier("b", 3.0)
    d = Diagram("d")
    K = d.parameter("K", 4.0)
    d.add("u", Constant(1.0))
    d.add("two", Constant(2.0))
    d.add("choice", If(a, b), parameters={"then.k": 2 * K})
    d.add("case", SwitchCase({1: a, 2: If(a, b)}), parameters={"case2.then.k": K + 1, "case1.k": 9.0})
    d.connect("u.y", "choice.u", "choice.condition", "case.u", "case.condition")
    d.connect("two.y", "case.case")
    r = simulate(d, until=1.0, engine=engine)
    assert [r["choice.y"][-1, 0], r["case.y"][-1, 0]] == [8.0, 5.0]
    r = simulate(d, until=1.0, engine=engine, parameters={"K": 10.0, "u.value": -1.0})
    assert [r["choice.y"][-1, 0], r["case.y"][-1, 0]] == [-3.0, -3.0]
    r = simulate(d, until=1.0, engine=engine, parameters={"K": 10.0})
    assert [r["choice.y"][-1, 0], r["case.y"][-1, 0]] == [20.0, 11.0]


def test_parameters_that_no_branch_has_are_refused_with_those_there_are():
    a = amplifier("a", 2.0)
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("choice", If(a, Gain(1.0)), parameters={"then.j": 1.0})
    d.connect("u.y", "choice.u", "choice.condition")
    with pytest.raises(PlantloopError, match="'choice/then' has no parameter 'j'; there is 'k'"):
        simulate(d, until=1.0)
    with pytest.raises(PlantloopError, match="expected finite numbers"):
        d.add("other", If(a), parameters={"then.k": np.nan})


NESTED = {  # a part in a part, and y at 0.5, 1.5 and 2 s where it integrates 1 and starts at 0
    "a choice that is enabled": (lambda: Enabled(If(Integrator(), Gain(2.0))), [0.5, 1.0, 1.0]),
    "a choice of a case": (lambda: SwitchCase({1: If(Integrator(), Gain(2.0))}, Gain(3.0)), [0.5, 1.5, 2.0]),
    "a reset of what is enabled": (lambda: Enabled(Resettable(Integrator())), [0.5, 0.4, 0.4]),
    "what is enabled, reset": (lambda: Resettable(Enabled(Integrator())), [0.5, 0.4, 0.4]),
    "a choice that is reset": (lambda: Resettable(If(Integrator(), Gain(2.0))), [0.5, 0.9, 1.4]),
    "a branch that is enabled": (lambda: If(Enabled(Integrator()), Gain(2.0)), [0.5, 1.0, 1.0]),
    "a branch of a diagram, reset": (
        lambda: Resettable(inside(If(Integrator(), Gain(2.0)))),
        [0.5, 0.9, 1.4],
    ),
    "both start anew": (lambda: Resettable(inside(Enabled(Integrator(), reset=True))), [0.5, 0.4, 0.4]),
}


def inside(part):
    d = Diagram("around")
    node = d.add("part", part)
    for port in part.inports:
        d.connect(d.inport(port), node[port])
    d.outport("y", node["y"])
    return d


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("what", NESTED)
def test_parts_stand_in_parts(engine, what):
    make, expected = NESTED[what]
    signals = {"u": [1, 1], "condition": [1, 1], "case": [1, 1], "enable": [1, 0]}
    d = Diagram("d")
    d.add("part", make())
    for port in make().inports:
        times = [0.0, 1.0] if port != "reset" else [0.0, 0.6]
        levels = signals.get(port, [0, 1])
        d.add(port, TimeTable(times, levels, interpolation="previous"))
        d.connect(f"{port}.y", f"part.{port}")
    r = simulate(d, until=2.0, engine=engine, log_at=[0.5, 1.5, 2.0])
    assert r["part.y"][:, 0] == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_choice_inside_a_choice(engine):
    """Four integrators behind two conditions, each in its quarter; inner control ports have own names."""
    d = Diagram("d")
    d.add("u", Constant(1.0))
    d.add("a", TimeTable([0.0, 2.0], [1.0, -1.0], interpolation="previous"))
    d.add("b", TimeTable([0.0, 1.0, 3.0], [1.0, -1.0, 1.0], interpolation="previous"))
    inner = [If(Integrator(initial=10.0 * k), Integrator(initial=10.0 * k + 5.0)) for k in range(2)]
    d.add("part", If(*inner))
    assert set(d["part"].ports.inputs) == {"condition", "then_condition", "otherwise_condition", "u"}
    d.connect("u.y", "part.u")
    d.connect("a.y", "part.condition")
    d.connect("b.y", "part.then_condition", "part.otherwise_condition")
    r = simulate(d, until=4.0, engine=engine, log_at=[0.5, 1.5, 2.5, 3.5])
    assert r["part.y"][:, 0] == pytest.approx([0.5, 5.5, 15.5, 10.5], abs=1e-9)


def test_a_case_inside_a_case():
    d = Diagram("d")
    part = d.add("part", SwitchCase({1: SwitchCase({5: Gain(2.0)}, Gain(3.0)), 2: Gain(4.0)}))
    d.add("u", Constant(7.0)) >> part["u"]
    d.add("case", Constant(1.0)) >> part["case"]
    d.add("inner", Constant(5.0)) >> part["case1_case"]
    for case, inner, expected in [(1.0, 5.0, 14.0), (1.0, 6.0, 21.0), (2.0, 5.0, 28.0)]:
        given = {"case.value": case, "inner.value": inner}
        assert simulate(d, 0.0, parameters=given, engine="reference")["part.y"][-1, 0] == expected
