"""User subroutines of constraints: GCOSUB, COUSUB, MOTSUB and VARSUBs whose equation is a constraint.

A constraint needs the first and second derivatives of its value along the motion. A routine that runs on
symbols has them exactly. Any other one is called at run time and differentiated:

- COUSUB by COUXX (first derivatives, one per coordinate) and COUXX2 (second ones, n x n row by row), where
  the same script or library has functions of these names;
- MOTSUB by itself, where its values for ``iord`` 1 and 2 are the derivatives in time they should be;
- everything else by central differences, in which ``dflag`` is true where the routine has it. They are
  good to about 1e-10 (first) and 1e-8 (second); projection keeps the constraint itself exact.

Source: MotionSolve reference guide, COUSUB, COUXX and COUXX2, GCOSUB, MOTSUB.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import casadi as ca
import numpy as np

from blocks.arguments import real_numbers
from blocks.contract.block import Equations
from blocks.contract.callback import close_all
from blocks.errors import ModelError
from plant.elements import UserSubroutine
from plant.equations.setting import Setting
from plant.expressions.scope import Scope
from plant.reporting import mention
from plant.routines.libraries import library_routine
from plant.routines.octave import octave_routine
from plant.routines.opaque_calls import OpaqueRoutine
from plant.routines.scripts import Script, Stateful
from plant.routines.subroutines import (
    Routine,
    RoutineCall,
    refuse_unless_trusted,
    signature,
)

Numbers = Callable[[np.ndarray], np.ndarray]

TRIALS = (0.1, 0.37, 0.93)  # s: where a MOTSUB's orders are compared


def constraint_value(
    values: Setting, b: Equations, element: UserSubroutine, scope: Scope, given: Sequence[ca.SX] = ()
) -> ca.SX:
    """Value (n, 1) of an element's subroutine in terms of the symbols of `scope`, with two derivatives.

    given : vectors the routine takes as arguments (coordinates of a coupler)

    Raises
    ------
    ModelError    not trusted, no such file or function, it fails, or it keeps something between calls
    """
    refuse_unless_trusted(values, element)
    call = RoutineCall(values, element, signature(element), given, 0, scope)
    if element.script_name is None:
        return _opaque(call, b, _Library(call), "it is compiled")
    if element.interpreter == "MATLAB":
        return _opaque(call, b, _Octave(call), "MATLAB code is")
    script = Script(values.model, element)
    try:
        return call.symbolic(script)
    except Stateful as fault:
        raise ModelError(
            f"{call.name}: {fault}, but a constraint is a function of displacements and TIME.",
            path=element.where,
            hint="Let it keep nothing between calls, or use its value in a force instead.",
        ) from None
    except Exception as fault:
        return _opaque(call, b, _Python(script), call.reason_not_traced(fault))


# --- where routines come from ----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class _Library:
    call: RoutineCall

    def routine(self, name: str = "", size: int = 1) -> Routine | None:
        """The element's own function, or another one of its library; None where there is none."""
        element, model = self.call.element, self.call.values.model
        try:
            return library_routine(model, element, self.call.form.name, size, name)
        except ModelError:
            if not name:
                raise
            return None


@dataclass(frozen=True, eq=False)
class _Octave:
    call: RoutineCall

    def routine(self, name: str = "", size: int = 1) -> Routine | None:
        """The element's own function; its derivatives are differenced."""
        return None if name else octave_routine(self.call.values.model, self.call.element)


@dataclass(frozen=True, eq=False)
class _Python:
    script: Script

    def routine(self, name: str = "", size: int = 1) -> Routine | None:
        """The element's own function, or another one of its script; None where there is none."""
        if name and not self.script.has(name):
            return None
        return self.script.numeric(name)


Home = _Library | _Octave | _Python


