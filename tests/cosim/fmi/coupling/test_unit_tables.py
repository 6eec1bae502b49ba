"""The table of a unit for the compiled coupling: where it stands, rows, samples, steps that Python ends."""

from __future__ import annotations

import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from blocks.contract.driven import Reached
from blocks.contract.rate import Ticks
from cosim.engines.native import bindings as b
from cosim.fmi.coupling.compiled_master import MOST, ROWS, CompiledMaster, UnitTable
from cosim.fmi.coupling.unit_run import KEPT, UnitStanding


def table(n=2, m=1, samples=KEPT, since=3):
    """A table of a unit with `n` inputs and `m` outputs, alone."""
    block = SimpleNamespace(n_inputs=n, n_outputs=m, ticks=Ticks(Fraction(1, 4), Fraction(0)))
    none = np.zeros(0, int)
    places = SimpleNamespace(
        path="unit", block=block, inputs=slice(5, 5 + n), y=np.arange(m), since=since,
        slope=np.arange(m) + 10, curvature=np.arange(m) + 20,
        smooth_inputs=np.full(n, True), smooth_outputs=np.full(m, False),
        late_inputs=np.full(n, True), parameters=none,
    )  # fmt: skip
    made = b.new("pl_fmu_unit")
    return UnitTable(places, made[0], samples, True, 7, 9), made


def test_a_table_says_where_its_unit_is():
    unit, made = table()
    t = made[0]
    assert (t.first, t.period, t.start, t.since, t.u.n, t.out.n, t.u.most, t.out.most) == (
        7,
        9,
        5,
        3,
        2,
        1,
        KEPT,
        KEPT,
    )
    assert t.goes_back and (t.capacity, t.count, t.used) == (ROWS, 0, 0)
    assert (t.y[0], t.slope[0], t.curvature[0], t.smooth_inputs[1], t.smooth_outputs[0], t.late[1]) == (
        0,
        10,
        20,
        1,
        0,
        1,
    )
    sizes = {name: len(a) for name, a in unit.arrays.items()}
    assert sizes == {
        "y": 2, "smooth_inputs": 3, "smooth_outputs": 2, "late": 3, "slope": 2, "curvature": 2, "assumed": 3,
        "value": 3, "bend": 3, "curve": 3, "fresh": 2,
    }  # fmt: skip
    assert [len(level) for level in unit._levels] == [KEPT * 3 + 2 + 1] * 2
    assert (unit._u.shape, unit._y.shape, unit._rows.shape) == ((KEPT, 2), (KEPT, 1), (ROWS * 5,))
    assert "slope" not in table(since=-1)[0].arrays and table(since=0)[0].arrays["slope"][0] == 10


class Called:
    """A unit that notes what compiled code says of it."""

    def __init__(self, ended=""):
        self.story, self.ended = [], ended

    def resume(self):
        self.story.append("resume")

    def pause(self):
        self.story.append("pause")
        return self.ended

    def came_to(self, t):
        self.story.append(("came to", t))


def run_of(standing, ended="", jumped=False):
    return SimpleNamespace(unit=Called(ended), standing=standing, jumped=jumped)


@pytest.mark.parametrize("samples", [1, 2, KEPT])
def test_where_a_unit_stands_goes_into_the_table_and_comes_out_again(samples):
    """As many samples as are kept; the next event is not known; a unit that came further is told so."""
    unit, made = table(samples=samples)
    t = made[0]
    u = tuple((1.0 - k / 4, np.array([1.0 + k, 2.0 + k])) for k in range(KEPT))
    y = ((1.0, np.array([7.0])), (0.5, np.array([8.0])))
    run = run_of(UnitStanding(points=5, time=1.0, u=u, y=y, ended="before"))
    t.ended, t.next = 1, 3.0
    unit.enter(run)
    assert (t.points, t.time, t.ended, t.u.count, t.out.count) == (5, 1.0, 0, samples, min(samples, 2))
    assert math.isnan(t.next) and run.unit.story == ["resume"]
    assert list(t.u.time[0:samples]) == [s[0] for s in u[:samples]]
    assert list(t.u.values[0 : 2 * samples]) == [v for s in u[:samples] for v in s[1]]
    unit.leave(run)
    assert run.unit.story == ["resume", "pause"]
    found = run.standing
    assert (found.points, found.time, found.ended) == (5, 1.0, "before")
    for got, given in ((found.u, u), (found.y, y)):
        assert [(s[0], s[1].tolist()) for s in got] == [(s[0], s[1].tolist()) for s in given[:samples]]
    t.u.values[0] = -9.0
    assert found.u[0][1][0] == 1.0  # a copy
    t.points, t.time = 6, 1.25
    unit.leave(run)
    assert run.unit.story[2:] == [("came to", 1.25), "pause"] and run.standing.points == 6


def test_a_unit_that_ends_the_run_says_why_when_it_is_left():
    unit, _ = table()
    run = run_of(UnitStanding(), ended="enough")
    unit.enter(run)
    unit.leave(run)
    assert run.standing.ended == "enough"


