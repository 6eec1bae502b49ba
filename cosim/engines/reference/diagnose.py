"""Why a value is not finite: find the first bad term, signal or derivative, in order of evaluation."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable

import casadi as ca
import numpy as np

from blocks.contract.callback import LiveCall
from blocks.errors import SimulationError
from cosim.engines.reference.bad_operation import bad_operation
from cosim.slots import Place
from cosim.system import System


def explain(
    system: System,
    calls: Iterable[LiveCall],
    arguments: list[np.ndarray],
    t: float,
    last_good: float,
    place: Place | None = None,
    value: float = math.nan,
    in_reset: bool = False,
) -> SimulationError:
    """Error for a non-finite value at time t [s].

    Parameters
    ----------
    calls                           Python functions of the run
    arguments : [t, x, h, w, p]     where the system stands
    last_good : float               last time at which all was finite [s]
    place, value                    what was being computed, if all signals before it are finite
    in_reset : bool                 resets of an event were computed last, and the states have their values
    """
    values = [ca.DM(a) for a in arguments]
    calls = list(calls)
    in_event = _failed(calls) if in_reset else []
    in_crossing = _failed_in_crossing(system, calls, values, place)
    _forget(calls)
    term = _first_term(system, values)
    signal = _first_signal(system, values)
    if signal is not None:
        place, value = signal
        what = f"signal '{place}'"
    elif place is not None:
        what = f"{'signal' if place.name in system.signals else 'value of'} '{place}'"
    else:
        place, value = _first_state(system, arguments, values)
        what = f"derivative of '{place}'" if place.name else "value"
    failed = in_event or _failed(calls) or (in_crossing if signal is None else [])
    if not failed and not place.name:  # neither signals nor derivatives: what is taken at accepted steps
        failed = _failed_in(system, calls, values, [system.accepted[0]])
    if failed:
        return _of_calls(system, failed, what, place, t, last_good)
    term = term or _first_operation(system, values, place)
    because = f" First non-finite term: {term}." if term else ""
    return SimulationError(
        f"non-finite {what} = {value:g} in block '{place.path}' at t={t:.9g} s "
        f"(last finite t={last_good:.9g} s).{because}",
        path=str(place),
        time=t,
        value=value,
        hint="Look there for a division by zero, a root of a negative number, or too long a step.",
    )


def _of_calls(
    system: System, failed: list[LiveCall], what: str, place: Place, t: float, last_good: float
) -> SimulationError:
    """Error for Python functions that gave no numbers: theirs is the fault, whatever reads them."""
    paths = dict(zip(system.calls, system.callers, strict=True))
    for live in failed:
        if isinstance(live.error, SimulationError):  # it says what, where and why itself: of an FMU
            path = paths[live.call]
            said = type(live.error)(f"block '{path}': {live.error}", path=path, port=live.error.port, time=t)
            said.__cause__ = live.error
            return said
    faults = []
    for live in failed:
        elsewhere = f" of block '{paths[live.call]}'" if paths[live.call] != place.path else ""
        faults.append(f"{live.call.about}{elsewhere} {live.failure}")
    error = SimulationError(
        f"{what} in block '{place.path}' has no value at t={t:.9g} s (last finite t={last_good:.9g} s): "
        f"{'; '.join(faults)}.",
        path=str(place),
        time=t,
        hint="Mend the function for the arguments it gets there, or keep the motion away from them.",
    )
    error.__cause__ = next((live.error for live in failed if live.error is not None), None)
    return error


def _first_term(system: System, values: list[ca.DM]) -> str | None:
    if not system.terms:
        return None
    sizes = [p.expression.numel() for p in system.terms]
    function = system.function("terms", lambda: [ca.vertcat(*[p.expression for p in system.terms])])
    found = np.array(function(*values)).ravel()
    start = 0
    for problem, size in zip(system.terms, sizes, strict=True):
        part = found[start : start + size]
        start += size
        if not np.isfinite(part).all():
            return f"{problem.path}: {problem.text} = {part[0] if size == 1 else part}"
    return None


def _forget(calls: Iterable[LiveCall]) -> None:
    """Calls that failed at trial values elsewhere are not why."""
    for live in calls:
        live.forget()


def _failed(calls: Iterable[LiveCall]) -> list[LiveCall]:
    """Calls that failed when they were last made, as they are now."""
    return [copy.copy(live) for live in calls if live.failure]


def _failed_in_crossing(
    system: System, calls: list[LiveCall], values: list[ca.DM], place: Place | None
) -> list[LiveCall]:
    """Calls that fail in the crossing of the event at this place, if there is one."""
    return _failed_in(system, calls, values, [e.crossing for e in system.events if e.place == place])


def _failed_in(
    system: System, calls: list[LiveCall], values: list[ca.DM], expressions: list[ca.SX]
) -> list[LiveCall]:
    """Calls that fail in some expressions."""
    if not expressions:
        return []
    _forget(calls)
    arguments = [system.t, system.x, system.h, system.w, system.p]
    ca.Function("failing", arguments, [ca.vertcat(*expressions)])(*values)
    return _failed(calls)


def _first_operation(system: System, values: list[ca.DM], place: Place) -> str | None:
    """The operation behind a signal, or the derivative of a state, that gives no number."""
    if place.name in system.signals:
        expression = system.signals[place.name].expression
    elif place.name in system.states:
        expression = system.derivative[system.states[place.name].index.tolist()]
    else:
        return None

    def evaluate(found: ca.SX) -> np.ndarray:
        function = ca.Function("operations", [system.t, system.x, system.h, system.w, system.p], [found])
        return np.array(function(*values)).ravel()

    return bad_operation(expression, evaluate)


def _first_signal(system: System, values: list[ca.DM]) -> tuple[Place, float] | None:
    names = [n for n in (*system.order, *system.signals) if n in system.signals]
    function = system.function(
        "ordered", lambda: [ca.vertcat(ca.SX(0, 1), *[system.signals[n].expression for n in names])]
    )
    found = np.array(function(*values)).ravel()
    start = 0
    for name in names:
        part = found[start : start + system.signals[name].size]
        start += len(part)
        bad = np.flatnonzero(~np.isfinite(part))
        if len(bad):
            component = int(bad[0]) if len(part) > 1 else None
            return Place(name, system.signals[name].path, component), float(part[bad[0]])
    return None


def _first_state(system: System, arguments: list[np.ndarray], values: list[ca.DM]) -> tuple[Place, float]:
    rate = np.array(system.function("derivative", lambda: [system.derivative])(*values)).ravel()
    for name, slot in system.states.items():
        here, slope = arguments[1][slot.index], rate[slot.index]
        bad = np.flatnonzero(~(np.isfinite(here) & np.isfinite(slope)))
        if len(bad):
            component = int(bad[0]) if slot.size > 1 else None
            return Place(name, slot.path, component), float(slope[bad[0]])
    return Place("", ""), math.nan
