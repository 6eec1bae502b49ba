"""Numbers that an FMU returns and that are none: the error names the function, the variable and the time."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from cosim.fmi.description import Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.dialect import DIALECTS

HINT = (
    "Look there for inputs and parameters that its equations cannot take, as a zero that is divided by, "
    "or for too long a step; otherwise ask its maker."
)


def derivatives(component: AnyComponent, rates: Sequence[Variable], n: int) -> np.ndarray:
    """Derivatives of the states, (n,); for errors see `finite`."""
    name = DIALECTS[component.description.major].derivatives
    return finite(component, rates, component.derivatives(np.zeros(n)), name)


def indicators(component: AnyComponent, variables: Sequence[Variable], n: int) -> np.ndarray:
    """Event indicators, (n,), which are variables in FMI 3.0 only; for errors see `finite`."""
    return finite(component, variables, component.indicators(np.zeros(n)), "GetEventIndicators")


def states(component: AnyComponent, variables: Sequence[Variable], out: np.ndarray) -> None:
    """Read the states into `out`, (nx,); for errors see `finite`."""
    finite(component, variables, component.states(out), "GetContinuousStates")


def finite(
    component: AnyComponent, variables: Sequence[Variable], found: np.ndarray, function: str = ""
) -> np.ndarray:
    """The numbers (n,) that were `found` for some variables.

    function : that returned them, without its prefix; default the getter of a variable's type

    Raises
    ------
    FMUCallError      one is nan or infinite
    """
    if np.isfinite(found).all():
        return found
    place = int(np.flatnonzero(~np.isfinite(found))[0])
    dialect, (v, which) = DIALECTS[component.description.major], _at(variables, place)
    said = function or ("Get" if v is None else f"Get{dialect.types[v.type][0]}")
    raise _no_number(component, f"{dialect.prefix}{said} returned {found[place]:g} for {which}")


def check_next_event(component: AnyComponent, time: float | None) -> None:
    """Check the time that an FMU announced for its next event [s]; None: it announced none.

    Raises
    ------
    FMUCallError      it is nan
    """
    if time is not None and math.isnan(time):
        dialect = DIALECTS[component.description.major]
        raise _no_number(component, f"{dialect.prefix}{dialect.update} announced its next event for t=nan")


def _no_number(component: AnyComponent, what: str) -> FMUCallError:
    t = component.call.time
    where = "" if t is None else f" at t={t:.9g} s"
    said = component.log.shown()
    return FMUCallError(
        f"FMU '{component.description.file}', instance '{component.name}': {what}{where}. {said}"
        + ("\n" if "\n" in said else ""),
        path=component.name,
        time=t,
        value=math.nan,
        hint=HINT,
    )


def _at(variables: Sequence[Variable], place: int) -> tuple[Variable | None, str]:
    """The variable that the scalar at a place belongs to, and what messages call that scalar."""
    at = place
    for v in variables:
        if at < v.size:
            index = [int(k) + 1 for k in np.unravel_index(at, v.shape)] if v.shape else []
            return v, f"'{v.name}'" + (f", element {index}" if index else "")
        at -= v.size
    return None, f"number {place}"
