"""Event indicators of exported units: each is the crossing of its event, on the side of its sign."""

from __future__ import annotations

import numpy as np
import pytest

from blocks import DeadZone, Integrator, Relay, Sine
from cosim import FMU, Diagram, export_fmu, simulate


def switching() -> Diagram:
    """Two dead zones with the same crossings; a relay behind a relay, whose crossings are held ones."""
    d = Diagram("switching")
    x = d.add("x", Integrator(0.2))
    d.connect(d.add("rate", Sine(frequency=3.0))["y"], x["u"])
    for name, block, source in (
        ("first", Relay(0.5, -0.1), "x.y"), ("second", Relay(0.3, -0.3), "first.y"),
        ("one", DeadZone(-0.2, 0.3), "x.y"), ("other", DeadZone(-0.2, 0.3), "x.y"),
    ):  # fmt: skip
        d.add(name, block)
        d.connect(source, f"{name}.u")
        d.outport(f"{name}_y", f"{name}.y")
    return d


@pytest.fixture(scope="module")
def unit(tmp_path_factory):
    place = tmp_path_factory.mktemp("indicators") / "switching.fmu"
    return export_fmu(switching(), place, version="3.0", kinds=("me",))


def test_each_indicator_is_the_crossing_of_its_event(unit):
    """Compiled code has equal crossings once, and held ones first: they were read in that order."""
    with FMU(unit, kind="me").open() as m:
        m.initialize()
        names = [name for name in m.description.variables if name.startswith("indicators.")]
        found = {name.removeprefix("indicators."): m.get(name) for name in names}
    x, first, unarmed = 0.2, 0.0, 1.0  # a relay that is off cannot switch off
    expected = {
        "first.'switch on'": x - 0.5, "first.'switch off'": unarmed,
        "second.'switch on'": first - 0.3, "second.'switch off'": unarmed,
        **{f"{zone}.'branch{k} {way}'": beyond for zone in ("one", "other") for way in ("on", "off")
           for k, beyond in enumerate((-0.2 - x, x - 0.3))},
    }  # fmt: skip
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_a_run_ends_its_steps_where_events_are(unit, engine):
    """x = 0.2 + (1 - cos 3t) / 3 goes above 0.3 and 0.5 and back, which corners of the dead zones follow."""
    d = Diagram("outside")
    d.add("unit", FMU(unit, kind="me"))
    r = simulate(d, 3.0, rtol=1e-11, atol=1e-13, log_every=0.01, engine=engine)
    x = 0.2 + (1.0 - np.cos(3.0 * r.time)) / 3.0
    zone = np.maximum(x - 0.3, 0.0)
    assert np.abs(r["unit.one_y"][:, 0] - zone).max() < 1e-10
    assert np.abs(r["unit.other_y"][:, 0] - zone).max() < 1e-10
    rises = np.arccos(1.0 - 3.0 * 0.3) / 3.0  # the first relay switches on, the second one with it
    for name in ("first_y", "second_y"):
        assert r[f"unit.{name}"][:, 0].tolist() == (r.time > rises).astype(float).tolist()
