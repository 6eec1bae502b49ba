"""Exceptions about system structure packages."""

from __future__ import annotations

from blocks.errors import PlantloopError


class SSPError(PlantloopError):
    """A file is not an SSP file, is damaged or unsafe, or asks for something impossible; with its line."""


def fault(file: str, what: str, line: int | None = None, hint: str | None = None) -> SSPError:
    """An error about a file of a package, at a line of it."""
    where = f"{file}:{line}" if line else file
    stop = "" if what.endswith((".", "?")) else "."
    return SSPError(f"{where}: {what}{stop}", path=where, hint=hint)
