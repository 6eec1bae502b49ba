"""Python functions that compiled code calls (host_functions.py says which): who answers.

Compiled code knows them by number (`pl_call_host`) and asks the host for their values. The user's function
gets the numbers the reference engine would give it.
"""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import casadi as ca
import numpy as np

from blocks.contract.callback import LiveCall, PythonCall
from cosim.engines.native import bindings as b
from cosim.engines.reference.bound import Bound
from cosim.run.opaque_blocks import Instances

HOST_FUNCTION = "int(*)(void *, int32_t, double *)"
Answer = Callable[[np.ndarray], None]
Foreign = tuple[b.Structure, Callable[[b.Structure, Any], bool]]  # see `PythonCall`


@dataclass(frozen=True)
class HostFunction:
    """A function that compiled code asks the host for.

    call : what it is, where it is a user's function and nothing around it
    size : of its arguments and results together
    """

    function: ca.Function
    call: PythonCall | None
    size: int


def described(functions: Sequence[ca.Function], calls: Iterable[PythonCall]) -> tuple[HostFunction, ...]:
    """Facts about functions that stay the same in all runs; `calls` are those of the system."""
    direct = {call.__hash__(): call for call in calls}
    return tuple(
        HostFunction(
            f,
            direct.get(f.__hash__()),
            sum(f.nnz_in(i) for i in range(f.n_in())) + sum(f.nnz_out(i) for i in range(f.n_out())),
        )
        for f in functions
    )


class HostAnswers:
    """Answers what a run's compiled code asks; keep it alive as long as the run.

    loses : whether CasADi calls Python functions on the way, where Ctrl-C is lost
    """

    def __init__(
        self, run: b.Structure, functions: Sequence[HostFunction], instances: Instances, runtime: b.Library
    ) -> None:
        self._functions, self._run, self._instances = functions, run, instances
        self._live = [None if f.call is None else instances.calls[f.call] for f in functions]
        self._foreign = b.new("pl_foreign", len(functions))
        self._runtime, self._ask = runtime, b.address(runtime, "pl_ask_fmu")
        self._foreigners = [
            (k, live.call.compiled, live)
            for k, live in enumerate(self._live)
            if live is not None and live.call.compiled is not None
        ]
        self.loses = None in self._live
        # by the number of the function: the instance, and what it has for compiled code
        self._selves: dict[int, tuple[Any, Foreign | None]] = {}
        # by number and address, where they stay: rows, and what answers in them
        self._rows: dict[tuple[int, Any], tuple[Answer, np.ndarray]] = {}
        this = weakref.ref(self)  # what C calls would keep this for good
        self._callback = b.ffi().callback(
            b.type_of(HOST_FUNCTION), partial(_asked, this), error=1, onerror=partial(_lost, this)
        )
        run.host_function = self._callback
        run.foreign = self._foreign

    def refresh(self) -> None:
        """Let compiled code call what the instances have for it: they may be new ones."""
        for number, compiled, live in self._foreigners:
            if number in self._selves and self._selves[number][0] is live.instance:
                continue
            found = compiled(live.instance, self._runtime, self.interrupt)
            row = self._foreign[number]
            if found is None:
                row.call = row.self = b.ffi().NULL
            else:
                row.call, row.self = self._ask, found[0]
            self._selves[number] = live.instance, found

    def asked(self, number: int, place: Any) -> int:
        """Called by compiled code, which nothing may be raised through."""
        if number in self._selves and self._begun(number, place):
            return 0
        known = self._rows.get((number, place))
        if known is None:
            function, live = self._functions[number], self._live[number]
            answer = _on_casadi(function.function) if live is None else _straight(live)
            known = self._rows[number, place] = answer, b.numbers(place, function.size)
        known[0](known[1])
        if self._instances.ended is not None:
            self._run.cancel = 1
            return 1
        return 0

    def _begun(self, number: int, place: Any) -> bool:
        """Whether what could not be asked yet has been made ready for that, and has answered."""
        (_, found), live = self._selves[number], self._live[number]
        if found is None or live is None:
            return False
        began = time.perf_counter()
        ready = found[1](found[0], place)
        live.spent += time.perf_counter() - began
        return ready and self._instances.ended is None and not self._runtime.pl_ask_fmu(found[0], place)

    def interrupt(self, error: BaseException) -> None:
        """What was raised in `asked` all the same, Ctrl-C above all, ends the run."""
        self._instances.interrupt(error)
        self._run.cancel = 1


def _asked(answers: weakref.ref[HostAnswers], host: Any, number: int, place: Any) -> int:
    found = answers()
    assert found is not None  # it lives as long as the run
    return found.asked(number, place)


def _lost(
    answers: weakref.ref[HostAnswers], kind: type[BaseException], error: BaseException, trace: Any
) -> None:
    found = answers()
    assert found is not None
    found.interrupt(error)


def _straight(live: LiveCall) -> Answer:
    """The user's function itself, without a detour through CasADi."""
    end = 1 + live.call.n

    def answer(row: np.ndarray) -> None:
        row[end:] = live.value(float(row[0]), row[1:end].copy())

    return answer


def _on_casadi(function: ca.Function) -> Answer:
    """A function with Python inside, on CasADi's virtual machine."""
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
