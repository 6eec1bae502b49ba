"""An event lets holds behind its block start anew, and no others."""

import numpy as np
import pytest

from blocks import Hold, Ramp, Relay, Sine
from cosim import Diagram, simulate


@pytest.mark.parametrize("engine", ["reference", "native"])
def test_holds_start_anew_at_events_in_front_of_them_alone(engine):
    """u = t, held by the line through two samples; at 0.125 a relay switches, which one hold looks at."""
    d = Diagram("d")
    u, wave = d.add("u", Ramp()), d.add("wave", Sine(frequency=np.pi / 0.25, phase=-0.5 * np.pi))
    relay = wave >> d.add("relay", Relay(0.0, -2.0))  # sin is above 0 from 0.125 on
    u >> d.add("alone", Hold(1, sample=0.04))
    (u + 0.0 * relay) >> d.add("behind", Hold(1, sample=0.05))
    r = simulate(d, until=0.2, log_at=[0.122, 0.13, 0.14, 0.16], engine=engine)
    assert [e.time for e in r.events] == pytest.approx([0.125])
    assert r["alone.y"][:, 0] == pytest.approx([0.122, 0.13, 0.14, 0.16])
    assert r["behind.y"][:, 0] == pytest.approx([0.122, 0.1, 0.1, 0.16])
