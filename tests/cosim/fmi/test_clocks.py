"""Clocks of FMI 3.0 and scheduled execution: every kind of clock ticks at its instants, whoever steps.

The unit "clockwork" refuses what the standard forbids: clocked variables away from their ticks, clocks
outside event mode. Its ticks are counted here by hand, from the intervals that its description and its
source name.
"""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from blocks import Clock, Constant, Step
from cosim import FMU, Coupling, Diagram, Simulation, simulate
from cosim.fmi.fmi_errors import FMUError
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
ENGINES = ("auto", "reference")


def every(first: str, interval: str, until: str) -> list[Fraction]:
    """Instants of a periodic clock."""
    found, t = [], Fraction(first)
    while t <= Fraction(until):
        found.append(t)
        t += Fraction(interval)
    return found


TICKS = {
    "n_every": every("0.1", "0.2", "1"),
    "n_chosen": every("0", "0.4", "1"),
    "n_own": every("0.25", "0.5", "1"),
    "n_varying": [Fraction(k, 10) for k in (1, 3, 6, 10)],
    "n_later": [Fraction("0.33")],
}


def clockwork(kind: str, **keywords: object) -> Diagram:
    """The unit with chosen = 0.4 s, u = t, a press at 0.35 s, w from 0 to 1 at 0.5 s."""
    d = Diagram("clocks")
    path = build_fmu("clockwork", version="3.0")
    d.add("unit", FMU(path, kind=kind, start={"chosen": "2/5"}, **keywords))
    for port, source in (("u", Clock()), ("press", Step(time=0.35)), ("w", Step(time=0.5))):
        d.add(f"to_{port}", source)
        d.connect(f"to_{port}.y", f"unit.{port}")
    return d


