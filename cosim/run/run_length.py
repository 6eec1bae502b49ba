"""How many steps and ticks a run would take: worked out before it starts, where the numbers say so."""

from __future__ import annotations

import math
from collections.abc import Iterator

from blocks.contract.user_lines import warn_user
from blocks.errors import PlantloopError
from cosim.settings import RunSettings
from cosim.system import System

MANY = 1e10
"""Steps or ticks of which a run says how many they are: a small model takes 1e7 of them in a second."""

ENDLESS = 1e13
"""Steps or ticks a run may take that has no wall_limit: a month of 1e7 in a second is 2.6e13."""

COUNTED = 2.0**53
"""What a count of steps can be."""


def check_length(system: System, settings: RunSettings, begin: float, until: float) -> None:
    """Refuse a run from `begin` to `until` [s] that cannot end; warn of one that takes more than 1e10 steps.

    One of more than 1e13 steps needs a wall_limit.

    Raises
    ------
    PlantloopError      it has more steps than can be taken, or steps too small to move the time
    """
    for every, what, cure in _intervals(system, settings):
        count = (until - begin) / every
        limited = settings.wall_limit < math.inf
        if count > (COUNTED if limited else ENDLESS):
            raise PlantloopError(_text(begin, until, count, what), value=until, hint=cure)
        if count > MANY:
            end = f"wall_limit={settings.wall_limit:g} ends it." if limited else cure
            warn_user(f"{_text(begin, until, count, what)} {end}")
        if begin < until and count > 1 and until - every == until:
            raise PlantloopError(
                f"steps of {what} are too small to move the time at t={until:g} s.", value=every, hint=cure
            )
    if system.rates and until * system.grid >= 2.0**62:
        raise PlantloopError(
            f"a run to {until:g} s has ticks that cannot be counted: they are multiples of "
            f"1/{float(system.grid):.3g} s.",
            value=until,
            hint="End it earlier, or give periods and offsets that share a larger divisor.",
        )


def _text(begin: float, until: float, count: float, what: str) -> str:
    return f"a run from {begin:g} to {until:g} s takes {count:.2g} steps of {what}, more than {MANY:.0e}."


def _intervals(system: System, settings: RunSettings) -> Iterator[tuple[float, str, str]]:
    """Intervals [s] of which a run has as many as fit, what each is, and what to do about it."""
    further = "or give wall_limit= [s] to run as far as it gets."
    if system.x0.size and not settings.adaptive:
        yield (
            settings.step,
            f"step={settings.step:g} s",
            f"Choose a larger step, an adaptive solver, {further}",
        )
    if system.x0.size and settings.adaptive and settings.max_step < math.inf:
        yield settings.max_step, f"max_step={settings.max_step:g} s", f"Choose a larger max_step, {further}"
    for rate in system.rates:
        yield float(rate.period), f"its rate {rate}", f"End it earlier, choose a longer period, {further}"
