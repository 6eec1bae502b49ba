"""FMUs that refuse what the standard does not allow; see `no_rule_is_broken` in conftest."""

from __future__ import annotations

import gc
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cosim import FMU, Diagram, Simulation, simulate
from cosim.cli.fmu_commands import findings
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.component import Component
from cosim.fmi.model_exchange_slopes import slope_by_time
from tests.helpers.fmus import build_fmu, needs_compiler

pytestmark = needs_compiler
versions = pytest.mark.parametrize("version", ["2.0", "3.0"])
HOWS: list[dict[str, Any]] = [{}, {"importer": "fmpy"}, {"isolate": True}]


@pytest.mark.parametrize("window", [(-9.0, 9.0), (0.5, 9.0), (-9.0, 0.5), (0.5, 0.500001), (0.499999, 0.5)])
def test_slopes_by_time_are_asked_for_between_events(window: tuple[float, float]) -> None:
    """d sin(3 t)/dt = 3 cos(3 t) at t = 0.5, from times in the window."""
    asked = []

    def f(t: float, a: np.ndarray) -> np.ndarray:
        asked.append(t)
        return np.array([math.sin(3 * t), a[0]])

    found = slope_by_time(f, 0.5, np.array([2.0]), *window)
    np.testing.assert_allclose(found, [3 * math.cos(1.5), 0.0], atol=1e-8)
    assert window[0] <= min(asked) and max(asked) <= window[1]
    assert slope_by_time(f, 0.5, np.array([2.0]), 0.5, 0.5).tolist() == [0.0, 0.0]  # no room at all


@versions
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_a_stiff_solver_does_not_go_back_behind_events(version: str, engine: str) -> None:
    """A ball dropped from 1 m: it meets the floor at sqrt(2/g) and rises to e^2 m."""
    d = Diagram("drop")
    d.add("ball", FMU(build_fmu("ball", version=version), kind="me"))
    meets = math.sqrt(2 / 9.81)
    top = meets + 0.7 * 9.81 * meets / 9.81
    r = simulate(d, top, engine=engine, solver="rodas4", rtol=1e-8)
    assert r["ball.h"][-1, 0] == pytest.approx(0.49, abs=1e-6)
    sim = Simulation(d, engine=engine, solver="rodas4", rtol=1e-8)
    for t in np.linspace(0.1, top, 7):
        sim.advance(float(t))
    assert sim.result()["ball.h"][-1, 0] == pytest.approx(0.49, abs=1e-6)


@pytest.mark.slow
@versions
@pytest.mark.parametrize("how", HOWS, ids=str)
def test_saved_states_are_freed_before_the_fmu(version: str, how: dict[str, Any]) -> None:
    """Those that nobody keeps, and those still kept when it is closed."""
    m = FMU(build_fmu("lag", version=version), kind="cs", **how).open()
    m.initialize()
    m.set("u", 1.0)
    kept = m.save()
    for _ in range(5):
        m.save()
        m.step(0.1)
    gc.collect()
    m.load(kept)
    m.step(1.0)
    assert m.get("y") == pytest.approx(1 - math.exp(-1), abs=1e-9)
    assert len(getattr(m.component, "dropped", ())) <= 1
    m.close()
    del kept
    gc.collect()


@versions
@pytest.mark.parametrize("how", HOWS[:2], ids=str)
def test_a_failed_step_leaves_reset_and_saved_states(version: str, how: dict[str, Any]) -> None:
    fmu = FMU(build_fmu("faulty", version=version), kind="cs", start={"fault": 4}, **how)
    with fmu.open() as m:
        m.initialize()
        m.step(0.1)
        saved = m.save()
        for way in (m.reset, lambda: m.load(saved)):
            with pytest.raises(FMUCallError, match="error"):
                for _ in range(8):
                    m.step(0.1)
            with pytest.raises(FMUError, match=r"a step from t=0\.4 s has failed.*[Rr]eset"):
                m.step(0.1)
            way()
            if way == m.reset:
                m.initialize()
                m.step(0.1)
            assert m.time == pytest.approx(0.1)


@versions
@pytest.mark.parametrize("kind", ["cs", "me"])
def test_an_fmu_that_ended_the_run_is_told_so(version: str, kind: str, monkeypatch: Any) -> None:
    """Some write their results then; once is enough."""
    told = []
    terminate = Component.terminate
    monkeypatch.setattr(Component, "terminate", lambda self: (told.append(kind), terminate(self))[1])
    with FMU(build_fmu("stair", version=version), kind=kind).open() as m:
        m.initialize()
        while not m.terminated:
            m.step(0.5)
        assert m.get("counter") == 10 and not told
    assert told == [kind]


def test_binaries_of_no_bytes() -> None:
    path = build_fmu("feedthrough", version="3.0")
    for how in HOWS:
        with FMU(path, kind="cs", start={"Binary_input": b""}, **how).open() as m:
            m.initialize()
            assert m.get("Binary_input") == b""


def test_aliases_are_no_finding_of_a_validation() -> None:
    """FMPy expects them in the structure, where the standard has only the variables themselves."""

    def change(text: str) -> str:
        return re.sub(
            r'(<Float64 name="y"[^>]*)(/>|></Float64>)', r'\1><Alias name="also y"/></Float64>', text
        )

    assert findings(Path(build_fmu("lag", version="3.0", change=change))) == []
