"""Routines that sample by a clock of their own do so on their sample times, whatever the steps."""

import math
import warnings

import numpy as np
import pytest

from cosim import Diagram, Simulation, simulate
from plant.elements import Control_PlantOutput, Force_Vector_OneBody, Reference_Variable
from plant.routines.own_clock import NEVER, OwnClock, leaves, rounded_up
from tests.helpers.slider import slider, variable, written

MASS, START, STIFFNESS = 2.0, 0.5, 20.0
RETURNS_NEW = """
kept = {"next": 0.0, "force": 0.0}
def VARSUB(id, time, par, npar, dflag, iflag):
    [x, _] = py_sysfnc("DX", par)
    if iflag:
        return 0.0
    while not dflag and time >= kept["next"]:
        kept["force"] = -20 * x
        kept["next"] += PERIOD
    return kept["force"]
"""
RETURNS_OLD = """
n = 0
force = 0.0
def VARSUB(id, time, par, npar, dflag, iflag):
    global n, force
    [x, _] = py_sysfnc("DX", par)
    if iflag:
        return 0.0
    old = force
    if not dflag and time >= n * PERIOD - 1e-10:
        force = -20 * x
        n += 1
    return old
"""
COUNTS_CALLS = """
class Memory:
    pass
m = Memory()
m.last, m.force, m.calls = -1e9, 0.0, 0
def VARSUB(id, time, par, npar, dflag, iflag):
    [x, _] = py_sysfnc("DX", par)
    if iflag:
        return 0.0
    m.calls += 1
    if not dflag and time - m.last >= PERIOD - 1e-12:
        m.force, m.last = -20 * x, time
    return m.force
"""
LARGEST = """
largest, calls = 0.0, 0
def VARSUB(id, time, par, npar, dflag, iflag):
    global largest, calls
    [v, _] = py_sysfnc("VX", par)
    calls += 1
    largest = max(largest, v)
    return largest
"""


def known(period: float, t: float) -> float:
    """Place at t [m] under a force that is set anew at every whole period."""
    x, v, n = START, 0.0, math.floor(t / period)
    for _ in range(n):
        a = -STIFFNESS * x / MASS
        x, v = x + v * period + a * period**2 / 2, v + a * period
    rest = t - n * period
    return x + v * rest - STIFFNESS * x / MASS * rest**2 / 2


def controlled(tmp_path, text, period=0.0):
    script = written(tmp_path, f"PERIOD = {period!r}\n{text}")
    plant = slider(
        script,
        variable(script),
        Force_Vector_OneBody(id=1, type="FORCEONLY", marker_id=20, fx_expression="VARVAL(1)"),
        Reference_Variable(id=2, type="EXPRESSION", expr="DX(20)"),
        Control_PlantOutput(id=1, label="y", variable_id_list=(1, 2)),
    )
    d = Diagram("sampled")
    d.add("plant", plant)
    return d


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():  # all of them are called at run time
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize(
    ("text", "period"), [(RETURNS_NEW, 0.1), (RETURNS_NEW, 0.037), (RETURNS_OLD, 0.1), (COUNTS_CALLS, 0.1)]
)
def test_samples_fall_on_their_times_whatever_the_steps(tmp_path, text, period, engine):
    d = controlled(tmp_path, text, period)
    for how in ({}, {"solver": "rk4", "step": 0.013}):
        r = simulate(d, until=1.05, engine=engine, log_every=0.35, **how)
        assert r["plant.y"][-1, 1] == pytest.approx(known(period, 1.05), abs=1e-9)
        times = [e.time for e in r.events]
        assert times == pytest.approx(period * np.arange(1, len(times) + 1), abs=1e-9)
        assert len(times) == math.floor(1.05 / period)