# --- a routine with derivatives --------------------------------------------------------------------------
def _opaque(call: RoutineCall, b: Equations, home: Home, reason: str) -> ca.SX:
    """The routine as a function of time, what it asks for and what it is given, with two derivatives."""
    routine = home.routine()
    assert routine is not None  # a missing one has raised
    asked = call.asked(routine)
    inputs = [call.time, *asked.symbols(call.scope, call.element), *call.given]
    column, size = ca.densify(ca.vertcat(*inputs)), call.form.size
    n = int(column.numel())

    def make(own: Routine | None = None) -> _Differentiated:
        own = own or home.routine()
        assert own is not None  # it was there before
        opaque = OpaqueRoutine(call.name, call.function(own, asked), n, size, own)
        slope, curvature, how = _derivatives(call, home, opaque)
        return _Differentiated(opaque, _newest_kept(slope), _newest_kept(curvature), how)

    how = make(routine).how
    close_all([routine])
    # time is the first entry of u, so the function itself does not look at t
    value = b.opaque(
        f"{call.element.tag}_{call.element.id}_constraint",
        lambda own, t, u: own.opaque.trial(u),
        column,
        size,
        lambda own, t, u: own.slope(u).reshape(size, -1),
        lambda own, t, u: own.curvature(u).reshape(size, n, n),
        make,
        call.name,
    )
    mention(
        f"{call.name} of a constraint is called at run time: {reason.rstrip('.')}. "
        f"Its derivatives are {how}. Compiled code calls it back in Python, which is slower."
    )
    return ca.SX(value)


@dataclass(frozen=True, eq=False)
class _Differentiated:
    """A routine in one run with its two derivatives, and where those come from."""

    opaque: OpaqueRoutine
    slope: Numbers
    curvature: Numbers
    how: str

    def close(self) -> None:
        """See `OpaqueRoutine.close`."""
        self.opaque.close()


def _newest_kept(f: Numbers) -> Numbers:
    """The same function, which is called once where it is asked for at one place several times in a row."""
    newest: list[tuple[bytes, np.ndarray]] = []

    def found(u: np.ndarray) -> np.ndarray:
        if not newest or newest[0][0] != u.tobytes():
            newest[:] = [(u.tobytes(), f(u))]
        return newest[0][1]

    return found


def _derivatives(call: RoutineCall, home: Home, opaque: OpaqueRoutine) -> tuple[Numbers, Numbers, str]:
    """Gradient and second derivatives of a routine, and where they come from."""
    if call.form.name == "COUSUB":
        n = call.counts[0]
        first, second = home.routine("COUXX", n), home.routine("COUXX2", n * n)
        if first is not None:
            return _of_coupler(call, opaque, first, second)
    if call.form.name == "MOTSUB":
        return _of_motion(call, opaque, home)
    return opaque.slope, opaque.curvature, "central differences"


def _of_coupler(
    call: RoutineCall, opaque: OpaqueRoutine, first: Routine, second: Routine | None
) -> tuple[Numbers, Numbers, str]:
    n = call.counts[0]

    def partials(routine: Routine, u: np.ndarray, count: int, name: str) -> np.ndarray:
        found = real_numbers(
            routine(call.arguments(float(u[0]), [u[1:].tolist()], False, False), call.silent())
        )
        if found.size != count:
            raise ModelError(f"{call.name}: {name} gave {found.size} numbers, expected {count}.")
        return found.ravel()

    def slope(u: np.ndarray) -> np.ndarray:
        return np.concatenate([opaque.rate(u), partials(first, u, n, "COUXX")])

    def curvature(u: np.ndarray) -> np.ndarray:
        if second is None:
            return opaque.differenced(slope, u)
        full = opaque.curvature(u)[0]
        full[1:, 1:] = partials(second, u, n * n, "COUXX2").reshape(n, n)
        return full

    how = "COUXX and COUXX2" if second is not None else "COUXX and its central differences"
    return slope, curvature, how


def _of_motion(call: RoutineCall, opaque: OpaqueRoutine, home: Home) -> tuple[Numbers, Numbers, str]:
    """MOTSUB depends on time alone; orders 1 and 2 are its derivatives."""
    routine = home.routine()
    assert routine is not None

    def order(k: int, u: np.ndarray) -> np.ndarray:
        found = routine(call.arguments(float(u[0]), [], False, False, k), call.silent())
        return real_numbers(found).ravel()[:1]

    if not all(_is_rate(order, t) for t in TRIALS):
        return opaque.slope, opaque.curvature, "central differences (iord 1 and 2 do not give them)"
    return lambda u: order(1, u), lambda u: order(2, u), "its own, iord 1 and 2"


def _is_rate(order: Callable[[int, np.ndarray], np.ndarray], t: float) -> bool:
    """Do orders 1 and 2 of a MOTSUB agree with differences of orders 0 and 1 at a time?"""
    h = 1e-5
    try:
        values = [[order(k, np.array([t + s * h])) for s in (-1, 0, 1)] for k in range(3)]
    except Exception:  # a user's routine may raise anything
        return False
    for lower, upper in pairwise(values):
        rate = (lower[2] - lower[0]) / (2 * h)
        if not np.allclose(rate, upper[1], rtol=1e-3, atol=1e-5):
            return False
    return True
