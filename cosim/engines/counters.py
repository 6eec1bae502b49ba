"""What integration cost."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Counters:
    """What integration cost."""

    steps: int = 0
    rejected: int = 0
    evaluations: int = 0
    events: int = 0
    limited_by: dict[int, int] = field(default_factory=dict)  # state index -> steps it limited
    refused_by: int = -1  # state whose error was the largest in the newest step that was tried in vain
    python: dict[str, float] = field(default_factory=dict)  # block called at its ticks -> time in it [s]

    def copy(self) -> Counters:
        """What it has cost so far."""
        made = Counters(**vars(self))
        made.limited_by, made.python = dict(self.limited_by), dict(self.python)
        return made
