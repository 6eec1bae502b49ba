"""What a reset makes of crossings: its own, those it names, and numbers that are none; on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import SimulationError
from cosim import simulate
from tests.helpers.made import alone, ramp

ENGINES = ("reference", "native")


def fired(r):
    return [(round(e.time, 9), e.name.rpartition(".")[2]) for e in r.events]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sawtooth_of_both_directions_is_reset_once_each_time(engine):
    """x rises to 1 and is put at -1, which is across its own threshold again; it is the second event."""

    def equations(b):
        x = ramp(b)
        n = b.mode("n", 0.0)
        b.when(x[0] - 0.25, [(n, n + 1)], "rising", "pass")
        b.when(x[0] - 1.0, [(x, x - 2.0)], "both", "down")
        b.output("n", n)

    r = simulate(alone(equations), 4.5, engine=engine, log_at=[2.0, 4.5])
    assert fired(r) == [(0.25, "pass"), (1.0, "down"), (2.25, "pass"), (3.0, "down"), (4.25, "pass")]
    assert r["it.n"][:, 0].tolist() == [1.0, 3.0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("anew", [(), ("seen",)])
def test_what_a_reset_does_is_no_crossing_of_the_events_it_names(engine, anew):
    """The jump from 1 to 3 passes 2: an event there, but for a reset that says it is none."""

    def equations(b):
        x = ramp(b)
        n = b.mode("n", 0.0)
        b.when(x[0] - 2.0, [(n, n + 1)], "rising", "seen")
        b.when(x[0] - 1.0, [(x, x + 2.0)], "rising", "jump", anew=anew)
        b.when(x[0] - 3.5, [(n, n + 10)], "rising", "last")

    r = simulate(alone(equations), 2.0, engine=engine)
    expected = [(1.0, "jump"), (1.0, "seen"), (1.5, "last")]
    assert fired(r) == [e for e in expected if e[1] not in anew]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("first", [True, False])
def test_a_reset_that_is_not_finite_is_named_whichever_event_it_is_of(engine, first):
    def equations(b):
        x = ramp(b)
        a, c = b.mode("a", [1.0, 2.0]), b.mode("c", 0.0)
        events = [
            (0.25, [(a, a + 1)], "sound"),
            (0.5, [(c, np.sqrt(x - 2.0))], "root"),
        ]
        for place, resets, name in events[:: -1 if first else 1]:
            b.when(x[0] - place, resets, "rising", name)

    with pytest.raises(SimulationError, match="finite") as caught:
        simulate(alone(equations), 1.0, engine=engine)
    assert caught.value.time == pytest.approx(0.5, abs=1e-9) and "root" in str(caught.value)
