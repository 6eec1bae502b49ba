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
    """Of FMI 2.0: first and second derivatives of the real inputs over the next step."""

    def __init__(self, component: Component, inputs: Sequence[Variable]) -> None:
        starts = np.cumsum([0, *(v.size for v in inputs)])
        chosen = [(v, s) for v, s in zip(inputs, starts, strict=False) if v.type == "Float64"]
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
    """Of FMI 3.0: the callback that the FMU makes during a step.

    curve : (t0, u, slope, curvature) over the step under way, None while inputs are held
    """

    def __init__(self) -> None:
        self.curve: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None = None
        self.problem: Exception | None = None
        self._setter: Setter | None = None
        itself = weakref.ref(self)

        def update(_: Any, t: float, wanted: bool, *rest: Any) -> None:
            found = itself()
            if found is not None and wanted:
                found._set(t)

        self.callback = ffi().callback(SIGNATURE, update)
        self._places = np.zeros(0, int)

    def belongs_to(self, component: Component, inputs: Sequence[Variable]) -> None:
        """Which instance asks, and for which of its inputs."""
        starts = np.cumsum([0, *(v.size for v in inputs)])
        chosen = [(v, s) for v, s in zip(inputs, starts, strict=False) if v.intermediate_update and v.size]
        self._places = np.concatenate([np.zeros(0, int), *[np.arange(s, s + v.size) for v, s in chosen]])
        self._setter = component.setter([v for v, _ in chosen])

    def _set(self, t: float) -> None:
        if self.curve is None or self._setter is None or not len(self._places):
            return
        t0, u, slope, curvature = self.curve
        s = t - t0
        try:
            self._setter.write((u + slope * s + curvature * (s * s / 2))[self._places])
        except Exception as error:  # nothing may be raised through the FMU's own frames
            self.problem = self.problem or error
