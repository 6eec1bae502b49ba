"""What is raised about system structure packages."""

from __future__ import annotations

from blocks.errors import PlantloopError


class SSPError(PlantloopError):
    """An SSP file is none, damaged or unsafe, or says what cannot be done; with its line."""


def fault(file: str, what: str, line: int | None = None, hint: str | None = None) -> SSPError:
    """An error about a file of a package, at a line of it."""
    where = f"{file}:{line}" if line else file
    stop = "" if what.endswith((".", "?")) else "."
    return SSPError(f"{where}: {what}{stop}", path=where, hint=hint)
