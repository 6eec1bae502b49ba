"""Python functions and co-simulated FMUs that keep something, in parts that start anew: so do they."""

import warnings

import numpy as np
import pytest

from blocks import Clock, Constant, Integrator, PythonFunction, TimeTable
from cosim import FMU, Diagram, Enabled, Resettable, Simulation, export_fmu, simulate
from cosim.compile.conditions import UnitInPartWarning
from tests.helpers.fmus import build_fmu, needs_compiler

T, AGAIN = 0.1, 1.0  # s
PARTS = {
    "resettable": (Resettable, "reset", [-1.0, -1.0, 1.0]),
    "enabled": (lambda inner: Enabled(inner, reset=True), "enable", [1.0, -1.0, 1.0]),
    "going on": (Enabled, "enable", [1.0, -1.0, 1.0]),
}


class Total:
    """The sum of what it was called with."""

    def __init__(self):
        self.total = 0.0

    def __call__(self, t, u):
        self.total += u[0]
        return np.array([self.total])


def diagram(part, block):
    """A part around a block, active up to 0.5 s and from 1 s on, or started anew there."""
    make, port, levels = PARTS[part]
    d = Diagram("d")
    d.add("part", make(block))
    signal = TimeTable([0.0, 0.5, AGAIN], levels, interpolation="previous")
    d.connect(d.add("signal", signal)["y"], d["part"][port])
    return d


@pytest.mark.parametrize("part", PARTS)
def test_a_function_that_keeps_a_sum_begins_anew(part):
    d = diagram(part, PythonFunction(Total(), sample=T))
    d.add("clock", Clock()) >> d["part"]["u"]
    runs = [simulate(d, 1.5, log_every=T, engine=engine)["part.y"][:, 0] for engine in ("reference", "auto")]
    t = np.arange(16) * T
    called = np.full(16, True) if part == "resettable" else (t < 0.45) | (t > 0.95)
    known = np.cumsum(np.where(called, t, 0.0))
    if part != "going on":
        known[10:] -= known[9]
    for found in runs:
        assert found == pytest.approx(known, abs=1e-12)
    with Simulation(d) as run:  # a snapshot knows which start it is
        run.advance(1.25)
        between = run.snapshot()
        run.advance(1.5)
        run.restore(between)
        run.advance(1.5)
        assert run.value("part.y") == pytest.approx(known[-1:], abs=1e-12)


@needs_compiler
@pytest.mark.parametrize(("part", "after"), [("going on", True), ("enabled", False)])
def test_what_co_simulation_does_in_a_part_is_told(part, after):
    """x' = 1 - x from 0.2: one step goes over the pause, unless the part starts anew."""
    d = diagram(part, FMU(build_fmu("lag", start={"x": 0.2}), kind="cs", sample=T))
    d.add("one", Constant(1.0)) >> d["part"]["u"]
    with pytest.warns(
        UnitInPartWarning, match="'part/.*': in a conditional part co-simulation is init"
    ) as told:
        r = simulate(d, 1.5, log_every=T)
    assert ("states go on with time" in str(told[0].message)) == after
    since = r.time if after else np.where(r.time < AGAIN - 1e-9, r.time, r.time - AGAIN)
    known = 1.0 - 0.8 * np.exp(-since)
    for there in (slice(0, 5), slice(10, None)):
        assert r["part.y"][there, 0] == pytest.approx(known[there], abs=1e-9)


@needs_compiler
def test_in_model_exchange_there_is_nothing_to_tell():
    d = diagram("going on", FMU(build_fmu("lag"), kind="me"))
    d.add("one", Constant(1.0)) >> d["part"]["u"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        d.system()


@pytest.mark.slow
@pytest.mark.parametrize("part", ["resettable", "enabled"])
def test_a_co_simulated_unit_begins_anew_as_what_it_was_made_of(part, tmp_path):
    unit = Diagram("unit")
    unit.connect(unit.inport("u"), unit.add("x", Integrator(2.0))["u"])
    unit.outport("y", unit["x"]["y"])
    unit.outport("now", unit.add("clock", Clock())["y"])
    d = diagram(part, FMU(export_fmu(unit, tmp_path / "unit.fmu"), kind="cs", sample=T))
    d.add("one", Constant(1.0)) >> d["part"]["u"]
    r = simulate(d, 1.5, log_every=T)
    assert r["part.y"][:5, 0] == pytest.approx(2.0 + r.time[:5], abs=1e-9)
    assert r["part.y"][10:, 0] == pytest.approx(2.0 + r.time[10:] - AGAIN, abs=1e-9)
    assert r["part.now"][10:, 0] == pytest.approx(r.time[10:], abs=1e-9)  # its clock is that of the run
