"""Delays of exported units in model exchange, that keep the past over steps of the importer: closed forms."""

from __future__ import annotations

import ctypes
import math

import fmpy
import numpy as np
import pytest

import blocks as B
from cosim import FMU, Diagram, Simulation, export_fmu, simulate
from tests.helpers.exported import delayed, jumping
from tests.helpers.opened_fmu import Opened

VERSIONS = ["2.0", "3.0"]


def by_steps(t, delay=0.3):
    """x' = -x(t - delay), x = 1 before: a polynomial of degree k + 1 after k delays."""
    terms = range(int(np.max(t) / delay) + 3)
    return sum((-1) ** k * np.clip(t - (k - 1) * delay, 0.0, None) ** k / math.factorial(k) for k in terms)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_delay_in_a_loop_is_the_method_of_steps(version, tmp_path):
    path = export_fmu(delayed(), tmp_path / "delayed.fmu", version=version, kinds=["me"])
    found = fmpy.simulate_fmu(
        str(path), stop_time=2.0, output_interval=0.05, fmi_type="ModelExchange", relative_tolerance=1e-9
    )
    assert np.abs(found["x"] - by_steps(found["time"])).max() < 1e-6
    d = Diagram("outside")
    d.add("unit", FMU(path, kind="me"))
    for engine in ("native", "reference"):
        for step, limit in ((0.1, 1e-7), (0.01, 1e-11)):  # the past of a step is a cubic: of order 4
            r = simulate(d, 2.0, rtol=1e-9, atol=1e-11, max_step=step, log_every=0.05, engine=engine)
            assert np.abs(r["unit.x"][:, 0] - by_steps(r.time)).max() < limit


@pytest.mark.parametrize("version", VERSIONS)
def test_a_jump_comes_out_of_delays_at_events_of_its_own(version, tmp_path):
    path = export_fmu(jumping(), tmp_path / "jumping.fmu", version=version)
    with Opened(path, "ModelExchange") as m:
        update = m.unit.newDiscreteStates if m.is_2 else m.unit.updateDiscreteStates
        t, times = 0.0, []
        while t < 1.0:
            told = update()
            assert told[-2]
            m.unit.enterContinuousTimeMode()
            assert t < told[-1] <= t + 0.3 + 1e-12  # no step is longer than the shorter delay
            t = told[-1]
            times.append(t)
            m.unit.setTime(t)
            m.unit.setContinuousStates((ctypes.c_double * 1)(2.0 * max(0.0, t - 0.9)), 1)
            assert m.unit.completedIntegratorStep() == (False, False)
            m.unit.enterEventMode()
            update()
            assert m.get("first_y") == (2.0 if t >= 0.5 else 0.0), t
            assert m.get("second_y") == (2.0 if t >= 0.9 else 0.0), t
        assert {0.2, 0.5, 0.9} <= {round(t, 12) for t in times}
    for kind, limit in (("CoSimulation", 1e-9), ("ModelExchange", 1e-6)):
        found = fmpy.simulate_fmu(
            str(path), stop_time=1.5, output_interval=0.05, fmi_type=kind, relative_tolerance=1e-9
        )
        assert np.abs(found["x_y"] - 2.0 * np.maximum(0.0, found["time"] - 0.9)).max() < limit, kind


