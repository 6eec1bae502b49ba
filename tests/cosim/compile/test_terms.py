"""Named parts of equations: put in the place of symbols all at once, and each what it was."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

from blocks import Constant
from blocks.contract.trace import Traced
from cosim import Diagram, Enabled
from tests.helpers.made import Made

MANY = 300


def nested(b):
    """s_1 = u, s_k = s_(k-1) * 1.01 + k, every one of them named; the last two as one pair."""
    u = b.input("u", size=1)
    parts = [u]
    for k in range(1, MANY):
        parts.append(parts[-1] * 1.01 + k)
        b.term(f"s{k}", parts[-1])
    b.term("pair", np.concatenate(parts[-2:]))
    b.output("y", parts[-1])


@pytest.mark.parametrize("part", [False, True])
def test_parts_of_parts_take_one_function(monkeypatch, part):
    asked = []
    made = Traced.part
    monkeypatch.setattr(
        Traced, "part", lambda self, name, e: asked.append((name, e.numel())) or made(self, name, e)
    )
    d = Diagram("d")
    d.add("u", Constant(2.0))
    d.add("it", Enabled(Made(nested)) if part else Made(nested))
    d.connect("u.y", "it.u")
    if part:
        d.connect("u.y", "it.enable")
    s = d.system()
    assert [size for name, size in asked if "term" in name] == [MANY + 1]
    expected = [2.0]
    for k in range(1, MANY):
        expected.append(expected[-1] * 1.01 + k)
    assert [term.text for term in s.terms] == [f"s{k}" for k in range(1, MANY)] + ["pair"]
    values = terms_at_start(s)
    assert [v for (v,) in values[:-1]] == pytest.approx(expected[1:], rel=1e-12)
    assert values[-1] == pytest.approx(expected[-2:], rel=1e-12)


def terms_at_start(s):
    """Their values at the start."""
    function = ca.Function("terms", [s.t, s.x, s.h, s.w, s.p], [term.expression for term in s.terms])
    found = function(0.0, s.x0, s.h0, np.zeros(s.w.numel()), s.p0)
    return [np.array(value).ravel().tolist() for value in found]
