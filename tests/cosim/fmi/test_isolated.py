"""FMUs in processes of their own: the same numbers, and every way to die is one error that names the unit."""

from __future__ import annotations

import math
import mmap
import os
from typing import Any

import pytest

from blocks import Clock, Constant
from blocks.errors import PlantloopError, SimulationError
from cosim import FMU, Diagram, Simulation, simulate
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.isolated_host import SHARED, Host
from tests.helpers.fmus import build_fmu

pytestmark = pytest.mark.skipif(os.name != "posix", reason="isolation needs a POSIX system")
CRASH, HANG, LEAK, RETURN_ERROR, DISCARD, ABORT = 1, 2, 3, 4, 6, 9


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (CRASH, r"crashed \(SIGSEGV\) in DoStep at t=0\.4"),
        (ABORT, r"crashed \(SIGABRT\)"),
        (HANG, r"did not answer within 4\.0 s \(timeout\)"),
        (LEAK, r"crashed"),
        (RETURN_ERROR, r"(?s)fmi2DoStep returned error at t=0\.4.*oil pressure is 0\.25 bar"),
    ],
)
def test_faults(fault: int, said: str) -> None:
    start = {"fault": fault, "megabytes": 3000.0}
    patience = 4.0 if fault == HANG else 60.0
    fmu = FMU(build_fmu("faulty"), kind="cs", isolate=True, timeout=patience, start=start)
    with fmu.open() as m:
        m.initialize()
        with pytest.raises(FMUCallError, match=said) as caught:
            for _ in range(8):
                m.step(0.1)
        assert "faulty.fmu" in str(caught.value)
        with pytest.raises(FMUError):  # it stays dead
            m.step(0.1)


def test_other_results_survive_a_crash() -> None:
    d = Diagram("two")
    d.add("good", FMU(build_fmu("lag"), kind="cs", sample=0.1))
    d.add("bad", FMU(build_fmu("faulty"), isolate=True, sample=0.1, start={"fault": CRASH, "when": 0.5}))
    d.add("one", Constant(1.0))
    d.connect("one.y", "good.u")
    d.connect("one.y", "bad.u")
    with pytest.raises(SimulationError, match=r"block 'bad'.*crashed") as caught:
        simulate(d, until=1.0, log_every=0.1)
    y = caught.value.result["good.y"]
    assert y[4, 0] == pytest.approx(1 - math.exp(-0.4), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_the_same_numbers(kind: str) -> None:
    path, runs = build_fmu("lag", version="3.0"), []
    for isolate in (False, True):
        d = Diagram("ramp")
        d.add("ramp", Clock())
        d.add("lag", FMU(path, kind=kind, sample=0.1 if kind == "cs" else None, isolate=isolate))
        d.connect("ramp.y", "lag.u")
        with Simulation(d, solver="rk4", step=0.05) as sim:
            sim.advance(0.3)
            before = sim.snapshot()
            sim.advance(0.5)
            sim.restore(before)
            sim.advance(0.6)
            runs.append(sim.value("lag.y").tobytes())
    assert runs[0] == runs[1]


def test_values_of_all_types() -> None:
    with FMU(build_fmu("feedthrough", version="3.0"), kind="cs", isolate=True).open() as m:
        m.initialize()
        values = {"UInt64": 2**64 - 1, "String": "Grüße", "Binary": b"\x00\xff", "Boolean": True}
        for kind, value in values.items():
            m.set(f"{kind}_input", value)
        m.step(0.1)
        assert {kind: m.get(f"{kind}_output") for kind in values} == values


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_steps_that_end_otherwise_come_back_as_they_are(version: str) -> None:
    """An early end, and a step that is discarded."""
    with FMU(build_fmu("stair", version=version), isolate=True).open() as m:
        m.initialize()
        assert (m.step(3.5), m.terminated, m.get("counter")) == (3.5, False, 4)
        assert (m.step(20.0), m.terminated, m.get("counter")) == (9.0, True, 10)
    start = {"fault": DISCARD, "when": 0.5}
    with FMU(build_fmu("faulty", version=version), isolate=True, start=start).open() as m:
        m.initialize()
        m.set("u", 2.0)
        m.step(0.1)
        assert (m.time, m.get("u")) == (pytest.approx(0.1), 2.0)
        with pytest.raises(FMUError, match="was discarded"):
            m.step(1.0)


def test_the_native_engine_says_what_it_cannot_call() -> None:
    d = Diagram("alone")
    d.add("ball", FMU(build_fmu("ball"), kind="me", isolate=True))
    said = r"block 'ball' calls FMU '\w+\.fmu' \(isolate=True\) in Python"
    with pytest.raises(PlantloopError, match=said):
        simulate(d, until=0.1, engine="native")


def test_a_connection_that_breaks_ends_the_process_quietly() -> None:
    """It wrote a traceback where its caller had gone in the midst of a call."""

    class Broken:
        def recv(self, size: int) -> bytes:
            raise ConnectionResetError(104, "Connection reset by peer")

    connection: Any = Broken()
    Host(connection, mmap.mmap(-1, SHARED), -1).serve()
