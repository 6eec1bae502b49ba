"""CasADi functions bound to fixed arrays."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np


class Bound:
    """A function of the system bound to fixed arrays: calling it costs no conversions."""

    def __init__(self, function: ca.Function, arguments: list[np.ndarray]) -> None:
        self.outputs = [np.zeros(function.nnz_out(k)) for k in range(function.n_out())]
        self._buffer, self._evaluate = function.buffer()
        for k, array in enumerate(arguments):
            if array.size:
                self._buffer.set_arg(k, memoryview(array))  # type: ignore[call-arg, arg-type]
        for k, array in enumerate(self.outputs):
            if array.size:
                self._buffer.set_res(k, memoryview(array))  # type: ignore[call-arg, arg-type]
        self._arguments = arguments  # the buffer only holds pointers

    def __call__(self) -> np.ndarray:
        """Evaluate; returns the first output, overwritten by the next call."""
        self._evaluate()
        return self.outputs[0]


class BoundWhenCalled(Bound):
    """The same of a function that its first call makes: a run may never ask for it.

    make : is kept until then; it may not hold on to what this is a part of
    """

    def __init__(self, make: Callable[[], ca.Function], arguments: list[np.ndarray]) -> None:
        self.outputs = []
        self._make: Callable[[], ca.Function] | None = make
        self._arguments = arguments

    def __call__(self) -> np.ndarray:
        """As of `Bound`."""
        if self._make is not None:
            super().__init__(self._make(), self._arguments)
            self._make = None
        self._evaluate()
        return self.outputs[0]
