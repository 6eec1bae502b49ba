"""Conditional parts, loops, charts and functions of time inside For and While, against loops by hand."""

import numpy as np
import pytest

from blocks import (
    Constant,
    Delay,
    DiscreteIntegrator,
    Function,
    Gain,
    Integrator,
    Memory,
    Pulse,
    PythonFunction,
    Ramp,
    RandomNumber,
    State,
    StateChart,
    Step,
    StopWhen,
    Transition,
    TransportDelay,
    UnitDelay,
)
from blocks.contract.rate import Ticks
from blocks.errors import PlantloopError
from cosim import (
    Diagram,
    Enabled,
    For,
    FunctionCall,
    If,
    Resettable,
    SwitchCase,
    Triggered,
    While,
    simulate,
)
from tests.helpers.rounds import ENGINES, INSTANTS, Leaf, T, by_hand, found, inside, leaf


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("states", ["held", "reset"])
def test_branches_by_turns_each_keep_their_states(engine, states):
    """Even rounds take one branch, odd ones the other; what is shown is that of the newest."""
    loop = For(inside(If(leaf(), leaf(-3.0)), "condition", lambda k: 1 - 2 * (k % 2)), 5, T, states=states)

    def step(memory, u, k):
        return memory[k % 2].tick(u)

    assert found(loop, engine) == by_hand(step, 5, states, lambda: [Leaf(), Leaf(-3.0)])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_case_without_a_branch_holds_the_merged_output(engine):
    """Cases 0, 1, 2 by turns, of which 2 has none; branches that are reset start anew whenever chosen."""
    cases = SwitchCase({0: leaf(), 1: leaf(2.0)}, reset=True)
    loop = For(inside(cases, "case", lambda k: k % 3), 6, T)

    def step(memory, u, k):
        if k % 3 < 2:
            memory["y"] = 10 * u  # it starts anew: x is 0
        return memory["y"]

    assert found(loop, engine) == by_hand(step, 6, "held", lambda: {"y": 0.0})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("outputs", ["held", "reset"])
def test_enabled_states_and_outputs_are_held_or_reset(engine, reset, outputs):
    """It is enabled in rounds 1, 2 and 4 of 6, and so off between ticks."""
    part = Enabled(leaf(), reset=reset, outputs=outputs, initial=-7.0)
    loop = For(inside(part, "enable", lambda k: (k - 0.5) * (k - 2.5) * (k - 3.5) * (4.5 - k)), 6, T)

    def step(memory, u, k):
        if k in (1, 2, 4):
            if reset and k in (1, 4):
                memory["leaf"] = Leaf()
            memory["y"] = memory["leaf"].tick(u)
        elif outputs == "reset":
            memory["y"] = -7.0
        return memory["y"]

    assert found(loop, engine) == by_hand(step, 6, "held", lambda: {"leaf": Leaf(), "y": -7.0})


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("states", ["held", "reset"])
def test_a_trigger_that_is_up_at_first_has_no_edge_there(engine, states):
    """Up in round 0 and 3: the first tick that begins with it has an edge in round 3 alone."""
    loop = For(inside(Triggered(leaf()), "trigger", lambda k: 1 - (k % 3)), 5, T, states=states)

    def step(memory, u, k):
        on = k % 3 == 0
        if on and memory["before"] is False:
            memory["y"] = memory["leaf"].tick(u)
        memory["before"] = on
        return memory["y"]

    def make():
        return {"leaf": Leaf(), "y": 0.0, "before": None}

    assert found(loop, engine) == by_hand(step, 5, states, make)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_resettable_starts_anew_at_edges_in_rounds(engine):
    loop = For(inside(Resettable(leaf()), "reset", lambda k: 2.5 - k), 4, T)  # off in round 3

    def step(memory, u, k):
        if k == 0 and memory["begun"]:
            memory["leaf"] = Leaf()
        memory["begun"] = True
        return memory["leaf"].tick(u)

    assert found(loop, engine) == by_hand(step, 4, "held", lambda: {"leaf": Leaf(), "begun": False})


