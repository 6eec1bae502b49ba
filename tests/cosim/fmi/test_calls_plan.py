"""Rows and numbers of the calls of an FMU from compiled code: none lies in another."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from cosim.fmi import compiled_calls
from cosim.fmi.compiled_calls import _calls_plan


def test_every_call_has_a_row_and_its_last_inputs(monkeypatch):
    """Results, states and two more; then the inputs that were set last, and one more. Some are not there."""
    sizes = {"DERIVATIVES": (5, 3), "EVENT": (7, 2), "OUTPUTS": (4, 1)}

    def batches(dialect, ports, what, group, table):
        if what not in sizes:
            return None
        table.results, table.width = sizes[what]
        return [(what, group)]

    monkeypatch.setattr(compiled_calls, "_batches_of", batches)
    groups = (object(), object())
    plan = _calls_plan(SimpleNamespace(dialect=None), SimpleNamespace(inputs=[1, 2], groups=groups, nx=2))
    assert plan.places == {("DERIVATIVES", 0): 0, ("EVENT", 0): 1, ("OUTPUTS", 0): 2, ("OUTPUTS", 1): 3}
    begin, rows, numbers = 0, [], []
    for results, width in (sizes["DERIVATIVES"], sizes["EVENT"], sizes["OUTPUTS"], sizes["OUTPUTS"]):
        row = results + 2 + 2
        rows.append((begin, begin + row))
        begin += row + width + 1
        numbers += [np.nan] * row + [0.0] * (width + 1)
    assert plan.rows == tuple(rows)
    np.testing.assert_array_equal(plan.numbers, numbers)
    assert [(place, name) for place, name, _ in plan.batches] == [
        (0, "DERIVATIVES"), (1, "EVENT"), (2, "OUTPUTS"), (3, "OUTPUTS"),
    ]  # fmt: skip
    assert [group for *_, group in plan.batches[2:]] == list(groups)
    assert [(plan.tables[k].results, plan.tables[k].width) for k in range(4)] == [
        sizes["DERIVATIVES"], sizes["EVENT"], sizes["OUTPUTS"], sizes["OUTPUTS"],
    ]  # fmt: skip
