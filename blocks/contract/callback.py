"""A Python function inside continuous equations: CasADi calls it while it evaluates them."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.user_lines import line_of
from blocks.errors import KeepsError, PlantloopError, text_of_error

FUNCTION = "the Python function"  # what messages call one that nobody has named

Buffer = memoryview | None  # numbers in CasADi's memory; None for zeros, and for what nobody needs
Call = Callable[..., Any]  # (t, u), behind what `make` made where a call has that


class PythonCall(ca.Callback):
    """y = function(t, u) as a CasADi function of t () and u (n,); keep it alive as long as equations use it.

    Its Jacobian is the one given, else differenced, and so are its second derivatives: `hessian` gives
    d2y/du2 as (size, n, n), of a function that does not look at t. With `make` all three are called with what
    it made first, ``function(instance, t, u)``: a run has an instance of its own, shared by calls of one
    `make`. Nothing in here changes: what does is in the `LiveCall` of a run. Messages call it `about`.
    `by_time` gives dy/dt, (size,), of a function that may not be called before and after t alike.

    ``compiled(instance, runtime, interrupt)`` gives what compiled code may call in the place of the
    function, or None: a structure of the native engine's runtime; and a function of it and a row, asked
    where that could not answer, which returns whether it can from now on. What is raised in Python on the
    way and is to end the run, such as Ctrl-C, is given to `interrupt`.
    """

    def __init__(
        self,
        name: str,
        function: Call,
        n: int,
        size: int,
        jacobian: Call | None = None,
        hessian: Call | None = None,
        make: Callable[[], Any] | None = None,
        about: str = FUNCTION,
        compiled: Callable[..., Any] | None = None,
        by_time: Call | None = None,
    ) -> None:
        ca.Callback.__init__(self)
        self.function, self.n, self.size, self.given, self.about = function, n, size, jacobian, about
        self.second, self.make, self.compiled, self.by_time = hessian, make, compiled, by_time
        self._derivatives: list[Any] = []
        differenced: dict[str, Any] = {"enable_fd": True, "fd_method": "central"}
        self.construct(f"opaque_{name}", {} if jacobian else differenced)
        self._hash = ca.Callback.__hash__(self)

    def __hash__(self) -> int:
        """That of CasADi's functions, which asks the same thing anew each time."""
        return self._hash

    def get_n_in(self) -> int:
        """CasADi asks: t and u."""
        return 2

    def get_n_out(self) -> int:
        """CasADi asks: y."""
        return 1

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        """CasADi asks for the shapes of t and u."""
        return ca.Sparsity.dense(1 if i == 0 else self.n, 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        """CasADi asks for the shape of y."""
        return ca.Sparsity.dense(self.size, 1)

    def has_eval_buffer(self) -> bool:
        """CasADi asks whether `eval_buffer` may be called."""
        return True

    def eval_buffer(self, arguments: Sequence[Buffer], results: Sequence[Buffer]) -> int:
        """CasADi asks for values, in its own memory."""
        t, u = (_read(buffer, size) for buffer, size in zip(arguments, (1, self.n), strict=True))
        y = _live(self).value(float(t[0]), u)
        if results[0] is not None:
            np.frombuffer(results[0])[:] = y
        return 0

    def has_jacobian(self) -> bool:
        """CasADi asks whether `get_jacobian` may be called."""
        return self.given is not None

    def get_jacobian(
        self, name: str, inames: Sequence[str], onames: Sequence[str], opts: Mapping[str, Any]
    ) -> ca.Function:
        """CasADi asks for dy/dt and dy/du as a function of t, u and y."""
        made = _Jacobian(self, name, opts)
        self._derivatives.append(made)  # CasADi does not keep it alive
        return made


class LiveCall:
    """A Python function in one run: what it keeps there, and how its newest call went.

    What goes wrong inside cannot pass through CasADi or compiled code: it is kept, and the values are nan.

    failure, error      why the newest calls failed, for values or derivatives, and what they raised
    interrupt           what is to end the run: Ctrl-C and the like, and a function that keeps what it may not
    inside              is a call under way?
    spent               time in all calls [s]
    """

    def __init__(self, call: PythonCall, instance: Any = None) -> None:
        self.call, self.instance = call, instance
        self.inside, self.spent = False, 0.0
        self._failures: dict[str, tuple[str, Exception | None]] = {}  # by what was asked for
        self.interrupt: BaseException | None = None
        self._shape = (call.size,)

    def value(self, t: float, u: np.ndarray) -> np.ndarray:
        """y (size,) at t [s] and u (n,)."""
        self._failures.pop("value", None)
        return self._called(self.call.function, t, u, self._shape, "value")

    def slope_by_time(self, t: float, u: np.ndarray) -> np.ndarray:
        """dy/dt (size,), differenced where it is not given."""
        if self.call.by_time is not None:
            return self._called(self.call.by_time, t, u, self._shape, "slopes")
        h = 1e-6 * max(1.0, abs(t)) ** (1 / 3)  # t is rounded to parts of itself; how fast y changes is not
        late, early = (self._called(self.call.function, s, u, self._shape, "slopes") for s in (t + h, t - h))
        return np.asarray((late - early) / ((t + h) - (t - h)))

    def slopes(self, t: float, u: np.ndarray) -> np.ndarray:
        """dy/du (size, n)."""
        self._failures.pop("slopes", None)
        return self._called(self.call.given, t, u, (self.call.size, self.call.n), "slopes")

    def curvature(self, t: float, u: np.ndarray) -> np.ndarray:
        """d2y/du2 (size, n, n)."""
        self._failures.pop("curvature", None)
        shape = (self.call.size, self.call.n, self.call.n)
        return self._called(self.call.second, t, u, shape, "curvature")

    @property
    def failure(self) -> str:
        """Why the newest calls failed, "" where none did."""
        return next((text for text, _ in self._failures.values()), "")

    @property
    def error(self) -> Exception | None:
        """What was raised then."""
        return next((error for _, error in self._failures.values()), None)

    def forget(self) -> None:
        """Forget how earlier calls went."""
        self._failures = {}  # a copy keeps what it had

    def _called(
        self, function: Call | None, t: float, u: np.ndarray, shape: tuple[int, ...], what: str
    ) -> np.ndarray:
        """Value of a user's function as an array; all nan, and the reason kept, where it fails."""
        began = time.perf_counter()
        assert function is not None  # derivatives are asked for only where they are given
        try:
            self.inside = True
            given = function(t, u) if self.call.make is None else function(self.instance, t, u)
            if given is not None:
                return np.asarray(given, dtype=float).reshape(shape)
            self._failures[what] = (f"returned None at t={t:.9g} s, expected numbers", None)
        except KeepsError as error:
            self.interrupt = error
        except Exception as error:  # a user's function may raise anything
            how = "failed" if isinstance(error, PlantloopError) else f"raised {type(error).__name__}"
            text = f"{how} at t={t:.9g} s: {text_of_error(error).removesuffix('.')}{line_of(error)}"
            self._failures[what] = (text, error)
        except BaseException as error:
            self.interrupt = error
        finally:
            self.inside = False
            self.spent += time.perf_counter() - began
        return np.full(shape, np.nan)


_now = threading.local()  # `calls` of the run that this thread is in


class answered_by:
    """While inside, CasADi's calls in this thread go to those of one run."""

    def __init__(self, calls: Mapping[PythonCall, LiveCall]) -> None:
        self._calls = calls

    def __enter__(self) -> None:
        self._before: Mapping[PythonCall, LiveCall] | None = getattr(_now, "calls", None)
        _now.calls = self._calls

    def __exit__(self, *problem: object) -> None:
        _now.calls = self._before


@contextlib.contextmanager
def alone(calls: Iterable[PythonCall]) -> Iterator[dict[PythonCall, LiveCall]]:
    """While inside, these calls are answered by instances made for it, which are closed at the end."""
    made: dict[Any, Any] = {}
    live: dict[PythonCall, LiveCall] = {}
    for call in calls:
        if call.make is not None and call.make not in made:
            made[call.make] = call.make()
        live[call] = LiveCall(call, made.get(call.make))
    try:
        with answered_by(live):
            yield live
    finally:
        close_all(made.values())


@contextlib.contextmanager
def shared() -> Iterator[None]:
    """While inside, calls that no run answers share instances, made when needed and closed at the end."""
    if getattr(_now, "calls", None) is not None:
        yield
        return
    made: dict[Any, Any] = {}
    with answered_by(_AsNeeded(made)):
        try:
            yield
        finally:
            close_all(made.values())


def failed_now() -> list[LiveCall]:
    """Calls of the present run, or of what is done inside `shared`, that failed when they were last made."""
    live: Mapping[PythonCall, LiveCall] = getattr(_now, "calls", None) or {}
    return [call for call in live.values() if call.failure]


class _AsNeeded(dict[PythonCall, LiveCall]):
    """Calls with the instances they share, each made when it is first asked for."""

    def __init__(self, made: dict[Any, Any]) -> None:
        super().__init__()
        self._made = made

    def __missing__(self, call: PythonCall) -> LiveCall:
        if call.make is not None and call.make not in self._made:
            self._made[call.make] = call.make()
        self[call] = LiveCall(call, self._made.get(call.make))
        return self[call]


def close_all(instances: Iterable[Any]) -> None:
    """End what instances run in, where they run in something."""
    for instance in instances:
        if hasattr(instance, "close"):
            instance.close()


def _read(buffer: Buffer, size: int) -> np.ndarray:
    """A copy of numbers in CasADi's memory, (size,): it passes nothing for zeros."""
    return np.zeros(size) if buffer is None else np.frombuffer(buffer).copy()


def _live(call: PythonCall) -> LiveCall:
    """The call in the present run; outside all runs one that starts anew each time."""
    calls = getattr(_now, "calls", None)
    if isinstance(calls, _AsNeeded):
        return calls[call]
    found = (calls or {}).get(call)
    return found or LiveCall(call, call.make() if call.make else None)


class _Jacobian(ca.Callback):
    """dy/dt, differenced, and dy/du, as the user gave it."""

    def __init__(self, call: PythonCall, name: str, options: Mapping[str, Any]) -> None:
        ca.Callback.__init__(self)
        self.call_of = call
        self._derivatives: list[Any] = []
        differenced = {} if call.second else {"enable_fd": True}  # second derivatives are differences
        self.construct(name, {**options, **differenced})

    def get_n_in(self) -> int:
        return 3

    def get_n_out(self) -> int:
        return 2

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense((1, self.call_of.n, self.call_of.size)[i], 1)

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        return ca.Sparsity.dense(self.call_of.size, (1, self.call_of.n)[i])

    def has_eval_buffer(self) -> bool:
        return True

    def eval_buffer(self, arguments: Sequence[Buffer], results: Sequence[Buffer]) -> int:
        t, u = (_read(buffer, size) for buffer, size in zip(arguments, (1, self.call_of.n), strict=False))
        by_time, by_u = results
        live, now = _live(self.call_of), float(t[0])
        if by_u is not None:
            np.frombuffer(by_u)[:] = live.slopes(now, u).ravel(order="F")
        if by_time is not None:
            np.frombuffer(by_time)[:] = live.slope_by_time(now, u)
        return 0

    def has_jacobian(self) -> bool:
        return self.call_of.second is not None

    def get_jacobian(
        self, name: str, inames: Sequence[str], onames: Sequence[str], opts: Mapping[str, Any]
    ) -> ca.Function:
        made = _Hessian(self.call_of, name, opts)
        self._derivatives.append(made)  # CasADi does not keep it alive
        return made


class _Hessian(ca.Callback):
    """Derivatives of dy/dt and dy/du with respect to t, u and y, of a function that does not look at t."""

    def __init__(self, call: PythonCall, name: str, options: Mapping[str, Any]) -> None:
        ca.Callback.__init__(self)
        self.call_of = call
        self.construct(name, {**options, "enable_fd": True})

    def get_n_in(self) -> int:
        return 5

    def get_n_out(self) -> int:
        return 6

    def get_sparsity_in(self, i: int) -> ca.Sparsity:
        n, size = self.call_of.n, self.call_of.size
        return ca.Sparsity.dense(*((1, 1), (n, 1), (size, 1), (size, 1), (size, n))[i])

    def get_sparsity_out(self, i: int) -> ca.Sparsity:
        n, size = self.call_of.n, self.call_of.size
        rows, columns = (size, size * n)[i // 3], (1, n, size)[i % 3]
        return ca.Sparsity.dense(rows, columns) if i == 4 else ca.Sparsity(rows, columns)

    def eval(self, arguments: Sequence[ca.DM]) -> list[ca.DM]:
        call, u = self.call_of, np.array(arguments[1], dtype=float).ravel()
        n, size = call.n, call.size
        found = _live(call).curvature(float(arguments[0]), u)
        shapes = [self.get_sparsity_out(i) for i in range(6)]
        stacked = found.transpose(1, 0, 2).reshape(n * size, n)  # dy/du column by column
        return [ca.DM(stacked) if i == 4 else ca.DM(shapes[i]) for i in range(6)]
