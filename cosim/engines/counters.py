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
    python: dict[str, float] = field(default_factory=dict)  # block called at its ticks -> time in it [s]
