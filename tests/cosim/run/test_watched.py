"""What is said at the end of a run about signals that were watched."""

import warnings
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from blocks import Sine
from blocks.contract.block import Block
from blocks.contract.derived import Derived
from cosim import Diagram, Simulation, simulate
from cosim.run.watched import WatchedSignalWarning, warn_of_early, warn_of_watched
from cosim.segments import EventSegment

SYSTEM = SimpleNamespace(
    events=[
        SimpleNamespace(name="a.low", path="a", warning="too low"),
        SimpleNamespace(name="a.high", path="a", warning="too high"),
        SimpleNamespace(name="b.zero", path="b", warning=""),
    ],
    derived=Derived(),
)


def said(*events):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_watched(SYSTEM, [SimpleNamespace(name=name, time=time) for name, time in events])
    assert all(issubclass(w.category, WatchedSignalWarning) for w in caught)
    return [str(w.message) for w in caught]


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([], []),
        ([("b.zero", 0.1)], []),
        ([("a.low", 0.25)], ["'a': too low (once, first at t=0.25 s)."]),
        (
            [("a.high", 0.5), ("a.low", 0.75), ("b.zero", 0.8), ("a.high", 1.5)],
            ["'a': too high (2 times, first at t=0.5 s).", "'a': too low (once, first at t=0.75 s)."],
        ),
    ],
)
def test_first_time_and_how_often(events, expected):
    assert said(*events) == expected


@dataclass(frozen=True)
class Alarm(Block):
    """Stops where u rises, or falls, through a level."""

    level: float
    direction: str

    def define(self, b):
        b.stop(
            b.input("u", size=1)[0] - self.level, "enough", self.direction, unmet="was beyond all the time"
        )


@pytest.mark.parametrize(
    ("level", "direction", "told"),
    [(-0.5, "rising", True), (0.5, "falling", True), (-0.5, "both", False), (0.5, "rising", False)],
)
@pytest.mark.parametrize("engine", ["reference", "native"])
def test_an_event_that_the_run_began_beyond(level, direction, told, engine):
    """Said where it did not fire until the end, and not of a run that goes on from another."""
    d = Diagram("d")
    d.connect(d.add("wave", Sine(1.0, 1.0))["y"], d.add("alarm", Alarm(level, direction))["u"])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        simulate(d, 0.4, engine=engine)
    assert [str(w.message) for w in caught] == ["'alarm': was beyond all the time."] * told
    one, other = Simulation(d, engine=engine), Simulation(d, engine=engine)
    one.advance(0.2)
    other.restore(one.snapshot())
    other.advance(0.4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other.result()


def segment(path, early, rounds):
    """Events of a block that read `early` as before the instant; with `rounds` in a loop."""
    found = object.__new__(EventSegment)
    for name, value in (("path", path), ("early", early), ("rounds", rounds)):
        object.__setattr__(found, name, value)
    return found


def test_events_that_read_what_was_before_their_instant_are_told_by_block():
    """Those at the start come after all that they read; other events of the block are not in the loop."""
    timed = [("a.due", "a", 0), ("a.up", "a", -1), ("b.due", "b", 1), ("c.due", "c", 2)]
    system = SimpleNamespace(
        events=[SimpleNamespace(name=name, path=path, timed=place) for name, path, place in timed],
        schedule=[
            segment("a", ("b.y", "c.y"), -1),
            segment("b", (), -1),
            segment("c", ("a.y",), 3),
            object(),
        ],
        derived=Derived(),
    )
    happened = [
        ("a.due", 0.0),
        ("a.up", 0.25),
        ("b.due", 0.5),
        ("a.due", 0.5),
        ("c.due", 0.5),
        ("a.due", 1.5),
    ]
    with pytest.warns(WatchedSignalWarning) as caught:
        warn_of_early(system, [SimpleNamespace(name=name, time=time) for name, time in happened])
    [told] = [str(w.message) for w in caught]
    assert told.startswith("'a' is in a loop at one instant, and comes first in it: its events at 2 instants")
    assert "first at t=0.5 s, read 'b.y' and 'c.y' as before that instant" in told
