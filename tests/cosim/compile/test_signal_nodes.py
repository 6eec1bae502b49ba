"""Masks of what each component of a signal uses."""

from types import SimpleNamespace

import casadi as ca
import numpy as np

from cosim.compile.signal_nodes import TimedEvents, _for_all


def test_what_one_component_uses_all_do():
    mask = np.array([[True, False, False], [False, False, True]])
    assert _for_all(mask, 4).tolist() == [[True, False, True]] * 4


def test_timed_events_of_a_block_are_one_node_that_uses_what_any_of_them_does():
    asked = []

    def depends(key, expression):
        asked.append(expression.numel())
        inputs = np.array([[True, False], [False, False], [False, False]])
        memories = np.array([[False] * 3, [True, False, False], [False, False, True]])
        return inputs, memories, None, None

    events = [SimpleNamespace(crossing=ca.SX.sym("g"), resets=[("a", ca.SX.sym("v", 2))])]
    traced = SimpleNamespace(declared=SimpleNamespace(timed_events=events), depends=depends)
    inputs, memories = TimedEvents.uses(SimpleNamespace(traced=traced), "")
    assert inputs.tolist() == [[True, False]] and memories.tolist() == [[True, False, True]]
    assert asked == [3]