def test_jumps_of_a_unit_with_events_are_known_on_both_sides():
    unit, made = table()
    events = b.new("pl_fmu_events")
    made[0].events = events
    for before, after in ((True, False), (False, True)):
        run = run_of(UnitStanding(), jumped=before)
        unit.enter(run)
        assert bool(events.jumped) is before
        events.jumped = after
        unit.leave(run)
        assert run.jumped is after


class Stepping(Called):
    """One that also notes steps, and says where they ended."""

    reached = Reached(1.5)

    def step(self, t, h, u, slope, curvature):
        self.story.append(("step", t, h, u.tolist(), slope.tolist(), curvature.tolist()))
        u[:] = slope[:] = curvature[:] = 99.0  # copies
        return self.reached

    def stepped(self, end, status, bent):
        self.story.append(("stepped", end, status, bent))
        return self.reached


@pytest.mark.parametrize("stepped", [True, False])
@pytest.mark.parametrize("reached", [Reached(1.5), Reached(1.25, "enough"), Reached(1.5, "", True)])
def test_a_step_that_compiled_code_leaves_is_finished_or_made(stepped, reached):
    """From 1 s to 1.5 s; where it began itself, it says whether inputs were bent."""
    unit, made = table()
    t, events = made[0], b.new("pl_fmu_events")
    t.events, t.time, t.end, t.status = events, 1.0, 1.5, 2
    for name, values in (("value", [3.0, 4.0]), ("bend", [0.0, 0.0]), ("curve", [0.0, 7.0])):
        unit.arrays[name][:2] = values
    run = SimpleNamespace(unit=Stepping(), standing=UnitStanding(points=4, time=1.0))
    run.unit.reached = reached
    CompiledMaster._step(None, unit, run, stepped)
    call = ("stepped", 1.5, 2, True) if stepped else ("step", 1.0, 0.5, [3.0, 4.0], [0.0, 0.0], [0.0, 7.0])
    assert run.unit.story == [("came to", 1.0), "pause", call, "resume"]
    assert unit.arrays["value"][:2].tolist() == [3.0, 4.0] and t.reached == reached.time
    assert (bool(events.jumped), bool(t.ended)) == (reached.jumped, bool(reached.ended))
    assert (run.standing.points, run.standing.time, run.standing.ended) == (4, 1.0, reached.ended)


@pytest.mark.parametrize(
    ("bend", "curve", "bent"), [([0, 0, 5.0], [0, 0, 5.0], False), ([1.0, 0, 0], [0, 0, 0], True)]
)
def test_inputs_are_held_where_none_of_its_own_is_bent(bend, curve, bent):
    """What lies behind them belongs to no input."""
    unit, _made = table()
    unit.arrays["bend"][:], unit.arrays["curve"][:] = bend, curve
    run = SimpleNamespace(unit=Stepping(), standing=UnitStanding())
    CompiledMaster._step(None, unit, run, True)
    assert run.unit.story[2] == ("stepped", 0.0, 0, bent)


def filled(unit, made, rows, kind=0):
    t = made[0]
    for k in range(5 * rows):
        t.rows[k] = float(k)
    for k in range(rows):
        t.kind[k] = kind
    t.count, t.used = rows, 5 * rows


@pytest.mark.parametrize("rows", [0, 1, ROWS // 4, ROWS // 4 + 1, ROWS])
def test_rows_are_copied_while_they_are_few_and_handed_over_when_they_are_many(rows):
    unit, made = table()
    numbers, before = unit._rows, len(unit._kinds)
    filled(unit, made, rows)
    found = unit.take_rows()
    assert (found.width, found.ticks, len(found)) == (5, unit.places.block.ticks, rows)
    assert found.numbers.tolist() == list(map(float, range(5 * rows))) and found.kinds.tolist() == [0] * rows
    assert (made[0].count, made[0].used, made[0].capacity) == (0, 0, before)
    shared = np.shares_memory(found.numbers, numbers) if rows else False
    assert shared is (rows > ROWS // 4) and (unit._rows is numbers) is (rows <= ROWS // 4)
    made[0].rows[0] = -1.0
    assert found.numbers[:1].tolist() in ([], [0.0])


def test_room_for_rows_grows_fourfold_up_to_a_limit():
    unit, made = table()
    rooms = []
    for _ in range(7):
        filled(unit, made, 3)
        found = unit.renew_rows()
        assert len(found) == 3 and found.numbers.tolist() == list(map(float, range(15)))
        rooms.append(made[0].capacity)
        assert (len(unit._kinds), unit._rows.size) == (rooms[-1], 5 * rooms[-1]) and made[0].count == 0
    grown = [ROWS * 4**k for k in range(1, 7) if 5 * ROWS * 4**k <= MOST]
    assert rooms == grown + [grown[-1]] * (7 - len(grown)) and 5 * 4 * grown[-1] > MOST
