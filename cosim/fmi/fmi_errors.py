"""Exceptions about FMUs: files that cannot be used, and calls that failed."""

from __future__ import annotations

from blocks.errors import BlockError, SimulationError


class FMUError(BlockError):
    """A file is not an FMU, is damaged or unsafe, or cannot be used as asked."""


class FMUCallError(FMUError, SimulationError):
    """A function of an FMU failed, or returned a result that cannot be used."""
