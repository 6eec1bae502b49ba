"""Derivatives of the functions of an FMU for model exchange: from the FMU, else by central differences.

Those that it gives of a function are compared with differences once; where these contradict them, differences
are taken from then on, with a warning.

By parameters they are taken where no run has begun: in a run parameters change at events only, so they are
zero there, and so are those by discrete inputs.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Sequence

import numpy as np

from cosim.fmi.description import FLOATS, Variable
from cosim.fmi.fmi_errors import FMUCallError
from cosim.fmi.interface.any_component import AnyComponent
from cosim.fmi.interface.caller import FATAL

DIFFERENCE = 6e-6  # relative step of central differences, the cubic root of the rounding

AGREES = 1e-5  # between the FMU's derivatives by parameters and differences, relative
CONTRADICTS = 0.1  # relative; derivatives by states and inputs that differ more are wrong
ROUNDED = 1e-10  # of a value; a difference of two may be rounding below that

Value = Callable[[float, np.ndarray], np.ndarray]


class FMUSlopes:
    """Jacobians of functions (t, a) of one instance; their argument a is states, inputs, parameters.

    untouched : inputs that are never set, on which nothing depends
    """

    def __init__(self, component: AnyComponent, untouched: frozenset[str] = frozenset()) -> None:
        self._component, self._untouched = component, untouched
        self._says = component.interface.directional_derivatives
        self._knows: dict[
            tuple[str, str], bool
        ] = {}  # does it tell derivatives by a parameter, and right ones?
        self._compared: set[tuple[str, ...]] = set()  # functions, by the names of their values

    def jacobian(
        self,
        t: float,
        a: np.ndarray,
        rows: Sequence[Variable],
        moving: Sequence[Variable],
        parameters: Sequence[Variable],
        value: Value,
    ) -> np.ndarray:
        """(n, len(a)): of `value`, whose scalars are those of `rows`; without rows nothing is known of them.

        moving : states and inputs; parameters : those by which to differentiate, zero by those left out
        """
        knowns, at = [], 0
        for v in moving:
            if v.continuous and v.name not in self._untouched:
                knowns.append((v, at))
            at += v.size
        base = value(t, a).copy()
        found = np.zeros((len(base), len(a)))
        floats = all(v.type == "Float64" for v in (*rows, *(v for v, _ in knowns)))
        exact = self._says and bool(rows) and floats
        places = [(v, k, place + k) for v, place in knowns for k in range(v.size)]
        for v, k, place in places:
            column = self._asked_once(rows, v, k) if exact and self._says else None
            found[:, place] = _difference(value, t, a, place) if column is None else column
        if exact and self._says and not self._agree(t, a, rows, places, found, value):
            for _, _, place in places:
                found[:, place] = _difference(value, t, a, place)
        for v in parameters:
            if v.type in FLOATS:
                for k in range(v.size):
                    found[:, at + k] = self._by_parameter(t, a, rows if exact else (), v, k, value, at + k)
            at += v.size
        return found

    def _asked_once(self, rows: Sequence[Variable], v: Variable, k: int) -> np.ndarray | None:
        """The derivatives by the FMU; once it refuses, differences are used from then on, with a warning."""
        try:
            return self._asked(rows, v, k)
        except FMUCallError as error:
            if self._component.closed or error.value == FATAL:
                raise
            self._says = False
            file = self._component.description.file
            what = "says that it gives directional derivatives, but refuses to: differences are taken"
            warnings.warn(f"FMU '{file}' {what}.", stacklevel=2)
            return None

    def _agree(
        self,
        t: float,
        a: np.ndarray,
        rows: Sequence[Variable],
        places: Sequence[tuple[Variable, int, int]],
        found: np.ndarray,
        value: Value,
    ) -> bool:
        """Whether differences do not contradict derivatives that were `found`, looked at once a function."""
        key = tuple(v.name for v in rows)
        if key in self._compared:
            return True
        self._compared.add(key)
        for v, k, place in places:
            with contextlib.suppress(FMUCallError):  # it gives no value so near: nothing is compared
                row, said, differs = _contradiction(value, t, a, place, found[:, place])
                if row < 0:
                    continue
                self._says = False
                names, d = [_of(r, i) for r in rows for i in range(r.size)], self._component.description
                function = "GetDirectionalDerivative"
                warnings.warn(
                    f"FMU '{d.file}': fmi{d.major}{function} gives {said:.6g} for the derivative of "
                    f"'{names[row]}' by '{_of(v, k)}' at t={t:.9g} s, its values {differs:.6g}: "
                    "differences are taken.",
                    stacklevel=2,
                )
                return False
        return True

    def _asked(self, rows: Sequence[Variable], v: Variable, k: int) -> np.ndarray:
        seed = np.zeros(v.size)
        seed[k] = 1.0
        return self._component.directional(rows, [v], seed)

    def _by_parameter(
        self, t: float, a: np.ndarray, rows: Sequence[Variable], v: Variable, k: int, value: Value, place: int
    ) -> np.ndarray:
        """The FMU's derivative by a tunable parameter, if it agrees with differences; it is optional."""
        tunable = v.causality == "parameter" and v.variability == "tunable" and v.type == "Float64"
        said, key = None, (rows[0].name if rows else "", v.name)
        if rows and tunable and self._knows.get(key, True):
            value(t, a)  # it stands there
            with contextlib.suppress(FMUCallError):
                said = self._asked(rows, v, k)
        if said is not None and key in self._knows:
            return said
        found = _difference(value, t, a, place)
        scale = AGREES * (np.abs(found).max(initial=0.0) + np.abs(value(t, a)).max(initial=0.0))
        self._knows[key] = said is not None and bool((np.abs(said - found) <= scale).all())
        return said if said is not None and self._knows[key] else found


