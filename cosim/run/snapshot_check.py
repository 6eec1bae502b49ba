"""Can a run of this system have this context? Checked before machine code uses it.

Machine code trusts what it is given: a count is a place in an array, a width a number of bytes. So a context
from outside is compared with the system in full: names, shapes and types of everything, ranges of all counts,
and that ticks, instants and delayed signals stand where the time does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

from blocks.arguments import is_whole
from blocks.contract.memories import CountedInstants
from cosim.run.context import Context
from cosim.run.history import History
from cosim.system import System

ROUNDING = 1e-9
"""Relative; what a located event, a tick's time by division and sums of steps may be apart."""

VECTORS = ("x", "h", "w", "p", "next", "signs", "solution")


def shape_faults(context: Context, system: System) -> Iterator[str]:
    """Arrays of a context that do not fit those of a system."""
    like = Context.initial(system)
    for name in VECTORS:
        yield from _vector(f"'{name}'", getattr(context, name), getattr(like, name).shape)
    if not isinstance(context.ticks, list) or len(context.ticks) != len(like.ticks):
        yield f"'ticks' has not {len(like.ticks)} counts"
    elif not all(_is_count(n) for n in context.ticks):
        yield "'ticks' has something else than counts"
    if not isinstance(context.instants, dict) or context.instants.keys() != like.instants.keys():
        yield "'instants' are of other blocks"
    elif not all(_is_count(n) for n in context.instants.values()):
        yield "'instants' has something else than counts"
    if not isinstance(context.histories, dict) or [*context.histories] != [*like.histories]:
        yield "'histories' are of other delays"
    else:
        for delay in system.delays:
            yield from _history(
                f"the past of '{delay.name}'", context.histories[delay.name], len(delay.initial)
            )
    if context.stopped not in ("", *system.stops):
        yield "it was stopped by an event that is not there"


def faults(context: Context, system: System, opaque: Collection[str]) -> Iterator[str]:
    """What is wrong with a context that was read from a file; `opaque` are the blocks that save something."""
    found = list(shape_faults(context, system))
    yield from found
    if found:
        return
    t = context.t
    if not (np.isfinite(t) and t >= 0.0 and t * system.grid < 2.0**62):
        yield f"its time is {t!r}"
        return
    if not (np.isfinite(context.step) and context.step >= 0.0):
        yield f"its step size is {context.step!r}"
    if not (np.isfinite(context.error) and context.error > 0.0):
        yield f"its error is {context.error!r}"
    if not np.isfinite(context.x).all():
        yield "a state is not finite"
    if np.isnan(context.p).any():
        yield "a parameter is no number"
    if not np.isin(context.signs, (-1.0, 0.0, 1.0)).all():
        yield "the sign of a crossing is none of -1, 0 and 1"
    if unknown := sorted(set(context.opaque) - set(opaque)):
        yield f"there is no block {unknown[0]!r} that saves something"
    yield from _ticks(context, system)
    yield from _instants(context, system)
    yield from _delayed(context, system)


def _is_count(value: object) -> bool:
    if not is_whole(value):
        return False
    return bool(0 <= value < 2**62)


def _vector(what: str, value: object, shape: tuple[int, ...]) -> Iterator[str]:
    if not isinstance(value, np.ndarray) or value.dtype != np.float64:
        yield f"{what} is no array of doubles"
    elif value.shape != shape:
        yield f"{what} has the shape {value.shape}, expected {shape}"


def _history(what: str, history: Any, size: int) -> Iterator[str]:
    if not isinstance(history, History):
        yield f"{what} is none"
        return
    n = history.count
    yield from _vector(f"{what}, initial,", history.initial, (size,))
    for name, shape in (("starts", (n,)), ("ends", (n,)), ("values", (n, 5, size))):
        yield from _vector(f"{what}, {name},", getattr(history, name), shape)


def _ticks(context: Context, system: System) -> Iterator[str]:
    """Ticks up to the present are done, later ones are not."""
    for rate, n in zip(system.rates, context.ticks, strict=True):
        last, coming = (float(rate.offset + k * rate.period) for k in (n - 1, n))
        early = context.started and coming < context.t * (1 - ROUNDING) - ROUNDING * float(rate.period)
        late = n > 0 and last > context.t * (1 + ROUNDING) + ROUNDING * float(rate.period)
        if early or late:
            yield f"{n} ticks of rate {rate} at t={context.t:.9g} s"


def _instants(context: Context, system: System) -> Iterator[str]:
    listed, lists = system.listed_instants()
    done = sum(context.instants.values())
    if done > len(listed):
        yield f"{done} listed instants are passed of {len(listed)}"
        return
    names = [*system.held_of(CountedInstants)]
    passed = dict(zip(names, np.bincount(lists[:done], minlength=len(names)).tolist(), strict=True))
    if any(passed.get(name, 0) != n for name, n in context.instants.items()):
        yield "listed instants are passed in another order than that of time"
    near = ROUNDING * max(1.0, context.t)
    if (done and listed[done - 1] > context.t + near) or (
        context.started and done < len(listed) and listed[done] < context.t - near
    ):
        yield f"{done} listed instants are passed at t={context.t:.9g} s"


def _delayed(context: Context, system: System) -> Iterator[str]:
    stops, near = np.array(context.stops, dtype=float), ROUNDING * max(1.0, context.t)
    if len(stops) and not (system.delays and np.isfinite(stops).all() and (np.diff(stops) > 0).all()):
        yield "stops of delays are not in order"
    for name, history in context.histories.items():
        starts, ends = history.starts, history.ends
        if not (np.isfinite(starts).all() and np.isfinite(ends).all() and np.isfinite(history.initial).all()):
            yield f"the past of '{name}' has times or values that are not finite"
        elif (starts >= ends).any() or (np.abs(starts[1:] - ends[:-1]) > near).any():
            yield f"the pieces of the past of '{name}' do not follow each other"
        elif len(ends) and ends[-1] > context.t + near:
            yield f"the past of '{name}' is later than t={context.t:.9g} s"
