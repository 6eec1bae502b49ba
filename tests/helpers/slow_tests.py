"""Slow tests are left out where all tests are asked for, unless --slow asks for them too.

Marked slow is what takes a third of a second or more of an idle processor: browsers, long runs, many child
processes, other programs, large models. CI runs them all. Who names files, tests or words (`-k`, `-m`) gets
what is named, slow or not.
"""

from __future__ import annotations

import pytest

LEFT_OUT = "slow tests are left out; --slow runs them too"


def left_out(config: pytest.Config) -> bool:
    """Whether slow tests are left out; xdist's workers see the same command line."""
    option = config.option
    everything = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    return everything and not (option.slow or option.markexpr or option.keyword)


def pytest_addoption(parser: pytest.Parser) -> None:
    """The option that asks for them."""
    parser.addoption("--slow", action="store_true", help="run slow tests too, where all tests are asked for")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Said at the end of a run."""
    if left_out(config):
        terminalreporter.line(LEFT_OUT)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave them out."""
    if left_out(config):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
