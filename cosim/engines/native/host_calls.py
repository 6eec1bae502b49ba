"""Python functions that compiled code calls (host_functions.py says which): who answers.

Compiled code knows them by number (`pl_call_host`) and asks the host for their values. The user's function
gets the numbers the reference engine would give it.
"""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.callback import PythonCall
from cosim.engines.native import bindings as b
from cosim.engines.reference.bound import Bound

Answer = Callable[[np.ndarray], None]


class Outside:
    """Answers what a run's compiled code asks; keep it alive as long as the run."""

    def __init__(
        self, run: b.Structure, functions: Sequence[ca.Function], calls: Sequence[PythonCall]
    ) -> None:
        direct = {call.__hash__(): call for call in calls}
        self._run, self._calls = run, calls
        self._answers = [
            _straight(direct[f.__hash__()]) if f.__hash__() in direct else _on_casadi(f) for f in functions
        ]
        self._sizes = [
            sum(f.nnz_in(i) for i in range(f.n_in())) + sum(f.nnz_out(i) for i in range(f.n_out()))
            for f in functions
        ]
        self._rows: dict[tuple[int, Any], np.ndarray] = {}  # by number and address: they stay where they are
        self._callback = b.ffi().callback("int(void *, int32_t, double *)", self._asked)
        run.host_function = self._callback

    def _asked(self, host: Any, number: int, place: Any) -> int:
        """Called by compiled code, which nothing may be raised through."""
        try:
            row = self._rows.get((number, place))
            if row is None:
                row = self._rows[number, place] = b.numbers(place, self._sizes[number])
            self._answers[number](row)
        except BaseException as error:
            self._calls[0].interrupt = error
        if interrupted(self._calls) is not None:
            self._run.cancel = 1
            return 1
        return 0


def _straight(call: PythonCall) -> Answer:
    """The user's function itself, without a detour through CasADi."""
    end, function, shape = 1 + call.n, call.function, (call.size,)

    def answer(row: np.ndarray) -> None:
        row[end:] = call.called(function, float(row[0]), row[1:end].copy(), shape)

    return answer


def _on_casadi(function: ca.Function) -> Answer:
    """A function with Python inside, on CasADi's machine."""
    given = [np.zeros(function.nnz_in(i)) for i in range(function.n_in())]
    bound = Bound(function, given)

    def answer(row: np.ndarray) -> None:
        start = 0
        for array in given:
            array[:] = row[start : start + array.size]
            start += array.size
        bound()
        for array in bound.outputs:
            row[start : start + array.size] = array
            start += array.size

    return answer


@contextlib.contextmanager
def interrupts(calls: Sequence[PythonCall]) -> Iterator[None]:
    """Ctrl-C while an engine evaluates Python functions: raised inside the user's function, noted outside.

    It cannot be raised where compiled code or CasADi is about to call Python: it would be lost there. Engines
    look for what was noted with `interrupted`.
    """
    forget(calls)
    main = threading.current_thread() is threading.main_thread()
    ours = bool(calls) and main and signal.getsignal(signal.SIGINT) is signal.default_int_handler

    def note(number: int, frame: Any) -> None:
        if any(call.inside for call in calls):
            raise KeyboardInterrupt
        calls[0].interrupt = KeyboardInterrupt()

    if ours:
        signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        forget(calls)


def forget(calls: Sequence[PythonCall]) -> None:
    """What was noted is done with."""
    for call in calls:
        call.interrupt = None


def interrupted(calls: Sequence[PythonCall]) -> BaseException | None:
    """What ended a user's function other than an error, or Ctrl-C, if anything did."""
    for call in calls:
        if call.interrupt is not None:
            return call.interrupt
    return None
