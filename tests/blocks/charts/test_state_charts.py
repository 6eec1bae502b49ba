"""State charts against closed forms, hand-written loops and a slow interpreter."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from blocks import (
    Clock,
    Constant,
    Integrator,
    Ramp,
    Sine,
    State,
    StateChart,
    TimeTable,
    TransferFunction,
    Transition,
)
from blocks.errors import BlockError, PlantloopError
from cosim import Diagram, Enabled, Simulation, simulate

ENGINES = ("reference", "native")


def thermostat(**more):
    return StateChart(
        inputs=["T"],
        outputs={"power": 0.0},
        data={"count": 0},
        parameters={"high": 21.0, "low": 19.0},
        states=[State("cold", entry="power = 1000; count += 1"), State("warm", entry="power = 0")],
        transitions=[Transition("cold", "warm", "T > high"), Transition("warm", "cold", "T < low")],
        **more,
    )


@StateChart.of
class written_as_class:
    inputs, outputs, data = ["T"], {"power": 0.0}, {"count": 0}
    parameters = {"high": 21.0, "low": 19.0}  # noqa: RUF012

    class cold:
        def entry(c):
            c.power = 1000.0
            c.count += 1

        to = {"warm": lambda c: c.high < c.T}  # noqa: RUF012

    class warm:
        def entry(c):
            c.power = 0.0

        to = {"cold": lambda c: c.low > c.T}  # noqa: RUF012


def room(chart, tau=75.0, rise=25.0):
    """3000 T' = power - 40 T."""
    d = Diagram("room")
    d.add("room", TransferFunction([1.0], [3000.0, 40.0]))
    d.add("chart", chart)
    d.connect("chart.power", "room.u")
    d.connect("room.y", "chart.T")
    return d


def switches(until, high=21.0, low=19.0, tau=75.0, final=25.0):
    """Times at which an ideal thermostat switches: T' = (final - T)/tau on, -T/tau off."""
    t, found = tau * np.log(final / (final - high)), []
    while t <= until:
        found.append(t)
        t += tau * (np.log(high / low) if len(found) % 2 else np.log((final - low) / (final - high)))
    return np.array(found)


@pytest.mark.parametrize("chart", [thermostat(), written_as_class], ids=["text", "class"])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_bang_bang_heater_switches_when_the_closed_form_does(engine, chart):
    r = simulate(room(chart), until=300.0, engine=engine, log_every=1.0)
    expected = switches(300.0)
    happened = [e.time for e in r.events if e.name == "chart.transition"]
    assert happened == pytest.approx(expected, abs=1e-5)
    passed = np.searchsorted(expected, r.time, side="right")
    assert r["chart.state"][:, 0].tolist() == (passed % 2).tolist()
    assert r["chart.power"][:, 0].tolist() == np.where(passed % 2, 0.0, 1000.0).tolist()
    assert r["chart.active.warm"].tolist() == (passed % 2).tolist()