def test_one_step_of_error_control_leads_from_sample_to_sample(tmp_path):
    """What the routine would give behind its next sample is not asked for: no step fails because of it."""
    r = simulate(controlled(tmp_path, RETURNS_NEW, 0.5), until=10.0, engine="reference")
    assert r["plant.y"][-1, 1] == pytest.approx(known(0.5, 10.0), rel=1e-9)
    assert r.statistics["steps"] < 5 * 20


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_a_snapshot_between_samples_goes_on_with_the_same_clock(tmp_path, engine):
    d = controlled(tmp_path, COUNTS_CALLS, 0.1)
    sim = Simulation(d, engine=engine)
    sim.advance(0.537)
    sim.save(tmp_path / "half")
    sim.advance(1.25)
    again = Simulation(d, engine=engine)
    again.load(tmp_path / "half")
    again.advance(1.25)
    assert np.array_equal(again.value("plant.y"), sim.value("plant.y"))
    assert sim.value("plant.y")[1] == pytest.approx(known(0.1, 1.25), abs=1e-9)


@pytest.mark.slow
def test_what_follows_the_states_or_every_call_is_no_clock(tmp_path):
    """The largest speed of a swing changes all the time, a count at every call: no events come of them."""
    r = simulate(controlled(tmp_path, LARGEST), until=0.5, engine="reference", initial={"plant.rail.qd": 0.1})
    assert not r.events


def kept_after(period, tolerance=0.0):
    """What a routine with a count of samples keeps, called at t."""
    return lambda n: lambda t: {"n": n + (t >= (n + 1) * period - tolerance), "calls": t}


@pytest.mark.parametrize(("period", "tolerance"), [(0.1, 0.0), (1 / 3, 0.0), (0.02, 1e-9), (1e-5, 1e-12)])
def test_the_next_instant_is_found_to_the_last_bit_or_is_the_round_number_behind(period, tolerance):
    clock, ask = OwnClock(), kept_after(period, tolerance)
    for n in range(50):
        t = n * period
        clock.accepted(t, {"n": n - 1, "calls": -1.0}, {"n": n, "calls": t}, ask(n))
        assert clock.due == pytest.approx((n + 1) * period, abs=1e-15)
        assert clock.last < clock.due <= (n + 1) * period + 1e-15
        assert clock.within(t + 2 * period) == clock.last
        t = clock.due


def test_a_period_may_change_and_costs_few_questions():
    """Every 0.05 s before 0.5 s, every 0.2 s from there, with something allowed for rounding."""
    clock, t, found, asked = OwnClock(), 0.0, [], []
    while t < 1.0:

        def ask(time, last=t):
            asked.append(time)
            return {"last": time if time - last >= (0.05 if time < 0.5 else 0.2) - 1e-9 else last}

        clock.accepted(t, {"last": -1.0}, {"last": t}, ask)
        t = clock.due
        found.append(t)
    assert found == pytest.approx([*0.05 * np.arange(1, 10), 0.65, 0.85, 1.05], abs=1e-12)
    assert len(asked) < 40 * len(found)


def test_a_search_in_vain_is_not_made_at_every_change():
    clock, asked = OwnClock(), []
    for k in range(1000):
        clock.accepted(0.01 * k, {"peak": k - 1}, {"peak": k}, lambda t, k=k: asked.append(t) or {"peak": k})
    assert clock.due == NEVER
    assert len(asked) < 300


def test_a_clock_is_plain_data():
    clock, ask = OwnClock(), kept_after(0.1)
    clock.accepted(0.0, {"n": -1, "calls": -1.0}, {"n": 0, "calls": 0.0}, ask(0))
    other = OwnClock()
    other.put_back(clock.data())
    assert other.data() == clock.data() and other.due == 0.1


def test_everything_in_what_is_kept_is_looked_at():
    inner = {"a": [1.0, {"b": np.array([2.0, 3.0])}], "c": {4}, "d": None}
    inner["itself"] = inner
    found = leaves({"kept": inner})
    assert set(found.values()) == {1.0, 2.0, 3.0, frozenset({"4"}), None}


@pytest.mark.parametrize(
    ("t", "expected"),
    [
        (0.0999999999, 0.1),
        (0.1, 0.1),
        (1 / 3, 1 / 3),
        (0.30000000000000004, 0.30000000000000004),
        (0.0999, 0.0999),
    ],
)
def test_round_numbers_just_behind_are_meant(t, expected):
    assert rounded_up(t) == expected
