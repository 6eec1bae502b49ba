"""Comparisons with oracles that are not our own code, recorded for the page docs/checks.md.

A test asks for the fixture `checked` and says what it compares with what:

    checked(omega, np.sqrt(g / l), "pendulum", "frequency", closed_form("sqrt(g/l)"), rtol=1e-12)

The comparison is asserted there and then. Every row of the page is written from such calls
(`pytest --write-checks`), and a run of the tests fails where page and calls differ.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

PAGE = Path(__file__).parents[2] / "docs" / "checks.md"
KINDS = ("closed form", "published value", "independent code")
SMALLEST = 1e-16  # errors below are rounding of the last place


@dataclass(frozen=True)
class Oracle:
    """Where the expected number comes from: one of `KINDS`, and which one."""

    kind: str
    name: str


def closed_form(formula: str) -> Oracle:
    """A formula that the test evaluates."""
    return Oracle("closed form", formula)


def published(source: str) -> Oracle:
    """A number printed in a book, paper, standard or test set."""
    return Oracle("published value", source)


def independent(code: str) -> Oracle:
    """Another program or formulation that shares no code with ours."""
    return Oracle("independent code", code)


@dataclass(frozen=True, order=True)
class Row:
    """One line of the page; the largest error of all calls that agree in everything else."""

    package: str
    kind: str
    subject: str
    quantity: str
    oracle: str
    tolerance: str
    test: str
    error: float

    @property
    def key(self) -> Row:
        """What identifies it: all but the error."""
        return replace(self, error=0.0)


def error_of(found: npt.ArrayLike, expected: npt.ArrayLike, rtol: float, atol: float) -> float:
    """Largest error: absolute without `rtol`, else relative to |expected|, at least atol/rtol; nan is inf."""
    got, want = np.asarray(found), np.asarray(expected)
    assert got.shape == want.shape or got.size == want.size == 1 or want.ndim == 0, (got.shape, want.shape)
    difference = np.abs(got - want).astype(float)
    difference = np.where(np.isfinite(difference), difference, np.inf)
    if rtol:
        size = np.broadcast_to(np.maximum(np.abs(want), atol / rtol), difference.shape)
        difference = np.where(
            size > 0, difference / np.where(size > 0, size, 1.0), np.where(difference > 0, np.inf, 0.0)
        )
    return float(difference.max(initial=0.0))


def tolerance_text(rtol: float, atol: float) -> str:
    """As the page shows it."""
    if not rtol:
        return f"{atol:.2g}"
    return f"{rtol:.2g} of the value" + (f", of {atol / rtol:.2g} at least" if atol else "")


class Checked:
    """Asserts comparisons; their rows travel with the report of the running test, as its properties."""

    def __init__(self, test: Path, properties: list[tuple[str, object]]) -> None:
        self.test, self.properties = test, properties

    def __call__(
        self, found: npt.ArrayLike, expected: npt.ArrayLike, subject: str, quantity: str, oracle: Oracle,
        *, rtol: float = 0.0, atol: float = 0.0,
    ) -> None:  # fmt: skip
        """Assert |found - expected| <= max(rtol |expected|, atol) and record it.

        Parameters
        ----------
        found, expected : arrays of one shape, or `expected` one number for all
        subject, quantity : what is modelled, and which number of it
        rtol, atol : float    [1], [unit of the values]; one of them at least
        """
        assert oracle.kind in KINDS and (rtol > 0 or atol > 0)
        error, limit = error_of(found, expected, rtol, atol), rtol or atol
        assert error <= limit, f"{subject}, {quantity}: error {error:g}, at most {limit:g} ({oracle.name})"
        row = Row(
            self.test.parts[1], oracle.kind, subject, quantity, oracle.name, tolerance_text(rtol, atol),
            self.test.as_posix(), error,
        )  # fmt: skip
        self.properties.append(("checked", asdict(row)))


def largest(rows: Iterable[Row]) -> dict[Row, float]:
    """Largest error of each row."""
    found: dict[Row, float] = {}
    for row in rows:
        found[row.key] = max(found.get(row.key, 0.0), row.error)
    return found


def rounded_up(error: float) -> str:
    """One digit, never less than the error."""
    if error < SMALLEST:
        return "0" if error == 0 else f"{SMALLEST:g}"
    power = math.floor(math.log10(error))
    digit = math.ceil(error / 10.0**power - 1e-9)
    return f"{digit:d}e{power:+03d}" if digit < 10 else f"1e{power + 1:+03d}"


HEAD = """# What is checked against what

Every row is a comparison that a test makes with something that shares no code with plantloop: a closed form,
a published value, or an independent program or formulation. The tests write this page
(`pytest --write-checks`) and fail where it differs from what they compare; the errors are those of the run
that wrote them.

The error is the largest of all values compared (all times, components, engines, coordinates and solvers of
the test), rounded up to one digit: absolute in SI units and rad, or, where the tolerance says "of the value",
relative to it. Speed is compared in `benchmarks/README.md`; how energy is kept is in `docs/energy.md`.
Whether the tests would notice a mistake is tried in `docs/mutations.md`.
"""
NAMES = ("subject", "quantity", "oracle", "tolerance", "largest error", "test")
COLUMNS = f"| {' | '.join(NAMES)} |\n|{' --- |' * len(NAMES)}"


def cells(row: Row, error: float) -> list[str]:
    """A row as its cells."""
    return [row.subject, row.quantity, row.oracle, row.tolerance, rounded_up(error), f"`{row.test}`"]


def page(rows: dict[Row, float]) -> str:
    """The text of docs/checks.md."""
    parts = [HEAD + f"\n{len(rows)} comparisons.\n"]
    for package in sorted({row.package for row in rows}):
        for kind in KINDS:
            of_kind = sorted(row for row in rows if (row.package, row.kind) == (package, kind))
            if of_kind:
                lines = [f"| {' | '.join(cells(row, rows[row]))} |" for row in of_kind]
                parts.append("\n".join([f"## {package}: {kind}\n", COLUMNS, *lines, ""]))
    return "\n".join(parts)


def rows_of(text: str) -> dict[Row, float]:
    """The rows of a page, with their errors."""
    found: dict[Row, float] = {}
    package = kind = ""
    for line in text.splitlines():
        if line.startswith("## "):
            package, _, kind = line[3:].partition(": ")
        elif line.startswith("| ") and not line.startswith(("| subject", "| ---")):
            subject, quantity, oracle, tolerance, error, test = (
                cell.strip() for cell in line[1:-1].split("|")
            )
            row = Row(package, kind, subject, quantity, oracle, tolerance, test.strip("`"), 0.0)
            found[row] = float(error)
    return found
