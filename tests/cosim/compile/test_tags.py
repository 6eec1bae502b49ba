"""Which `Goto` a `From` finds: the nearest one around it, never one inside a neighbour."""

from __future__ import annotations

import pytest

from blocks import From, Gain, Goto
from cosim.compile.tags import connect_tags


def test_the_nearest_name_around_counts():
    nodes = {
        "tag": Goto("a"), "from": From("a"), "other/from": From("a"),
        "sub/from": From("a"), "sub/tag": Goto("a"), "sub/deep/er/from": From("a"),
        "sub/deep/tag": Goto("b"), "sub/deep/er/b": From("b"), "given": From("a"), "gain": Gain(1.0),
    }  # fmt: skip
    edges = {("given", "u"): ("source", "y")}
    problems: list[str] = []
    connect_tags(nodes, edges, problems)
    assert problems == []
    assert edges == {
        ("given", "u"): ("source", "y"),
        ("from", "u"): ("tag", "y"),
        ("other/from", "u"): ("tag", "y"),
        ("sub/from", "u"): ("sub/tag", "y"),
        ("sub/deep/er/from", "u"): ("sub/tag", "y"),
        ("sub/deep/er/b", "u"): ("sub/deep/tag", "y"),
    }


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ({"sub/tag": Goto("speed"), "lost": From("sped")},
         "'lost' looks for the Goto 'sped', which no diagram around it has: did you mean 'speed'?"),
        ({"sub/tag": Goto("a"), "sub2/from": From("a")}, "'sub2/from' looks for the Goto 'a', which no"),
        ({"sub/lost": From("a")}, "which no diagram around it has: there is no Goto at all."),
        ({"sub/one": Goto("a"), "sub/two": Goto("a")},
         "'sub/one' and 'sub/two' are both the Goto 'a'; rename one."),
    ],
)  # fmt: skip
def test_one_problem_where_there_is_none_or_two(nodes, expected):
    edges, problems = {}, []
    connect_tags(nodes, edges, problems)
    assert edges == {} and len(problems) == 1 and expected in problems[0]
