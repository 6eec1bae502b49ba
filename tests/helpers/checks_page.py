"""The pytest plugin behind docs/checks.md: gathers what `checked` recorded, also from other processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.helpers.checked import PAGE, Checked, Row, largest, page, rows_of
from tests.helpers.slow_tests import left_out


class Gathered:
    """Rows of a whole run, and which test files ran from end to end."""

    def __init__(self) -> None:
        self.rows: list[Row] = []
        self.ran: set[str] = set()
        self.broken: set[str] = (
            set()
        )  # files with a test that failed or was skipped: their rows may be missing
        self.differences: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Called where the run is reported, not in xdist's workers."""
        file = report.nodeid.partition("::")[0]
        self.ran.add(file)
        if not report.passed:
            self.broken.add(file)
        if report.when == "call":
            self.rows += [Row(**value) for name, value in report.user_properties if name == "checked"]  # type: ignore[arg-type]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the page, or compare with it."""
        found, config = largest(self.rows), session.config
        text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        before = rows_of(text)
        complete = set() if chosen(config) else self.ran - self.broken
        gone = {
            r for r in before if (r.test in complete or not Path(config.rootpath, r.test).exists())
        } - set(found)
        if config.getoption("--write-checks"):
            PAGE.write_text(
                page({r: e for r, e in before.items() if r not in gone} | found), encoding="utf-8"
            )
            return
        self.differences = [f"not on the page: {described(row)}" for row in sorted(set(found) - set(before))]
        self.differences += [f"on the page, not compared any more: {described(row)}" for row in sorted(gone)]
        if self.differences and session.exitstatus == 0:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how the page differs, and what to do."""
        if self.differences:
            terminalreporter.section("docs/checks.md differs from what the tests compare", red=True)
            for line in self.differences:
                terminalreporter.line(f"FAILED {line}")
            terminalreporter.line("Run these test files again with --write-checks, and commit the page.")


def chosen(config: pytest.Config) -> bool:
    """Whether only some tests of the files run."""
    option = config.option
    some = option.keyword or option.markexpr or option.maxfail or getattr(option, "lf", False)
    some = some or left_out(config)
    return bool(some or option.deselect or any("::" in arg for arg in config.args))


def described(row: Row) -> str:
    """A row in a line."""
    return f"{row.test}: {row.subject}, {row.quantity}; {row.kind}: {row.oracle}; tolerance {row.tolerance}"


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that writes the page."""
    parser.addoption(
        "--write-checks", action="store_true", help="write docs/checks.md from what the tests compare"
    )


def pytest_configure(config: pytest.Config) -> None:
    """One collector, in the process that reports."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Gathered(), "checks_page")


@pytest.fixture
def checked(request: pytest.FixtureRequest) -> Checked:
    """Compare with an independent oracle; see tests/helpers/checked.py."""
    file = Path(request.node.nodeid.partition("::")[0])
    return Checked(file, request.node.user_properties)
