"""Inputs of units read off the system: loops are solved and interrupts looked for before they are taken."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from cosim.fmi.coupling.curves import Curve
from cosim.fmi.coupling.wiring_of_units import Exchange


class Stopped(Exception):
    """What a user's interrupt, or a number that is none, ends with here."""


def exchange(interrupted: bool = False, found: float = 3.0) -> tuple[Any, list[Any]]:
    """An exchange at 1 s over a workspace that notes its calls."""
    story: list[Any] = []
    context = SimpleNamespace(t=1.0, h=np.zeros(8), p=np.arange(3.0))

    def put(t):
        story.append(("put", t))
        context.t = t

    def look():
        story.append("look")
        if interrupted:
            raise Stopped("interrupt")

    workspace = SimpleNamespace(put=put, look_for_interrupt=look, non_finite=lambda t: Stopped(f"at {t:g}"))
    units = [
        SimpleNamespace(y=np.array([0, 1]), slope=np.array([2, 3]), curvature=np.array([4, 5]), since=6),
        SimpleNamespace(y=np.array([7]), since=-1, parameters=np.array([2, 0])),
    ]
    it = SimpleNamespace(
        context=context, _workspace=workspace, _instances=SimpleNamespace(answering=nullcontext),
        _unknowns=SimpleNamespace(refresh=lambda: story.append("solve")),
        _inputs=lambda: (story.append("inputs"), np.array([found]))[1],
        coupled=SimpleNamespace(units=units),
    )  # fmt: skip
    return it, story


def test_inputs_are_those_at_a_time_behind_which_the_context_is_where_it_was():
    it, story = exchange()
    assert Exchange.inputs(it, 2.5).tolist() == [3.0]
    assert story == [("put", 2.5), "solve", "inputs", "look"] and it.context.t == 1.0
    it, _ = exchange(interrupted=True)
    with pytest.raises(Stopped, match="interrupt"):
        Exchange.inputs(it, 2.5)
    it, _ = exchange(found=np.inf)
    with pytest.raises(Stopped, match=r"at 2\.5"):
        Exchange.inputs(it, 2.5)


def test_outputs_are_written_as_curves_or_held():
    it, _ = exchange()
    Exchange.write(it, 0, Curve(0.5, np.array([1.0, 2.0]), np.array([3.0, 4.0]), np.array([5.0, 6.0])))
    Exchange.write(it, 1, Curve.held(0.75, np.array([9.0])))
    assert it.context.h.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 0.5, 9.0]
    assert Exchange.parameters(it, 1).tolist() == [2.0, 0.0]
