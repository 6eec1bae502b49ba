"""Tests with our own C units fail where a host breaks a rule of the standard."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def no_rule_is_broken(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Units write to this file which rule was broken, where; see `broken` in `tests/data/fmus/values.h`."""
    file: Path = tmp_path_factory.mktemp("rules") / "broken.txt"
    monkeypatch.setenv("BROKEN_RULES", str(file))
    yield
    assert not file.exists(), file.read_text()
