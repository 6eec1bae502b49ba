"""What is raised about FMUs: files that cannot be used, and calls that failed."""

from __future__ import annotations

from blocks.errors import BlockError, SimulationError


class FMUError(BlockError):
    """An FMU is no FMU, a damaged or an unsafe one, or cannot be used as asked."""


class FMUCallError(FMUError, SimulationError):
    """A function of an FMU failed, or returned what nobody can go on with."""
