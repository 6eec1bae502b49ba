"""Scripts of `examples/`: loaded as scripts are, and run once however many tests look at them."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import io
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

EXAMPLES = Path(__file__).parents[2] / "examples"


def module(path: Path) -> ModuleType:
    """A script as a module."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))  # as for a script that is run
    try:
        spec.loader.exec_module(loaded)
    finally:
        sys.path.remove(str(path.parent))
    return loaded


@functools.cache
def ran(name: str) -> tuple[ModuleType, Any]:
    """A script and what its main() returns; it prints a known answer and leaves no file behind."""
    before, loaded, printed = os.listdir(), module(EXAMPLES / name), io.StringIO()
    with contextlib.redirect_stdout(printed):
        returned = loaded.main()
    assert returned is not None
    assert "known" in printed.getvalue()
    assert sorted(os.listdir()) == sorted(before)
    return loaded, returned
