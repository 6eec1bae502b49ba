"""Next ticks of the clocks of an FMU, from what its description, its user and the FMU itself say.

Instants follow FMI 3.0.2, section 2.2.9: a periodic clock ticks at start + shift + k interval, a changing one
an interval behind each of its ticks, a countdown clock when it is announced.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from types import SimpleNamespace

import pytest

from cosim.fmi.clock_schedule import ClockSchedule, common_interval, reached
from cosim.fmi.description import ClockTiming, FMUDescription, Variable
from cosim.fmi.fmi_errors import FMUCallError, FMUError
from cosim.fmi.interface.outcomes import ClockInterval

THIRD = Fraction(1, 3)
KINDS = {
    "constant": ClockTiming("constant", THIRD, Fraction(1, 10), priority=3),
    "chosen": ClockTiming("tunable", Fraction(1, 5), priority=1),
    "own": ClockTiming("fixed"),
    "changing": ClockTiming("changing", priority=2),
    "countdown": ClockTiming("countdown"),
    "pressed": ClockTiming("triggered", priority=0),
}
SAID = {"own": (0.25, True, True), "changing": (0.5, True, True), "countdown": (7.0, False, False)}


class Clocks:
    """What the FMU says of its clocks, and is told."""

    def __init__(self, **said: tuple[float, bool, bool]) -> None:
        self.said, self.set = SAID | said, {}

    def set_intervals(self, variables, seconds):
        self.set |= dict(zip((v.name for v in variables), seconds, strict=True))

    def intervals(self, variables):
        return [ClockInterval(*self.said[v.name]) for v in variables]

    def shifts(self, variables):
        assert [v.name for v in variables] == ["own"]
        return [0.05]


def described() -> FMUDescription:
    found = {
        name: Variable(name, k, "Clock", "input", "discrete", clock=clock)
        for k, (name, clock) in enumerate(KINDS.items())
    }
    found["rings"] = Variable("rings", 9, "Clock", "output", "discrete", clock=ClockTiming("triggered"))
    return FMUDescription("unit.fmu", "3.0", "unit", "", found)


def schedule(start: float = 2.0, **said: tuple[float, bool, bool]) -> ClockSchedule:
    """All clocks begin at `start`; "chosen" ticks every 2/5 s."""
    component = SimpleNamespace(
        clocks=Clocks(**said), name="unit", log=SimpleNamespace(shown=lambda: "It said nothing.")
    )
    made = ClockSchedule(component, described(), {"chosen": Fraction(2, 5)})
    made.prepare(start)
    assert component.clocks.set == {"chosen": 0.4}
    return made


def clock(made: ClockSchedule, name: str) -> Variable:
    return described().variables[name]


def ticks(made: ClockSchedule, until: float) -> dict[str, list[float]]:
    """Instants of all clocks up to a time; changing clocks say the same interval again."""
    found: dict[str, list[float]] = {name: [] for name in made.counts}
    while (t := made.next) <= until:
        for v in made.due(t):
            made.ticked(v)
            found[v.name].append(t)
            if v.name == "changing":
                made.said(v, t, ClockInterval(9.0, False, True), ticked=True)
    assert made.counts == {name: len(instants) for name, instants in found.items()}
    return found


def test_periodic_clocks_tick_at_multiples_of_their_interval():
    """Each instant by one division, however many lie before it."""
    found = ticks(schedule(), 42.0)
    start = Fraction(2)
    for name, first, interval in (
        ("constant", start + Fraction(1, 10), THIRD),
        ("chosen", start, Fraction(2, 5)),
        ("own", start + Fraction(1, 20), Fraction(1, 4)),
        ("changing", start + Fraction(1, 2), Fraction(1, 2)),
    ):
        n = int((42 - first) / interval) + 1
        assert found[name] == [float(first + k * interval) for k in range(n)], name
    assert found["countdown"] == found["pressed"] == found["rings"] == []


def test_clocks_of_one_instant_tick_in_order_of_priority():
    """The lowest number first, those without one last, triggered ones among them."""
    made = schedule(countdown=(0.0, True, True), changing=(0.1, True, True))
    assert [v.name for v in made.due(2.0)] == ["chosen", "countdown"]
    pressed = [clock(made, "pressed")]
    assert [v.name for v in made.due(2.1, pressed)] == [
        "pressed", "chosen", "changing", "constant", "own", "countdown",
    ]  # fmt: skip
    assert [v.name for v in made.countdowns] == ["countdown"]


def test_the_next_interval_of_a_clock_is_what_is_said_of_it():
    made = schedule(start=0.0, countdown=(2.0, True, True))
    changing, countdown = clock(made, "changing"), clock(made, "countdown")
    next_of = lambda v: next((t / 8 for t in range(80) if v in made.due(t / 8)), math.inf)
    assert (next_of(changing), next_of(countdown)) == (0.5, 2.0)
    made.said(changing, 0.25, ClockInterval(9.0, False, True))  # no news: as it was
    made.said(changing, 0.25, ClockInterval(9.0, True, False))  # unknown
    made.said(countdown, 0.25, ClockInterval(9.0, False, True), ticked=True)
    assert (next_of(changing), next_of(countdown)) == (0.5, 2.0)
    made.ticked(changing)
    made.ticked(countdown)
    assert (next_of(changing), next_of(countdown)) == (math.inf, math.inf)
    made.said(countdown, 2.0, ClockInterval(9.0, False, True), ticked=True)  # one announcement, one tick
    made.said(changing, 0.5, ClockInterval(9.0, False, True), ticked=True)  # the same interval once more
    assert (next_of(changing), next_of(countdown)) == (1.0, math.inf)
    made.said(changing, 0.5, ClockInterval(0.75, True, True), ticked=True)
    made.said(countdown, 2.0, ClockInterval(0.0, True, True))
    assert (next_of(changing), next_of(countdown)) == (1.25, 2.0)


@pytest.mark.parametrize("seconds", [-0.5, math.inf, math.nan])
def test_what_is_no_interval_is_refused(seconds):
    made = schedule()
    with pytest.raises(
        FMUCallError, match=rf"'unit.fmu'.* clock 'changing' is {seconds} s at t=2.5 s"
    ) as said:
        made.said(clock(made, "changing"), 2.5, ClockInterval(seconds, True, True))
    assert (said.value.port, said.value.time) == ("changing", 2.5)
    for periodic in (seconds, 0.0):
        with pytest.raises(FMUError, match=f"clock 'own' has an interval of {periodic} s"):
            schedule(own=(periodic, True, True))


def test_a_schedule_goes_on_from_what_was_kept():
    made, other = schedule(), schedule(start=0.0)
    ticks(made, 5.3)
    other.restored(json.loads(json.dumps(made.kept())))
    assert other.counts == made.counts and other.next == made.next
    counts = dict(made.counts)
    assert rest(made) == rest(other) != []
    assert made.counts == other.counts != counts


def rest(made: ClockSchedule) -> list[tuple[float, str]]:
    """Ticks from here to 9 s: instant and clock."""
    found: list[tuple[float, str]] = []
    while (t := made.next) <= 9.0:
        for v in made.due(t):
            made.ticked(v)
            made.said(v, t, ClockInterval(9.0, False, True), ticked=v.name == "changing")
            found.append((t, v.name))
    return found


def test_the_longest_step_that_divides_all_ticks():
    """Of 1/3 s from 1/10 s on, and of 1/5 s or what was chosen in its place."""
    d = described()
    assert common_interval(d, {}) == Fraction(1, 30)
    assert common_interval(d, {"chosen": Fraction(1, 7)}) == Fraction(1, 210)
    assert common_interval(d, {"own": Fraction(1, 4)}) == Fraction(1, 60)
    assert common_interval(FMUDescription("unit.fmu", "3.0", "unit", "", {}), {}) is None


@pytest.mark.parametrize("t", [0.0, 0.5, -3e3, 2e4])
def test_instants_are_reached_but_for_rounding(t):
    near = 1e-12 * max(1.0, abs(t))
    assert reached(t, t) and reached(t - 1.0, t) and reached(t + 0.9 * near, t)
    assert not reached(t + 1.2 * near, t)
