"""An event lets holds behind its block start anew, and no others."""

from types import SimpleNamespace

import casadi as ca
import numpy as np
import pytest

from blocks import Hold, Ramp, Relay, Sine, UnitDelay
from blocks.contract.rate import Ticks
from cosim import Diagram, simulate
from cosim.compile import vectors
from cosim.compile.restarted_holds import RestartedHolds
from cosim.system_parts import TickPlaces


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