def check_end(r: object) -> None:
    names = (*TICKS, "n_press", "total", "alarm", "rung", "sum", "x", "when", "twice_w")
    last = {name: float(r[f"unit.{name}"][-1, 0]) for name in names}
    for name, ticks in TICKS.items():
        assert last[name] == len(ticks), name
    total = sum(map(len, TICKS.values())) + 1
    assert (last["n_press"], last["total"]) == (1, total)
    # the alarm rings once for each instant at which the sum of all ticks passes a multiple of three
    instants = sorted(t for ticks in (*TICKS.values(), [Fraction("0.35")]) for t in ticks)
    assert last["alarm"] == last["rung"] == total // 3 <= len(set(instants))
    assert last["sum"] == pytest.approx(float(sum(TICKS["n_every"])), abs=1e-12)
    rates = np.cumsum([float(t) for t in TICKS["n_every"]])
    assert last["x"] == pytest.approx(float(rates[:-1].sum() * 0.2 + rates[-1] * 0.1), abs=1e-10)
    assert (last["when"], last["twice_w"]) == (pytest.approx(1.0, abs=1e-12), 2.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_every_kind_of_clock_ticks_at_its_instants(kind: str, engine: str) -> None:
    d = clockwork(kind)
    check_end(simulate(d, until=1.0, engine=engine))
    check_end(simulate(d, until=1.0, engine=engine))  # a second run


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("coupling", ["jacobi", Coupling(order="gauss-seidel", iterate=True)], ids=str)
def test_clocks_of_a_coupled_unit(coupling: object, engine: str) -> None:
    """Triggered clocks and clocked inputs pass at the instant, as without a coupling."""
    d = clockwork("cs")
    alone = simulate(d, until=1.0, log_every=0.05)
    r = simulate(d, until=1.0, log_every=0.05, coupling=coupling, engine=engine)
    check_end(r)
    for name in ("n_press", "total", "alarm", "sum", "twice_w"):
        assert r[f"unit.{name}"].ravel().tolist() == alone[f"unit.{name}"].ravel().tolist(), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_clocks_of_an_isolated_unit(kind: str) -> None:
    check_end(simulate(clockwork(kind, isolate=True), until=1.0))


def test_ticks_between_communication_points() -> None:
    """A step of 0.5 s holds ten ticks; clocked inputs are what they were at the begin of the step."""
    r = simulate(clockwork("cs", sample="1/2"), until=1.0, log_every=0.5)
    assert {n: r[f"unit.{n}"][-1, 0] for n in TICKS} == {n: len(ticks) for n, ticks in TICKS.items()}
    assert r["unit.sum"].ravel() == pytest.approx([0.0, 0.5, 1.5])  # 0, 0, then 0.5 at once; 0.5, 0.5


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_clocks_from_a_snapshot(kind: str, tmp_path: object) -> None:
    d = clockwork(kind)
    with Simulation(d) as sim:
        sim.advance(0.45)
        kept = sim.snapshot()
        sim.save(f"{tmp_path}/s.npz")
        sim.advance(1.0)
        sim.restore(kept)
        sim.advance(1.0)
        check_end(sim.result())
    with Simulation(d) as other:
        other.load(f"{tmp_path}/s.npz")
        other.advance(1.0)
        assert other.value("unit.total")[0] == sum(map(len, TICKS.values())) + 1
        assert other.value("unit.alarm")[0] == (sum(map(len, TICKS.values())) + 1) // 3


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_clocks_by_hand(kind: str) -> None:
    with FMU(build_fmu("clockwork", version="3.0"), kind=kind, start={"chosen": 0.4}).open() as m:
        m.initialize()
        m.set("u", 3.0)
        m.set("w", 1.0)
        assert m.get("twice_w") == 2.0
        assert (m.step(0.32), m.get("n_every"), m.get("every"), m.get("sum")) == (0.32, 2, 2, 6.0)
        kept = m.save() if kind == "cs" else None
        m.step(0.03)
        assert (m.get("n_later"), m.get("when")) == (1, pytest.approx(0.33, abs=1e-12))
        m.set("press", True)
        m.set("press", False)
        assert (m.get("n_press"), m.get("press")) == (1, 1)
        if kept is not None:
            m.load(kept)
            assert m.step(0.68) == 1.0
        else:
            m.step(0.65)
        assert m.get("n_varying") == 4 and m.get("sum") == 15.0


def test_the_end_of_a_tick_is_not_repeated_by_rounding() -> None:
    """A constant clock of 0.1 s over 100 s: a thousand and one ticks, in steps of 0.07 s as well."""
    fmu = FMU(build_fmu("partitions", version="3.0"), sample="7/100")
    with fmu.open() as m:
        m.initialize()
        for _ in range(1000):
            m.step(0.1)
        assert (m.get("n_fast"), m.get("n_slow")) == (1001, 201)
    d = Diagram("long")
    d.add("unit", fmu)
    for port in ("u", "press"):
        d.connect(d.add(f"no_{port}", Constant(0.0))["y"], f"unit.{port}")
    r = simulate(d, until=70.0)
    assert (r["unit.n_fast"][-1, 0], r["unit.n_slow"][-1, 0]) == (701, 141)


# --- scheduled execution ----------------------------------------------------------------------------------
def partitions(**keywords: object) -> Diagram:
    d = Diagram("partitions")
    d.add("unit", FMU(build_fmu("partitions", version="3.0"), **keywords))
    d.connect(d.add("ramp", Clock())["y"], "unit.u")
    d.connect(d.add("button", Step(time=0.35))["y"], "unit.press")
    return d


@pytest.mark.parametrize("isolate", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_scheduled_execution(engine: str, isolate: bool) -> None:
    """Partitions see the inputs of their instant: y_k shows u_k."""
    d = partitions(isolate=isolate)
    r = simulate(d, until=1.0, engine=engine, parameters={"unit.gain": 2.0}, log_every=0.1)
    np.testing.assert_allclose(r["unit.sum"].ravel(), np.cumsum(np.arange(11) * 0.2), atol=1e-12)
    last = {n: r[f"unit.{n}"][-1, 0] for n in ("n_fast", "n_slow", "n_press", "n_later", "total", "alarm")}
    assert last == {"n_fast": 11, "n_slow": 3, "n_press": 1, "n_later": 1, "total": 16, "alarm": 4}
    assert r["unit.when"][-1, 0] == 0.45  # the third tick of fast, and 0.25 s
    assert r.at(0.3, "unit.n_press") == 0 and r.at(0.4, "unit.n_press") == 1


def test_scheduled_execution_in_a_subsystem_with_another_period() -> None:
    inner = partitions(start={"slow": 0.25}, sample="1/20")
    inner.outport("slow", "unit.n_slow")
    d = Diagram("outer")
    d.add("a", inner)
    d.add("b", partitions(start={"slow": "1/3"}))
    r = simulate(d, until=1.0)
    assert (r["a/unit.n_slow"][-1, 0], r["b/unit.n_slow"][-1, 0]) == (5, 4)


def test_scheduled_execution_goes_on_in_event_free_steps() -> None:
    with FMU(build_fmu("partitions", version="3.0")).open() as m:
        m.initialize()
        assert m.get("n_fast") == 1  # periodic clocks tick at the start
        m.set("u", 2.0)
        assert (m.step(0.3), m.get("sum"), m.get("total")) == (0.3, 6.0, 5)
        m.reset()
        m.initialize(start_time=2.0)
        m.step(0.1)
        assert (m.get("n_fast"), m.get("n_slow")) == (2, 1)


def test_clocked_inputs_are_set_at_every_tick(tmp_path: Path) -> None:
    """An FMU keeps them while a clock ticks: one that stays the same is set again, behind a snapshot too."""
    d = Diagram("steady")
    d.add("unit", FMU(build_fmu("partitions", version="3.0"), sample="1/5"))
    d.connect(d.add("three", Constant(3.0))["y"], "unit.u")
    d.connect(d.add("never", Constant(0.0))["y"], "unit.press")
    sim = Simulation(d, engine="reference")
    sim.advance(0.45)
    sim.save(tmp_path / "there.npz")
    other = Simulation(d, engine="reference")
    other.load(tmp_path / "there.npz")
    for s in (sim, other):
        s.advance(1.0)
        assert s.value("unit.sum")[0] == 33.0  # 11 ticks


def test_inputs_set_after_a_save_are_forgotten_by_load() -> None:
    with FMU(build_fmu("partitions", version="3.0")).open() as m:
        m.initialize()
        m.set("u", 2.0)
        m.step(0.1)
        state = m.save()
        m.set("u", 5.0)
        m.load(state)
        m.step(0.2)
        assert m.get("sum") == 2.0  # used up at 0.1 s, and nothing was set since


# --- event mode in co-simulation --------------------------------------------------------------------------
@pytest.mark.parametrize("importer", ["native", "fmpy"])
def test_discrete_inputs_go_through_in_event_mode(importer: str) -> None:
    fmu = FMU(build_fmu("counter", version="3.0"), sample=0.1, event_mode=True, importer=importer)
    d = Diagram("through")
    d.add("unit", fmu)
    d.connect(d.add("step", Step(time=0.3, after=5.0))["y"], "unit.u")
    r = simulate(d, until=1.0, log_every=0.1)
    counts = [int(Fraction(k, 10) / Fraction(1, 4)) for k in range(11)]  # an event of its own every 0.25 s
    assert r["unit.count"].ravel().tolist() == counts
    assert r["unit.sum"].ravel().tolist() == [c + 5 * (k >= 3) for k, c in enumerate(counts)]


def test_without_event_mode_they_are_held() -> None:
    d = Diagram("held")
    d.add("unit", FMU(build_fmu("counter", version="3.0"), sample=0.1))
    d.connect(d.add("step", Step(time=0.3, after=5.0))["y"], "unit.u")
    r = simulate(d, until=0.6, log_every=0.1)
    assert r.at(0.3, "unit.sum") < 5


# --- what is said -----------------------------------------------------------------------------------------
def test_what_the_command_line_says_of_clocks() -> None:
    from cosim.cli.fmu_commands import findings, run, sections

    for name in ("clockwork", "partitions"):
        path = build_fmu(name, version="3.0")
        shown = dict(sections(path))
        assert findings(path) == []
        assert run(path, None).time[-1] == 2.0
    assert shown["kinds"] == ["scheduled execution: can get and set state, can serialize state"]
    assert "fast: input, constant, every 0.1 s, priority 0" in shown["clocks"]
    assert "alarm: output, triggered" in shown["clocks"]


@pytest.mark.parametrize(
    ("unit", "keywords", "said"),
    [
        ("clockwork", {"start": {"every": 0.1}}, "clock 'every' is constant: its interval is not the user's"),
        ("clockwork", {"start": {"press": 1.0}}, "clock 'press' is triggered.*ticks when its port rises"),
        ("clockwork", {"start": {"chosen": -1.0}}, "the interval of clock 'chosen' is -1.0 s"),
        (
            "clockwork",
            {"start": {"chosen": "soon"}},
            "the interval of clock 'chosen'.*not a number of seconds",
        ),
        ("clockwork", {"importer": "fmpy"}, "it has clocks, which importer='fmpy' does not tick"),
        ("clockwork", {"kind": "me", "event_mode": True}, "of use in co-simulation only"),
        ("lag", {"event_mode": True, "sample": 0.1}, "it has no event mode"),
        ("partitions", {"kind": "cs"}, "asked for co-simulation.*but has 'se'"),
    ],
)
def test_what_is_refused(unit: str, keywords: dict[str, object], said: str) -> None:
    with pytest.raises(FMUError, match=f"(?s){said}"):
        FMU(build_fmu(unit, version="3.0"), **keywords)


def test_a_clock_without_interval() -> None:
    change = lambda text: re.sub(r' intervalDecimal="0.2"', "", text)
    with pytest.raises(FMUError, match=r"clock 'every' \(line \d+\) is constant but has no interval"):
        FMU(build_fmu("clockwork", version="3.0", change=change))
