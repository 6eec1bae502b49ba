"""The memory that a run in C works in: every array has the room it needs, and none lies outside."""

import numpy as np
import pytest

from blocks import Pulse
from cosim import Diagram, Simulation
from cosim.engines.native import bindings as b
from tests.helpers.hybrid import DIAGRAMS
from tests.helpers.made import Made


def many_rates():
    """More rates than there is memory to spare, and a loop of three unknowns at the ticks of the first."""

    def solved(b):
        z = b.algebraic("z", [1.0, 1.0, 1.0])
        b.residual(z + 0.1 * z**3 - b.time)
        b.output("z", z)

    d = Diagram("rates")
    d.add("it", Made(solved))
    for k in range(1, 41):
        d.add(f"p{k}", Pulse(period=f"{k}/7"))
    return d


def needs(engine):
    """Doubles that each array has to hold, by what the run is made of."""
    run, system = engine._run, engine.system
    model, events = run.model, len(system.events)
    nx, start = model.nx, run.system.segment_start
    at_ticks = [start[k + 1] - start[k] for k in range(run.system.n_segments)]
    n = run.system.n_unknowns + max(at_ticks, default=0)  # of the largest loop
    found = dict.fromkeys(("x0", "x1", "unprojected", "trial", "f1", "scratch"), nx)
    found |= {"y": model.ny + nx + model.nh + model.np, "prepared": model.np, "c": model.nc}
    found |= {"newton": n * n + 3 * n, "due": len(system.rates) / 2, "new_signs": events}
    if events:
        found |= dict.fromkeys(("farthest", "largest", "missed", "g", "g_rates"), events)
        found |= {"reset_by": (nx + model.nh) / 2, "n_idle": events / 2}
    return found


@pytest.mark.parametrize("name", ["many rates", "loops", "bouncing", "pendulum"])
def test_every_array_has_its_room(name):
    make = many_rates if name == "many rates" else DIAGRAMS[name]
    engine = Simulation(make(), engine="native", solve_loops=True)._engine
    room, ffi = engine._room, b.ffi()
    first, end = room.ctypes.data, room.ctypes.data + room.nbytes
    at = {n: int(ffi.cast("intptr_t", getattr(engine._run, n))) for n in needs(engine)}
    places = np.array(sorted({*at.values(), end}))
    for field, doubles in needs(engine).items():
        assert first <= at[field] <= end, field
        following = places[places > at[field]]
        assert 8 * doubles <= (following[0] if len(following) else end) - at[field], field
