"""What is said of conditions that repeat others: one line per element, of many only the first."""

from __future__ import annotations

from types import SimpleNamespace

import casadi as ca
import pytest

from plant.assembly.repeated_conditions import repetitions
from plant.constraints.conditions import Condition, NamedConstraint
from plant.mechanics.mechanism import GROUND


def closure(*constraints: tuple[NamedConstraint, int], **more: bool) -> SimpleNamespace:
    """So many conditions of each constraint, beside a tree of two joints, p and q upon it."""
    found = [
        Condition(c, f"{c.name}{k}", ca.SX(0), driven=more.get(f"{c.name}_driven", False),
                  uneven=more.get(f"{c.name}_uneven", False))
        for c, count in constraints
        for k in range(count)
    ]  # fmt: skip
    links = [SimpleNamespace(connection=SimpleNamespace(label=name)) for name in "pq"]
    links.append(SimpleNamespace(connection=None))  # it moves on its own
    mechanism = SimpleNamespace(
        links=links,
        place=lambda id: SimpleNamespace(link=id),
        path=lambda link: {0: (0,), 1: (0, 1), 2: (2,)}[link],
    )
    return SimpleNamespace(conditions=found, mechanics=SimpleNamespace(mechanism=mechanism))


def named(name: str, *ends: int) -> NamedConstraint:
    return NamedConstraint(name, f"Joint {name}", ends or None)


def test_an_element_that_repeats_two_others():
    a, b, c = named("a"), named("b"), named("c")
    (line,) = repetitions(closure((a, 2), (b, 1), (c, 3)), {5: {0, 1}, 4: {2, 5}})
    assert line.startswith("Joint c: 2 of its 3 conditions (c1, c2) repeat what a, b fix already;")
    assert line.endswith("(the smallest are taken).")


def test_one_that_holds_by_itself_repeats_the_other_joints():
    (line,) = repetitions(closure((named("a"), 1), (named("b"), 2)), {1: set()})
    assert line.startswith("Joint b: 1 of its 2 conditions (b0) repeat what the other joints fix already;")


@pytest.mark.parametrize(
    ("ends", "names"),
    [((1, GROUND), "p, q"), ((GROUND, 0), "p"), ((0, 1), "p, q"), ((2, 1), "p, q"), ((2, 0), "p")],
)
def test_one_that_holds_by_itself_repeats_the_joints_of_its_loop(ends, names):
    """p is told once, though one of its own conditions is repeated too."""
    (line,) = repetitions(closure((named("p"), 1), (named("b", *ends), 2)), {1: set(), 2: {0}})
    assert line.startswith(f"Joint b: 2 of its 2 conditions (b0, b1) repeat what {names} fix already;")


@pytest.mark.parametrize(
    ("kind", "end"),
    [({}, "(the smallest are taken)."), ({"b_driven": True}, "that is not followed."),
     ({"a_uneven": True}, "is not followed."), ({"a_driven": True}, "(the smallest are taken).")],
)  # fmt: skip
def test_what_changes_with_time_or_place_has_a_reservation(kind, end):
    (line,) = repetitions(closure((named("a"), 1), (named("b"), 1), **kind), {1: {0}})
    assert line.endswith(end)
    assert ("chosen at random" in line) == ("a_uneven" in kind)
    assert ("Where its expression asks for another motion" in line) == ("b_driven" in kind)


@pytest.mark.parametrize("count", [1, 20, 21, 30])
def test_of_more_than_twenty_ten_are_listed(count):
    """And all that are driven."""
    first, driven = named("first"), named("d")
    joints = [named(f"j{k}") for k in range(count)]
    every = closure((first, 1), *[(j, 1) for j in joints], (driven, 1), d_driven=True)
    lines = repetitions(every, {k: {0} for k in range(1, count + 2)})
    listed = count if count <= 20 else 10
    assert [line.partition(":")[0] for line in lines[: listed + 1]] == [
        *[f"Joint j{k}" for k in range(listed)], "Joint d",
    ]  # fmt: skip
    assert len(lines) == listed + 1 + (count > 20)
    if count > 20:
        assert lines[-1].startswith(f"Joint j10, and {count - 11} more up to Joint j{count - 1}: some")
