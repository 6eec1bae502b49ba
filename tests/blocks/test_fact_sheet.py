"""Summaries of objects print in a few bounded lines and stay mappings."""

import json

from blocks import Constant, Gain
from blocks.fact_sheet import WIDTH, FactSheet
from cosim import Diagram


def test_one_bounded_line_per_entry():
    facts = FactSheet(
        name="d",
        file=None,
        none=[],
        blocks={f"block{k}": "Gain" for k in range(1000)},
        few=["a", "b"],
        inner={"s.y": {"size": 1, "rate": "continuous"}},
        long="x" * 1000,
        wide={"a": "x" * 1000},
    )
    lines = repr(facts).splitlines()
    assert len(lines) == len(facts) and max(map(len, lines)) <= WIDTH + 2
    assert lines[:3] == ["name    d", "file    -", "none    none"]
    assert lines[3].startswith("blocks  1000: block0 = Gain, block1 = Gain, ") and lines[3].endswith(", ...")
    assert lines[4:6] == ["few     2: a, b", "inner   1: s.y = (size 1, rate continuous)"]
    assert lines[7].startswith("wide    1: a = xxx") and lines[7].endswith("x ...")
    assert json.loads(json.dumps(facts)) == facts


def test_what_is_offered_while_one_types_is_for_users():
    d = Diagram("d")
    gain = d.add("gain", Gain(2.0))
    d.add("one", Constant(1.0)) >> gain
    assert isinstance(d.info(), dict) and "gain = Gain" in repr(d.info())
    shown = lambda thing: {name for name in dir(thing) if name[0] != "_"}
    assert {"add", "connect", "signals", "with_parameters"} <= shown(d) and not {"kept", "content"} & shown(d)
    assert shown(gain) == {"block", "diagram", "name", "ports"}
    assert shown(gain["y"]) == {"diagram", "node", "port"}
    assert shown(Gain(2.0)) == {"define", "k", "picture", "with_fields"}


def test_an_entry_that_is_too_long_is_cut_and_not_left_out():
    """``joints  1: ...`` told nothing."""
    lines = repr(FactSheet(joints=[{"name": "hinge", "where": "x" * 200}], singular="")).splitlines()
    assert lines[0].startswith("joints    1: (name hinge, where xxx") and lines[0].endswith(" ...")
    assert len(lines[0]) <= 112 and lines[1] == "singular  none"
