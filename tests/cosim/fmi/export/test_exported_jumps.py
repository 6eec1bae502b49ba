"""Inputs that jump where nothing else happens: onto a threshold, and away from a flank of a play.

Between ticks an importer, or `set_input`, may set an input to any value. What switches on its new value does
so at once. Oracles: the time a part was on, and the play operator y <- min(max(y, u - w/2), u + w/2).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import blocks as B
from cosim import FMU, Diagram, Enabled, Simulation, export_fmu, simulate
from tests.helpers.fmus import needs_compiler

WIDTH, H = 0.3, 0.25
ON = [1.0, 0.0, 0.0, 2.0, 0.0, 1.0]  # over each H
U = [0.2, 0.9, -0.5, 0.0, 0.9, 0.1]
SOLVERS = [{"solver": "rk4", "step": 0.01}, {"solver": "dopri5"}]


@cache
def switched() -> Diagram:
    """An integral of 1 while `on` is above 0, and a gear with play."""
    d = Diagram("switched")
    d.add("x", Enabled(B.Integrator()))
    d.connect(d.add("one", B.Constant(1.0))["y"], "x.u")
    d.connect(d.inport("on"), "x.enable")
    gear = d.add("gear", B.Backlash(WIDTH))
    d.connect(d.inport("u"), gear["u"])
    d.outport("x", "x.y")
    d.outport("y", gear["y"])
    return d


def expected() -> np.ndarray:
    """x and y at the end of each H."""
    x, y, found = 0.0, 0.0, []
    for on, u in zip(ON, U, strict=True):
        x, y = x + H * (on > 0.0), min(max(y, u - WIDTH / 2), u + WIDTH / 2)
        found.append([x, y])
    return np.array(found)


@pytest.mark.parametrize("solver", SOLVERS, ids=["rk4", "dopri5"])
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_what_is_set_between_ticks_switches_at_once(engine, solver):
    """Onto its threshold it switched a quarter of a step late; the play followed its input down at once."""
    found = []
    with Simulation(switched(), engine=engine, **solver) as sim:
        for k, (on, u) in enumerate(zip(ON, U, strict=True)):
            sim.set_input("on", on)
            sim.set_input("u", u)
            sim.advance((k + 1) * H)
            found.append([sim.value("x.y").item(), sim.value("gear.y").item()])
    np.testing.assert_allclose(found, expected(), rtol=0, atol=1e-12)


@needs_compiler
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_exported_units_switch_at_once(version, tmp_path):
    """An indicator that lands on its threshold was moved aside as before: in model exchange no event came."""
    path = export_fmu(switched(), tmp_path / "switched.fmu", version=version)
    for kind in ("cs", "me"):
        found = []
        with FMU(path, kind=kind).open() as m:
            for k, (on, u) in enumerate(zip(ON, U, strict=True)):
                m.set("on", on)
                m.set("u", u)
                if not k:
                    m.initialize()
                m.step(H)
                found.append([m.get("x"), m.get("y")])
        np.testing.assert_allclose(found, expected(), rtol=0, atol=1e-9, err_msg=kind)
    for engine in ("reference", "native"):
        _check_in_a_diagram(path, engine)


def _check_in_a_diagram(path: Path, engine: str) -> None:
    """Model exchange with inputs that are held; the last rows before they jump again."""
    d = Diagram("d")
    d.add("m", FMU(path, kind="me"))
    times = H * np.arange(len(ON))
    for name, values in (("on", ON), ("u", U)):
        d.add(f"{name}s", B.TimeTable(times, values, "previous"))
        held = d.add(f"held_{name}", B.Hold(0, sample="1/4", initial=values[0]))
        d.connect(f"{name}s.y", held["u"])
        d.connect(held["y"], f"m.{name}")
    r = simulate(d, len(ON) * H, engine=engine, log_every=H / 8)
    last = [8 * (k + 1) - 1 for k in range(len(ON))]
    found = np.column_stack([r["m.x"], r["m.y"]])[last]
    left = expected() - np.outer(np.array(ON) > 0.0, [H / 8, 0.0])
    np.testing.assert_allclose(found, left, rtol=0, atol=1e-9, err_msg=engine)
