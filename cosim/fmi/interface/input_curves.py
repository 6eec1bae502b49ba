"""Inputs that follow a curve while an FMU for co-simulation makes a step.

FMI 2.0 takes derivatives before the step; FMI 3.0 asks for values in the middle of it (intermediate update).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from cosim.fmi.description import Variable
from cosim.fmi.interface.binding import ffi
from cosim.fmi.interface.component import Component
from cosim.fmi.interface.exchange import Setter

SIGNATURE = "void(void *, double, bool, bool, bool, bool, bool *, double *)"


class InputDerivatives:
    """In FMI 2.0: slopes and curvatures of real inputs over the next step, but for those `untouched`."""

    def __init__(
        self, component: Component, inputs: Sequence[Variable], untouched: frozenset[str] = frozenset()
    ) -> None:
        starts = np.cumsum([0, *(v.size for v in inputs)])
        every = zip(inputs, starts, strict=False)
        chosen = [(v, s) for v, s in every if v.type == "Float64" and v.name not in untouched]
        self._component, self._places = component, np.array([s for _, s in chosen], dtype=int)
        self._references = [v.reference for v, _ in chosen]

    def set(self, orders: Sequence[tuple[int, np.ndarray]]) -> None:
        """Pairs of an order and the derivatives (n,) of all inputs."""
        if not self._references:
            return
        f, count = ffi(), len(orders)
        references = f.new("uint32_t[]", self._references * count)
        numbers = f.new("int[]", [order for order, _ in orders for _ in self._references])
        values = np.concatenate([derivatives[self._places] for _, derivatives in orders])
        self._component.set_input_derivatives(references, numbers, f.new("double[]", values.tolist()))


class IntermediateInputs:
    """In FMI 3.0: the callback that the FMU calls during a step.

    shared : what compiled code sees as well: 1 while there is a curve over the step under way, 1 where the
        callback failed, t0, and n values, slopes and curvatures of all inputs
    """

    def __init__(self) -> None:
        self.shared = np.zeros(3)
        self.problem: Exception | None = None
        self._setter: Setter | None = None
        itself = weakref.ref(self)

        def update(_: Any, t: float, wanted: bool, *rest: Any) -> None:
            found, ends = itself(), rest[3]
            if ends:  # the answer, which the FMU need not have cleared
                ends[0] = False
            if found is not None and wanted:
                found._set(t)

        self.callback = ffi().callback(SIGNATURE, update)
        self._places = np.zeros(0, int)

    def belongs_to(
        self, component: Component, inputs: Sequence[Variable], untouched: frozenset[str] = frozenset()
    ) -> None:
        """The instance that calls, and its inputs; those `untouched` are never set."""
        starts = np.cumsum([0, *(v.size for v in inputs)])
        every = zip(inputs, starts, strict=False)
        chosen = [(v, s) for v, s in every if v.intermediate_update and v.size and v.name not in untouched]
        self._places = np.concatenate([np.zeros(0, int), *[np.arange(s, s + v.size) for v, s in chosen]])
        self._setter = component.setter([v for v, _ in chosen])
        self.shared = np.zeros(3 + 3 * int(starts[-1]))

    def follow(self, t0: float, u: np.ndarray, slope: np.ndarray, curvature: np.ndarray) -> None:
        """Let inputs be u + slope s + curvature s^2 / 2 at t0 + s [s] over the next step, all (n,)."""
        self.shared[3:] = np.concatenate([u, slope, curvature])
        self.shared[0], self.shared[2] = 1.0, t0

    def hold(self) -> None:
        """Hold inputs again."""
        self.shared[0] = 0.0

    def raise_problem(self) -> None:
        """Raise an error that occurred during a step."""
        if self.problem is not None:
            problem, self.problem, self.shared[1] = self.problem, None, 0.0
            raise problem

    def _set(self, t: float) -> None:
        if not self.shared[0] or self._setter is None or not len(self._places):
            return
        u, slope, curvature = self.shared[3:].reshape(3, -1)
        s = t - self.shared[2]
        try:
            self._setter.write((u + slope * s + curvature * (s * s / 2))[self._places])
        except Exception as error:  # no exception may pass through the FMU's own frames
            self.problem, self.shared[1] = self.problem or error, 1.0