def test_a_state_of_model_exchange_has_the_past(tmp_path):
    """Saved at 1 s and set back at 1.7 s, another instance goes on with it too."""
    path = export_fmu(delayed(), tmp_path / "delayed.fmu", version="3.0")

    def go(m, begin, end):
        """Steps of 0.1 s along the closed form; what the unit says of the derivative."""
        found = []
        for t in np.arange(round(10 * begin) + 1, round(10 * end) + 1) / 10:
            m.unit.setTime(t)
            m.unit.setContinuousStates((ctypes.c_double * 1)(by_steps(t)), 1)
            assert m.unit.completedIntegratorStep() == (False, False)
            m.unit.enterEventMode()
            m.unit.updateDiscreteStates()
            m.unit.enterContinuousTimeMode()
            rate = (ctypes.c_double * 1)()
            m.unit.getContinuousStateDerivatives(rate, 1)
            assert rate[0] == pytest.approx(-by_steps(t - 0.3), abs=1e-5)
            found.append(rate[0])
        return found

    with Opened(path, "ModelExchange") as m:
        m.unit.updateDiscreteStates()
        m.unit.enterContinuousTimeMode()
        go(m, 0.0, 1.0)
        state, once = m.bytes(), go(m, 1.0, 1.7)
        m.from_bytes(state)
        assert go(m, 1.0, 1.7) == once
        with Opened(path, "ModelExchange", folder=m.place) as other:
            other.from_bytes(state)
            assert go(other, 1.0, 1.7) == once


def test_a_long_past_of_many_jumps_is_kept(tmp_path):
    """Jumps every 10 ms, 1 s late, beside a wave in steps of 0.2 ms: 5000 pieces and 100 jumps wait."""
    d = Diagram("long")
    t = np.arange(301) / 100
    d.add("jumps", B.TimeTable(t, np.arange(301.0), interpolation="previous"))
    d.add("wave", B.Sine(1.0, 5.0))
    x = d.add("x", B.Integrator())
    for name in ("jumps", "wave"):
        d.add(f"{name}_late", B.TransportDelay(1.0))
        d.connect(f"{name}.y", f"{name}_late.u")
        d.outport(f"{name}_y", f"{name}_late.y")
    d.connect("wave_late.y", x["u"])
    d.outport("x", x["y"])
    for version in VERSIONS:
        path = export_fmu(d, tmp_path / f"long{version[0]}.fmu", version=version, solver="rk4", step=2e-4)
        with Opened(path) as m:
            for k in range(1, 26):
                m.step(0.1)
                late = max(0.0, k / 10 - 1.0)
                assert m.get("jumps_y") == pytest.approx(round(100 * late), abs=1e-9)
                assert m.get("wave_y") == pytest.approx(math.sin(5.0 * late), abs=1e-9)
                assert m.get("x") == pytest.approx((1.0 - math.cos(5.0 * late)) / 5.0, abs=1e-9)


@pytest.mark.parametrize("engine", ["reference", "native"])
@pytest.mark.parametrize("version", VERSIONS)
def test_an_input_of_model_exchange_is_delayed_as_it_moved(version, engine, tmp_path):
    """y = u(t - T), and the delayed product of u and a state, where u goes up with t; saved on the way, too.

    A step of the importer was kept as if its inputs had been all along what they were at its end.
    """
    T = 0.1258
    unit = Diagram("unit")
    u = unit.inport("u")
    x = unit.add("x", B.Integrator(1.0))
    product = unit.add("product", B.Product())
    unit.connect(u, x, product["in1"])
    unit.connect(x["y"], product["in2"])
    for name, of in (("alone", u), ("both", product["y"])):
        late = unit.add(name, B.TransportDelay(T))
        unit.connect(of, late)
        unit.outport(name[0], late["y"])
    d = Diagram("d")
    d.add("unit", FMU(export_fmu(unit, tmp_path / "unit.fmu", version=version), kind="me"))
    d.connect(d.add("ramp", B.Ramp(slope=2.0))["y"], "unit.u")
    sim = Simulation(d, engine=engine, max_step=0.03)
    for k in range(1, 41):
        sim.advance(0.025 * k)
        s = max(0.025 * k - T, 0.0)  # x = 1 + t^2
        assert sim.value("unit.a")[0] == pytest.approx(2.0 * s, abs=1e-9)
        assert sim.value("unit.b")[0] == pytest.approx(2.0 * s * (1.0 + s * s), abs=1e-6)
        if k == 20:
            state = sim.snapshot()
            sim.advance(0.6)
            sim.restore(state)
