"""An event lets holds behind its block start anew, and no others."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks import Hold, Ramp, Relay, Sine, TimeTable, UnitDelay
from blocks.contract.rate import Ticks
from cosim import Diagram, Enabled, Resettable, simulate
from cosim.compile import vectors
from cosim.compile.restarted_holds import RestartedHolds, samples_in_a_row
from cosim.system_parts import TickPlaces
from plant import Plant
from plant.elements import Control_PlantInput, Control_PlantOutput, Reference_Variable
from tests.helpers.slider import PUSH, on_rail


@pytest.mark.parametrize(
    ("before", "now", "since", "in_all", "row"),
    [(1.0, 1.5, 3.0, 9.0, 4.0), (1.0, 2.0, 3.0, 9.0, 1.0), (1.0, 1.74, 3.0, 9.0, 4.0),
     (1.0, 1.76, 3.0, 9.0, 1.0), (1.0, 1.5, 3.0, 2.0, 2.0), (1.0, 1.75, 1.0, 9.0, 2.0)],
)  # fmt: skip
def test_samples_are_in_a_row_where_no_tick_lies_between_them(before, now, since, in_all, row):
    """At ticks of 0.5 s: time and samples in a row before, time now, and samples of the whole."""
    found = samples_in_a_row(ca.SX([before, 7.0, since]), ca.SX([now, 8.0, in_all]), 0.5)
    assert float(found) == row


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_holds_start_anew_at_events_in_front_of_them_alone(engine):
    """u = t, held by the line through two samples; at 0.125 a relay switches, which one hold looks at."""
    d = Diagram("d")
    u, wave = d.add("u", Ramp()), d.add("wave", Sine(frequency=np.pi / 0.25, phase=-0.5 * np.pi))
    relay = wave >> d.add("relay", Relay(0.0, -2.0))  # sin is above 0 from 0.125 on
    u >> d.add("alone", Hold(1, sample=0.05))
    u >> d.add("quicker", Hold(1, sample=0.04))
    (u + 0.0 * relay) >> d.add("behind", Hold(1, sample=0.05))
    r = simulate(d, until=0.2, log_at=[0.122, 0.13, 0.14, 0.16], engine=engine)
    assert [e.time for e in r.events] == pytest.approx([0.125])
    assert r["alone.y"][:, 0] == pytest.approx([0.122, 0.13, 0.14, 0.16])
    assert r["quicker.y"][:, 0] == pytest.approx([0.122, 0.13, 0.14, 0.16])
    assert r["behind.y"][:, 0] == pytest.approx([0.122, 0.1, 0.1, 0.16])


@pytest.mark.parametrize(("read", "anew"), [(2, [0]), (5, [1]), (8, [2]), (0, []), (3, []), (4, []), (6, [])])
def test_the_count_of_each_rate_is_told_from_the_others(read, anew):
    """Of a rate there are the time, a count, and the count since a restart, which alone matters."""
    rates, symbols = [Ticks.of(f"1/{k}") for k in (2, 3, 5)], ca.SX.sym("ticks", 9)
    declared = SimpleNamespace(
        ticks=rates, tick_symbols=symbols, outputs=[SimpleNamespace(expression=symbols[read])], events=[]
    )
    hold = SimpleNamespace(declared=declared, new_values=ca.SX(0, 1))
    switching = SimpleNamespace(
        declared=SimpleNamespace(ticks=[], tick_symbols=ca.SX(0, 1), outputs=[], events=["its own"]),
        new_values=ca.SX(0, 1),
    )
    placed = {
        "front": SimpleNamespace(traced=switching, drivers=[None]),
        "between": SimpleNamespace(traced=switching, drivers=[("front", "y")]),
        "hold": SimpleNamespace(traced=hold, drivers=[("between", "y")]),
        "alike": SimpleNamespace(traced=hold, drivers=[("between", "y")]),
        "alone": SimpleNamespace(traced=hold, drivers=[None]),
        "behind": SimpleNamespace(traced=switching, drivers=[("hold", "y")]),
    }
    restarted = RestartedHolds(placed)
    for path in ("front", "between"):
        assert restarted.by(path) == [(rates[k], 0) for k in anew]
    assert restarted.by("behind") == restarted.by("alone") == []
    for k, ticks in enumerate(rates):
        assert restarted.counts(ticks) == (2 if k in anew else 1)
        read = {path: restarted.read(path, ticks) for path in placed}
        assert read == {path: int(path == "alone" and k in anew) for path in placed}


def test_places_of_counts_are_listed_once(monkeypatch):
    """They were listed for every block with events: flattening took the square of their number."""
    made = []
    monkeypatch.setattr(vectors, "TickPlaces", lambda *given: made.append(given) or TickPlaces(*given))
    d = Diagram("d")
    t = d.add("t", Sine())
    for k in range(5):
        t >> d.add(f"relay{k}", Relay()) >> d.add(f"delay{k}", UnitDelay(sample=0.1 * (1 + k % 2)))
    d.system()
    assert len(made) == 2


def held(order, part, condition, on, off, again, engine, log):
    """The input of a part is t, held in it from samples every 0.05 s."""
    d = Diagram("d")
    d.add("u", Ramp()) >> d.add("part", part(Hold(order, sample=0.05)))["u"]
    signal = TimeTable([0.0, on, off, again], [-1.0, 1.0, -1.0, 1.0], interpolation="previous")
    d.add("signal", signal) >> d["part"][condition]
    return simulate(d, until=log[-1], log_at=log, engine=engine)["part.y"][:, 0]


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("order", [1, 2])
def test_a_hold_that_starts_anew_has_no_samples_from_before(order, engine):
    """Back at its initial value, an older sample is none: 0.1 - 0 is no slope of t."""
    log = [0.06, 0.08, 0.11, 0.14, 0.16, 0.21, 0.33, 0.36, 0.41]
    y = held(order, Resettable, "reset", 0.07, 0.09, 0.32, engine, log)
    assert y == pytest.approx([0.06, 0.05, 0.1, 0.1, 0.16, 0.21, 0.3, 0.35, 0.41], abs=1e-12)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("reset", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_a_hold_does_not_extrapolate_from_samples_on_both_sides_of_a_pause(order, reset, engine):
    """Active from 0.12 to 0.32 and from 0.62 on: 0.65 and 0.3 are not one period apart."""
    log = [0.13, 0.16, 0.19, 0.21, 0.31, 0.63, 0.66, 0.69, 0.71, 0.76]
    y = held(order, lambda h: Enabled(h, reset=reset), "enable", 0.12, 0.32, 0.62, engine, log)
    assert y == pytest.approx([0.0, 0.15, 0.15, 0.21, 0.31, 0.3, 0.65, 0.65, 0.71, 0.76], abs=1e-12)


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_the_port_of_a_plant_that_starts_anew(engine):
    """2 kg at rest at 0.07: 0.03 s with 0.05 N, 0.05 s with 0.1 N, then with t."""
    elements = [
        Reference_Variable(id=1, expr="0"),
        Control_PlantInput(id=1, label="f", variable_id_list=(1,), hold_order=1, sampling_period=0.05),
        PUSH,
        Reference_Variable(id=2, expr="VX(20)"),
        Control_PlantOutput(id=1, label="v", variable_id_list=(2,)),
    ]
    d = Diagram("d")
    d.add("u", Ramp()) >> d.add("part", Resettable(Plant.from_model(on_rail(*elements))))["f"]
    signal = TimeTable([0.0, 0.07], [-1.0, 1.0], interpolation="previous")
    d.add("signal", signal) >> d["part"]["reset"]
    r = simulate(d, until=0.25, log_at=[0.07, 0.1, 0.15, 0.25], engine=engine, rtol=1e-10, atol=1e-13)
    v = np.array([0.0, 0.0015, 0.0065, 0.0065 + (0.25**2 - 0.15**2) / 2]) / 2.0
    assert r["part.v"][:, 0] == pytest.approx(v, abs=1e-11)
