"""An event located exactly where something else happens: what that changes is seen at the same instant."""

from itertools import pairwise

import pytest

from blocks import Constant, Integrator, Step, UnitDelay
from cosim import Diagram, simulate
from tests.helpers.made import Made

AT = 0.5  # s


def counted(threshold):
    """How often u has risen above a threshold."""

    def equations(b):
        n = b.mode("n", 0.0)
        b.when(b.input("u", size=1)[0] - threshold, [(n, n + 1)], "rising", "up")
        b.output("n", n)

    return Made(equations)


CHANGES = {
    "a listed instant": lambda: [Step(time=AT)],
    "a discrete state at a tick": lambda: [Step(time=AT - 0.3), UnitDelay(sample=0.25)],
}


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("solver", ["rk4", "dopri5"])
@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("ramp_first", [True, False])
def test_a_ramp_passes_its_threshold_where_something_jumps(engine, solver, change, ramp_first):
    """The ramp is exact: its crossing is located before what else happens there, an event as well."""
    d = Diagram("one instant")

    def ramp():
        d.add("one", Constant(1.0))
        d.add("x", Integrator())
        d.add("level", counted(AT))
        d.connect("one.y -> x.u", "x.y -> level.u")

    if ramp_first:
        ramp()
    chain = [d.add(f"b{k}", block) for k, block in enumerate([*CHANGES[change](), counted(0.2)])]
    for one, other in pairwise(chain):
        d.connect(one["y"], other["u"])
    if not ramp_first:
        ramp()
    settings = {"step": 0.125} if solver == "rk4" else {}
    r = simulate(d, 0.9, engine=engine, solver=solver, log_at=[AT - 1e-6, AT], **settings)
    last = f"b{len(chain) - 1}"
    assert sorted((e.name, e.time) for e in r.events) == [(f"{last}.up", AT), ("level.up", AT)]
    assert r[f"{last}.n"][:, 0].tolist() == r["level.n"][:, 0].tolist() == [0.0, 1.0]
