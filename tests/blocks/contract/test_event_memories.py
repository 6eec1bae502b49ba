"""Modes and branches: which of them depend on what they were, and what nobody says of them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks.contract.block import Equations
from blocks.contract.declared import BlockEvent, Declared
from blocks.contract.event_equations import SAME_INSTANT, THRESHOLD
from blocks.contract.event_memories import NEVER, Branch, ModeMemory
from blocks.contract.symbols import tracing
from blocks.contract.trace import trace
from tests.helpers.made import Made

SYMBOL = ca.SX.sym("branch")


def branch(expression, **options):
    return Branch("branch", SYMBOL, np.zeros(1), None, expression=ca.SX(expression), **options)


@pytest.mark.parametrize(
    ("expression", "options", "remembers"),
    [
        (SYMBOL + 1.0, {}, True),
        (SYMBOL + 1.0, {"rest": 1.0}, False),  # only while its condition rests, which `rest` answers
        (SYMBOL + 1.0, {"rest": 0.0}, False),
        (SYMBOL + 1.0, {"always": True}, False),
        (SYMBOL + 1.0, {"begins": True}, True),
        (ca.SX.sym("u"), {}, False),
        (2.0, {}, False),
    ],
)
def test_a_branch_remembers_where_its_value_depends_on_what_it_was(expression, options, remembers):
    found = branch(expression, **options)
    assert found.remembers is remembers and found.at_rest == options.get("rest")


def test_what_is_not_said_of_a_branch():
    found = branch(1.0)
    assert (found.rest, found.always, found.begins, found.at_rest) == (None, False, False, None)
    assert (found.word, found.given_by, ModeMemory.word) == ("a branch", "mode", "a mode")


def test_what_both_kinds_may_be():
    """Only a mode is given a start value by name; a branch finds its own, and may keep what it was."""
    assert (ModeMemory.settable, ModeMemory.resettable, ModeMemory.carried_over) == (True, True, True)
    assert (Branch.settable, Branch.resettable, Branch.carried_over) == (False, True, True)
    assert Branch.may_keep and Branch.reads_itself


def test_an_event_that_does_not_come_is_far_off():
    """1e30 s, as the contract says; a step never goes there."""
    assert NEVER == 1e30


def test_branches_of_the_contract_say_which_kind_they_are():
    def equations(b):
        u = b.input("u", size=1)
        b.output("y", b.where_event(u, 1.0, 2.0, name="side"))
        b.mode("kept", 0.0, at_ticks=lambda old: np.where(u > 0.5, 1.0, old))
        b.mode("fresh", 0.0, at_ticks=u + 1.0)

    found = {m.name: m for m in trace(Made(equations), {"u": 1}).declared.memories_of(Branch)}
    assert {name: m.remembers for name, m in found.items()} == {"side": False, "kept": True, "fresh": False}
    assert {name: m.rest for name, m in found.items()} == {"side": 1.0, "kept": None, "fresh": None}


@pytest.mark.parametrize("due", [0.0, 2.0, 1e6, -1e6])
def test_an_event_at_a_time_is_due_within_rounding_of_that_time(due):
    """The crossing is on its threshold where the clock is an instant away, which grows with the time."""
    with tracing():
        b = Equations({})
        b.event_at("due", due, lambda mode: {}, label="alarm")
        declared = b.declared()
    (event,), symbols = declared.events, [declared.time, *[m.symbol for m in declared.memories]]
    crossing = ca.Function("crossing", symbols, [event.crossing])
    near = SAME_INSTANT * max(1.0, abs(due))
    assert float(crossing(due, due)) == 0.0
    for away in (near, -3 * near, 1e3 * near):
        assert float(crossing(due + away, due)) == pytest.approx(THRESHOLD * away / near, rel=1e-2)


def test_a_branch_is_switched_on_by_a_rise_and_off_by_a_fall():
    """Each leaves the other side's value; at rest on the threshold it counts as above."""
    with tracing():
        b = Equations({})
        y = b.where_event(b.input("u", size=1)[0], 5.0, -5.0, name="side")
        b.output("y", y)
        declared = b.declared()
    on, off = declared.events
    assert (on.name, on.direction, on.left, on.rest) == ("side on", 1, 0.0, 1)
    assert (off.name, off.direction, off.left, off.rest) == ("side off", -1, 1.0, 1)
    assert [(name, float(value)) for e in (on, off) for name, value in e.resets] == [
        ("side", 1.0),
        ("side", 0.0),
    ]
    (memory,), (out,) = declared.memories, declared.outputs
    shown = ca.Function("shown", [memory.symbol], [out.expression])
    assert float(shown(1.0)) == 5.0 and float(shown(0.0)) == -5.0


def test_events_at_times_and_those_that_follow_them():
    timed, following, plain = (
        BlockEvent(name, ca.SX(0), 0, timed=at, follow_time=follow)
        for name, at, follow in (("timed", "due", False), ("following", "", True), ("plain", "", False))
    )
    assert Declared(events=(plain, following, timed)).timed_events == [following, timed]
    assert Declared(events=(plain, following)).timed_events == []  # there is nothing to follow
    bare = BlockEvent("any", ca.SX(0), 1)
    assert Declared(events=(bare, timed)).timed_events == [timed] and not bare.acknowledges
