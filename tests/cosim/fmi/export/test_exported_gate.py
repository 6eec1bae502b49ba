"""Every kind of diagram as an FMU: valid, and in co-simulation with the native engine's bits.

Validation is FMPy's with the schemas of the standard; the run is FMPy's; the other side is
`Simulation.advance` to the same communication points.
"""

from __future__ import annotations

import zipfile

import fmpy
import numpy as np
import pytest
from fmpy.validation import validate_fmu

from cosim import Simulation, export_fmu
from cosim.fmi.export.exported_variables import fmi_name
from tests.helpers.exported import DIAGRAMS, columns
from tests.helpers.validated import validated

SOLVERS = [
    {"solver": "rk4", "step": 0.013},
    {"solver": "dopri5", "rtol": 1e-7},
    {"solver": "rodas4", "rtol": 1e-5},
]
CASES = [
    (name, "2.0" if k % 2 else "3.0", SOLVERS[0] if name == "every block" else SOLVERS[k % 3])
    for k, name in enumerate(DIAGRAMS)
]
STEP, COUNT = 0.01, 60


@pytest.mark.parametrize(
    ("name", "version", "solver"),
    [pytest.param(*c, marks=pytest.mark.slow) if c[0] == "every block" else c for c in CASES],
    ids=[c[0] for c in CASES],
)
def test_valid_and_bit_for_bit(name, version, solver, tmp_path):
    d = DIAGRAMS[name]()
    loops = d.name == "loops"
    system = d.system(loops)
    chosen = [n for n in system.signals if n not in system.inputs]
    path = export_fmu(
        d, tmp_path / "unit.fmu", version=version, outputs=(), locals=chosen, solve_loops=loops, **solver
    )
    assert validated(path) == []
    sim = Simulation(d, solve_loops=loops, engine="native", **solver)
    expected = []
    for k in range(COUNT + 1):
        sim.advance(k * STEP)
        expected.append(np.concatenate([sim.value(n) for n in chosen]))
    every = [v.name for v in fmpy.read_model_description(str(path)).modelVariables if v.causality == "local"]
    calls = []
    found = fmpy.simulate_fmu(
        str(path), stop_time=COUNT * STEP, output_interval=STEP, fmi_type="CoSimulation", output=every,
        fmi_call_logger=calls.append,
    )  # fmt: skip
    got = [columns(found, fmi_name(n), system.signals[n].size) for n in chosen]
    assert np.array_equal(np.concatenate(got, axis=1), np.array(expected))
    assert len(calls) > COUNT
    assert not [c for c in calls if c.endswith(("WARNING", "DISCARD", "ERROR", "FATAL"))]


@pytest.mark.slow
def test_the_short_validation_says_what_the_whole_one_does(tmp_path):
    """A name that is not legal, another that is built alike, one that is a derivative but for a letter."""
    path = export_fmu(DIAGRAMS["bouncing"](), tmp_path / "unit.fmu", outputs=(), locals=["ball.h", "ball.v"])
    assert validated(path) == validate_fmu(str(path)) == []
    with zipfile.ZipFile(path) as unit:
        files = {name: unit.read(name) for name in unit.namelist()}
    for wrong in ("ball h", "dex(ball.h)", "ball.0h", "ball[a]"):
        bad = files["modelDescription.xml"].replace(b'"ball.h"', f'"{wrong}"'.encode())
        with zipfile.ZipFile(tmp_path / "bad.fmu", "w") as unit:
            for name, content in (files | {"modelDescription.xml": bad}).items():
                unit.writestr(name, content)
        told = validate_fmu(str(tmp_path / "bad.fmu"))
        assert validated(tmp_path / "bad.fmu") == told and wrong in "".join(told)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rates", "relay", "loops", "pendulum", "no states", "bouncing"])
def test_model_exchange_agrees_within_the_importers_tolerance(name, tmp_path):
    """CVode at 1e-9, events and ticks handled through FMI; draws are the same numbers."""
    d = DIAGRAMS[name]()
    loops = d.name == "loops"
    system = d.system(loops)
    chosen = [n for n in system.signals if not n.endswith("peak.y")]
    path = export_fmu(d, tmp_path / "unit.fmu", outputs=(), locals=chosen, solve_loops=loops)
    sim = Simulation(d, solve_loops=loops, rtol=1e-10, atol=1e-12)
    every = [v.name for v in fmpy.read_model_description(str(path)).modelVariables if v.causality == "local"]
    found = fmpy.simulate_fmu(
        str(path),
        stop_time=1.0,
        output_interval=0.02,
        fmi_type="ModelExchange",
        output=every,
        relative_tolerance=1e-9,
    )
    for k in range(51):
        sim.advance(k * 0.02)
        row = np.searchsorted(found["time"], k * 0.02 + 1e-9, side="right") - 1
        for n in chosen:
            got = columns(found[row : row + 1], fmi_name(n), system.signals[n].size)[0]
            assert np.allclose(got, sim.value(n), atol=2e-6), (n, k)
