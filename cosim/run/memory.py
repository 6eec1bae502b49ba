"""The memory a run needs, computed beforehand: a run that does not fit is refused with the figure."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

from blocks.errors import PlantloopError

SHARE = 0.75
"""Part of the machine's memory that one array of a run may take."""

USUAL = 16 * 2**30
"""Bytes, where the system does not say how many it has."""

LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
"""Where Linux says what a container may use; a word or a huge number where there is no limit."""


@cache
def installed() -> float:
    """Bytes of memory this process may have."""
    try:
        found = float(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):
        found = float(USUAL)
    for place in LIMITS:
        try:
            found = min(found, float(Path(place).read_text()))
        except (OSError, ValueError):
            continue
    return found


def check_memory(needed: float, what: str, cure: str) -> None:
    """Refuse what needs more bytes than this machine has.

    Parameters
    ----------
    needed : bytes      may be more than any machine has
    what : str          what they are for, "the log"
    cure : str          what to do about it

    Raises
    ------
    PlantloopError      with both figures
    """
    most = SHARE * installed()
    if needed > most:
        raise PlantloopError(
            f"{what} needs {needed / 2**30:.3g} GB of memory, more than the {most / 2**30:.3g} GB that may "
            "be used here.",
            value=needed,
            hint=cure,
        )
