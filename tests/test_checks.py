"""The page docs/checks.md: what tests compare with, written from the tests themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.helpers.checked import PAGE, Checked, closed_form, error_of, largest, page, rounded_up, rows_of
from tests.helpers.checked import Row as CheckedRow

ROOT = PAGE.parents[1]
LINE = closed_form("a line")


def test_the_page_is_what_its_rows_print():
    text = PAGE.read_text(encoding="utf-8")
    assert page(rows_of(text)) == text


def test_errors_on_the_page_are_within_their_tolerances():
    rows = rows_of(PAGE.read_text(encoding="utf-8"))
    assert len(rows) >= 120
    for row, error in rows.items():
        assert error <= float(rounded_up(float(row.tolerance.split()[0]))), row


def test_every_row_names_a_test_that_asks_for_it():
    for file in {row.test for row in rows_of(PAGE.read_text(encoding="utf-8"))}:
        assert "checked(" in (ROOT / file).read_text(encoding="utf-8"), file


def test_a_comparison_is_asserted_and_recorded():
    kept = []
    compare = Checked(Path("tests/plant/test_x.py"), kept)
    compare([1.0, 2.0 + 3e-9], [1.0, 2.0], "line", "value", LINE, atol=1e-8)
    ((name, row),) = kept
    assert name == "checked" and row["package"] == "plant" and row["tolerance"] == "1e-08"
    assert row["error"] == pytest.approx(3e-9)
    for found in ([1.0, 2.1], [1.0, np.nan], [np.inf, 2.0]):
        with pytest.raises(AssertionError, match="line, value: error"):
            compare(found, [1.0, 2.0], "line", "value", LINE, atol=1e-8)
    with pytest.raises(AssertionError):
        compare([[1.0, 2.0]], [1.0, 2.0], "line", "value", LINE, atol=1e-8)  # broadcasting hides mistakes
    assert len(kept) == 1


def test_errors_are_relative_where_the_tolerance_is():
    assert error_of([0.0, 4.4], [0.0, 4.0], 0.1, 0.0) == pytest.approx(0.1)
    assert error_of([1e-3], [0.0], 0.1, 0.0) == np.inf
    assert error_of([1e-3, 4.0], [0.0, 4.0], 0.1, 0.01) == pytest.approx(1e-2)
    assert error_of([1.0, 1.5], 1.0, 0.0, 1.0) == 0.5


def test_the_largest_error_of_equal_rows_is_kept_and_rounded_up():
    first = CheckedRow("plant", "closed form", "line", "value", "a line", "1e-08", "tests/x.py", 2e-9)
    second = CheckedRow("plant", "closed form", "line", "value", "a line", "1e-08", "tests/x.py", 3.01e-9)
    assert list(largest([first, second, first]).values()) == [3.01e-9]
    assert "| 4e-09 |" in page(largest([first, second]))
    assert [rounded_up(e) for e in (0.0, 1e-20, 9.5e-11, 1e-8, 0.31)] == [
        "0", "1e-16", "1e-10", "1e-08", "4e-01",
    ]  # fmt: skip
