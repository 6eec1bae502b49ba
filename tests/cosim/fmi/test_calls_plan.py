"""Rows and numbers of the calls of an FMU from compiled code: none lies in another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from cosim.fmi import compiled_unit
from cosim.fmi.compiled_unit import _calls_plan


def test_every_call_has_a_row_and_its_last_inputs(monkeypatch):
    """Results, states and two more; then the inputs that were set last, and one more. Some are not there."""
    sizes = {"DERIVATIVES": (5, 3), "EVENT": (7, 2), "OUTPUTS": (4, 1)}

    def batches(dialect, ports, what, group, table):
        if what not in sizes:
            return None
        table.results, table.width = sizes[what]
        return [(what, group)]

    keys = [("DERIVATIVES", 0), ("EVENT", 0), ("OUTPUTS", 0), ("OUTPUTS", 1)]

    monkeypatch.setattr(compiled_unit, "_batches_of", batches)
    groups = (object(), object())
    plan = _calls_plan(SimpleNamespace(dialect=None), SimpleNamespace(inputs=[1, 2], groups=groups, nx=2))
    assert list(plan.tables) == list(plan.batches) == keys
    begin, rows, numbers = 0, [], []
    for what, _ in keys:
        results, width = sizes[what]
        row = results + 2 + 2
        rows.append((begin, begin + row))
        begin += row + width + 1
        numbers += [np.nan] * row + [0.0] * (width + 1)
    assert plan.rows == tuple(rows)
    np.testing.assert_array_equal(plan.numbers, numbers)
    assert [plan.batches[key] for key in keys[2:]] == [[("OUTPUTS", group)] for group in groups]
    assert [(plan.tables[key].results, plan.tables[key].width) for key in keys] == [sizes[w] for w, _ in keys]