def test_parameters_of_a_chart_are_run_time_numbers():
    r = simulate(room(thermostat()), until=300.0, engine="reference", parameters={"chart.high": 22.0})
    assert [e.time for e in r.events if e.name == "chart.transition"] == pytest.approx(
        switches(300.0, high=22.0), abs=1e-5
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sampled_thermostat_against_a_loop_by_hand(engine):
    r = simulate(room(thermostat(sample=5.0)), until=300.0, engine=engine, log_every=5.0)
    T, on, expected = 0.0, True, []
    for k in range(61):
        if on and T > 21.0:
            on = False
        elif not on and T < 19.0:
            on = True
        expected.append((T, 0.0 if on else 1.0))
        final = 25.0 if on else 0.0
        T = final + (T - final) * np.exp(-5.0 / 75.0)
        assert k < 100
    assert np.c_[r["room.y"], r["chart.state"]] == pytest.approx(np.array(expected), abs=1e-6)


def gearbox(sample):
    """Three gears; shifts need the speed beyond its limit for 0.4 s."""
    gears = [State(f"g{k}", entry=f"gear = {k}") for k in (1, 2, 3)]
    wait = [State("steady"), State("up"), State("down")]
    box = State("box", states=gears)
    shift = State("shift", states=wait)
    return StateChart(
        inputs=["v"],
        outputs={"gear": 0.0},
        sends=["shifted"],
        parallel=True,
        sample=sample,
        states=[box, shift],
        transitions=[
            Transition("steady", "up", "v > 10 * gear and gear < 3"),
            Transition("steady", "down", "v < 10 * gear - 12 and gear > 1"),
            Transition("up", "steady", "v <= 10 * gear"),
            Transition("down", "steady", "v >= 10 * gear - 12"),
            Transition("up", "steady", "after(0.4)", action="gear += 1; send(shifted)"),
            Transition("down", "steady", "after(0.4)", action="gear -= 1; send(shifted)"),
            Transition("g1", "g2", "gear == 2"),
            Transition("g2", "g3", "gear == 3"),
            Transition("g3", "g2", "gear == 2"),
            Transition("g2", "g1", "gear == 1"),
        ],
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gear_shift_against_a_loop_by_hand(engine):
    d = Diagram("car")
    d.add("v", Sine(amplitude=20.0, frequency=0.5, bias=15.0))
    d.add("box", gearbox(0.1))
    d.connect("v.y", "box.v")
    r = simulate(d, until=15.0, engine=engine, log_every=0.1)
    gear, state, since, shifts, expected = 1, "steady", 0, 0, []
    for k in range(151):
        v = 15.0 + 20.0 * np.sin(0.5 * k * 0.1)
        while True:
            if state == "steady" and v > 10 * gear and gear < 3:
                state, since = "up", k
            elif state == "steady" and v < 10 * gear - 12 and gear > 1:
                state, since = "down", k
            elif (state == "up" and v <= 10 * gear) or (state == "down" and v >= 10 * gear - 12):
                state = "steady"
            elif state != "steady" and k - since >= 4:
                gear += 1 if state == "up" else -1
                shifts += 1
                state = "steady"
            else:
                break
        expected.append((gear, shifts))
    assert np.c_[r["box.gear"], r["box.shifted"]].tolist() == [list(map(float, e)) for e in expected]
    assert r["box.active.box.g3"].tolist() == [float(g == 3) for g, _ in expected]
    assert shifts > 5


@pytest.mark.parametrize("engine", ENGINES)
def test_after_counts_from_entry_and_is_met_exactly(engine):
    chart = StateChart(
        outputs={"y": 0.0},
        states=[State("a", entry="y = 1"), State("b", entry="y = 2"), State("c", entry="y = 3")],
        transitions=[
            Transition("a", "b", "after(0.3)"),
            Transition("b", "c", "after(0.5)"),
            Transition("c", "a", "after(1)"),
        ],
    )
    d = Diagram("d")
    d.add("c", chart)
    d.add("i", Integrator())
    d.connect("c.y", "i.u")
    r = simulate(d, until=2.0, engine=engine, log_at=[0.29, 0.31, 0.79, 0.81, 1.79, 1.81, 2.0])
    assert r["c.y"][:, 0].tolist() == [1, 2, 2, 3, 3, 1, 1]
    assert r["i.y"][-1] == pytest.approx(0.3 + 1.0 + 3.0 + 0.2, abs=1e-9)
    sampled = Diagram("s")
    sampled.add("c", replace(chart, sample=0.1))
    r = simulate(sampled, until=2.0, engine=engine, log_every=0.1)
    assert r["c.y"][:, 0].tolist() == [1] * 3 + [2] * 5 + [3] * 10 + [1] * 3


@pytest.mark.parametrize("engine", ENGINES)
def test_entry_and_exit_actions_come_in_order(engine):
    """Each action appends its digit to a number."""
    inner = [State("a", entry="n = 10*n + 2", exit="n = 10*n + 3"), State("b", entry="n = 10*n + 4")]
    chart = StateChart(
        inputs=["u"],
        outputs={"n": 0.0},
        sample=1.0,
        states=[
            State("first", entry="n = 10*n + 1", exit="n = 10*n + 5", states=inner),
            State("last", entry="n = 10*n + 7", during="n += 0.5", exit="n = 10*n + 8"),
        ],
        transitions=[
            Transition("a", "b", "u > 2"),
            Transition("first", "last", "u > 1", action="n = 10*n + 6"),
            Transition("last", "first.b", "u < 0"),
        ],
    )
    d = Diagram("d")
    d.add("u", TimeTable([0, 1, 2, 3], [0.0, 3.0, 0.5, -1.0], interpolation="previous"))
    d.add("c", chart)
    d.connect("u.y", "c.u")
    r = simulate(d, until=3.0, engine=engine, log_every=1.0)
    # the outer transition goes first; in "last" one during action at t = 2
    assert r["c.n"][:, 0].tolist() == [12.0, 123567.0, 123567.5, ((123567.5 * 10 + 8) * 10 + 1) * 10 + 4]


@pytest.mark.parametrize("engine", ENGINES)
def test_events_in_and_during_of_a_continuous_chart(engine):
    chart = StateChart(
        inputs=["u"],
        events=["go"],
        outputs={"y": 0.0},
        states=[State("idle"), State("follow", during="y = 2 * u", exit="y = -1")],
        transitions=[Transition("idle", "follow", on="go"), Transition("follow", "idle", "u > 1.5")],
    )
    d = Diagram("d")
    d.add("u", Ramp(slope=1.0))
    d.add("go", Sine(frequency=2.0, phase=-1.0))
    d.add("c", chart)
    d.connect("u.y", "c.u")
    d.connect("go.y", "c.go")
    r = simulate(d, until=2.0, engine=engine, log_at=[0.4, 0.6, 1.4, 1.6])
    assert r["c.y"][:, 0] == pytest.approx([0.0, 1.2, 2.8, -1.0], abs=1e-9)
    assert [e.time for e in r.events if e.name == "c.transition"] == pytest.approx([1.5], abs=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_transitions_without_end_are_named(engine):
    chart = StateChart(
        inputs=["u"], outputs={}, sample=0.1, states=[State("a"), State("b")],
        transitions=[Transition("a", "b", "u > 1"), Transition("b", "a", "u > 1")],
    )  # fmt: skip
    d = Diagram("d")
    d.add("u", Ramp(slope=4.0))
    d.add("flip", chart)
    d.connect("u.y", "flip.u")
    with pytest.raises(PlantloopError, match="transitions of 'flip' follow each other without end at t=0.3"):
        simulate(d, until=1.0, engine=engine)


@pytest.mark.parametrize("sample", [None, 0.25])
def test_snapshots_pickles_and_enabled_charts(sample):
    d = Diagram("d")
    d.add("T", Sine(amplitude=3.0, frequency=2.0, bias=20.0))
    d.add("e", TimeTable([0.0, 1.0, 2.0], [1, 0, 1], interpolation="previous"))
    d.add("part", Enabled(thermostat(sample=sample)))
    d.connect("T.y", "part.T")
    d.connect("e.y", "part.enable")
    d = pickle.loads(pickle.dumps(d))
    runs = [simulate(d, until=4.0, engine=e, log_every=0.25)["part.state"] for e in ENGINES]
    assert runs[0].tolist() == runs[1].tolist()
    assert len(set(runs[0][4:8, 0].tolist())) == 1  # it stands still
    whole, half = Simulation(d, engine="native"), Simulation(d, engine="native")
    whole.advance(0.7)
    half.restore(whole.snapshot())
    whole.advance(4.0)
    half.advance(4.0)
    assert half.value("part.power").tolist() == whole.value("part.power").tolist()


@pytest.mark.parametrize(
    "text", ["__import__('os')", "T.real > 1", "(lambda: 1)() > 0", "[T][0] > 1", "x := 1"]
)
def test_text_is_no_python(text):
    with pytest.raises(PlantloopError):
        d = Diagram("d")
        d.add("T", Constant(1.0))
        to = [Transition("a", "b", text)]
        d.add("c", StateChart(inputs=["T"], states=[State("a"), State("b")], transitions=to))
        d.connect("T.y", "c.T")
        d.system()


def test_mistakes_are_named():
    a = [State("a"), State("b")]
    with pytest.raises(BlockError, match="there are no states"):
        StateChart()
    with pytest.raises(PlantloopError, match="there is no state 'c'"):
        Diagram("d").add("c", StateChart(states=a, transitions=[Transition("a", "c")])).diagram.system()
    with pytest.raises(BlockError, match="two states 'a'"):
        StateChart(states=[State("a"), State("a")])
    for guard, action in (("t > 1", "T2 = 1"), ("T > 1", "Tu = t")):
        chart = StateChart(inputs=["T"], outputs={"Tu": 0.0, "T2": 0.0}, states=a,
                           transitions=[Transition("a", "b", guard, action=action)])  # fmt: skip
        with pytest.raises(PlantloopError, match="the chart has no 't'; .* The time of the run is 'time'"):
            d = Diagram("d")
            d.add("c", chart)
            d.ground("c.T")
            d.system()
    with pytest.raises(PlantloopError, match="the chart has no 'Tt'; did you mean 'T'"):
        d = Diagram("d")
        d.add("c", StateChart(inputs=["T"], states=a, transitions=[Transition("a", "b", "Tt > 1")]))
        d.ground("c.T")
        d.system()
    with pytest.raises(PlantloopError, match="from one parallel state into another"):
        d = Diagram("d")
        d.add("c", StateChart(states=a, transitions=[Transition("a", "b")], parallel=True))
        d.system()


def test_names_that_guards_and_actions_cannot_read_are_refused():
    """A value called "time" was hidden by the time of the run, and one called "after" by the function."""
    for field in ("inputs", "events", "calls", "sends", "outputs", "data", "parameters"):
        listed = field in ("inputs", "events", "calls", "sends")
        for name, text in (
            ("time", "the time of the run"),
            ("after", "a function"),
            ("send", "what actions"),
        ):
            with pytest.raises(BlockError, match=f"'{name}' is {text}.*give it another name"):
                StateChart(states=[State("a")], **{field: [name] if listed else {name: 1.0}})
        for name in ("_values", "lambda"):
            with pytest.raises(BlockError, match="no words of Python"):
                StateChart(states=[State("a")], **{field: [name] if listed else {name: 1.0}})
    for name in ("state", "active"):
        with pytest.raises(BlockError, match="an output that every chart has"):
            StateChart(states=[State("a")], sends=[name])
        StateChart(states=[State("a")], data={name: 1.0})


def acted(action, engine="reference"):
    """What a chart makes of p = 5 at the start, where T = 3."""
    chart = StateChart(inputs=["T"], outputs={"p": 5.0}, states=[State("a", entry=action)])
    d = Diagram("d")
    d.add("T", Constant(3.0))
    d.add("c", chart)
    d.connect("T.y", "c.T")
    return simulate(d, 0.0, engine=engine)["c.p"][-1, 0]


@pytest.mark.parametrize("engine", ENGINES)
def test_min_and_max_take_any_number_of_values(engine):
    assert acted("p = min(T, 7, 2, p)", engine) == 2.0
    assert acted("p = max(T, 1, p, 4) + min(T, 4)", engine) == 8.0


def test_numbers_that_are_written_stay_small_and_real():
    """9**9**7, a whole number of four million digits to Python, took seconds, and one 9 more forever."""
    for action in (
        "p = 9**9**9**9",
        "p = 1 / 0",
        "p = (-8)**0.5",
        "p = log(-1)",
        "p += 1e308 * 10",
        "p = mod(1, 0)",
    ):
        with pytest.raises(PlantloopError, match="is no finite real number"):
            acted(action)
    with pytest.raises(PlantloopError, match="is too large"):
        acted("p = 1e999")
    with pytest.raises(PlantloopError, match="'min\\(T\\)' in .* min got 1 numbers, expected 2 or more"):
        acted("p = min(T)")
    with pytest.raises(PlantloopError, match="abs got 2 numbers, expected 1"):
        acted("p = abs(T, 2)")
    with pytest.raises(PlantloopError, match=r"'send\(T.x\)' .* is nothing a chart can do"):
        acted("send(T.x)")
    assert acted("p = 2**-1 + 7 // 2 + 7 % 4") == 6.5


def test_a_picture_shows_every_state_and_guard(tmp_path):
    figure = gearbox(0.1).draw(tmp_path / "box.png")
    texts = {t.get_text() for t in figure.axes[0].texts}
    assert {"box.g1", "shift.up", "[v > 10 * gear and gear < 3]"} <= texts
    assert (tmp_path / "box.png").stat().st_size > 1000


# --- a slow interpreter -----------------------------------------------------------------------------------
# Outer states A (with A1, A2) and B (with parallel P, Q; P has P1, P2); digits note entries and exits.
INNER = {"A": ["A1", "A2"], "B": ["P", "Q"], "P": ["P1", "P2"]}
OUTER = {inner: outer for outer, inside in INNER.items() for inner in inside}
NAMES = ["A", "A1", "A2", "B", "P", "P1", "P2", "Q"]
PLACES = ["A", "A1", "A2", "B", "P1", "P2"]


def path(name):
    return [*(path(OUTER[name]) if name in OUTER else []), name]


def interpreted(transitions, signal):
    """n after every tick, by sets of active states and lists of names."""
    n, out = 0.0, []
    active: set[str] = set()

    def mark(digit):
        nonlocal n
        n = (3.0 * n + digit) % 1009

    def enter(name, toward):
        active.add(name)
        mark(NAMES.index(name) + 1)
        inside = INNER.get(name, [])
        if name == "B":
            for i in inside:
                enter(i, toward)
        elif inside:
            enter(next((i for i in inside if i in toward), inside[0]), toward)

    def leave(name):
        for i in INNER.get(name, []):
            if i in active:
                leave(i)
        active.discard(name)
        mark(NAMES.index(name) + 20)

    for u in signal:
        rounds = 0
        if not active:
            enter("A", [])
        while rounds < 100:
            rounds += 1
            before, done = set(active), set()
            for s, t, level in sorted(transitions, key=lambda x: len(path(x[0]))):
                if s not in before or s in done or not u > level + n % 2:
                    continue
                shared = [a for a, b in zip(path(s), path(t), strict=False) if a == b]
                if shared and shared[-1] in (s, t):
                    shared.pop()
                k = len(shared)
                out_of = path(s)[k]
                done |= {x for x in NAMES if out_of in path(x)}
                leave(out_of)
                enter(path(t)[k], path(t))
            if active == before and not done:
                break
        if rounds >= 100:
            return None
        out.append(n)
    return out


@pytest.mark.slow
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(
        st.tuples(st.sampled_from(PLACES), st.sampled_from(PLACES), st.integers(0, 5)), min_size=1, max_size=5
    ),
    st.lists(st.floats(0.0, 6.0, width=16), min_size=3, max_size=6),
)
def test_charts_agree_with_a_slow_interpreter(transitions, signal):
    expected = interpreted(transitions, signal)

    def state(name):
        k, inside = NAMES.index(name), INNER.get(name, [])
        entry, exit_ = (f"n = mod(3 * n + {digit}, 1009)" for digit in (k + 1, k + 20))
        return State(name, entry=entry, exit=exit_, states=[state(i) for i in inside], parallel=name == "B")

    chart = StateChart(
        inputs=["u"],
        outputs={"n": 0.0},
        sample=1.0,
        states=[state("A"), state("B")],
        transitions=[Transition(s, t, f"u > {level} + mod(n, 2)") for s, t, level in transitions],
    )
    d = Diagram("d")
    times = list(range(len(signal)))
    d.add("u", TimeTable([*times, len(times)], [*signal, 0.0], interpolation="previous"))
    d.add("c", chart)
    d.connect("u.y", "c.u")
    run = {"until": float(times[-1]), "engine": "reference", "log_at": list(map(float, times))}
    if expected is None:
        with pytest.raises(PlantloopError, match="without end"):
            simulate(d, **run)
    else:
        assert simulate(d, **run)["c.n"][:, 0].tolist() == expected


@pytest.mark.parametrize("crosses", ["u > 0.625", "u >= 0.625", "time > 0.625", "after(0.625)"])
def test_values_that_are_equal_are_not_unequal_where_another_guard_crosses(crosses):
    """p = q = 0 and u = t: at t = 0.625 the chart goes to "c", and to "b" never."""
    d = Diagram("d")
    chart = StateChart(
        inputs=["u"],
        outputs={"p": 0.0, "q": 0.0},
        states=[State("a"), State("b"), State("c")],
        transitions=[Transition("a", "b", "p > q"), Transition("a", "c", crosses)],
    )
    d.add("t", Clock()) >> d.add("chart", chart)
    r = simulate(d, 1.0, log_at=[0.0, 0.5, 0.75, 1.0], engine="reference")
    assert r["chart.state"][:, 0].tolist() == [0.0, 0.0, 2.0, 2.0]