def _difference(value: Value, t: float, a: np.ndarray, k: int) -> np.ndarray:
    """Central difference of a function by the k-th entry of its argument."""
    h = DIFFERENCE * max(1.0, abs(float(a[k])))
    ends = []
    for sign in (1.0, -1.0):
        moved = a.copy()
        moved[k] += sign * h
        ends.append(value(t, moved).copy())
    return np.asarray((ends[0] - ends[1]) / (2 * h))


def _contradiction(
    value: Value, t: float, a: np.ndarray, place: int, said: np.ndarray
) -> tuple[int, float, float]:
    """The first row whose derivative (n,) by an entry of a function's argument is not what was `said`.

    What lies between the differences to both sides is right: there may be a corner. Returns the row, -1 if
    there is none, what was said of it, and the central difference.
    """
    h = DIFFERENCE * max(1.0, abs(float(a[place])))
    ends = []
    for step in (-h, 0.0, h):
        moved = a.copy()
        moved[place] += step
        ends.append(value(t, moved).copy())
    sides = np.array([ends[1] - ends[0], ends[2] - ends[1], 0.5 * (ends[2] - ends[0])]) / h
    near = CONTRADICTS * np.fmax(np.abs(said), np.abs(sides).max(axis=0))
    near = near + ROUNDED / h * np.abs(ends).max(axis=0) + 1e-6 * np.abs(sides).max(initial=0.0)
    wrong = (said < sides.min(axis=0) - near) | (said > sides.max(axis=0) + near) | ~np.isfinite(said)
    if not wrong.any():
        return -1, 0.0, 0.0
    row = int(wrong.argmax())
    return row, float(said[row]), float(sides[2, row])


def _of(v: Variable, k: int) -> str:
    """What messages call the k-th scalar of a variable."""
    return (
        f"{v.name}[{', '.join(str(int(i) + 1) for i in np.unravel_index(k, v.shape))}]" if v.shape else v.name
    )


STEP_IN_TIME = 1e-6  # of max(1, |t|)


def slope_by_time(value: Value, t: float, a: np.ndarray, first: float, last: float) -> np.ndarray:
    """Difference of a function by t, of second order, from times between `first` and `last` [s].

    Central where there is room on both sides, else one-sided: (4 f(t+h) - 3 f(t) - f(t+2h)) / (2h).
    """
    h = STEP_IN_TIME * max(1.0, abs(t))
    if first <= t - h and t + h <= last:
        late, early = (value(t + s * h, a).copy() for s in (1, -1))
        return np.asarray((late - early) / (2 * h))
    side = 1.0 if last - t >= t - first else -1.0
    h = side * min(h, 0.5 * (last - t if side > 0 else t - first))
    if not h:
        return np.zeros(len(value(t, a)))
    now, near, far = (value(t + k * h, a).copy() for k in range(3))
    return np.asarray((4 * near - 3 * now - far) / (2 * h))
