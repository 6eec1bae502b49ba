"""Instants at which functions of TIME jump or have a corner: a plant's steps end there."""

from __future__ import annotations

from collections.abc import Set

import casadi as ca

from blocks.contract.block import Equations


class Instants:
    """One memory per distinct set of instants."""

    def __init__(self, b: Equations) -> None:
        self._b = b
        self._known: dict[tuple[float, ...], ca.SX] = {}

    def passed(self, times: tuple[float, ...]) -> ca.SX:
        """How many of these instants are over."""
        if times not in self._known:
            self._known[times] = ca.SX(self._b.instants(list(times)))
        return self._known[times]

    def stops_at(self, times: Set[float]) -> None:
        """Let steps end on these instants too."""
        known = {t for listed in self._known for t in listed}
        corners = tuple(sorted(t for t in times if t > 0 and t not in known))
        if corners:
            self.passed(corners)