# --- loops in loops ---------------------------------------------------------------------------------------
def dot_products():
    """y = sum of (i + 1) (j + 2) u over i and j, by two loops; both start from 0 at each tick."""
    row = Diagram("row")
    j, total = row.inport("index"), row.add("total", DiscreteIntegrator(sample=1))
    new = row.inport("u") * (j + 2.0)
    new >> total["u"]
    row.outport("y", total["y"] + new)
    rows = Diagram("rows")
    i, total = rows.inport("index"), rows.add("total", DiscreteIntegrator(sample=1))
    inner = rows.add("row", For(row, 3, states="reset"))
    (rows.inport("u") * (i + 1.0)) >> inner["u"]
    inner["y"] >> total["u"]
    rows.outport("y", total["y"] + inner["y"])
    return For(rows, 4, T, states="reset")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_over_two_indices(engine):
    sums = sum(range(1, 5)) * sum(range(2, 5))
    assert found(dot_products(), engine) == [sums * (1 + 4 * t) for t in INSTANTS]


def newton():
    """x -> (x + u/x)/2 from 1 until x**2 = u."""
    d = Diagram("newton")
    u, x = d.inport("u"), d.add("x", UnitDelay(sample=1, initial=1.0))
    new = 0.5 * (x["y"] + u / x["y"])
    new >> x["u"]
    d.outport("y", new)
    d.outport("condition", abs(new * new - u) - 1e-9)
    return While(d)


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
def test_newtons_method_in_every_round_of_a_sum(engine):
    """y = sum of the square roots of u + k."""
    d = Diagram("roots")
    root, total = d.add("root", newton()), d.add("total", DiscreteIntegrator(sample=1))
    (d.inport("u") + d.inport("index")) >> root["u"]
    root["y"] >> total["u"]
    d.outport("y", total["y"] + root["y"])
    wanted = [sum(np.sqrt(1 + 4 * t + k) for k in range(5)) for t in INSTANTS]
    assert found(For(d, 5, T, states="reset"), engine) == pytest.approx(wanted, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_of_given_length_in_one_that_ends_by_itself(engine):
    """The number of rounds inside is the number outside: 1 + 2 + ... + n until the sum is 20 or more."""
    count = For(DiscreteIntegrator(sample=1), states="reset")  # y of round m is m times its input
    d = Diagram("sums")
    inner, n = d.add("inner", count), d.add("n", Delay(1, sample=1, initial=1.0))
    total = d.add("total", DiscreteIntegrator(sample=1))
    (n["y"] + 1.0) >> n["u"]
    (n["y"] + 1.0) >> inner["count"]
    d.inport("u") >> inner["u"]
    inner["y"] >> total["u"]
    d.outport("y", total["y"] + inner["y"])
    d.outport("condition", 20.0 - (total["y"] + inner["y"]))
    wanted = []
    for t in INSTANTS:
        total, n = 0.0, 1
        while True:
            total, n = total + n * (1 + 4 * t), n + 1
            if total >= 20:
                break
        wanted.append(total)
    assert found(While(d, T), engine) == wanted


# --- charts and functions of time -------------------------------------------------------------------------
def chart():
    """Counts up to 3, waits for two rounds, and goes down to 0 at once."""
    return StateChart(
        inputs=["u"],
        outputs={"y": 0.0},
        states=[State("up", during="y = y + u"), State("waits"), State("down", entry="y = 0")],
        transitions=[
            Transition("up", "waits", "y >= 3"),
            Transition("waits", "down", "after(1.0)"),
            Transition("down", "up", "u > 0"),
        ],
        sample=0.5,
    )


class Chart:
    """The same by hand."""

    def __init__(self):
        self.state, self.y, self.since, self.rounds = "", 0.0, 0, 0

    def tick(self, u):
        self.rounds += 1
        before = self.state
        if not before:
            self.state = "up"
        elif before == "up" and self.y >= 3:
            self.state, self.since = "waits", self.rounds
        elif before == "waits" and (self.rounds - self.since) * 0.5 >= 1.0:
            self.state, self.y = "up", 0.0  # through "down", where u > 0 holds at once
        elif before == "up":
            self.y += u
        return self.y


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("states", ["held", "reset"])
@pytest.mark.parametrize("rounds", [4, 7])
def test_a_chart_ticks_in_every_round(engine, states, rounds):
    d = Diagram("d")
    (d.inport("u") * 0.0 + 1.0) >> d.add("chart", chart())["u"]
    d.outport("y", "chart.y")
    wanted = by_hand(lambda c, u, k: c.tick(1.0), rounds, states, Chart)
    assert found(For(d, rounds, T, states=states), engine) == wanted


@pytest.mark.parametrize("engine", ENGINES)
def test_a_chart_calls_a_part_in_the_same_round(engine):
    """It changes its state in every round, and calls a sum each time: y is the number of calls before."""
    flips = StateChart(
        inputs=["u"],
        sends=["go"],
        states=[State("a"), State("b")],
        transitions=[
            Transition("a", "b", "u > 0", action="send('go')"),
            Transition("b", "a", "u < 0", action="send('go')"),
        ],
        sample=1,
    )
    d = Diagram("d")
    k, node = d.inport("index"), d.add("flips", flips)
    d.add("way", Function(lambda k: 1 - 2 * (k % 2)))
    k >> d["way"]["k"]
    d["way"]["y"] >> node["u"]
    called = d.add("called", FunctionCall(DiscreteIntegrator(sample=1)))
    node["go"] >> called["call"]
    (d.inport("u") * 0.0 + 1.0) >> called["u"]
    d.outport("y", called["y"])
    assert found(For(d, 4, T), engine) == [4.0 * n + 3.0 for n in range(len(INSTANTS))]


def test_parameters_inside_are_those_of_a_run():
    d = Diagram("d")
    d.add("u", Constant(1.0)) >> d.add("part", For(If(For(Gain(2.0), 2)), 3, T))["u"]
    d.add("on", Constant(1.0)) >> d["part"]["condition"]
    name = "part/body.then.body.inner.k"
    assert name in d.system().parameters
    assert simulate(d, T, parameters={name: 7.0})["part.y"][-1] == 7.0


def test_a_chart_without_end_is_named():
    flips = StateChart(
        inputs=["u"], outputs={"y": 0.0}, sample=1, states=[State("a"), State("b")],
        transitions=[Transition("a", "b", "u > 1.5"), Transition("b", "a", "u > 1.5")],
    )  # fmt: skip
    for engine in ENGINES:
        with pytest.raises(PlantloopError, match="'part/body' has had 400 rounds at t=0.25 s"):
            found(For(flips, 3, T), engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("period", "delay"), [(T, 0.0), (T, T), (T, 0.125), (0.375, 0.125)])
def test_functions_of_time_are_those_of_the_tick(engine, period, delay):
    """A step and a pulse do not count rounds, whatever their periods are."""
    d = Diagram("d")
    d.inport("u")
    d.add("step", Step(0.6, after=100.0))
    d.add("pulse", Pulse(period=period, width=0.4, delay=delay))
    d.add("x", UnitDelay(sample=T))
    d["step"] >> d["x"]
    d.outport("y", d["x"]["y"] + d["step"]["y"] + d["pulse"]["y"])

    def at(t):
        return (200.0 if t >= 0.6 else 0.0) + ((t - delay) % period < 0.4 * period and t >= delay)

    times = [0.0, 0.25, 0.5, 0.75, 1.0, 1.25]
    assert found(For(d, 3, T), engine, times) == [float(at(t)) for t in times]


def test_sample_times_inside_are_no_ticks_of_the_run():
    d = Diagram("d")
    d.inport("u") >> d.add("loop", For(For(UnitDelay(sample="0.001"), 3), 2, T))["u"]
    assert d.system().rates == (Ticks.of(T),)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_memory_shows_the_round_before(engine):
    d = Diagram("d")
    (d.inport("u") + d.inport("index")) >> d.add("m", Memory(initial=-1.0))["u"]
    d.outport("y", "m.y")

    def step(memory, u, k):
        memory["y"], memory["u"] = memory["u"], u
        return memory["y"]

    for rounds in (1, 3):
        assert found(For(d, rounds, T), engine) == by_hand(step, rounds, "held", lambda: {"u": -1.0})


@pytest.mark.parametrize("engine", ENGINES)
def test_a_count_is_cut_to_a_whole_number(engine):
    """u is 1 + 4 t, taken as the count too, less 0.5: 0, 1, 2, ... rounds; y counts rounds but one."""
    d = Diagram("d")
    (
        d.add("u", Ramp(slope=4.0, initial=0.5))
        >> d.add("loop", For(DiscreteIntegrator(sample=1), None, T))["count"]
    )
    d.add("one", Gain(0.0))
    d["u"] >> d["one"]
    (d["one"]["y"] + 1.0) >> d["loop"]["u"]
    y = simulate(d, 1.25, engine=engine, log_at=INSTANTS)["loop.y"][:, 0]
    assert y.tolist() == [0.0, *(np.cumsum([1, 2, 3, 4, 5]) - 1.0)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_division_that_a_branch_guards(engine):
    """y = sum of 1/k over rounds k > 0, from 0 at each tick; 1/0 in round 0 is nowhere."""
    sums = Diagram("sums")
    k, total = sums.inport("k"), sums.add("total", UnitDelay(sample=1))
    new = total["y"] + 1.0 / k
    new >> total["u"]
    sums.outport("y", new)
    d = Diagram("d")
    d.inport("u")
    k, node = d.inport("index"), d.add("guarded", If(sums))
    k >> node["k"]
    k >> node["condition"]
    d.outport("y", node["y"])
    assert found(For(d, 4, T, states="reset"), engine) == pytest.approx([11 / 6] * 6, rel=1e-15)


# --- what is refused --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("inner", "why"),
    [
        (
            Enabled(Integrator()),
            "'x' is a continuous state, which a subsystem that is repeated within one tick",
        ),
        (TransportDelay(0.1), "'past' is a delayed signal"),
        (PythonFunction(lambda t, u: u, sample=0.1), "'y' is an output of an opaque block"),
        (RandomNumber(sample=0.1), "'draw' is a random draw"),
        (StopWhen("end"), "is an event, and a subsystem that is repeated within one tick has none"),
    ],
)
def test_what_has_no_meaning_in_rounds_is_refused_by_name(inner, why):
    d = Diagram("d")
    node = d.add("loop", For(For(inner, 2), 3, T))
    for port in node.ports.inputs:
        d.inport(port) >> node[port]
    with pytest.raises(PlantloopError, match=why) as caught:
        d.system()
    assert "block 'loop/body'" in str(caught.value)


def test_two_rates_inside_are_named():
    d = Diagram("two")
    (
        d.inport("u")
        >> d.add("a", UnitDelay(sample=0.1))
        >> d.add("b", For(UnitDelay(sample=0.3), 2, sample=0.2))
    )
    d.outport("y", "b.y")
    match = r"several rates: 'a' \(10 Hz\) and 'b/body' \(5 Hz\).*loops inside need none"
    with pytest.raises(PlantloopError, match=match):
        found(For(d, 3, T))


def test_a_loop_has_ticks_of_its_own_or_of_what_calls_it():
    with pytest.raises(PlantloopError, match="'part/body' needs a sample time. Give one in seconds"):
        found(For(Gain(1.0), 3))
    with pytest.raises(PlantloopError, match="sample time is 0 s"):
        For(Gain(1.0), 3, sample=0)
