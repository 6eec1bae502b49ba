"""Exported FMUs that begin at another time than 0: what counts from the start of a run counts from there."""

import pytest

from blocks import Constant, Integrator, RateLimiter, TimeTable
from cosim import FMU, Diagram, Enabled, export_fmu, simulate
from tests.helpers.opened_fmu import Opened

SLOPE, STEP = 0.75, 0.25  # 1/s, s


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """A ramp from 0.5 that a rate limiter makes, and integrals from an input on, alone and in a part."""
    d = Diagram("unit")
    u, one = d.inport("u"), d.add("one", Constant(1.0))
    d.add("x0", TimeTable([-100.0, -2.0], [5.0, 7.0], interpolation="previous"))
    d.connect(u, d.add("ramp", RateLimiter(SLOPE, initial=0.5))["u"])
    from_input = Integrator(external_initial=True)
    for name, block in (("x", from_input), ("part", Enabled(from_input))):
        d.add(name, block)
        d.connect("one.y", f"{name}.u")
        d.connect("x0.y", f"{name}.x0")
    d.connect(one["y"], d["part"]["enable"])
    for name in ("ramp", "x", "part"):
        d.outport(name, d[name]["y"])
    return export_fmu(d, tmp_path_factory.mktemp("fmu") / "unit.fmu")


@pytest.mark.parametrize("start", [0.0, 1.0, -2.5, 1e4])
def test_what_counts_from_the_start_counts_from_where_the_unit_begins(exported, start):
    began_at = 5.0 if start < -2.0 else 7.0  # kept, also where the signal changes later, before 0
    with Opened(exported, start=start, values={"u": 100.0}) as unit:
        for k in range(6):
            tau = k * STEP
            known = [0.5 + SLOPE * tau, began_at + tau, began_at + tau]
            assert unit.all(["ramp", "x", "part"]) == pytest.approx(known, abs=1e-9)
            unit.step(STEP)


@pytest.mark.parametrize("kind", ["cs", "me"])
def test_our_own_runs_of_a_unit_with_a_clock_of_its_own(exported, kind):
    d = Diagram("d")
    d.add("u", Constant(100.0)) >> d.add("unit", FMU(exported, kind=kind, start_time=-2.5,
                                                     sample=STEP if kind == "cs" else None))["u"]  # fmt: skip
    r = simulate(d, 1.0, log_every=STEP)
    for name, begin, slope in (("ramp", 0.5, SLOPE), ("x", 5.0, 1.0), ("part", 5.0, 1.0)):
        assert r[f"unit.{name}"][:, 0] == pytest.approx(begin + slope * r.time, abs=1e-8)
