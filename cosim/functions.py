"""A flat system as pure NumPy functions f(t, x, u, p), with their exact Jacobians.

For SciPy's integrators and optimisers, an estimator, or an integrator of one's own::

    f = diagram.system().derivatives                 # or Plant / Block: system_of(plant).derivatives
    solve_ivp(f, (0.0, 1.0), f.x0, jac=f.by_x)       # u and p stay at their defaults
    A, B, P = f.by_x(t, x, u, p), f.by_u(t, x, u, p), f.by_p(t, x, u, p)

=====  ========  ====================================================================================
t      float     time [s]
x      (nx,)     continuous states, each component in its own unit
u      (nu,)     inputs of the diagram; default their present value in `h`
p      (np,)     parameters: every number that may change between runs; default those of the blocks
h      (nh,)     everything that is held: discrete states, sampled values, modes, turns counted, passed
                 instants, counts of ticks; default the values before the first tick
=====  ========  ====================================================================================

*h is held fixed.* A call is one look at the equations between two instants: no tick is executed, no event
located, no mode changed, whatever t and x are. A snapshot of a run (`Simulation.snapshot`) has the vectors
x, h and p of its instant, to be passed as they are. Algebraic unknowns are solved at every call, and the
Jacobians go through them (implicit function theorem).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np

from blocks.arguments import number
from blocks.errors import PlantloopError, shown
from cosim.engines.methods.newton import newton
from cosim.engines.reference.bound import Bound
from cosim.slots import Sought

DOUBLE = np.dtype(float)


@dataclass(frozen=True)
class Arguments:
    """The symbols that functions of one system depend on, and what they are by default.

    t, x, h, w, p : as in `cosim.system`; inputs : places of u in h
    residual : zero at the unknowns, the first of w; loops : what each unknown is
    start : default values of x, h, w and p by letter; names : of the components of x, u, p and h
    answering : while inside, users' functions are called for one evaluation; gives what then looks at its
        numbers, and raises what went wrong
    """

    t: ca.SX
    x: ca.SX
    h: ca.SX
    w: ca.SX
    p: ca.SX
    inputs: np.ndarray
    residual: ca.SX
    loops: Sequence[Sought]
    start: Mapping[str, np.ndarray]
    names: Mapping[str, tuple[str, ...]]
    answering: Callable[[], AbstractContextManager[Callable[[np.ndarray], None]]] | None = None

    @property
    def unknowns(self) -> int:
        """Number of algebraic unknowns."""
        return int(self.residual.numel())

    def function(self, expressions: Sequence[ca.SX]) -> ca.Function:
        """Function (t, x, h, w, p) -> dense values."""
        return ca.Function(
            "f", [self.t, self.x, self.h, self.w, self.p], [ca.densify(e) for e in expressions]
        )

    def symbols(self, letter: str) -> ca.SX:
        """What to differentiate by."""
        if letter == "u":
            places = [int(k) for k in self.inputs]
            return self.h[places] if places else ca.SX(0, 1)
        found: ca.SX = getattr(self, letter)
        return found


class _Evaluation:
    """One CasADi function on arrays of its own, filled from t, x, u, p, h before each call.

    What is at its default already is not copied again: a call costs about a microsecond beside the equations.
    """

    def __init__(self, arguments: Arguments, expressions: Sequence[ca.SX]) -> None:
        self._a = a = arguments
        self.t = np.zeros(1)
        self.x, self.h, self.w, self.p = (a.start[n].copy() for n in ("x", "h", "w", "p"))
        own = [self.t, self.x, self.h, self.w, self.p]
        self._bound = Bound(a.function(expressions), own)
        self._unknowns = Bound(a.function(_residual(a)), own) if a.unknowns else None
        self._usual = dict.fromkeys("uph", True)  # is it at its default?
        self._u0, self._places = a.start["h"][a.inputs], _in_a_row(a.inputs)
        self._lock = threading.Lock()

    def __call__(
        self, take: Callable[[list[np.ndarray]], np.ndarray], t: float, x: Any, u: Any, p: Any, h: Any
    ) -> np.ndarray:
        """What `take` makes of the outputs, which the next call overwrites."""
        if self._a.answering is None:
            return self._values(take, t, x, u, p, h)
        with self._a.answering() as check:
            found = self._values(take, t, x, u, p, h)
            check(found)
        return found

    def _values(
        self, take: Callable[[list[np.ndarray]], np.ndarray], t: float, x: Any, u: Any, p: Any, h: Any
    ) -> np.ndarray:
        with self._lock:  # the arrays are shared: one call at a time
            self.t[0] = t if t.__class__ is float else number(t, "t", "a finite time [s]")
            if x.__class__ is not np.ndarray or x.shape != self.x.shape or x.dtype is not DOUBLE:
                x = self._array("x", x)
            self.x[:] = x
            usual = self._usual
            if h is not None or not usual["h"]:
                self._fill_held(h)
            if u is not None or not usual["u"]:
                self._fill_inputs(u, h)
            if p is not None or not usual["p"]:
                self._fill("p", self.p, p)
            if self._unknowns is not None:
                self._solve(float(t))
            self._bound()
            return take(self._bound.outputs)

    def _fill(self, letter: str, own: np.ndarray, value: Any) -> None:
        """Numbers that are given, or else their defaults."""
        self._usual[letter] = value is None
        if value is None:
            own[:] = self._a.start[letter]
        elif value.__class__ is np.ndarray and value.shape == own.shape and value.dtype is DOUBLE:
            own[:] = value
        else:
            own[:] = self._array(letter, value)

    def _fill_held(self, h: Any) -> None:
        """h; inputs that are given beside it are written into it afterwards."""
        self._fill("h", self.h, h)
        self._usual["u"] = False  # they are what this h says

    def _fill_inputs(self, u: Any, h: Any) -> None:
        """Inputs at their places in h."""
        if u is None:
            if h is None:
                self.h[self._places] = self._u0
                self._usual["u"] = True
            return
        self._usual["u"] = False
        if u.__class__ is not np.ndarray or u.shape != self._u0.shape or u.dtype is not DOUBLE:
            u = self._array("u", u)
        self.h[self._places] = u

    def _array(self, letter: str, value: Any) -> np.ndarray:
        """Numbers that are no array of the right shape and type yet."""
        names = self._a.names[letter]
        try:
            array = np.asarray(value)
            if array.dtype.kind not in "iufb" and array.size:
                raise TypeError("no numbers")
            array = array.astype(float)
        except (TypeError, ValueError, OverflowError):
            raise PlantloopError(
                f"{letter} is {shown(value)}, expected {len(names)} numbers.", value=value
            ) from None
        if array.ndim == 0 and len(names) == 1:
            array = array.reshape(1)
        if array.shape != (len(names),):
            listed = ", ".join(f"'{n}'" for n in names[:6]) + ", ..." * (len(names) > 6)
            raise PlantloopError(
                f"{letter} has shape {array.shape}, expected ({len(names)},){': ' if names else ''}{listed}.",
                value=value,
            )
        return array

    def _solve(self, t: float) -> None:
        """Unknowns of algebraic loops, from their first guess each time, so that a call has no past."""
        a, n = self._a, self._a.unknowns
        self.w[:] = a.start["w"]
        bound = self._unknowns
        assert bound is not None  # else nobody calls

        def residual() -> tuple[np.ndarray, np.ndarray]:
            bound()
            return bound.outputs[0].copy(), bound.outputs[1].reshape(n, n).T.copy()

        newton(residual, self.w, np.arange(n), a.loops, t)


def _in_a_row(places: np.ndarray) -> Any:
    """Places as a slice, which is faster, where they follow each other."""
    if len(places) and bool((np.diff(places) == 1).all()):
        return slice(int(places[0]), int(places[-1]) + 1)
    return places


class PureFunction:
    """f(t, x, u, p) -> (n,): one call looks at the equations once and remembers nothing.

    rows : (n,) texts          names of the components of the result
    columns : letter -> texts  names of the components of "x", "u", "p", "h"
    x0, u0, p0, h0             values to start from: initial states, inputs, parameters, what is held

    >>> f(0.0, f.x0)                                 # u, p, h at their defaults
    >>> f.by_x(0.0, f.x0, f.u0, f.p0)                # (n, nx); f.by_u: (n, nu); f.by_p: (n, np)

    Threads may share it; calls from several take turns.
    """

    def __init__(self, arguments: Arguments, expression: ca.SX, rows: Sequence[str]) -> None:
        self._arguments, self._expression, self.rows = arguments, expression, tuple(rows)
        self._value = _Evaluation(arguments, [expression])
        self._jacobians: dict[str, _Evaluation] = {}
        self._takes: dict[str, Callable[[list[np.ndarray]], np.ndarray]] = {}

    def __call__(
        self, t: float, x: Any, u: Any = None, p: Any = None, h: Any = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """The values, (n,).

        Parameters
        ----------
        t : float [s]; x : (nx,); u : (nu,); p : (np,); h : (nh,)     see the text of this file
        out : (n,) float     where to put them instead of into a new array

        Raises
        ------
        PlantloopError       a wrong shape, with the names that are expected
        SimulationError      an algebraic loop without a solution
        """
        if out is None:
            return self._value(_copied, t, x, u, p, h)
        return self._value(lambda outputs: _into(out, outputs[0]), t, x, u, p, h)

    def by_x(self, t: float, x: Any, u: Any = None, p: Any = None, h: Any = None) -> np.ndarray:
        """Exact Jacobian by the states, (n, nx)."""
        return self._jacobian("x", t, x, u, p, h)

    def by_u(self, t: float, x: Any, u: Any = None, p: Any = None, h: Any = None) -> np.ndarray:
        """Exact Jacobian by the inputs, (n, nu)."""
        return self._jacobian("u", t, x, u, p, h)

    def by_p(self, t: float, x: Any, u: Any = None, p: Any = None, h: Any = None) -> np.ndarray:
        """Exact Jacobian by the parameters, (n, np)."""
        return self._jacobian("p", t, x, u, p, h)

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]:
        """Names of the components of x, u, p and h."""
        return self._arguments.names

    @property
    def x0(self) -> np.ndarray:
        """Initial states, (nx,)."""
        return self._arguments.start["x"].copy()

    @property
    def u0(self) -> np.ndarray:
        """Inputs where none are given, (nu,)."""
        found: np.ndarray = self._arguments.start["h"][self._arguments.inputs]
        return found

    @property
    def p0(self) -> np.ndarray:
        """Parameters of the blocks, (np,)."""
        return self._arguments.start["p"].copy()

    @property
    def h0(self) -> np.ndarray:
        """What is held before the first tick, (nh,)."""
        return self._arguments.start["h"].copy()

    def __repr__(self) -> str:
        sizes = ", ".join(f"{letter} ({len(names)},)" for letter, names in self.columns.items())
        return f"<function of t, {sizes} -> ({len(self.rows)},)>"

    def _jacobian(self, by: str, *values: Any) -> np.ndarray:
        evaluation = self._jacobians.get(by)
        if evaluation is None:
            evaluation = self._jacobians[by] = _Evaluation(self._arguments, self._derivatives(by))
            self._takes[by] = self._through_unknowns if self._arguments.unknowns else self._matrix(by)
        return evaluation(self._takes[by], *values)

    def _derivatives(self, by: str) -> list[ca.SX]:
        """f_v; and with unknowns w of F = 0 also f_w, F_v, F_w."""
        a, v = self._arguments, self._arguments.symbols(by)
        if not a.unknowns:
            return [ca.jacobian(self._expression, v)]
        w = a.w[: a.unknowns]
        return [ca.jacobian(e, s) for e in (self._expression, a.residual) for s in (v, w)]

    def _matrix(self, by: str) -> Callable[[list[np.ndarray]], np.ndarray]:
        shape = (len(self.columns[by]), len(self.rows))  # CasADi's columns one after the other
        return lambda outputs: outputs[0].reshape(shape).T.copy()

    def _through_unknowns(self, outputs: list[np.ndarray]) -> np.ndarray:
        """df/dv = f_v - f_w F_w^-1 F_v, since F(v, w) = 0 along v."""
        n, m = len(self.rows), self._arguments.unknowns
        f_v, f_w = outputs[0].reshape(-1, n).T if n else np.zeros((0, 0)), outputs[1].reshape(m, n).T
        big_v, big_w = outputs[2].reshape(-1, m).T, outputs[3].reshape(m, m).T
        found: np.ndarray = f_v - f_w @ np.linalg.solve(big_w, big_v)
        return found


def _residual(a: Arguments) -> list[ca.SX]:
    return [a.residual, ca.jacobian(a.residual, a.w[: a.unknowns])]


def _copied(outputs: list[np.ndarray]) -> np.ndarray:
    return outputs[0].copy()


def _into(out: np.ndarray, values: np.ndarray) -> np.ndarray:
    out[:] = values
    return out
